//! The best methods of a table: the winner, and those not shown slower.

use super::compare::Pair;
use super::{ALPHA, Comparison, Family, Verdict};
use crate::run::{Design, Run, Status};

#[derive(Default)]
pub(super) struct Best {
    /// The winner, then the methods not shown slower.
    pub(super) winners: Vec<usize>,
    /// Methods that are not shown slower either, but about which too little is known.
    pub(super) undecided: Vec<usize>,
    /// In a run of sequential design, the methods that are shown slower than another.
    pub(super) beaten: Vec<usize>,
    /// Whether some of the others may still be shown to differ.
    pub(super) is_open: bool,
}

/// The best methods of a table, from its comparisons with the reference and between all others.
pub(super) fn best(run: &Run, family: &Family, comparisons: &[&Comparison]) -> Best {
    match run.plan.design {
        Design::Fixed => once(run, family, comparisons),
        Design::Sequential => at_looks(run, family, comparisons),
    }
}

/// The comparison that decides between two methods of a table, at the level at which all of its
/// pairs hold together.
fn directly(run: &Run, family: &Family, [cell, reference]: [usize; 2]) -> Comparison {
    let k = family.compared.len() as f64;
    let alpha = ALPHA / (k * (k - 1.0) / 2.0).max(1.0);
    let pair = Pair { run, point: &family.point, cell, reference, alpha };
    pair.decision(family.metric_between([cell, reference]))
}

/// With an upper bound from this value on, too little is known to call a method as fast as the
/// winner.
const MAY_TAKE: f64 = 2.0;

/// The winner and the methods not shown slower than it; then those for which too little is known in
/// comparison with it. The winner is the method with the smallest ratio of those shown faster than
/// the reference, or the reference. Which of several equal methods wins is chance, so that each of
/// the pairs has its share of the level.
fn once(run: &Run, family: &Family, comparisons: &[&Comparison]) -> Best {
    let Some(reference) = family.reference else { return Best::default() };
    let decided = comparisons.iter().copied().filter(|c| c.decides && c.ratio.is_some());
    let ratio = |c: &&Comparison| c.ratio.unwrap_or(f64::INFINITY);
    let faster = decided.clone().filter(|c| c.verdict == Verdict::Faster);
    let smallest = faster.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let winner = smallest.map_or(reference, |c| c.cell);
    // Ratios by different metrics say nothing about each other.
    let is_alike = |c: &Comparison| smallest.is_none_or(|winner| winner.metric == c.metric);
    let bounds = |c: &Comparison| c.low.zip(c.high).filter(|_| !c.is_doubted() && is_alike(c));
    let winner_bounds = smallest.map_or(Some((1.0, 1.0)), bounds);
    let others = std::iter::once((reference, Some((1.0, 1.0))))
        .chain(decided.map(|c| (c.cell, bounds(c))))
        .filter(|(cell, _)| *cell != winner);
    let (mut best, mut undecided) = (vec![winner], Vec::new());
    for (cell, bounds) in others {
        // By the intervals of both relative to the reference, which hold together.
        let beside_reference = bounds.zip(winner_bounds).map(|(a, b)| (a.0 / b.1, a.1 / b.0));
        match beside_winner(run, family, winner, cell, beside_reference) {
            Some(Verdict::Slower) => {}
            Some(_) => best.push(cell),
            None => undecided.push(cell),
        }
    }
    Best { winners: best, undecided, ..Best::default() }
}

/// The verdict on a cell in comparison with the winner, none where too little is known. It is
/// decided by the sessions that both share, else by the comparisons of both with the reference.
fn beside_winner(
    run: &Run,
    family: &Family,
    winner: usize,
    cell: usize,
    beside_reference: Option<(f64, f64)>,
) -> Option<Verdict> {
    let direct = &directly(run, family, [cell, winner]);
    // A doubtful direct comparison is not replaced by one that would be equally doubtful.
    let by_reference = beside_reference.filter(|_| !direct.is_doubted());
    let is_slower =
        direct.verdict == Verdict::Slower || by_reference.is_some_and(|(low, _)| low > 1.0);
    if is_slower {
        return Some(Verdict::Slower);
    }
    let bounds = direct.low.zip(direct.high).or(beside_reference);
    bounds.filter(|(_, high)| *high <= MAY_TAKE).map(|_| Verdict::Undecided)
}

/// What is shown slower than any other method is not the best, and this does not change when it has
/// left. The winner is the one of the others with the smallest ratio that is shown faster than the
/// reference, or the reference.
fn at_looks(run: &Run, family: &Family, comparisons: &[&Comparison]) -> Best {
    let Some(reference) = family.reference else { return Best::default() };
    let cells = &family.compared;
    let pairs = cells.iter().enumerate().flat_map(|(i, a)| cells[..i].iter().map(|b| [*a, *b]));
    let pairs: Vec<Comparison> = pairs.map(|pair| directly(run, family, pair)).collect();
    let beaten: Vec<usize> = pairs.iter().filter_map(slower_one).collect();
    let beaten: Vec<usize> = cells.iter().copied().filter(|cell| beaten.contains(cell)).collect();
    let may_win = |cell: usize| !beaten.contains(&cell);

    let ratio = |c: &&&Comparison| c.ratio.unwrap_or(f64::INFINITY);
    let faster = comparisons.iter().filter(|c| c.decides && c.verdict == Verdict::Faster);
    let smallest = |of: &dyn Fn(usize) -> bool| {
        let all = faster.clone().filter(|c| of(c.cell));
        all.min_by(|a, b| ratio(a).total_cmp(&ratio(b))).map(|c| c.cell)
    };
    let any_faster = || smallest(&|_| true).filter(|_| !may_win(reference));
    let winner = smallest(&may_win).or_else(any_faster).unwrap_or(reference);

    let mut found = Best { winners: vec![winner], beaten: beaten.clone(), ..Best::default() };
    let is_between = |c: &&Comparison, a: usize, b: usize| {
        [[a, b], [b, a]].contains(&[c.cell, c.reference_cell])
    };
    for cell in cells.iter().copied().filter(|cell| *cell != winner && may_win(*cell)) {
        let direct = pairs.iter().find(|c| is_between(c, cell, winner));
        let high =
            direct.and_then(|c| if c.cell == cell { c.high } else { c.low.map(|low| 1.0 / low) });
        if high.is_some_and(|high| high <= MAY_TAKE) {
            found.winners.push(cell);
        } else {
            found.undecided.push(cell);
        }
    }
    let goes_on = |cell: usize| may_win(cell) && run.cells[cell].status == Status::Measured;
    found.is_open = pairs
        .iter()
        .any(|c| c.verdict == Verdict::Undecided && goes_on(c.cell) && goes_on(c.reference_cell));
    found
}

/// The slower one of a pair, where that is shown.
fn slower_one(pair: &Comparison) -> Option<usize> {
    match pair.verdict {
        Verdict::Slower => Some(pair.cell),
        Verdict::Faster => Some(pair.reference_cell),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::answers;
    use crate::analyze::family::families;
    use crate::analyze::tests::{cell, close, run};

    #[test]
    fn the_level_is_shared_by_all_pairs_of_a_table() {
        for (methods, pairs) in [(2, 1.0), (3, 3.0), (4, 6.0)] {
            let cells = (0..methods).map(|i| cell(&format!("m{i}"), [1.0; 10]));
            let run = run(cells.collect());
            let family = families(&run, &answers::wrong(&run)).remove(0);
            close(Some(directly(&run, &family, [1, 0]).level), 1.0 - ALPHA / pairs, 1e-12);
        }
    }
}
