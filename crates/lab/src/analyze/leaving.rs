//! Which methods may leave a run of sequential design, and when it ends.

use std::collections::BTreeSet;

use super::analysis::decision;
use super::best::Best;
use super::family::{Tables, compare_all};
use super::look::sessions_since;
use super::{Comparison, Family, Verdict, answers};
use crate::metric::WALL;
use crate::run::{Cell, Role, Run, Status};
use crate::stats::LOOKS;

/// A method that has no other beside it is measured in this number of sessions.
const ALONE: usize = 22;

/// What the samples that a run has until now say about its end.
#[derive(Clone, Debug, Default)]
pub struct Decided {
    /// By cell, whether it may leave: it has a verdict, and is shown slower than another method. A
    /// yardstick, which has none, leaves once it has the sessions of the first look.
    pub leaves: Vec<bool>,
    /// Whether nothing is open any more: every method has a verdict, and those that may be the best
    /// are shown to differ from each other, or to be the same.
    pub all: bool,
    /// The tables with their best methods, and the comparisons, as in the analysis of the run.
    pub families: Vec<Family>,
    pub comparisons: Vec<Comparison>,
}

impl Decided {
    /// The comparison that decides between a cell and its family's reference; none for the
    /// reference itself and for yardsticks.
    pub fn decision(&self, family: &Family, cell: usize) -> Option<&Comparison> {
        decision(&self.comparisons, family, cell)
    }
}

/// Whether a cell that took part in the newest session has as many sessions as a look needs, so
/// that verdicts may have changed.
pub fn is_look(run: &Run) -> bool {
    let mut cells = run.cells.iter().zip(sessions_since(run));
    cells.any(|(cell, since)| since == Some(0) && LOOKS.contains(&sessions(cell)))
}

/// What is decided now.
pub fn decided(run: &Run) -> Decided {
    let tables = compare_all(run, &answers::wrong(run));
    let of_cell = |cell: usize| {
        let own = tables.families.iter().zip(&tables.best).filter(|(f, _)| f.cells.contains(&cell));
        let mut own = own.peekable();
        run.cells[cell].status == Status::Measured
            && own.peek().is_some()
            && (is_measured_yardstick(&run.cells[cell])
                || own.all(|(family, best)| leaves(&tables, family, best, cell)))
    };
    let leaves = (0..run.cells.len()).map(of_cell).collect();
    let mut tables_of_points = tables.families.iter().zip(&tables.best);
    let all = tables_of_points.all(|(family, best)| is_decided(run, &tables, family, best));
    let Tables { families, comparisons, .. } = tables;
    Decided { leaves, all, families, comparisons }
}

fn is_measured_yardstick(cell: &Cell) -> bool {
    cell.role == Role::Yardstick && sessions(cell) >= LOOKS[0]
}

/// The reference never leaves: it is never compared with itself.
fn leaves(tables: &Tables, family: &Family, best: &Best, cell: usize) -> bool {
    best.beaten.contains(&cell)
        && family.reference != Some(cell)
        && verdict(tables, family, cell).is_some_and(|verdict| !is_open(verdict))
}

fn is_decided(run: &Run, tables: &Tables, family: &Family, best: &Best) -> bool {
    if let [cell] = &family.compared[..] {
        let died = run.cells[*cell].status != Status::Measured;
        return died || sessions(&run.cells[*cell]) >= ALONE;
    }
    // A method that died takes no more samples.
    let goes_on = |cell: &usize| {
        run.cells[*cell].status == Status::Measured
            && verdict(tables, family, *cell).is_some_and(is_open)
    };
    !best.is_open && !family.compared.iter().any(goes_on)
}

/// Whether further samples may give a verdict: also to a method that lacks the measure until now.
fn is_open(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Undecided | Verdict::Missing)
}

fn verdict(tables: &Tables, family: &Family, cell: usize) -> Option<Verdict> {
    decision(&tables.comparisons, family, cell).map(|comparison| comparison.verdict)
}

/// The number of sessions in which the cell has a sample that counts.
fn sessions(cell: &Cell) -> usize {
    cell.counted(WALL).map(|(sample, _)| sample.session).collect::<BTreeSet<u32>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::{cell, noisy, run, times};

    #[test]
    fn the_deciding_comparison_is_found_and_no_method_leaves_a_run_of_a_fixed_design() {
        let slow = times(&noisy(2, 0.01), 2.0);
        let found = decided(&run(vec![cell("a", noisy(1, 0.01)), cell("b", slow)]));
        let verdict = |cell| found.decision(&found.families[0], cell).map(|found| found.verdict);
        assert_eq!([0, 1].map(verdict), [None, Some(Verdict::Slower)]);
        assert_eq!(found.leaves, [false, false]);
    }
}
