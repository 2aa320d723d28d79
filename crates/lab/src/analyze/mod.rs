//! Derives from a `Run` what a report shows: summaries, comparisons, verdicts, notes. Pure: it
//! reads no clock, file or environment.

mod across;
mod analysis;
mod check;
mod claim;
mod compare;
mod diagnostics;
mod family;
mod fleet;
mod growing;
mod history;
pub mod latency;
mod noise;
mod sides;
pub mod size_sweep;
mod unusable;
mod values;
mod wait;

use self::analysis::ALPHA;
pub use self::analysis::{
    Analysis, CellSummary, Change, Comparison, Doubt, Family, Overall, OwnComparison,
    ParamComparison, Percentile, Summary, ThresholdOutcome, ThresholdVerdict, Verdict,
};
pub use self::check::{
    Allowed, Check, CheckLine, Checked, Foreseen, OLD, Outcome, ROUNDS, SESSIONS, check,
    check_pairs, foresee, foresee_pairs,
};
pub use self::claim::{Basis, CellMetric, Claimed, Ratio, judge_claim};
pub use self::compare::{RELEVANT_PERCENT, margin_percent};
pub use self::diagnostics::SESSIONS_MAX;
use self::family::Tables;
pub use self::fleet::{
    Disagreement, Fleet, FleetMethod, FleetPoint, GROUPS_TESTED, GoesWith, GroupRatio, PooledRatio,
    RunGroup, compare_groups,
};
pub use self::growing::{Decided, decided, is_look, preview};
pub use self::history::{
    AtCommit, ChangePoint, CommitSeries, CommitValue, HistoryPoint, NEWEST, Series, SeriesKey,
    Slowdown, Slowdowns, commits_of, series, series_by_commit, slowdowns,
};
pub use self::sides::{
    Effect, Mean, MetricChange, OverallChange, RunComparison, SideSummary, Unmatched,
    compare_sides, gate, refusal,
};
pub use self::unusable::{LeftRunning, Unusable};
use crate::run::{Measure, Run};

/// Summaries of all cells, comparisons within each family, and the doubts about them.
pub fn analyze(run: &Run) -> Analysis {
    let wrong = unusable::wrong_answers(run);
    let Tables { families, comparisons, .. } = family::compare_all(run, &wrong);
    let cells: Vec<CellSummary> = (0..run.cells.len())
        .map(|cell| {
            let pareto = families.iter().any(|family| family.pareto.contains(&cell));
            values::cell_summary(run, cell, wrong[cell].is_some(), pareto)
        })
        .collect();
    let mut notes = run.notes.clone();
    notes.extend(diagnostics::warnings(run, &wrong, &families, &comparisons));
    let across = across::compare_across(run, &wrong, &families);
    let thresholds = claim::check_thresholds(run, &cells, &families, &comparisons);
    let overall = across::overall(run, &families);
    let own = across::compare_own(run, &families);
    Analysis { cells, families, comparisons, across, overall, own, thresholds, notes }
}

/// The measures by which the methods of each point are compared, chosen from the available samples.
pub fn choose_measures(run: &Run) -> Vec<Measure> {
    family::choose(run, &unusable::wrong_answers(run))
}

#[cfg(test)]
mod tests;
