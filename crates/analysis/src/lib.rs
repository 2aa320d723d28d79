//! Derives from a `Run` what a report shows: summaries, comparisons, verdicts, notes. Pure: it
//! reads no clock, file or environment.

mod analysis;
mod between_runs;
mod check;
mod claim;
mod compare;
mod diagnostics;
mod factorial;
mod facts;
mod family;
mod fleet;
mod further_comparisons;
mod growing;
mod history;
pub mod latency;
mod made_of;
mod noise;
mod parallel;
pub mod size_sweep;
pub mod stats;
mod suite;
mod values;
mod why;

use model::run::{Measure, Run};

pub use self::analysis::{
    Analysis, CellSummary, Change, Comparison, CustomMetricComparison, Doubt, Family, LongerRun,
    Overall, ParamComparison, Percentile, Summary, ThresholdOutcome, ThresholdVerdict, Verdict,
};
pub use self::between_runs::{
    Effect, Mean, MetricChange, OverallChange, RunComparison, SideSummary, Unmatched,
    compare_sides, gate, refusal,
};
pub use self::check::{
    Allowed, Check, CheckLine, Checked, DetectableEffect, Outcome, ROUNDS, SESSIONS, check,
    check_pairs, detectable_effects, detectable_effects_of_pairs,
};
pub use self::claim::{Basis, CellMetric, Claimed, Ratio, judge_claim, judge_difference};
pub use self::compare::margin_percent;
pub use self::factorial::{FactorEffect, Factorial};
use self::facts::RunFacts;
pub use self::facts::{BUSY_SHARE, LeftRunning, Unusable};
use self::family::Tables;
pub use self::fleet::{CorrelatedFacts, Disagreement, PooledRatio};
pub use self::fleet::{
    Fleet, FleetMethod, FleetPoint, GROUPS_TESTED, GroupRatio, RunGroup, compare_groups,
};
pub use self::growing::{StoppingDecision, is_look, preview, stopping_decision};
pub use self::history::{
    AtCommit, ChangePoint, CommitSeries, CommitValue, HistoryPoint, NEWEST, Series, SeriesKey,
    Slowdown, Slowdowns, commits_of, series, series_by_commit, slowdowns,
};
pub use self::made_of::{
    CallDifference, CountDifference, MadeOf, TimeDifference, TimePart, is_time_of_parts,
    made_of_sides,
};
pub use self::parallel::map_each;
pub use self::suite::{
    DetectableSlowdown, GateState, MeasuredGate, Proof, SessionsEstimate, SuiteGate, SuiteMean,
    prove,
};

pub use self::why::{FunctionDifference, Why};

/// Summaries of all cells, comparisons within each family, and the doubts about them.
pub fn analyze(run: &Run) -> Analysis {
    let facts = RunFacts::new(run);
    let Tables { families, mut comparisons, .. } = family::compare_all(&facts);
    let metrics = map_each(&facts.cells, facts.samples(), values::summaries);
    let cells = values::cell_summaries(&facts, &families, metrics);
    let found = diagnostics::warnings(&facts, &families, &comparisons);
    diagnostics::find_longer_runs(&facts, &mut comparisons);
    Analysis {
        made_of: made_of::of_comparisons(&facts, &comparisons),
        why: why::of_families(run, &families),
        factorial: factorial::of_families(&facts, &families),
        param_effects: further_comparisons::param_effects(&facts, &families),
        overall: further_comparisons::overall(&facts, &families),
        custom_metrics: further_comparisons::custom_metrics(&facts, &families),
        thresholds: claim::check_thresholds(&facts, &cells, &families, &comparisons),
        notes: run.notes.iter().cloned().chain(found).collect(),
        cells,
        families,
        comparisons,
    }
}

/// The answers of all cells and whether they are right, without any figure.
pub fn judge_answers(run: &Run) -> Analysis {
    let metrics = vec![Vec::new(); run.cells.len()];
    let cells = values::cell_summaries(&RunFacts::new(run), &[], metrics);
    Analysis { cells, ..Analysis::default() }
}

/// The measures by which the methods of each point are compared, chosen from the available samples.
pub fn choose_measures(run: &Run) -> Vec<Measure> {
    family::choose(&RunFacts::new(run))
}

#[cfg(test)]
mod tests;
