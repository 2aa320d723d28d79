//! Old and new in the same rounds: each method is compared only with its own old side, and no
//! earlier run is needed.

#[cfg(test)]
mod tests;

use super::judge::{ALPHA, Evidence, Judge};
use super::{Allowed, CheckLine, Checked, constants, is_of_counting_pass, outcome};
use crate::analyze::family::measure;
use crate::analyze::{answers, values};
use crate::metric::WALL;
use crate::run::{Cell, Role, Run, Status};

/// The suffix of the name of a method's old side.
pub const OLD: &str = "@old";

/// A method and its old side in each run.
pub(super) struct Pair<'a> {
    pub(super) new: Vec<&'a Cell>,
    pub(super) old: Vec<&'a Cell>,
    /// Why the two cannot be compared.
    pub(super) wrong: Option<String>,
}

/// Checks every contender that has an old side, in every metric that has a limit. All runs are of
/// the same job.
pub fn check_pairs(runs: &[Run], allowed: &[Allowed]) -> Checked {
    let pairs = pairs(runs);
    let judged = || pairs.iter().filter(|pair| pair.wrong.is_none());
    // One measure for all lines, as for the methods of a table.
    let cells: Vec<&Cell> = judged().flat_map(|p| p.new.iter().chain(&p.old)).copied().collect();
    let time = measure(&cells);
    let alpha = ALPHA / (judged().count() * allowed.len()).max(1) as f64;
    let judge = Judge { alpha, runs: runs.len() };
    let lines: Vec<CheckLine> = pairs
        .iter()
        .flat_map(|pair| allowed.iter().map(move |allowed| (pair, allowed)))
        .map(|(pair, allowed)| {
            let metric = if allowed.metric == WALL { time } else { &allowed.metric };
            pair.line(metric, allowed.percent, &judge)
        })
        .collect();
    Checked { outcome: outcome(&lines), lines }
}

/// The pairs of which at least one side was started: a method that both sides do not support on
/// this machine did not get slower.
pub(super) fn pairs(runs: &[Run]) -> Vec<Pair<'_>> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mut known: Vec<[usize; 2]> = Vec::new();
    for point in &first.points {
        let at = |name: &str| {
            let is_it = |cell: &Cell| cell.method == name && cell.point.is_part_of(point);
            first.cells.iter().position(is_it)
        };
        for cell in first.cells.iter().filter(|cell| cell.role == Role::Contender) {
            let found = at(&cell.method).zip(at(&format!("{}{OLD}", cell.method)));
            if let Some((new, old)) = found.filter(|_| cell.point.is_part_of(point))
                && !known.contains(&[new, old])
            {
                known.push([new, old]);
            }
        }
    }
    // Grouped by method, as in a table.
    known.sort_unstable();
    let in_all = |cell: &Cell| -> Vec<&Cell> {
        runs.iter().filter_map(|run| super::family::find(run, cell)).collect()
    };
    let pairs = known.into_iter().map(|[new, old]| {
        let (new, old) = (in_all(&first.cells[new]), in_all(&first.cells[old]));
        let wrong = wrong(&new, &old, runs.len());
        Pair { new, old, wrong }
    });
    let is_skipped = |cells: &[&Cell]| cells.iter().all(|c| matches!(c.status, Status::Skipped(_)));
    pairs.filter(|pair| !(is_skipped(&pair.new) && is_skipped(&pair.old))).collect()
}

fn wrong(new: &[&Cell], old: &[&Cell], runs: usize) -> Option<String> {
    if new.len() < runs || old.len() < runs {
        return Some("it was not measured in each run".to_owned());
    }
    let of_side = |cells: &[&Cell], side: &str| {
        cells.iter().find_map(|cell| match &cell.status {
            Status::Skipped(reason) => Some(format!("{side}skipped: {reason}")),
            Status::Failed(reason) => Some(format!("{side}failed: {reason}")),
            Status::Measured if cell.counted(WALL).next().is_none() => {
                Some(format!("{side}it has no sample that counts"))
            }
            Status::Measured => answers::contradiction(cell).map(|why| format!("{side}{why}")),
        })
    };
    of_side(new, "").or_else(|| of_side(old, "old: ")).or_else(|| {
        let differ = |(new, old): (&&Cell, &&Cell)| {
            let (now, before) = (answers::answer(new), answers::answer(old));
            let (now_text, text) = (now.unwrap_or("none"), before.unwrap_or("none"));
            if now != before {
                return Some(format!("its answer is {now_text}, and that of the old one {text}"));
            }
            let same_bytes = new.digest == old.digest || old.digest.is_none();
            (!same_bytes).then(|| "it hands over other bytes than the old one".to_owned())
        };
        new.iter().zip(old).find_map(differ)
    })
}

impl Pair<'_> {
    fn line(&self, metric: &str, percent: f64, judge: &Judge) -> CheckLine {
        let mut line = CheckLine::new(&self.old, &self.new, metric, percent);
        line.method.clone_from(&self.new[0].method);
        line.point = self.new[0].point.clone();
        line.reference = Some(self.old[0].method.clone());
        line.reason.clone_from(&self.wrong);
        if line.reason.is_some() {
            return line;
        }
        if let Some(counts) = constants(metric, &self.old, &self.new) {
            judge.counts(&mut line, counts);
            return line;
        }
        match self.evidence(metric) {
            Ok(evidence) => judge.line(&mut line, &evidence),
            Err(reason) => {
                (line.outcome, line.reason) = (super::Outcome::Undecided, Some(reason));
            }
        }
        line
    }

    fn evidence(&self, metric: &str) -> Result<Evidence, String> {
        let of_samples = |cell: &&Cell| values::of_samples(cell, metric);
        // The whole counting pass is one session without rounds: there the samples are the unit.
        if self.new.iter().any(|cell| is_of_counting_pass(cell, metric)) {
            let before = self.old.iter().map(of_samples).collect::<Result<Vec<_>, _>>()?.concat();
            let after = self.new.iter().map(of_samples).collect::<Result<Vec<_>, _>>()?;
            return Ok(Evidence::Apart { before, after, run_sd: None });
        }
        let both = self.new.iter().zip(&self.old);
        let runs = both.map(|(new, old)| values::relative(new, old, metric));
        Ok(Evidence::SameRounds(runs.collect::<Result<_, _>>()?))
    }
}
