//! Why the answer has no verdict, or none on some of the methods.

use std::fmt;

use lab::analyze::{Comparison, Doubt, SESSIONS_MAX};

/// Why a family has no verdict, or none on some of its methods. Its text continues the sentence
/// that names them.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reason<'a> {
    /// The interval includes 1: the smallest difference that would have been found, with the
    /// method, of the comparisons with the least and the most noise, and the number of sessions
    /// that one of 1 % takes.
    NotFound {
        least: (f64, &'a str),
        most: (f64, &'a str),
        sessions: Option<u64>,
    },
    /// The interval would decide.
    Doubt(Doubt),
    /// The analysis says why.
    Said(&'a str),
    /// Each method has only a run that warmed it up.
    Estimates,
    OnlyOneMethod,
    NotCompared,
    NoRightAnswer,
    NothingMeasured,
}

impl<'a> Reason<'a> {
    /// Of undecided comparisons, each with its method; none where there is none.
    pub(super) fn not_found(
        undecided: impl Iterator<Item = (&'a str, &'a Comparison)>,
    ) -> Option<Reason<'a>> {
        let mut found: Vec<(f64, &str, Option<u64>)> = undecided
            .filter(|(_, comparison)| comparison.reason.is_none())
            .filter_map(|(name, c)| Some((c.found_percent?, name, c.sessions_for_1_percent)))
            .filter(|(percent, ..)| percent.is_finite())
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (least, most) = (found.first()?, found.last()?);
        let [least, most] = [least, most].map(|(percent, name, _)| (*percent, *name));
        Some(Reason::NotFound { least, most, sessions: found.last()?.2 })
    }

    pub(super) fn of(comparison: &'a Comparison) -> Option<Reason<'a>> {
        let said = || comparison.reason.as_deref().map(Reason::Said);
        comparison.doubt.map(Reason::Doubt).or_else(said)
    }
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |percent: f64| format!("≥ {percent:.*} %", usize::from(percent < 9.5));
        match self {
            Reason::NotFound { least, most, .. } if most.0 > 2.0 * least.0 => {
                let of = |(found, name): &(f64, &str)| format!("{} ({name})", percent(*found));
                write!(f, "{} to {} would have been found 4 times out of 5", of(least), of(most))
            }
            Reason::NotFound { most, sessions, .. } => {
                write!(f, "{} would have been found 4 times out of 5", percent(most.0))?;
                match sessions {
                    Some(n) if *n > SESSIONS_MAX => write!(f, " (one of 1 % not on this machine)"),
                    Some(n) => write!(f, " (one of 1 % would take {n} sessions)"),
                    None => Ok(()),
                }
            }
            Reason::Doubt(Doubt::Wait) => f.write_str(
                "the waits for a CPU may be the difference; less load would show it",
            ),
            Reason::Doubt(Doubt::UnknownWait) => {
                f.write_str("there was a wait for a CPU, and how long is not known")
            }
            Reason::Doubt(Doubt::Missing) => f.write_str(
                "the time without the wait is missing more often than that of the reference, so \
                 that what is missing depends on what it took",
            ),
            Reason::Said(reason) => f.write_str(reason),
            Reason::Estimates => f.write_str(
                "There is no verdict: each method was run once, to warm it up, which gives an estimate",
            ),
            Reason::OnlyOneMethod => f.write_str("Only one method was measured"),
            Reason::NotCompared => f.write_str("No method could be compared; the lowest"),
            Reason::NoRightAnswer => f.write_str("No method gave an answer that can be trusted"),
            Reason::NothingMeasured => f.write_str("No method was measured"),
        }
    }
}
