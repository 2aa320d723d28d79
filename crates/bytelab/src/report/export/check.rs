//! The result of a check as Markdown for GitHub's step summary.

use std::fmt::Write as _;

use lab::analyze::Checked;
use lab::metric;

use super::markup;
use crate::report::model::compare::{Against, Sides, against, interval, outcome_word};
use crate::report::model::table::{Column, Style, Table};
use crate::report::model::units::{amount, point as shown, ratio};
use crate::report::model::words::clean;

/// A section to append to `GITHUB_STEP_SUMMARY`.
pub(crate) fn markdown(sides: &Sides<'_>, checked: &Checked) -> String {
    let mut text = format!("### bytelab check: {}\n\n", outcome_word(checked.outcome).0);
    text += &escaped(against(sides).trim());
    let [before, now] = match sides.against {
        Against::Baseline { .. } => ["baseline", "now"],
        Against::Old(_) => ["old", "new"],
    };
    let left = ["outcome", "method", "point", "metric"].map(Column::left);
    let right = [before, now, "ratio"].map(Column::right);
    let last = [Column::left("interval"), Column::right("allowed"), Column::left("")];
    let mut table = Table::new(left.into_iter().chain(right).chain(last).collect());
    for line in &checked.lines {
        let unit = metric::unit(&line.metric);
        let value = |value: Option<f64>| value.map_or(String::new(), |value| amount(unit, value));
        let cells = [
            outcome_word(line.outcome).0.to_owned(),
            line.method.clone(),
            shown(&line.point),
            line.metric.clone(),
            value(line.baseline),
            value(line.now),
            line.ratio.map_or(String::new(), |value| ratio(value, 3)),
            interval(line).unwrap_or_default(),
            format!("{} %", line.allowed_percent),
            match (&line.reason, &line.reference) {
                (Some(reason), _) => reason.clone(),
                (None, Some(reference)) => format!("beside {reference}"),
                (None, None) => String::new(),
            },
        ];
        table.row(Style::Plain, cells);
    }
    format!("{text}\n\n{}\n", markup::table(&table, escaped))
}

/// Escapes line ends, column separators, tags and Markdown markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in clean(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' | '@' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}
