//! A thread that traces each system call of a process, of its threads and of all processes that it
//! starts. It needs no rights beyond those of a debugger; the traced process takes ten times as
//! long or more.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use syscalls::Sysno;

use super::process_events::JobMark;
use super::ptrace::{self, PtraceEvent, PtraceStop, SyscallInfo};
use super::{Calls, tree};
use crate::{clock, counters, proc_fs};

/// Which system calls are counted.
#[derive(Clone, Debug)]
pub(crate) enum TraceScope {
    /// Those between the marks that a built-in method sets.
    Marked,
    /// Those from now until the process is next at rest, except for reading orders from and writing
    /// replies to these pipes, which are named as in `/proc/PID/fd`.
    Protocol { orders: PathBuf, replies: PathBuf },
    /// Those from the next `execve` of the process to its end.
    Program,
    /// No calls: only the memory of its processes at their end.
    Memory,
    /// No calls: only the memory of the processes that it starts, all of which have ended when the
    /// tracing is finished.
    Children,
}

/// A traced process.
pub(crate) struct Tracer {
    thread: JoinHandle<Result<Calls, String>>,
    finish: Arc<AtomicBool>,
}

/// The wait for a process that does not come to rest ends after this time.
const REST_LIMIT_NS: u64 = 100_000_000;
/// For this time the thread polls for events without a pause, because a stopped task delays its
/// whole process.
const LOOK_NS: u64 = 30_000;
/// The longest pause between two polls.
const PAUSE_NS: u64 = 1_000_000;

impl Tracer {
    /// Returns when all tasks of the process are traced. The error is the reason why they cannot
    /// be. After `limit_ns` it detaches early, and the calls are unknown.
    pub(crate) fn attach(root: u32, scope: TraceScope, limit_ns: u64) -> Result<Tracer, String> {
        proc_fs::path(root, "task").map_err(|error| error.to_string())?;
        let finish = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let thread = TracingThread::new(root, scope, Arc::clone(&finish));
        let thread = std::thread::Builder::new()
            .name("tracer".to_owned())
            .spawn(move || thread.run(&ready, limit_ns))
            .map_err(|error| format!("starting a thread: {error}"))?;
        let tracer = Tracer { thread, finish };
        match is_ready.recv() {
            Ok(()) => Ok(tracer),
            Err(_) => Err(tracer.finish().err().unwrap_or_else(|| "it has ended".to_owned())),
        }
    }

    /// Detaches from the process. Where the scope ends when the process is at rest, waits for that.
    pub(crate) fn finish(self) -> Result<Calls, String> {
        self.finish.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Err("the tracer panicked".to_owned()))
    }
}

/// The state of the tracing thread.
struct TracingThread {
    root: u32,
    scope: TraceScope,
    finish: Arc<AtomicBool>,
    tasks: BTreeMap<u32, TracedTask>,
    /// Whether calls are counted at present.
    open: bool,
    calls: Calls,
    /// Time of the last event.
    quiet_since_ns: u64,
}

/// A task that is traced.
#[derive(Default)]
struct TracedTask {
    /// The task runs untraced until its first stop.
    arriving: bool,
    /// Where the task was interrupted in a system call that had begun before; the call will begin
    /// there again.
    interrupted_at: Option<SyscallInfo>,
    /// The call that the task is in, if it counts: its number, and when it began.
    call: Option<(u64, u64)>,
}

impl TracingThread {
    fn new(root: u32, scope: TraceScope, finish: Arc<AtomicBool>) -> TracingThread {
        let open = matches!(scope, TraceScope::Protocol { .. });
        let (tasks, calls) = (BTreeMap::new(), Calls::default());
        TracingThread { root, scope, finish, tasks, open, calls, quiet_since_ns: clock::now_ns() }
    }

    fn run(mut self, ready: &Sender<()>, limit_ns: u64) -> Result<Calls, String> {
        let start_ns = clock::now_ns();
        self.seize_all()?;
        let mut is_announced = false;
        let mut finishing_since_ns = None;
        loop {
            let event = ptrace::next_event().map_err(|error| format!("waiting for it: {error}"))?;
            if let Some(PtraceEvent::Ended(task)) = event
                && !self.reaps(task)
            {
                return Ok(self.calls);
            }
            if let Some(PtraceEvent::Stopped(task, stop)) = event {
                self.stopped(task, stop)?;
            }
            if !is_announced && self.tasks.values().all(|task| !task.arriving) {
                is_announced = ready.send(()).is_ok();
            }
            if event.is_some() {
                self.quiet_since_ns = clock::now_ns();
                if self.quiet_since_ns - start_ns > limit_ns {
                    self.detach_all();
                    return Err("tracing each of its calls takes too long here".to_owned());
                }
                continue;
            }
            if self.finish.load(Ordering::Relaxed) {
                let since_ns = *finishing_since_ns.get_or_insert_with(clock::now_ns);
                if self.scope_has_ended() || clock::now_ns() - since_ns > REST_LIMIT_NS {
                    self.detach_all();
                    return Ok(self.calls);
                }
            }
            self.pause();
        }
    }

    /// Seizes all existing tasks. The kernel seizes the new tasks of a seized task.
    fn seize_all(&mut self) -> Result<(), String> {
        loop {
            let mut any = false;
            for task in tree::tasks(self.root) {
                if self.tasks.contains_key(&task) {
                    continue;
                }
                match ptrace::seize(task, self.is_of_memory())
                    .and_then(|()| ptrace::interrupt(task))
                {
                    Ok(()) => {
                        any = true;
                        self.tasks
                            .insert(task, TracedTask { arriving: true, ..TracedTask::default() });
                    }
                    Err(error) if task == self.root => return Err(refused(&error)),
                    // The task has ended, is already known, or is a thread of the kernel.
                    Err(_) => {}
                }
            }
            if !any {
                return Ok(());
            }
        }
    }

    fn stopped(&mut self, task: u32, stop: PtraceStop) -> Result<(), String> {
        let known = self.tasks.entry(task).or_default();
        let arrives = std::mem::take(&mut known.arriving);
        let mut signal = 0;
        match stop {
            PtraceStop::Syscall => {
                let info = ptrace::info(task).map_err(|error| format!("ptrace: {error}"));
                self.call(task, &info?);
            }
            PtraceStop::Interrupted if arrives => known.interrupted_at = ptrace::info(task).ok(),
            PtraceStop::Signal(number) => signal = number,
            PtraceStop::Group => {
                let _ = ptrace::stay_stopped(task);
                return Ok(());
            }
            PtraceStop::Exec => {
                // The thread takes the number of its process, in the middle of its call.
                if let Ok(before) = ptrace::task_before_exec(task)
                    && before != task
                    && let Some(thread) = self.tasks.remove(&before)
                {
                    self.tasks.insert(task, thread);
                }
                self.open |= matches!(self.scope, TraceScope::Program) && task == self.root;
            }
            PtraceStop::Ending if self.is_left_out(task) => {}
            PtraceStop::Ending => {
                let peak = counters::peak_rss_bytes(task);
                self.calls.peak_rss_bytes = self.calls.peak_rss_bytes.max(peak);
            }
            PtraceStop::Interrupted | PtraceStop::Other => {}
        }
        // A task that was killed in the meantime is reported as ended.
        let _ = if self.is_of_memory() {
            ptrace::go_on_far(task, signal)
        } else {
            ptrace::go_on(task, signal)
        };
        Ok(())
    }

    fn is_of_memory(&self) -> bool {
        matches!(self.scope, TraceScope::Memory | TraceScope::Children)
    }

    /// Whether it is a thread of the process itself where only its children are traced.
    fn is_left_out(&self, task: u32) -> bool {
        let own = || std::fs::exists(format!("/proc/{}/task/{task}", self.root));
        matches!(self.scope, TraceScope::Children) && own().unwrap_or(true)
    }

    fn call(&mut self, task: u32, info: &SyscallInfo) {
        let known = self.tasks.entry(task).or_default();
        if !info.begins_call() {
            if let Some((number, begun_ns)) = known.call.take() {
                let ns = clock::now_ns() - begun_ns;
                *self.calls.ns_by_number.entry(number).or_default() += ns;
                if returns_bytes(number) {
                    self.calls.transferred_bytes += info.returned().unwrap_or(0);
                }
            }
            return;
        }
        if known.interrupted_at.take().is_some_and(|at| is_same_place(&at, info)) {
            return;
        }
        if matches!(self.scope, TraceScope::Marked)
            && let Some(mark) = JobMark::of_call(info.number, &info.arguments)
        {
            self.open = mark == JobMark::Begin;
            return;
        }
        if !self.open {
            return;
        }
        if self.is_of_protocol(task, info) {
            self.calls.of_protocol += 1;
        } else {
            let number = info.call_number();
            *self.calls.by_number.entry(number).or_default() += 1;
            let call = (number, clock::now_ns());
            self.tasks.entry(task).or_default().call = Some(call);
        }
    }

    fn is_of_protocol(&self, task: u32, info: &SyscallInfo) -> bool {
        let TraceScope::Protocol { orders, replies } = &self.scope else { return false };
        let pipe = match info.number as libc::c_long {
            libc::SYS_read | libc::SYS_readv => orders,
            libc::SYS_write | libc::SYS_writev => replies,
            _ => return false,
        };
        let link = format!("/proc/{task}/fd/{}", info.arguments[0] as i32);
        std::fs::read_link(link).is_ok_and(|target| target == *pipe)
    }

    fn scope_has_ended(&self) -> bool {
        match self.scope {
            TraceScope::Marked => !self.open,
            TraceScope::Protocol { .. } => self.tasks.keys().all(|task| tree::sleeps(*task)),
            TraceScope::Program | TraceScope::Memory => false,
            TraceScope::Children => true,
        }
    }

    /// Polls again at once for a while; later it pauses for a fraction of the time since the last
    /// event.
    fn pause(&self) {
        let quiet_ns = clock::now_ns() - self.quiet_since_ns;
        if quiet_ns < LOOK_NS {
            std::thread::yield_now();
        } else {
            let pause_ns = (quiet_ns / 4).min(PAUSE_NS);
            std::thread::sleep(std::time::Duration::from_nanos(pause_ns));
        }
    }

    /// Reaps a task that has ended. False for the process itself: its status is left to the one
    /// that started it.
    fn reaps(&mut self, task: u32) -> bool {
        if task == self.root {
            return false;
        }
        ptrace::reap(task);
        self.tasks.remove(&task);
        true
    }

    /// Each task is detached at its next stop. A task that does not stop in time is detached by the
    /// end of this thread.
    fn detach_all(&mut self) {
        self.tasks.retain(|task, _| ptrace::interrupt(*task).is_ok());
        let start_ns = clock::now_ns();
        let mut is_there = true;
        while is_there && !self.tasks.is_empty() && clock::now_ns() - start_ns < REST_LIMIT_NS {
            match ptrace::next_event() {
                Ok(Some(PtraceEvent::Stopped(task, stop))) => {
                    let signal = if let PtraceStop::Signal(number) = stop { number } else { 0 };
                    let _ = ptrace::detach(task, signal);
                    self.tasks.remove(&task);
                }
                Ok(Some(PtraceEvent::Ended(task))) => is_there = self.reaps(task),
                Ok(None) => std::thread::yield_now(),
                Err(_) => return,
            }
        }
    }
}

/// Whether a call returns how many bytes it has transferred. `recvmmsg` and `sendmmsg` return a
/// number of messages.
fn returns_bytes(number: u64) -> bool {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    matches!(
        known,
        Some(
            Sysno::read
                | Sysno::readv
                | Sysno::pread64
                | Sysno::preadv
                | Sysno::preadv2
                | Sysno::write
                | Sysno::writev
                | Sysno::pwrite64
                | Sysno::pwritev
                | Sysno::pwritev2
                | Sysno::recvfrom
                | Sysno::recvmsg
                | Sysno::sendto
                | Sysno::sendmsg
                | Sysno::sendfile
                | Sysno::splice
                | Sysno::tee
                | Sysno::vmsplice
                | Sysno::copy_file_range
        )
    )
}

/// Whether a call begins where one was interrupted. Some processors have already stepped back to
/// the instruction of the call, by its length, and others have not.
fn is_same_place(at: &SyscallInfo, info: &SyscallInfo) -> bool {
    at.stack == info.stack && at.instruction.abs_diff(info.instruction) <= 4
}

fn refused(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => "ptrace is not permitted here; see kernel.yama.ptrace_scope, and the \
                              seccomp filter of a container"
            .to_owned(),
        Some(libc::ESRCH) => "it has ended".to_owned(),
        _ => format!("ptrace: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    /// A process that has ended and was not waited for.
    #[expect(clippy::disallowed_methods, reason = "it only ends, and is waited for")]
    fn ended() -> Child {
        let child = Command::new("true").spawn().unwrap();
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&child)), ended).unwrap();
        child
    }

    #[test]
    fn the_status_of_the_process_itself_is_left_to_the_one_that_started_it() {
        let [mut root, mut other] = [ended(), ended()];
        let mut tracing = TracingThread::new(root.id(), TraceScope::Marked, Arc::default());
        tracing.tasks.insert(other.id(), TracedTask::default());
        assert!(!tracing.reaps(root.id()) && tracing.reaps(other.id()));
        assert!(tracing.tasks.is_empty());
        assert!(root.wait().unwrap().success());
        other.wait().unwrap_err();
    }
}
