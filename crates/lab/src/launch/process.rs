//! A child process in its own process group, with its pipes. When it is dropped, the whole group is
//! killed and reaped.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitIdOptions, kill_process, kill_process_group};

use super::keeper::{self, KeptGroup};
use super::orphans::EarlierProcesses;
use super::output::OUTPUT_LIMIT_BYTES;
use super::waits::WaitWatch;
use super::withheld::new_command;
use super::{Limits, RunError};
use crate::clock::{self, TreeUsage};
use crate::path_text::to_os;
use crate::protocol::{COUNTING_VARIABLE, DIGEST_VARIABLE, FRESH_VARIABLE};

/// The length of the end of a child's standard error that is kept, to quote it if the child dies.
const TAIL_BYTES: usize = 2 << 10;
/// A signal that arrives between the check of the flag and the wait is noticed after this time.
const LOOK_AGAIN_MS: i64 = 100;

pub(super) struct Process {
    pub(super) child: Child,
    group: KeptGroup,
    name: String,
    stderr: Option<ChildStderr>,
    tail: Vec<u8>,
    /// The exit status and the usage, once the process is reaped.
    ended: Option<(ExitStatus, TreeUsage)>,
    /// The file to which the process prints, if its size must be limited.
    pub(super) watched: Option<File>,
    /// The pipe to which the process prints, if its output is discarded.
    discarded: Option<PipeReader>,
    /// Watches the waits for a CPU, in a sample of a plain command.
    pub(super) waits: Option<WaitWatch>,
    /// Whether the processes that it leaves running are left alone.
    pub(super) keeps_others: bool,
}

/// Where the child's standard input and output go.
pub(super) enum ChildStdio {
    Pipes,
    Null,
    /// The first is its input, the second its output.
    Given(OwnedFd, OwnedFd),
    /// The same; its standard error goes nowhere, as what it leaves running may outlive the lab.
    Kept(OwnedFd, OwnedFd),
    /// This is its input; its output and its standard error are those of the lab.
    Shown(OwnedFd),
}

/// What is missing if a program cannot be started: the folder in which it was to work, or itself.
fn missing(name: &str, dir: Option<&Path>) -> RunError {
    match dir {
        Some(dir) if !dir.exists() => {
            RunError::Failed(format!("the working directory {} is gone", dir.display()))
        }
        None if std::env::current_dir().is_err() => {
            RunError::Failed("the working directory is gone".to_owned())
        }
        _ => RunError::Skipped(format!("{name} is not installed")),
    }
}

impl Process {
    /// Uses `posix_spawn`, in a new process group.
    /// The child has these variables in its environment; no other child has those of the counting
    /// pass.
    pub(super) fn spawn(
        argv: &[String],
        stdio: ChildStdio,
        variables: &[(&str, String)],
        dir: Option<&Path>,
    ) -> Result<Process, RunError> {
        let (name, arguments) =
            argv.split_first().ok_or_else(|| RunError::Failed("an empty command".to_owned()))?;
        let (stdin, stdout, stderr) = match stdio {
            ChildStdio::Pipes => (Stdio::piped(), Stdio::piped(), Stdio::piped()),
            ChildStdio::Null => (Stdio::null(), Stdio::null(), Stdio::piped()),
            ChildStdio::Given(stdin, stdout) => (stdin.into(), stdout.into(), Stdio::piped()),
            ChildStdio::Kept(stdin, stdout) => (stdin.into(), stdout.into(), Stdio::null()),
            ChildStdio::Shown(stdin) => (stdin.into(), Stdio::inherit(), Stdio::inherit()),
        };
        let mut command = new_command(&to_os(name));
        if let Some(dir) = dir {
            command.current_dir(dir);
        }
        keeper::mark(&mut command);
        let spawned = command
            .env_remove(COUNTING_VARIABLE)
            .env_remove(FRESH_VARIABLE)
            .env_remove(DIGEST_VARIABLE)
            .envs(variables.iter().map(|(name, value)| (name, to_os(value))))
            .args(arguments.iter().map(|word| to_os(word)))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => missing(name, dir),
            _ => RunError::Failed(format!("{name} could not be started: {error}")),
        })?;
        let group = KeptGroup::new(child.id());
        let stderr = child.stderr.take();
        let process = Process {
            child,
            group,
            name: name.clone(),
            stderr,
            tail: Vec::new(),
            ended: None,
            watched: None,
            discarded: None,
            waits: None,
            keeps_others: false,
        };
        if let Some(stderr) = &process.stderr {
            set_nonblocking(stderr)
                .map_err(|error| RunError::Failed(format!("standard error of {name}: {error}")))?;
        }
        Ok(process)
    }

    /// While the lab waits for the process, it reads this pipe, and discards what is in it.
    pub(super) fn discard(&mut self, pipe: Option<PipeReader>) -> Result<(), RunError> {
        if let Some(pipe) = &pipe {
            set_nonblocking(pipe).map_err(|error| {
                RunError::Failed(format!("the output of {}: {error}", self.name))
            })?;
        }
        self.discarded = pipe;
        Ok(())
    }

    /// Waits until `fd` is readable or closed, and reads standard error meanwhile.
    pub(super) fn wait_for(
        &mut self,
        fd: BorrowedFd<'_>,
        limits: &Limits,
        deadline_ns: u64,
    ) -> Result<(), RunError> {
        loop {
            if limits.stop.signal().is_some() {
                return Err(RunError::Stopped);
            }
            let printed = self.watched.as_ref().and_then(|file| file.metadata().ok());
            if printed.is_some_and(|printed| printed.len() > OUTPUT_LIMIT_BYTES) {
                let limit = crate::param::bytes(OUTPUT_LIMIT_BYTES);
                return Err(RunError::Failed(format!("it printed more than {limit}, killed")));
            }
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                let limit_s = limits.answer_ns as f64 / 1e9;
                return Err(RunError::Failed(format!(
                    "no answer within {limit_s} s, killed{}",
                    self.quoted_tail()
                )));
            }
            let left_ms = (deadline_ns - now_ns).div_ceil(1_000_000) as i64;
            if let Some(waits) = &mut self.waits {
                waits.before_poll();
            }
            let own = [
                self.stderr.as_ref().map(AsFd::as_fd),
                self.discarded.as_ref().map(AsFd::as_fd),
                self.waits.as_ref().and_then(WaitWatch::polled),
            ];
            let fds = [Some(fd)].into_iter().chain(own).flatten();
            let mut fds: Vec<_> =
                fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            let timeout_ms = left_ms.min(LOOK_AGAIN_MS);
            let timeout = rustix::event::Timespec {
                tv_sec: timeout_ms / 1000,
                tv_nsec: timeout_ms % 1000 * 1_000_000,
            };
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => self.ensure_not_stopped()?,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(RunError::Failed(format!("poll: {error}"))),
            }
            let mut are_readable = fds.iter().map(|fd| !fd.revents().is_empty());
            let readable = are_readable.next() == Some(true);
            let others = are_readable.any(|is_one| is_one);
            if readable {
                self.take_printed(others);
                return Ok(());
            }
            if let Some(waits) = &mut self.waits {
                waits.after_poll();
            }
            self.take_printed(others);
        }
    }

    /// Fails if the process waits for a terminal, which it does not get: it is in the background.
    fn ensure_not_stopped(&self) -> Result<(), RunError> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let waited = rustix::process::waitid(rustix::process::WaitId::Pid(self.pid()), options);
        let Ok(Some(status)) = waited else { return Ok(()) };
        let (signal, what) = match status.stopping_signal() {
            Some(signal) if signal == Signal::TTIN.as_raw() => ("SIGTTIN", "reads from"),
            Some(signal) if signal == Signal::TTOU.as_raw() => ("SIGTTOU", "writes to"),
            _ => return Ok(()),
        };
        Err(RunError::Failed(format!(
            "stopped by {signal}: it {what} the terminal or changes its settings, which a command \
             that is measured cannot do; killed{}",
            self.quoted_tail()
        )))
    }

    /// Waits until the process has ended, without reaping it.
    pub(super) fn wait_for_exit(
        &mut self,
        limits: &Limits,
        deadline_ns: u64,
    ) -> Result<(), RunError> {
        let exit = exit_of(self.pid())
            .map_err(|error| RunError::Failed(format!("{}: waiting for it: {error}", self.name)))?;
        self.wait_for(exit.as_fd(), limits, deadline_ns)
    }

    /// Waits until all processes have ended that have become children of the lab since, but for
    /// these, and reads what the process prints meanwhile. Returns when the last one ended; none if
    /// there was none.
    pub(super) fn wait_for_others(
        &mut self,
        known: &EarlierProcesses,
        own: &[Pid],
        limits: &Limits,
        deadline_ns: u64,
    ) -> Result<Option<u64>, RunError> {
        let mut last_ns = None;
        // One that ends may leave others.
        while let Some(other) = known.others(own).running.first() {
            match exit_of(*other) {
                Ok(_) if clock::now_ns() >= deadline_ns => {
                    let limit_s = limits.answer_ns as f64 / 1e9;
                    let what =
                        format!("what it left running did not end within {limit_s} s, killed");
                    return Err(RunError::Failed(what));
                }
                Ok(exit) => {
                    self.wait_for(exit.as_fd(), limits, deadline_ns)?;
                    last_ns = Some(clock::now_ns());
                }
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => {
                    let what = "waiting for what it left running";
                    return Err(RunError::Failed(format!("{}: {what}: {error}", self.name)));
                }
            }
        }
        Ok(last_ns)
    }

    /// How the process ended, with the end of its standard error. Kills the rest of its group.
    pub(super) fn died(&mut self) -> String {
        let ended = self.wait_until_exit(clock::now_ns() + 1_000_000_000);
        let how = match (ended, self.end()) {
            (true, Ok(status)) => describe(status),
            (false, _) => "closed its output without ending; killed".to_owned(),
            (true, Err(error)) => format!("could not be waited for: {error}"),
        };
        format!("{how}{}", self.quoted_tail())
    }

    /// Waits for the exit without reaping; returns false if the process still runs at the deadline.
    pub(super) fn wait_until_exit(&mut self, deadline_ns: u64) -> bool {
        while !self.has_exited() {
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return false;
            }
            let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            let _ = poll(&mut [], Some(&pause));
        }
        true
    }

    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let waited = rustix::process::waitid(rustix::process::WaitId::Pid(self.pid()), options);
        match waited {
            // A process whose system calls are traced is also reported here when it is stopped.
            Ok(Some(status)) => status.exited() || status.killed() || status.dumped(),
            Ok(None) | Err(rustix::io::Errno::INTR) => false,
            Err(_) => true,
        }
    }

    /// Kills the whole group and reaps the leader. The group is killed before the leader is reaped:
    /// until then its number cannot belong to anyone else.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        self.end_with_usage().map(|(status, _)| status)
    }

    /// The same, and returns what the process and all that it waited for have used.
    pub(super) fn end_with_usage(&mut self) -> io::Result<(ExitStatus, TreeUsage)> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        // Nothing happens to a process that has ended and is not reaped.
        let _ = if self.keeps_others {
            kill_process(self.pid(), Signal::KILL)
        } else {
            kill_process_group(self.pid(), Signal::KILL)
        };
        self.group.forget();
        let ended = clock::reap(self.child.id())?;
        self.ended = Some(ended);
        self.take_stderr();
        Ok(ended)
    }

    pub(super) fn is_reaped(&self) -> bool {
        self.ended.is_some()
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(super) fn quoted_tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.tail);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" | ");
        let clean: String = last.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if clean.is_empty() { String::new() } else { format!("; stderr of {}: {clean}", self.name) }
    }

    fn take_printed(&mut self, has_printed: bool) {
        if has_printed {
            self.take_stderr();
            self.take_discarded();
        }
    }

    fn take_discarded(&mut self) {
        let Some(pipe) = &self.discarded else { return };
        let mut buffer = vec![0; 64 << 10];
        // As with the standard error, the deadline is still checked.
        for _ in 0..16 {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => {
                    self.discarded = None;
                    return;
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    fn take_stderr(&mut self) {
        let Some(stderr) = &self.stderr else { return };
        let mut buffer = [0; 16 << 10];
        // The standard error of a child that writes without pause is read a few buffers at a time,
        // so that the deadline is still checked.
        for _ in 0..16 {
            match rustix::io::read(stderr, &mut buffer) {
                Ok(0) => {
                    self.stderr = None;
                    return;
                }
                Ok(n) => {
                    self.tail.extend_from_slice(&buffer[..n]);
                    let excess = self.tail.len().saturating_sub(TAIL_BYTES);
                    self.tail.drain(..excess);
                }
                Err(_) => return,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A descriptor that becomes readable when the process has ended.
#[cfg(target_os = "linux")]
fn exit_of(process: Pid) -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty())?)
}

/// A descriptor that becomes readable when the process has ended.
#[cfg(target_vendor = "apple")]
#[expect(unsafe_code, reason = "rustix leaves the descriptors of other filters to the caller")]
fn exit_of(process: Pid) -> io::Result<OwnedFd> {
    use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
    let queue = kqueue()?;
    let filter = EventFilter::Proc { pid: process, flags: ProcessEvents::EXIT };
    let exit = Event::new(filter, EventFlags::ADD, std::ptr::null_mut());
    let now = Some(std::time::Duration::ZERO);
    // SAFETY: the filter names a process, and no descriptor that could be closed in the meantime.
    match unsafe { kevent(&queue, &[exit], &mut [] as &mut [Event], now) } {
        Ok(_) => Ok(queue),
        // The process has already ended: return the read end of a pipe that has no writer.
        Err(rustix::io::Errno::SRCH) => Ok(io::pipe()?.0.into()),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&fd)?;
    Ok(fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?)
}

pub(super) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        _ => format!("ended: {status}"),
    }
}
