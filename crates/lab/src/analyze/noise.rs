//! Doubts about the samples themselves: a slow start, a drift, two modes, an effect of the position
//! in the round.

use super::Family;
use super::compare::{RELEVANT_PERCENT, is_single_threaded};
use super::findings::{Findings, percent, warn};
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
}

/// The metric by which a cell is judged and checked for noise.
fn time_metric(cell: &Cell, index: usize, families: &[Family]) -> &'static str {
    let out = families.iter().any(|f| f.metric == WALL_LESS_WAIT && f.cells.contains(&index));
    if out && is_single_threaded(cell) { WALL_LESS_WAIT } else { WALL }
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
