//! What one method does to the next one, such as a command that evicts the file that another one
//! reads, or leaves it dirty pages to write.

use std::collections::BTreeMap;

use super::compare::RELEVANT_PERCENT;
use super::findings::percent;
use crate::random::SplitMix64;
use crate::run::{Cell, Pass, Run, Sample};
use crate::stats;

/// The probability that chance alone gives any of the findings of a run.
const ALPHA: f64 = 0.02;

/// From this number of rounds on. With fewer, too few of their orders are as telling.
const ROUNDS_MIN: usize = 10;

/// In a run of more methods and points nothing is looked for.
const CELLS_MAX: usize = 30;

/// Of so many redrawn orders that give as much, it is certain enough how rare they are.
const AS_LARGE: usize = 10;

/// A pair whose statistic is fewer standard deviations above its mean is not looked at closely.
const Z_MIN: f64 = 2.5;

/// The place of each cell in one round; none if it did not run.
type Places = Vec<Option<u32>>;

/// The cells that take longer where another one has run since their own last run, each with the
/// text of the finding. With two methods there is none: each runs after the other one, and the
/// slot effect says more.
pub(super) fn find(run: &Run, series: &[Vec<(&Sample, f64)>]) -> Vec<(usize, String)> {
    let rounds = rounds(run);
    let cells: Vec<usize> = (0..series.len()).filter(|i| !series[*i].is_empty()).collect();
    // At more, the level of a pair is so low that drawing takes long.
    if !(3..=CELLS_MAX).contains(&cells.len()) || rounds.len() < ROUNDS_MIN {
        return Vec::new();
    }
    let alpha = ALPHA / (cells.len() * (cells.len() - 1)) as f64;
    let of_cell = |cell: usize| {
        let others = cells.iter().copied().filter(|other| *other != cell);
        let found = others.filter_map(|other| {
            let runs = runs(&rounds, &series[cell], cell, other);
            let shift = shift(&runs)?;
            is_unlikely(&runs, alpha, run.plan.seed).then_some((other, shift))
        });
        let (other, shift) = found.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let more = percent(shift.exp_m1());
        let name = &run.cells[other].method;
        Some((cell, format!("it takes {more} more time where {name} has run since its last run")))
    };
    cells.iter().filter_map(|cell| of_cell(*cell)).collect()
}

/// The rounds in the order in which they were measured. A session of several rounds begins with new
/// processes, so that its first round follows no other.
fn rounds(run: &Run) -> Vec<((u32, u32), Places)> {
    let mut rounds: BTreeMap<(u32, u32), Places> = BTreeMap::new();
    let timed = |cell: &'_ Cell| -> Vec<(u32, u32, u32)> {
        let samples = cell.samples.iter().filter(|s| s.pass == Pass::Timing && !s.warm_up);
        samples.map(|s| (s.session, s.round, s.slot)).collect()
    };
    for (i, cell) in run.cells.iter().enumerate() {
        for (session, round, slot) in timed(cell) {
            let places =
                rounds.entry((session, round)).or_insert_with(|| vec![None; run.cells.len()]);
            places[i] = Some(slot);
        }
    }
    rounds.into_iter().collect()
}

/// A run of a method that follows another of its own.
struct AfterOwn {
    session: u32,
    log: f64,
    /// Whether the other method ran before it, in its round and in the round before.
    was_before: bool,
    is_before: bool,
}

impl AfterOwn {
    /// How often the other one ran since the last run.
    fn exposure(&self) -> f64 {
        exposure(self.was_before, self.is_before)
    }
}

fn exposure(was_before: bool, is_before: bool) -> f64 {
    f64::from(u8::from(!was_before) + u8::from(is_before))
}

fn runs(
    rounds: &[((u32, u32), Places)],
    series: &[(&Sample, f64)],
    cell: usize,
    other: usize,
) -> Vec<AfterOwn> {
    let logs: BTreeMap<(u32, u32), f64> =
        series.iter().map(|(sample, log)| ((sample.session, sample.round), *log)).collect();
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for ((session, _), _) in rounds {
        *sizes.entry(*session).or_default() += 1;
    }
    let is_alone = |session: u32| sizes.get(&session) == Some(&1);
    let is_before = |places: &Places| Some(places[other]? < places[cell]?);
    let of_two = |two: &[((u32, u32), Places)]| {
        let [(earlier, before), (key, now)] = two else { return None };
        let follows = earlier.0 == key.0 || is_alone(earlier.0) && is_alone(key.0);
        Some(AfterOwn {
            session: if earlier.0 == key.0 { key.0 } else { 0 },
            log: *logs.get(key)?,
            was_before: is_before(before)?,
            is_before: is_before(now)?,
        })
        .filter(|_| follows)
    };
    rounds.windows(2).filter_map(of_two).collect()
}

/// The difference of the medians of the logs of those after which the other one ran, and of the
/// rest, if it is relevant.
fn shift(runs: &[AfterOwn]) -> Option<f64> {
    let logs = |ran: bool| -> Vec<f64> {
        runs.iter().filter(|one| (one.exposure() > 0.0) == ran).map(|one| one.log).collect()
    };
    let (after, rest) = (logs(true), logs(false));
    if after.len() < 2 || rest.len() < 2 {
        return None;
    }
    let shift = stats::median(&after) - stats::median(&rest);
    (shift > (RELEVANT_PERCENT / 100.0).ln_1p()).then_some(shift)
}

/// Whether redrawn orders of the two methods give at least this sum of ranks times exposure less
/// often than `alpha`. The ranks are those within a session.
fn is_unlikely(runs: &[AfterOwn], alpha: f64, seed: u64) -> bool {
    if runs.len() + 1 < ROUNDS_MIN {
        return false;
    }
    let ranks = ranks(runs);
    let found: f64 = ranks.iter().zip(runs).map(|(rank, one)| rank * one.exposure()).sum();
    // Each of the two orders of a run is heads or tails; neighbours share one.
    let variance: f64 = ranks.iter().map(|rank| rank * rank / 2.0).sum();
    if found < Z_MIN * variance.sqrt() {
        return false;
    }
    let redraws = (AS_LARGE as f64 / alpha) as usize - 1;
    let mut random = SplitMix64(seed);
    let mut as_large = 0;
    for _ in 0..redraws {
        let mut was_before = random.below(2) == 1;
        let mut drawn = 0.0;
        for rank in &ranks {
            let is_before = random.below(2) == 1;
            drawn += rank * exposure(was_before, is_before);
            was_before = is_before;
        }
        as_large += usize::from(drawn >= found - 1e-9);
        if as_large >= AS_LARGE {
            return false;
        }
    }
    true
}

/// The ranks of the logs within each session, less their mean.
fn ranks(runs: &[AfterOwn]) -> Vec<f64> {
    let rank = |one: &AfterOwn| {
        let own = || runs.iter().filter(|other| other.session == one.session);
        let below = own().filter(|other| other.log < one.log).count() as f64;
        let equal = own().filter(|other| other.log.total_cmp(&one.log).is_eq()).count() as f64;
        let mean = own().count() as f64 / 2.0;
        below + equal / 2.0 - mean
    };
    runs.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::noise::logs_of;
    use crate::analyze::tests::{cell, run};
    use crate::metric::WALL;

    /// What is found where the first of these methods makes the last one's next run slower by a
    /// factor. Each round is a session.
    fn of(methods: usize, rounds: u32, factor: f64, seed: u64) -> Vec<(usize, String)> {
        let names = ["dd", "cat big2", "cat big", "d", "e"];
        let mut cells: Vec<Cell> =
            names[..methods].iter().map(|name| cell(name, vec![1.0; rounds as usize])).collect();
        let (from, to) = (0, methods - 1);
        let mut is_evicted = false;
        let (mut noise, mut orders) = (SplitMix64(seed), SplitMix64(seed + 1000));
        for round in 0..rounds {
            let mut order: Vec<usize> = (0..methods).collect();
            orders.shuffle(&mut order);
            for (slot, method) in (0..).zip(order) {
                let sample = &mut cells[method].samples[round as usize];
                (sample.session, sample.round, sample.slot) = (round, 0, slot);
                is_evicted |= method == from;
                let slower = if method == to && is_evicted { factor } else { 1.0 };
                is_evicted &= method != to;
                let noise = 1.0 + noise.below(1000) as f64 * 1e-4;
                cells[method].values.get_mut(WALL).unwrap()[round as usize] = slower * noise;
            }
        }
        let run = run(cells);
        let series: Vec<Vec<(&Sample, f64)>> =
            run.cells.iter().map(|cell| logs_of(cell, WALL)).collect();
        find(&run, &series)
    }

    #[test]
    fn a_command_that_evicts_the_file_of_another_one_is_named() {
        let found = of(3, 24, 1.67, 3);
        assert_eq!(found.len(), 1, "{found:?}");
        let (cell, text) = &found[0];
        assert_eq!(*cell, 2);
        assert!(text.ends_with(" more time where dd has run since its last run"), "{text}");
    }

    #[test]
    fn two_methods_few_rounds_and_no_effect_give_nothing() {
        assert_eq!(of(2, 60, 1.67, 3), []);
        assert_eq!(of(3, 9, 1.67, 3), []);
        let false_findings = (0..200).filter(|seed| !of(4, 30, 1.0, *seed).is_empty()).count();
        // 2 % of 200 are 4; more than 10 has a probability of 0.3 %.
        assert!(false_findings <= 10, "{false_findings}");
    }
}
