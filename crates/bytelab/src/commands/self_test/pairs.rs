//! Pairs of methods whose true difference is known: how often the lab reports a false difference,
//! and how often it finds a real one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use analysis::{Allowed, Comparison, Outcome, Verdict, analyze, check as held_against};
use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use experiments::self_test::{BURN, OTHERS, method_with_more};
use measure::launch::{ServerProcess, Stop};
use model::run::{CacheState, Run};

use super::bench::{AA, Bench, Effort, SelfTestCheck};

/// The rate of false alarms of a correct test.
const FALSE_ALARMS: f64 = 0.05;
/// An upper limit that 200 correct tests do not reach by chance in one of several dozen cells.
const MOST_OF_A_CELL: f64 = 0.1;
/// The minimum share of pairs that must have an interval.
const LEAST_FINITE: f64 = 0.95;
/// The minimum share of differences of 10 % and more that must be found on a quiet machine.
const LEAST_FOUND: f64 = 0.8;
const LARGE_PERCENT: u32 = 10;

/// What distinguishes the two methods of a pair. Both start the same processes and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PairKind {
    /// One program under two names.
    Same,
    /// One command under two names, each sample a process of its own.
    Command,
    /// The work is done by the measured process, or by its child.
    Shell,
    /// The work is done before a pipeline, or in it.
    Pipeline,
    /// The work is done by the first thread, or by another one.
    Thread,
    /// A built-in method, and the same method as a worker in another program.
    Worker,
    /// One program under two names, among two others.
    FewOthers,
    /// One program under two names, among 25 others.
    ManyOthers,
}

impl PairKind {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The reference, the other method, and the methods that are measured in the same rounds.
    fn methods(self) -> Vec<String> {
        let (pair, others) = match self {
            PairKind::Same => (["same", "same-again"], 0),
            PairKind::Command => (["shell", "shell-again"], 0),
            PairKind::Shell => (["shell", "child-of-shell"], 0),
            PairKind::Pipeline => (["before-pipeline", "in-pipeline"], 0),
            PairKind::Thread => (["first-thread", "second-thread"], 0),
            PairKind::Worker => (["same", "as-worker"], 0),
            PairKind::FewOthers => (["same", "same-again"], 2),
            PairKind::ManyOthers => (["same", "same-again"], OTHERS),
        };
        let others = (1..=others).map(|n| format!("other-{n}"));
        pair.map(str::to_owned).into_iter().chain(others).collect()
    }

    /// Whether both methods cost exactly the same. Otherwise a process or thread that is started or
    /// woken later makes a small true difference, which is measured by all pairs together.
    fn is_equal(self) -> bool {
        !matches!(self, PairKind::Shell | PairKind::Pipeline | PairKind::Thread)
    }

    /// For processes, each round is a session.
    fn effort(self) -> Effort {
        let is_command = matches!(self, PairKind::Command | PairKind::Shell | PairKind::Pipeline);
        let rounds = if is_command { 2 } else { AA.1 };
        Effort { sessions: AA.0, rounds, cache: CacheState::AsIs, counting: 0 }
    }
}

/// The results of several pairs in one metric.
#[derive(Clone, Default)]
struct Count {
    pairs: u32,
    claims: u32,
    /// The bounds of the pairs that have an interval.
    intervals: Vec<(f64, f64)>,
    log_ratios: f64,
}

impl Count {
    fn add(&mut self, comparison: &Comparison) {
        self.pairs += 1;
        let claims = matches!(comparison.verdict, Verdict::Faster | Verdict::Slower);
        self.claims += u32::from(claims);
        self.intervals.extend(comparison.low.zip(comparison.high));
        self.log_ratios += comparison.ratio.map_or(0.0, f64::ln);
    }

    /// The geometric mean of all ratios, which is more precise than that of a pair.
    fn ratio(&self) -> f64 {
        (self.log_ratios / f64::from(self.pairs.max(1))).exp()
    }

    /// The number of intervals that do not hold the ratio of all pairs.
    fn misses(&self) -> u32 {
        let ratio = self.ratio();
        let misses = |(low, high): &&(f64, f64)| ratio < *low || ratio > *high;
        self.intervals.iter().filter(misses).count() as u32
    }

    fn share(&self, of: u32) -> f64 {
        f64::from(of) / f64::from(self.pairs.max(1))
    }

    /// The upper limit for a correct test: three standard deviations above its rate.
    fn by_chance(&self) -> f64 {
        let n = f64::from(self.pairs.max(1));
        FALSE_ALARMS + 3.0 * (FALSE_ALARMS * (1.0 - FALSE_ALARMS) / n).sqrt()
    }
}

/// How many pairs are measured at which loads, and the file that gets a row for each comparison.
pub(super) struct Pairs<'a> {
    bench: &'a Bench,
    count: u32,
    loads: &'a [u32],
    rows: Option<File>,
}

impl<'a> Pairs<'a> {
    pub(super) fn new(
        bench: &'a Bench,
        count: u32,
        loads: &'a [u32],
        rows: Option<&Path>,
    ) -> Result<Self> {
        Ok(Self { bench, count, loads, rows: rows.map(open_rows).transpose()? })
    }

    /// How often two methods of equal cost are reported as different: for each kind, at each load.
    pub(super) fn false_alarms(&self, kinds: &[PairKind]) -> Result<Vec<SelfTestCheck>> {
        let mut checks = Vec::new();
        let mut pool = Count::default();
        for load in self.loads {
            let _burners = burners(*load, &self.bench.stop)?;
            for kind in kinds {
                let counts = self.count(&kind.methods(), kind.effort(), *load)?;
                for (metric, count) in counts {
                    let alarms = if kind.is_equal() { count.claims } else { count.misses() };
                    pool.pairs += count.pairs;
                    pool.claims += alarms;
                    checks.push(false_alarms_of(*kind, *load, metric, &count, alarms));
                }
            }
        }
        let most = 0.055_f64.max(pool.by_chance());
        let found = format!(
            "{} of {} verdicts are false ({:.1} %; at most {:.1} %)",
            pool.claims,
            pool.pairs,
            100.0 * pool.share(pool.claims),
            100.0 * most
        );
        checks.push(SelfTestCheck::new("all", pool.share(pool.claims) <= most, found));
        Ok(checks)
    }

    /// How often a difference of this many percent is found.
    pub(super) fn found(&self, percents: &[u32]) -> Result<Vec<SelfTestCheck>> {
        let mut checks = Vec::new();
        for load in self.loads {
            let _burners = burners(*load, &self.bench.stop)?;
            for percent in percents {
                let methods = ["same".to_owned(), method_with_more(*percent)];
                for (metric, count) in self.count(&methods, PairKind::Same.effort(), *load)? {
                    checks.push(found_of(*percent, *load, metric, &count));
                }
            }
        }
        Ok(checks)
    }

    /// For each metric, the verdicts on the second method compared with the first.
    fn count(
        &self,
        methods: &[String],
        effort: Effort,
        load: u32,
    ) -> Result<BTreeMap<&'static str, Count>> {
        let names: Vec<&str> = methods.iter().map(String::as_str).collect();
        let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
        for pair in 1..=self.count {
            let run = self.bench.measure(&names, effort)?;
            if self.bench.stop.signal().is_some() {
                break;
            }
            for (metric, comparison) in of_metrics(&run, names[1]) {
                counts.entry(metric).or_default().add(&comparison);
                if let Some(rows) = &self.rows {
                    write_row(rows, (names[1], names.len(), load, pair), metric, &comparison)
                        .context("writing the rows of --csv")?;
                }
            }
        }
        Ok(counts)
    }
}

fn open_rows(path: &Path) -> Result<File> {
    let writing = || format!("writing {}", path.display());
    let mut rows = File::create(path).with_context(writing)?;
    writeln!(rows, "method,methods,load,pair,metric,ratio,low,high,verdict")
        .with_context(writing)?;
    Ok(rows)
}

/// A row is in the file as soon as its pair has been measured.
fn write_row(
    mut rows: &File,
    (method, methods, load, pair): (&str, usize, u32, u32),
    metric: &str,
    comparison: &Comparison,
) -> io::Result<()> {
    let figure = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let [ratio, low, high] = [comparison.ratio, comparison.low, comparison.high].map(figure);
    let verdict = format!("{:?}", comparison.verdict).to_lowercase();
    writeln!(rows, "{method},{methods},{load},{pair},{metric},{ratio},{low},{high},{verdict}")
}

/// Whether the false alarms of a metric are few enough, and the intervals many enough.
fn false_alarms_of(
    kind: PairKind,
    load: u32,
    metric: &'static str,
    count: &Count,
    alarms: u32,
) -> SelfTestCheck {
    let most = MOST_OF_A_CELL.max(count.by_chance());
    let finite = count.intervals.len() as u32;
    let passed = count.share(alarms) <= most && count.share(finite) >= LEAST_FINITE;
    let what = if kind.is_equal() { "differ" } else { "miss the ratio of all" };
    let found = format!(
        "{}, {load} processes for each CPU beside it: {alarms} of {} pairs {what} ({:.1} %; at most \
         {:.1} %), {finite} have an interval; ratio {:.4} in all",
        kind.name(),
        count.pairs,
        100.0 * count.share(alarms),
        100.0 * most,
        count.ratio(),
    );
    SelfTestCheck::new(metric, passed, found)
}

/// On a quiet machine, most large differences must be found.
fn found_of(percent: u32, load: u32, metric: &'static str, count: &Count) -> SelfTestCheck {
    let must = load == 0 && percent >= LARGE_PERCENT;
    let passed = !must || count.share(count.claims) >= LEAST_FOUND;
    let found = format!(
        "{percent} % more, {load} processes for each CPU beside it: found in {} of {} pairs \
         ({:.0} %); ratio {:.4} in all",
        count.claims,
        count.pairs,
        100.0 * count.share(count.claims),
        count.ratio(),
    );
    SelfTestCheck::new(metric, passed, found)
}

/// The comparisons of a method by wall time, by CPU time and by the deciding metric.
fn of_metrics(run: &Run, method: &str) -> Vec<(&'static str, Comparison)> {
    let comparisons = analyze(run).comparisons;
    let find_comparison = |name, is: &dyn Fn(&Comparison) -> bool| {
        let mut own = comparisons.iter().filter(|c| c.method == method);
        own.find(|c| is(c)).map(|c| (name, c.clone()))
    };
    [
        find_comparison("wall", &|c| c.metric == "wall_ns"),
        find_comparison("cpu", &|c| c.metric == "cpu_ns"),
        find_comparison("what decides", &|c| c.decides),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Processes that always want a CPU, this many for each CPU, until they are dropped.
fn burners(of_each: u32, stop: &Stop) -> Result<Vec<ServerProcess>> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let program = std::env::current_exe().context("finding this program")?;
    let argv = [program.to_string_lossy().as_ref(), BURN, "0", "0"].map(str::to_owned);
    let start = |_| {
        ServerProcess::start(&argv, 0, stop)
            .map_err(|ended| anyhow!("starting a process that wants a CPU: {ended:?}"))
    };
    (0..cpus * of_each as usize).map(start).collect()
}

// `bytelab check` of programs that did not change, each against its own baseline.

/// The allowed rate of failures in checks of unchanged programs.
const FAILURES: f64 = 0.01;
const ALLOWED_PERCENT: f64 = 5.0;

/// Works as the command does: a second run if the first is not ok.
pub(super) fn repeat_check(bench: &Bench, times: u32) -> Result<SelfTestCheck> {
    let effort = Effort { sessions: AA.0, rounds: AA.1, cache: CacheState::AsIs, counting: 0 };
    let allowed = ["wall_ns", "cpu_ns"]
        .map(|metric| Allowed { metric: metric.to_owned(), percent: ALLOWED_PERCENT });
    let [mut ok, mut slower, mut undecided] = [0u32; 3];
    for _ in 0..times {
        let measure = || bench.measure(&["same", "same-again"], effort);
        let baseline = measure()?;
        let mut now = vec![measure()?];
        let outcome = |now: &[Run]| {
            let request = analysis::Check {
                baseline: &baseline,
                now,
                before: &[],
                allowed: &allowed,
                absolute: false,
            };
            held_against(&request).outcome
        };
        let mut found = outcome(&now);
        if !matches!(found, Outcome::Ok | Outcome::Faster) {
            now.push(measure()?);
            found = outcome(&now);
        }
        if bench.stop.signal().is_some() {
            break;
        }
        match found {
            Outcome::Ok | Outcome::Faster => ok += 1,
            Outcome::Slower => slower += 1,
            _ => undecided += 1,
        }
    }
    let taken = f64::from((ok + slower + undecided).max(1));
    let share = f64::from(slower) / taken;
    // Three standard deviations above the allowed rate: 5.2 % of 50 checks.
    let limit = FAILURES + 3.0 * (FAILURES * (1.0 - FAILURES) / taken).sqrt();
    let found = format!(
        "{slower} of {taken} checks of the same program failed ({:.1} %; at most {:.1} %), {ok} were ok, \
         {undecided} undecided, with wall and cpu allowed {ALLOWED_PERCENT} % more",
        100.0 * share,
        100.0 * limit
    );
    Ok(SelfTestCheck::new("check A/A", share <= limit, found))
}
