//! ptrace(2) and the waiting for stops, as safe functions. A tracer is a thread: all of these
//! functions must be called by the thread that has seized the task.
#![expect(unsafe_code, reason = "ptrace and waitid have no safe form that can do this")]

use std::io;
use std::mem;

use super::OF_32_BITS;

/// Follows threads and children, and distinguishes system calls from signals.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;

// The requests of linux/ptrace.h; the C libraries differ in their type.
const SYSCALL: libc::c_long = 24;
const CONT: libc::c_long = 7;
const DETACH: libc::c_long = 17;
const GET_EVENT_MESSAGE: libc::c_long = 0x4201;
const SEIZE: libc::c_long = 0x4206;
const INTERRUPT: libc::c_long = 0x4207;
const LISTEN: libc::c_long = 0x4208;
const GET_SYSCALL_INFO: libc::c_long = 0x420e;

/// `__AUDIT_ARCH_64BIT` of linux/audit.h.
const AUDIT_64_BITS: u32 = 0x8000_0000;

/// An event of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PtraceEvent {
    /// The task has ended and is still to be reaped.
    Ended(u32),
    Stopped(u32, PtraceStop),
}

/// Why a traced task has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PtraceStop {
    /// The task is at the beginning or the end of a system call.
    Syscall,
    /// A signal is about to be delivered.
    Signal(i32),
    /// The task has replaced its program.
    Exec,
    /// The task is about to end.
    Ending,
    /// The task was interrupted, or is new.
    Interrupted,
    /// A signal stopped its whole process, which must stay stopped.
    Group,
    /// The task has started a thread or a process.
    Other,
}

/// `ptrace_syscall_info` of linux/ptrace.h, with the fields for the beginning of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SyscallInfo {
    operation: u8,
    reserved: [u8; 3],
    architecture: u32,
    pub(super) instruction: u64,
    pub(super) stack: u64,
    pub(super) number: u64,
    pub(super) arguments: [u64; 6],
    more: u64,
}

impl SyscallInfo {
    pub(super) fn begins_call(&self) -> bool {
        self.operation == 1
    }

    /// The number of the call that begins, with [`OF_32_BITS`] where it is one of a 32-bit program.
    pub(super) fn call_number(&self) -> u64 {
        let is_native = cfg!(target_pointer_width = "32") || self.architecture & AUDIT_64_BITS != 0;
        if is_native { self.number } else { u64::from(self.number as u32) | OF_32_BITS }
    }

    /// What the call has returned, at its end; none where that is an error.
    pub(super) fn returned(&self) -> Option<u64> {
        // Of the end of a call, the kernel writes the result where the number of a call would be.
        if self.operation == 2 { u64::try_from(self.number as i64).ok() } else { None }
    }
}

/// From now on [`interrupt`] can stop the task; it is not stopped yet. With `ends`, it also stops
/// before it ends, while all its memory still exists.
pub(super) fn seize(task: u32, ends: bool) -> io::Result<()> {
    let options = if ends { OPTIONS | libc::PTRACE_O_TRACEEXIT } else { OPTIONS };
    request(SEIZE, task, 0, options as usize).map(|_| ())
}

pub(super) fn interrupt(task: u32) -> io::Result<()> {
    request(INTERRUPT, task, 0, 0).map(|_| ())
}

/// Continues the task until the next beginning or end of a system call.
pub(super) fn go_on(task: u32, signal: i32) -> io::Result<()> {
    request(SYSCALL, task, 0, signal as usize).map(|_| ())
}

/// Continues the task until it starts a task, replaces its program or ends.
pub(super) fn go_on_far(task: u32, signal: i32) -> io::Result<()> {
    request(CONT, task, 0, signal as usize).map(|_| ())
}

/// Leaves the task stopped until a signal continues its process.
pub(super) fn stay_stopped(task: u32) -> io::Result<()> {
    request(LISTEN, task, 0, 0).map(|_| ())
}

pub(super) fn detach(task: u32, signal: i32) -> io::Result<()> {
    request(DETACH, task, 0, signal as usize).map(|_| ())
}

/// The state of a stopped task. Needs Linux 5.3.
pub(super) fn info(task: u32) -> io::Result<SyscallInfo> {
    let mut info = SyscallInfo::default();
    let (len, place) = (size_of::<SyscallInfo>(), &raw mut info);
    request(GET_SYSCALL_INFO, task, len, place as usize)?;
    Ok(info)
}

/// The number that the task had before it replaced its program.
pub(super) fn task_before_exec(task: u32) -> io::Result<u32> {
    let mut message: libc::c_ulong = 0;
    request(GET_EVENT_MESSAGE, task, 0, &raw mut message as usize)?;
    Ok(message as u32)
}

fn request(
    request: libc::c_long,
    task: u32,
    address: usize,
    data: usize,
) -> io::Result<libc::c_long> {
    // SAFETY: the requests of this module write at most to `data`, which is then the address of a
    // local variable of the length that is passed to the kernel or fixed by the request.
    let answer = unsafe { libc::syscall(libc::SYS_ptrace, request, task as usize, address, data) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The next event of a task of this thread, without waiting. An ended task is not reaped: see
/// [`reap`].
pub(super) fn next_event() -> io::Result<Option<PtraceEvent>> {
    // Nearly all events are stops, so the first call of `waitid` consumes them.
    if let Some((task, _, status)) = look(libc::WSTOPPED)? {
        return Ok(Some(PtraceEvent::Stopped(task, stop(status))));
    }
    // This call also reports a stop that occurs between the two calls; the next one consumes it.
    let ended = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED];
    let found = look(libc::WEXITED | libc::WNOWAIT)?.filter(|(_, code, _)| ended.contains(code));
    Ok(found.map(|(task, ..)| PtraceEvent::Ended(task)))
}

/// A task in the requested state, or in a stop: its number, the event, its status.
fn look(state: libc::c_int) -> io::Result<Option<(u32, i32, i32)>> {
    // Other threads of this process have children of their own.
    let flags = state | libc::WNOHANG | libc::__WALL | libc::__WNOTHREAD;
    // SAFETY: a struct of integers, for which all zeros are a valid value.
    let mut found: libc::siginfo_t = unsafe { mem::zeroed() };
    // SAFETY: `found` is valid for writing.
    if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut found, flags) } != 0 {
        let error = io::Error::last_os_error();
        let no_child = error.raw_os_error() == Some(libc::ECHILD);
        return if no_child { Ok(None) } else { Err(error) };
    }
    // SAFETY: `waitid` fills this field, or leaves the zero.
    let task = unsafe { found.si_pid() } as u32;
    // SAFETY: as above.
    let status = unsafe { found.si_status() };
    Ok((task != 0).then_some((task, found.si_code, status)))
}

/// The meaning of the low byte (the signal) and the next one (the event); see ptrace(2).
fn stop(status: i32) -> PtraceStop {
    let (signal, event) = (status & 0xff, status >> 8);
    match event {
        0 if signal == libc::SIGTRAP | 0x80 => PtraceStop::Syscall,
        0 => PtraceStop::Signal(signal),
        libc::PTRACE_EVENT_EXEC => PtraceStop::Exec,
        libc::PTRACE_EVENT_EXIT => PtraceStop::Ending,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => PtraceStop::Interrupted,
        libc::PTRACE_EVENT_STOP => PtraceStop::Group,
        _ => PtraceStop::Other,
    }
}

/// Reaps a task that has ended.
pub(super) fn reap(task: u32) {
    // SAFETY: no status is requested.
    unsafe {
        libc::waitpid(task as libc::pid_t, std::ptr::null_mut(), libc::__WALL | libc::WNOHANG)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_signal_and_an_event() {
        assert_eq!(stop(libc::SIGTRAP | 0x80), PtraceStop::Syscall);
        assert_eq!(stop(libc::SIGUSR1), PtraceStop::Signal(libc::SIGUSR1));
        assert_eq!(stop(libc::SIGTRAP | libc::PTRACE_EVENT_EXEC << 8), PtraceStop::Exec);
        assert_eq!(stop(libc::SIGTRAP | libc::PTRACE_EVENT_STOP << 8), PtraceStop::Interrupted);
        assert_eq!(stop(libc::SIGSTOP | libc::PTRACE_EVENT_STOP << 8), PtraceStop::Group);
        assert_eq!(stop(libc::SIGTRAP | libc::PTRACE_EVENT_CLONE << 8), PtraceStop::Other);
    }

    #[test]
    fn a_call_returns_something_only_at_its_end_and_without_an_error() {
        let returned = |operation: u8, number: i64| {
            SyscallInfo { operation, number: number as u64, ..SyscallInfo::default() }.returned()
        };
        assert_eq!([returned(2, 7), returned(2, 0)], [Some(7), Some(0)]);
        let refused = i64::from(-libc::EAGAIN);
        assert_eq!([returned(2, refused), returned(1, 7)], [None; 2]);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_call_of_a_32_bit_program_has_another_number() {
        // Those of x86-64 and of i386 in linux/audit.h.
        for (architecture, expected) in [(0xc000_003e, 4), (0x4000_0003, 4 | OF_32_BITS)] {
            let info = SyscallInfo { architecture, number: 4, ..SyscallInfo::default() };
            assert_eq!(info.call_number(), expected);
        }
    }

    #[test]
    fn the_info_has_the_length_of_the_kernels() {
        assert_eq!(size_of::<SyscallInfo>(), 88);
    }
}
