//! Decisions about a run that is still being measured: which methods may leave it, when it ends,
//! and the figures that are shown meanwhile.

use std::borrow::Cow;

use model::metric::{CPU, PEAK_RSS, THROUGHPUT, WALL, WALL_LESS_WAIT, unit};
use model::run::{Cell, Role, Run, Status};

use super::analysis::{Analysis, Comparison, Family, Percentile, Summary, Verdict, decision};
use super::compare::Pair;
use super::facts::{CellFacts, RunFacts, sessions_since};
use super::family::{self, Best, Tables, compare_all};
use super::values;
use crate::stats::LOOKS;

// Which methods may leave a run of sequential design, and when it ends.

/// The number of sessions of a method without a rival.
const ALONE: usize = 22;

/// Which methods may leave a run of sequential design, and whether it may end, by its samples
/// until now.
#[derive(Clone, Debug, Default)]
pub struct StoppingDecision {
    /// By cell, whether it may leave: it has a verdict, and is shown slower than another method. A
    /// yardstick, which has none, leaves once it has the sessions of the first look.
    pub leaves: Vec<bool>,
    /// Whether the run may end: every method has a verdict, and those that may be the best are
    /// shown to differ from each other, or to be the same.
    pub all: bool,
    /// The tables with their best methods, and the comparisons, as in the analysis of the run.
    pub families: Vec<Family>,
    pub comparisons: Vec<Comparison>,
}

impl StoppingDecision {
    /// The comparison that decides between a cell and its family's reference; none for the
    /// reference itself and for yardsticks.
    pub fn decision(&self, family: &Family, cell: usize) -> Option<&Comparison> {
        decision(&self.comparisons, family, cell)
    }
}

/// Whether a cell that took part in the newest session has as many sessions as a look needs, so
/// that verdicts may have changed.
pub fn is_look(run: &Run) -> bool {
    let sessions = |cell: &Cell| {
        let sessions = cell.counted(WALL).map(|(sample, _)| sample.session);
        // They are sorted, unless the run was resumed.
        let mut sessions: Vec<u32> = sessions.collect();
        sessions.sort_unstable();
        sessions.dedup();
        sessions.len()
    };
    let mut cells = run.cells.iter().zip(sessions_since(run));
    cells.any(|(cell, since)| since == Some(0) && LOOKS.contains(&sessions(cell)))
}

/// The decision by the samples until now.
pub fn stopping_decision(run: &Run) -> StoppingDecision {
    let facts = RunFacts::new(run);
    let tables = compare_all(&facts);
    let of_cell = |cell: &CellFacts<'_>| {
        let tables_of_points = tables.families.iter().zip(&tables.best);
        let mut own = tables_of_points.filter(|(f, _)| f.cells.contains(&cell.index)).peekable();
        cell.stored.status == Status::Measured
            && own.peek().is_some()
            && (cell.stored.role == Role::Yardstick && cell.sessions(WALL) >= LOOKS[0]
                || own.all(|(family, best)| leaves(&tables, family, best, cell.index)))
    };
    let leaves = facts.cells.iter().map(of_cell).collect();
    let mut tables_of_points = tables.families.iter().zip(&tables.best);
    let all = tables_of_points.all(|(family, best)| is_decided(&facts, &tables, family, best));
    let Tables { families, comparisons, .. } = tables;
    StoppingDecision { leaves, all, families, comparisons }
}

/// The reference never leaves: it is never compared with itself.
fn leaves(tables: &Tables, family: &Family, best: &Best, cell: usize) -> bool {
    best.beaten.contains(&cell)
        && family.reference != Some(cell)
        && verdict(tables, family, cell).is_some_and(|verdict| !is_open(verdict))
}

fn is_decided(facts: &RunFacts<'_>, tables: &Tables, family: &Family, best: &Best) -> bool {
    let takes_samples = |cell: usize| facts.cells[cell].stored.status == Status::Measured;
    if let [cell] = family.compared[..] {
        return !takes_samples(cell) || facts.cells[cell].sessions(WALL) >= ALONE;
    }
    // A method that died takes no more samples.
    let goes_on =
        |cell: &usize| takes_samples(*cell) && verdict(tables, family, *cell).is_some_and(is_open);
    !best.is_open && !family.compared.iter().any(goes_on)
}

/// Whether further samples may give a verdict: also to a method that lacks the measure until now.
fn is_open(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Undecided | Verdict::Missing)
}

fn verdict(tables: &Tables, family: &Family, cell: usize) -> Option<Verdict> {
    decision(&tables.comparisons, family, cell).map(|comparison| comparison.verdict)
}

// The figures of a run while it is measured: the medians until now, and the verdicts of the last
// look. No interval is computed, so that this is cheap.

const METRICS: [&str; 5] = [WALL, WALL_LESS_WAIT, CPU, PEAK_RSS, THROUGHPUT];

/// Before the first look the comparisons have the ratio of the medians, and neither an interval nor
/// a verdict.
///
/// While no sample of a method counts, its last warm-up sample is used instead, so that figures are
/// shown as soon as anything is measured.
pub fn preview(run: &Run, look: Option<&StoppingDecision>) -> Analysis {
    let run = with_estimates(run);
    let facts = RunFacts::new(&run);
    let families = match look {
        Some(look) => look.families.clone(),
        None => family::families(&facts),
    };
    let metrics = facts.cells.iter().map(medians).collect();
    let cells = values::cell_summaries(&facts, &families, metrics);
    let comparisons = match look {
        Some(look) => look.comparisons.clone(),
        None => families.iter().flat_map(|family| ratios(&facts, family)).collect(),
    };
    Analysis { cells, families, comparisons, ..Analysis::default() }
}

/// The run in which the estimate of a cell counts where no other sample of it does.
fn with_estimates(run: &Run) -> Cow<'_, Run> {
    let estimate = |cell: &Cell| cell.estimate().filter(|_| cell.status == Status::Measured);
    if !run.cells.iter().any(|cell| estimate(cell).is_some()) {
        return Cow::Borrowed(run);
    }
    let mut run = run.clone();
    for cell in &mut run.cells {
        if let Some(index) = estimate(cell) {
            cell.samples[index].warm_up = false;
        }
    }
    Cow::Owned(run)
}

fn medians(cell: &CellFacts<'_>) -> Vec<Summary> {
    METRICS.iter().filter_map(|name| median(cell, name)).collect()
}

/// The median as the only percentile; none without a sample that counts.
fn median(cell: &CellFacts<'_>, metric: &str) -> Option<Summary> {
    let value = values::middle(cell.values(metric))?;
    Some(Summary {
        metric: metric.to_owned(),
        unit: unit(metric),
        n: cell.counted(metric).count(),
        sessions: cell.sessions(metric),
        ops: cell.counted(metric).map(|(key, _)| key.ops).max().unwrap_or(1),
        percentiles: vec![Percentile { p: 50.0, value, low: None, high: None }],
        constant: false,
    })
}

fn ratios(facts: &RunFacts<'_>, family: &Family) -> Vec<Comparison> {
    let Some(reference) = family.reference else { return Vec::new() };
    let middle = |cell: usize, metric: &str| values::middle(facts.cells[cell].values(metric));
    let of_reference = middle(reference, family.metric);
    let by_wall = if family.metric == WALL { of_reference } else { middle(reference, WALL) };
    let others = family.compared.iter().copied().filter(|cell| *cell != reference);
    let ratio = |cell: usize| {
        let pair = Pair::new(facts, &family.point, [cell, reference], 1.0);
        let metric = family.metric_between([cell, reference]);
        let of_reference = if metric == family.metric { of_reference } else { by_wall };
        let ratio = middle(cell, metric).zip(of_reference).map(|(own, reference)| own / reference);
        let mut comparison = pair.without_ratio(Verdict::Undecided, String::new());
        comparison.ratio = ratio.filter(|ratio| ratio.is_finite());
        comparison.reason = None;
        metric.clone_into(&mut comparison.metric);
        comparison
    };
    others.map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, noisy, run, times};

    #[test]
    fn the_deciding_comparison_is_found_and_no_method_leaves_a_run_of_a_fixed_design() {
        let slow = times(&noisy(2, 0.01), 2.0);
        let found = stopping_decision(&run(vec![cell("a", noisy(1, 0.01)), cell("b", slow)]));
        let verdict = |cell| found.decision(&found.families[0], cell).map(|found| found.verdict);
        assert_eq!([0, 1].map(verdict), [None, Some(Verdict::Slower)]);
        assert_eq!(found.leaves, [false, false]);
    }
}
