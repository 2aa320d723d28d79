//! The result of a check of a suite, as its pages and files show it.

use analysis::{Outcome, SessionsEstimate, SuiteMean, Why};
use serde::Serialize;

/// A suite of benchmarks on two sides.
#[derive(Clone, Debug, Serialize)]
pub struct SuiteReport {
    pub outcome: Outcome,
    /// The names of the sides, as in `main 1234567`.
    pub old: String,
    pub new: String,
    /// The stored run; none if it is not kept.
    pub run: Option<String>,
    pub allowed_percent: f64,
    /// The benchmarks that were measured, or should have been.
    pub benchmarks: Vec<SuiteLine>,
    pub geometric_mean: Option<SuiteMean>,
    /// The mean of the second set of sessions, if it had to be confirmed.
    pub confirmed_mean: Option<SuiteMean>,
    /// Programs of equal bytes on both sides, which were not run.
    pub same_programs: Vec<String>,
    /// Benchmarks that only one side has.
    pub added: Vec<String>,
    pub gone: Vec<String>,
    /// The functions in which both sides of the profiled benchmark differ; empty without a profile.
    pub why: Vec<Why>,
}

/// A benchmark of a suite.
#[derive(Clone, Debug, Serialize)]
pub struct SuiteLine {
    /// The program and the name in it.
    pub program: String,
    pub name: String,
    pub outcome: Outcome,
    pub estimate: Option<SessionsEstimate>,
    /// The second set of sessions, which only a benchmark has that was slower in the first.
    pub confirmed: Option<SessionsEstimate>,
    /// The medians of the harness's estimates.
    pub old_ns: Option<f64>,
    pub new_ns: Option<f64>,
    /// The least and the largest of the new side.
    pub new_range_ns: Option<(f64, f64)>,
    /// How long all runs of it took.
    pub seconds: f64,
    /// Why it has no verdict.
    pub reason: Option<String>,
}

impl SuiteLine {
    /// `bench1: parse/small`, or the name alone in a suite of one program.
    pub(crate) fn label(&self) -> String {
        if self.program.is_empty() {
            self.name.clone()
        } else {
            format!("{}: {}", self.program, self.name)
        }
    }
}

impl SuiteReport {
    /// The benchmarks with this outcome, those that got slower most first.
    pub(crate) fn with(&self, outcome: Outcome) -> Vec<&SuiteLine> {
        let mut lines: Vec<&SuiteLine> =
            self.benchmarks.iter().filter(|line| line.outcome == outcome).collect();
        let ratio = |line: &SuiteLine| line.estimate.map_or(0.0, |estimate| estimate.ratio);
        lines.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        lines
    }
}

/// `+3.1 %`: three digits are enough, and a slowdown has one after the point below 10 %.
pub(crate) fn change(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    if percent.abs() < 9.95 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
}

/// `+5.0 % to +7.1 %, 8 sessions, confirmed by +6.0 % of 6`.
pub(crate) fn evidence(line: &SuiteLine) -> String {
    let Some(estimate) = line.estimate else { return "no session".to_owned() };
    let limits = estimate.low.zip(estimate.high);
    let limits = limits.map(|(low, high)| format!("{} to {}", change(low), change(high)));
    let n = estimate.sessions;
    let sessions = format!("{n} session{}", if n == 1 { "" } else { "s" });
    let confirmed = line.confirmed.filter(|_| line.outcome == Outcome::Slower);
    let confirmed = confirmed
        .map(|second| format!("confirmed by {} of {}", change(second.ratio), second.sessions));
    limits.into_iter().chain([sessions]).chain(confirmed).collect::<Vec<_>>().join(", ")
}

/// `not above +3.1 %`; none before the first look.
pub(crate) fn not_above(high: Option<f64>) -> String {
    match high.filter(|high| high.is_finite()) {
        Some(high) => format!("not above {}", change(high)),
        None => "too few sessions for a limit".to_owned(),
    }
}
