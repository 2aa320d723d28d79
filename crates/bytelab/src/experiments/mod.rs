//! The built-in experiments: one folder each, and one line here.

pub(crate) mod copying;
pub(crate) mod custom;
mod decoding;
mod files;
mod measuring;
mod memory;
mod numbers;
mod reading;
mod sampling;
pub(crate) mod self_test;
mod shared;
mod threads;

use std::path::Path;

use anyhow::{Context, Result};
use lab::experiment::Experiment;

pub(crate) use self::reading::http::serve;

/// The experiments that can be measured: the built-in ones, and those that files declare.
pub(crate) struct Catalogue {
    pub(crate) experiments: Vec<Experiment>,
    /// The names that an experiment in a file and its params must not have.
    pub(crate) reserved_names: fn() -> custom::ReservedNames<'static>,
}

impl Catalogue {
    pub(crate) fn find(&self, name: &str) -> Result<&Experiment> {
        find(&self.experiments, name)
    }

    pub(crate) fn load(&self, file: &Path) -> Result<custom::Loaded> {
        custom::load(file, &(self.reserved_names)())
    }

    /// An experiment that was typed on the command line.
    pub(crate) fn read(&self, text: String) -> Result<custom::Loaded> {
        custom::from_text(text, &(self.reserved_names)())
    }
}

pub(crate) fn find<'a>(experiments: &'a [Experiment], name: &str) -> Result<&'a Experiment> {
    experiments.iter().find(|experiment| experiment.name == name).with_context(|| {
        let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
        format!("there is no experiment {name}; there are {}", names.join(", "))
    })
}

/// All built-in experiments, in the order in which they are listed.
pub(crate) fn all() -> Vec<Experiment> {
    let mut all = vec![numbers::experiment()];
    all.extend(measuring::measuring());
    all
}
