//! The words of a check.

use lab::analyze::{CheckLine, Outcome};

use super::table::Style;
use super::units::ratio;

/// What was checked, and against what.
pub(crate) struct Sides<'a> {
    pub(crate) against: Against<'a>,
    /// The runs that were measured by this check.
    pub(crate) now: Vec<&'a str>,
    /// What else the machine did in each of the runs of both sides, where that was much.
    pub(crate) busy: Vec<String>,
}

pub(crate) enum Against<'a> {
    /// The name as the user gave it, and the id of the run.
    Baseline { name: &'a str, id: &'a str },
    /// The old side, which was measured in the same rounds.
    Old(&'a str),
}

pub(crate) fn word(outcome: Outcome) -> (&'static str, Style) {
    match outcome {
        Outcome::Ok => ("ok", Style::Green),
        Outcome::Faster => ("faster", Style::Green),
        Outcome::Slower => ("slower", Style::Red),
        Outcome::Undecided => ("undecided", Style::Plain),
        Outcome::Missing => ("missing", Style::Red),
        Outcome::Reference => ("reference", Style::Dim),
    }
}

pub(crate) fn against(sides: &Sides<'_>) -> String {
    let runs = if sides.now.len() == 1 { "run" } else { "runs" };
    let now = sides.now.join(" and ");
    match sides.against {
        Against::Baseline { name, id } if name == id => format!(" ({runs} {now} against run {id})"),
        Against::Baseline { name, id } => format!(" ({runs} {now} against {name}, run {id})"),
        Against::Old(old) => format!(" ({runs} {now}, in the same rounds as {old})"),
    }
}

/// `0.995–1.030 at 95 %`; a count has none.
pub(crate) fn interval(line: &CheckLine) -> Option<String> {
    let (low, high) = line.low.zip(line.high)?;
    let level = line.level?;
    // 99.75 % must not be shown as 100 %.
    let level = 100.0 * level;
    let digits = usize::from(level > 95.05) + usize::from(level > 99.05);
    Some(format!("{}–{} at {level:.digits$} %", ratio(low, 3), ratio(high, 3)))
}
