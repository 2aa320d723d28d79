//! The perf events of a profile.

use std::io;
use std::os::fd::OwnedFd;

use super::event::{
    Attributes, EXCLUDE_HYPERVISOR, EXCLUDE_KERNEL, INHERIT, NAMES, TASKS, TIME_OF_ALL, USE_CLOCK,
    open,
};

/// The events of a profile. Each is of one task, and of all that the task starts, on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileEvent {
    /// A sample in each period of the task's time on the CPU; also the tasks, their mappings, and
    /// when they leave the CPU and return.
    CpuClock,
    /// A sample whenever the task leaves the CPU.
    Switch,
}

/// Not a divisor of the kernel's tick, so that samples do not fall into step with it.
pub(crate) const PROFILE_PERIOD_NS: u64 = 1_003_009;
/// The bytes of the stack that are copied with a sample of each event: a task may leave the CPU
/// very often.
const STACK_BYTES: u32 = 16 << 10;
const SWITCH_STACK_BYTES: u32 = 4 << 10;

/// The registers that a sample has, in this order: frame pointer, (link register,) stack pointer,
/// instruction pointer; see `asm/perf_regs.h`.
#[cfg(target_arch = "x86_64")]
const PROFILE_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
#[cfg(target_arch = "aarch64")]
const PROFILE_REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const PROFILE_REGISTERS: u64 = 0;

/// With `kernel`, samples are also taken in the kernel, which needs more rights, and have its
/// stack.
pub(crate) fn open_profile(
    what: ProfileEvent,
    task: u32,
    cpu: u32,
    kernel: bool,
) -> io::Result<OwnedFd> {
    const TYPE_SOFTWARE: u32 = 1;
    const CPU_CLOCK: u64 = 0;
    const CONTEXT_SWITCHES: u64 = 3;
    // Instruction pointer, task, time, period, call chain, registers, stack.
    const FIELDS: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 5 | 1 << 12 | 1 << 13;
    const MAPPINGS: u64 = 1 << 8 | 1 << 23;
    const NO_USER_CHAIN: u64 = 1 << 22;
    const NAMES_OF_EXEC: u64 = NAMES | 1 << 24;
    const SWITCHES: u64 = 1 << 26;
    let of_tasks = MAPPINGS | NAMES_OF_EXEC | TASKS | SWITCHES;
    let (config, sample_period, stack_bytes, more) = match what {
        ProfileEvent::CpuClock => (CPU_CLOCK, PROFILE_PERIOD_NS, STACK_BYTES, of_tasks),
        ProfileEvent::Switch => (CONTEXT_SWITCHES, 1, SWITCH_STACK_BYTES, 0),
    };
    let level = if kernel { 0 } else { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        event_type: TYPE_SOFTWARE,
        config,
        sample_period,
        sample_type: FIELDS,
        flags: INHERIT | TIME_OF_ALL | USE_CLOCK | NO_USER_CHAIN | level | more,
        sample_regs_user: PROFILE_REGISTERS,
        sample_stack_user: stack_bytes,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    open(&attributes, task as libc::pid_t, cpu as libc::c_int)
}

/// The number of registers of a sample.
pub(crate) const fn profile_registers() -> usize {
    PROFILE_REGISTERS.count_ones() as usize
}

/// Why no profile can be taken, and what would help.
pub(crate) fn explain_profile(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "perf events are not permitted here; lower kernel.perf_event_paranoid to 2 (sysctl), or \
             run as root; a container also needs the capability PERFMON"
                .to_owned()
        }
        Some(libc::EMFILE) => "each task needs two open files for each CPU, which are more than may \
                               be open; raise ulimit -n"
            .to_owned(),
        Some(libc::ENOSYS) => "this kernel or sandbox has no perf events".to_owned(),
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_would_help() {
        let check = |errno: i32, expected: &str| {
            let why = explain_profile(&io::Error::from_raw_os_error(errno));
            assert!(why.contains(expected), "{why}");
        };
        check(libc::EACCES, "kernel.perf_event_paranoid");
        check(libc::EPERM, "kernel.perf_event_paranoid");
        check(libc::ENOSYS, "no perf events");
        check(libc::EMFILE, "ulimit -n");
        check(libc::ENODEV, "perf_event_open: ");
    }
}
