//! A process that methods need beside them, such as the server that they read from. It is ended on
//! drop, and when the lab ends.

use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;

use super::process::{ChildStdio, Process};
use super::withheld::new_command;
use super::{Limits, RunError, Stop};
use crate::clock;
use crate::path_text::to_os;

/// A helper process that has started but is not necessarily ready.
pub struct ServerProcess {
    process: Process,
    limits: Limits,
}

impl ServerProcess {
    /// Starts the process; `limit_ns` is the time limit of each later request.
    pub fn start(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<ServerProcess, RunError> {
        let limits = Limits { answer_ns: limit_ns, stop: stop.clone(), dir: None };
        Ok(ServerProcess { process: Process::spawn(argv, ChildStdio::Pipes, &[], None)?, limits })
    }

    /// The first line of its standard output.
    pub fn line(&mut self) -> Result<String, RunError> {
        let Some(output) = self.process.child.stdout.take() else {
            return Err(RunError::Failed("its standard output is not a pipe".to_owned()));
        };
        let deadline_ns = clock::now_ns().saturating_add(self.limits.answer_ns);
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            self.process.wait_for(output.as_fd(), &self.limits, deadline_ns)?;
            let mut byte = [0];
            match rustix::io::read(&output, &mut byte) {
                Ok(0) => return Err(RunError::Failed(self.process.died())),
                Ok(_) => line.push(byte[0]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(RunError::Failed(format!("reading its output: {error}"))),
            }
        }
        self.process.child.stdout = Some(output);
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Repeats `ready` until it returns a value; an error if the process dies or the limit passes.
    pub fn until<T>(&mut self, mut ready: impl FnMut() -> Option<T>) -> Result<T, RunError> {
        let deadline_ns = clock::now_ns().saturating_add(self.limits.answer_ns);
        loop {
            if let Some(found) = ready() {
                return Ok(found);
            }
            if self.limits.stop.signal().is_some() {
                return Err(RunError::Stopped);
            }
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return Err(RunError::Failed("it is not ready in time".to_owned()));
            }
            // Waits for a millisecond while the process lives.
            if self.process.wait_until_exit(now_ns + 1_000_000) {
                return Err(RunError::Failed(self.process.died()));
            }
        }
    }
}

/// Makes this process end when the process that started it ends.
pub fn end_with_the_lab() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// Replaces this process by another program, which also ends with the lab. Returns only on failure.
pub fn become_program(argv: &[&str]) -> std::io::Error {
    if let Err(error) = end_with_the_lab() {
        return error;
    }
    let Some((name, arguments)) = argv.split_first() else {
        return std::io::ErrorKind::InvalidInput.into();
    };
    let mut command = new_command(&to_os(name));
    command.args(arguments.iter().map(|word| to_os(word))).exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> ServerProcess {
        let argv = ["sh", "-c", script].map(str::to_owned);
        ServerProcess::start(&argv, 20_000_000_000, &Stop::default()).unwrap()
    }

    #[test]
    fn a_helper_says_a_line_and_is_there_until_it_is_dropped() {
        let mut helper = start("echo $$; exec cat");
        let pid: i32 = helper.line().unwrap().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        assert_eq!(helper.until(|| Some(7)), Ok(7));
        rustix::process::test_kill_process(pid).unwrap();
        drop(helper);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }

    #[test]
    fn a_helper_that_dies_says_why() {
        let died = |ended: RunError| match ended {
            RunError::Failed(text) => text,
            other => panic!("{other:?}"),
        };
        let text = died(start("echo reason >&2; exit 3").line().unwrap_err());
        assert!(text.contains("exit status 3") && text.contains("reason"), "{text}");
        let mut silent = start("echo reason >&2; exit 3");
        let text = died(silent.until(|| None::<()>).unwrap_err());
        assert!(text.contains("exit status 3") && text.contains("reason"), "{text}");
    }
}
