//! The wall times of each method in the terminal: in the order in which they were taken, which
//! shows drift, and as a histogram with one axis for all methods of a point.

use lab::analyze::Analysis;
use lab::run::Run;
use unicode_width::UnicodeWidthStr;

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::report::model::Varying;
use crate::report::model::rows::{self, Row, Rows, WALL};
use crate::report::model::table::{Column, Style, Table};
use crate::report::model::units::{Unit, amount};
use crate::report::model::words::{clean, shortened};

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Names and figures use the rest of the line.
const NAME_MAX: usize = 24;
const FIGURE: usize = 9;

pub(crate) fn plot(run: &Run, analysis: &Analysis, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    let varying = &Varying::of_run(run);
    for rows in rows::all(run, analysis) {
        let lines: Vec<(&Row<'_>, Vec<f64>)> =
            rows.iter().map(|row| (row, samples(row))).filter(|(_, all)| !all.is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        page.blank();
        let at = varying.shown(&rows.family.point);
        if !at.is_empty() {
            page.line(&[(Style::Bold, &at)]);
        }
        family(&mut page, &rows, &lines);
    }
    page.into_text()
}

fn samples(row: &Row<'_>) -> Vec<f64> {
    let finite = |value: &f64| value.is_finite() && *value > 0.0;
    row.cell.counted(WALL).map(|(_, value)| value).filter(finite).collect()
}

/// The visible range of a family: from p0 of its fastest method to the end of the axis. A few very
/// long samples would leave only one column for the rest: they are counted in the last column.
struct Axis {
    from: f64,
    to: f64,
    columns: usize,
}

impl Axis {
    fn of(lines: &[(&Row<'_>, Vec<f64>)], columns: usize) -> Axis {
        let mut all: Vec<f64> = lines.iter().flat_map(|(_, all)| all).map(|x| x.ln()).collect();
        all.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| lab::stats::nearest_rank(all.len(), p).map_or(0.0, |rank| all[rank - 1]);
        let (from, to) = (at(0.0), at(99.0));
        Axis { from, to: to.max(from + 0.01), columns }
    }

    fn column(&self, value: f64) -> usize {
        let share = (value.ln() - self.from) / (self.to - self.from);
        ((share * self.columns as f64) as usize).min(self.columns - 1)
    }
}

fn family(page: &mut Page, rows: &Rows<'_>, lines: &[(&Row<'_>, Vec<f64>)]) {
    let widest = lines.iter().map(|(row, _)| clean(row.name()).width()).max().unwrap_or_default();
    let name = widest.max("method".len()).min(NAME_MAX).min(page.width() / 3);
    // Two spaces before the name, and between the name, the figure and the two plots.
    let columns = (page.width().saturating_sub(name + FIGURE + 8) / 2).clamp(8, 60);
    let axis = Axis::of(lines, columns);
    let [from, to] = [axis.from, axis.to].map(|log| amount("ns", log.exp()));
    let fill = columns.saturating_sub(from.width() + to.width()).max(1);
    let mut table = Table::new(vec![
        Column { width_min: name, ..Column::left("method") },
        Column { width_min: FIGURE, ..Column::right("p50") },
        Column { width_min: columns, ..Column::left("in order") },
        Column::left(&format!("{from}{}{to}", " ".repeat(fill))),
    ]);
    for (row, all) in lines {
        let p50 = row.p50(WALL).map(|p50| p50.value).unwrap_or_default();
        let unit = Unit::of("ns", [p50]);
        let figure = format!("{} {}", unit.number(p50), unit.name);
        let name = shortened(&clean(row.name()), name);
        table.row(Style::Plain, [name, figure, in_order(all, columns), histogram(all, &axis)]);
    }
    grid::write(page, &table, Head::Styled(Style::Bold));
    let less_wait =
        if rows.less_wait() { " The verdicts leave out the wait for a CPU." } else { "" };
    let text = format!(
        "Wall time. In order: medians of neighbouring samples, each method between its own p5 and p95. \
         Histogram: how often, on a logarithmic axis; the last column holds all that is longer.{less_wait}"
    );
    page.paragraph(Style::Dim, "", &text);
}

/// Medians of groups of neighbours, one group per column, scaled from the method's p5 to its p95; a
/// method with little variation is a flat line.
fn in_order(all: &[f64], columns: usize) -> String {
    let mut sorted = all.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at =
        |p: f64| lab::stats::nearest_rank(sorted.len(), p).map_or(0.0, |rank| sorted[rank - 1]);
    let (low, high) = (at(5.0), at(95.0));
    let groups = columns.min(all.len());
    let level = |i: usize| {
        let group = &all[i * all.len() / groups..(i + 1) * all.len() / groups];
        let share = (lab::stats::median(group) - low) / (high - low);
        let share = if high > low * 1.001 { share.clamp(0.0, 1.0) } else { 0.5 };
        LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
    };
    (0..groups).map(level).collect()
}

/// A column without samples is a space.
fn histogram(all: &[f64], axis: &Axis) -> String {
    let mut counts = vec![0usize; axis.columns];
    for value in all {
        counts[axis.column(*value)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or_default().max(1);
    let level = |count: &usize| match count {
        0 => ' ',
        count => LEVELS[(count * LEVELS.len()).div_ceil(most) - 1],
    };
    counts.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_rises_and_a_constant_is_flat() {
        let rising: Vec<f64> = (100..180).map(f64::from).collect();
        assert_eq!(in_order(&rising, 8), "▁▂▃▄▅▆▇█");
        assert_eq!(in_order(&[5.0; 20], 4), "▅▅▅▅");
        assert_eq!(in_order(&[1.0, 9.0], 60).chars().count(), 2);
    }

    #[test]
    fn a_histogram_counts_every_sample() {
        let axis = Axis { from: 1f64.ln(), to: 16f64.ln(), columns: 4 };
        assert_eq!(histogram(&[1.0, 1.5, 1.9, 5.0, 5.0, 16.0, 1e9], &axis), "█ ▆▆");
        assert_eq!(histogram(&[], &axis), "    ");
    }
}
