//! One method over time, drawn with characters: a dot per run, a line per level, and the points at
//! which it changed.

use lab::analyze::{HistoryPoint, NEWEST, Series, SeriesKey};
use lab::metric;
use lab::stats::{CHANGE_ALPHA, LEAST_FOR_CHANGE, median};
use unicode_width::UnicodeWidthStr;

use super::page::{Layout, Page};
use crate::report::model::table::Style;
use crate::report::model::units::{amount, point as shown};
use crate::report::model::words::{cache, minute};

const HEIGHT: usize = 12;
/// Larger differences are shown on a logarithmic axis.
const LINEAR_MAX: f64 = 10.0;

pub(crate) fn text(method: &str, metric: &str, all: &[Series], layout: &Layout) -> String {
    let mut page = Page::new(layout);
    for series in all {
        page.blank();
        heading(&mut page, method, metric, &series.place);
        plot(&mut page, series, metric::unit(metric));
        write_changes(&mut page, series);
    }
    page.into_text()
}

/// The method and the metric, and what is equal for all values.
pub(super) fn heading(page: &mut Page, method: &str, metric: &str, place: &SeriesKey) {
    let cache = cache(place.cache);
    let fresh = if place.fresh { " · fresh processes" } else { "" };
    let machine: String = match place.machine.as_str() {
        "" => "not known".to_owned(),
        known => known.chars().take(8).collect(),
    };
    let at = shown(&place.point);
    let at = if at.is_empty() { at } else { format!(" · {at}") };
    let head = format!("{method}, p50 of {metric}");
    let about = format!(" · {}{at} · {cache}{fresh} · machine {machine}", place.experiment);
    page.line(&[(Style::Bold, &head), (Style::Plain, &about)]);
}

fn plot(page: &mut Page, series: &Series, unit: &'static str) {
    let values: Vec<f64> = series.values.iter().map(|value| value.p50).collect();
    let axis = Axis::from_values(&values);
    let labels: Vec<String> = (0..HEIGHT)
        .map(|row| match row {
            0 | 5 | 11 => amount(unit, axis.value(row)),
            _ => String::new(),
        })
        .collect();
    let margin = labels.iter().map(|label| label.width()).max().unwrap_or_default();
    let width = page.width().saturating_sub(margin + 3).max(10);
    let canvas = canvas(series, &axis, width);
    for (row, label) in labels.iter().enumerate() {
        let fill = " ".repeat(margin - label.width());
        let line: String = canvas[row].iter().collect();
        page.line(&[(Style::Dim, &format!("{fill}{label} ┤")), (Style::Plain, line.trim_end())]);
    }
    let ends =
        |value: Option<&HistoryPoint>| value.map_or(String::new(), |value| minute(&value.started));
    let (first, last) = (ends(series.values.first()), ends(series.values.last()));
    let used = column(values.len().saturating_sub(1), values.len(), width) + 1;
    let gap = used.saturating_sub(first.width() + last.width()).max(1);
    let fill = " ".repeat(margin + 2);
    page.line(&[(Style::Dim, &format!("{fill}{first}{}{last}", " ".repeat(gap)))]);
}

/// The column of the value with this index.
fn column(index: usize, n: usize, width: usize) -> usize {
    // Up to three columns for each run, so that a few runs do not look like many.
    let used = width.min(3 * n.saturating_sub(1) + 1);
    if n < 2 { 0 } else { index * (used - 1) / (n - 1) }
}

fn canvas(series: &Series, axis: &Axis, width: usize) -> Vec<Vec<char>> {
    let values: Vec<f64> = series.values.iter().map(|value| value.p50).collect();
    let n = values.len();
    let mut canvas = vec![vec![' '; width]; HEIGHT];
    let mut starts = vec![0];
    starts.extend(series.changes.iter().map(|change| change.at));
    for (level, from) in starts.iter().enumerate() {
        let to = starts.get(level + 1).copied().unwrap_or(n);
        let row = axis.row(median(&values[*from..to]));
        for cell in &mut canvas[row][column(*from, n, width)..=column(to - 1, n, width)] {
            *cell = '─';
        }
    }
    for change in &series.changes {
        let at = column(change.at, n, width);
        let before = column(change.at - 1, n, width);
        for row in &mut canvas {
            row[(before + 1).min(at)] = '│';
        }
    }
    for (index, value) in values.iter().enumerate() {
        canvas[axis.row(*value)][column(index, n, width)] = '•';
    }
    canvas
}

struct Axis {
    low: f64,
    high: f64,
    logarithms: bool,
}

impl Axis {
    fn from_values(values: &[f64]) -> Axis {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Axis { low, high, logarithms: low > 0.0 && high / low > LINEAR_MAX }
    }

    fn at(&self, value: f64) -> f64 {
        if self.logarithms { value.ln() } else { value }
    }

    /// The row of a value; the top row is 0.
    fn row(&self, value: f64) -> usize {
        let span = self.at(self.high) - self.at(self.low);
        let share = (self.at(self.high) - self.at(value)) / span;
        // Equal values are drawn in the middle.
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
        (share * (HEIGHT - 1) as f64).round() as usize
    }

    fn value(&self, row: usize) -> f64 {
        let share = row as f64 / (HEIGHT - 1) as f64;
        let value = self.at(self.high) - share * (self.at(self.high) - self.at(self.low));
        if self.logarithms { value.exp() } else { value }
    }
}

fn write_changes(page: &mut Page, series: &Series) {
    let n = series.values.len();
    for change in &series.changes {
        let was = &series.values[change.at];
        let by = change.ratio.map_or(String::new(), |ratio| {
            let word = if ratio >= 1.0 { "more" } else { "less" };
            format!(": {:.1} % {word}", 100.0 * (ratio - 1.0).abs())
        });
        let label = was.label.as_ref().map_or(String::new(), |label| format!(", {label}"));
        let text = format!("from run {} ({}{label}) on{by}", was.id, minute(&was.started));
        page.paragraph(Style::Plain, "change: ", &text);
    }
    let found = match (n, series.changes.len()) {
        (0..LEAST_FOR_CHANGE, _) => {
            format!("{n} runs are too few to see a change: eight at least are needed")
        }
        (_, 0) => format!("no change is shown in {n} runs"),
        (_, count) => format!("{count} in {n} runs"),
    };
    let looked = if n > NEWEST {
        format!(", of which the newest {NEWEST} were looked at")
    } else {
        String::new()
    };
    let chance = 100.0 * CHANGE_ALPHA;
    let text = format!("{found}{looked}; by chance alone, one is shown in {chance:.0} % of series");
    page.paragraph(Style::Dim, "changes: ", &text);
}

#[cfg(test)]
mod tests {
    use lab::analyze::ChangePoint;
    use lab::param::Point;
    use lab::run::CacheState;

    use super::*;

    fn series(values: &[f64], changes: Vec<ChangePoint>) -> Series {
        let was = |(i, p50): (usize, &f64)| HistoryPoint {
            id: (i + 1).to_string(),
            started: format!("2026-01-{:02}T10:00:00Z", i + 1),
            label: None,
            n: 100,
            p50: *p50,
        };
        Series {
            place: SeriesKey {
                experiment: "reading".to_owned(),
                point: Point::default(),
                machine: "0123456789".to_owned(),
                cache: CacheState::Warm,
                fresh: false,
            },
            values: values.iter().enumerate().map(was).collect(),
            changes,
        }
    }

    fn drawn(series: Series, width: usize) -> String {
        text("mmap", "wall_ns", &[series], &Layout { width, colour: false })
    }

    #[test]
    fn levels_and_their_change_are_drawn() {
        let values: Vec<f64> =
            (0..10).map(|i| if i < 5 { 10e6 } else { 12e6 } + f64::from(i * 7 % 3) * 1e5).collect();
        let change = ChangePoint { id: "6".to_owned(), at: 5, ratio: Some(1.2) };
        insta::assert_snapshot!(drawn(series(&values, vec![change]), 60), @r"
        mmap, p50 of wall_ns · reading · warm cache · machine 01234567
        12.2 ms ┤             │ •        •
                ┤             │ ───•──•─────•
                ┤             │
                ┤             │
                ┤             │
        11.2 ms ┤             │
                ┤             │
                ┤             │
                ┤             │
                ┤             │
                ┤      •      │
          10 ms ┤•──•─────•──•│
                 2026-01-01 10:00 UTC 2026-01-10 10:00 UTC
        change: from run 6 (2026-01-06 10:00 UTC) on: 20.0 % more
        changes: 1 in 10 runs; by chance alone, one is shown in 2 %
          of series
        ");
    }

    #[test]
    fn any_series_can_be_drawn() {
        for values in [&[1.0][..], &[5.0; 9], &[1e-300, 1e300, 1.0], &[0.0, 1.0, -1.0]] {
            for width in [1, 60, 200] {
                let text = drawn(series(values, Vec::new()), width);
                assert!(text.contains('•') && !text.contains("NaN"), "{text}");
            }
        }
        let many: Vec<f64> = (0..1000).map(|i| f64::from(i % 17)).collect();
        assert!(drawn(series(&many[..30], Vec::new()), 60).lines().all(|line| line.width() <= 80));
    }
}
