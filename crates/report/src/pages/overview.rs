//! What the tables of a run with many points say, in a few lines: what costs what, where the choice
//! matters, and where no difference is shown.

use analysis::Verdict;

use crate::document::Document;
use crate::views::VaryingParams;
use crate::views::answer;
use crate::views::rows::{Row, Rows, WALL};
use crate::views::units::{ns, ratio};

/// Of more points, those that cost the least and the most are named.
const NAMED_MAX: usize = 6;

pub(super) fn compose(page: &mut Document, all: &[&Rows<'_>], varying: &VaryingParams<'_>) {
    page.gap();
    page.answer(costs(all, varying));
    page.answer(surprise(all, varying));
    page.answer(open(all, varying));
}

/// `Costs: job=life 12 µs (pthread), …`: the time of the best method at each point, the least
/// first.
fn costs(all: &[&Rows<'_>], varying: &VaryingParams<'_>) -> String {
    let cost = |rows: &&Rows<'_>| {
        let row = best(rows)?;
        let time = row.p50(WALL)?.value;
        let at = varying.shown(&rows.family.point);
        Some((time, format!("{at} {} ({})", ns(time), row.name())))
    };
    let mut costs: Vec<(f64, String)> = all.iter().filter_map(cost).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut named: Vec<String> = costs.into_iter().map(|(_, text)| text).collect();
    if named.is_empty() {
        return "Nothing was measured.".to_owned();
    }
    if let Some(more) = named.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        let most = NAMED_MAX / 2;
        named.drain(most..most + more);
        named.insert(most, format!("… {more} more …"));
    }
    format!("It costs: {}.", named.join("; "))
}

/// The method that is shown to be the fastest; else the one with the lowest time.
fn best<'r, 'a>(rows: &'r Rows<'a>) -> Option<&'r Row<'a>> {
    let fastest = answer::fastest(rows).and_then(|index| rows.get(index));
    let time = |row: &&Row<'_>| row.p50(WALL).map_or(f64::INFINITY, |p50| p50.value);
    let right = rows.contenders.iter().filter(|row| !row.wrong() && row.unusable().is_none());
    fastest.or_else(|| right.min_by(|a, b| time(a).total_cmp(&time(b))))
}

/// The point at which the slowest method takes the largest multiple of the fastest one's time.
fn surprise(all: &[&Rows<'_>], varying: &VaryingParams<'_>) -> String {
    let spread = |rows: &&Rows<'_>| {
        let reference = rows.reference()?;
        let shown = rows.contenders.iter().filter_map(|row| {
            let comparison = row.comparison?;
            let is_shown = matches!(comparison.verdict, Verdict::Faster | Verdict::Slower);
            Some((comparison.ratio.filter(|_| is_shown)?, row))
        });
        let both: Vec<(f64, &Row<'_>)> = std::iter::once((1.0, reference)).chain(shown).collect();
        let least = both.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let most = both.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let times = most.0 / least.0;
        let text = format!(
            "The choice matters most at {}: {} takes {} times the time of {}.",
            varying.shown(&rows.family.point),
            most.1.name(),
            ratio(times, 1),
            least.1.name()
        );
        (times > 1.0 && times.is_finite()).then_some((times, text))
    };
    let largest = all.iter().filter_map(spread).max_by(|a, b| a.0.total_cmp(&b.0));
    largest.map(|(_, text)| text).unwrap_or_default()
}

/// More points than these are counted instead of named.
const OPEN_MAX: usize = 3;

/// The points with several methods at which none is shown to be faster or slower.
fn open(all: &[&Rows<'_>], varying: &VaryingParams<'_>) -> String {
    let compared = || all.iter().filter(|rows| rows.contenders.len() > 1);
    let is_open = |rows: &&&Rows<'_>| {
        let mut verdicts = rows.contenders.iter().filter_map(|row| Some(row.comparison?.verdict));
        !verdicts.any(|verdict| matches!(verdict, Verdict::Faster | Verdict::Slower))
    };
    let open: Vec<String> =
        compared().filter(is_open).map(|rows| varying.shown(&rows.family.point)).collect();
    match open.len() {
        0 => String::new(),
        n if n > OPEN_MAX => {
            format!("No difference is shown at {n} of {} points.", compared().count())
        }
        _ => format!("No difference is shown at {}.", open.join("; ")),
    }
}
