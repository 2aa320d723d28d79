//! A plain command between two descriptors, for a method that creates these itself.

use std::os::fd::OwnedFd;

use super::process::{ChildStdio, Process, describe};
use super::{Limits, RunError};
use crate::clock::{self, Cpu};
use crate::stop::Stop;

/// Runs a command from `input` to `output`, which it closes, and waits for its end. Returns what
/// the command and all processes that it waited for used, including their start.
pub fn filter(argv: &[String], input: OwnedFd, output: OwnedFd) -> Result<Cpu, RunError> {
    // The lab, which waits for the method, sets the limit.
    let limits = Limits { answer_ns: u64::MAX, dir: None, stop: Stop::default() };
    let mut process = Process::spawn(argv, ChildStdio::Given(input, output), &[], None)?;
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(&limits, clock::now_ns().saturating_add(u64::MAX >> 1))?;
    let (status, used) = process.end_with_usage().map_err(|error| failed(&error))?;
    if !status.success() {
        let tail = process.quoted_tail();
        return Err(RunError::Failed(format!("{} {}{tail}", argv[0], describe(status))));
    }
    Ok(used.cpu)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn a_command_gets_its_input_and_output() {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(b"hello").unwrap();
        input.rewind().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let used = filter(&["cat".to_owned()], input.into(), writer.into()).unwrap();
        assert!(used.all_ns > 0);
        let mut text = String::new();
        // This returns only if no other process has the other end of the pipe.
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn what_the_processes_of_a_command_used_is_its_own() {
        let null = || std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        let burn = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
        let script = format!("sh -c '{burn}'; true");
        let argv = ["sh", "-c", &script].map(str::to_owned);
        let used = filter(&argv, null().into(), null().into()).unwrap();
        // The shell only starts another shell, which computes for longer than it takes to start
        // both.
        let nothing = filter(&argv[..1], null().into(), null().into()).unwrap();
        assert!(used.all_ns > 4 * nothing.all_ns, "{used:?} {nothing:?}");
    }

    #[test]
    fn a_command_that_fails_or_is_not_there_says_so() {
        let run = |argv: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let null = || std::fs::File::open("/dev/null").unwrap().into();
            filter(&argv, null(), null()).unwrap_err()
        };
        assert_eq!(run(&["/no/such"]), RunError::Skipped("/no/such is not installed".to_owned()));
        let failed = run(&["sh", "-c", "echo reason >&2; exit 3"]);
        assert!(matches!(&failed, RunError::Failed(text) if text.contains("reason")), "{failed:?}");
    }
}
