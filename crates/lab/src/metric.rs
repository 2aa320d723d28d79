//! The metrics every sample may have: name, unit, which direction is better, how exact, from where.

mod mended;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counters::{AROUND_NS, COMPUTED_SHARE};
use crate::launch::{Fresh, Taken};
use crate::run::Pass;

pub use self::mended::{Ran, leave_out_mended, left_out};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub better: Better,
    /// An exact metric counts; a noisy one measures.
    pub exact: bool,
    pub source: &'static str,
    /// In which pass it is taken.
    pub pass: Pass,
    /// Of its definition: values of two versions are not compared where the older one was wrong.
    pub version: u32,
}

impl Metric {
    const fn version(self, version: u32) -> Metric {
        Metric { version, ..self }
    }
}

/// Of the metrics whose definition has been mended, as a run keeps them.
pub fn versions() -> BTreeMap<String, u32> {
    let mended = METRICS.iter().filter(|metric| metric.version > 1);
    mended.map(|metric| (metric.name.to_owned(), metric.version)).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Less,
    More,
    Neither,
}

const fn noisy(name: &'static str, unit: &'static str, source: &'static str) -> Metric {
    Metric {
        name,
        unit,
        better: Better::Less,
        exact: false,
        source,
        pass: Pass::Timing,
        version: 1,
    }
}

const fn count(name: &'static str, unit: &'static str, source: &'static str) -> Metric {
    Metric { name, unit, better: Better::Less, exact: true, source, pass: Pass::Timing, version: 1 }
}

/// Of the counting pass.
const fn apart(
    exact: bool,
    name: &'static str,
    unit: &'static str,
    source: &'static str,
) -> Metric {
    Metric { name, unit, better: Better::Less, exact, source, pass: Pass::Counting, version: 1 }
}

const PMU: &str = "perf event of the processor, kernel included";
const ALLOCATOR: &str =
    "the program's allocator; of other programs a preloaded library, or their own account";

const FAULTS: &str = "getrusage of the method, else /proc/PID/stat; of a plain command wait4";
const SWITCHES: &str = "getrusage of the method, else /proc/PID/status; of a plain command wait4";
const PARTS: &str = "getrusage of the method; of a plain command wait4";

/// Those of the timing pass, then those of the counting pass, in the order in which reports show them.
/// All but the throughput and the peaks are per operation; a sample of `ops` operations is divided by
/// `ops`.
pub const METRICS: &[Metric] = &[
    noisy("wall_ns", "ns", "the method's own monotonic clock, between `go` and `done`"),
    noisy(
        "wall_less_wait_ns",
        "ns",
        "wall_ns − run_queue_wait_ns, where the main thread computed all that time",
    )
    .version(2),
    noisy(
        "cpu_ns",
        "ns",
        "CPU clock of the process, read by the method, else from outside; of a plain command wait4, \
         with all processes that were waited for",
    )
    .version(2),
    noisy("user_ns", "ns", PARTS),
    noisy("system_ns", "ns", PARTS),
    noisy("run_queue_wait_ns", "ns", "/proc/PID/schedstat of what computes in one thread, read by the method, else from outside")
        .version(2),
    Metric {
        name: "throughput_bytes_per_s",
        unit: "bytes/s",
        better: Better::More,
        exact: false,
        source: "payload bytes / wall time",
        pass: Pass::Timing,
        version: 2,
    },
    noisy(
        PEAK_RSS,
        "bytes",
        "/proc/PID/clear_refs, then VmHWM of /proc/PID/status; of a plain command's largest process \
         at its end, by ptrace, in the counting pass",
    )
    .version(2),
    count("device_read_bytes", "bytes", "/proc/PID/io read_bytes").version(2),
    count("device_write_bytes", "bytes", "/proc/PID/io write_bytes").version(2),
    count("minor_faults", "count", FAULTS).version(2),
    count("major_faults", "count", FAULTS).version(2),
    count("voluntary_switches", "count", SWITCHES).version(3),
    count("involuntary_switches", "count", SWITCHES).version(3),
    noisy("startup_ns", "ns", "fresh process: start to `hello`; plain command: until it runs"),
    noisy(
        "noop_ns",
        "ns",
        "plain command: a process that does nothing, started in the same way after it",
    ),
    noisy("prepare_ns", "ns", "fresh process: `prepare` to `ready`"),
    noisy(
        "first_touch_ns",
        "ns",
        "fresh process: wall_ns of its first sample, which is its only one",
    ),
    noisy("total_ns", "ns", "startup_ns + prepare_ns + first_touch_ns"),
    apart(true, "syscalls", "count", "perf tracepoint raw_syscalls:sys_enter, else ptrace"),
    apart(true, "allocations", "count", ALLOCATOR).version(2),
    apart(true, "allocated_bytes", "bytes", ALLOCATOR).version(2),
    apart(true, "peak_live_bytes", "bytes", ALLOCATOR).version(2),
    apart(false, "instructions", "count", PMU),
    apart(false, "cycles", "count", PMU),
    apart(false, "cache_misses", "count", PMU),
    apart(false, "branch_misses", "count", PMU),
    apart(false, "counting_wall_ns", "ns", "wall_ns of the counting pass"),
];

/// Of a plain command it is taken in the counting pass: when it has ended, its memory is gone.
pub(crate) const PEAK_RSS: &str = "peak_rss_bytes";

/// Whether the counting pass takes this metric. The others are never taken from it.
pub fn is_counted_apart(name: &str) -> bool {
    METRICS.iter().any(|metric| metric.name == name && metric.pass == Pass::Counting)
}

/// Whether reports know it by name; a method may have others of its own.
pub fn is_known(name: &str) -> bool {
    METRICS.iter().any(|metric| metric.name == name)
}

/// What a sample of so many operations has of it, for one operation; a peak is that of all of them.
pub fn per_operation(name: &str, total: u64, ops: u64) -> f64 {
    let ops = if ["peak_live_bytes", PEAK_RSS].contains(&name) { 1 } else { ops.max(1) };
    total as f64 / ops as f64
}

/// The unit of a metric: from the table, else from the ending of its name.
pub fn unit(name: &str) -> &'static str {
    if let Some(metric) = METRICS.iter().find(|m| m.name == name) {
        return metric.unit;
    }
    if name.ends_with("_ns") {
        "ns"
    } else if name.ends_with("_bytes_per_s") {
        "bytes/s"
    } else if name.ends_with("_bytes") {
        "bytes"
    } else {
        "count"
    }
}

/// The metrics of the timing pass of one sample, per operation. What could not be had is left out.
pub fn values(taken: &Taken) -> Vec<(&'static str, f64)> {
    let (done, used) = (&taken.done, &taken.used);
    let ops = done.ops.max(1) as f64;
    let wall_ns = done.wall_ns as f64;
    let mut values = vec![("wall_ns", wall_ns / ops)];
    values.extend(wall_less_wait_ns(taken).map(|ns| ("wall_less_wait_ns", ns / ops)));
    if done.bytes > 0 && done.wall_ns > 0 {
        values.push(("throughput_bytes_per_s", done.bytes as f64 * 1e9 / wall_ns));
    }
    let known = |name: &str| !unknown(taken).any(|(unknown, _)| unknown == name);
    if let Some(peak_bytes) = used.peak_rss_bytes.filter(|_| known(PEAK_RSS)) {
        values.push((PEAK_RSS, peak_bytes as f64));
    }
    let per_op = [
        // Of a process that was still on a CPU, the CPU time is late by up to a tick of the kernel.
        ("cpu_ns", used.cpu_ns.filter(|_| used.at_rest)),
        ("user_ns", used.user_ns),
        ("system_ns", used.system_ns),
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
    if let Some(Fresh { startup_ns, prepare_ns }) = taken.fresh {
        let [startup_ns, prepare_ns] = [startup_ns as f64, prepare_ns as f64];
        values.push(("startup_ns", startup_ns));
        values.push(("prepare_ns", prepare_ns));
        values.push(("first_touch_ns", wall_ns));
        values.push(("total_ns", startup_ns + prepare_ns + wall_ns));
    }
    values
}

/// What is not known of a sample for a reason that only the sample shows, and the reason. Of a plain command the
/// kernel gives the sums with `wait4`; a worker may tell its own.
fn unknown(taken: &Taken) -> impl Iterator<Item = (&'static str, &'static str)> {
    let used = &taken.used;
    let is_command = taken.startup_ns.is_some();
    let several_compute = used.computed_in_main_thread() == Some(false);
    let has_threads = several_compute || used.threads.is_some_and(|threads| threads > 1);
    let mut groups: Vec<(&[&str], &str)> = Vec::new();
    if !is_command {
        groups.push((
            PARTS_OF_CPU,
            "of another process the kernel tells them in steps of 10 ms only",
        ));
    }
    if used.has_children() && is_command {
        groups.push((WAIT, "it starts processes, and the wait of each for a CPU is not known"));
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

const WAIT: &[&str] = &["run_queue_wait_ns"];
const PARTS_OF_CPU: &[&str] = &["user_ns", "system_ns"];
const SWITCHES_OF: &[&str] = &["voluntary_switches", "involuntary_switches"];

/// Read of the process of the method, and of no other.
const OF_ONE_PROCESS: &[&str] =
    &["cpu_ns", "run_queue_wait_ns", PEAK_RSS, "voluntary_switches", "involuntary_switches"];

/// The metrics that a sample lacks for a reason that only the sample shows, each once.
pub fn missing(taken: &Taken) -> impl Iterator<Item = (&'static str, &'static str)> {
    let told = |name: &str| taken.done.metrics.iter().any(|(told, _)| told == name);
    let mut said: Vec<&str> = Vec::new();
    unknown(taken).filter(move |(name, _)| {
        let is_new = !said.contains(name);
        said.push(name);
        is_new && !told(name)
    })
}

/// What is left without the wait must be the time in which the main thread computed, but for a small share:
/// then no other thread, child or server can have been waited for, whose own wait for a CPU is not known.
///
/// Only of a sample whose wait is known for the timed interval itself: told by the method, or that of a
/// plain command. Seen from outside, a worker's wait includes that before and after.
fn wall_less_wait_ns(taken: &Taken) -> Option<f64> {
    let (done, used) = (&taken.done, &taken.used);
    let ops = done.ops as f64;
    let own = |name: &str| done.metrics.iter().find(|(n, _)| n == name).map(|(_, ns)| ns * ops);
    let of_command = taken.startup_ns.and(used.run_queue_wait_ns).map(|ns| ns as f64);
    let wait_ns = own("run_queue_wait_ns").or(of_command)?;
    let main_ns = used.main_thread_cpu_ns? as f64;
    let single = main_ns >= used.cpu_ns? as f64 * COMPUTED_SHARE;
    // What the method tells leaves out what it does around the interval.
    let cpu_ns = own("cpu_ns").unwrap_or(main_ns).min(main_ns);
    let left_ns = done.wall_ns as f64 - wait_ns;
    // One thread cannot use more CPU time than what is left; a little is used around the interval.
    let possible = left_ns > 0.0 && left_ns + AROUND_NS as f64 >= cpu_ns * COMPUTED_SHARE;
    let computed = cpu_ns >= left_ns * COMPUTED_SHARE;
    (used.at_rest && single && possible && computed && !used.has_children()).then_some(left_ns)
}

/// The metrics of which the method's own account is better than what is seen from outside.
pub const TOLD_BY_METHODS: &[&str] = &[
    "cpu_ns",
    "user_ns",
    "system_ns",
    "run_queue_wait_ns",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "syscalls",
    "allocations",
    "allocated_bytes",
    "peak_live_bytes",
    "instructions",
    "cycles",
    "cache_misses",
    "branch_misses",
];

/// Whether only the lab may give this metric.
pub fn is_the_labs_own(name: &str) -> bool {
    METRICS.iter().any(|metric| metric.name == name) && !TOLD_BY_METHODS.contains(&name)
}

#[cfg(test)]
mod tests;
