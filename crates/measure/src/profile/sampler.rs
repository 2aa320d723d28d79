//! Takes the samples of a job in a thread of its own, from perf events of its tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io};

use super::collect::Collector;
pub(super) use super::collect::{CodeAddress, JobStacks};
use super::records::{self, ProfileRecord};
use crate::count::{ProfileEvent, explain_profile, open_profile, tree};
use crate::timeline::perf::{RING_SIZES_BYTES, online_cpus};
use crate::timeline::ring::Ring;
use crate::{clock, proc_fs};

pub(super) use crate::count::PROFILE_PERIOD_NS as PERIOD_NS;

/// Between two looks at the rings.
const PAUSE: Duration = Duration::from_millis(1);

/// The largest size that the kernel grants is used. By default it grants 516 KiB of each CPU to
/// other users than root: if the first rings took more, there would be none for the last CPUs.
const USER_RING_SIZES_BYTES: [usize; 2] = [512 << 10, 128 << 10];

pub(super) struct ProfileSampler {
    orders: Option<Sender<SamplerOrder>>,
    thread: Option<JoinHandle<()>>,
    pub(super) has_kernel: bool,
}

/// The process of a job.
#[derive(Clone, Copy)]
pub(super) enum Attached {
    /// It has just been started: to look for its children would take longer than it takes to start
    /// some.
    New(u32),
    /// It may have threads and children.
    Running(u32),
}

/// What the thread is to do; it answers each.
enum SamplerOrder {
    /// Take samples of this process and of all that it starts.
    Attach(Attached, Sender<Result<(), String>>),
    /// End the events, and hand over what was collected since.
    EndJob(Sender<JobStacks>),
}

impl ProfileSampler {
    /// The error is the reason why there can be no profile, and what would help.
    pub(super) fn start() -> Result<ProfileSampler, String> {
        let own = std::process::id();
        let cpus = online_cpus().map_err(|error| format!("the CPUs: {error}"))?;
        let first = cpus.first().copied().unwrap_or_default();
        let opens = |kernel| open_profile(ProfileEvent::CpuClock, own, first, kernel).map(drop);
        let has_kernel = opens(true).is_ok();
        if !has_kernel {
            opens(false).map_err(|error| explain_profile(&error))?;
        }
        let (orders, taken) = channel();
        let thread = std::thread::Builder::new()
            .name("profile".to_owned())
            .spawn(move || sample(&taken, &cpus, has_kernel))
            .map_err(|error| format!("a thread: {error}"))?;
        Ok(ProfileSampler { orders: Some(orders), thread: Some(thread), has_kernel })
    }

    /// Called when the process has started, or before it begins its job.
    pub(super) fn attach(&self, process: Attached) -> Result<(), String> {
        self.ask(|answer| SamplerOrder::Attach(process, answer)).unwrap_or_else(|| Err(gone()))
    }

    pub(super) fn end_job(&self) -> Result<JobStacks, String> {
        self.ask(SamplerOrder::EndJob).ok_or_else(gone)
    }

    fn ask<T>(&self, order: impl FnOnce(Sender<T>) -> SamplerOrder) -> Option<T> {
        let (answer, answered) = channel();
        self.orders.as_ref()?.send(order(answer)).ok()?;
        answered.recv().ok()
    }
}

fn gone() -> String {
    "the thread that takes samples has ended".to_owned()
}

impl Drop for ProfileSampler {
    fn drop(&mut self) {
        // Without orders the thread ends.
        self.orders.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The rings of a job belong to this thread.
fn sample(orders: &Receiver<SamplerOrder>, cpus: &[u32], kernel: bool) {
    let mut rings: BTreeMap<u32, Ring> = BTreeMap::new();
    let mut reader = RingReader::default();
    let mut collector = Collector::default();
    loop {
        let order = if rings.is_empty() {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            orders.recv_timeout(PAUSE)
        };
        match order {
            Ok(SamplerOrder::Attach(process, answer)) => {
                let attached = attach(&mut rings, process, cpus, kernel);
                // After the events are open, so that no mapping is missed.
                let processes = match process {
                    Attached::New(process) => BTreeSet::from([process]),
                    Attached::Running(process) => tree::processes(&[process]),
                };
                for process in processes {
                    let maps = proc_fs::path(process, "maps").and_then(fs::read_to_string);
                    collector.add_process(process, &maps.unwrap_or_default());
                }
                if let Attached::New(process) = process {
                    collector.starts(process, tree::sleeps(process), clock::now_ns());
                }
                let _ = answer.send(attached);
            }
            Ok(SamplerOrder::EndJob(answer)) => {
                reader.read(&mut rings, &mut collector, true);
                rings.clear();
                let _ = answer.send(collector.end_job());
            }
            Err(RecvTimeoutError::Timeout) => reader.read(&mut rings, &mut collector, false),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Opens the events of all tasks of the process on each CPU. Those of one CPU have one ring.
fn attach(
    rings: &mut BTreeMap<u32, Ring>,
    process: Attached,
    cpus: &[u32],
    kernel: bool,
) -> Result<(), String> {
    // A sample of a switch is taken in the kernel.
    let events: &[ProfileEvent] = if kernel {
        &[ProfileEvent::CpuClock, ProfileEvent::Switch]
    } else {
        &[ProfileEvent::CpuClock]
    };
    let tasks = match process {
        Attached::New(process) => tree::threads_of(process).collect(),
        Attached::Running(process) => tree::tasks(process),
    };
    for task in tasks {
        for cpu in cpus {
            for event in events {
                let event = match open_profile(*event, task, *cpu, kernel) {
                    Ok(event) => event,
                    // The task has ended.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                    Err(error) => return Err(explain_profile(&error)),
                };
                add(rings, *cpu, event).map_err(|error| {
                    format!(
                        "a ring for samples: {error}; raise kernel.perf_event_mlock_kb (sysctl)"
                    )
                })?;
            }
        }
    }
    Ok(())
}

fn add(rings: &mut BTreeMap<u32, Ring>, cpu: u32, event: std::os::fd::OwnedFd) -> io::Result<()> {
    if let Some(ring) = rings.get_mut(&cpu) {
        return ring.add(event);
    }
    let is_root = rustix::process::geteuid().is_root();
    let sizes_bytes = if is_root { &RING_SIZES_BYTES[..] } else { &USER_RING_SIZES_BYTES[..] };
    rings.insert(cpu, Ring::new(event, sizes_bytes)?);
    Ok(())
}

/// Hands the records of all rings over in the order of their times.
#[derive(Default)]
struct RingReader {
    waiting: Vec<(u64, ProfileRecord)>,
    complete_until_ns: u64,
    bytes: Vec<u8>,
}

impl RingReader {
    fn read(&mut self, rings: &mut BTreeMap<u32, Ring>, collector: &mut Collector, all: bool) {
        let start_ns = clock::now_ns();
        for ring in rings.values_mut() {
            self.bytes.clear();
            ring.drain(&mut self.bytes);
            records::parse(&self.bytes, |time_ns, record| self.waiting.push((time_ns, record)));
        }
        // The rings are emptied one after the other: an event that is later than the beginning of
        // the last pass may still have an earlier one in a ring.
        self.waiting.sort_by_key(|(time_ns, _)| *time_ns);
        let until_ns = if all { u64::MAX } else { self.complete_until_ns };
        let complete = self.waiting.partition_point(|(time_ns, _)| *time_ns < until_ns);
        for (time_ns, record) in self.waiting.drain(..complete) {
            collector.take(time_ns, record);
        }
        self.complete_until_ns = start_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop that no optimisation removes.
    #[inline(never)]
    fn compute_for_a_profile(until_ns: u64) -> u64 {
        let mut sum = 0_u64;
        while clock::now_ns() < until_ns {
            for i in 0..10_000_u64 {
                sum = std::hint::black_box(sum.rotate_left(3) ^ i);
            }
        }
        sum
    }

    #[test]
    fn a_thread_that_computes_is_found_in_its_function() {
        let sampler = match ProfileSampler::start() {
            Ok(sampler) => sampler,
            Err(why) => return println!("skipped: {why}"),
        };
        // Threads that were started before are not followed: this one is attached while it runs.
        sampler.attach(Attached::Running(std::process::id())).unwrap();
        let computing = std::thread::spawn(|| compute_for_a_profile(clock::now_ns() + 200_000_000));
        computing.join().unwrap();
        let job = sampler.end_job().unwrap();
        let mut symbols = super::super::symbols::Symbols::new();
        let is_it = |(stack, times): (&Vec<CodeAddress>, &[u64; 2])| {
            let mut names = symbols.chain(stack).into_iter();
            names.any(|name| name.contains("compute_for_a_profile")) && times[0] > 0
        };
        assert!(job.times_ns.iter().any(is_it), "{} stacks", job.times_ns.len());
    }
}
