//! `bytelab doctor`: prints what this machine can measure, from which source and how precisely,
//! what would enable the rest, and how noisy the machine is now.

mod counting;
mod finding;

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use lab::cache;
use lab::clock;
use lab::counters::Counters;
use lab::environment::Noise;
use lab::metric::{METRICS, Metric};
use lab::run::{CacheState, Pass};
use lab::stop::Stop;
use serde::Serialize;

use self::finding::Finding;
use super::context::Context;
use crate::console;
use crate::{report, store};

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
        out.write_all(text(&diagnosis).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn diagnose() -> Result<Diagnosis> {
    let counters = Counters::open(std::process::id());
    let counted = counting::Counted::try_out();
    let mut abilities = abilities()?;
    abilities.extend(counted.abilities());
    let metric_finding = |metric: &Metric| match metric.pass {
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

/// What methods and cache states need from the machine, tested on a small file of our own.
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
    ])
}

/// Other commands read of a store only what they need.
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
    let waited_ns = counters.read().since(&before).run_queue_wait_ns;
    let noise = noise.finish();
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    NoiseFacts {
        load_1min: load.and_then(|load| load.split(' ').next()?.parse().ok()),
        steal_share: noise.steal_share,
        busy_share_of_others: noise.busy_share_of_others,
        run_queue_wait_share: waited_ns.map(|waited_ns| waited_ns as f64 / wall_ns as f64),
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let clock = &diagnosis.clock;
    let mut out = format!(
        "Clock: {}, smallest step {}, one reading {}\n\nMetrics\n",
        clock.source.as_deref().unwrap_or("of unknown source"),
        format_args!("{} ns", clock.step_ns),
        format_args!("{:.0} ns", clock.cost_ns),
    );
    for finding in &diagnosis.metrics {
        out.push_str(&line(finding));
    }
    out.push_str("\nAbilities\n");
    for finding in &diagnosis.abilities {
        out.push_str(&line(finding));
    }
    let noise = &diagnosis.noise;
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.1} %", share * 100.0),
        None => "unknown".to_owned(),
    };
    let load = noise.load_1min.map_or("unknown".to_owned(), |load| format!("{load}"));
    let _ = write!(
        out,
        "\nNoise now: load {load}; CPUs busy with others {}; stolen by the hypervisor {}; a busy loop \
         waited for a CPU {} of its time\n",
        percent(noise.busy_share_of_others),
        percent(noise.steal_share),
        percent(noise.run_queue_wait_share),
    );
    out
}

fn line(finding: &Finding) -> String {
    let mark = if finding.available { "yes" } else { "no " };
    let Finding { name, exactness, source, .. } = finding;
    let mut line = format!("  {mark}  {name:<24} {exactness:<9} {source}\n");
    if let Some(reason) = &finding.reason {
        let _ = writeln!(line, "       {}", report::clean(reason));
    }
    line
}
