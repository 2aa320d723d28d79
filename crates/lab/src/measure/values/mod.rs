//! Computes the values of the metrics from what a sample used, and the reasons why others are
//! missing.

mod waits;

use crate::launch::{ColdStart, RawSample};
use crate::metric::{
    CPU, CPU_DELAY, KEPT, LEFT, LONGEST_TASK_CPU, OVERLAP, PEAK_RSS, WALL, WALL_LESS_WAIT,
};

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
    values.extend(waits::wall_less_wait_ns(taken).map(|ns| (WALL_LESS_WAIT, ns / ops)));
    if done.bytes > 0 && done.wall_ns > 0 {
        values.push(("throughput_bytes_per_s", done.bytes as f64 * 1e9 / wall_ns));
    }
    let known = |name: &str| !unknown(taken).any(|(unknown, _)| unknown == name);
    if let Some(peak_bytes) = used.peak_rss_bytes.filter(|_| known(PEAK_RSS)) {
        values.push((PEAK_RSS, peak_bytes as f64));
    }
    let per_op = [
        // If a process was still on a CPU, its CPU time is late by up to one tick of the kernel.
        (CPU, used.cpu_ns.filter(|_| used.at_rest)),
        ("user_ns", used.user_ns),
        ("system_ns", used.system_ns),
        (CPU_DELAY, waits::delay_ns(taken)),
        (LONGEST_TASK_CPU, waits::longest_task_cpu_ns(taken)),
        ("tasks", taken.waits.tree.map(|tree| tree.tasks)),
        (OVERLAP, taken.waits.overlap_ns),
        (LEFT, Some(taken.left_processes).filter(|n| *n > 0)),
        (KEPT, Some(taken.kept_processes).filter(|n| *n > 0)),
        ("run_queue_wait_ns", used.run_queue_wait_ns),
        ("device_read_bytes", used.device_read_bytes),
        ("device_write_bytes", used.device_write_bytes),
        ("minor_faults", used.minor_faults),
        ("major_faults", used.major_faults),
        ("voluntary_switches", used.voluntary_switches),
        ("involuntary_switches", used.involuntary_switches),
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
    let has_threads = several_compute || used.threads.is_some_and(|threads| threads > 1);
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
            "it ignores the end of its processes, and what these used is then accounted nowhere";
        groups.push((ACCOUNTED, why));
    }
    if used.has_children() && is_command {
        groups.push((WAIT, "it starts processes, and this is known of one process only"));
    } else if used.has_children() {
        let why =
            "its work is done by processes that it starts, of which this is not known from outside";
        groups.push((OF_ONE_PROCESS, why));
    }
    if several_compute {
        groups.push((WAIT, "it computes in several threads, and is known of the first one only"));
    }
    if has_threads && !is_command {
        groups.push((SWITCHES_OF, "it has several threads, and is known of the first one only"));
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

#[cfg(test)]
mod tests;
