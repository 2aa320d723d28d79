//! A published study as a preset of `run`: its options become the defaults of the flags.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Arg, Command};
use lab::experiment::{Experiment, Method};

use crate::experiments;
use crate::measuring::RunRequest;
use crate::pattern;
use crate::reference::{PREFIX, Part, Study};
use crate::workers;

/// The flag that names the page of a study.
pub(crate) const PAGE: &str = "report";

/// The flags of one part of a study, for a command that has those of its experiment. Where no
/// method of the part is installed, no method is the default.
pub(crate) fn preset(
    command: Command,
    study: &Study,
    part: &Part,
    known: &[Experiment],
) -> Result<Command> {
    let experiment = experiments::find(known, &part.experiment)?;
    let methods = installed(study, part, experiment);
    let mut command = command
        .name(format!("{PREFIX}{}", study.name))
        .about(study.title.clone())
        .long_about(study.title.clone());
    // All parts get the same command line, and each ignores the params of the others.
    for other in study.parts.iter().filter(|other| other.experiment != part.experiment) {
        for param in &experiments::find(known, &other.experiment)?.params {
            if !has(&command, param.name) {
                let help = format!("{} ({})", param.help, other.experiment);
                command = command.arg(Arg::new(param.name).long(param.name).help(help));
            }
        }
    }
    let help = "Also write a page with the author's figures redrawn";
    let page = Arg::new(PAGE).long(PAGE).value_name("FILE.html").help(help);
    command = command.arg(page.value_parser(clap::value_parser!(PathBuf)));
    let label = ("label", format!("{PREFIX}{}", study.name));
    let methods = Some(("method", methods.join(","))).filter(|(_, names)| !names.is_empty());
    let options = part.options.iter().map(|(name, value)| (name.as_str(), value.clone()));
    for (name, value) in options.chain([label]).chain(methods) {
        let id = {
            let mut arguments = command.get_arguments();
            let named = arguments.find(|arg| arg.get_long() == Some(name));
            named.map(|arg| arg.get_id().clone())
        };
        let id = id.with_context(|| format!("{}: there is no option --{name}", study.name))?;
        command = command.mut_arg(id, |arg| arg.default_value(value));
    }
    Ok(command)
}

/// The request with those of its methods that belong to the part; none if it has none. What the
/// study does not name is measured wherever there is a method of that name.
pub(crate) fn of_part(
    mut request: RunRequest,
    study: &Study,
    part: &Part,
    experiment: &Experiment,
) -> Option<RunRequest> {
    let is_of = |part: &Part, name: &String| {
        study.methods(part).into_iter().any(|method| pattern::matches(name, method))
    };
    let has = |name: &String| experiment.methods.iter().any(|m| pattern::matches(name, &m.name));
    request.selection.methods.retain(|name| {
        let is_studied = study.parts.iter().any(|part| is_of(part, name));
        if is_studied { is_of(part, name) } else { has(name) }
    });
    let is_empty = request.selection.methods.is_empty() && request.selection.workers.is_empty();
    (!is_empty).then_some(request)
}

fn has(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == name || arg.get_long() == Some(name))
}

/// The methods of the part that this machine can measure.
fn installed<'a>(study: &'a Study, part: &Part, experiment: &Experiment) -> Vec<&'a str> {
    let is_here = |name: &&str| {
        let method: Option<&Method> = experiment.methods.iter().find(|m| m.name == *name);
        method.is_some_and(workers::is_here)
    };
    study.methods(part).into_iter().filter(is_here).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::studies;

    #[test]
    fn every_method_of_a_study_is_one_of_its_experiment() {
        let known = experiments::all();
        for study in studies() {
            for part in &study.parts {
                let experiment = experiments::find(&known, &part.experiment).unwrap();
                let all: Vec<&str> = experiment.methods.iter().map(|m| m.name.as_str()).collect();
                for name in study.methods(part) {
                    assert!(!cfg!(target_os = "linux") || all.contains(&name), "{name}");
                }
                for (name, _) in part.theirs.iter().chain(study.rows.iter().flat_map(|row| {
                    row.at.iter().filter(|_| study.experiment(row) == part.experiment)
                })) {
                    let is_known = experiment.params.iter().any(|param| param.name == name);
                    assert!(is_known, "{}: {name}", study.name);
                }
            }
        }
    }
}
