//! What a run could have shown of the methods that it leaves undecided, and what it takes to show
//! less.

use super::look::sessions_since;
use super::{Comparison, Verdict};
use crate::metric::WALL;
use crate::run::{Cell, Pass, Run, Warning, WarningKind};
use crate::stats::LOOKS;

/// The number of methods that are named.
const NAMED_MAX: usize = 6;

/// A run of more sessions than these is not proposed.
pub const SESSIONS_MAX: u64 = 1000;

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
    if sessions > SESSIONS_MAX {
        return "not on this machine".to_owned();
    }
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
    use crate::analyze::compare::Pair;
    use crate::analyze::tests::{cell, point, run};

    #[test]
    fn a_duration_is_rounded_up_in_the_unit_that_has_two_digits() {
        let table = [(0.0, "1s"), (99.2, "100s"), (101.0, "2m"), (6000.0, "100m"), (6001.0, "2h")];
        for (seconds, expected) in table.into_iter().chain([(360_000.0, "100h"), (360_001.0, "5d")])
        {
            assert_eq!(duration(seconds), expected, "{seconds}");
        }
    }

    /// Undecided comparisons of methods at the size of a point, with what they would have found.
    fn open(all: &[(&str, u64, f64)]) -> (Run, Vec<Comparison>) {
        let cells = all.iter().map(|(method, size, _)| {
            let mut cell = cell(method, []);
            cell.point = point(&[("size", *size)]);
            cell
        });
        let run = run(cells.collect());
        let comparison = |(i, (_, _, found)): (usize, &(&str, u64, f64))| {
            let point = &run.cells[i].point;
            let pair = Pair { run: &run, point, cell: i, reference: 0, alpha: 0.05 };
            Comparison {
                low: Some(0.9),
                high: Some(1.1),
                reason: None,
                found_percent: Some(*found),
                sessions_for_1_percent: Some(10),
                ..pair.without_ratio(Verdict::Undecided, String::new())
            }
        };
        let comparisons = all.iter().enumerate().map(comparison).collect();
        (run, comparisons)
    }

    fn said(run: &Run, comparisons: &[Comparison]) -> Option<String> {
        let text = warning(run, comparisons)?.to_string();
        Some(text.split_once("1 % takes: ").unwrap().1.to_owned())
    }

    #[test]
    fn a_point_is_named_where_its_method_is_undecided_at_several() {
        let (run, found) = open(&[("a", 1, 9.5), ("b", 1, 2.0), ("a", 2, 9.4), ("c", 1, 12.0)]);
        let expected = "b 2.0 % (10 sessions), a (size=2) 9.4 % (10 sessions), \
                        a (size=1) 10 % (10 sessions), c 12 % (10 sessions)";
        assert_eq!(said(&run, &found).as_deref(), Some(expected));
        assert_eq!(said(&run, &found[1..2]).as_deref(), Some("b 2.0 % (10 sessions)"));
    }

    #[test]
    fn from_the_seventh_on_they_are_counted() {
        let all = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|method| (method, 1, 2.0));
        let more = |n: usize| {
            let (run, found) = open(&all[..n]);
            said(&run, &found).unwrap().split_once("f 2.0 % (10 sessions)").unwrap().1.to_owned()
        };
        assert_eq!([6, 7, 8].map(more), ["", ", 1 more", ", 2 more"]);
    }

    #[test]
    fn what_has_no_interval_or_a_reason_is_not_said_to_be_open() {
        let (run, mut found) = open(&[("a", 1, 2.0), ("b", 1, 2.0), ("c", 1, f64::INFINITY)]);
        found[0].low = None;
        found[1].reason = Some("a method waited".to_owned());
        assert_eq!(said(&run, &found), None);
    }

    #[test]
    fn a_session_takes_its_operations_and_the_time_between_samples() {
        // Of 20 samples in two sessions one is not known: 19 of four operations of 100 ns and 50
        // ns between them.
        let mut cell = cell("a", [100.0; 20]);
        cell.samples.iter_mut().for_each(|sample| sample.ops = 4);
        cell.values.get_mut(WALL).unwrap()[0] = f64::INFINITY;
        let mut run = run(vec![cell]);
        run.environment.facts.insert("between_samples_ns".to_owned(), 50.into());
        assert_eq!(session_ns(&run), Some(19.0 * 450.0 / 2.0));
    }
}
