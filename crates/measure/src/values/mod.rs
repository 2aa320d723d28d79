//! Computes the values of the metrics from what a sample used, and the reasons why others are
//! missing.

use model::metric::{
    CPU, CPU_DELAY, GROUP_PEAK, KEPT, LEFT, LONGEST_TASK_CPU, MEMORY_STALL, OVERLAP, PEAK_RSS,
    REFAULTS, WALL, WALL_LESS_WAIT,
};

use crate::counters::{Counter, is_nearly_all};
use crate::launch::{ColdStart, RawSample};

/// All values of a sample of the timing pass: values that the method reports itself replace those
/// seen from outside.
pub(super) fn all_values(taken: &RawSample) -> Vec<(&str, f64)> {
    let own = || taken.done.metrics.iter().map(|(name, value)| (name.as_str(), *value));
    let seen = values(taken).into_iter().filter(|(name, _)| !own().any(|(own, _)| own == *name));
    seen.chain(own()).collect()
}

/// The metrics of the timing pass of one sample, per operation. Values that are not available are
/// left out.
pub fn values(taken: &RawSample) -> Vec<(&'static str, f64)> {
    let (done, used) = (&taken.done, &taken.used);
    let ops = done.ops.max(1) as f64;
    let wall_ns = done.wall_ns as f64;
    let mut values = vec![(WALL, wall_ns / ops)];
    values.extend(wall_less_wait_ns(taken).map(|ns| (WALL_LESS_WAIT, ns / ops)));
    if done.bytes > 0 && done.wall_ns > 0 {
        values.push(("throughput_bytes_per_s", done.bytes as f64 * 1e9 / wall_ns));
    }
    let known = |name: &str| !unknown(taken).any(|(unknown, _)| unknown == name);
    if let Some(peak_bytes) = used[Counter::PeakRssBytes].filter(|_| known(PEAK_RSS)) {
        values.push((PEAK_RSS, peak_bytes as f64));
    }
    if let Some(peak_bytes) = taken.group.and_then(|group| group.peak_bytes) {
        values.push((GROUP_PEAK, peak_bytes as f64));
    }
    let counted = |counter: Counter| (counter.name(), used[counter]);
    let per_op = [
        // If a process was still on a CPU, its CPU time is late by up to one tick of the kernel.
        (CPU, used[Counter::CpuNs].filter(|_| used.at_rest)),
        counted(Counter::UserNs),
        counted(Counter::SystemNs),
        (CPU_DELAY, delay_ns(taken)),
        (LONGEST_TASK_CPU, longest_task_cpu_ns(taken)),
        ("tasks", taken.waits.tree.map(|tree| tree.tasks)),
        (OVERLAP, taken.waits.overlap_ns),
        (LEFT, Some(taken.left_processes).filter(|n| *n > 0)),
        (KEPT, Some(taken.kept_processes).filter(|n| *n > 0)),
        counted(Counter::RunQueueWaitNs),
        counted(Counter::DeviceReadBytes),
        counted(Counter::DeviceWriteBytes),
        counted(Counter::MinorFaults),
        counted(Counter::MajorFaults),
        counted(Counter::VoluntarySwitches),
        counted(Counter::InvoluntarySwitches),
        (REFAULTS, taken.group.and_then(|group| group.refaults)),
        (MEMORY_STALL, taken.group.and_then(|group| group.stall_ns)),
        ("startup_ns", taken.startup_ns),
        ("noop_ns", taken.noop_ns),
    ];
    let per_op = per_op.iter().filter(|(name, _)| known(name));
    values.extend(per_op.filter_map(|(name, total)| Some((*name, (*total)? as f64 / ops))));
    if let Some(ColdStart { startup_ns, prepare_ns }) = taken.fresh {
        let [startup_ns, prepare_ns] = [startup_ns as f64, prepare_ns as f64];
        values.push(("startup_ns", startup_ns));
        values.push(("prepare_ns", prepare_ns));
        values.push(("first_touch_ns", wall_ns));
        values.push(("total_ns", startup_ns + prepare_ns + wall_ns));
    }
    values
}

/// The metrics that are unknown for a reason that only the sample shows, with the reason. For a
/// plain command the kernel provides the sums with `wait4`; a worker may report its own.
fn unknown(taken: &RawSample) -> impl Iterator<Item = (&'static str, &'static str)> {
    let used = &taken.used;
    let is_command = taken.startup_ns.is_some();
    let several_compute = used.computed_in_main_thread() == Some(false);
    let has_threads = several_compute || used[Counter::Threads].is_some_and(|threads| threads > 1);
    let mut groups: Vec<(&[&str], &str)> = Vec::new();
    if !is_command {
        groups.push((
            PARTS_OF_CPU,
            "the kernel reports them for another process in steps of 10 ms only",
        ));
    }
    if is_command && taken.waits.tree.is_none() && (used.has_children() || several_compute) {
        let why = "it has several processes or threads, whose waits taskstats did not report: that takes CAP_NET_ADMIN";
        groups.push((&[CPU_DELAY], why));
    }
    if taken.forgets_children {
        let why =
            "it ignores the end of its processes, so the kernel does not account what they used";
        groups.push((ACCOUNTED, why));
    }
    if used.has_children() && is_command {
        groups.push((WAIT, "it starts processes, and this is known for one process only"));
    } else if used.has_children() {
        let why = "its work is done by processes that it starts, for which this is not known \
                   from outside";
        groups.push((OF_ONE_PROCESS, why));
    }
    if several_compute {
        groups.push((
            WAIT,
            "it computes in several threads, and this is known for the first one only",
        ));
    }
    if has_threads && !is_command {
        groups.push((
            SWITCHES_OF,
            "it has several threads, and this is known for the first one only",
        ));
    }
    groups.into_iter().flat_map(|(names, why)| names.iter().map(move |name| (*name, why)))
}

/// What the kernel adds to a process when it waits for its children.
const ACCOUNTED: &[&str] = &[
    CPU,
    "user_ns",
    "system_ns",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "device_read_bytes",
    "device_write_bytes",
];

const WAIT: &[&str] = &["run_queue_wait_ns"];

const PARTS_OF_CPU: &[&str] = &["user_ns", "system_ns"];

const SWITCHES_OF: &[&str] = &["voluntary_switches", "involuntary_switches"];

/// These metrics are read for the process of the method and for no other.
const OF_ONE_PROCESS: &[&str] =
    &[CPU, "run_queue_wait_ns", PEAK_RSS, "voluntary_switches", "involuntary_switches"];

/// The metrics that a sample lacks for a reason that only the sample shows, each once.
pub(super) fn missing(taken: &RawSample) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_reported = |name: &str| taken.done.metrics.iter().any(|(reported, _)| reported == name);
    let mut said: Vec<&str> = Vec::new();
    unknown(taken).filter(move |(name, _)| {
        let is_new = !said.contains(name);
        said.push(name);
        is_new && !is_reported(name)
    })
}

// The waits for a CPU of a sample: of all of its tasks, or unknown.

/// The value that the method reports itself, for the whole sample.
fn own(taken: &RawSample, name: &str) -> Option<f64> {
    let ops = taken.done.ops as f64;
    taken.done.metrics.iter().find(|(n, _)| n == name).map(|(_, value)| value * ops)
}

/// The sum of the waits of all tasks, in ns. Of a worker seen from outside it would include the
/// wait before and after the timed interval, so that only the worker itself knows it.
fn delay_ns(taken: &RawSample) -> Option<u64> {
    let of_one = || is_one_thread(taken).then_some(taken.used[Counter::RunQueueWaitNs]).flatten();
    if taken.startup_ns.is_some() {
        let of_tasks = taken.waits.tree.map(|tree| tree.wait_ns).or_else(of_one)?;
        return Some(of_tasks + taken.waits.own_ns);
    }
    let reported = own(taken, "run_queue_wait_ns").filter(|_| is_one_thread(taken))?;
    Some(reported as u64)
}

/// No more than the CPU time of the task that computed most.
fn longest_task_cpu_ns(taken: &RawSample) -> Option<u64> {
    let main_ns = taken.used[Counter::MainThreadCpuNs];
    let tree = taken.waits.tree.map(|tree| tree.longest_task_cpu_ns);
    let of_one = main_ns.filter(|_| taken.used.at_rest && is_one_thread(taken));
    tree.max(of_one)
}

/// Whether one thread did all of the work, as far as the sample shows.
fn is_one_thread(taken: &RawSample) -> bool {
    let used = &taken.used;
    if let Some(tree) = taken.waits.tree {
        return tree.tasks == 1;
    }
    used.computed_in_main_thread() == Some(true) && !used.has_children()
}

/// Wall time without the wait for a CPU: of one thread, or of a tree whose tasks run one after the
/// other. A process and the child that it has just started may wait at the same time, so that the
/// sum of the waits of a tree may be too large; it cannot take less than its CPU time.
fn wall_less_wait_ns(taken: &RawSample) -> Option<f64> {
    let (done, used) = (&taken.done, &taken.used);
    let is_one = is_one_thread(taken);
    let is_known = taken.waits.is_serial || is_one;
    let wait_ns = delay_ns(taken).filter(|_| is_known && used.at_rest)? as f64;
    let left_ns = done.wall_ns as f64 - wait_ns;
    let cpu_ns = own(taken, CPU).map_or(used[Counter::CpuNs], |ns| Some(ns as u64))?;
    if !is_one {
        return Some(left_ns.max(cpu_ns as f64));
    }
    // One thread cannot use more CPU time than what is left; a little of it is used around the
    // interval.
    (left_ns > 0.0 && is_nearly_all(left_ns as u64, cpu_ns)).then_some(left_ns)
}

#[cfg(test)]
mod tests;
