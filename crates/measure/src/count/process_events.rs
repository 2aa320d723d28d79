//! The events of a process: its own, counted directly around its job, and those of a foreign one,
//! counted from outside.
#![expect(unsafe_code, reason = "a mark is a system call that does nothing, which no crate offers")]

use model::metric::SYSCALLS;

use super::event::{CountedEvent, EventCounter};
use super::{EventTarget, Sources, tree};
use crate::clock;
use crate::protocol::COUNTING_VARIABLE;

// The process of a built-in method counts its own events, directly around the job, so that nothing
// of the protocol and of the worker is in the numbers.

/// The events of this process, in the order in which they are read before the job. After it they
/// are read in the opposite order, so that the system calls are those of the job and of one
/// reading.
pub(crate) struct OwnCounts {
    events: Vec<EventCounter>,
    /// By event, the count of an empty job.
    of_empty_job: [u64; KINDS_MAX],
}

/// The counts at one moment, by event. It does not allocate, because an allocation could make a
/// system call.
pub(crate) type EventCounts = [Option<u64>; KINDS_MAX];

/// System calls and the hardware counters.
const KINDS_MAX: usize = 5;

/// The beginning or end of the job, for a tracer of the process's system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobMark {
    Begin = 0x1ab0_0001,
    End = 0x1ab0_0002,
}

/// How often the empty job is done. The counters of a processor are noisy.
const EMPTY_JOBS: u32 = 5;

impl OwnCounts {
    /// Must be called before the process has other threads. None if this is not the counting pass.
    pub(crate) fn if_requested() -> Option<OwnCounts> {
        let words = std::env::var(COUNTING_VARIABLE).ok()?;
        let mut kinds: Vec<CountedEvent> =
            words.split(' ').filter_map(CountedEvent::of_word).collect();
        kinds.sort_by_key(|kind| kind.metric == SYSCALLS);
        kinds.truncate(KINDS_MAX);
        // What the lab could open for itself, its child can open as well; if it cannot, the metric
        // is missing.
        let open = |kind| EventCounter::open(kind, EventTarget::Own).ok();
        let events: Vec<EventCounter> = kinds.into_iter().filter_map(open).collect();
        let mut counts = OwnCounts { events, of_empty_job: [0; KINDS_MAX] };
        let empty_jobs: Vec<EventCounts> = (0..EMPTY_JOBS).map(|_| counts.empty_job()).collect();
        counts.of_empty_job = std::array::from_fn(|i| {
            empty_jobs.iter().filter_map(|job| job[i]).min().unwrap_or_default()
        });
        Some(counts)
    }

    fn empty_job(&self) -> EventCounts {
        let before = self.before();
        // The same readings as around a job: on some machines a reading of the clock is a system
        // call.
        for _ in 0..3 {
            std::hint::black_box(clock::now_ns());
        }
        let after = self.after();
        std::array::from_fn(|i| after[i]?.checked_sub(before[i]?))
    }

    pub(crate) fn before(&self) -> EventCounts {
        let mut reading = [None; KINDS_MAX];
        for (value, event) in reading.iter_mut().zip(&self.events) {
            *value = event.read().ok().flatten();
        }
        reading
    }

    pub(crate) fn after(&self) -> EventCounts {
        let mut reading = [None; KINDS_MAX];
        for (value, event) in reading.iter_mut().zip(&self.events).rev() {
            *value = event.read().ok().flatten();
        }
        reading
    }

    /// The counts of the job between the two readings.
    pub(crate) fn between(
        &self,
        before: &EventCounts,
        after: &EventCounts,
    ) -> Vec<(&'static str, u64)> {
        let of_job = |(i, event): (usize, &EventCounter)| {
            let all = after[i]?.checked_sub(before[i]?)?;
            Some((event.kind().metric, all.saturating_sub(self.of_empty_job[i])))
        };
        self.events.iter().enumerate().filter_map(of_job).collect()
    }
}

/// A system call that fails and changes nothing.
pub fn mark(mark: JobMark) {
    // SAFETY: descriptor -1 does not exist, so that the kernel refuses the call at once.
    unsafe { libc::lseek(-1, mark as libc::off_t, libc::SEEK_SET) };
}

#[cfg(target_os = "linux")]
impl JobMark {
    /// The mark that a system call represents, if any.
    pub(super) fn of_call(number: u64, arguments: &[u64; 6]) -> Option<JobMark> {
        if number != libc::SYS_lseek as u64 || arguments[0] as u32 != u32::MAX {
            return None;
        }
        [JobMark::Begin, JobMark::End].into_iter().find(|mark| *mark as u64 == arguments[1])
    }
}

// The events of a foreign process, counted from outside: those of all its threads and of all
// processes that it starts.

/// The open perf events of all threads of a process.
pub(crate) struct ProcessCounters {
    events: Vec<EventCounter>,
}

/// While threads start and end, opening events on all of them may fail.
const TRIES: u32 = 5;

impl ProcessCounters {
    /// For a process at rest. A thread that another one starts between two listings would be
    /// counted twice, so everything is repeated if the threads have changed.
    pub(crate) fn new(sources: &Sources, root: u32) -> Result<ProcessCounters, String> {
        for _ in 0..TRIES {
            let tasks = tree::tasks(root);
            let mut events = Vec::new();
            for task in &tasks {
                events.extend(opened(sources, EventTarget::Task(*task))?);
            }
            if tree::tasks(root) == tasks {
                return Ok(ProcessCounters { events });
            }
        }
        Err("its threads come and go even when it has nothing to do".to_owned())
    }

    /// For the program that a process executes with its next `execve`.
    pub(crate) fn after_exec(sources: &Sources, process: u32) -> Result<ProcessCounters, String> {
        Ok(ProcessCounters { events: opened(sources, EventTarget::AfterExec(process))? })
    }

    /// The sums by metric. A metric for which one of the events has no count is left out.
    pub(crate) fn read(&self) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(&'static str, Option<u64>)> = Vec::new();
        for event in &self.events {
            let metric = event.kind().metric;
            let value = event.read().ok().flatten();
            match sums.iter_mut().find(|(known, _)| *known == metric) {
                Some((_, sum)) => *sum = sum.zip(value).map(|(sum, value)| sum + value),
                None => sums.push((metric, value)),
            }
        }
        sums.into_iter().filter_map(|(metric, sum)| Some((metric, sum?))).collect()
    }

    /// What was counted after an earlier reading. A metric that one of the two lacks is left out.
    pub(crate) fn since(&self, before: &[(&'static str, u64)]) -> Vec<(&'static str, u64)> {
        let difference = |(metric, now): (&'static str, u64)| {
            let (_, then) = before.iter().find(|(known, _)| *known == metric)?;
            Some((metric, now.checked_sub(*then)?))
        };
        self.read().into_iter().filter_map(difference).collect()
    }
}

fn opened(sources: &Sources, target: EventTarget) -> Result<Vec<EventCounter>, String> {
    let mut events = Vec::new();
    for kind in &sources.kinds {
        match EventCounter::open(*kind, target) {
            Ok(event) => events.push(event),
            // A thread that has ended does not count any more.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(format!("perf event {}: {error}", kind.metric)),
        }
    }
    Ok(events)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_known_by_its_arguments() {
        let lseek = libc::SYS_lseek as u64;
        let check = |number: u64, first: i64, second: u64, expected: Option<JobMark>| {
            let arguments = [first as u64, second, 0, 0, 0, 0];
            assert_eq!(JobMark::of_call(number, &arguments), expected);
        };
        check(lseek, -1, JobMark::Begin as u64, Some(JobMark::Begin));
        check(lseek, 0xffff_ffff, JobMark::End as u64, Some(JobMark::End));
        check(lseek, -1, 5, None);
        check(lseek, 3, JobMark::Begin as u64, None);
        check(libc::SYS_read as u64, -1, JobMark::Begin as u64, None);
    }

    #[test]
    fn a_mark_is_a_call_that_the_kernel_refuses() {
        let last = || std::io::Error::last_os_error().raw_os_error();
        assert!(std::fs::File::open("/nonexistent").is_err());
        assert_eq!(last(), Some(libc::ENOENT));
        mark(JobMark::Begin);
        assert_eq!(last(), Some(libc::EBADF));
    }
}
