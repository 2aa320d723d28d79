//! Which cells are checked: the contenders of a baseline, matched with the new runs, each with its
//! reference.

use std::collections::HashSet;

use crate::analyze::{Unusable, answers};
use crate::metric::WALL;
use crate::run::{Cell, Role, Run, Status};

/// A cell of the baseline and the matching cells of the new runs.
#[derive(Clone)]
pub(super) struct Again<'a> {
    pub(super) baseline: &'a Cell,
    pub(super) now: Vec<&'a Cell>,
}

pub(super) struct Contender<'a> {
    pub(super) baseline: &'a Cell,
    pub(super) now: Vec<&'a Cell>,
    /// The reference of its point, which may be the cell itself; none where it has no other methods
    /// beside it, or where times are compared absolutely.
    pub(super) reference: Option<Again<'a>>,
    pub(super) is_reference: bool,
    /// Why it cannot be checked: it was not measured, or its answer differs from that of the
    /// baseline.
    pub(super) wrong: Option<String>,
}

/// The cells that the baseline measured with the right answer.
pub(super) fn contenders<'a>(
    baseline: &'a Run,
    now: &'a [Run],
    absolute: bool,
) -> Vec<Contender<'a>> {
    let wrong = answers::wrong(baseline);
    let wrong_now: Vec<Vec<Option<String>>> = now.iter().map(answers::wrong).collect();
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for point in &baseline.points {
        let fit = |i: &usize| {
            let cell = &baseline.cells[*i];
            cell.role == Role::Contender
                && cell.status == Status::Measured
                && wrong[*i].is_none()
                && Unusable::of(cell).is_none()
                && cell.point.is_part_of(point)
        };
        let family: Vec<(usize, Again<'a>, Option<String>)> = (0..baseline.cells.len())
            .filter(fit)
            .map(|i| {
                let (again, wrong) = again(&baseline.cells[i], now, &wrong_now);
                (i, again, wrong)
            })
            .collect();
        let first = family.iter().find(|(_, _, wrong)| wrong.is_none());
        let reference = first.filter(|_| family.len() > 1 && !absolute);
        for (i, Again { baseline, now }, wrong) in &family {
            if !known.insert(*i) {
                continue;
            }
            all.push(Contender {
                baseline,
                now: now.clone(),
                reference: reference.map(|(_, again, _)| again.clone()),
                is_reference: reference.is_some_and(|(first, _, _)| first == i),
                wrong: wrong.clone(),
            });
        }
    }
    all
}

/// The cell with the same method and point in another run.
pub(super) fn find<'a>(run: &'a Run, cell: &Cell) -> Option<&'a Cell> {
    run.cells.iter().find(|other| other.method == cell.method && other.point == cell.point)
}

fn again<'a>(
    baseline: &'a Cell,
    now: &'a [Run],
    wrong: &[Vec<Option<String>>],
) -> (Again<'a>, Option<String>) {
    let mut cells = Vec::new();
    let mut why = None;
    for (run, wrong) in now.iter().zip(wrong) {
        let at =
            run.cells.iter().position(|c| c.method == baseline.method && c.point == baseline.point);
        let Some(at) = at else {
            why.get_or_insert_with(|| "it was not measured again".to_owned());
            continue;
        };
        let cell = &run.cells[at];
        let (answer, before) = (answers::answer(cell), answers::answer(baseline));
        let reason = match &cell.status {
            Status::Skipped(reason) => Some(format!("skipped: {reason}")),
            Status::Failed(reason) => Some(format!("failed: {reason}")),
            Status::Measured if wrong[at].is_some() => wrong[at].clone(),
            Status::Measured if answer != before => Some(format!(
                "its answer is {} and was {}",
                answer.unwrap_or("none"),
                before.unwrap_or("none")
            )),
            Status::Measured if cell.digest != baseline.digest => {
                Some("it hands over other bytes than the baseline did".to_owned())
            }
            Status::Measured => cell
                .counted(WALL)
                .next()
                .is_none()
                .then(|| "it has no sample that counts".to_owned()),
        };
        why = why.or(reason);
        cells.push(cell);
    }
    (Again { baseline, now: cells }, why)
}
