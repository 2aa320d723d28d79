//! The thresholds of the run, a line for each method and point.

use lab::analyze::{Analysis, ThresholdOutcome, ThresholdVerdict};
use lab::metric::unit;
use lab::run::RATIO;

use super::page::Page;
use crate::report::model::table::Style;
use crate::report::model::{Varying, units};

pub(crate) fn write(page: &mut Page, analysis: &Analysis, varying: &Varying<'_>) {
    if analysis.thresholds.is_empty() {
        return;
    }
    page.blank();
    for outcome in &analysis.thresholds {
        let (style, word) = match outcome.verdict {
            ThresholdVerdict::Kept => (Style::Plain, "threshold kept: "),
            ThresholdVerdict::Exceeded => (Style::Red, "threshold exceeded: "),
            ThresholdVerdict::Undecided => (Style::Red, "threshold undecided: "),
        };
        let text =
            format!("{}{}, {}", outcome.method, varying.of(&outcome.point), figures(outcome));
        page.paragraph(style, word, &text);
    }
}

fn figures(outcome: &ThresholdOutcome) -> String {
    let amount = |value: f64| match outcome.metric.as_str() {
        RATIO => units::ratio(value, 2),
        metric => units::amount(unit(metric), value),
    };
    let mut text = outcome.metric.clone();
    if let Some(value) = outcome.value {
        text = format!("{text} {}", amount(value));
    }
    if let (Some(low), Some(high)) = (outcome.low, outcome.high)
        && low < high
    {
        text = format!("{text} ({}–{})", amount(low), amount(high));
    }
    text = format!("{text}, allowed {}", amount(outcome.max));
    match &outcome.reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text,
    }
}
