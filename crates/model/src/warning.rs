//! What a reader must know about a run before trusting its figures.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metric;
use crate::param::Point;
use crate::run::{Cell, Pass, Run, Status};

/// A warning. Its `Display` is the text that is shown and stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Warning {
    pub kind: WarningKind,
    /// The method that the warning concerns; none: several methods, or the whole run.
    pub method: Option<String>,
    pub point: Option<Point>,
    /// Set where the warning concerns many cells at once.
    pub cells: Option<Cells>,
    /// The finding, or the reason.
    pub detail: String,
    /// The advice, or the meaning. Empty where the detail already contains it.
    pub advice: String,
    /// Set where something is missing because a method was not counted; the detail is its text.
    pub uncounted: Option<Uncounted>,
}

/// Why a method was not counted: what kept it from the counting pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Uncounted {
    /// The time limit left no time for it.
    NoTime {
        /// A limit for the whole run that would leave time for it, where that can be estimated.
        enough_ns: Option<u64>,
    },
    /// The run has not come to its counting pass, or not to the end of it.
    Incomplete,
    /// The method failed before.
    Failed,
}

impl Uncounted {
    /// Why a cell has no samples of a counting pass that its run plans, as far as the run itself
    /// shows it.
    pub fn from_run(run: &Run, cell: &Cell) -> Option<Uncounted> {
        if run.plan.counting == 0 || cell.n(Pass::Counting) > 0 {
            return None;
        }
        match cell.status {
            Status::Failed(_) => Some(Uncounted::Failed),
            _ if !run.complete => Some(Uncounted::Incomplete),
            _ => None,
        }
    }
}

impl fmt::Display for Uncounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Uncounted::NoTime { enough_ns } => {
                f.write_str("the time limit left no time to count; ")?;
                match enough_ns {
                    Some(ns) => write!(f, "--time {}s would do", ns.div_ceil(1_000_000_000)),
                    None => f.write_str("give more --time"),
                }
            }
            Uncounted::Incomplete => {
                f.write_str("the run is not complete, and this is counted last")
            }
            Uncounted::Failed => f.write_str("failed before this was counted"),
        }
    }
}

/// The kinds are in the order in which the warnings of an analysis are shown: first those that
/// exclude a method, then those on what is missing from the comparison, then those that make its
/// figures doubtful.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WarningKind {
    /// A complete sentence, recorded while measuring or importing.
    Noted,
    /// Why something is missing: a metric, by its name, or another part of the measurement.
    Missing(String),
    Imported,
    WrongAnswer,
    /// The reason of the failure.
    Failed(String),
    Skipped(String),
    /// Another method serves as the reference.
    Reference,
    NotCounted,
    /// Runs of a command count although they failed.
    FailedRuns,
    /// A command leaves processes running.
    LeftRunning,
    NoVerdict,
    /// The differences that the run could have found between its undecided methods.
    Undecided,
    Waited,
    /// A method waited for a CPU, and the quota of the control group was used up.
    Throttled,
    /// The wait is not part of the times that are compared.
    WaitTakenOut,
    Steal,
    CountingSpeed,
    WarmUp,
    Drift,
    Modes,
    SlotEffect,
    /// A method takes longer after another one.
    Predecessor,
    /// The number of compared points is so high that a false verdict by chance alone is likely.
    Chance,
}

impl WarningKind {
    /// The prefix of the text of a warning about cells.
    fn words(&self) -> String {
        match self {
            WarningKind::Missing(what) => what.clone(),
            WarningKind::Failed(reason) => format!("failed ({reason})"),
            WarningKind::Skipped(reason) => format!("skipped ({reason})"),
            other => other.word().to_owned(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            WarningKind::WrongAnswer => "wrong answer",
            WarningKind::NotCounted => "samples that do not count",
            WarningKind::FailedRuns => "runs that failed",
            WarningKind::LeftRunning => "processes left running",
            WarningKind::NoVerdict => "no verdict",
            WarningKind::Waited | WarningKind::Throttled | WarningKind::WaitTakenOut => {
                "waited for a CPU"
            }
            WarningKind::CountingSpeed => "the counting pass ran at another speed",
            WarningKind::WarmUp => "warm-up not finished",
            WarningKind::Drift => "drift",
            WarningKind::Modes => "two modes",
            WarningKind::Predecessor => "what runs before it counts",
            _ => "",
        }
    }
}

/// Many cells, and their methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    pub n: usize,
    pub methods: Vec<String>,
}

/// Maximum number of methods that are named.
const NAMED_MAX: usize = 6;

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize| format!("{n} method{}", if n == 1 { "" } else { "s" });
        if self.methods.len() == self.n {
            write!(f, "{}", plural(self.n))?;
        } else {
            write!(f, "{} cells of {}", self.n, plural(self.methods.len()))?;
        }
        let named = self.methods.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>();
        let more = if self.methods.len() > NAMED_MAX { " …" } else { "" };
        write!(f, " ({}{more})", named.join(", "))
    }
}

impl Warning {
    /// A warning about a whole run, as a complete sentence.
    pub fn new(kind: WarningKind, detail: impl Into<String>) -> Warning {
        let (detail, advice) = (detail.into(), String::new());
        Warning { kind, method: None, point: None, cells: None, detail, advice, uncounted: None }
    }

    /// A warning that was recorded while measuring or importing. If its first words name a metric
    /// or a part of a run that may be missing, the rest is the reason why it is missing.
    pub fn noted(text: impl Into<String>) -> Warning {
        let text = text.into();
        let is_part = |what: &str| {
            [TIMELINE, PROFILE, FEWER_COUNTS, CALLS_BY_NAME].contains(&what)
                || what.starts_with(PROCESSOR_COUNTERS)
        };
        match text.split_once(": ") {
            Some((what, why)) if metric::is_known(what) || is_part(what) => {
                Warning::missing(what, why)
            }
            _ => Warning::new(WarningKind::Noted, text),
        }
    }

    /// A warning that something is missing, with the reason.
    pub fn missing(what: &str, why: impl Into<String>) -> Warning {
        Warning::new(WarningKind::Missing(what.to_owned()), why)
    }

    /// A warning that something is missing of a method because it was not counted.
    pub fn uncounted(what: &str, why: Uncounted) -> Warning {
        Warning { uncounted: Some(why), ..Warning::missing(what, why.to_string()) }
    }

    #[must_use]
    pub fn of_method(self, method: impl Into<String>) -> Warning {
        Warning { method: Some(method.into()), ..self }
    }

    /// The metric that is missing, and the reason.
    pub fn missing_metric(&self) -> Option<(&str, &str)> {
        match &self.kind {
            WarningKind::Missing(what) if metric::is_known(what) => Some((what, &self.detail)),
            _ => None,
        }
    }

    /// The text, with `cells` in place of the words for the cells that it concerns.
    pub fn with_cells(&self, cells: &str) -> String {
        let words = self.kind.words();
        let Warning { detail, advice, .. } = self;
        if self.cells.is_some() {
            format!("{words} in {cells}: {advice}")
        } else if words.is_empty() {
            detail.clone()
        } else if advice.is_empty() {
            format!("{words}: {detail}")
        } else if detail.is_empty() {
            format!("{words}; {advice}")
        } else {
            format!("{words}: {detail}; {advice}")
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.cells.as_ref().map(ToString::to_string).unwrap_or_default();
        f.write_str(&self.with_cells(&cells))
    }
}

/// The form in the stored document of a run.
#[derive(Serialize, Deserialize)]
struct Stored {
    method: Option<String>,
    point: Option<Point>,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uncounted: Option<Uncounted>,
}

impl From<Warning> for Stored {
    fn from(warning: Warning) -> Stored {
        let text = warning.to_string();
        let Warning { method, point, uncounted, .. } = warning;
        Stored { method, point, text, uncounted }
    }
}

/// Parts of a run that may be missing and are not metrics.
pub const TIMELINE: &str = "timeline";
pub const PROFILE: &str = "profile";
pub const FEWER_COUNTS: &str = "fewer counts";
pub const CALLS_BY_NAME: &str = "no system calls by name";
pub const PROCESSOR_COUNTERS: &str = "counters of the processor";

impl From<Stored> for Warning {
    fn from(Stored { method, point, text, uncounted }: Stored) -> Warning {
        Warning { method, point, uncounted, ..Warning::noted(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(warning: &Warning, expected: &str) {
        assert_eq!(warning.to_string(), expected);
        let stored = serde_json::to_value(warning).unwrap();
        assert_eq!(stored["text"], expected);
        let loaded: Warning = serde_json::from_value(stored).unwrap();
        assert_eq!(loaded.to_string(), expected, "{loaded:?}");
        assert_eq!(loaded.missing_metric(), warning.missing_metric());
        assert_eq!((&loaded.method, &loaded.point), (&warning.method, &warning.point));
        assert_eq!(loaded.uncounted, warning.uncounted);
    }

    #[test]
    fn a_warning_is_stored_as_its_text() {
        let of = |detail: &str, cells| Warning {
            advice: "measure longer".to_owned(),
            cells,
            ..Warning::new(WarningKind::Drift, detail).of_method("read")
        };
        check(&of("it gets slower", None), "drift: it gets slower; measure longer");
        check(&of("", None), "drift; measure longer");
        let cells = |n, methods: &[&str]| {
            Some(Cells { n, methods: methods.iter().map(|name| (*name).to_owned()).collect() })
        };
        check(&of("", cells(1, &["a"])), "drift in 1 method (a): measure longer");
        check(
            &of("", cells(4, &["a", "b"])),
            "drift in 4 cells of 2 methods (a, b): measure longer",
        );
        let many = cells(9, &["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        check(&of("", many), "drift in 9 methods (a, b, c, d, e, f …): measure longer");
        assert_eq!(
            of("", cells(4, &["a"])).with_cells("4 rows"),
            "drift in 4 rows: measure longer"
        );
        check(
            &Warning::noted("no date: that of the file is taken"),
            "no date: that of the file is taken",
        );
        check(&Warning::missing("cpu_ns", "go: nothing"), "cpu_ns: go: nothing");
        check(&Warning::missing(TIMELINE, "it has gaps"), "timeline: it has gaps");
        let mut point = Point::default();
        point.set("size", 4096_u64);
        check(&Warning { point: Some(point), ..Warning::noted("at one size") }, "at one size");
    }

    #[test]
    fn a_reason_why_nothing_was_counted_is_stored_as_data_too() {
        let check = |why: Uncounted, data: serde_json::Value, text: &str| {
            let warning = Warning::uncounted("syscalls", why).of_method("read");
            check(&warning, &format!("syscalls: {text}"));
            assert_eq!(serde_json::to_value(&warning).unwrap()["uncounted"], data);
        };
        let no_time = |enough_ns: Option<u64>| Uncounted::NoTime { enough_ns };
        check(
            no_time(Some(11_000_000_001)),
            serde_json::json!({"reason": "no-time", "enough_ns": 11_000_000_001_u64}),
            "the time limit left no time to count; --time 12s would do",
        );
        check(
            no_time(None),
            serde_json::json!({"reason": "no-time", "enough_ns": null}),
            "the time limit left no time to count; give more --time",
        );
        check(
            Uncounted::Incomplete,
            serde_json::json!({"reason": "incomplete"}),
            "the run is not complete, and this is counted last",
        );
        let other = serde_json::to_value(Warning::missing("syscalls", "no rights")).unwrap();
        assert_eq!(other.get("uncounted"), None);
    }

    #[test]
    fn a_run_shows_why_a_method_was_not_counted_unless_its_time_was_over() {
        let of = |counting: u32, complete: bool, status: Status| {
            let mut run = Run { complete, ..Run::default() };
            run.plan.counting = counting;
            Uncounted::from_run(&run, &Cell { status, ..Cell::new("a", Point::default()) })
        };
        let died = || Status::died(3, "killed");
        assert_eq!(of(8, true, died()), Some(Uncounted::Failed));
        assert_eq!(of(8, false, died()), Some(Uncounted::Failed));
        assert_eq!(of(8, false, Status::Measured), Some(Uncounted::Incomplete));
        assert_eq!(of(8, true, Status::Measured), None);
        assert_eq!(of(0, false, died()), None);
    }

    #[test]
    fn a_stored_text_is_known_by_its_kind() {
        let loaded = |text: &str| -> Warning {
            let stored = serde_json::json!({"method": "read", "point": null, "text": text});
            serde_json::from_value(stored).unwrap()
        };
        assert_eq!(loaded("syscalls: no rights").missing_metric(), Some(("syscalls", "no rights")));
        assert_eq!(loaded("syscalls: no rights").method.as_deref(), Some("read"));
        assert_eq!(
            loaded("its_own: no rights"),
            Warning::noted("its_own: no rights").of_method("read")
        );
        let counters = loaded("counters of the processor (cycles): see there");
        assert_eq!(
            counters.kind,
            WarningKind::Missing("counters of the processor (cycles)".into())
        );
    }
}
