//! A command that is run to its end and not measured: one that builds a worker, or a hook.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
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

/// Of what a command says more is not kept.
const OUTPUT_BYTES: u64 = 64 << 10;

/// Runs it to its end without input, and gives what it says on its standard output.
pub fn output(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<String, Ended> {
    let limits = Limits { answer_ns: limit_ns, dir: None, stop: stop.clone() };
    let failed = |error: io::Error| Ended::Failed(format!("{}: {error}", argv[0]));
    let ends = || -> io::Result<_> { Ok((File::open("/dev/null")?, io::pipe()?)) };
    let (input, (reader, writer)) = ends().map_err(failed)?;
    let mut process = Process::spawn(argv, Talk::Given(input.into(), writer.into()), &[], None)?;
    let text = hear(&reader, &mut process, &limits, clock::now_ns() + limit_ns)?;
    let status = process.end().map_err(failed)?;
    if status.success() {
        return Ok(text);
    }
    let (how, tail) = (describe(status), process.quoted_tail());
    Err(Ended::Failed(format!("{} {how}{tail}", argv[0])))
}

fn hear(
    mut reader: &PipeReader,
    process: &mut Process,
    limits: &Limits,
    deadline_ns: u64,
) -> Result<String, Ended> {
    let mut heard = Vec::new();
    loop {
        process.wait_for(reader.as_fd(), limits, deadline_ns)?;
        let mut buffer = [0; 4 << 10];
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) if (heard.len() as u64) < OUTPUT_BYTES => heard.extend_from_slice(&buffer[..n]),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Ended::Failed(format!("reading its output: {error}"))),
        }
    }
    // It closes its output before it ends, or as it ends.
    if !process.wait_until_exit(deadline_ns) {
        return Err(Ended::Failed("closed its output and did not end; killed".to_owned()));
    }
    Ok(String::from_utf8_lossy(&heard).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argv: &[&str], expected: Result<&str, &str>) {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        match (output(&argv, 60_000_000_000, &Stop::default()), expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(Ended::Failed(text) | Ended::Skipped(text)), Err(expected)) => {
                assert!(text.contains(expected), "{text}");
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_command_says_is_heard_to_its_end() {
        check(&["echo", "version 1"], Ok("version 1\n"));
        check(&["sh", "-c", "cat; echo no input"], Ok("no input\n"));
        check(
            &["sh", "-c", "echo why >&2; exit 3"],
            Err("ended with exit status 3; stderr of sh: why"),
        );
        check(&["/no/such"], Err("/no/such is not installed"));
    }
}
