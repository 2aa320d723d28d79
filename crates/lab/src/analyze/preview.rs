//! What is known of a run while it is measured: the medians until now, and the verdicts of the last
//! look. No interval is computed, so that it is cheap.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::compare::Pair;
use super::{Analysis, CellSummary, Comparison, Decided, Family, Percentile, Summary, Verdict};
use super::{answers, family, summary};
use crate::metric::{CPU, PEAK_RSS, THROUGHPUT, WALL, WALL_LESS_WAIT, unit};
use crate::run::{Cell, Run, Status};

const METRICS: [&str; 5] = [WALL, WALL_LESS_WAIT, CPU, PEAK_RSS, THROUGHPUT];

/// Before the first look the comparisons have the ratio of the medians, and neither an interval nor
/// a verdict.
///
/// While no sample of a method counts, the last one that warms it up stands for it, so that there
/// are figures as soon as anything is measured.
pub fn preview(run: &Run, look: Option<&Decided>) -> Analysis {
    let run = &*with_estimates(run);
    let wrong = answers::wrong(run);
    let families = match look {
        Some(look) => look.families.clone(),
        None => family::families(run, &wrong),
    };
    let of_cell = |(cell, wrong): (usize, &Option<String>)| CellSummary {
        cell,
        metrics: METRICS.iter().filter_map(|name| median(&run.cells[cell], name)).collect(),
        not_counted: 0,
        pareto: families.iter().any(|family| family.pareto.contains(&cell)),
        answer: answers::answer(&run.cells[cell]).map(str::to_owned),
        wrong_answer: wrong.is_some(),
    };
    let cells: Vec<CellSummary> = wrong.iter().enumerate().map(of_cell).collect();
    let comparisons = match look {
        Some(look) => look.comparisons.clone(),
        None => families.iter().flat_map(|family| ratios(run, family)).collect(),
    };
    Analysis {
        cells,
        families,
        comparisons,
        across: Vec::new(),
        overall: Vec::new(),
        own: Vec::new(),
        thresholds: Vec::new(),
        notes: Vec::new(),
    }
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

/// The median as the only percentile; none without a sample that counts.
fn median(cell: &Cell, metric: &str) -> Option<Summary> {
    let value = summary::middle(cell, metric)?;
    let sessions: BTreeSet<u32> = cell.counted(metric).map(|(sample, _)| sample.session).collect();
    Some(Summary {
        metric: metric.to_owned(),
        unit: unit(metric),
        n: cell.counted(metric).count(),
        sessions: sessions.len(),
        ops: summary::most_ops(cell, metric),
        percentiles: vec![Percentile { p: 50.0, value, low: None, high: None }],
        constant: false,
    })
}

fn ratios(run: &Run, family: &Family) -> Vec<Comparison> {
    let Some(reference) = family.reference else { return Vec::new() };
    let middle = |cell: usize, metric| summary::middle(&run.cells[cell], metric);
    let of_reference = middle(reference, family.metric);
    let by_wall = if family.metric == WALL { of_reference } else { middle(reference, WALL) };
    let others = family.compared.iter().copied().filter(|cell| *cell != reference);
    let ratio = |cell: usize| {
        let pair = Pair { run, point: &family.point, cell, reference, alpha: 1.0 };
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
