//! Doubts about the samples themselves: a start that is slow, a drift, two modes, rounds that depend
//! on each other, a place in the round that matters.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::RELEVANT_PERCENT;
use super::doubts::{Found, Kind, note, percent, time_metric};
use super::{Comparison, Family, Verdict};
use crate::run::{Note, Run, Sample};
use crate::stats;

/// A trend or a slot effect that chance gives less often than this is noted.
const ALPHA: f64 = 0.01;

/// With fewer, sessions are not compared as wholes.
const FEW_SESSIONS: usize = 5;

pub(super) fn notes(
    run: &Run,
    families: &[Family],
    comparisons: &[Comparison],
    notes: &mut Vec<Note>,
) {
    let series: Vec<Vec<(&Sample, f64)>> = run
        .cells
        .iter()
        .enumerate()
        .map(|(i, cell)| {
            let positive = cell
                .counted(time_metric(cell, i, families))
                .filter(|(_, y)| *y > 0.0 && y.is_finite());
            positive.map(|(sample, y)| (sample, y.ln())).collect()
        })
        .collect();
    let look = |doubt: fn(&[(&Sample, f64)]) -> Option<String>| -> Found {
        let found = series.iter().enumerate().filter_map(|(i, logs)| Some((i, doubt(logs)?)));
        found.collect()
    };
    let advice = if run.in_rounds() {
        "its first samples count; mark more rounds with --warm-up"
    } else {
        "its first samples count; have it measured with more warm-up"
    };
    let kind = Kind { what: "warm-up not finished", advice };
    note(run, kind, look(warm_up), notes);
    let advice = if run.in_rounds() {
        "ratios are taken within rounds and hold, percentiles mix what changed; measure longer, or \
         with more --warm-up"
    } else {
        "percentiles and ratios mix what changed; measure longer, or with more warm-up"
    };
    let kind = Kind { what: "drift", advice };
    note(run, kind, look(drift), notes);
    let kind = Kind {
        what: "two modes",
        advice: "p50 can jump from one to the other; read all --percentiles, compare --sessions",
    };
    note(run, kind, look(modes), notes);
    blocks(run, comparisons, notes);
    processes(run, comparisons, notes);
    slot_effect(&series, notes);
}

fn logs(series: &[(&Sample, f64)]) -> Vec<f64> {
    series.iter().map(|(_, log)| *log).collect()
}

fn warm_up(series: &[(&Sample, f64)]) -> Option<String> {
    let sessions = series.chunk_by(|a, b| a.0.session == b.0.session);
    let slow: usize = sessions.map(|part| stats::first_samples_slow(&logs(part))).sum();
    (slow > 0).then(|| format!("{slow} of the first samples are far slower than the rest"))
}

fn drift(series: &[(&Sample, f64)]) -> Option<String> {
    let logs = logs(series);
    let trend = stats::trend(&logs);
    if trend.p >= ALPHA {
        return None;
    }
    let direction = if trend.tau > 0.0 { "slower" } else { "faster" };
    let steady = match stats::steady_from(&logs) {
        Some(start) => format!("steady after {start} of {} samples", logs.len()),
        None => "not steady to the end".to_owned(),
    };
    Some(format!("it gets {direction} (τ {:.2}), {steady}", trend.tau))
}

fn modes(series: &[(&Sample, f64)]) -> Option<String> {
    let modes = stats::two_modes(&logs(series))?;
    let (share, factor) = (percent(modes.upper_share), modes.distance.exp());
    Some(format!("{share} of the samples take {factor:.2} times as long as the others"))
}

fn blocks(run: &Run, comparisons: &[Comparison], notes: &mut Vec<Note>) {
    let found = comparisons
        .iter()
        .filter(|c| c.decides && c.block > 1 && c.low.is_some())
        .map(|c| (c.cell, format!("{} rounds in blocks of {}", c.n, c.block)));
    let kind = Kind {
        what: "neighbouring rounds are alike",
        advice: "they were averaged before comparing, which widens the interval; measure longer",
    };
    note(run, kind, found.collect(), notes);
}

/// What a process costs for all its life, such as where its memory lies, is part of a method's cost
/// only on average over processes.
fn processes(run: &Run, comparisons: &[Comparison], notes: &mut Vec<Note>) {
    let found = comparisons
        .iter()
        .filter(|c| c.decides && c.by_session && c.verdict == Verdict::Undecided)
        .map(|c| (c.cell, format!("{} rounds", c.n)));
    let kind = Kind {
        what: "fresh processes differ by more than rounds do",
        advice: "the sessions were compared as wholes; measure more --sessions",
    };
    note(run, kind, found.collect(), notes);
    let claims = |c: &Comparison| matches!(c.verdict, Verdict::Faster | Verdict::Slower);
    let all = run.cells.iter().flat_map(|cell| &cell.samples);
    let sessions: BTreeSet<u32> = all.filter(|s| s.counts()).map(|s| s.session).collect();
    let few = sessions.len() < FEW_SESSIONS && !run.plan.fresh;
    if few && comparisons.iter().any(claims) {
        let text = "all rounds are of one set of processes, or of a few: what a process costs for \
                    all its life counts as the method's; give more --time or --sessions";
        notes.push(Note { method: None, point: None, text: text.to_owned() });
    }
}

/// Whether the second half of a round differs from the first, over all methods: each sample against
/// the median of its cell.
fn slot_effect(series: &[Vec<(&Sample, f64)>], notes: &mut Vec<Note>) {
    let mut rounds: BTreeMap<(u32, u32), Vec<(u32, f64)>> = BTreeMap::new();
    for cell in series {
        let center = stats::median(&logs(cell));
        for (sample, log) in cell {
            let round = rounds.entry((sample.session, sample.round)).or_default();
            round.push((sample.slot, log - center));
        }
    }
    let halves: Vec<f64> =
        rounds.values_mut().filter_map(|round| stats::half_difference(round)).collect();
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
        notes.push(Note { method: None, point: None, text });
    }
}
