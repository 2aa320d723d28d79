//! `bytelab doctor`: prints what this machine can measure, from which source and how precisely,
//! what would enable the rest, and how noisy the machine is now.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use experiments::medium::{MountedMedium, SlowMedium};
use experiments::self_test::{ALLOCATIONS, CALLS, CALLS_PER_THREAD, THREADS, experiment};
use measure::count::Sources;
use measure::counters::{Counter, Counters};
use measure::environment::Noise;
use measure::launch::{CountingRunner, Launch, RunError, Stop, can_limit_memory};
use measure::timeline::TimelineSources;
use measure::{cache, clock};
use model::metric::{GROUP_PEAK, MEMORY_STALL, METRICS, Metric, REFAULTS};
use model::param::Point;
use model::run::{CacheState, Pass};
use serde::Serialize;

use super::{Context, layout};
use crate::console;
use crate::measuring::launcher;

/// How long the noise is observed.
const WATCH_NS: u64 = 500_000_000;

#[derive(Serialize)]
struct Diagnosis {
    clock: ClockFacts,
    metrics: Vec<Finding>,
    abilities: Vec<Finding>,
    noise: NoiseFacts,
}

#[derive(Serialize)]
struct ClockFacts {
    source: Option<String>,
    step_ns: u64,
    cost_ns: f64,
}

#[derive(Serialize)]
struct NoiseFacts {
    load_1min: Option<f64>,
    steal_share: Option<f64>,
    busy_share_of_others: Option<f64>,
    /// The share for a loop that always wants a CPU.
    run_queue_wait_share: Option<f64>,
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs, context: &Context) -> Result<ExitCode> {
    let mut diagnosis = diagnose()?;
    diagnosis.abilities.push(store(context));
    let mut out = console::stdout();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &diagnosis)?;
        writeln!(out)?;
    } else {
        // In a pipe each finding is on one line, so that `grep` finds all of it.
        let width = if io::stdout().is_terminal() { layout().width } else { usize::MAX };
        out.write_all(text(&diagnosis, width).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn diagnose() -> Result<Diagnosis> {
    let counters = Counters::open(std::process::id());
    let counted = Counted::try_out();
    let mut abilities = abilities()?;
    abilities.extend(counted.abilities());
    let limited = can_limit_memory(LIMIT_BYTES);
    let metric_finding = |metric: &Metric| match metric.pass {
        _ if OF_GROUPS.contains(&metric.name) => {
            let missing =
                limited.as_ref().map(|missing| missing.iter().find(|m| m.0 == metric.name));
            let why = match missing {
                Ok(found) => found.map(|(_, why)| why),
                Err(why) => Some(why),
            };
            Finding::of_metric(metric, why.cloned())
        }
        Pass::Timing => metric_finding(metric, &counters),
        Pass::Counting => counted.metric(metric),
    };
    Ok(Diagnosis {
        clock: ClockFacts {
            source: clock::source(),
            step_ns: clock::step_ns(),
            cost_ns: clock::cost_ns(),
        },
        metrics: METRICS.iter().map(metric_finding).collect(),
        abilities,
        noise: noise(counters),
    })
}

/// The limit of a group that is tried, and the metrics of groups.
const LIMIT_BYTES: u64 = 64 << 20;
const OF_GROUPS: [&str; 3] = [GROUP_PEAK, REFAULTS, MEMORY_STALL];

fn metric_finding(metric: &Metric, counters: &Counters) -> Finding {
    // A derived metric is missing if the metric that it is derived from is missing.
    let needed = match metric.name {
        "wall_less_wait_ns" => "run_queue_wait_ns",
        name => name,
    };
    let reason = counters.why().get(needed);
    let remedy = match needed {
        "peak_rss_bytes" => "needs a kernel with /proc/PID/clear_refs (CONFIG_PROC_PAGE_MONITOR)",
        "device_read_bytes" | "device_write_bytes" => {
            "needs a kernel with CONFIG_TASK_IO_ACCOUNTING and the right to trace the process"
        }
        "run_queue_wait_ns" => "needs a kernel with CONFIG_SCHED_INFO",
        _ => "needs /proc of the process",
    };
    Finding::of_metric(metric, reason.map(|reason| format!("{reason}; {remedy}")))
}

/// The features of the machine that methods and cache states need, tested on a small file.
fn abilities() -> Result<Vec<Finding>> {
    let dir = tempfile::Builder::new().prefix("bytelab-doctor").tempdir();
    let dir = dir.context("making a temporary directory; set TMPDIR to one that can be written")?;
    let path = dir.path().join("file");
    std::fs::write(&path, vec![1u8; 1 << 20]).with_context(|| path.display().to_string())?;
    let finding = |name, source, tried: Result<()>, remedy: &str| {
        Finding::tried(name, source, tried.err().map(|error| format!("{error:#}; {remedy}")))
    };
    let warm = warm(&path);
    let folios = cache::folio_share(&path).map(|_| ());
    let medium = "slow:0ms,1GB/s".parse().and_then(|medium: SlowMedium| {
        MountedMedium::new(&medium, std::slice::from_ref(&path), dir.path(), &Stop::default())
    });
    Ok(vec![
        finding("cache warm", "cachestat, else mincore", warm, "use --cache as-is"),
        finding(
            "cache cold",
            "fsync, posix_fadvise, then proof",
            cold(&path),
            "set TMPDIR to a directory on a disk: memory file systems are never cold",
        ),
        finding("page-cache folios", "/proc/kpageflags", folios, "needs root"),
        finding("O_DIRECT", "open", direct(&path), "set TMPDIR to a directory on a disk"),
        finding("io_uring", "io_uring_setup", io_uring(), "see kernel.io_uring_disabled"),
        Finding::tried("--memory", "a control group", can_limit_memory(LIMIT_BYTES).err()),
        Finding::tried("--medium", "FUSE", medium.err().map(|error| format!("{error:#}"))),
    ])
}

/// Reads the whole store; other commands read only the parts that they need.
fn store(context: &Context) -> Finding {
    let reason = store::verify(context.store.clone()).err().map(|error| format!("{error:#}"));
    Finding::tried("store of runs", "PRAGMA integrity_check, and the checksums of each run", reason)
}

fn warm(path: &Path) -> Result<()> {
    cache::fill(path, &Stop::default())?;
    cache::prove(CacheState::Warm, &[path]).map_err(anyhow::Error::msg)
}

fn cold(path: &Path) -> Result<()> {
    cache::evict(path)?;
    cache::prove(CacheState::Cold, &[path]).map_err(anyhow::Error::msg)
}

#[cfg(target_os = "linux")]
fn direct(path: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn direct(_path: &Path) -> Result<()> {
    anyhow::bail!("only Linux has it")
}

#[cfg(target_os = "linux")]
fn io_uring() -> Result<()> {
    io_uring::IoUring::new(8)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn io_uring() -> Result<()> {
    anyhow::bail!("only Linux has it")
}

/// Observes the machine while one thread always wants a CPU.
fn noise(mut counters: Counters) -> NoiseFacts {
    let noise = Noise::start();
    let before = counters.read();
    let start_ns = clock::now_ns();
    while clock::now_ns() - start_ns < WATCH_NS {}
    let wall_ns = clock::now_ns() - start_ns;
    let waited_ns = counters.read().since(&before)[Counter::RunQueueWaitNs];
    let noise = noise.finish();
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    NoiseFacts {
        load_1min: load.and_then(|load| load.split(' ').next()?.parse().ok()),
        steal_share: noise.steal_share,
        busy_share_of_others: noise.busy_share_of_others,
        run_queue_wait_share: waited_ns.map(|waited_ns| waited_ns as f64 / wall_ns as f64),
    }
}

fn text(diagnosis: &Diagnosis, width: usize) -> String {
    let clock = &diagnosis.clock;
    let mut out = format!(
        "Clock: {}, smallest step {}, one reading {}\n\nMetrics\n",
        clock.source.as_deref().unwrap_or("of unknown source"),
        format_args!("{} ns", clock.step_ns),
        format_args!("{:.0} ns", clock.cost_ns),
    );
    for finding in &diagnosis.metrics {
        out.push_str(&lines(finding, width));
    }
    out.push_str("\nAbilities\n");
    for finding in &diagnosis.abilities {
        out.push_str(&lines(finding, width));
    }
    let noise = &diagnosis.noise;
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.1} %", share * 100.0),
        None => "unknown".to_owned(),
    };
    let load = noise.load_1min.map_or("unknown".to_owned(), |load| format!("{load}"));
    let noise = format!(
        "Noise now: load {load}; CPUs busy with others {}; stolen by the hypervisor {}; a busy \
         loop waited for a CPU {} of its time",
        percent(noise.busy_share_of_others),
        percent(noise.steal_share),
        percent(noise.run_queue_wait_share),
    );
    let _ = writeln!(out, "\n{}", report::wrap(&noise, width.saturating_sub(2)).join("\n  "));
    out
}

fn lines(finding: &Finding, width: usize) -> String {
    let mark = if finding.available { "yes" } else { "no " };
    let Finding { name, exactness, source, .. } = finding;
    let mut line = format!("  {mark}  {name:<24} {exactness:<9} {source}\n");
    if let Some(reason) = &finding.reason {
        let reason = report::escape_controls(reason);
        for part in report::wrap(&reason, width.saturating_sub(7)) {
            let _ = writeln!(line, "       {part}");
        }
    }
    line
}

/// Whether this machine provides a capability, and from which source.
#[derive(Serialize)]
struct Finding {
    name: &'static str,
    available: bool,
    source: &'static str,
    exactness: &'static str,
    /// Why it is missing, and what would help.
    reason: Option<String>,
}

impl Finding {
    fn of_metric(metric: &Metric, reason: Option<String>) -> Finding {
        Finding {
            name: metric.name,
            available: reason.is_none(),
            source: metric.source,
            exactness: if metric.exact { "counts" } else { "measures" },
            reason,
        }
    }

    /// The attempt, or the reason why it failed.
    fn tried(name: &'static str, source: &'static str, reason: Option<String>) -> Finding {
        Finding { name, available: reason.is_none(), source, exactness: "tried", reason }
    }
}

// Tests what can be counted on this machine: each source counts a known number of system calls
// or of allocations.

const SAMPLE_LIMIT_NS: u64 = 30_000_000_000;

struct Counted {
    sources: Sources,
    /// For each source: success, or why it cannot count.
    by_kernel: Result<(), String>,
    by_ptrace: Result<(), String>,
    by_allocator: Result<(), String>,
    by_library: Result<(), String>,
}

impl Counted {
    fn try_out() -> Counted {
        let sources = Sources::look();
        let by_kernel = match sources.missing().get("syscalls") {
            Some(why) => Err(why.clone()),
            None => million_calls(&sources),
        };
        let by_ptrace = calls_of_threads(&sources);
        let by_allocator = own_allocations(&sources);
        let by_library = foreign_allocations(&sources);
        Counted { sources, by_kernel, by_ptrace, by_allocator, by_library }
    }

    fn metric(&self, metric: &Metric) -> Finding {
        let neither = |one: &Result<(), String>, other: &Result<(), String>| match (one, other) {
            (Err(one), Err(other)) => Some(format!("{one}; {other}")),
            _ => None,
        };
        let reason = match metric.name {
            "syscalls" => neither(&self.by_kernel, &self.by_ptrace),
            "transferred_bytes" => self.by_ptrace.clone().err(),
            "allocations" | "allocated_bytes" | "peak_live_bytes" => {
                neither(&self.by_allocator, &self.by_library)
            }
            name => self.sources.missing().get(name).cloned(),
        };
        Finding::of_metric(metric, reason)
    }

    fn abilities(&self) -> Vec<Finding> {
        let finding = |name, source, tried: &Result<(), String>| {
            Finding::tried(name, source, tried.clone().err())
        };
        vec![
            finding("count system calls", "perf tracepoint, 0.1 µs per call", &self.by_kernel),
            finding("look at system calls", "ptrace, 10 µs or more per call", &self.by_ptrace),
            finding("count allocations", "built-in methods: the allocator", &self.by_allocator),
            finding("foreign allocations", "a preloaded library; not static, Go", &self.by_library),
            timeline(),
        ]
    }
}

/// Whether `--trace` has every event, and if not, which ones it has.
fn timeline() -> Finding {
    let sources = TimelineSources::look();
    let sampled =
        |why: String| format!("{why}; scheduling is then polled about every ms, in /proc/PID/task");
    let no_calls = sources.no_calls.map(|why| format!("no system calls: {why}"));
    let reason = sources.sampled.map(sampled).or(no_calls);
    let source = "perf events of all CPUs: sched, raw_syscalls, page faults";
    Finding::tried("timeline, every event", source, reason)
}

fn million_calls(sources: &Sources) -> Result<(), String> {
    let counted = started("calls", sources)?.count(1, 1).map_err(why)?;
    let syscalls = counted.done.metrics.iter().find(|(name, _)| name == "syscalls");
    match syscalls {
        Some((_, n)) if *n as u64 == u64::from(CALLS) => Ok(()),
        Some((_, n)) => Err(format!("{CALLS} calls were counted as {n}: do not trust it")),
        None => Err("the method's process could not count itself".to_owned()),
    }
}

fn own_allocations(sources: &Sources) -> Result<(), String> {
    let counted = started("allocate", sources)?.count(1, 1).map_err(why)?;
    let n = counted.done.metrics.iter().find(|(name, _)| name == "allocations");
    right_allocations(n.map(|(_, n)| *n as u64))
}

/// Whether allocations of a foreign program can be counted: this program is counted from outside,
/// without those of its start.
fn foreign_allocations(sources: &Sources) -> Result<(), String> {
    let count_allocations = |method| -> Result<u64, String> {
        let mut runner = started(method, sources)?;
        let counts = runner.allocations(1, 1).map_err(why)?;
        let n = counts.iter().find(|(name, _)| *name == "allocations").map(|(_, n)| *n);
        let reason = || runner.missing().into_iter().find(|(name, _)| *name == "allocations");
        n.ok_or_else(|| reason().map(|(_, why)| why).unwrap_or_default())
    };
    right_allocations(count_allocations("foreign")?.checked_sub(count_allocations("foreign-idle")?))
}

fn right_allocations(n: Option<u64>) -> Result<(), String> {
    match n {
        Some(n) if n == u64::from(ALLOCATIONS) => Ok(()),
        Some(n) => Err(format!("{ALLOCATIONS} were counted as {n}: do not trust it")),
        None => Err("the method's process could not count itself".to_owned()),
    }
}

fn calls_of_threads(sources: &Sources) -> Result<(), String> {
    let traced = started("threads", sources)?.trace(1, 1, 0).map_err(why)?;
    let known = u64::from(THREADS * CALLS_PER_THREAD);
    match traced.calls?.by_name.get("getppid") {
        Some(n) if *n == known => Ok(()),
        n => Err(format!("{known} calls were counted as {}: do not trust it", n.unwrap_or(&0))),
    }
}

fn started(method: &str, sources: &Sources) -> Result<Box<dyn CountingRunner>, String> {
    let experiment = experiment();
    let found = experiment.methods.iter().find(|known| known.name == method);
    let found = found.ok_or_else(|| format!("the self-test has no method {method}"))?;
    let launcher = launcher(SAMPLE_LIMIT_NS, &Stop::default());
    let mut launcher = launcher.map_err(|error| format!("{error:#}"))?;
    let mut runner =
        launcher.start_counting(experiment.name, found, sources, false).map_err(why)?;
    runner.prepare(&Point::default()).map_err(why)?;
    Ok(runner)
}

fn why(ended: RunError) -> String {
    match ended {
        RunError::Skipped(why) | RunError::Failed(why) => why,
        RunError::Stopped => "stopped".to_owned(),
    }
}
