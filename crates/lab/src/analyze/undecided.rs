//! What a run could have shown of the methods that it leaves undecided, and what it takes to show
//! less.

use super::look::sessions_since;
use super::{Comparison, Verdict};
use crate::metric::WALL;
use crate::run::{Cell, Pass, Run, Warning, WarningKind};
use crate::stats::LOOKS;

/// The number of methods that are named.
const NAMED_MAX: usize = 6;

/// One warning about all comparisons that have an interval and decide nothing.
pub(super) fn warning(run: &Run, comparisons: &[Comparison]) -> Option<Warning> {
    let open = comparisons.iter().filter(|c| c.decides && c.verdict == Verdict::Undecided);
    let mut open: Vec<(f64, &Comparison)> = open
        .filter(|c| c.low.is_some() && c.reason.is_none())
        .filter_map(|c| Some((c.found_percent.filter(|percent| percent.is_finite())?, c)))
        .collect();
    open.sort_by(|a, b| a.0.total_cmp(&b.0));
    if open.is_empty() {
        return None;
    }
    let session_ns = session_ns(run);
    let name = |comparison: &Comparison| {
        let alike = open.iter().filter(|(_, other)| other.method == comparison.method).count();
        let at = if alike > 1 { format!(" ({})", comparison.point) } else { String::new() };
        format!("{}{at}", comparison.method)
    };
    let of = |(found, comparison): &(f64, &Comparison)| {
        let digits = usize::from(*found < 9.5);
        let sessions = comparison.sessions_for_1_percent.unwrap_or(u64::MAX);
        let takes = takes(run, sessions, session_ns);
        format!("{} {found:.digits$} % ({takes})", name(comparison))
    };
    let mut said: Vec<String> = open.iter().take(NAMED_MAX).map(of).collect();
    if open.len() > NAMED_MAX {
        said.push(format!("{} more", open.len() - NAMED_MAX));
    }
    let text = format!(
        "undecided; the difference that would have been found 4 times out of 5, and what 1 % takes: {}",
        said.join(", ")
    );
    Some(Warning::new(WarningKind::Undecided, text))
}

/// What finding 1 % takes.
fn takes(run: &Run, sessions: u64, session_ns: Option<f64>) -> String {
    let last = LOOKS[LOOKS.len() - 1] as u64;
    let look = LOOKS.iter().map(|look| *look as u64).find(|look| *look >= sessions);
    let sessions = if run.plan.design.is_fixed() { Some(sessions) } else { look };
    let Some(sessions) = sessions else { return format!("over {last} sessions") };
    let time = session_ns.map(|ns| duration(ns * sessions as f64 / 1e9));
    match (time, run.plan.design.is_fixed()) {
        (None, _) => format!("{sessions} sessions"),
        (Some(time), true) => format!("{sessions} sessions, about {time}"),
        (Some(time), false) => format!("about --time {time}"),
    }
}

/// A time as `--time` takes it, with two digits at most.
fn duration(seconds: f64) -> String {
    let of = |value: f64, unit: &str| format!("{:.0}{unit}", value.ceil());
    match seconds {
        s if s <= 100.0 => of(s.max(1.0), "s"),
        s if s <= 6000.0 => of(s / 60.0, "m"),
        s if s <= 360_000.0 => of(s / 3600.0, "h"),
        s => of(s / 86_400.0, "d"),
    }
}

/// The mean time of a session of the methods that are there to the end, as far as it is in samples
/// and between them; none where there are none.
fn session_ns(run: &Run) -> Option<f64> {
    let between = run.environment.facts.get("between_samples_ns");
    let between_ns = between.and_then(serde_json::Value::as_f64).unwrap_or_default();
    let of_cell = |cell: &Cell| {
        let walls = cell.values.get(WALL)?;
        let timed = cell.samples.iter().zip(walls);
        let timed = timed.filter(|(s, ns)| s.pass == Pass::Timing && ns.is_finite());
        let ns: f64 = timed.map(|(s, ns)| ns * s.ops as f64 + between_ns).sum();
        let mut sessions: Vec<u32> = cell.counted(WALL).map(|(s, _)| s.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        (!sessions.is_empty()).then(|| ns / sessions.len() as f64)
    };
    let cells = run.cells.iter().zip(sessions_since(run));
    let stays = cells.filter(|(_, since)| since.is_some_and(|sessions| sessions <= 1));
    stays.filter_map(|(cell, _)| of_cell(cell)).reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_rounded_up_in_the_unit_that_has_two_digits() {
        let table = [(0.0, "1s"), (99.2, "100s"), (101.0, "2m"), (6000.0, "100m"), (6001.0, "2h")];
        for (seconds, expected) in table.into_iter().chain([(360_000.0, "100h"), (360_001.0, "5d")])
        {
            assert_eq!(duration(seconds), expected, "{seconds}");
        }
    }
}
