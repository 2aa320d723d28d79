//! What is known of a run and of each of its cells before anything is compared: which samples
//! count, the answers, the waits for a CPU. It is derived here once and handed down, so that no
//! later step derives it again from the samples.

use std::collections::BTreeSet;
use std::fmt;

use model::metric::{CPU, CPU_DELAY, KEPT, LEFT, WALL, WALL_LESS_WAIT, is_known};
use model::param::Point;
use model::run::{Cell, MetricColumn, Pass, Plan, Role, Run};

use crate::stats::median;

/// A run with the facts of its cells.
pub(crate) struct RunFacts<'a> {
    pub run: &'a Run,
    /// In the order of the run's cells.
    pub cells: Vec<CellFacts<'a>>,
}

impl<'a> RunFacts<'a> {
    pub(crate) fn new(run: &'a Run) -> RunFacts<'a> {
        let answers: Vec<Answers<'a>> = run.cells.iter().map(Answers::from_cell).collect();
        let (mut wrong, since) = (wrong_answers(run, &answers), sessions_since(run));
        let of_cell = |index: usize| CellFacts {
            wrong: wrong[index].take(),
            since: since[index],
            ..CellFacts::new(index, &run.cells[index], answers[index])
        };
        RunFacts { run, cells: (0..run.cells.len()).map(of_cell).collect() }
    }

    /// The number of all timed samples that count.
    pub(crate) fn samples(&self) -> usize {
        self.cells.iter().map(|cell| cell.timing.len()).sum()
    }

    /// The cell of a method at the values that it reads.
    pub(crate) fn find(&self, method: &str, point: &Point) -> Option<&CellFacts<'a>> {
        let is_it = |cell: &Cell| cell.method == method && cell.point == *point;
        self.cells.iter().find(|cell| is_it(cell.stored))
    }
}

/// What is known of a cell.
pub(crate) struct CellFacts<'a> {
    /// Its index in the run.
    pub index: usize,
    /// What is stored of it: its method, its point, its status.
    pub stored: &'a Cell,
    pub answers: Answers<'a>,
    /// Why its answer is wrong, compared with those of the other cells of its run.
    pub wrong: Option<String>,
    pub left_running: Option<LeftRunning>,
    /// Why its figures are not compared with those of others.
    pub unusable: Option<Unusable>,
    pub waits: Waits,
    /// How many sessions before the newest one of its run it took part last; none for a cell
    /// without samples.
    pub since: Option<u32>,
    /// The number of samples that were taken but do not count (without warm-up).
    pub not_counted: usize,
    /// The timed samples that count.
    pub timing: Vec<SampleKey>,
    /// Those of the counting pass.
    counting: Vec<SampleKey>,
    /// The last sample that warmed it up, where no timed sample counts.
    estimate: Option<SampleKey>,
}

/// The metrics in which each pair of cells is compared.
pub(crate) const VERDICT_METRICS: [&str; 3] = [WALL, WALL_LESS_WAIT, CPU];

/// What figures need of a sample: less memory to go through than the samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleKey {
    /// Its index in the cell.
    at: u32,
    pub session: u32,
    pub round: u32,
    pub slot: u32,
    pub ops: u64,
}

impl<'a> CellFacts<'a> {
    /// The facts of a cell by itself: whether its answer is wrong is not known.
    pub(crate) fn new(index: usize, stored: &'a Cell, answers: Answers<'a>) -> CellFacts<'a> {
        let (mut timing, mut counting, mut warm_up) = (Vec::new(), Vec::new(), Vec::new());
        let mut not_counted = 0;
        for (at, sample) in (0..).zip(&stored.samples) {
            let (session, round, slot) = (sample.session, sample.round, sample.slot);
            let key = SampleKey { at, session, round, slot, ops: sample.ops };
            match (sample.pass, sample.warm_up, &sample.not_counted) {
                (Pass::Timing, false, None) => timing.push(key),
                (Pass::Timing, true, None) => warm_up.push(key),
                (Pass::Counting, false, None) => counting.push(key),
                (_, false, Some(_)) => not_counted += 1,
                (_, true, _) => {}
            }
        }
        let mut facts = CellFacts {
            index,
            stored,
            answers,
            wrong: None,
            left_running: None,
            unusable: None,
            waits: Waits::default(),
            since: None,
            not_counted,
            estimate: warm_up.last().copied().filter(|_| timing.is_empty()),
            timing,
            counting,
        };
        facts.waits = Waits::new(&facts, &warm_up);
        facts.left_running = LeftRunning::new(&facts, &warm_up);
        facts.unusable = Unusable::new(&facts);
        facts
    }

    /// Whether it was measured and its answer is right.
    pub(crate) fn is_right(&self) -> bool {
        self.stored.has_figures() && self.wrong.is_none() && self.has(WALL)
    }

    /// Whether it is a contender whose figures may be compared with those of others.
    pub(crate) fn is_comparable(&self) -> bool {
        self.stored.role == Role::Contender && self.is_right() && self.unusable.is_none()
    }

    /// Whether it has not left a run of sequential design. It may lack the newest session, which
    /// may have been interrupted.
    pub(crate) fn stays(&self) -> bool {
        self.since.is_some_and(|sessions| sessions <= 1)
    }

    /// Whether a sample that counts has the metric.
    pub(crate) fn has(&self, metric: &str) -> bool {
        self.counted(metric).next().is_some()
    }

    /// The names of the metrics that its method reports itself.
    pub(crate) fn custom_metrics(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.stored.values.keys().map(String::as_str).filter(|name| !is_known(name))
    }

    /// The pass whose samples count for the metric: the counting pass where it has the metric.
    pub(crate) fn pass_of(&self, metric: &str) -> Pass {
        let value = self.column(metric);
        let is_counted = self.counting.iter().any(|key| value(*key).is_some());
        if is_counted { Pass::Counting } else { Pass::Timing }
    }

    /// The samples that count for the metric, of which some may lack it.
    fn keys(&self, metric: &str) -> &[SampleKey] {
        match self.pass_of(metric) {
            Pass::Timing => &self.timing,
            Pass::Counting => &self.counting,
        }
    }

    /// The same as [`Cell::counted`].
    pub(crate) fn counted<'s>(
        &'s self,
        metric: &str,
    ) -> impl Iterator<Item = (SampleKey, f64)> + Clone + use<'s, 'a> {
        let value = self.column(metric);
        self.keys(metric).iter().filter_map(move |key| Some((*key, value(*key)?)))
    }

    /// The values of the samples that count.
    pub(crate) fn values<'s>(&'s self, metric: &str) -> impl Iterator<Item = f64> + use<'s, 'a> {
        self.counted(metric).map(|(_, value)| value)
    }

    /// The number of sessions with a sample that counts.
    pub(crate) fn sessions(&self, metric: &str) -> usize {
        let mut sessions: Vec<u32> = self.counted(metric).map(|(key, _)| key.session).collect();
        // Nearly always they are sorted.
        sessions.sort_unstable();
        sessions.dedup();
        sessions.len()
    }

    /// The samples behind the figures that are shown: those that count, or else the estimate.
    pub(crate) fn shown<'s>(
        &'s self,
        metric: &str,
    ) -> impl Iterator<Item = (SampleKey, f64)> + use<'s, 'a> {
        let estimate = self.estimate.filter(|_| self.pass_of(metric) == Pass::Timing);
        let estimate = estimate.and_then(|key| Some((key, self.column(metric)(key)?)));
        self.counted(metric).chain(estimate)
    }

    /// By session and round, the values that count.
    pub(crate) fn rounds(&self, metric: &str) -> Rounds<'_> {
        let keys = self.keys(metric);
        // Nearly always they are in order, and are gone through where they lie.
        if keys.is_sorted_by(|a, b| (a.session, a.round) < (b.session, b.round)) {
            let stored = Some((keys, self.stored.column(metric)));
            return Rounds { stored, sorted: Vec::new() };
        }
        Rounds::new(self.counted(metric).map(|(key, value)| ((key.session, key.round), value)))
    }

    /// The value of a sample; none where it has none.
    pub(crate) fn column(
        &self,
        metric: &str,
    ) -> impl Fn(SampleKey) -> Option<f64> + Clone + use<'a> {
        let column = self.stored.column(metric);
        move |key| column.get(key.at as usize).copied().filter(|value| !value.is_nan())
    }

    /// The time in which the tasks of a sample were ready to run and had no CPU, all together.
    pub(crate) fn delays(&self) -> impl Fn(SampleKey) -> Option<f64> + use<'a> {
        let (delay_ns, wait_ns) = (self.column(CPU_DELAY), self.column(RUN_QUEUE_WAIT));
        move |key| delay_ns(key).or_else(|| wait_ns(key))
    }

    /// [`Waits::share`] of the sessions that count.
    pub(crate) fn wait_share(&self, counts: impl Fn(u32) -> bool) -> Option<f64> {
        let (delay_ns, wall_ns) = (self.delays(), self.column(WALL));
        let counted = self.timing.iter().filter(|key| counts(key.session));
        let known = counted.filter_map(|key| Some((delay_ns(*key)?, wall_ns(*key)?)));
        let sums = known.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
        Some(sums.0 / sums.1).filter(|share| share.is_finite())
    }
}

/// Values by session and round, in order, one of each round.
pub(crate) struct Rounds<'c> {
    /// Samples in this order, and the values of all samples of their cell.
    stored: Option<(&'c [SampleKey], &'c MetricColumn)>,
    /// Values that were not in order.
    sorted: Vec<((u32, u32), f64)>,
}

impl<'c> Rounds<'c> {
    pub(crate) fn new(values: impl Iterator<Item = ((u32, u32), f64)>) -> Rounds<'c> {
        let mut sorted: Vec<_> = values.collect();
        sorted.sort_by_key(|(round, _)| *round);
        sorted.dedup_by_key(|(round, _)| *round);
        Rounds { stored: None, sorted }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = ((u32, u32), f64)> {
        let stored = self.stored.into_iter().flat_map(|(keys, column)| {
            keys.iter().filter_map(move |key| {
                let value = column.get(key.at as usize).filter(|value| !value.is_nan())?;
                Some(((key.session, key.round), *value))
            })
        });
        stored.chain(self.sorted.iter().copied())
    }

    /// In how many of the rounds that both have of `all` only the first of these two has a value,
    /// and in how many only the second one, as far as a round counts.
    pub(crate) fn only_one(
        all: [&Rounds<'_>; 2],
        these: [&Rounds<'_>; 2],
        counts: impl Fn((u32, u32)) -> bool,
    ) -> [u64; 2] {
        let set = |rounds: &Rounds<'_>| -> BTreeSet<(u32, u32)> {
            rounds.iter().map(|(round, _)| round).collect()
        };
        let ([x, y], [ours, theirs]) = (all.map(set), these.map(set));
        let shared = x.intersection(&y).filter(|round| counts(**round));
        shared.fold([0, 0], |[a, b], round| match (ours.contains(round), theirs.contains(round)) {
            (true, false) => [a + 1, b],
            (false, true) => [a, b + 1],
            _ => [a, b],
        })
    }
}

// Whether the methods did the job: their answers, and their digests of the delivered bytes, must
// be equal.

/// The first two of the different answers of all samples of a cell, including warm-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers<'a>([Option<&'a str>; 2]);

impl<'a> Answers<'a> {
    pub(crate) fn from_cell(cell: &'a Cell) -> Answers<'a> {
        let mut answers: BTreeSet<&str> = BTreeSet::new();
        answers.extend(cell.samples.iter().filter_map(|sample| sample.answer.as_deref()));
        let mut answers = answers.into_iter();
        Answers([answers.next(), answers.next()])
    }

    /// The answer; none if there are none, or several.
    pub(crate) fn single(self) -> Option<&'a str> {
        let Answers([one, other]) = self;
        one.filter(|_| other.is_none())
    }

    pub(crate) fn contradiction(self) -> Option<String> {
        let Answers([one, other]) = self;
        Some(format!("its samples gave different answers, {} and {}", one?, other?))
    }
}

const ANSWER: &str = "answer";

/// By cell: why its answer is wrong. At each point the answer of most contenders is right; if two
/// are equally frequent, the one that occurs first: the reference is right unless it is outvoted.
/// Yardsticks are judged as well, but have no vote.
pub(crate) fn wrong_answers(run: &Run, answers: &[Answers<'_>]) -> Vec<Option<String>> {
    let mut wrong: Vec<Option<String>> =
        answers.iter().copied().map(Answers::contradiction).collect();
    let consistent: Vec<bool> = wrong.iter().map(Option::is_none).collect();
    for point in &run.points {
        let judged: Vec<usize> = (0..run.cells.len())
            .filter(|i| consistent[*i] && run.cells[*i].has_figures())
            .filter(|i| run.cells[*i].point.is_part_of(point))
            .collect();
        let given = judged.iter().map(|i| (*i, answers[*i].single())).collect();
        judge(run, ANSWER, given, &mut wrong);
        let digests = judged.iter().map(|i| (*i, run.cells[*i].digest.as_deref())).collect();
        judge(run, "digest of the bytes", digests, &mut wrong);
    }
    wrong
}

fn judge(run: &Run, what: &str, given: Vec<(usize, Option<&str>)>, wrong: &mut [Option<String>]) {
    let judged: Vec<usize> = given.iter().map(|(cell, _)| *cell).collect();
    let given: Vec<(usize, &str)> =
        given.into_iter().filter_map(|(cell, value)| Some((cell, value?))).collect();
    let votes: Vec<&str> = given
        .iter()
        .filter(|(cell, _)| run.cells[*cell].role == Role::Contender)
        .map(|(_, value)| *value)
        .collect();
    let count = |value: &str| votes.iter().filter(|vote| **vote == value).count();
    // The last of equal maxima wins, therefore the order is reversed.
    let Some(right) = votes.iter().rev().max_by_key(|value| count(value)) else { return };
    if what == ANSWER {
        let silent = judged.iter().filter(|i| {
            run.cells[**i].role == Role::Contender && !run.cells[**i].samples.is_empty()
        });
        for cell in silent.filter(|i| given.iter().all(|(cell, _)| cell != *i)) {
            wrong[*cell].get_or_insert_with(|| format!("no answer instead of {right}"));
        }
    }
    for (cell, value) in given {
        if value != *right {
            wrong[cell].get_or_insert_with(|| format!("{what} {value} instead of {right}"));
        }
    }
}

// Which methods have left the run.

/// By cell: how many sessions before the newest one of the run it took part last; none for a cell
/// without samples.
pub(crate) fn sessions_since(run: &Run) -> Vec<Option<u32>> {
    let newest = |cell: &Cell| {
        let timed = cell.samples.iter().filter(|sample| sample.pass == Pass::Timing);
        timed.map(|sample| place(&run.plan, sample.session)).max()
    };
    let newest: Vec<Option<u32>> = run.cells.iter().map(newest).collect();
    let of_run = newest.iter().flatten().max().copied();
    newest.into_iter().map(|newest| Some(of_run? - newest?)).collect()
}

/// When the session was measured, counted in sessions: one that was interrupted is taken again
/// under a higher number, in the same place.
pub(crate) fn place(plan: &Plan, session: u32) -> u32 {
    session % plan.sessions.max(1)
}

// How long a method waited for a CPU, as far as that is known, and for which methods the wait can
// be subtracted.

/// A method that neither runs nor waits for a CPU in more than this share of its wall time waits
/// for something else.
pub(crate) const BLOCKED_SHARE: f64 = 0.1;

/// A machine of which others used no more than this share of the CPU time is quiet: that they used
/// some is not mentioned.
pub const BUSY_SHARE: f64 = 0.1;

/// A wait of more than this share of the wall time is noted.
pub(crate) const WAIT_SHARE: f64 = 0.05;

/// What is known of the time in which a cell was ready to run and had no CPU.
#[derive(Default)]
pub(crate) struct Waits {
    /// The share of its wall time; for several tasks it is the sum, which may exceed 1. None where
    /// that is not known.
    pub share: Option<f64>,
    /// Whether the wait is known of most samples.
    pub are_known: bool,
    /// Whether the time without the wait is known of most samples: the method waits in one thread,
    /// or in one process after the other. Warm-up rounds show that, too.
    pub has_time_without: bool,
    /// Whether the time without the wait is the time that the method takes alone: it is known, and
    /// the method waits for nothing but a CPU. What it waits for otherwise goes on while it has no
    /// CPU, so that the wait for the CPU need not have made it longer.
    pub computes_alone: bool,
}

impl Waits {
    fn new(cell: &CellFacts<'_>, warm_up: &[SampleKey]) -> Waits {
        let delay_ns = cell.delays();
        let known = cell.timing.iter().filter(|key| delay_ns(**key).is_some()).count();
        let [wall_ns, less_wait_ns, cpu_ns] = VERDICT_METRICS.map(|metric| cell.column(metric));
        let timed = || cell.timing.iter().chain(warm_up).filter(|key| wall_ns(**key).is_some());
        let with = timed().filter(|key| less_wait_ns(**key).is_some()).count();
        let both = timed().filter_map(|key| less_wait_ns(*key).zip(cpu_ns(*key)));
        let blocked = both.map(|(time_ns, cpu_ns)| (time_ns - cpu_ns) / time_ns);
        let has_time_without = 2 * with > timed().count();
        Waits {
            share: cell.wait_share(|_| true),
            are_known: 2 * known > cell.timing.len(),
            has_time_without,
            computes_alone: has_time_without
                && median(&blocked.collect::<Vec<f64>>()) <= BLOCKED_SHARE,
        }
    }
}

// Methods whose figures are not compared with those of others: commands that leave processes
// running when they end, because the work of these processes is in no figure, and methods with
// impossible figures.

/// A method has no verdict if this is so in a larger share of its runs.
const SHARE: f64 = 0.1;

/// The CPU time of a process is late by up to a tick of the kernel, which takes at most this.
const TICK_NS: f64 = 1e7;

/// Two clocks may differ by this share.
const CLOCKS_DIFFER: f64 = 0.01;

/// Why a method is not compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unusable {
    LeftRunning(LeftRunning),
    Impossible(Impossible),
}

impl Unusable {
    /// None for a method that can be compared.
    fn new(cell: &CellFacts<'_>) -> Option<Unusable> {
        let left = cell.left_running.filter(LeftRunning::is_decisive);
        left.map(Unusable::LeftRunning).or_else(|| Impossible::new(cell).map(Unusable::Impossible))
    }
}

/// Continues a sentence that begins with the name of the method.
impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::LeftRunning(left) => left.fmt(f),
            Unusable::Impossible(impossible) => impossible.fmt(f),
        }
    }
}

/// Figures of one thread that no thread can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impossible {
    /// What is longer than the wall time: the CPU time, or the wait for a CPU.
    pub what: &'static str,
    /// Of the first such sample.
    pub wall_ns: f64,
    pub(crate) value_ns: f64,
    pub samples: usize,
    /// The number of all samples.
    pub of: usize,
}

impl Impossible {
    /// None if at most a tenth of the samples that count have such figures.
    fn new(cell: &CellFacts<'_>) -> Option<Impossible> {
        // A method with a known wait of its main thread computes in no other thread.
        let (wait_ns, wall_ns) = (cell.column(RUN_QUEUE_WAIT), cell.column(WALL));
        let of_one_thread = |key: &&SampleKey| wait_ns(**key).is_some();
        // A wait that is seen from outside may have been before the interval.
        [(CPU, "CPU time"), (CPU_DELAY, "wait for a CPU")].into_iter().find_map(|(metric, what)| {
            let value_ns = cell.column(metric);
            let longer = cell.timing.iter().filter(of_one_thread).filter_map(|key| {
                let (wall_ns, value_ns) = wall_ns(*key).zip(value_ns(*key))?;
                let limit_ns = wall_ns * (1.0 + CLOCKS_DIFFER) + TICK_NS / key.ops.max(1) as f64;
                (value_ns > limit_ns).then_some((wall_ns, value_ns))
            });
            let longer: Vec<(f64, f64)> = longer.collect();
            let (wall_ns, value_ns) = *longer.first()?;
            let (samples, of) = (longer.len(), cell.timing.len());
            let is_often = samples as f64 > SHARE * of as f64;
            is_often.then_some(Impossible { what, wall_ns, value_ns, samples, of })
        })
    }
}

const RUN_QUEUE_WAIT: &str = "run_queue_wait_ns";

/// `has wrong figures: in one thread a CPU time of 48.6 ms in 0.001 ms, in 12 of 12 samples`.
impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Impossible { what, wall_ns, value_ns, samples, of } = self;
        let [wall_ms, value_ms] = [wall_ns, value_ns].map(|ns| ns / 1e6);
        write!(
            f,
            "has wrong figures: a {what} of {value_ms:.3} ms of one thread in a wall time of {wall_ms:.3} ms, \
             in {samples} of {of} samples"
        )
    }
}

/// In how many of its runs a command left processes running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftRunning {
    /// The largest number of processes that one run left.
    pub processes: u64,
    pub runs: usize,
    /// The number of all runs.
    pub of: usize,
    /// Whether they were kept running, because the user asked for that, instead of being ended.
    pub kept: bool,
}

impl LeftRunning {
    /// None if no run left any. The runs that warm a command up count where there are no others.
    fn new(cell: &CellFacts<'_>, warm_up: &[SampleKey]) -> Option<LeftRunning> {
        if ![LEFT, KEPT].iter().any(|metric| cell.stored.values.contains_key(*metric)) {
            return None;
        }
        let wall_ns = cell.column(WALL);
        let timed = |keys: &[SampleKey]| -> Vec<SampleKey> {
            keys.iter().copied().filter(|key| wall_ns(*key).is_some()).collect()
        };
        let counted = timed(&cell.timing);
        let runs = if counted.is_empty() { timed(warm_up) } else { counted };
        [(LEFT, false), (KEPT, true)].into_iter().find_map(|(metric, kept)| {
            let left: Vec<f64> = runs.iter().copied().filter_map(cell.column(metric)).collect();
            let processes = left.iter().copied().reduce(f64::max)? as u64;
            Some(LeftRunning { processes, runs: left.len(), of: runs.len(), kept })
        })
    }

    /// Whether the method has no verdict for it.
    fn is_decisive(&self) -> bool {
        !self.kept && self.runs as f64 > SHARE * self.of as f64
    }
}

/// `left 1 process running after 6 of 6 runs; what it does is in no figure`.
impl fmt::Display for LeftRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeftRunning { processes, runs, of, kept } = *self;
        let (noun, it, does) =
            if processes == 1 { ("process", "it", "does") } else { ("processes", "they", "do") };
        let up_to = if processes > 1 { "up to " } else { "" };
        let went_on = if kept { ", which went on beside the next runs" } else { "" };
        write!(
            f,
            "left {up_to}{processes} {noun} running after {runs} of {of} runs{went_on}; what {it} {does} is \
             in no figure"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{answering, cell, facts_of, run, with};
    use model::run::Status;

    fn wrong(run: &Run) -> Vec<Option<String>> {
        wrong_answers(run, &run.cells.iter().map(Answers::from_cell).collect::<Vec<_>>())
    }

    #[test]
    fn samples_that_contradict_each_other_have_no_answer() {
        let mut cell = cell("a", [1.0; 3]);
        let answers = Answers::from_cell(&cell);
        assert_eq!((answers.single(), answers.contradiction()), (Some("1"), None));
        cell.samples[1].answer = Some("2".into());
        let reason = "its samples gave different answers, 1 and 2";
        let answers = Answers::from_cell(&cell);
        assert_eq!(answers.single(), None);
        assert_eq!(answers.contradiction().as_deref(), Some(reason));
        assert_eq!(wrong(&run(vec![cell])), [Some(reason.to_owned())]);
    }

    #[test]
    fn a_method_that_failed_has_no_vote() {
        let mut cells = ["a", "b", "c"].map(|name| cell(name, [1.0; 3])).to_vec();
        for cell in &mut cells[1..] {
            *cell = answering(cell.clone(), "2");
            cell.status = Status::Failed("impossible values".to_owned());
        }
        assert!(wrong(&run(cells)).iter().all(Option::is_none));
    }

    #[test]
    fn the_time_without_the_wait_is_that_of_what_computes_in_one_thread() {
        let of = |wait: f64, cpu: f64, every: usize| {
            let cell = with(cell("a", [100.0; 10]), WALL_LESS_WAIT, |wall_ns| wall_ns - wait);
            let mut cell = with(cell, CPU, |_| cpu);
            let column = cell.values.get_mut(WALL_LESS_WAIT).unwrap().to_mut();
            column.iter_mut().step_by(every).for_each(|value| *value = f64::NAN);
            let Waits { has_time_without, computes_alone, .. } = facts_of(&cell).waits;
            [has_time_without, computes_alone]
        };
        assert_eq!(of(60.0, 40.0, 3), [true, true]);
        // It waits for something else in a tenth of its own time, or more.
        assert_eq!([of(50.0, 45.0, 3), of(50.0, 44.9, 3)], [[true, true], [true, false]]);
        // Half of the samples lack it.
        assert_eq!(of(60.0, 40.0, 2), [false, false]);
    }

    #[test]
    fn the_samples_that_count_and_are_shown_are_those_of_the_cell() {
        let mut cell = cell("a", [1.0, 2.0, 3.0]);
        let counts_of = |cell: &Cell, metric: &str| {
            let facts = facts_of(cell);
            let counted: Vec<f64> = facts.values(metric).collect();
            assert_eq!(counted, cell.counted(metric).map(|(_, value)| value).collect::<Vec<_>>());
            let shown: Vec<f64> = facts.shown(metric).map(|(_, ns)| ns).collect();
            assert_eq!(shown, cell.shown(metric).map(|(_, value)| value).collect::<Vec<_>>());
            (counted.len(), shown.len())
        };
        assert_eq!(counts_of(&cell, WALL), (3, 3));
        cell.samples[1].not_counted = Some("not warm".into());
        cell.samples[2].pass = Pass::Counting;
        assert_eq!((counts_of(&cell, WALL), facts_of(&cell).not_counted), ((1, 1), 1));
        assert_eq!(counts_of(&cell, "syscalls"), (0, 0));
        // No timed sample counts: the warm-up is an estimate.
        cell.samples[0].warm_up = true;
        cell.samples[2].pass = Pass::Timing;
        cell.samples[2].not_counted = Some("not warm".into());
        assert_eq!(counts_of(&cell, WALL), (0, 1));
    }
}

#[cfg(test)]
mod unusable_tests {
    use super::*;
    use crate::tests::{cell, facts_of, with};

    fn left(metric: &str, runs: usize, of: usize, processes: f64) -> Option<LeftRunning> {
        let mut cell = with(cell("a", vec![100.0; of]), metric, |_| processes);
        cell.values
            .get_mut(metric)
            .unwrap()
            .to_mut()
            .iter_mut()
            .skip(runs)
            .for_each(|n| *n = f64::NAN);
        facts_of(&cell).left_running
    }

    #[test]
    fn what_a_command_leaves_running_is_said_with_the_number_of_its_runs() {
        let text = |found: Option<LeftRunning>| found.unwrap().to_string();
        assert_eq!(
            text(left(LEFT, 6, 6, 1.0)),
            "left 1 process running after 6 of 6 runs; what it does is in no figure"
        );
        assert_eq!(
            text(left(KEPT, 3, 6, 2.0)),
            "left up to 2 processes running after 3 of 6 runs, which went on beside the next runs; what \
             they do is in no figure"
        );
        assert_eq!(left(LEFT, 0, 6, 1.0), None);
        assert_eq!(facts_of(&cell("a", [100.0; 6])).left_running, None);
    }

    #[test]
    fn it_decides_if_it_is_more_than_a_few_runs_and_if_nobody_asked_for_it() {
        let of = |metric, runs| left(metric, runs, 60, 1.0).unwrap().is_decisive();
        assert_eq!(
            [of(LEFT, 60), of(LEFT, 7), of(LEFT, 6), of(KEPT, 60)],
            [true, true, false, false]
        );
    }

    #[test]
    fn one_thread_computes_and_waits_no_longer_than_it_takes() {
        let of = |wall_ns: f64, cpu_ns: f64, wait_ns: f64| {
            let cell = with(cell("a", [wall_ns; 10]), CPU, |_| cpu_ns);
            let cell = with(cell, CPU_DELAY, |_| wait_ns);
            let cell = with(cell, RUN_QUEUE_WAIT, |_| wait_ns);
            facts_of(&cell).unusable.map(|found| found.to_string())
        };
        assert_eq!(of(1e9, 1.01e9 + TICK_NS, 1e9), None);
        assert_eq!(
            of(1e3, 48.6e6, 0.0).unwrap(),
            "has wrong figures: a CPU time of 48.600 ms of one thread in a wall time of 0.001 ms, in 10 \
             of 10 samples"
        );
        assert!(of(1e3, 0.0, 20e6).unwrap().contains("a wait for a CPU of 20.000 ms"));
        // Of several threads it may be so.
        let several = with(cell("a", [1e6; 10]), CPU, |_| 48.6e6);
        assert_eq!(facts_of(&several).unusable, None);
        // One of ten samples may be a clock that was late.
        let mut late = with(cell("a", [1e6; 10]), RUN_QUEUE_WAIT, |_| 0.0);
        late = with(late, CPU, |_| 0.9e6);
        late.values.get_mut(CPU).unwrap().to_mut()[3] = 48.6e6;
        assert_eq!(facts_of(&late).unusable, None);
        late.values.get_mut(CPU).unwrap().to_mut()[4] = 48.6e6;
        assert!(facts_of(&late).unusable.is_some());
    }
}
