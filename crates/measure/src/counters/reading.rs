//! The readings of a process: the values of its counters, from the files under /proc/PID, and the
//! times that its tasks waited and computed, from the reports of their ends.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};

use memchr::memmem;

use crate::clock::TreeUsage;

/// A count that the kernel has of a process since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// For all threads, including those that have ended.
    CpuNs,
    /// The parts of `CpuNs`, which are known only in ticks while a process runs.
    UserNs,
    SystemNs,
    /// Equal to `CpuNs` if the process computes in one thread only.
    MainThreadCpuNs,
    /// For the main thread: ready to run, but no CPU was free.
    RunQueueWaitNs,
    DeviceReadBytes,
    DeviceWriteBytes,
    /// Including those of the children that it has waited for, and of theirs.
    MinorFaults,
    /// For the children that it has waited for, and theirs. No process ends without such a fault.
    MinorFaultsOfChildren,
    /// Including those of the children that it has waited for, and of theirs.
    MajorFaults,
    /// For the main thread.
    VoluntarySwitches,
    /// For the main thread.
    InvoluntarySwitches,
    /// Since the last [`super::Counters::reset_peak`].
    PeakRssBytes,
    Threads,
}

impl Counter {
    /// All of them in their order, each with its name: where it is a metric, that of the metric.
    const ALL: [(Counter, &'static str); 14] = [
        (Counter::CpuNs, "cpu_ns"),
        (Counter::UserNs, "user_ns"),
        (Counter::SystemNs, "system_ns"),
        (Counter::MainThreadCpuNs, "main_thread_cpu_ns"),
        (Counter::RunQueueWaitNs, "run_queue_wait_ns"),
        (Counter::DeviceReadBytes, "device_read_bytes"),
        (Counter::DeviceWriteBytes, "device_write_bytes"),
        (Counter::MinorFaults, "minor_faults"),
        (Counter::MinorFaultsOfChildren, "minor_faults_of_children"),
        (Counter::MajorFaults, "major_faults"),
        (Counter::VoluntarySwitches, "voluntary_switches"),
        (Counter::InvoluntarySwitches, "involuntary_switches"),
        (Counter::PeakRssBytes, "peak_rss_bytes"),
        (Counter::Threads, "threads"),
    ];

    pub(crate) fn name(self) -> &'static str {
        Counter::ALL[self as usize].1
    }
}

/// The counters of a process. None: not known on this machine; see [`super::Counters::why`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    values: [Option<u64>; Counter::ALL.len()],
    /// Whether the main thread was on no CPU. While it is on one, the CPU times are those of the
    /// last tick of the kernel: 0 was read for a process that had run for 2 ms.
    pub(crate) at_rest: bool,
}

impl Index<Counter> for Reading {
    type Output = Option<u64>;

    fn index(&self, counter: Counter) -> &Option<u64> {
        &self.values[counter as usize]
    }
}

impl IndexMut<Counter> for Reading {
    fn index_mut(&mut self, counter: Counter) -> &mut Option<u64> {
        &mut self.values[counter as usize]
    }
}

impl Reading {
    /// A reading without a value, of a process whose main thread was on no CPU, or on one.
    pub(crate) fn new(at_rest: bool) -> Self {
        Self { at_rest, ..Self::default() }
    }

    /// The reading with these values in place of its own.
    #[must_use]
    pub(crate) fn with<const N: usize>(mut self, values: [(Counter, u64); N]) -> Self {
        for (counter, value) in values {
            self[counter] = Some(value);
        }
        self
    }

    /// The reading with the usage of the process and of all that it waited for in place of its own;
    /// with that of devices only where the kernel counts it.
    #[must_use]
    pub(crate) fn of_tree(&self, tree: &TreeUsage, has_device_bytes: bool) -> Self {
        let reading = self.with([
            (Counter::CpuNs, tree.cpu.all_ns),
            (Counter::UserNs, tree.cpu.user_ns),
            (Counter::SystemNs, tree.cpu.system_ns()),
            (Counter::MinorFaults, tree.counts.minor_faults),
            (Counter::MajorFaults, tree.counts.major_faults),
            (Counter::VoluntarySwitches, tree.counts.voluntary_switches),
            (Counter::InvoluntarySwitches, tree.counts.involuntary_switches),
        ]);
        if !has_device_bytes {
            return reading;
        }
        reading.with([
            (Counter::DeviceReadBytes, tree.counts.device_read_bytes),
            (Counter::DeviceWriteBytes, tree.counts.device_write_bytes),
        ])
    }

    /// Whether a process that it started has ended and was waited for.
    pub(crate) fn has_children(&self) -> bool {
        self[Counter::MinorFaultsOfChildren].is_some_and(|faults| faults > 0)
    }

    /// Whether one thread used all of its CPU time, except for what reading the counters takes;
    /// none where that is not known.
    pub(crate) fn computed_in_main_thread(&self) -> Option<bool> {
        Some(is_nearly_all(self[Counter::MainThreadCpuNs]?, self[Counter::CpuNs]?))
    }

    /// The difference from `before`; the peak is that of this reading, and of the numbers of
    /// threads the larger is taken.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let value = |(counter, _): (Counter, &str)| {
            let (now, then) = (self[counter], before[counter]);
            match counter {
                Counter::PeakRssBytes => now,
                Counter::Threads => now.max(then),
                _ => now?.checked_sub(then?),
            }
        };
        Self { values: Counter::ALL.map(value), at_rest: self.at_rest && before.at_rest }
    }
}

/// Whether the CPU time of the main thread is that of its process.
pub(crate) fn is_nearly_all(main_ns: u64, all_ns: u64) -> bool {
    (main_ns + AROUND_NS) as f64 >= all_ns as f64 * COMPUTED_SHARE
}

/// A process computes in one thread if that thread uses this share of the CPU time.
const COMPUTED_SHARE: f64 = 0.99;

/// The CPU time that reading the counters takes. It is in the CPU time of a sample but not in its
/// wall time.
const AROUND_NS: u64 = 20_000;

// Parses the files under /proc/PID. A number that is missing or malformed stays unknown; no text
// makes these functions fail.

/// CPU time, run-queue wait and turns of the main thread. All are 0 on a kernel that does not count
/// them, and a process that was never on a CPU cannot be waiting for its reader.
pub(super) fn parse_schedstat(text: &[u8], reading: &mut Reading) {
    let line = text.strip_suffix(b"\n").unwrap_or_default();
    let mut fields = line.split(|byte| *byte == b' ').map(number);
    let (cpu, wait) = (fields.next().flatten(), fields.next().flatten());
    if cpu.is_some_and(|ns| ns > 0) {
        (reading[Counter::MainThreadCpuNs], reading[Counter::RunQueueWaitNs]) = (cpu, wait);
    }
}

pub(super) fn parse_io(text: &[u8], reading: &mut Reading) {
    reading[Counter::DeviceReadBytes] = field(text, b"read_bytes");
    reading[Counter::DeviceWriteBytes] = field(text, b"write_bytes");
}

/// The second field is the name of the program in parentheses, which may contain any character,
/// including parentheses and spaces; after the last parenthesis follow the fields from the third
/// on. The 39th is the CPU. A process that waits for the CPU that the reader is on is not running
/// on it.
pub(super) fn parse_stat(text: &[u8], this_cpu: u64, reading: &mut Reading) {
    let Some(end) = text.iter().rposition(|byte| *byte == b')') else { return };
    let mut fields = text[end + 1..].split(|byte| *byte == b' ').skip(1);
    let state = fields.next();
    let own_minor = fields.nth(6).and_then(number);
    reading[Counter::MinorFaultsOfChildren] = fields.next().and_then(number);
    let own_major = fields.next().and_then(number);
    let major_of_children = fields.next().and_then(number);
    let sum = |own: Option<u64>, of_children: Option<u64>| own?.checked_add(of_children?);
    reading[Counter::MinorFaults] = sum(own_minor, reading[Counter::MinorFaultsOfChildren]);
    reading[Counter::MajorFaults] = sum(own_major, major_of_children);
    let cpu = fields.nth(25).and_then(number);
    reading.at_rest = state.is_some_and(|state| state != b"R" || cpu == Some(this_cpu));
}

pub(super) fn parse_status(text: &[u8], reading: &mut Reading) {
    reading[Counter::PeakRssBytes] = field(text, b"VmHWM").and_then(|kib| kib.checked_mul(1024));
    reading[Counter::Threads] = field(text, b"Threads");
    reading[Counter::VoluntarySwitches] = field(text, b"voluntary_ctxt_switches");
    reading[Counter::InvoluntarySwitches] = field(text, b"nonvoluntary_ctxt_switches");
}

/// The first number of the line `name:  number …`. A last line without a line end may be truncated.
fn field(text: &[u8], name: &[u8]) -> Option<u64> {
    let at_line = |at: &usize| *at == 0 || text[at - 1] == b'\n';
    let after = memmem::find_iter(text, name)
        .filter(at_line)
        .find_map(|at| text[at + name.len()..].strip_prefix(b":"))?;
    let line = &after[..memchr::memchr(b'\n', after)?];
    line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()).and_then(number)
}

/// The whole word as a decimal number.
fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

// The times that the tasks (threads) of a process tree waited for a CPU and computed, from the
// reports of their ends.

/// A task that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedTask {
    pub task: u32,
    /// The process of which it was a thread.
    pub process: u32,
    /// The process that is the parent of its process.
    pub parent: u32,
    /// Ready to run, but no CPU was free.
    pub wait_ns: u64,
    /// Without what it computed since the last tick of the kernel.
    pub cpu_ns: u64,
    /// From its start to its end.
    pub(crate) lifetime_ns: u64,
    /// It ended between these two times.
    pub(crate) seen_from_ns: u64,
    pub(crate) seen_ns: u64,
}

/// The tasks of a process tree in one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTree {
    /// The number of tasks.
    pub tasks: u64,
    /// The sum of the times in which a task was ready to run and had no CPU.
    pub wait_ns: u64,
    /// The CPU time of the task that computed most.
    pub longest_task_cpu_ns: u64,
    /// The CPU time of all, without what each computed since the last tick of the kernel.
    pub cpu_ns: u64,
}

/// With more tasks than these, pairs of them are not looked at.
const PAIRS_MAX: usize = 3000;

impl TaskTree {
    /// The tasks of the processes that `lab` has started since `start_ns`, and of those that became
    /// its children as orphans.
    pub(crate) fn from_ended(
        ended: &[EndedTask],
        lab: u32,
        start_ns: u64,
    ) -> (TaskTree, Vec<EndedTask>) {
        let mut processes = BTreeSet::from([lab]);
        // A parent ends after its children: in the reverse order it is known before them. A child
        // that outlived its parent has another parent by then.
        let is_of_sample = |task: &EndedTask| {
            task.lifetime_ns <= task.seen_ns.saturating_sub(start_ns) || task.parent != lab
        };
        let mut is_member = vec![false; ended.len()];
        // A parent that frees its memory may be reported before a child that ends meanwhile.
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for (i, task) in ended.iter().enumerate().rev() {
                if !is_member[i] && is_of_sample(task) && processes.contains(&task.parent) {
                    processes.insert(task.process);
                    is_member[i] = true;
                    goes_on = true;
                }
            }
        }
        let members = ended.iter().zip(is_member).filter(|(_, is)| *is);
        let members: Vec<EndedTask> = members.map(|(task, _)| *task).collect();
        let tree = TaskTree {
            tasks: members.len() as u64,
            wait_ns: members.iter().map(|task| task.wait_ns).sum(),
            longest_task_cpu_ns: members.iter().map(|task| task.cpu_ns).max().unwrap_or_default(),
            cpu_ns: members.iter().map(|task| task.cpu_ns).sum(),
        };
        (tree, members)
    }
}

/// How long two of these tasks lived at once of which neither is an ancestor of the other: summed
/// over all pairs, and no more than is certain. None where they are too many.
pub fn overlap_ns(members: &[EndedTask]) -> Option<u64> {
    if members.len() > PAIRS_MAX {
        return None;
    }
    let parents: BTreeMap<u32, u32> =
        members.iter().map(|task| (task.process, task.parent)).collect();
    let is_above = |above: &EndedTask, task: &EndedTask| {
        let mut process = task.parent;
        // A number may be used twice in a long tree, so that the way up may not end.
        for _ in 0..members.len() {
            if process == above.process {
                return true;
            }
            let Some(parent) = parents.get(&process) else { return false };
            process = *parent;
        }
        false
    };
    let pairs =
        members.iter().enumerate().flat_map(|(i, a)| members[..i].iter().map(move |b| (a, b)));
    let at_once = pairs.filter(|(a, b)| !is_above(a, b) && !is_above(b, a)).map(|(a, b)| {
        let end_ns = a.seen_from_ns.min(b.seen_from_ns);
        let start_ns = |task: &EndedTask| task.seen_ns.saturating_sub(task.lifetime_ns);
        end_ns.saturating_sub(start_ns(a).max(start_ns(b)))
    });
    Some(at_once.sum())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(parser: fn(&[u8], &mut Reading), text: &str) -> Reading {
        let mut reading = Reading::default();
        parser(text.as_bytes(), &mut reading);
        reading
    }

    #[test]
    fn a_counter_has_the_place_and_the_name_of_its_own() {
        for (i, (counter, name)) in Counter::ALL.into_iter().enumerate() {
            assert_eq!((counter as usize, counter.name()), (i, name));
        }
        let before = Reading::default().with([(Counter::Threads, 3), (Counter::MajorFaults, 2)]);
        let after = before.with([(Counter::Threads, 2), (Counter::PeakRssBytes, 5)]);
        let expected = Reading::default().with([
            (Counter::Threads, 3),
            (Counter::MajorFaults, 0),
            (Counter::PeakRssBytes, 5),
        ]);
        assert_eq!(after.since(&before), expected);
    }

    #[test]
    fn schedstat_is_cpu_time_and_wait() {
        let check = |text, cpu, wait| {
            let reading = parse(parse_schedstat, text);
            assert_eq!(
                (reading[Counter::MainThreadCpuNs], reading[Counter::RunQueueWaitNs]),
                (cpu, wait),
                "{text}"
            );
        };
        check("311433 17 3\n", Some(311_433), Some(17));
        check("0 0 0\n", None, None);
        check("", None, None);
        check("12 1", None, None);
        check("12\n", Some(12), None);
        check("99999999999999999999 1 1\n", None, None);
    }

    #[test]
    fn io_is_what_the_device_delivered() {
        let check = |text, read, write| {
            let reading = parse(parse_io, text);
            assert_eq!(
                (reading[Counter::DeviceReadBytes], reading[Counter::DeviceWriteBytes]),
                (read, write),
                "{text}"
            );
        };
        let all = "rchar: 6976\nwchar: 9\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 8192\n\
                   cancelled_write_bytes: 1\n";
        check(all, Some(4096), Some(8192));
        check("read_bytes: -1\nwrite_bytes: 1 2\n", None, Some(1));
        check("read_bytes: 12", None, None);
        check("read_bytes:\n\nwrite_bytes", None, None);
    }

    fn stat(text: &str, this_cpu: u64) -> Reading {
        let mut reading = Reading::default();
        parse_stat(text.as_bytes(), this_cpu, &mut reading);
        reading
    }

    /// From the fourth field on; the process was last on CPU 1.
    const REST: &str = "5701 5701 3459 0 -1 4194304 104 5 17 6 0 0 0 0 20 0 1 0 95978 3133440 382 \
        18446744073709551615 94163495477248 94163495497129 140720668876752 0 0 0 0 0 0 0 0 0 17 1 0 0 0\n";

    #[test]
    fn stat_survives_any_name_of_a_program() {
        let check = |name, state, rest| {
            let text = format!("57 ({name}) {state} {REST}");
            let reading = stat(&text, 0);
            let faults = (reading[Counter::MinorFaults], reading[Counter::MajorFaults]);
            assert_eq!((faults, reading.at_rest), ((Some(109), Some(23)), rest), "{text}");
            assert_eq!(reading[Counter::MinorFaultsOfChildren], Some(5), "{text}");
        };
        check("cat", "S", true);
        check("cat", "R", false);
        check("a) R 1 2 (", "S", true);
        check("\n) (", "D", true);
        assert_eq!(stat("57 (cat", 0), Reading::default());
        assert_eq!(stat("57 (cat)", 0), Reading::default());
    }

    #[test]
    fn who_waits_for_the_cpu_of_the_reader_is_at_rest() {
        let text = format!("57 (cat) R {REST}");
        let check = |cpu, rest| assert_eq!(stat(&text, cpu).at_rest, rest, "{cpu}");
        check(1, true);
        check(0, false);
        assert!(!stat("57 (cat) R 1 2\n", 0).at_rest);
    }

    #[test]
    fn status_is_peak_threads_and_switches() {
        let text = "Name:\tThreads: 9\nVmHWM:\t    1600 kB\nThreads:\t3\n\
                    voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        let reading = parse(parse_status, text);
        let switches = (reading[Counter::VoluntarySwitches], reading[Counter::InvoluntarySwitches]);
        assert_eq!(reading[Counter::PeakRssBytes], Some(1600 * 1024));
        assert_eq!((reading[Counter::Threads], switches), (Some(3), (Some(5), Some(7))));
        // Truncated in the middle of the last number.
        let reading = parse(parse_status, &text[..text.len() - 1]);
        assert_eq!(
            (reading[Counter::VoluntarySwitches], reading[Counter::InvoluntarySwitches]),
            (Some(5), None)
        );
        assert_eq!(
            parse(parse_status, "VmHWM: 18446744073709551615 kB\n")[Counter::PeakRssBytes],
            None
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            words in "(VmHWM|Threads|read_bytes|[:() \n0-9R-])*",
        ) {
            for text in [&bytes[..], words.as_bytes()] {
                parse_stat(text, 0, &mut Reading::default());
                for parser in [parse_schedstat, parse_io, parse_status] {
                    parser(text, &mut Reading::default());
                }
            }
        }

        #[test]
        fn a_number_is_read_as_it_is_written(value: u64) {
            prop_assert_eq!(number(value.to_string().as_bytes()), Some(value));
            prop_assert_eq!(field(format!("a: 1\nname:\t {value} kB\n").as_bytes(), b"name"), Some(value));
        }
    }
}

#[cfg(test)]
mod task_tree_tests {
    use super::*;

    /// A process of one thread that lived from one time to another, and was seen to end at once.
    fn process(process: u32, parent: u32, [start_ns, end_ns]: [u64; 2]) -> EndedTask {
        EndedTask {
            task: process,
            process,
            parent,
            wait_ns: 10,
            cpu_ns: u64::from(process),
            lifetime_ns: end_ns - start_ns,
            seen_from_ns: end_ns,
            seen_ns: end_ns,
        }
    }

    #[test]
    fn a_tree_is_what_the_lab_has_started_with_its_threads_and_orphans() {
        let thread = EndedTask { task: 22, ..process(20, 10, [110, 150]) };
        let ended = [
            process(30, 20, [120, 140]),
            process(99, 98, [100, 145]),
            thread,
            process(20, 10, [110, 160]),
            process(40, 1, [130, 165]),
            process(10, 1, [105, 170]),
            // The process of another method, which was there before.
            process(50, 1, [10, 180]),
        ];
        let (tree, members) = TaskTree::from_ended(&ended, 1, 100);
        assert_eq!(members.iter().map(|task| task.task).collect::<Vec<_>>(), [30, 22, 20, 40, 10]);
        assert_eq!(tree, TaskTree { tasks: 5, wait_ns: 50, longest_task_cpu_ns: 40, cpu_ns: 120 });
        assert_eq!(TaskTree::from_ended(&[], 1, 100).0, TaskTree::default());
    }

    #[test]
    fn children_one_after_the_other_do_not_overlap_and_two_at_once_do() {
        let shell = process(10, 1, [100, 200]);
        let of = |tasks: &[EndedTask]| overlap_ns(tasks).unwrap();
        let serial = [process(20, 10, [110, 130]), process(30, 10, [130, 190]), shell];
        assert_eq!(of(&serial), 0);
        // A grandchild lives while its parent and the shell do.
        assert_eq!(of(&[process(30, 20, [115, 120]), process(20, 10, [110, 130]), shell]), 0);
        let pipeline = [process(20, 10, [110, 180]), process(30, 10, [120, 190]), shell];
        assert_eq!(of(&pipeline), 60);
        // A second thread lives beside the first one of its process.
        assert_eq!(of(&[EndedTask { task: 11, ..process(10, 1, [120, 190]) }, shell]), 70);
    }

    #[test]
    fn an_end_that_was_seen_late_is_no_certain_overlap() {
        let late = EndedTask { seen_from_ns: 130, ..process(30, 10, [140, 190]) };
        assert_eq!(overlap_ns(&[process(20, 10, [110, 150]), late]), Some(0));
        let many = vec![process(20, 10, [110, 150]); PAIRS_MAX + 1];
        assert_eq!(overlap_ns(&many), None);
    }
}
