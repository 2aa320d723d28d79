//! What a run shows. Derived, never stored.

use serde::Serialize;

use crate::param::Point;
use crate::run::Warning;

#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// In the order of the run's cells.
    pub cells: Vec<CellSummary>,
    /// In the order of the run's points.
    pub families: Vec<Family>,
    /// Each contender against the reference, per point and metric.
    pub comparisons: Vec<Comparison>,
    /// Each method against itself at another word or path of a param.
    pub across: Vec<ParamComparison>,
    /// What the run must not exceed, by threshold, method and point.
    pub thresholds: Vec<ThresholdOutcome>,
    /// Those of the run, then those found in its samples.
    pub notes: Vec<Warning>,
}

/// The cells of one full point, which are compared with each other.
#[derive(Clone, Debug, Serialize)]
pub struct Family {
    pub point: Point,
    /// Indices into `Run::cells`, yardsticks included. A cell that does not depend on all params is
    /// in several families.
    pub cells: Vec<usize>,
    /// The first contender that was measured and gave the right answer.
    pub reference: Option<usize>,
    /// Contenders that were measured and gave the right answer, the reference among them.
    pub compared: Vec<usize>,
    /// What decides between all of them: `wall_ns`, or `wall_less_wait_ns` where one waited for a
    /// CPU for more than 5 % of its time and all have it, also in families that share a cell with
    /// this one.
    pub metric: &'static str,
    /// Why it is this.
    pub why: String,
    /// The winner, which has the smallest ratio of those shown faster than the reference or is the
    /// reference, and those not shown slower than it.
    pub best: Vec<usize>,
    /// Not shown slower than the winner either, but they may take twice its time: too little is
    /// known of them.
    pub undecided: Vec<usize>,
    /// Contenders that no other contender beats in wall, CPU and memory at once, by p50; one that
    /// is equal in some of them and better in the rest beats, too.
    pub pareto: Vec<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CellSummary {
    /// Index into `Run::cells`.
    pub cell: usize,
    /// In the order of `metric::METRICS`, then custom ones by name.
    pub metrics: Vec<Summary>,
    /// Samples that were taken but do not count (warm-up not included).
    pub not_counted: usize,
    /// No other contender of the point is better in wall, CPU and memory at once.
    pub pareto: bool,
    /// The answer all its samples gave; none if it gives none, or several.
    pub answer: Option<String>,
    /// Its answer, or its digest of the bytes, differs from that of most methods at the point, or
    /// among its own samples.
    pub wrong_answer: bool,
}

/// One metric of one cell over the samples that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub metric: String,
    pub unit: &'static str,
    pub n: usize,
    /// In which these samples were taken. Where it is one, the intervals are of this set of
    /// processes alone.
    pub sessions: usize,
    /// Operations that a sample is the mean of, the most of any: percentiles of more than one are
    /// those of means.
    pub ops: u64,
    /// p0 p25 p50 p75 p90 p99 p100.
    pub percentiles: Vec<Percentile>,
    /// All of two or more samples are equal: an exact count.
    pub constant: bool,
}

/// A percentile with its 95 % interval, by session; a bound is `None` where the samples or the
/// sessions are too few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentile {
    /// In percent.
    pub p: f64,
    /// By nearest rank: the smallest sample that at least p percent of the samples do not exceed.
    /// It is a value that was measured.
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// One contender against the reference at one point, in one metric.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub method: String,
    pub reference: String,
    /// The family's; of a pair that is in several families, the first one's.
    pub point: Point,
    pub metric: String,
    /// Indices of the two into `Run::cells`.
    pub cell: usize,
    pub reference_cell: usize,
    /// Its metric is the one that decides between the two: exactly one of a pair's comparisons.
    pub decides: bool,
    /// Rounds that both have.
    pub n: usize,
    /// Sessions with such a round. Each is one value of the interval: rounds of the same processes
    /// are not independent.
    pub sessions: usize,
    /// method / reference; `None` where there is nothing to compare.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Confidence level of the interval: 1 − 0.05 / (number of comparisons in the family).
    pub level: f64,
    /// Of the test that the interval inverts, alone, and with Holm's correction for the family.
    pub p: Option<f64>,
    pub p_holm: Option<f64>,
    pub verdict: Verdict,
    /// Why there is no ratio, or no interval, or why the interval decides nothing.
    pub reason: Option<String>,
    /// The interval excludes 0, but all of it lies within the relevance limit.
    pub below_relevance: bool,
    /// The smallest difference, in percent, that would have been found 4 times out of 5.
    pub found_percent: Option<f64>,
    /// The sessions in which a difference of 1 % would be found 4 times out of 5.
    pub sessions_for_1_percent: Option<u64>,
}

impl Comparison {
    /// It has an interval that excludes 1 and yet decides nothing, because a wait for a CPU may be
    /// in it.
    pub(crate) fn is_doubted(&self) -> bool {
        self.verdict == Verdict::Undecided && self.low.is_some() && self.reason.is_some()
    }
}

/// A method at one value of a param against itself at the first one: in another directory.
#[derive(Clone, Debug, Serialize)]
pub struct ParamComparison {
    pub param: String,
    pub value: String,
    pub reference_value: String,
    /// Of which method and reference are the same.
    #[serde(flatten)]
    pub comparison: Comparison,
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
        self.comparisons.iter().find(|comparison| {
            comparison.decides
                && comparison.cell == cell
                && Some(comparison.reference_cell) == family.reference
        })
    }

    /// The indices of the cells whose answer is wrong.
    pub fn wrong_answers(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().filter(|cell| cell.wrong_answer).map(|cell| cell.cell)
    }
}

/// A threshold held against one method at one point.
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
    /// Of the interval: 1 − 0.05 / (outcomes of the run), so that all of them hold together at 95
    /// %.
    pub level: f64,
    pub verdict: Held,
    /// Why it is undecided.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// The whole interval is within.
    Kept,
    /// The whole interval is beyond.
    Exceeded,
    Undecided,
}

/// Chance of a false verdict in a family.
pub(super) const ALPHA: f64 = 0.05;
