//! Below the tables: what the commands print themselves, against the reference, one line each.

use lab::analyze::{Analysis, Change, OwnComparison};

use super::page::Page;
use crate::report::model::table::Style;
use crate::report::model::{Varying, units};

/// Further lines are only counted.
const MANY: usize = 24;

pub(crate) fn write(
    page: &mut Page,
    analysis: &Analysis,
    metrics: &[String],
    varying: &Varying<'_>,
) {
    let lines: Vec<&OwnComparison> =
        analysis.own.iter().filter(|own| metrics.contains(&own.metric)).collect();
    let mut heading = ("", "");
    for own in lines.iter().take(MANY) {
        if heading != (own.metric.as_str(), own.reference.as_str()) {
            heading = (&own.metric, &own.reference);
            page.blank();
            page.paragraph(Style::Bold, "", &format!("{}, against {}:", heading.0, heading.1));
        }
        line(page, own, varying);
    }
    if let Some(left) = lines.len().checked_sub(MANY).filter(|left| *left > 0) {
        page.paragraph(Style::Dim, "", &format!("  … and {left} more, --json has all"));
    }
}

fn line(page: &mut Page, own: &OwnComparison, varying: &Varying<'_>) {
    let ratio = match (own.ratio, own.low, own.high) {
        (Some(ratio), Some(low), Some(high)) => {
            let decimals = if high - low < 0.05 { 3 } else { 2 };
            let all = [ratio, low, high].map(|ratio| units::ratio(ratio, decimals));
            format!("{} ({} to {}) ", all[0], all[1], all[2])
        }
        (Some(ratio), ..) => format!("{} ", units::ratio(ratio, 2)),
        _ => String::new(),
    };
    let style = if own.change == Change::Undecided { Style::Dim } else { Style::Plain };
    let what = format!("  {}{}: ", own.method, varying.of(&own.point));
    page.line(&[(Style::Plain, &what), (Style::Plain, &ratio), (style, own.change.word())]);
}
