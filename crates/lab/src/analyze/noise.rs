//! Doubts about the samples themselves: a slow start, a drift, two modes, an effect of the position
//! in the round.

use super::compare::RELEVANT_PERCENT;
use super::findings::{Findings, percent, warn};
use super::wait::has_time_without_wait;
use super::{Family, predecessor};
use crate::metric::{WALL, WALL_LESS_WAIT};
use crate::run::{Cell, Run, Sample, Warning, WarningKind};
use crate::stats;

/// A doubt is noted if chance produces it in fewer runs than this: each kind, in any of the methods
/// of a run. This is half of the 2 % that are promised, because real noise has heavier tails than
/// that of the tests.
pub(super) const ALPHA: f64 = 0.01;

/// From this number of sessions on, a trend is searched for from session to session. With fewer
/// sessions it is searched for within them: differences between processes are not a trend.
const TREND_SESSIONS: usize = 10;

/// What is doubtful about the logs of a cell's samples, if chance produces it less often than this.
type Doubt = fn(&[(&Sample, f64)], f64) -> Option<String>;

pub(super) fn warnings(run: &Run, families: &[Family], notes: &mut Vec<Warning>) {
    let series: Vec<Vec<(&Sample, f64)>> = run
        .cells
        .iter()
        .enumerate()
        .map(|(i, cell)| logs_of(cell, time_metric(cell, i, families)))
        .collect();
    let alpha = ALPHA / series.iter().filter(|logs| !logs.is_empty()).count().max(1) as f64;
    let look = |doubt: Doubt| -> Findings {
        let found = series.iter().enumerate();
        found.filter_map(|(i, logs)| Some((i, doubt(logs, alpha)?))).collect()
    };
    let advice = if run.in_rounds() {
        "its first samples count; mark more rounds with --warm-up"
    } else {
        "its first samples count; have it measured with more warm-up"
    };
    warn(run, &WarningKind::WarmUp, advice, look(warm_up), notes);
    let advice = if run.in_rounds() {
        "ratios are taken within rounds and hold, percentiles mix what changed; measure longer, or \
         with more --warm-up"
    } else {
        "percentiles and ratios mix what changed; measure longer, or with more warm-up"
    };
    warn(run, &WarningKind::Drift, advice, look(drift), notes);
    let advice = "p50 can jump from one to the other; read all --percentiles, compare --sessions";
    warn(run, &WarningKind::Modes, advice, look(modes), notes);
    slot_effect(&series, notes);
    let advice = "the figures are of this mix of methods; measure the two in runs of their own";
    warn(run, &WarningKind::Predecessor, advice, predecessor::find(run, &series), notes);
}

/// The metric by which a cell is judged and checked for noise.
fn time_metric(cell: &Cell, index: usize, families: &[Family]) -> &'static str {
    let out = families.iter().any(|f| f.metric == WALL_LESS_WAIT && f.cells.contains(&index));
    if out && has_time_without_wait(cell) { WALL_LESS_WAIT } else { WALL }
}

/// The values of the samples that count and have a logarithm.
pub(super) fn logs_of<'a>(cell: &'a Cell, metric: &str) -> Vec<(&'a Sample, f64)> {
    let positive = cell.counted(metric).filter(|(_, y)| *y > 0.0 && y.is_finite());
    positive.map(|(sample, y)| (sample, y.ln())).collect()
}

fn logs(series: &[(&Sample, f64)]) -> Vec<f64> {
    series.iter().map(|(_, log)| *log).collect()
}

/// The logs of each session.
pub(super) fn by_session(series: &[(&Sample, f64)]) -> Vec<Vec<f64>> {
    series.chunk_by(|a, b| a.0.session == b.0.session).map(logs).collect()
}

fn warm_up(series: &[(&Sample, f64)], alpha: f64) -> Option<String> {
    let sessions = by_session(series);
    let found = stats::start(&sessions.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    (found.p < alpha && found.excess > (RELEVANT_PERCENT / 100.0).ln_1p()).then(|| {
        let more = percent(found.excess.exp_m1());
        format!("the first samples of its processes take {more} more time than the rest")
    })
}

fn drift(series: &[(&Sample, f64)], alpha: f64) -> Option<String> {
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
fn modes(series: &[(&Sample, f64)], _alpha: f64) -> Option<String> {
    let modes = stats::two_modes(&logs(series))?;
    let (share, factor) = (percent(modes.upper_share), modes.distance.exp());
    Some(format!("{share} of the samples take {factor:.2} times as long as the others"))
}

/// Whether the second half of a round differs from the first, over all methods: each sample
/// compared with the median of its cell.
fn slot_effect(series: &[Vec<(&Sample, f64)>], notes: &mut Vec<Warning>) {
    let mut samples = Vec::with_capacity(series.iter().map(Vec::len).sum());
    for cell in series {
        let center = stats::median(&logs(cell));
        let of_cell = cell.iter().map(|(s, log)| ((s.session, s.round), (s.slot, log - center)));
        samples.extend(of_cell);
    }
    // Those of a cell are in order already.
    samples.sort_by_key(|(round, _)| *round);
    let half_difference = |round: &[(_, (u32, f64))]| {
        let mut slots: Vec<(u32, f64)> = round.iter().map(|(_, slot)| *slot).collect();
        stats::half_difference(&mut slots)
    };
    let rounds = samples.chunk_by(|(one, _), (other, _)| one == other);
    let halves: Vec<f64> = rounds.filter_map(half_difference).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::{cell, waited};

    /// Samples with these logs, in sessions of this number of rounds.
    fn series(logs: &[f64], rounds: u32, check: impl Fn(&[(&Sample, f64)])) {
        let mut cell = cell("a", logs.iter().copied());
        for (i, sample) in (0..).zip(&mut cell.samples) {
            (sample.session, sample.round) = (i / rounds, i % rounds);
        }
        check(&cell.samples.iter().zip(logs.iter().copied()).collect::<Vec<_>>());
    }

    #[test]
    fn only_numbers_above_0_have_a_logarithm() {
        let cell = cell("a", [1.0, 0.0, f64::INFINITY, -1.0]);
        let logs: Vec<f64> = logs_of(&cell, WALL).into_iter().map(|(_, log)| log).collect();
        assert_eq!(logs, [0.0]);
    }

    #[test]
    fn a_cell_is_judged_without_the_wait_where_its_table_is_and_it_is_known() {
        let family =
            |metric, cells: &[usize]| Family { cells: cells.to_vec(), metric, ..Family::default() };
        let known = waited(cell("a", [1.0; 10]));
        let table = [family(WALL_LESS_WAIT, &[0])];
        assert_eq!(time_metric(&known, 0, &table), WALL_LESS_WAIT);
        assert_eq!(time_metric(&cell("a", [1.0; 10]), 0, &table), WALL);
        let others = [family(WALL, &[0]), family(WALL_LESS_WAIT, &[1])];
        assert_eq!(time_metric(&known, 0, &others), WALL);
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
        let series: Vec<Vec<(&Sample, f64)>> = cells
            .iter()
            .zip(logs)
            .map(|(cell, logs)| cell.samples.iter().zip(logs).collect())
            .collect();
        let mut notes = Vec::new();
        slot_effect(&series, &mut notes);
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
