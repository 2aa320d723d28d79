//! The experiments: those of bytelab, a folder and a line here for each; those in files (`custom`);
//! and what builds methods in other languages (`workers`).

mod awaiting;
pub mod copying;
pub mod custom;
mod decoding;
mod files;
mod loading;
mod measuring;
pub mod medium;
mod memory;
mod numbers;
mod reading;
mod sampling;
pub mod self_test;
mod shared;
mod threads;
pub mod workers;

use std::path::Path;

use anyhow::{Context, Result};
use measure::experiment::Experiment;

use self::measuring::{Constructor, MEASURING};
pub use self::reading::http::serve;
pub use self::shared::locked_folder::TemporaryFolder;
use self::shared::{locked_folder, made_file};

/// The experiments that can be measured: the built-in ones, and those that files declare.
pub struct Catalogue {
    pub experiments: Vec<Experiment>,
    /// The names that an experiment in a file and its params must not have.
    pub reserved_names: fn() -> custom::ReservedNames<'static>,
}

impl Catalogue {
    pub fn find(&self, name: &str) -> Result<&Experiment> {
        find(&self.experiments, name)
    }

    pub fn load(&self, file: &Path) -> Result<custom::LoadedExperiment> {
        custom::load(file, &(self.reserved_names)())
    }

    /// An experiment that was typed on the command line.
    pub fn read(&self, text: String) -> Result<custom::LoadedExperiment> {
        custom::from_text(text, &(self.reserved_names)())
    }
}

pub fn find<'a>(experiments: &'a [Experiment], name: &str) -> Result<&'a Experiment> {
    experiments.iter().find(|experiment| experiment.name == name).with_context(|| {
        let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
        format!("there is no experiment {name}; there are {}", names.join(", "))
    })
}

/// Removes what killed runs have left in a directory for data or temporary files.
pub fn remove_leftovers(dir: &Path) {
    locked_folder::remove_leftovers(dir);
    // What cannot be listed has nothing that could be removed.
    let _ = made_file::remove_leftovers(dir);
}

/// The built-in experiments, in the order in which they are listed.
fn built_in() -> impl Iterator<Item = (&'static str, Constructor)> {
    [("numbers", numbers::experiment as Constructor)].into_iter().chain(MEASURING)
}

/// The built-in experiment of this name, also the one that only `self-test` measures.
pub fn by_name(name: &str) -> Result<Experiment> {
    let self_test = (self_test::NAME, self_test::experiment as Constructor);
    let found = built_in().chain([self_test]).find(|(known, _)| *known == name);
    let found = found.with_context(|| {
        format!("there is no experiment {name}; there are {}", names().join(", "))
    });
    found.map(|(_, experiment)| experiment())
}

pub fn names() -> Vec<&'static str> {
    built_in().map(|(name, _)| name).collect()
}

/// All built-in experiments, in the order in which they are listed.
pub fn all() -> Vec<Experiment> {
    built_in().map(|(_, experiment)| experiment()).collect()
}

#[cfg(test)]
mod tests {
    use measure::experiment::Method;

    #[test]
    fn an_experiment_is_listed_under_its_own_name() {
        let described: Vec<&str> = super::all().iter().map(|experiment| experiment.name).collect();
        assert_eq!(described, super::names());
        for name in described.into_iter().chain([super::self_test::NAME]) {
            assert_eq!(super::by_name(name).unwrap().name, name);
        }
    }

    #[test]
    fn the_declarations_hold_together_and_are_in_the_readme() {
        for experiment in super::all() {
            let in_readme = |text: &str| experiment.readme.contains(text);
            for param in &experiment.params {
                let name = format!("{} {}", experiment.name, param.name);
                assert!(in_readme(&format!("`{}`", param.name)), "{name}");
                assert!(param.default.is_empty() || param.parse(param.default).is_ok(), "{name}");
            }
            let has = |name: &&str| experiment.params.iter().any(|param| param.name == *name);
            let has_job = has(&"job");
            for method in &experiment.methods {
                let name = format!("{} {}", experiment.name, method.name);
                assert!(in_readme(&format!("`{}`", method.name)), "{name} is not in the README");
                assert!(method.reads.iter().all(has), "{name}: {:?}", method.reads);
                assert!(!has_job || method.reads.contains(&"job"), "{name} reads no job");
                let same = |other: &&Method| other.name == method.name && other.job == method.job;
                assert_eq!(experiment.methods.iter().filter(same).count(), 1, "{name}");
            }
        }
    }
}
