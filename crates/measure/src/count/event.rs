//! Perf events, and the tracepoints that they may count.
#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "perf_event_open has no safe form"))]

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

use model::metric::SYSCALLS;

// One perf event. It belongs either to one task and to all threads and processes that the task
// starts from then on, and is only read, never sampled; or to one CPU, and each of its events is
// written to a ring.

/// The event that is counted, and the name of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountedEvent {
    pub(super) metric: &'static str,
    event_type: u32,
    config: u64,
    /// Excludes what the kernel does for the program.
    pub(super) user_only: bool,
}

/// The task that the event belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventTarget {
    /// This thread.
    Own,
    /// This task, from now on.
    Task(u32),
    /// This task, from its next `execve` on.
    AfterExec(u32),
}

/// An open perf event, which counts.
#[derive(Debug)]
pub(super) struct EventCounter {
    kind: CountedEvent,
    fd: OwnedFd,
}

// The constants of linux/perf_event.h.
const TYPE_HARDWARE: u32 = 0;
const TYPE_TRACEPOINT: u32 = 2;
const DISABLED: u64 = 1;
pub(super) const INHERIT: u64 = 1 << 1;
pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(super) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
#[cfg(target_os = "linux")]
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const READ_TIMES: u64 = 1 | 1 << 1;

/// `perf_event_attr` up to `clockid`. A kernel that knows fewer fields accepts it as long as the
/// remaining ones are 0.
#[repr(C)]
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) event_type: u32,
    pub(super) size: u32,
    pub(super) config: u64,
    pub(super) sample_period: u64,
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) flags: u64,
    pub(super) wakeup_events: u32,
    pub(super) breakpoint_type: u32,
    pub(super) config1: u64,
    pub(super) config2: u64,
    pub(super) branch_sample_type: u64,
    pub(super) sample_regs_user: u64,
    pub(super) sample_stack_user: u32,
    pub(super) clock: libc::clockid_t,
}

/// The fields of each record on a CPU: process and thread, time, address, the tracepoint's own
/// data.
pub(super) const SAMPLE_TYPE: u64 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 10;
pub(super) const NAMES: u64 = 1 << 9;
pub(super) const TASKS: u64 = 1 << 13;
pub(super) const TIME_OF_ALL: u64 = 1 << 18;
pub(super) const USE_CLOCK: u64 = 1 << 25;

/// The events of a CPU, whatever task runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PerfEvent {
    Tracepoint(u64),
    /// A tracepoint, and the starts, names and ends of tasks.
    TracepointAndTasks(u64),
    PageFault,
}

/// Each event becomes a record with the time of the monotonic clock.
pub(crate) fn open_on_cpu(what: PerfEvent, cpu: u32) -> io::Result<OwnedFd> {
    const TYPE_SOFTWARE: u32 = 1;
    const PAGE_FAULTS: u64 = 2;
    let (event_type, config, tasks) = match what {
        PerfEvent::Tracepoint(id) => (TYPE_TRACEPOINT, id, 0),
        PerfEvent::TracepointAndTasks(id) => (TYPE_TRACEPOINT, id, NAMES | TASKS),
        PerfEvent::PageFault => (TYPE_SOFTWARE, PAGE_FAULTS, 0),
    };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        event_type,
        config,
        sample_period: 1,
        sample_type: SAMPLE_TYPE,
        flags: TIME_OF_ALL | USE_CLOCK | tasks,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    let all_tasks = -1;
    open(&attributes, all_tasks, cpu as libc::c_int)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open(_: &Attributes, _task: libc::pid_t, _cpu: libc::c_int) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
pub(super) fn open(
    attributes: &Attributes,
    task: libc::pid_t,
    cpu: libc::c_int,
) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;

    let no_group: libc::c_int = -1;
    // SAFETY: `attributes` is valid for reading and contains its own length; the other arguments
    // are numbers.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            task,
            cpu,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

impl CountedEvent {
    pub(super) fn tracepoint(id: u64) -> CountedEvent {
        CountedEvent { metric: SYSCALLS, event_type: TYPE_TRACEPOINT, config: id, user_only: false }
    }

    pub(super) fn hardware() -> impl Iterator<Item = CountedEvent> {
        let kinds = [("instructions", 1), ("cycles", 0), ("cache_misses", 3), ("branch_misses", 5)];
        kinds.into_iter().map(|(metric, config)| CountedEvent {
            metric,
            event_type: TYPE_HARDWARE,
            config,
            user_only: false,
        })
    }

    /// A tracepoint is in the kernel: without kernel events it would count nothing.
    pub(super) fn without_kernel(self) -> Option<CountedEvent> {
        (self.event_type == TYPE_HARDWARE).then_some(CountedEvent { user_only: true, ..self })
    }

    pub(super) fn word(&self) -> String {
        let CountedEvent { metric, config, user_only, .. } = self;
        format!("{metric}={config}{}", if *user_only { "u" } else { "" })
    }

    pub(super) fn of_word(word: &str) -> Option<CountedEvent> {
        let (metric, number) = word.split_once('=')?;
        let user_only = number.ends_with('u');
        let config = number.trim_end_matches('u').parse().ok()?;
        let known =
            CountedEvent::hardware().find(|kind| kind.metric == metric && kind.config == config);
        match metric {
            SYSCALLS => Some(CountedEvent::tracepoint(config)),
            _ => known.map(|kind| CountedEvent { user_only, ..kind }),
        }
    }
}

impl EventCounter {
    pub(super) fn open(kind: CountedEvent, target: EventTarget) -> io::Result<EventCounter> {
        let (task, start) = match target {
            EventTarget::Own => (0, 0),
            EventTarget::Task(task) => (task as libc::pid_t, 0),
            EventTarget::AfterExec(task) => (task as libc::pid_t, DISABLED | ENABLE_ON_EXEC),
        };
        let level = if kind.user_only { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR } else { 0 };
        let attributes = Attributes {
            size: size_of::<Attributes>() as u32,
            event_type: kind.event_type,
            config: kind.config,
            read_format: READ_TIMES,
            flags: INHERIT | start | level,
            ..Attributes::default()
        };
        let any_cpu = -1;
        Ok(EventCounter { kind, fd: open(&attributes, task, any_cpu)? })
    }

    pub(super) fn kind(&self) -> CountedEvent {
        self.kind
    }

    /// The count so far of all tasks together, including those that have ended. None where the
    /// counter was shared with other users of it, because a part is then missing.
    pub(super) fn read(&self) -> io::Result<Option<u64>> {
        let mut buffer = [0u8; 24];
        let len = rustix::io::read(&self.fd, &mut buffer)?;
        let number = |i: usize| {
            let bytes = buffer.get(8 * i..8 * i + 8).filter(|_| len == buffer.len());
            bytes.and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
        };
        let [value, enabled_ns, running_ns] = [0, 1, 2].map(number);
        Ok(value.filter(|_| enabled_ns == running_ns))
    }
}

pub(crate) const NEEDS_RIGHTS: &str = "perf tracepoints need root or CAP_PERFMON here";

/// Why an event cannot be opened, and what would help.
pub(super) fn explain(kind: CountedEvent, error: &io::Error) -> String {
    let tracepoint = kind.event_type == TYPE_TRACEPOINT;
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) if tracepoint => NEEDS_RIGHTS.to_owned(),
        Some(libc::EACCES | libc::EPERM) => {
            "perf events are not permitted here; lower kernel.perf_event_paranoid to 2".to_owned()
        }
        Some(libc::ENOSYS) => "this kernel or sandbox has no perf events".to_owned(),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) if !tracepoint => {
            let virtual_machine = std::fs::read_to_string("/proc/cpuinfo")
                .is_ok_and(|text| text.lines().any(|l| l.split(' ').any(|w| w == "hypervisor")));
            let what = if virtual_machine { "virtual machine" } else { "machine" };
            format!("no PMU in this {what} that counts it")
        }
        _ => format!("perf_event_open: {error}"),
    }
}

// The ids of tracepoints, and the formats of their records. They are read from tracefs; where
// that is not mounted, from a new mount that is attached to no directory and ends when it is
// closed.

const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The format of a tracepoint's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracepointFormat {
    pub id: u64,
    fields: Vec<Field>,
}

/// A numeric field of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
}

/// The id of the tracepoint at the beginning of each system call. The error is the reason why it is
/// not available, and what would help.
pub(crate) fn tracepoint_id() -> Result<u64, String> {
    let text = tracefs_file("raw_syscalls/sys_enter", "id")?;
    text.trim().parse().map_err(|_| format!("tracefs: {:?} is no tracepoint number", text.trim()))
}

/// The format of the tracepoint of this name, which is `group/event`.
pub(crate) fn tracepoint_format(event: &str) -> Result<TracepointFormat, String> {
    let text = tracefs_file(event, "format")?;
    TracepointFormat::parse(&text)
        .ok_or_else(|| format!("tracefs: {event}/format is not understood"))
}

impl TracepointFormat {
    fn parse(text: &str) -> Option<TracepointFormat> {
        let after = |line: &str, word: &str| {
            let rest = line.split_once(word)?.1;
            rest.split_once(';').map_or(rest, |(number, _)| number).trim().parse::<usize>().ok()
        };
        let id = text.lines().find_map(|line| after(line, "ID:"))? as u64;
        let field = |line: &str| {
            let declared = line.trim().strip_prefix("field:")?.split_once(';')?.0;
            let name = declared.rsplit(' ').next()?.to_owned();
            Some(Field { name, offset: after(line, "offset:")?, size: after(line, "size:")? })
        };
        Some(TracepointFormat { id, fields: text.lines().filter_map(field).collect() })
    }

    /// The position of the field with this name.
    pub fn place(&self, name: &str) -> Option<FieldLayout> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some(FieldLayout { offset: field.offset, size: field.size })
    }
}

/// The position of a number in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    offset: usize,
    size: usize,
}

impl FieldLayout {
    pub fn read(self, raw: &[u8]) -> Option<i64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        match self.size {
            4 => Some(i64::from(i32::from_ne_bytes(bytes.try_into().ok()?))),
            8 => Some(i64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }
}

fn tracefs_file(event: &str, name: &str) -> Result<String, String> {
    let file = format!("events/{event}/{name}");
    let mut refused = false;
    for mount in MOUNTS {
        match fs::read_to_string(format!("{mount}/{file}")) {
            Ok(text) => return Ok(text),
            Err(error) => refused |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    match from_detached_mount(&file) {
        Ok(text) => Ok(text),
        Err(_) if refused => Err("tracefs may be read by root only".to_owned()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err("tracefs is not mounted, and mounting it needs root".to_owned())
        }
        Err(error) => {
            let event = event.replace('/', ":");
            Err(format!("this kernel has no tracepoint {event} ({error})"))
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn from_detached_mount(_file: &str) -> io::Result<String> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn from_detached_mount(file: &str) -> io::Result<String> {
    use std::io::Read;

    use rustix::fs::{Mode, OFlags, openat};
    use rustix::mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen,
    };

    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let mount =
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    let file = openat(&mount, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    fs::File::from(file).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_are_as_long_as_the_version_with_a_clock() {
        assert_eq!(size_of::<Attributes>(), 96);
    }

    #[test]
    fn the_flags_are_those_of_the_kernel() {
        let (of_tid, of_time, of_address, of_raw) = (2, 4, 8, 1024);
        assert_eq!(SAMPLE_TYPE, of_tid + of_time + of_address + of_raw);
        assert_eq!([INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR], [2, 32, 64]);
        assert_eq!([ENABLE_ON_EXEC, NAMES, TASKS], [4096, 512, 8192]);
        assert_eq!([TIME_OF_ALL, USE_CLOCK], [0x4_0000, 0x200_0000]);
        assert_eq!(READ_TIMES, 3);
    }

    #[test]
    fn a_word_is_read_as_it_was_written() {
        let kinds = CountedEvent::hardware().flat_map(|kind| [Some(kind), kind.without_kernel()]);
        for kind in kinds.flatten().chain([CountedEvent::tracepoint(443)]) {
            assert_eq!(CountedEvent::of_word(&kind.word()), Some(kind));
        }
        for word in ["", "syscalls", "syscalls=", "syscalls=x", "cycles=7", "other=1"] {
            assert_eq!(CountedEvent::of_word(word), None, "{word}");
        }
    }

    #[test]
    fn every_error_has_a_reason() {
        let check = |errno, of_hardware: &str, of_tracepoint: &str| {
            let error = io::Error::from_raw_os_error(errno);
            for kind in CountedEvent::hardware() {
                let why = explain(kind, &error);
                assert!(why.starts_with(of_hardware), "{why}");
            }
            let why = explain(CountedEvent::tracepoint(1), &error);
            assert!(why.starts_with(of_tracepoint), "{why}");
        };
        check(libc::EACCES, "perf events are not permitted here", NEEDS_RIGHTS);
        check(libc::EPERM, "perf events are not permitted here", NEEDS_RIGHTS);
        check(libc::ENOENT, "no PMU in this ", "perf_event_open: ");
        let none = "this kernel or sandbox has no perf events";
        check(libc::ENOSYS, none, none);
        check(libc::EMFILE, "perf_event_open: ", "perf_event_open: ");
    }
}

#[cfg(test)]
mod tracepoint_tests {
    use super::*;

    const WAKEUP: &str = "name: sched_wakeup
ID: 312
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;
";

    #[test]
    fn a_format_says_where_a_number_stands() {
        let format = TracepointFormat::parse(WAKEUP).unwrap();
        assert_eq!(format.id, 312);
        assert_eq!(format.place("pid"), Some(FieldLayout { offset: 24, size: 4 }));
        assert_eq!(format.place("nothing"), None);
        let mut raw = [0u8; 40];
        raw[24..28].copy_from_slice(&77i32.to_ne_bytes());
        assert_eq!(format.place("pid").unwrap().read(&raw), Some(77));
        assert_eq!(format.place("pid").unwrap().read(&raw[..27]), None);
        assert_eq!(format.place("comm[16]").unwrap().read(&raw), None, "text is no number");
        assert_eq!(TracepointFormat::parse("name: x"), None);
    }
}
