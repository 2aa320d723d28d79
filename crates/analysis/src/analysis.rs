//! The results of a run. They are derived and never stored.

use model::param::Point;
use model::run::Warning;
use serde::Serialize;

use super::factorial::Factorial;
use super::facts::{LeftRunning, Unusable};
use super::made_of::MadeOf;
use super::why::Why;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Analysis {
    /// In the order of the run's cells.
    pub cells: Vec<CellSummary>,
    /// In the order of the run's points.
    pub families: Vec<Family>,
    /// Each contender against the reference, per point and metric.
    pub comparisons: Vec<Comparison>,
    /// What each difference that was judged is made of.
    pub made_of: Vec<MadeOf>,
    /// Which functions the differences of profiled methods are in.
    pub why: Vec<Why>,
    /// The effects of the factors of a full factorial experiment.
    pub factorial: Vec<Factorial>,
    /// Each method compared with itself at another word or path of a param.
    #[serde(rename = "across")]
    pub param_effects: Vec<ParamComparison>,
    /// Each method over all points of the run, if there are several.
    pub overall: Vec<Overall>,
    /// Each contender against the reference in the custom metrics, which methods report.
    #[serde(rename = "own")]
    pub custom_metrics: Vec<CustomMetricComparison>,
    /// The outcomes of the thresholds, by threshold, method and point.
    pub thresholds: Vec<ThresholdOutcome>,
    /// The notes of the run, then those found in its samples.
    pub notes: Vec<Warning>,
}

/// A method over all points, each of which has the same weight. Times that differ by orders of
/// magnitude have no common mean; their ratios do (Fleming and Wallace 1986).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    pub method: String,
    pub reference: String,
    pub metric: &'static str,
    /// The number of pairs of cells: a method that does not read a param has one for all its
    /// values.
    pub points: usize,
    /// The number of sessions in which all of these pairs were measured.
    pub sessions: usize,
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The confidence level of the interval. All of a run hold together at 95 %.
    pub level: f64,
}

/// The cells of one full point, which are compared with each other.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Family {
    pub point: Point,
    /// Indices into `Run::cells`, yardsticks included. A cell that does not depend on all params is
    /// in several families.
    pub cells: Vec<usize>,
    /// The first contender that was measured and gave the right answer.
    pub reference: Option<usize>,
    /// Contenders that were measured and gave the right answer, the reference among them.
    pub compared: Vec<usize>,
    /// The metric that decides: `wall_ns`, or `wall_less_wait_ns` where one method waited for a
    /// CPU for more than 5 % of its time, and the reference and most of the others have it, also in
    /// families that share a cell with this one.
    pub metric: &'static str,
    /// Why this metric decides.
    pub why: String,
    /// Of `compared`, those that are compared by wall time all the same: the time without the wait
    /// is not known of them.
    pub by_wall: Vec<usize>,
    /// The winner, which is the method with the smallest ratio of those shown faster than the
    /// reference, or else the reference, and the methods not shown slower than it; in a run of
    /// sequential design those not shown slower than any other.
    pub best: Vec<usize>,
    /// Methods that are also not shown slower than the winner, but may take twice its time: too
    /// little is known about them.
    pub undecided: Vec<usize>,
    /// Contenders that no other contender beats in wall, CPU and memory at once, by p50; a
    /// contender that is equal in some of them and better in the rest also beats.
    pub pareto: Vec<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// Index into `Run::cells`.
    pub cell: usize,
    /// In the order of `metric::METRICS`, then custom ones by name.
    pub metrics: Vec<Summary>,
    /// Samples that were taken but do not count (without warm-up).
    pub not_counted: usize,
    /// Whether no other contender of the point is better in wall, CPU and memory at once.
    pub pareto: bool,
    /// The answer of all its samples; none if they have none, or several.
    pub answer: Option<String>,
    /// Whether its answer, or its digest of the bytes, differs from that of most methods at the
    /// point, or between its own samples.
    pub wrong_answer: bool,
    /// In how many of its runs it left processes running, if in any.
    #[serde(skip)]
    pub left_running: Option<LeftRunning>,
    /// Why its figures are not compared with those of others.
    #[serde(skip)]
    pub unusable: Option<Unusable>,
}

/// One metric of one cell over the samples that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub metric: String,
    pub unit: &'static str,
    pub n: usize,
    /// The number of sessions of these samples. If it is one, the intervals apply to this set of
    /// processes alone.
    pub sessions: usize,
    /// The maximum number of operations per sample: if it is more than one, the percentiles are
    /// those of means.
    pub ops: u64,
    /// p0 p25 p50 p75 p90 p99 p100.
    pub percentiles: Vec<Percentile>,
    /// Whether all of two or more samples are equal: an exact count.
    pub constant: bool,
}

/// A percentile with its 95 % interval, by session; a bound is `None` where the samples or the
/// sessions are too few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// In percent.
    pub p: f64,
    /// By nearest rank: the smallest sample that at least p percent of the samples do not exceed.
    /// It is a measured value.
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// One contender against the reference at one point, in one metric.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub method: String,
    pub reference: String,
    /// The point of the family; for a pair that is in several families, that of the first one.
    pub point: Point,
    pub metric: String,
    /// Indices of the two into `Run::cells`.
    pub cell: usize,
    pub reference_cell: usize,
    /// Whether its metric is the one that decides between the two: this is so for exactly one of a
    /// pair's comparisons.
    pub decides: bool,
    /// The number of rounds that both have; in a run of sequential design until the last look.
    pub n: usize,
    /// Sessions with such a round. Each is one value of the interval: rounds of the same processes
    /// are not independent.
    pub sessions: usize,
    /// method / reference; `None` where a comparison is not possible.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Confidence level of the interval: 1 − 0.05 / (number of comparisons in the family); in a run
    /// of sequential design the part of it that the look has.
    pub level: f64,
    /// The p of the test that the interval inverts (in a run of sequential design that of all
    /// looks), alone, and with Holm's correction for the family.
    pub p: Option<f64>,
    pub p_holm: Option<f64>,
    pub verdict: Verdict,
    /// Whether the verdict is about the time beside this load: what the methods wait for a CPU is
    /// in it, and methods of other numbers of threads may be equal on a quiet machine.
    pub beside_load: bool,
    /// Why an interval that would decide does not.
    pub doubt: Option<Doubt>,
    /// Why there is no ratio, or no interval, or why the interval decides nothing.
    pub reason: Option<String>,
    /// Whether the interval excludes 0, but is completely within the relevance limit.
    pub below_relevance: bool,
    /// The smallest difference, in percent, that would have been found 4 times out of 5.
    pub found_percent: Option<f64>,
    /// The sessions in which a difference of 1 % would be found 4 times out of 5.
    pub sessions_for_1_percent: Option<u64>,
    /// A run that has them, if this comparison is undecided and has fewer.
    #[serde(skip)]
    pub longer_run: Option<LongerRun>,
}

/// A run in which a difference of 1 % would be found 4 times out of 5.
#[derive(Clone, Debug, PartialEq)]
pub enum LongerRun {
    /// By a flag with its value, such as `--time 10m`.
    Flag(String),
    /// It takes more sessions than anybody waits for.
    NotHere,
}

/// Why a comparison whose interval would decide has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// A wait for a CPU of up to the known waits may be the difference.
    Wait,
    /// A method waited for a CPU, and how long is not known.
    UnknownWait,
    /// Of one of the two the time without the wait is missing more often than of the other.
    Missing,
}

/// A method at one value of a param compared with itself at the first value, such as in another
/// directory.
#[derive(Clone, Debug, Serialize)]
pub struct ParamComparison {
    pub param: String,
    pub value: String,
    pub reference_value: String,
    /// The comparison, in which method and reference are the same.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// A method against the reference at one point, in a custom metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CustomMetricComparison {
    pub method: String,
    pub reference: String,
    pub point: Point,
    pub metric: String,
    /// The number of sessions with a round that both have.
    pub sessions: usize,
    /// method / reference.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// 1 − 0.05 / (methods that are compared in this metric at the point), or of a run of
    /// sequential design the part of it that the look has.
    pub level: f64,
    pub change: Change,
    /// Why there is no ratio, or no interval.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    Less,
    More,
    Same,
    Undecided,
}

impl Change {
    pub fn word(self) -> &'static str {
        match self {
            Change::Less => "less",
            Change::More => "more",
            Change::Same => "same",
            Change::Undecided => "undecided",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Faster,
    Slower,
    Same,
    Undecided,
    WrongAnswer,
    Missing,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
            Verdict::WrongAnswer => "wrong answer",
            Verdict::Missing => "missing",
        }
    }
}

impl Analysis {
    /// The comparison that decides between a cell and its family's reference; none for the
    /// reference itself and for yardsticks.
    pub fn decision(&self, family: &Family, cell: usize) -> Option<&Comparison> {
        decision(&self.comparisons, family, cell)
    }

    /// The indices of the cells whose answer is wrong.
    pub fn wrong_answers(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().filter(|cell| cell.wrong_answer).map(|cell| cell.cell)
    }
}

pub(crate) fn decision<'a>(
    comparisons: &'a [Comparison],
    family: &Family,
    cell: usize,
) -> Option<&'a Comparison> {
    comparisons.iter().find(|comparison| {
        comparison.decides
            && comparison.cell == cell
            && Some(comparison.reference_cell) == family.reference
    })
}

/// A threshold applied to one method at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThresholdOutcome {
    pub method: String,
    pub point: Point,
    pub metric: String,
    pub max: f64,
    /// The p50, or the ratio, with its interval.
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The level of the interval: 1 − 0.05 / (outcomes of the run), so that all of them hold
    /// together at 95 %.
    pub level: f64,
    pub verdict: ThresholdVerdict,
    /// Why the outcome is undecided.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ThresholdVerdict {
    /// The whole interval is within the limit.
    Kept,
    /// The whole interval is beyond the limit.
    Exceeded,
    Undecided,
}

/// The probability of a false verdict in a family.
pub(crate) const ALPHA: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_and_each_change_has_its_word() {
        use Verdict::{Faster, Missing, Same, Slower, Undecided, WrongAnswer};
        assert_eq!(
            [Faster, Slower, Same, Undecided, WrongAnswer, Missing].map(Verdict::word),
            ["faster", "slower", "same", "undecided", "wrong answer", "missing"]
        );
        assert_eq!(
            [Change::Less, Change::More, Change::Same, Change::Undecided].map(Change::word),
            ["less", "more", "same", "undecided"]
        );
    }
}
