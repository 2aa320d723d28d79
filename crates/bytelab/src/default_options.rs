//! `BYTELAB_OPTIONS`: flags that each subcommand gets which has them, unless they are typed.

use std::ffi::{OsStr, OsString};

use anyhow::{Context, Result, ensure};
use clap::{Arg, Command};

const VARIABLE: &str = "BYTELAB_OPTIONS";

/// These arguments, the first of which is the program, with the flags of the variable behind the
/// subcommand, and behind its experiment.
pub(crate) fn with_defaults(command: &Command, typed: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(defaults) = std::env::var_os(VARIABLE).filter(|words| !words.is_empty()) else {
        return Ok(typed);
    };
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
