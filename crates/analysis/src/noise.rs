//! Doubts about the samples themselves: a slow start, a drift, two modes, an effect of the position
//! in the round or of the method that ran before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

use model::metric::{WALL, WALL_LESS_WAIT};
use model::random::SplitMix64;
use model::run::{Cell, Cells, Pass, Run, Warning, WarningKind};

use super::analysis::Family;
use super::compare::RELEVANT_PERCENT;
use super::facts::{CellFacts, RunFacts, SampleKey};
use super::parallel::map_each;
use crate::stats;

/// A doubt is noted if chance produces it in fewer runs than this: each kind, in any of the methods
/// of a run. This is half of the 2 % that are promised, because real noise has heavier tails than
/// that of the tests.
pub(crate) const ALPHA: f64 = 0.01;

/// From this number of sessions on, a trend is searched for from session to session. With fewer
/// sessions it is searched for within them: differences between processes are not a trend.
const TREND_SESSIONS: usize = 10;

/// A test of the logs of a cell's samples, at a level: the text of the doubt, if chance produces it
/// less often than the level.
type NoiseCheck = fn(&[(SampleKey, f64)], f64) -> Option<String>;

pub(crate) fn warnings(facts: &RunFacts<'_>, families: &[Family], notes: &mut Vec<Warning>) {
    let run = facts.run;
    let checked = facts.cells.iter().filter(|cell| times(cell, families).next().is_some());
    let alpha = ALPHA / checked.count().max(1) as f64;
    // The logs of all cells at once would take half as much memory as their samples.
    let look = |doubt: NoiseCheck| -> Findings {
        let found = map_each(&facts.cells, facts.samples(), |cell| {
            doubt(&times(cell, families).collect::<Vec<_>>(), alpha)
        });
        found.into_iter().enumerate().filter_map(|(i, text)| Some((i, text?))).collect()
    };
    let warm_up_flag = if run.is_bench() { "--warmup" } else { "--warm-up" };
    let advice = if run.in_rounds() {
        format!("its first samples count; leave out more of them with {warm_up_flag}")
    } else {
        "its first samples count; measure it with more warm-up".to_owned()
    };
    warn(run, &WarningKind::WarmUp, &advice, look(warm_up), notes);
    let advice = if run.in_rounds() {
        format!(
            "ratios are taken within rounds and hold, but percentiles mix the times before and \
             after the change; measure longer, or with more {warm_up_flag}"
        )
    } else {
        "percentiles and ratios mix the times before and after the change; measure longer, or \
         with more warm-up"
            .to_owned()
    };
    warn(run, &WarningKind::Drift, &advice, look(drift), notes);
    let percentiles = run.show_command("--percentiles");
    let advice = format!("p50 can jump from one to the other; {percentiles} shows both");
    warn(run, &WarningKind::Modes, &advice, look(modes), notes);
    let cells = facts.cells.iter().map(|cell| centered(times(cell, families)));
    slot_effect(cells.collect(), notes);
    let advice = "the figures are of this mix of methods; measure the two in runs of their own";
    warn(run, &WarningKind::Predecessor, advice, effects_of_predecessors(facts, families), notes);
}

/// The metric by which a cell is judged and checked for noise.
fn time_metric(cell: &CellFacts<'_>, families: &[Family]) -> &'static str {
    let mut without = families.iter().filter(|family| family.metric == WALL_LESS_WAIT);
    let out = without.any(|family| family.cells.contains(&cell.index));
    if out && cell.waits.has_time_without { WALL_LESS_WAIT } else { WALL }
}

/// The logs of the samples by which a cell is judged.
fn times<'c, 'a>(
    cell: &'c CellFacts<'a>,
    families: &[Family],
) -> impl Iterator<Item = (SampleKey, f64)> + Clone + use<'c, 'a> {
    logs_of(cell, time_metric(cell, families))
}

/// The logs of the samples that count and have one.
pub(crate) fn logs_of<'c, 'a>(
    cell: &'c CellFacts<'a>,
    metric: &str,
) -> impl Iterator<Item = (SampleKey, f64)> + Clone + use<'c, 'a> {
    let positive = cell.counted(metric).filter(|(_, y)| *y > 0.0 && y.is_finite());
    positive.map(|(key, y)| (key, y.ln()))
}

fn logs(series: &[(SampleKey, f64)]) -> Vec<f64> {
    series.iter().map(|(_, log)| *log).collect()
}

/// The logs of each session.
pub(crate) fn by_session(series: &[(SampleKey, f64)]) -> Vec<Vec<f64>> {
    series.chunk_by(|a, b| a.0.session == b.0.session).map(logs).collect()
}

fn warm_up(series: &[(SampleKey, f64)], alpha: f64) -> Option<String> {
    let sessions = by_session(series);
    let found = stats::start(&sessions.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    (found.p < alpha && found.excess > (RELEVANT_PERCENT / 100.0).ln_1p()).then(|| {
        let more = percent(found.excess.exp_m1());
        format!("the first samples of its processes take {more} more time than the rest")
    })
}

fn drift(series: &[(SampleKey, f64)], alpha: f64) -> Option<String> {
    let sessions = by_session(series);
    let (trend, values, what) = if sessions.len() < TREND_SESSIONS {
        let within: Vec<&[f64]> = sessions.iter().map(Vec::as_slice).collect();
        (stats::trend_within(&within), logs(series), "samples")
    } else {
        let medians: Vec<f64> = sessions.iter().map(|logs| stats::median(logs)).collect();
        (stats::trend(&medians), medians, "sessions")
    };
    if trend.p >= alpha {
        return None;
    }
    let direction = if trend.tau > 0.0 { "slower" } else { "faster" };
    let steady = match stats::steady_from(&values) {
        Some(start) if start > 0 => format!("steady after {start} of {} {what}", values.len()),
        _ => "not steady to the end".to_owned(),
    };
    Some(format!("it gets {direction} (τ {:.2}), {steady}", trend.tau))
}

/// A gap that chance alone leaves in fewer runs than [`ALPHA`], determined by simulation.
fn modes(series: &[(SampleKey, f64)], _alpha: f64) -> Option<String> {
    let modes = stats::two_modes(&logs(series))?;
    let (share, factor) = (percent(modes.upper_share), modes.distance.exp());
    Some(format!("{share} of the samples take {factor:.2} times as long as the others"))
}

/// The samples of a cell in the order of their rounds: the slot of each, and its log less the
/// median of the cell.
type CenteredSamples<'a> = Peekable<Box<dyn Iterator<Item = ((u32, u32), (u32, f64))> + 'a>>;

fn centered<'a>(
    series: impl Iterator<Item = (SampleKey, f64)> + Clone + 'a,
) -> CenteredSamples<'a> {
    let center = stats::median(&series.clone().map(|(_, log)| log).collect::<Vec<f64>>());
    let samples = series.map(move |(s, log)| ((s.session, s.round), (s.slot, log - center)));
    let samples: Box<dyn Iterator<Item = _> + 'a> =
        if samples.clone().is_sorted_by_key(|(round, _)| round) {
            Box::new(samples)
        } else {
            let mut samples: Vec<_> = samples.collect();
            samples.sort_by_key(|(round, _)| *round);
            Box::new(samples.into_iter())
        };
    samples.peekable()
}

/// The round of the next sample of the cell with this index.
fn next_round(i: usize, cell: &mut CenteredSamples<'_>) -> Option<Reverse<((u32, u32), usize)>> {
    cell.peek().map(|(round, _)| Reverse((*round, i)))
}

/// Whether the second half of a round differs from the first, over all methods: each sample
/// compared with the median of its cell.
fn slot_effect(mut cells: Vec<CenteredSamples<'_>>, notes: &mut Vec<Warning>) {
    let next = cells.iter_mut().enumerate().filter_map(|(i, cell)| next_round(i, cell));
    let mut order: BinaryHeap<Reverse<((u32, u32), usize)>> = next.collect();
    let (mut halves, mut slots): (Vec<f64>, Vec<(u32, f64)>) = Default::default();
    let mut last = None;
    while let Some(Reverse((round, i))) = order.pop() {
        if last.replace(round) != Some(round) {
            halves.extend(stats::half_difference(&mut slots));
            slots.clear();
        }
        let cell = &mut cells[i];
        while let Some((_, slot)) = cell.next_if(|(other, _)| *other == round) {
            slots.push(slot);
        }
        order.extend(next_round(i, cell));
    }
    halves.extend(stats::half_difference(&mut slots));
    let Some(shift) = stats::hodges_lehmann(&halves, ALPHA) else { return };
    let Some((low, high)) = shift.interval else { return };
    let relevant = shift.estimate.abs() > (RELEVANT_PERCENT / 100.0).ln_1p();
    if relevant && (low > 0.0 || high < 0.0) {
        let [estimate, low, high] = [shift.estimate, low, high].map(|x| 100.0 * x.exp_m1());
        let text = format!(
            "slot effect: in the second half of a round samples take {estimate:+.1} % \
             ({low:+.1} … {high:+.1}); random order keeps it out of the ratios, more rounds make \
             up for the noise it adds"
        );
        notes.push(Warning::new(WarningKind::SlotEffect, text));
    }
}

// What one method does to the next one, such as a command that evicts the file that another one
// reads, or leaves it dirty pages to write.

/// The probability that chance alone gives any of the findings of a run.
const PREDECESSOR_ALPHA: f64 = 0.02;

/// From this number of rounds on. With fewer, too few of their orders are as telling.
const ROUNDS_MIN: usize = 10;

/// In a run of more methods and points nothing is looked for.
const CELLS_MAX: usize = 30;

/// Drawing stops once this many random orders give at least the statistic that was found, because
/// chance then explains it. The number of draws is such that with fewer of these orders the
/// probability is below the level.
const AS_LARGE: usize = 10;

/// A pair whose statistic is fewer standard deviations above its mean is not looked at closely.
const Z_MIN: f64 = 2.5;

/// The cells that take longer where another one has run since their own last run, each with the
/// text of the finding. With two methods there is none: each runs after the other one, and the
/// slot effect says more.
pub(crate) fn effects_of_predecessors(
    facts: &RunFacts<'_>,
    families: &[Family],
) -> Vec<(usize, String)> {
    let run = facts.run;
    let series = |cell: usize| times(&facts.cells[cell], families);
    let cells: Vec<usize> =
        (0..facts.cells.len()).filter(|cell| series(*cell).next().is_some()).collect();
    // At more, the level of a pair is so low that drawing takes long.
    if !(3..=CELLS_MAX).contains(&cells.len()) {
        return Vec::new();
    }
    let rounds = RoundOrder::new(run);
    if rounds.keys.len() < ROUNDS_MIN {
        return Vec::new();
    }
    let alpha = PREDECESSOR_ALPHA / (cells.len() * (cells.len() - 1)) as f64;
    let of_cell = |cell: usize| {
        let logs = rounds.by_round(series(cell).map(|(key, y)| (key.session, key.round, y)));
        let others = cells.iter().copied().filter(|other| *other != cell);
        let found = others.filter_map(|other| {
            let runs = rounds.runs(&logs, cell, other);
            let shift = shift(&runs)?;
            is_unlikely(&runs, alpha, run.plan.seed).then_some((other, shift))
        });
        let (other, shift) = found.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let more = percent(shift.exp_m1());
        let name = &run.cells[other].method;
        Some((cell, format!("it takes {more} more time where {name} has run since its last run")))
    };
    map_each(&cells, facts.samples(), |cell| of_cell(*cell)).into_iter().flatten().collect()
}

/// The rounds in the order in which they were measured, with what all pairs of cells need of them.
struct RoundOrder {
    /// Session and round.
    keys: Vec<(u32, u32)>,
    /// By round, the session of the runs that have an earlier one in the round before; none if it
    /// does not follow that. A session of several rounds begins with new processes, so that its
    /// first round follows no other; sessions of one round each are one sequence.
    sessions: Vec<Option<u32>>,
    /// By cell and round, the slot; none if the cell did not run.
    slots: Vec<Vec<Option<u32>>>,
}

impl RoundOrder {
    fn new<'a>(run: &'a Run) -> RoundOrder {
        let timed = |cell: &'a Cell| {
            let samples = cell.samples.iter().filter(|s| s.pass == Pass::Timing && !s.warm_up);
            samples.map(|s| (s.session, s.round, s.slot))
        };
        let mut keys: Vec<(u32, u32)> = Vec::new();
        for cell in &run.cells {
            let of_cell = timed(cell).map(|(session, round, _)| (session, round));
            // Nearly always all cells have the same rounds, in their order.
            if !of_cell.clone().eq(keys.iter().copied()) {
                keys.extend(of_cell);
                keys.sort_unstable();
                keys.dedup();
            }
        }
        let lens = keys.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
        let is_alone: Vec<bool> = lens.flat_map(|len| std::iter::repeat_n(len == 1, len)).collect();
        let session = |now: usize| {
            let before = now.checked_sub(1)?;
            match (keys[before].0 == keys[now].0, is_alone[before] && is_alone[now]) {
                (true, _) => Some(keys[now].0),
                (false, true) => Some(0),
                (false, false) => None,
            }
        };
        let sessions = (0..keys.len()).map(session).collect();
        let mut rounds = RoundOrder { keys, sessions, slots: Vec::new() };
        rounds.slots = run.cells.iter().map(|cell| rounds.by_round(timed(cell))).collect();
        rounds
    }

    /// By round, these values, each with its session and its round.
    fn by_round<T: Copy>(&self, values: impl IntoIterator<Item = (u32, u32, T)>) -> Vec<Option<T>> {
        let mut by_round = vec![None; self.keys.len()];
        let mut next = 0;
        for (session, round, value) in values {
            let key = (session, round);
            // Nearly always it is that of the round after the last one.
            let at = match self.keys.get(next) {
                Some(known) if *known == key => Some(next),
                _ => self.keys.binary_search(&key).ok(),
            };
            if let Some(at) = at {
                by_round[at] = Some(value);
                next = at + 1;
            }
        }
        by_round
    }

    /// The runs of a cell with these logs that have an earlier one in the round before.
    fn runs(&self, logs: &[Option<f64>], cell: usize, other: usize) -> Vec<RepeatedRun> {
        let (own, others) = (&self.slots[cell], &self.slots[other]);
        let is_before = |round: usize| Some(others[round]? < own[round]?);
        let runs = (1..self.keys.len()).filter_map(|now| {
            Some(RepeatedRun {
                session: self.sessions[now]?,
                log: logs[now]?,
                was_before: is_before(now - 1)?,
                is_before: is_before(now)?,
            })
        });
        runs.collect()
    }
}

/// A sample of a method that has an earlier one in the round before.
struct RepeatedRun {
    session: u32,
    log: f64,
    /// Whether the other method ran before it, in its round and in the round before.
    was_before: bool,
    is_before: bool,
}

impl RepeatedRun {
    /// How often the other one ran since the last run.
    fn exposure(&self) -> f64 {
        exposure(self.was_before, self.is_before)
    }
}

fn exposure(was_before: bool, is_before: bool) -> f64 {
    f64::from(u8::from(!was_before) + u8::from(is_before))
}

/// The difference of the medians of the logs of those after which the other one ran, and of the
/// rest, if it is relevant.
fn shift(runs: &[RepeatedRun]) -> Option<f64> {
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
fn is_unlikely(runs: &[RepeatedRun], alpha: f64, seed: u64) -> bool {
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
fn ranks(runs: &[RepeatedRun]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_unstable_by(|a, b| {
        let (a, b) = (&runs[*a], &runs[*b]);
        a.session.cmp(&b.session).then(a.log.total_cmp(&b.log))
    });
    let mut ranks = vec![0.0; runs.len()];
    for session in order.chunk_by(|a, b| runs[*a].session == runs[*b].session) {
        let mean = session.len() as f64 / 2.0;
        let mut below = 0;
        for equal in session.chunk_by(|a, b| runs[*a].log.total_cmp(&runs[*b].log).is_eq()) {
            for at in equal {
                ranks[*at] = below as f64 + equal.len() as f64 / 2.0 - mean;
            }
            below += equal.len();
        }
    }
    ranks
}

// Converts findings in cells to warnings.

/// Cells with what was found in each.
pub(crate) type Findings = Vec<(usize, String)>;

/// Up to this number of cells, there is a warning for each.
const SINGLE_MAX: usize = 3;

/// One warning per cell, or a single one if there are many cells.
pub(crate) fn warn(
    run: &Run,
    kind: &WarningKind,
    advice: &str,
    findings: Findings,
    warnings: &mut Vec<Warning>,
) {
    let new = |detail| Warning { advice: advice.to_owned(), ..Warning::new(kind.clone(), detail) };
    if findings.len() > SINGLE_MAX {
        let mut methods: Vec<String> = Vec::new();
        for (cell, _) in &findings {
            let name = &run.cells[*cell].method;
            if !methods.contains(name) {
                methods.push(name.clone());
            }
        }
        let cells = Some(Cells { n: findings.len(), methods });
        warnings.push(Warning { cells, ..new(String::new()) });
        return;
    }
    for (index, detail) in findings {
        let cell = &run.cells[index];
        let several = run.cells.iter().filter(|other| other.method == cell.method).count() > 1;
        let point = several.then(|| cell.point.clone());
        warnings.push(Warning { point, ..new(detail).of_method(&cell.method) });
    }
}

pub(crate) fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", 100.0 * share) } else { format!("{:.0} %", 100.0 * share) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, facts_of, waited};

    /// Samples with these logs, in sessions of this number of rounds.
    fn series(logs: &[f64], rounds: u32, check: impl Fn(&[(SampleKey, f64)])) {
        let mut cell = cell("a", logs.iter().copied());
        for (i, sample) in (0..).zip(&mut cell.samples) {
            (sample.session, sample.round) = (i / rounds, i % rounds);
        }
        let keys = facts_of(&cell).timing.clone();
        check(&keys.into_iter().zip(logs.iter().copied()).collect::<Vec<_>>());
    }

    #[test]
    fn only_numbers_above_0_have_a_logarithm() {
        let cell = cell("a", [1.0, 0.0, f64::INFINITY, -1.0]);
        let logs: Vec<f64> = logs_of(&facts_of(&cell), WALL).map(|(_, log)| log).collect();
        assert_eq!(logs, [0.0]);
    }

    #[test]
    fn a_cell_is_judged_without_the_wait_where_its_table_is_and_it_is_known() {
        let family =
            |metric, cells: &[usize]| Family { cells: cells.to_vec(), metric, ..Family::default() };
        let unknown = cell("a", [1.0; 10]);
        let known = waited(unknown.clone());
        let table = [family(WALL_LESS_WAIT, &[0])];
        assert_eq!(time_metric(&facts_of(&known), &table), WALL_LESS_WAIT);
        assert_eq!(time_metric(&facts_of(&unknown), &table), WALL);
        let others = [family(WALL, &[0]), family(WALL_LESS_WAIT, &[1])];
        assert_eq!(time_metric(&facts_of(&known), &others), WALL);
    }

    #[test]
    fn a_slow_start_is_noted_where_it_is_unlikely_and_relevant() {
        let limit = (RELEVANT_PERCENT / 100.0).ln_1p();
        let of = |first: f64, expected: &[bool; 2]| {
            let logs: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { first } else { 0.0 }).collect();
            series(&logs, 3, |series| {
                let sessions = by_session(series);
                let sessions: Vec<&[f64]> = sessions.iter().map(Vec::as_slice).collect();
                let p = stats::start(&sessions).unwrap().p;
                let noted = [p, 2.0 * p].map(|alpha| warm_up(series, alpha).is_some());
                assert_eq!(&noted, expected, "{first}");
            });
        };
        of(limit, &[false, false]);
        of(1.01 * limit, &[false, true]);
    }

    #[test]
    fn a_drift_of_sessions_ends_where_the_rest_is_steady() {
        // Ten values that fall and twenty equal ones: S is -(45 + 200) of 435 pairs. The last of
        // the ten and the twenty have S = -20 with a variance of (19740 - 17100) / 18, a p of 0.12;
        // the last two -41 with one of (22638 - 17100) / 18, a p of 0.02.
        let logs: Vec<f64> = (0..30).map(|i: u32| f64::from(10u32.saturating_sub(i))).collect();
        series(&logs, 1, |series| {
            let text = "it gets faster (τ -0.56), steady after 9 of 30 sessions";
            assert_eq!(drift(series, ALPHA).as_deref(), Some(text));
        });
    }

    #[test]
    fn a_drift_in_each_of_few_sessions_is_not_steady_to_the_end() {
        // Each session rises; of the six pairs of sessions four fall and two rise, so that all
        // samples together have S = 180 - 200, which is no trend.
        let levels = [2, 3, 0, 1].into_iter();
        let logs: Vec<f64> =
            levels.flat_map(|level| (0..10).map(move |i| f64::from(20 * level + i))).collect();
        series(&logs, 10, |series| {
            let text = "it gets slower (τ 1.00), not steady to the end";
            assert_eq!(drift(series, ALPHA).as_deref(), Some(text));
        });
    }

    /// The note on ten rounds of two methods that take turns to be second, where the logs of the
    /// second ones are higher by these effects. All logs of one method are higher by `offset`.
    fn slot_note(effects: [f64; 10], offset: f64) -> Option<String> {
        let mut cells = ["a", "b"].map(|name| cell(name, [1.0; 10]));
        for (cell, first) in cells.iter_mut().zip([0, 1]) {
            for sample in &mut cell.samples {
                sample.slot = (sample.round + first) % 2;
            }
        }
        let logs = |(cell, offset): (&Cell, f64)| -> Vec<f64> {
            let slots = cell.samples.iter().map(|sample| f64::from(sample.slot));
            slots.zip(effects).map(|(slot, effect)| offset + slot * effect).collect()
        };
        let logs: Vec<Vec<f64>> = cells.iter().zip([0.0, offset]).map(logs).collect();
        let series: Vec<Vec<(SampleKey, f64)>> = cells
            .iter()
            .zip(logs)
            .map(|(cell, logs)| facts_of(cell).timing.iter().copied().zip(logs).collect())
            .collect();
        let mut notes = Vec::new();
        let cells = series.iter().map(|series| centered(series.iter().copied()));
        slot_effect(cells.collect(), &mut notes);
        notes.pop().map(|note| note.to_string())
    }

    #[test]
    fn a_slot_effect_is_noted_in_both_directions_if_all_of_the_interval_is() {
        let begins = |note: Option<String>, with: &str| note.unwrap().starts_with(with);
        // e^-0.1 is 0.905, e^0.1 is 1.105.
        let text = "slot effect: in the second half of a round samples take";
        assert!(begins(slot_note([-0.1; 10], 5.0), &format!("{text} -9.5 % (-9.5 … -9.5);")));
        assert!(begins(slot_note([0.1; 10], 5.0), &format!("{text} +10.5 % (+10.5 … +10.5);")));
        // Ten of the averages of two rounds are 0: the interval ends there.
        let some =
            |effect: f64| [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(|x| x * effect);
        assert_eq!([0.1, -0.1].map(|effect| slot_note(some(effect), 5.0)), [None, None]);
        // An effect of as much as is relevant is none.
        let limit = (RELEVANT_PERCENT / 100.0).ln_1p();
        assert_eq!(slot_note([limit; 10], 0.0), None);
        assert!(slot_note([1.01 * limit; 10], 0.0).is_some());
    }
}

#[cfg(test)]
mod predecessor_tests {
    use super::*;
    use crate::tests::{cell, run};
    use model::metric::WALL;

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
                cells[method].values.get_mut(WALL).unwrap().to_mut()[round as usize] =
                    slower * noise;
            }
        }
        effects_of_predecessors(&RunFacts::new(&run(cells)), &[])
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
    fn the_ranks_are_those_among_the_runs_of_a_session() {
        let logs = [(1, 3.0), (2, 5.0), (1, 1.0), (2, 4.0), (1, 3.0)];
        let runs = logs.map(|(session, log)| RepeatedRun {
            session,
            log,
            was_before: false,
            is_before: false,
        });
        assert_eq!(ranks(&runs), [0.5, 0.5, -1.0, -0.5, 0.5]);
    }

    #[test]
    fn a_round_follows_another_one_of_its_session_or_where_each_is_one_of_its_own() {
        let mut cells = ["a", "b"].map(|name| cell(name, [1.0; 6]));
        for cell in &mut cells {
            let keys = [(7, 0), (7, 1), (8, 0), (9, 0), (10, 0), (7, 1)];
            for (sample, (session, round)) in cell.samples.iter_mut().zip(keys) {
                (sample.session, sample.round) = (session, round);
            }
        }
        cells[0].samples[5].slot = 1;
        cells[1].samples[3].warm_up = true;
        let rounds = RoundOrder::new(&run(cells.to_vec()));
        assert_eq!(rounds.keys, [(7, 0), (7, 1), (8, 0), (9, 0), (10, 0)]);
        assert_eq!(rounds.sessions, [None, Some(7), None, Some(0), Some(0)]);
        // A sample that was taken again takes the place of the first one.
        assert_eq!(rounds.slots[0], [0, 1, 0, 0, 0].map(Some));
        assert_eq!(rounds.slots[1], [Some(0), Some(0), Some(0), None, Some(0)]);
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

#[cfg(test)]
mod findings_tests {
    use super::*;
    use crate::tests::{cell, point, run};

    #[test]
    fn a_point_is_shown_where_the_method_has_several() {
        let mut run = run(["a", "a", "b"].map(|name| cell(name, [])).to_vec());
        run.cells[1].point = point(&[("size", 1)]);
        let found = |cells: &[usize]| {
            let findings = cells.iter().map(|cell| (*cell, "slow".to_owned())).collect();
            let mut warnings = Vec::new();
            warn(&run, &WarningKind::Drift, "", findings, &mut warnings);
            let of = |found: Warning| (found.method.unwrap(), found.point, found.detail);
            warnings.into_iter().map(of).collect::<Vec<_>>()
        };
        let expected = |method: &str, point| (method.to_owned(), point, "slow".to_owned());
        let at = Some(point(&[("size", 1)]));
        assert_eq!(found(&[1, 2]), [expected("a", at), expected("b", None)]);
    }

    #[test]
    fn a_share_has_two_digits() {
        let shares = [0.004, 0.012, 0.0999, 0.1, 0.25].map(percent);
        assert_eq!(shares, ["0.4 %", "1.2 %", "10.0 %", "10 %", "25 %"]);
    }
}
