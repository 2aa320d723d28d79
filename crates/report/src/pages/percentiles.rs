//! The whole distribution: p0 to p100 of every metric of every cell, each with its interval below
//! it; and the wall times as plots.

use analysis::{Analysis, CellSummary, Percentile, Summary};
use model::run::{Cell, Run, Status};
use unicode_width::UnicodeWidthStr;

use super::results::TOO_SMALL;
use crate::document::Document;
use crate::text::{PageLayout, grid};
use crate::views::VaryingParams;
use crate::views::rows::{self, Row, Rows, WALL};
use crate::views::table::{Style, Table, TableColumn};
use crate::views::units::{NONE, Unit, amount, count};
use crate::views::words::{escape_controls, shortened};

pub fn percentiles(run: &Run, analysis: &Analysis, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    let varying = &VaryingParams::of_run(run);
    let (mut too_small, mut one_session) = (false, false);
    for (i, cell) in run.cells.iter().enumerate() {
        heading(&mut page, cell, varying);
        if let Some(summary) = rows::summary(analysis, i) {
            too_small |= table(&mut page, summary);
            one_session |= summary.metrics.iter().any(of_one_session);
            batched(&mut page, summary);
            calls(&mut page, cell);
            if summary.not_counted > 0 {
                let text = format!("{} more samples do not count", summary.not_counted);
                page.paragraph(Style::Plain, "", &text);
            }
        }
        page.gap();
    }
    let legend = "Below each value its 95 % interval, by session, unless all samples are equal.";
    let mark = if too_small {
        format!(" {TOO_SMALL} too few samples or sessions.")
    } else {
        String::new()
    };
    let one = if one_session {
        " With one session, the interval does not cover differences between processes."
    } else {
        ""
    };
    page.paragraph(Style::Plain, "", &format!("{legend}{mark}{one}"));
    page.text(layout)
}

/// Whether its interval is derived from the samples of one set of processes.
fn of_one_session(metric: &Summary) -> bool {
    let has_interval = |p: &Percentile| p.low.is_some() || p.high.is_some();
    metric.sessions == 1 && !metric.constant && metric.percentiles.iter().any(has_interval)
}

/// If an operation is too short for the clock, its tails are unknown.
fn batched(page: &mut Document, summary: &CellSummary) {
    let wall = summary.metrics.iter().find(|metric| metric.metric == rows::WALL);
    let ops = wall.map_or(1, |wall| wall.ops);
    if ops > 1 {
        let text = format!(
            "each sample is the mean of {ops} operations: these are percentiles of means, single \
             operations spread more"
        );
        page.paragraph(Style::Dim, "  ", &text);
    }
}

fn heading(page: &mut Document, cell: &Cell, varying: &VaryingParams<'_>) {
    let name = format!("{}{}", cell.method, varying.in_parentheses(&cell.point));
    let status = match &cell.status {
        Status::Measured => String::new(),
        Status::Skipped(reason) => format!(": skipped — {reason}"),
        Status::Failed(reason) => format!(": failed — {reason}"),
    };
    page.paragraph(Style::Bold, &name, &status);
}

/// At most this many names of system calls are shown; `--json` has all.
const NAMES: usize = 10;

fn calls(page: &mut Document, cell: &Cell) {
    let Some(by_name) = &cell.syscalls_by_name else { return };
    let mut calls: Vec<(&String, f64)> = by_name.iter().map(|(name, n)| (name, *n)).collect();
    calls.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let shown: Vec<String> =
        calls.iter().take(NAMES).map(|(name, n)| format!("{name} {}", count(*n))).collect();
    let more = match calls.len().saturating_sub(NAMES) {
        0 => String::new(),
        more => format!(", and {more} more names"),
    };
    let text = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") + &more };
    page.paragraph(Style::Dim, "  system calls: ", &text);
}

/// Returns whether an interval is missing because n is too small.
fn table(page: &mut Document, summary: &CellSummary) -> bool {
    if summary.metrics.is_empty() {
        return false;
    }
    let (shown, table) = fitted(&summary.metrics, page.width());
    page.headed(table, Style::Dim);
    summary.metrics.iter().filter(|metric| has_bounds(metric)).any(|metric| {
        let inner = shown.iter().filter(|p| is_inner(**p));
        let mut found = inner.filter_map(|p| rows::percentile(metric, *p));
        found.any(|p| p.low.is_none() || p.high.is_none())
    })
}

/// The percentiles shown, from all of them to those that fit on a narrow page.
const CHOICES: [(&[u8], usize); 4] = [
    (&[0, 25, 50, 75, 90, 99, 100], 40),
    (&[0, 25, 50, 75, 90, 99, 100], 22),
    (&[0, 50, 90, 99, 100], 22),
    (&[50, 90, 99], 12),
];

fn fitted(metrics: &[Summary], width: usize) -> (&'static [u8], Table) {
    let table = |(shown, name_width)| (shown, drawn(metrics, shown, name_width));
    let [first, rest @ ..] = CHOICES;
    rest.into_iter().fold(table(first), |fitted, choice| {
        if grid::width(&fitted.1) <= width { fitted } else { table(choice) }
    })
}

fn drawn(metrics: &[Summary], shown: &[u8], name_width: usize) -> Table {
    let values =
        shown.iter().map(|p| TableColumn { gap: 1, ..TableColumn::right(&format!("p{p}")) });
    let columns =
        [TableColumn { gap: 0, ..TableColumn::left("  metric") }, TableColumn::right("n")];
    let mut table = Table::new(columns.into_iter().chain(values).collect());
    for metric in metrics {
        lines(&mut table, metric, shown, name_width);
    }
    table
}

/// A line of values; and, if intervals are possible, a line for each bound.
fn lines(table: &mut Table, metric: &Summary, shown: &[u8], name_width: usize) {
    let found: Vec<(u8, Option<&Percentile>)> =
        shown.iter().map(|p| (*p, rows::percentile(metric, *p))).collect();
    let unit = Unit::for_values(metric.unit, found.iter().filter_map(|(_, p)| Some((*p)?.value)));
    // If all samples have the same count, that number is exact.
    let exact = metric.unit == "count" && metric.constant;
    let unit = if exact { Unit::ONE } else { unit };
    let number = |value: f64| if exact { count(value) } else { unit.number(value) };
    let values = found.iter().map(|(_, p)| p.map_or(NONE.to_owned(), |p| number(p.value)));
    let head = [format!("  {}", label(metric, unit, name_width)), metric.n.to_string()];
    table.row(Style::Plain, head.into_iter().chain(values));
    if has_bounds(metric) {
        let bounds: [(&str, PercentileBound); 2] =
            [("    from", |p| p.low), ("    to", |p| p.high)];
        for (word, bound) in bounds {
            let cells = found.iter().map(|(p, found)| match found {
                Some(found) if is_inner(*p) => {
                    bound(found).map_or(TOO_SMALL.to_owned(), |bound| unit.number(bound))
                }
                _ => String::new(),
            });
            table.row(Style::Dim, [word.to_owned(), String::new()].into_iter().chain(cells));
        }
    }
}

type PercentileBound = fn(&Percentile) -> Option<f64>;

fn has_bounds(metric: &Summary) -> bool {
    metric.n > 0 && !metric.constant
}

/// The smallest and the largest sample never have an interval.
fn is_inner(p: u8) -> bool {
    p > 0 && p < 100
}

/// `wall [ms]`: the metric with the unit in which it is shown, instead of the stored one.
fn label(metric: &Summary, unit: Unit, width: usize) -> String {
    let ending = match metric.unit {
        "ns" => "_ns",
        "bytes" => "_bytes",
        "bytes/s" => "_bytes_per_s",
        _ => "",
    };
    let name = escape_controls(metric.metric.strip_suffix(ending).unwrap_or(&metric.metric));
    let unit = if unit.name.is_empty() { String::new() } else { format!(" [{}]", unit.name) };
    shortened(&name, width.saturating_sub(unit.width())) + &unit
}

// The wall times of each method in the terminal: in the order in which they were taken, which
// shows drift, and as a histogram with one axis for all methods of a point.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Names and figures use the rest of the line.
const NAME_MAX: usize = 24;
const FIGURE: usize = 9;

pub fn plot(run: &Run, analysis: &Analysis, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    let varying = &VaryingParams::of_run(run);
    for rows in rows::all(run, analysis) {
        let lines: Vec<(&Row<'_>, Vec<f64>)> =
            rows.iter().map(|row| (row, samples(row))).filter(|(_, all)| !all.is_empty()).collect();
        if lines.is_empty() {
            continue;
        }
        page.gap();
        let at = varying.shown(&rows.family.point);
        if !at.is_empty() {
            page.title(&at);
        }
        family(&mut page, &rows, &lines);
    }
    page.text(layout)
}

fn samples(row: &Row<'_>) -> Vec<f64> {
    let finite = |value: &f64| value.is_finite() && *value > 0.0;
    row.cell.counted(WALL).map(|(_, value)| value).filter(finite).collect()
}

/// The visible range of a family: from p0 of its fastest method to the end of the axis. A few very
/// long samples would leave only one column for the rest: they are counted in the last column.
struct PercentileAxis {
    from: f64,
    to: f64,
    columns: usize,
}

impl PercentileAxis {
    fn new(lines: &[(&Row<'_>, Vec<f64>)], columns: usize) -> PercentileAxis {
        let mut all: Vec<f64> = lines.iter().flat_map(|(_, all)| all).map(|x| x.ln()).collect();
        all.sort_unstable_by(f64::total_cmp);
        let at =
            |p: f64| analysis::stats::nearest_rank(all.len(), p).map_or(0.0, |rank| all[rank - 1]);
        let (from, to) = (at(0.0), at(99.0));
        PercentileAxis { from, to: to.max(from + 0.01), columns }
    }

    fn column(&self, value: f64) -> usize {
        let share = (value.ln() - self.from) / (self.to - self.from);
        ((share * self.columns as f64) as usize).min(self.columns - 1)
    }
}

fn family(page: &mut Document, rows: &Rows<'_>, lines: &[(&Row<'_>, Vec<f64>)]) {
    let widest =
        lines.iter().map(|(row, _)| escape_controls(row.name()).width()).max().unwrap_or_default();
    let name = widest.max("method".len()).min(NAME_MAX).min(page.width() / 3);
    // Two spaces before the name, and between the name, the figure and the two plots.
    let columns = (page.width().saturating_sub(name + FIGURE + 8) / 2).clamp(8, 60);
    let axis = PercentileAxis::new(lines, columns);
    let [from, to] = [axis.from, axis.to].map(|log| amount("ns", log.exp()));
    let fill = columns.saturating_sub(from.width() + to.width()).max(1);
    let mut table = Table::new(vec![
        TableColumn { width_min: name, ..TableColumn::left("method") },
        TableColumn { width_min: FIGURE, ..TableColumn::right("p50") },
        TableColumn { width_min: columns, ..TableColumn::left("in order") },
        TableColumn::left(&format!("{from}{}{to}", " ".repeat(fill))),
    ]);
    for (row, all) in lines {
        let p50 = row.p50(WALL).map(|p50| p50.value).unwrap_or_default();
        let unit = Unit::for_values("ns", [p50]);
        let figure = format!("{} {}", unit.number(p50), unit.name);
        let name = shortened(&escape_controls(row.name()), name);
        table.row(Style::Plain, [name, figure, in_order(all, columns), histogram(all, &axis)]);
    }
    page.headed(table, Style::Bold);
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
    let at = |p: f64| {
        analysis::stats::nearest_rank(sorted.len(), p).map_or(0.0, |rank| sorted[rank - 1])
    };
    let (low, high) = (at(5.0), at(95.0));
    let groups = columns.min(all.len());
    let level = |i: usize| {
        let group = &all[i * all.len() / groups..(i + 1) * all.len() / groups];
        let share = (analysis::stats::median(group) - low) / (high - low);
        let share = if high > low * 1.001 { share.clamp(0.0, 1.0) } else { 0.5 };
        LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
    };
    (0..groups).map(level).collect()
}

/// A column without samples is a space.
fn histogram(all: &[f64], axis: &PercentileAxis) -> String {
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
    use insta::assert_snapshot;
    use model::run::Status;

    use crate::pages::percentiles::percentiles;
    use crate::tests::fixture::Fixture;
    use crate::text::PageLayout;

    fn shown(f: &Fixture, width: usize) -> String {
        percentiles(&f.run, &f.analysis, &PageLayout { width, colour: false })
    }

    fn fixture() -> Fixture {
        let mut f = Fixture::new();
        f.measured("read", [13.8, 13.7, 2.1]).metric("minor_faults", 7.0, 100);
        let faults = f.last().1.metrics.last_mut().unwrap();
        faults.constant = true;
        faults.percentiles.iter_mut().for_each(|p| p.value = 7.0);
        f.last().1.not_counted = 2;
        f.cell("mmap", Status::Measured).metric("wall_ns", 9.7e6, 1).metric("cpu_ns", 0.0, 0);
        f.cell("python", Status::Failed("died".to_owned())).metric("steps_of_its_own", 5e6, 400);
        f.cell("io-uring", Status::Skipped("not permitted".to_owned()));
        f
    }

    #[test]
    fn every_metric_of_every_cell_has_its_distribution() {
        assert_snapshot!(shown(&fixture(), 80), @r"
    read
      metric               n   p0  p25  p50  p75  p90  p99 p100
      wall [ms]          100 13.1 13.5 13.8 14.1 14.4 14.5 14.5
        from                      13.3 13.7 14.0 14.2 14.3
        to                        13.6 14.0 14.3 14.5    ?
      cpu [ms]           100 13.0 13.4 13.7 14.0 14.2 14.4 14.4
        from                      13.2 13.6 13.9 14.1 14.2
        to                        13.5 13.9 14.2 14.4    ?
      throughput [GB/s]  100 9.24 9.48 9.73 9.97 10.1 10.2 10.2
        from                      9.39 9.63 9.87 10.0 10.1
        to                        9.60 9.84 10.1 10.2    ?
      peak_rss [MiB]     100 1.99 2.05 2.10 2.15 2.18 2.20 2.21
        from                      2.03 2.08 2.13 2.16 2.18
        to                        2.07 2.13 2.18 2.21    ?
      minor_faults       100    7    7    7    7    7    7    7
    2 more samples do not count

    mmap
      metric     n   p0  p25  p50  p75  p90  p99 p100
      wall [ms]  1 9.21 9.46 9.70 9.94 10.1 10.2 10.2
        from               ?    ?    ?    ?    ?
        to                 ?    ?    ?    ?    ?
      cpu [ns]   0    —    —    —    —    —    —    —

    python: failed — died
      metric                  n   p0  p25  p50  p75  p90  p99 p100
      steps_of_its_own [M]  400 4.75 4.88 5.00 5.12 5.20 5.25 5.25
        from                         4.83 4.95 5.07 5.15 5.19
        to                           4.93 5.06 5.19 5.26 5.31

    io-uring: skipped — not permitted

    Below each value its 95 % interval, by session, unless all samples are equal. ?
    too few samples or sessions.
    ");
    }

    #[test]
    fn percentiles_of_means_are_called_so() {
        let mut f = fixture();
        f.cell_mut(0).1.metrics.iter_mut().for_each(|metric| metric.ops = 84);
        let text = shown(&f, 200);
        let of_read = text.split("\n\n").next().unwrap();
        assert!(of_read.contains("each sample is the mean of 84 operations"), "{text}");
        assert_eq!(text.matches("is the mean of").count(), 1, "{text}");
    }

    #[test]
    fn what_one_session_does_not_know_is_said() {
        let mut f = fixture();
        let said = "With one session, the interval does not cover differences between processes.";
        assert!(!shown(&f, 200).contains(said));
        f.cell_mut(0).1.metrics[0].sessions = 1;
        assert!(shown(&f, 200).contains(said));
    }

    #[test]
    fn a_narrow_page_has_fewer_percentiles() {
        assert_snapshot!(shown(&fixture(), 50).lines().take(8).collect::<Vec<_>>().join("\n"), @r"
    read
      metric               n   p0  p50  p90  p99 p100
      wall [ms]          100 13.1 13.8 14.4 14.5 14.5
        from                      13.7 14.2 14.3
        to                        14.0 14.5    ?
      cpu [ms]           100 13.0 13.7 14.2 14.4 14.4
        from                      13.6 14.1 14.2
        to                        13.9 14.4    ?
    ");
    }
}

#[cfg(test)]
mod plot_tests {
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
        let axis = PercentileAxis { from: 1f64.ln(), to: 16f64.ln(), columns: 4 };
        assert_eq!(histogram(&[1.0, 1.5, 1.9, 5.0, 5.0, 16.0, 1e9], &axis), "█ ▆▆");
        assert_eq!(histogram(&[], &axis), "    ");
    }
}
