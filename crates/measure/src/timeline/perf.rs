//! Records the perf events of all CPUs and keeps those of the children; parses the records of a
//! ring.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::poll::{RecorderState, TimelineSources, rest};
use super::ring::Ring;
use super::spans::{Call, Fault, LONG_CALL_NS, RecordedThread, Recording, ThreadState};
use crate::clock;
use crate::count::event::{FieldLayout, TracepointFormat, tracepoint_format};
use crate::count::{NEEDS_RIGHTS, PerfEvent, name, open_on_cpu};

/// The largest size that the kernel grants is used; without root it may grant only the last.
pub(crate) const RING_SIZES_BYTES: [usize; 3] = [4 << 20, 1 << 20, 128 << 10];
const PAUSE_NS: u64 = 1_000_000;
/// The maximum number of events that are kept, so that a viewer can open the timeline.
const EVENTS_MAX: usize = 1_000_000;
/// A page fault within this time after another one is shown together with it.
const NEAR_NS: u64 = 10_000;

pub(super) struct PerfRecorder {
    rings: Vec<Ring>,
    layout: Layout,
    sources: TimelineSources,
}

impl PerfRecorder {
    /// The error is the reason why scheduling cannot be recorded, and what would help.
    pub(super) fn open() -> Result<PerfRecorder, String> {
        let mut layout = Layout::default();
        let mut sources = TimelineSources::default();
        let switch = tracepoint_format("sched/sched_switch")?;
        let wakeups = [
            tracepoint_format("sched/sched_wakeup")?,
            tracepoint_format("sched/sched_wakeup_new")?,
        ];
        let known = layout.set_switch(&switch).is_some()
            && wakeups.iter().all(|format| layout.add_wakeup(format).is_some());
        if !known {
            return Err("this kernel's tracepoint sched:sched_switch is not known".to_owned());
        }
        let mut kinds = vec![PerfEvent::TracepointAndTasks(switch.id)];
        kinds.extend(wakeups.iter().map(|format| PerfEvent::Tracepoint(format.id)));
        match calls(&mut layout) {
            Ok(calls) => kinds.extend(calls.map(PerfEvent::Tracepoint)),
            Err(why) => sources.no_calls = Some(why),
        }
        kinds.push(PerfEvent::PageFault);
        let mut rings = Vec::new();
        for cpu in online_cpus().map_err(|error| format!("the CPUs: {error}"))? {
            rings.push(ring(&kinds, cpu).map_err(|error| why_not(cpu, &error))?);
        }
        Ok(PerfRecorder { rings, layout, sources })
    }

    pub(super) fn sources(&self) -> &TimelineSources {
        &self.sources
    }

    pub(super) fn record(mut self, shared: &RecorderState) -> Recording {
        let mut events = RecordedEvents { own: std::process::id(), ..RecordedEvents::default() };
        let mut waiting: Vec<(u64, PerfRecord)> = Vec::new();
        let mut bytes = Vec::new();
        let mut complete_until_ns = 0;
        loop {
            let finishes = shared.finishes();
            let start_ns = clock::now_ns();
            for ring in &mut self.rings {
                bytes.clear();
                ring.drain(&mut bytes);
                self.layout.parse(&bytes, |time_ns, record| waiting.push((time_ns, record)));
            }
            // The rings are emptied one after the other: an event that is later than the beginning
            // of the last pass may still have an earlier one in a ring.
            waiting.sort_by_key(|(time_ns, _)| *time_ns);
            let until_ns = if finishes { u64::MAX } else { complete_until_ns };
            let complete = waiting.partition_point(|(time_ns, _)| *time_ns < until_ns);
            for (time_ns, record) in waiting.drain(..complete) {
                events.take(time_ns, record);
            }
            if finishes {
                return events.into_recording(start_ns);
            }
            complete_until_ns = start_ns;
            rest(start_ns, 0, PAUSE_NS);
        }
    }
}

fn calls(layout: &mut Layout) -> Result<[u64; 2], String> {
    let [begins, ends] = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"].map(tracepoint_format);
    let (begins, ends): (TracepointFormat, TracepointFormat) = (begins?, ends?);
    layout.call_begins = begins.place("id").map(|place| (begins.id, place));
    layout.call_ends = ends.place("ret").map(|place| (ends.id, place));
    Ok([begins.id, ends.id])
}

fn ring(kinds: &[PerfEvent], cpu: u32) -> io::Result<Ring> {
    let mut events = kinds.iter().map(|kind| open_on_cpu(*kind, cpu));
    let first = events.next().unwrap_or_else(|| Err(io::ErrorKind::InvalidInput.into()))?;
    let mut ring = Ring::new(first, &RING_SIZES_BYTES)?;
    events.try_for_each(|event| ring.add(event?))?;
    Ok(ring)
}

/// Why the events of a CPU cannot be recorded.
fn why_not(cpu: u32, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => NEEDS_RIGHTS.to_owned(),
        _ => format!("perf events of CPU {cpu}: {error}"),
    }
}

pub(crate) fn online_cpus() -> io::Result<Vec<u32>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    Ok(text.trim().split(',').filter_map(range).flatten().collect())
}

/// `0-3` or `5`.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// The recorded events of the threads that this process has started since, and of those that they
/// started.
#[derive(Default)]
struct RecordedEvents {
    own: u32,
    recording: Recording,
    /// By thread: the call that is in progress.
    open_calls: BTreeMap<u32, (u64, u64)>,
    /// By thread: its last page fault, as an index.
    last_fault: BTreeMap<u32, usize>,
    ended: BTreeSet<u32>,
    n: usize,
}

impl RecordedEvents {
    fn take(&mut self, time_ns: u64, record: PerfRecord) {
        if self.n >= EVENTS_MAX {
            self.recording.lost += 1;
            return;
        }
        match record {
            PerfRecord::Begins { process, thread, parent_process, parent_thread } => {
                self.begins(
                    RecordedThread { process, parent_process, ..RecordedThread::default() },
                    thread,
                    parent_thread,
                );
            }
            PerfRecord::Named { thread, name } => {
                if let Some(task) = self.recording.tasks.get_mut(&thread) {
                    task.name = name;
                }
            }
            PerfRecord::Ends { thread } => {
                self.open_calls.remove(&thread);
                if let Some(task) = self.recording.tasks.get_mut(&thread) {
                    task.end_ns = Some(time_ns);
                    self.ended.insert(thread);
                }
            }
            PerfRecord::Switch { from, state, to } => {
                self.state(from, time_ns, state_of(state));
                self.state(to, time_ns, ThreadState::Running);
            }
            PerfRecord::Wake { thread } => self.state(thread, time_ns, ThreadState::Woken),
            PerfRecord::CallBegins { thread, number } => {
                if self.lives(thread) {
                    self.open_calls.insert(thread, (number, time_ns));
                }
            }
            PerfRecord::CallEnds { thread, result } => {
                let call = self.open_calls.remove(&thread);
                if let Some((number, start_ns)) = call {
                    self.call(thread, number, start_ns..time_ns, Some(result));
                }
            }
            PerfRecord::PageFault { thread, address } => self.fault(thread, time_ns, address),
            PerfRecord::Lost(n) => self.recording.lost += n,
        }
    }

    fn begins(&mut self, mut task: RecordedThread, thread: u32, parent_thread: u32) {
        let parent = self.recording.tasks.get(&parent_thread);
        let of_child = task.process != self.own && task.parent_process == self.own;
        if !of_child && parent.is_none() {
            return;
        }
        // A new thread has the name of its parent until it sets its own.
        task.name = parent.map(|parent| parent.name.clone()).unwrap_or_default();
        if let Some(parent) = parent.filter(|parent| parent.process == task.process) {
            task.parent_process = parent.parent_process;
        }
        self.ended.remove(&thread);
        self.recording.tasks.insert(thread, task);
        self.n += 1;
    }

    fn lives(&self, thread: u32) -> bool {
        self.recording.tasks.contains_key(&thread) && !self.ended.contains(&thread)
    }

    fn state(&mut self, thread: u32, at_ns: u64, state: ThreadState) {
        if self.lives(thread) {
            self.recording.states.entry(thread).or_default().push((at_ns, state));
            self.n += 1;
        }
    }

    fn call(
        &mut self,
        thread: u32,
        number: u64,
        time_ns: std::ops::Range<u64>,
        result: Option<i64>,
    ) {
        if time_ns.end.saturating_sub(time_ns.start) >= LONG_CALL_NS {
            let (start_ns, end_ns) = (time_ns.start, time_ns.end);
            let name = name(number);
            self.recording.calls.push(Call { thread, name, start_ns, end_ns, result });
            self.n += 1;
        }
    }

    fn fault(&mut self, thread: u32, at_ns: u64, address: u64) {
        if !self.lives(thread) {
            return;
        }
        let last = self.last_fault.get(&thread).and_then(|i| self.recording.faults.get_mut(*i));
        if let Some(last) = last.filter(|last| at_ns.saturating_sub(last.last_ns) <= NEAR_NS) {
            (last.n, last.last_ns) = (last.n + 1, at_ns);
            return;
        }
        self.last_fault.insert(thread, self.recording.faults.len());
        self.recording.faults.push(Fault { thread, at_ns, last_ns: at_ns, n: 1, address });
        self.n += 1;
    }

    fn into_recording(mut self, end_ns: u64) -> Recording {
        for (thread, (number, start_ns)) in std::mem::take(&mut self.open_calls) {
            self.call(thread, number, start_ns..end_ns.max(start_ns), None);
        }
        self.recording.end_ns = end_ns;
        self.recording
    }
}

/// `prev_state` of `sched_switch`; the bits are those of include/linux/sched.h. A higher bit marks
/// a thread that was about to sleep and was preempted before.
fn state_of(previous: i64) -> ThreadState {
    match previous & 0xff {
        0 => ThreadState::Runnable,
        bits if bits & 2 != 0 => ThreadState::BlockedForDevice,
        _ => ThreadState::Blocked,
    }
}

// Parses the records of a ring; see `perf_event_open(2)`, "MMAP layout".

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PerfRecord {
    /// A CPU switches from one thread to another.
    Switch {
        from: u32,
        state: i64,
        to: u32,
    },
    Wake {
        thread: u32,
    },
    CallBegins {
        thread: u32,
        number: u64,
    },
    CallEnds {
        thread: u32,
        result: i64,
    },
    PageFault {
        thread: u32,
        address: u64,
    },
    /// A new thread, in a new process or an existing one.
    Begins {
        process: u32,
        thread: u32,
        parent_process: u32,
        parent_thread: u32,
    },
    Named {
        thread: u32,
        name: String,
    },
    Ends {
        thread: u32,
    },
    /// This number of records did not fit into the ring.
    Lost(u64),
}

/// The record formats of the tracepoints.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) switch: Option<(u64, [FieldLayout; 3])>,
    pub(super) wakeups: Vec<(u64, FieldLayout)>,
    pub(super) call_begins: Option<(u64, FieldLayout)>,
    pub(super) call_ends: Option<(u64, FieldLayout)>,
}

// The record types of linux/perf_event.h.
pub(crate) const LOST: u32 = 2;
pub(crate) const COMM: u32 = 3;
pub(crate) const EXIT: u32 = 4;
pub(crate) const FORK: u32 = 7;
pub(crate) const SAMPLE: u32 = 9;
const HEADER_BYTES: usize = 8;

impl Layout {
    pub(super) fn set_switch(&mut self, format: &TracepointFormat) -> Option<()> {
        let [from, state, to] = ["prev_pid", "prev_state", "next_pid"].map(|n| format.place(n));
        self.switch = Some((format.id, [from?, state?, to?]));
        Some(())
    }

    pub(super) fn add_wakeup(&mut self, format: &TracepointFormat) -> Option<()> {
        self.wakeups.push((format.id, format.place("pid")?));
        Some(())
    }

    /// Parses all records in the bytes with their times. Unknown records are left out.
    pub(super) fn parse(&self, bytes: &[u8], mut take: impl FnMut(u64, PerfRecord)) {
        let mut rest = bytes;
        while let Some((record, after)) = next_record(rest) {
            if let Some((time_ns, record)) = self.record(record.kind, record.body) {
                take(time_ns, record);
            }
            rest = after;
        }
    }

    fn record(&self, kind: u32, body: &[u8]) -> Option<(u64, PerfRecord)> {
        if kind == SAMPLE {
            return self.sample(body);
        }
        // In a record that is not a sample, the last field is its time.
        let time_ns = u64_at(body, body.len().checked_sub(8)?)?;
        let word = |i: usize| u32_at(body, 4 * i);
        let record = match kind {
            LOST => PerfRecord::Lost(u64_at(body, 8)?),
            COMM => {
                let name = body.get(8..body.len().checked_sub(16)?)?;
                let name = name.split(|byte| *byte == 0).next()?;
                let name = String::from_utf8_lossy(name).into_owned();
                PerfRecord::Named { thread: word(1)?, name }
            }
            EXIT => PerfRecord::Ends { thread: word(2)? },
            FORK => PerfRecord::Begins {
                process: word(0)?,
                parent_process: word(1)?,
                thread: word(2)?,
                parent_thread: word(3)?,
            },
            _ => return None,
        };
        Some((time_ns, record))
    }

    fn sample(&self, body: &[u8]) -> Option<(u64, PerfRecord)> {
        let (thread, time_ns, address) = (u32_at(body, 4)?, u64_at(body, 8)?, u64_at(body, 16)?);
        let raw = body.get(28..)?.get(..u32_at(body, 24)? as usize)?;
        // The data of a tracepoint begins with its id; a page fault has none.
        let id = u64::from(u16::from_ne_bytes(raw.get(..2)?.try_into().ok()?));
        let of = |known: Option<(u64, FieldLayout)>| {
            known.filter(|(known, _)| *known == id).and_then(|(_, place)| place.read(raw))
        };
        let record = if id == 0 {
            PerfRecord::PageFault { thread, address }
        } else if let Some((_, [from, state, to])) = self.switch.filter(|(known, _)| *known == id) {
            let (from, to) = (from.read(raw)? as u32, to.read(raw)? as u32);
            PerfRecord::Switch { from, state: state.read(raw)?, to }
        } else if let Some((_, place)) = self.wakeups.iter().find(|(known, _)| *known == id) {
            PerfRecord::Wake { thread: place.read(raw)? as u32 }
        } else if let Some(number) = of(self.call_begins) {
            PerfRecord::CallBegins { thread, number: number as u64 }
        } else {
            PerfRecord::CallEnds { thread, result: of(self.call_ends)? }
        };
        Some((time_ns, record))
    }
}

/// A record without its header.
pub(crate) struct RawRecord<'a> {
    pub(crate) kind: u32,
    /// The flags `PERF_RECORD_MISC_…`.
    pub(crate) flags: u16,
    pub(crate) body: &'a [u8],
}

/// The next record, and the remaining bytes.
pub(crate) fn next_record(bytes: &[u8]) -> Option<(RawRecord<'_>, &[u8])> {
    let u16_at = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let (kind, flags, len) = (u32_at(bytes, 0)?, u16_at(4)?, usize::from(u16_at(6)?));
    Some((RawRecord { kind, flags, body: bytes.get(HEADER_BYTES..len)? }, bytes.get(len..)?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_is_read() {
        let check = |text: &str, expected: Option<std::ops::RangeInclusive<u32>>| {
            assert_eq!(range(text), expected, "{text}");
        };
        check("0-3", Some(0..=3));
        check("5", Some(5..=5));
        check("", None);
        check("a-b", None);
        assert!(!online_cpus().unwrap().is_empty());
    }

    #[test]
    fn without_the_rights_the_reason_says_which() {
        let why = |errno| why_not(3, &io::Error::from_raw_os_error(errno));
        assert_eq!([libc::EACCES, libc::EPERM].map(why), [NEEDS_RIGHTS; 2]);
        assert!(why(libc::EMFILE).starts_with("perf events of CPU 3: "));
    }

    #[test]
    fn only_what_children_do_is_kept() {
        let mut events = RecordedEvents { own: 1, ..RecordedEvents::default() };
        let begins = |process, thread, parent_process, parent_thread| PerfRecord::Begins {
            process,
            thread,
            parent_process,
            parent_thread,
        };
        let records = [
            begins(1, 2, 1, 1),
            begins(7, 7, 1, 1),
            begins(7, 8, 7, 7),
            begins(9, 9, 7, 8),
            begins(20, 20, 19, 19),
            PerfRecord::Named { thread: 7, name: "child".to_owned() },
            PerfRecord::CallBegins { thread: 8, number: libc::SYS_read as u64 },
            PerfRecord::CallBegins { thread: 20, number: libc::SYS_read as u64 },
            PerfRecord::Switch { from: 8, state: 2, to: 20 },
            PerfRecord::PageFault { thread: 7, address: 64 },
            PerfRecord::PageFault { thread: 7, address: 65 },
            PerfRecord::CallEnds { thread: 8, result: 5 },
            PerfRecord::Ends { thread: 9 },
            PerfRecord::Wake { thread: 9 },
            PerfRecord::Lost(3),
        ];
        for (i, record) in records.into_iter().enumerate() {
            events.take(i as u64 * 4000, record);
        }
        let recording = events.into_recording(100_000);
        let tasks: Vec<(u32, u32, &str)> = recording
            .tasks
            .iter()
            .map(|(t, task)| (*t, task.process, task.name.as_str()))
            .collect();
        assert_eq!(tasks, [(7, 7, "child"), (8, 7, ""), (9, 9, "")]);
        assert_eq!(recording.tasks[&8].parent_process, 1);
        assert_eq!(recording.tasks[&9].end_ns, Some(48_000));
        assert_eq!(
            recording.states,
            BTreeMap::from([(8, vec![(32_000, ThreadState::BlockedForDevice)])])
        );
        assert_eq!(recording.calls.len(), 1);
        assert_eq!((recording.calls[0].thread, recording.calls[0].result), (8, Some(5)));
        assert_eq!((recording.faults.len(), recording.faults[0].n), (1, 2));
        assert_eq!(recording.lost, 3);
    }
}

#[cfg(test)]
mod record_tests {
    use proptest::prelude::*;

    use super::*;

    fn header(kind: u32, body: &[u8]) -> Vec<u8> {
        let len = (HEADER_BYTES + body.len()) as u16;
        [&kind.to_ne_bytes()[..], &[0, 0], &len.to_ne_bytes(), body].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn parsed(bytes: &[u8]) -> Vec<(u64, PerfRecord)> {
        let mut found = Vec::new();
        Layout::default().parse(bytes, |time_ns, record| found.push((time_ns, record)));
        found
    }

    #[test]
    fn tasks_are_reported_with_their_times() {
        let time = 5u64.to_ne_bytes();
        let id = [&words(&[1, 1])[..], &time].concat();
        let fork = [&words(&[7, 3, 8, 4])[..], &time, &id].concat();
        let name = [&words(&[7, 8])[..], b"reader\0\0", &id].concat();
        let lost = [&[0; 8][..], &9u64.to_ne_bytes(), &id].concat();
        let fault =
            [&words(&[7, 8])[..], &time, &0x1000u64.to_ne_bytes(), &words(&[4, 0])].concat();
        let all = [header(FORK, &fork), header(COMM, &name), header(LOST, &lost), header(77, &id)];
        let bytes = [all.concat(), header(SAMPLE, &fault), header(EXIT, &fork)].concat();
        let begins =
            PerfRecord::Begins { process: 7, thread: 8, parent_process: 3, parent_thread: 4 };
        let expected = [
            begins,
            PerfRecord::Named { thread: 8, name: "reader".to_owned() },
            PerfRecord::Lost(9),
            PerfRecord::PageFault { thread: 8, address: 0x1000 },
            PerfRecord::Ends { thread: 8 },
        ];
        assert_eq!(parsed(&bytes), expected.map(|record| (5, record)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parsed(&bytes);
        }

        #[test]
        fn no_record_panics(kind in 0u32..12, body in proptest::collection::vec(any::<u8>(), 0..80)) {
            parsed(&header(kind, &body));
        }
    }
}
