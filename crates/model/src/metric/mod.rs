//! The metrics that a sample may have: name, unit, which direction is better, whether it is exact,
//! and its source.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    /// The full title, the heading of a column, and the heading of a narrow column. Empty: it is
    /// derived from the name.
    titles: [&'static str; 3],
    pub unit: &'static str,
    pub better: Better,
    /// An exact metric is counted; a noisy one is measured.
    pub exact: bool,
    pub source: &'static str,
    /// The pass in which the metric is taken.
    pub pass: Pass,
}

impl Metric {
    const fn titled(
        self,
        title: &'static str,
        heading: &'static str,
        short: &'static str,
    ) -> Metric {
        Metric { titles: [title, heading, short], ..self }
    }
}

/// The pass that a sample belongs to. Samples of the two passes have no metric in common except
/// those that a method reports itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pass {
    #[default]
    Timing,
    /// The counting pass: in processes of its own, it takes what costs time to count, and no times.
    Counting,
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
        titles: [""; 3],
        unit,
        better: Better::Less,
        exact: false,
        source,
        pass: Pass::Timing,
    }
}

const fn count(name: &'static str, unit: &'static str, source: &'static str) -> Metric {
    Metric { exact: true, ..noisy(name, unit, source) }
}

/// A metric of the counting pass.
const fn counting_pass(
    exact: bool,
    name: &'static str,
    unit: &'static str,
    source: &'static str,
) -> Metric {
    Metric { exact, pass: Pass::Counting, ..noisy(name, unit, source) }
}

const PMU: &str = "perf event of the processor, kernel included";
const ALLOCATOR: &str =
    "the program's allocator; for other programs a preloaded library, or their own account";

const SWIFT: &str = "the account of a worker in Swift: how often its runtime did so with an object";

const FAULTS: &str = "getrusage of the method, else /proc/PID/stat; for a plain command wait4";
const SWITCHES: &str = "getrusage of the method, else /proc/PID/status; for a plain command wait4";
const DEVICE: &str = "getrusage of a built-in method and wait4 of a plain command (ru_inblock, ru_oublock), else \
                      /proc/PID/io";
const PARTS: &str = "getrusage of the method; for a plain command wait4";

/// The metrics of the timing pass, then those of the counting pass, in the order in which reports
/// show them. All except the throughput and the peaks are per operation: the value of a sample of
/// `ops` operations is divided by `ops`.
pub const METRICS: &[Metric] = &[
    noisy(WALL, "ns", "the method's own monotonic clock, between `go` and `done`")
        .titled("wall time", "wall", "wall"),
    noisy(
        WALL_LESS_WAIT,
        "ns",
        "wall_ns − run_queue_wait_ns, where the main thread computed all that time",
    )
    .titled("wall time less the wait for a CPU", "wall − wait", "−wait"),
    noisy(
        CPU,
        "ns",
        "CPU clock of the process, read by the method, else from outside; for a plain command wait4, \
         with all processes that were waited for",
    )
    .titled("CPU time", "CPU", "CPU"),
    noisy("user_ns", "ns", PARTS).titled("user", "user", "user"),
    noisy("system_ns", "ns", PARTS).titled("system", "system", "system"),
    noisy(
        CPU_DELAY,
        "ns",
        "for a plain command taskstats of each of its threads that ended, and the lab's own wait; for \
         a method in one thread /proc/PID/schedstat",
    )
    .titled("wait for a CPU of all threads", "wait", "wait"),
    noisy(
        LONGEST_TASK_CPU,
        "ns",
        "for a plain command taskstats, of the thread that computed most; for a method in one \
         thread its CPU time",
    )
    .titled("CPU time of the thread that computed most", "longest CPU", "longest"),
    Metric { better: Better::Neither, ..count("tasks", "count", "taskstats: threads of a plain command that ended") },
    Metric {
        better: Better::Neither,
        ..noisy(OVERLAP, "ns", "taskstats of the first sample of a plain command: how long two of its threads lived at once, neither of which started the other")
    },
    Metric { better: Better::Neither, ..count(LEFT, "count", "processes that a plain command left running, which the lab ended") },
    Metric { better: Better::Neither, ..count(KEPT, "count", "processes that a plain command left running, which were kept") },
    noisy(STEAL, "ns", "/proc/stat: what a hypervisor took meanwhile on all CPUs, in ticks of 10 ms, where it takes any"),
    noisy("run_queue_wait_ns", "ns", "/proc/PID/schedstat for a method in one thread, read by the method, else from outside"),
    Metric {
        name: THROUGHPUT,
        titles: ["throughput", "throughput", "bytes/s"],
        unit: "bytes/s",
        better: Better::More,
        exact: false,
        source: "payload bytes / wall time",
        pass: Pass::Timing,
    },
    noisy(
        PEAK_RSS,
        "bytes",
        "/proc/PID/clear_refs, then VmHWM of /proc/PID/status; for a plain command of its largest process \
         at its end, by ptrace, in the counting pass",
    )
    .titled("peak memory (RSS)", "peak RSS", "RSS"),
    noisy(
        GROUP_PEAK,
        "bytes",
        "the method's control group under --memory: memory.max_usage_in_bytes (version 1) or \
         memory.peak (version 2), with the page cache",
    )
    .titled("peak memory of the control group", "group peak", "group"),
    noisy(
        REFAULTS,
        "count",
        "memory.stat of that control group, workingset_refault_file: pages of files that were read \
         again after they had been evicted",
    ),
    noisy(MEMORY_STALL, "ns", "memory.pressure of that control group, some (version 2)"),
    count("device_read_bytes", "bytes", DEVICE),
    count("device_write_bytes", "bytes", DEVICE),
    count("minor_faults", "count", FAULTS),
    count("major_faults", "count", FAULTS),
    count("voluntary_switches", "count", SWITCHES),
    count("involuntary_switches", "count", SWITCHES),
    noisy("startup_ns", "ns", "fresh process: start to `hello`; plain command: until it runs")
        .titled("startup", "start-up", "start-up"),
    noisy(
        "noop_ns",
        "ns",
        "plain command: a process that does nothing, started in the same way after it, in each eighth \
         round",
    ),
    noisy("prepare_ns", "ns", "fresh process: `prepare` to `ready`"),
    noisy(
        "first_touch_ns",
        "ns",
        "fresh process: wall_ns of its first sample, which is its only one",
    ),
    noisy("total_ns", "ns", "startup_ns + prepare_ns + first_touch_ns"),
    counting_pass(true, SYSCALLS, "count", "perf tracepoint raw_syscalls:sys_enter, else ptrace")
        .titled("syscalls", "system calls", "calls"),
    counting_pass(
        true,
        TRANSFERRED,
        "bytes",
        "ptrace: what read, write, recv, send, splice and their like returned",
    )
    .titled("bytes that calls transferred", "transferred", "moved"),
    counting_pass(true, ALLOCATIONS, "count", ALLOCATOR)
        .titled("allocations", "allocations", "alloc"),
    counting_pass(true, "allocated_bytes", "bytes", ALLOCATOR),
    counting_pass(true, "peak_live_bytes", "bytes", ALLOCATOR),
    counting_pass(true, "arc_retains", "count", SWIFT).titled("retains", "retains", "retains"),
    counting_pass(true, "arc_releases", "count", SWIFT).titled("releases", "releases", "releases"),
    counting_pass(false, "instructions", "count", PMU),
    counting_pass(false, "cycles", "count", PMU),
    counting_pass(false, "cache_misses", "count", PMU),
    counting_pass(false, "branch_misses", "count", PMU),
    counting_pass(false, COUNTING_WALL, "ns", "wall_ns of the counting pass"),
];

/// The wall time of a sample of the counting pass.
pub const COUNTING_WALL: &str = "counting_wall_ns";
pub const WALL: &str = "wall_ns";
pub const WALL_LESS_WAIT: &str = "wall_less_wait_ns";
pub const CPU: &str = "cpu_ns";
/// The time in which a task of the job was ready to run and no CPU was free, summed over all tasks.
pub const CPU_DELAY: &str = "cpu_delay_ns";
pub const LONGEST_TASK_CPU: &str = "longest_task_cpu_ns";
pub const OVERLAP: &str = "overlap_ns";
/// The number of processes that a plain command has left running, where there are any.
pub const LEFT: &str = "left_processes";
/// The number of processes that a plain command has left running, where they were kept.
pub const KEPT: &str = "kept_processes";
/// The CPU time that the hypervisor took for other machines during a sample.
pub const STEAL: &str = "steal_ns";
pub const THROUGHPUT: &str = "throughput_bytes_per_s";
pub const SYSCALLS: &str = "syscalls";
/// The bytes that system calls transferred, by what they returned.
pub const TRANSFERRED: &str = "transferred_bytes";
pub const ALLOCATIONS: &str = "allocations";

/// For a plain command, this is taken in the counting pass: its memory is gone once it has ended.
pub const PEAK_RSS: &str = "peak_rss_bytes";
/// What the control group of a method under a limit of memory held at most.
pub const GROUP_PEAK: &str = "group_peak_bytes";
pub const REFAULTS: &str = "file_refaults";
pub const MEMORY_STALL: &str = "memory_stall_ns";
/// The exit code of a plain command that may end with another one than 0; 128 more than the signal
/// that ended it.
pub const EXIT_CODE: &str = "exit_code";

/// The number of runs per second of a plain command of which several copies run at the same time.
pub const COPIES_PER_S: &str = "copies_per_s";

/// Whether the counting pass takes this metric. All other metrics are never taken from that pass.
pub fn is_counting_metric(name: &str) -> bool {
    find(name).is_some_and(|metric| metric.pass == Pass::Counting)
}

/// Whether the metric is in the table. A method may have other metrics of its own.
pub fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// The value per operation for a sample of `ops` operations; a peak is not divided.
pub fn per_operation(name: &str, total: u64, ops: u64) -> f64 {
    let ops = if ["peak_live_bytes", PEAK_RSS].contains(&name) { 1 } else { ops.max(1) };
    total as f64 / ops as f64
}

fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The full title of a metric.
pub fn title(name: &str) -> String {
    let title = find(name).map_or("", |metric| metric.titles[0]);
    let words = ["_bytes_per_s", "_bytes", "_ns"].iter().find_map(|end| name.strip_suffix(*end));
    if title.is_empty() { words.unwrap_or(name).replace('_', " ") } else { title.to_owned() }
}

/// The heading of the metric's column.
pub fn heading(name: &str) -> &str {
    title_of_kind(name, 1)
}

/// The heading of the metric's column where that must be narrow.
pub fn short_heading(name: &str) -> &str {
    title_of_kind(name, 2)
}

fn title_of_kind(name: &str, which: usize) -> &str {
    let title = find(name).map(|metric| metric.titles[which]).filter(|title| !title.is_empty());
    title.or(name.strip_suffix("_ns")).unwrap_or(name)
}

/// The unit of a metric: from the table, else from the suffix of its name.
pub fn unit(name: &str) -> &'static str {
    if let Some(metric) = find(name) {
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

/// The metrics for which the method's own value is more accurate than the value seen from outside.
pub(crate) const REPORTED_BY_METHODS: &[&str] = &[
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
    "arc_retains",
    "arc_releases",
    "instructions",
    "cycles",
    "cache_misses",
    "branch_misses",
];

/// Whether only the lab may set this metric.
pub fn is_the_labs_own(name: &str) -> bool {
    is_known(name) && !REPORTED_BY_METHODS.contains(&name)
}
