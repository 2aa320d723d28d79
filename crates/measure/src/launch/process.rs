//! A child process in its own process group, with its pipes and its environment, and what it waited
//! for a CPU. When it is dropped, the whole group is killed and reaped.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use model::path_text::to_os;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitIdOptions, kill_process, kill_process_group};

use super::expanded::OUTPUT_LIMIT_BYTES;
use super::keeper::{self, KeptGroup};
use super::orphans::EarlierProcesses;
use super::runner::CommandWaits;
use super::{Limits, RunError};
use crate::clock::{self, TreeUsage};
use crate::counters::{OwnWait, TaskEnds, TaskTree, overlap_ns};
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
    /// Uses `posix_spawn`, in a new process group; with a limit of memory `fork`.
    /// The child has these variables in its environment; no other child has those of the counting
    /// pass.
    pub(super) fn spawn(
        argv: &[String],
        stdio: ChildStdio,
        variables: &[(&str, String)],
        limits: &Limits,
    ) -> Result<Process, RunError> {
        let dir = limits.dir.as_deref();
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
        if let Some(group) = &limits.memory {
            group.receive(&mut command);
        }
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
                let limit = model::param::bytes(OUTPUT_LIMIT_BYTES);
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
        let exit = exit_of(self.pid()).ok();
        while !self.has_exited() {
            let now_ns = clock::now_ns();
            if now_ns >= deadline_ns {
                return false;
            }
            let mut ends: Vec<_> =
                exit.iter().map(|exit| PollFd::new(exit, PollFlags::IN)).collect();
            let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            let _ = poll(&mut ends, Some(&pause));
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

// What a plain command waited for a CPU: each of its tasks, and the lab's own thread where it
// saw the end late.

/// Watches the waits of one sample after the other.
pub(super) struct WaitWatch {
    own: OwnWait,
    /// None where the kernel does not report the tasks that end.
    ends: Option<TaskEnds>,
    /// Whether the reports are read when they come. That shows when each task ended, and wakes the
    /// lab each time, so it is done in the first sample only.
    reads_at_once: bool,
    /// The own wait at the last moment at which the lab was not waiting for the process.
    polled_ns: u64,
    /// The times between which the last process ended.
    seen_ns: [u64; 2],
}

impl WaitWatch {
    pub(super) fn open() -> WaitWatch {
        WaitWatch {
            own: OwnWait::of_thread(),
            ends: TaskEnds::open().ok(),
            reads_at_once: true,
            polled_ns: 0,
            seen_ns: [0; 2],
        }
    }

    fn own_ns(&self) -> u64 {
        self.own.read_ns().unwrap_or_default()
    }

    /// Right before the process is started.
    pub(super) fn begin(&mut self) {
        if self.ends.as_mut().is_some_and(|ends| ends.listen().is_err()) {
            self.ends = None;
        }
    }

    /// Where the lab waits for a CPU after it has started the process, the process does not wait
    /// for the lab.
    pub(super) fn started(&mut self) {
        self.polled_ns = self.own_ns();
    }

    /// What is to be polled, besides the end of the process.
    pub(super) fn polled(&self) -> Option<BorrowedFd<'_>> {
        self.ends.as_ref().filter(|_| self.reads_at_once).map(AsFd::as_fd)
    }

    pub(super) fn before_poll(&mut self) {
        self.polled_ns = self.own_ns();
    }

    /// Reads the reports that have come.
    pub(super) fn after_poll(&mut self) {
        let late_ns = self.own_ns().saturating_sub(self.polled_ns);
        let now_ns = clock::now_ns();
        if let Some(ends) = self.ends.as_mut().filter(|_| self.reads_at_once) {
            ends.receive([now_ns.saturating_sub(late_ns), now_ns]);
        }
    }

    /// Right after the end of the process was seen, or of the last of several.
    pub(super) fn ended(&mut self) {
        let now_ns = clock::now_ns();
        let late_ns = self.own_ns().saturating_sub(self.polled_ns);
        self.seen_ns = [now_ns.saturating_sub(late_ns), now_ns];
    }

    /// The waits of the sample; `first` is the first process, which has ended and is not reaped,
    /// and how long it waited in all.
    pub(super) fn take(&mut self, start_ns: u64, first: (u32, Option<u64>)) -> CommandWaits {
        let seen_ns = self.seen_ns;
        let late_ns = seen_ns[1] - seen_ns[0];
        let ended = self.ends.as_mut().and_then(|ends| {
            let ended = ends.take(seen_ns);
            let _ = ends.ignore();
            ended
        });
        let Some(ended) = ended else {
            return CommandWaits { own_ns: late_ns, ..CommandWaits::default() };
        };
        let reads_at_once = std::mem::replace(&mut self.reads_at_once, false);
        let (mut tree, members) = TaskTree::from_ended(&ended, std::process::id(), start_ns);
        // The kernel reports a task before it frees its memory, for which it may wait again.
        let reported_ns = members.iter().find(|task| task.task == first.0).map(|task| task.wait_ns);
        if let Some((all_ns, reported_ns)) = first.1.zip(reported_ns) {
            tree.wait_ns += all_ns.saturating_sub(reported_ns);
        }
        let overlap_ns = if reads_at_once { overlap_ns(&members) } else { None };
        let tree = (tree.tasks > 0).then_some(tree);
        CommandWaits { own_ns: late_ns, tree, overlap_ns, is_serial: false }
    }
}

/// The tasks of a serial tree live one after the other, but for the ends of some and the starts of
/// others, which may take this share of the wall time.
const OVERLAP_SHARE: f64 = 0.05;

/// Whether the tree is serial; none where the ends of its tasks were not seen. A parent that works
/// while its child works overlaps with no other task; then the sum of their computing and waiting
/// exceeds the wall time.
pub(super) fn is_serial(waits: &CommandWaits, cpu_ns: u64, wall_ns: u64) -> Option<bool> {
    let overlap_ns = waits.overlap_ns?;
    let busy_ns = cpu_ns + waits.tree?.wait_ns;
    let most_ns = wall_ns as f64 * OVERLAP_SHARE;
    Some(overlap_ns as f64 <= most_ns && busy_ns as f64 <= wall_ns as f64 + most_ns)
}

// The environment of children: that of this process, less what is withheld from them.

/// The variables that no child gets from the environment of this process.
static WITHHELD: OnceLock<Vec<&str>> = OnceLock::new();

/// Withholds these variables from all children that are started from now on. Only the first call
/// has an effect.
pub fn withhold(variables: Vec<&'static str>) {
    let _ = WITHHELD.set(variables);
}

/// A command with the environment of this process, less what is withheld.
#[expect(clippy::disallowed_methods, reason = "this is crate::launch")]
pub(super) fn new_command(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    for variable in WITHHELD.get().into_iter().flatten() {
        command.env_remove(variable);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_serial_if_its_tasks_live_one_after_the_other() {
        let of = |overlap_ns, wait_ns, cpu_ns| {
            let tree = Some(TaskTree { wait_ns, ..TaskTree::default() });
            is_serial(&CommandWaits { tree, overlap_ns, ..CommandWaits::default() }, cpu_ns, 1000)
        };
        let by_overlap = [None, Some(50), Some(51)].map(|overlap_ns| of(overlap_ns, 0, 1000));
        assert_eq!(by_overlap, [None, Some(true), Some(false)]);
        // A parent that computes beside its child.
        assert_eq!([of(Some(0), 350, 700), of(Some(0), 351, 700)], [Some(true), Some(false)]);
        assert_eq!(of(Some(0), 0, 1250), Some(false));
    }
}
