//! Whether the methods did the job: their answers, and their digests of the delivered bytes, must
//! be equal.

use std::collections::BTreeSet;

use crate::run::{Cell, Role, Run};

const ANSWER: &str = "answer";

/// By cell: why its answer is wrong. At each point the answer of most contenders is right; if two
/// are equally frequent, the one that occurs first: the reference is right unless it is outvoted.
/// Yardsticks are judged as well, but have no vote.
pub(super) fn wrong(run: &Run) -> Vec<Option<String>> {
    let mut wrong: Vec<Option<String>> = run.cells.iter().map(contradiction).collect();
    let consistent: Vec<bool> = wrong.iter().map(Option::is_none).collect();
    for point in &run.points {
        let judged: Vec<usize> = (0..run.cells.len())
            .filter(|i| consistent[*i] && run.cells[*i].has_figures())
            .filter(|i| run.cells[*i].point.is_part_of(point))
            .collect();
        let answers = judged.iter().map(|i| (*i, answer(&run.cells[*i]))).collect();
        judge(run, ANSWER, answers, &mut wrong);
        let digests = judged.iter().map(|i| (*i, run.cells[*i].digest.as_deref())).collect();
        judge(run, "digest of the bytes", digests, &mut wrong);
    }
    wrong
}

/// The answer of all samples, including warm-up; none if they have none, or several.
pub(super) fn answer(cell: &Cell) -> Option<&str> {
    let answers = answers(cell);
    if answers.len() == 1 { answers.first().copied() } else { None }
}

fn answers(cell: &Cell) -> BTreeSet<&str> {
    cell.samples.iter().filter_map(|sample| sample.answer.as_deref()).collect()
}

pub(super) fn contradiction(cell: &Cell) -> Option<String> {
    let answers = answers(cell);
    let mut answers = answers.iter();
    let (one, other) = (answers.next()?, answers.next()?);
    Some(format!("its samples gave different answers, {one} and {other}"))
}

fn judge(run: &Run, what: &str, given: Vec<(usize, Option<&str>)>, wrong: &mut [Option<String>]) {
    let judged: Vec<usize> = given.iter().map(|(cell, _)| *cell).collect();
    let given: Vec<(usize, &str)> =
        given.into_iter().filter_map(|(cell, value)| Some((cell, value?))).collect();
    let votes: Vec<&str> = given
        .iter()
        .filter(|(cell, _)| run.cells[*cell].role == Role::Contender)
        .map(|(_, value)| *value)
        .collect();
    let count = |value: &str| votes.iter().filter(|vote| **vote == value).count();
    // The last of equal maxima wins, therefore the order is reversed.
    let Some(right) = votes.iter().rev().max_by_key(|value| count(value)) else { return };
    if what == ANSWER {
        let silent = judged.iter().filter(|i| {
            run.cells[**i].role == Role::Contender && !run.cells[**i].samples.is_empty()
        });
        for cell in silent.filter(|i| given.iter().all(|(cell, _)| cell != *i)) {
            wrong[*cell].get_or_insert_with(|| format!("no answer instead of {right}"));
        }
    }
    for (cell, value) in given {
        if value != *right {
            wrong[cell].get_or_insert_with(|| format!("{what} {value} instead of {right}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::{answering, cell, run};
    use crate::run::Status;

    #[test]
    fn samples_that_contradict_each_other_have_no_answer() {
        let mut cell = cell("a", [1.0; 3]);
        assert_eq!((answer(&cell), contradiction(&cell)), (Some("1"), None));
        cell.samples[1].answer = Some("2".to_owned());
        let reason = "its samples gave different answers, 1 and 2";
        assert_eq!((answer(&cell), contradiction(&cell).as_deref()), (None, Some(reason)));
        assert_eq!(wrong(&run(vec![cell])), [Some(reason.to_owned())]);
    }

    #[test]
    fn a_method_that_failed_has_no_vote() {
        let mut cells = ["a", "b", "c"].map(|name| cell(name, [1.0; 3])).to_vec();
        for cell in &mut cells[1..] {
            *cell = answering(cell.clone(), "2");
            cell.status = Status::Failed("impossible values".to_owned());
        }
        assert!(wrong(&run(cells)).iter().all(Option::is_none));
    }
}
