//! A plain command between two descriptors, for a method that makes these itself.

use std::os::fd::OwnedFd;

use super::process::{Process, Talk, describe};
use super::{Ended, Limits};
use crate::clock::{self, Cpu, CpuClock};
use crate::stop::Stop;

/// Runs a command from `input` to `output`, which it closes, and waits for its end. What it used, its start
/// included. The processes that end meanwhile must be its own.
pub fn filter(argv: &[String], input: OwnedFd, output: OwnedFd) -> Result<Cpu, Ended> {
    // The lab that waits for the method sets the limit.
    let limits = Limits { answer_ns: u64::MAX, dir: None, stop: Stop::default() };
    let before_ns = clock::ended_children_user_ns();
    let mut process = Process::spawn(argv, Talk::Given(input, output), &[], None)?;
    let failed = |error: &dyn std::fmt::Display| Ended::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(&limits, clock::now_ns().saturating_add(u64::MAX >> 1))?;
    // It has ended but is not reaped: the kernel still has its clock.
    let cpu_ns = CpuClock::of(process.child.id()).and_then(CpuClock::read_ns);
    let status = process.end().map_err(|error| failed(&error))?;
    if !status.success() {
        let tail = process.quoted_tail();
        return Err(Ended::Failed(format!("{} {}{tail}", argv[0], describe(status))));
    }
    let user_ns = clock::ended_children_user_ns() - before_ns;
    Ok(Cpu { all_ns: cpu_ns.map_err(|error| failed(&error))?, user_ns })
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
        // It ends only if nobody else has the other end of the pipe.
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn a_command_that_fails_or_is_not_there_says_so() {
        let run = |argv: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let null = || std::fs::File::open("/dev/null").unwrap().into();
            filter(&argv, null(), null()).unwrap_err()
        };
        assert_eq!(run(&["/no/such"]), Ended::Skipped("/no/such is not installed".to_owned()));
        let failed = run(&["sh", "-c", "echo reason >&2; exit 3"]);
        assert!(matches!(&failed, Ended::Failed(text) if text.contains("reason")), "{failed:?}");
    }
}
