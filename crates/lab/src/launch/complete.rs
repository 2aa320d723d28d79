//! A command that is run to its end and not measured: one that builds a worker, or a hook.

use std::path::PathBuf;

use super::filled::Filled;
use super::process::{Process, Talk, describe};
use super::{Ended, Limits, Stop};
use crate::clock;
use crate::experiment::Command;
use crate::param::Point;

/// Runs it with its standard output thrown away; what goes wrong is told with the end of its standard error.
pub fn complete(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<(), Ended> {
    run(argv, Talk::Null, &Limits { answer_ns: limit_ns, dir: None, stop: stop.clone() })
}

/// A command around the measuring, such as one that makes the data.
pub struct Hook<'a> {
    /// What it is called in errors.
    pub name: &'a str,
    pub command: &'a Command,
    /// Where it works; none: where the lab does.
    pub dir: Option<PathBuf>,
    pub limit_ns: u64,
}

/// Runs a hook with the values of a point.
pub fn hook(hook: &Hook<'_>, arguments: &Point, stop: &Stop) -> Result<(), Ended> {
    let filled = Filled::new(hook.command, arguments);
    let limits = Limits { answer_ns: hook.limit_ns, dir: hook.dir.clone(), stop: stop.clone() };
    let output = std::fs::File::options().write(true).open("/dev/null");
    let output = output.map_err(|error| Ended::Failed(format!("/dev/null: {error}")));
    let input = super::command::input(filled.input.as_deref(), &limits);
    let ran = input.and_then(|input| Ok(Talk::Given(input, output?.into())));
    ran.and_then(|talk| run(&filled.argv, talk, &limits)).map_err(|ended| match ended {
        Ended::Skipped(why) => Ended::Skipped(format!("hook {}: {why}", hook.name)),
        Ended::Failed(why) => Ended::Failed(format!("hook {}: {why}", hook.name)),
        Ended::Stopped => Ended::Stopped,
    })
}

fn run(argv: &[String], talk: Talk, limits: &Limits) -> Result<(), Ended> {
    let mut process = Process::spawn(argv, talk, &[], limits.dir.as_deref())?;
    let failed = |error: &dyn std::fmt::Display| Ended::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(limits, clock::now_ns().saturating_add(limits.answer_ns))?;
    let status = process.end().map_err(|error| failed(&error))?;
    if status.success() {
        return Ok(());
    }
    let (how, tail) = (describe(status), process.quoted_tail());
    Err(Ended::Failed(format!("{} {how}{tail}", argv[0])))
}
