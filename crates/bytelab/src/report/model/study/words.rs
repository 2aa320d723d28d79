//! The words of a study's page, of whatever kind the page is.

use lab::analyze::{Claimed, Ratio};
use lab::metric;
use lab::run::Run;

use super::Tested;
use crate::reference::{Relation, Test};
use crate::report::model::rows::heading;
use crate::report::model::table::Style;
use crate::report::model::units::ratio;
use crate::report::model::words::{minute, taken};

pub(crate) const NO_VERDICT: &str = "No verdict between the published figures and those of here: these are other machines, other \
                          programs and other times.";

pub(crate) const ALL_TOGETHER: &str =
    "Each verdict is by the whole interval of its ratios; all intervals together hold at 95 %.";

pub(crate) const RATIO: &str = "ratio: of the first time in the row (without a time, of the first figure), to the first row of the \
                     same quantity, on the same machine; in the author's order.";

/// A run in one line.
pub(crate) fn about(run: &Run) -> String {
    let fact = |name: &str| run.environment.facts.get(name)?.as_str().map(str::to_owned);
    let id = if run.id.is_empty() { None } else { Some(format!("run {}", run.id)) };
    let machine = fact("cpu_model").or_else(|| Some(run.environment.fingerprint.clone()));
    let started = Some(minute(&run.started));
    let experiment = Some(run.experiment.clone());
    let facts = [id, experiment, started, machine, fact("os_name"), taken(run)];
    facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(" · ")
}

pub(crate) fn word(verdict: Claimed) -> (&'static str, Style) {
    match verdict {
        Claimed::Confirmed => ("confirmed", Style::Green),
        Claimed::Refuted => ("refuted", Style::Red),
        Claimed::Undecided => ("undecided", Style::Plain),
    }
}

/// `read-for ÷ read, wall: 2.29 (95 % interval 1.88–2.78), claimed is at least 6.5: refuted`.
pub(crate) fn tested(tested: &Tested<'_>) -> String {
    let Tested { test, names: [of, to], verdict, found } = tested;
    let claimed = claimed(test);
    let metric = in_words(&test.metric);
    let what = match &test.to_metric {
        _ if to.is_empty() => format!("{of}, {metric}"),
        Some(other) => format!("{metric} ÷ {} of {of}", in_words(other)),
        None => format!("{of} ÷ {to}, {metric}"),
    };
    let reason = found.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    format!("{what}: {}, claimed is {claimed}: {}{reason}", value(found), word(*verdict).0)
}

fn in_words(name: &str) -> &str {
    if name == "size_bytes" { heading(name) } else { metric::heading(name) }
}

fn value(found: &Ratio) -> String {
    let Some(value) = found.ratio else { return "no ratio".to_owned() };
    let [low, high] = [found.low, found.high].map(|bound| bound.map(small_ratio));
    let value = small_ratio(value);
    match (low, high) {
        (Some(low), Some(high)) if low == high && found.low == found.high => {
            format!("{value} (exact)")
        }
        (Some(low), Some(high)) => format!("{value} (interval {low}–{high})"),
        _ => format!("{value} (no interval)"),
    }
}

/// With two digits, however small it is.
pub(super) fn small_ratio(value: f64) -> String {
    let zeros = if value > 0.0 { (-value.log10()).floor().clamp(0.0, 9.0) } else { 0.0 };
    ratio(value, 2 + zeros as usize)
}

fn claimed(test: &Test) -> String {
    let factor = test.factor;
    let [low, high] = test.range().map(|bound| ratio(bound, 2));
    match test.relation {
        Relation::AtLeast => format!("at least {factor}"),
        Relation::AtMost => format!("at most {factor}"),
        Relation::About => format!("about {factor} ({low}–{high})"),
        Relation::Same => format!("the same ({low}–{high})"),
    }
}
