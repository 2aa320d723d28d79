//! Below the tables: each method compared with itself at another word or path of a param, one line
//! each.

use lab::analyze::{Analysis, ParamComparison, Verdict};

use super::page::Page;
use crate::report::model::table::Style;
use crate::report::model::{Varying, units};

/// If there are more lines than this, only those that show a difference are printed.
const MANY: usize = 24;

pub(crate) fn write(page: &mut Page, analysis: &Analysis, varying: &Varying<'_>) {
    // A ladder of sizes has hundreds of lines.
    let all = analysis.across.len();
    let lines = analysis.across.iter().filter(|across| all <= MANY || is_shown(across));
    let (mut heading, mut left) = (("", ""), all);
    for across in lines.take(MANY) {
        left -= 1;
        if heading != (across.param.as_str(), across.reference_value.as_str()) {
            heading = (&across.param, &across.reference_value);
            page.blank();
            let text = format!("The same method, by {}, against {}:", heading.0, heading.1);
            page.paragraph(Style::Bold, "", &text);
        }
        line(page, across, varying);
    }
    if left > 0 {
        let text = format!("  … and {left} more, --json has all");
        page.paragraph(Style::Dim, "", &text);
    }
}

fn is_shown(across: &ParamComparison) -> bool {
    matches!(across.comparison.verdict, Verdict::Faster | Verdict::Slower)
}

fn line(page: &mut Page, across: &ParamComparison, varying: &Varying<'_>) {
    let comparison = &across.comparison;
    let (verdict, style) = match comparison.verdict {
        Verdict::Faster => (Verdict::Faster, Style::Green),
        Verdict::Slower => (Verdict::Slower, Style::Red),
        Verdict::Same => (Verdict::Same, Style::Plain),
        _ => (Verdict::Undecided, Style::Dim),
    };
    let word = verdict.word();
    let ratio = match (comparison.ratio, comparison.low, comparison.high) {
        (Some(ratio), Some(low), Some(high)) => {
            // A file system in memory takes a hundredth of the time of a device.
            let decimals = if ratio < 0.1 { 4 } else { 2 };
            let all = [ratio, low, high].map(|ratio| units::ratio(ratio, decimals));
            format!("{} ({} to {}) ", all[0], all[1], all[2])
        }
        (Some(ratio), ..) => format!("{} ", units::ratio(ratio, 2)),
        _ => String::new(),
    };
    let what = format!("  {}{}: ", comparison.method, varying.of(&comparison.point));
    page.line(&[(Style::Plain, &what), (Style::Plain, &ratio), (style, word)]);
}
