//! Defaults of flags: a published study as a preset of `run`, and the flags of `BYTELAB_OPTIONS`.

use std::ffi::{OsStr, OsString};

use anyhow::{Context, Result, ensure};
use clap::{Arg, Args as _, Command};
use experiments::workers;
use measure::experiment::{Experiment, Method};
use model::pattern;
use report::published::{PREFIX, Study, StudyRun};

use crate::commands::study_files::StudyFilesArgs;
use crate::measuring::RunRequest;

/// The flags of one part of a study, for a command that has those of its experiment. Where no
/// method of the part is installed, no method is the default.
pub(crate) fn preset(
    command: Command,
    study: &Study,
    part: &StudyRun,
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
    command = StudyFilesArgs::augment_args(command);
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
    part: &StudyRun,
    experiment: &Experiment,
) -> Option<RunRequest> {
    let is_of = |part: &StudyRun, name: &String| {
        study.methods(part).into_iter().any(|method| pattern::matches(name, method))
    };
    let has = |name: &String| experiment.methods.iter().any(|m| pattern::matches(name, &m.name));
    request.methods.retain(|name| {
        let is_studied = study.parts.iter().any(|part| is_of(part, name));
        if is_studied { is_of(part, name) } else { has(name) }
    });
    let is_empty = request.methods.is_empty() && request.workers.is_empty();
    (!is_empty).then_some(request)
}

fn has(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == name || arg.get_long() == Some(name))
}

/// The methods of the part that this machine can measure.
fn installed<'a>(study: &'a Study, part: &StudyRun, experiment: &Experiment) -> Vec<&'a str> {
    let is_here = |name: &&str| {
        let method: Option<&Method> = experiment.methods.iter().find(|m| m.name == *name);
        method.is_some_and(workers::is_here)
    };
    study.methods(part).into_iter().filter(is_here).collect()
}

// `BYTELAB_OPTIONS`: flags that each subcommand gets which has them, unless they are typed.

const VARIABLE: &str = "BYTELAB_OPTIONS";

/// The flags of the variable, if it has any.
fn defaults() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|words| !words.is_empty())
}

pub(crate) fn has_defaults() -> bool {
    defaults().is_some()
}

/// These arguments, the first of which is the program, with the flags of the variable behind the
/// subcommand, and behind its experiment.
pub(crate) fn with_defaults(command: &Command, typed: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(defaults) = defaults() else { return Ok(typed) };
    let defaults = defaults.to_str().with_context(|| format!("{VARIABLE} is not UTF-8"))?;
    inserted(command, typed, defaults).context(VARIABLE)
}

fn inserted(command: &Command, typed: Vec<OsString>, defaults: &str) -> Result<Vec<OsString>> {
    let flags = flags(defaults)?;
    for (name, _) in &flags {
        ensure!(has_anywhere(command, name), "--{name} is a flag of no subcommand");
    }
    let mut found = command;
    let mut at = None;
    for (i, word) in typed.iter().enumerate().skip(1) {
        if word == "--" {
            break;
        }
        if let Some(next) = found.find_subcommand(word) {
            (found, at) = (next, Some(i));
        }
    }
    let Some(at) = at else { return Ok(typed) };
    let wanted = flags.into_iter().filter(|(name, _)| {
        let arg = found.get_arguments().find(|arg| arg.get_long() == Some(name));
        arg.is_some_and(|arg| !typed.iter().any(|word| names(arg, word)))
    });
    let words = wanted.flat_map(|(_, words)| words).map(OsString::from);
    let (before, behind) = typed.split_at(at + 1);
    Ok(before.iter().cloned().chain(words).chain(behind.iter().cloned()).collect())
}

/// The name of each flag, and its words.
fn flags(text: &str) -> Result<Vec<(String, Vec<String>)>> {
    let mut flags: Vec<(String, Vec<String>)> = Vec::new();
    for word in shlex::split(text).context("a quote is not closed")? {
        match (word.strip_prefix("--"), flags.last_mut()) {
            (Some(flag), _) if !flag.is_empty() => {
                let name = flag.split('=').next().unwrap_or_default().to_owned();
                flags.push((name, vec![word]));
            }
            (None, Some((_, words))) if !word.starts_with('-') => words.push(word),
            _ => anyhow::bail!("{word:?}: write flags as --name, each with its value"),
        }
    }
    Ok(flags)
}

fn has_anywhere(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(name))
        || command.get_subcommands().any(|below| has_anywhere(below, name))
}

/// Whether the word is this flag, or begins with its letter.
fn names(arg: &Arg, word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    let long = word.strip_prefix("--").and_then(|word| word.split('=').next());
    let short = word.strip_prefix('-').and_then(|word| word.chars().next());
    long.is_some() && long == arg.get_long() || short.is_some() && short == arg.get_short()
}

#[cfg(test)]
mod tests {
    use report::published::studies;

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

#[cfg(test)]
mod default_options_tests {
    use super::*;

    fn command() -> Command {
        let time = || Arg::new("time").short('t').long("time");
        let notes = || Arg::new("notes").long("notes").num_args(0);
        let run = Command::new("run")
            .arg(notes())
            .subcommand(Command::new("reading").arg(time()).arg(notes()));
        let words = Arg::new("words").num_args(0..);
        Command::new("x").subcommand(run).subcommand(Command::new("bench").arg(time()).arg(words))
    }

    #[track_caller]
    fn check(defaults: &str, typed: &str, expected: &str) {
        let words = typed.split(' ').map(OsString::from).collect();
        match inserted(&command(), words, defaults) {
            Ok(words) => {
                let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
                assert_eq!(words.join(" "), expected);
            }
            Err(error) => assert_eq!(error.to_string(), expected),
        }
    }

    #[test]
    fn a_subcommand_gets_the_flags_that_it_has() {
        let defaults = "--time 5s --notes";
        check(defaults, "x run reading a", "x run reading --time 5s --notes a");
        check(defaults, "x run", "x run --notes");
        check(defaults, "x bench a -- bench", "x bench --time 5s a -- bench");
        check(defaults, "x", "x");
        check(defaults, "x --version", "x --version");
        check("--time='a b'", "x bench", "x bench --time=a b");
    }

    #[test]
    fn typed_flags_override_the_defaults() {
        let defaults = "--time 5s --notes";
        for typed in ["x bench --time 1s", "x bench --time=1s", "x bench -t 1s", "x bench -t1s"] {
            check(defaults, typed, typed);
        }
        check(defaults, "x run reading --notes", "x run reading --time 5s --notes");
    }

    #[test]
    fn what_is_no_flag_is_refused() {
        check("--nonsense", "x bench", "--nonsense is a flag of no subcommand");
        for wrong in ["time", "-t 5s", "--", "--notes -t"] {
            let word = wrong.split(' ').next_back().unwrap();
            let word = if wrong == "-t 5s" { "-t" } else { word };
            let refusal = format!("{word:?}: write flags as --name, each with its value");
            check(wrong, "x bench", &refusal);
        }
        check("--time 'a", "x bench", "a quote is not closed");
    }
}
