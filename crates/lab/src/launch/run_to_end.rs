//! Commands that are run to their end and not measured: those that build a worker, and hooks.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;

use super::expanded::ExpandedCommand;
use super::process::{ChildStdio, Process, describe};
use super::{Limits, RunError, Stop};
use crate::clock;
use crate::experiment::Command;
use crate::param::Point;

/// Runs it and discards its standard output; an error includes the end of its standard error.
pub fn run_to_end(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<(), RunError> {
    let limits = Limits { answer_ns: limit_ns, dir: None, stop: stop.clone() };
    run(argv, ChildStdio::Null, &[], &limits)
}

/// The prefix of the reason where a hook failed.
pub const HOOK: &str = "hook ";

/// A command around the measuring, such as one that makes the data.
pub struct Hook<'a> {
    /// The name of the hook in errors.
    pub name: &'a str,
    pub command: &'a Command,
    /// Its working directory; none: that of the lab.
    pub dir: Option<PathBuf>,
    pub limit_ns: u64,
    /// The number of the sample around which it is run; 0 for other hooks.
    pub n: u64,
}

/// Runs a hook with the values of a point.
pub fn hook(hook: &Hook<'_>, arguments: &Point, stop: &Stop) -> Result<(), RunError> {
    let expanded = ExpandedCommand::new(hook.command, arguments);
    let limits = Limits { answer_ns: hook.limit_ns, dir: hook.dir.clone(), stop: stop.clone() };
    let output = std::fs::File::options().write(true).open("/dev/null");
    let output = output.map_err(|error| RunError::Failed(format!("/dev/null: {error}")));
    let input = super::input::input(expanded.input.as_deref(), &limits);
    let ran = input.and_then(|input| Ok(ChildStdio::Given(input, output?.into())));
    let variables = expanded.variables(hook.n);
    ran.and_then(|stdio| run(&expanded.argv, stdio, &variables, &limits)).map_err(|ended| {
        match ended {
            RunError::Skipped(why) => RunError::Skipped(format!("{HOOK}{}: {why}", hook.name)),
            RunError::Failed(why) => RunError::Failed(format!("{HOOK}{}: {why}", hook.name)),
            RunError::Stopped => RunError::Stopped,
        }
    })
}

fn run(
    argv: &[String],
    stdio: ChildStdio,
    variables: &[(&str, String)],
    limits: &Limits,
) -> Result<(), RunError> {
    let mut process = Process::spawn(argv, stdio, variables, limits.dir.as_deref())?;
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(limits, clock::now_ns().saturating_add(limits.answer_ns))?;
    let status = process.end().map_err(|error| failed(&error))?;
    if status.success() {
        return Ok(());
    }
    let (how, tail) = (describe(status), process.quoted_tail());
    Err(RunError::Failed(format!("{} {how}{tail}", argv[0])))
}

/// Output beyond this is discarded.
const OUTPUT_BYTES: u64 = 64 << 10;

/// Runs it to its end without input, and returns its standard output.
pub fn output(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<String, RunError> {
    let limits = Limits { answer_ns: limit_ns, dir: None, stop: stop.clone() };
    let failed = |error: io::Error| RunError::Failed(format!("{}: {error}", argv[0]));
    let ends = || -> io::Result<_> { Ok((File::open("/dev/null")?, io::pipe()?)) };
    let (input, (reader, writer)) = ends().map_err(failed)?;
    let mut process =
        Process::spawn(argv, ChildStdio::Given(input.into(), writer.into()), &[], None)?;
    let text = receive(&reader, &mut process, &limits, clock::now_ns() + limit_ns)?;
    let status = process.end().map_err(failed)?;
    if status.success() {
        return Ok(text);
    }
    let (how, tail) = (describe(status), process.quoted_tail());
    Err(RunError::Failed(format!("{} {how}{tail}", argv[0])))
}

fn receive(
    mut reader: &PipeReader,
    process: &mut Process,
    limits: &Limits,
    deadline_ns: u64,
) -> Result<String, RunError> {
    let mut text = Vec::new();
    loop {
        process.wait_for(reader.as_fd(), limits, deadline_ns)?;
        let mut buffer = [0; 4 << 10];
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) if (text.len() as u64) < OUTPUT_BYTES => text.extend_from_slice(&buffer[..n]),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(RunError::Failed(format!("reading its output: {error}"))),
        }
    }
    // A process closes its output before it ends or when it ends.
    if !process.wait_until_exit(deadline_ns) {
        return Err(RunError::Failed("closed its output and did not end; killed".to_owned()));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argv: &[&str], expected: Result<&str, &str>) {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        match (output(&argv, 60_000_000_000, &Stop::default()), expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(RunError::Failed(text) | RunError::Skipped(text)), Err(expected)) => {
                assert!(text.contains(expected), "{text}");
            }
            (other, _) => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_output_of_a_command_is_read_to_its_end() {
        check(&["echo", "version 1"], Ok("version 1\n"));
        check(&["sh", "-c", "cat; echo no input"], Ok("no input\n"));
        check(
            &["sh", "-c", "echo why >&2; exit 3"],
            Err("ended with exit status 3; stderr of sh: why"),
        );
        check(&["/no/such"], Err("/no/such is not installed"));
        let much = ["head", "-c", "1M", "/dev/zero"].map(str::to_owned);
        let kept = output(&much, 60_000_000_000, &Stop::default()).unwrap();
        // The last part that is kept ends beyond the limit.
        assert!((64 << 10..68 << 10).contains(&kept.len()), "{}", kept.len());
    }
}
