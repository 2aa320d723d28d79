//! Derives from a `Run` what a report shows: summaries, comparisons, verdicts, notes. Pure: it
//! reads no clock, file or environment.

mod across;
mod analysis;
mod answers;
mod best;
mod bounds;
mod check;
mod claim;
mod compare;
mod diagnostics;
mod family;
mod findings;
mod fleet;
mod history;
pub mod latency;
mod leaving;
mod look;
mod noise;
mod overall;
mod own;
mod pareto;
mod predecessor;
mod preview;
mod sides;
pub mod size_sweep;
mod summary;
mod thresholds;
mod undecided;
mod unusable;
mod values;
mod wait;

use crate::run::{Measure, Run};

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
use self::family::Tables;
pub use self::fleet::{
    Disagreement, Fleet, FleetMethod, FleetPoint, GROUPS_TESTED, GoesWith, GroupRatio, PooledRatio,
    RunGroup, compare_groups,
};
pub use self::history::{
    AtCommit, ChangePoint, CommitSeries, CommitValue, HistoryPoint, NEWEST, Series, SeriesKey,
    Slowdown, Slowdowns, commits_of, series, series_by_commit, slowdowns,
};
pub use self::leaving::{Decided, decided, is_look};
pub use self::preview::preview;
pub use self::sides::{
    Effect, Mean, MetricChange, OverallChange, RunComparison, SideSummary, Unmatched,
    compare_sides, gate, refusal,
};
pub use self::undecided::SESSIONS_MAX;
pub use self::unusable::{LeftRunning, Unusable};

/// Summaries of all cells, comparisons within each family, and the doubts about them.
pub fn analyze(run: &Run) -> Analysis {
    let wrong = answers::wrong(run);
    let Tables { families, comparisons, .. } = family::compare_all(run, &wrong);
    let cells: Vec<CellSummary> = (0..run.cells.len())
        .map(|cell| {
            let pareto = families.iter().any(|family| family.pareto.contains(&cell));
            summary::cell(run, cell, wrong[cell].is_some(), pareto)
        })
        .collect();
    let mut notes = run.notes.clone();
    notes.extend(diagnostics::warnings(run, &wrong, &families, &comparisons));
    let across = across::compare_all(run, &wrong, &families);
    let thresholds = thresholds::check(run, &cells, &families, &comparisons);
    let overall = overall::overall(run, &families);
    let own = own::compare_all(run, &families);
    Analysis { cells, families, comparisons, across, overall, own, thresholds, notes }
}

/// The measures by which the methods of each point are compared, chosen from the available samples.
pub fn choose_measures(run: &Run) -> Vec<Measure> {
    family::choose(run, &answers::wrong(run))
}

#[cfg(test)]
mod tests;
