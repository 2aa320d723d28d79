//! A run compared with published results, and published results compared with each other: figures
//! of different machines, for orientation only. There is never a verdict.

use lab::metric::{self, ALLOCATIONS, CPU, PEAK_RSS, SYSCALLS, THROUGHPUT, WALL};

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::reference::{PREFIX, Published};
use crate::report::model::published::Beside;
use crate::report::model::table::{Style, Table};
use crate::report::model::units::{NONE, Unit, amount, ratio};

/// The metrics shown for each method, if both sides have one of them.
const METRICS: [&str; 6] = [WALL, CPU, THROUGHPUT, PEAK_RSS, SYSCALLS, ALLOCATIONS];

fn heading(name: &str) -> &str {
    if name == PEAK_RSS { metric::heading(name) } else { metric::short_heading(name) }
}

const NO_VERDICT: &str = "No verdict: these are other machines, other programs and other times. A ratio says \
                          how far apart two figures are, not which way is better.";

pub(crate) fn text(a: &Beside, b: &Beside, notes: &[String], layout: &Layout) -> String {
    let mut page = Page::new(layout);
    for (letter, side) in [("A: ", a), ("B: ", b)] {
        page.paragraph(Style::Bold, letter, &about(side));
    }
    page.blank();
    let shared: Vec<&str> =
        a.methods().into_iter().filter(|method| b.methods().contains(method)).collect();
    if shared.is_empty() {
        listed(&mut page, a, b);
    } else {
        paired(&mut page, a, b, &shared);
    }
    page.blank();
    for (letter, side) in [("A", a), ("B", b)] {
        if let Some((source, caveat)) = side.published {
            page.paragraph(Style::Plain, &format!("source of {letter}: "), source);
            page.paragraph(Style::Plain, &format!("known against {letter}: "), caveat);
        }
    }
    for note in notes {
        page.paragraph(Style::Plain, "note: ", note);
    }
    page.paragraph(Style::Bold, "", NO_VERDICT);
    page.into_text()
}

fn about(side: &Beside) -> String {
    let whose = if side.published.is_some() { "published, another machine: " } else { "" };
    format!("{} · {whose}{}", side.name, side.machine)
}

/// Methods that both sides have: a line each, with the ratio.
fn paired(page: &mut Page, a: &Beside, b: &Beside, shared: &[&str]) {
    for metric in METRICS {
        let both = |method: &&str| Some((a.p50(method, metric)?, b.p50(method, metric)?));
        let rows: Vec<(&str, (f64, f64))> =
            shared.iter().filter_map(|method| Some((*method, both(method)?))).collect();
        if rows.is_empty() {
            continue;
        }
        page.blank();
        let mut table = Table::plain(&[heading(metric), "A", "B", "B/A"], false);
        for (method, (of_a, of_b)) in rows {
            let cells = vec![
                method.to_owned(),
                amount(metric::unit(metric), of_a),
                amount(metric::unit(metric), of_b),
                ratio(of_b / of_a, 2),
            ];
            table.row(Style::Plain, cells);
        }
        grid::write(page, &table, Head::Ruled);
    }
}

/// Methods of one side only: a line for each, with the ratio to the fastest of its own side.
fn listed(page: &mut Page, a: &Beside, b: &Beside) {
    let has = |side: &Beside, metric: &str| side.figures.iter().any(|f| f.metric == metric);
    let metrics: Vec<_> =
        METRICS.iter().filter(|metric| has(a, metric) || has(b, metric)).collect();
    let units: Vec<Unit> = metrics
        .iter()
        .map(|metric| {
            let all = a.figures.iter().chain(&b.figures).filter(|f| f.metric == **metric);
            Unit::of(metric::unit(metric), all.map(|figure| figure.p50))
        })
        .collect();
    let headings: Vec<String> = metrics
        .iter()
        .zip(&units)
        .map(|(metric, unit)| match metric::unit(metric) {
            "bytes/s" => unit.name.to_owned(),
            _ if unit.name.is_empty() => heading(metric).to_owned(),
            _ => format!("{}, {}", heading(metric), unit.name),
        })
        .collect();
    let mut all = vec!["method", "×fastest"];
    all.extend(headings.iter().map(String::as_str));
    for (letter, side) in [("A", a), ("B", b)] {
        page.blank();
        page.line(&[(Style::Bold, &format!("{letter}: {}", about(side)))]);
        let mut table = Table::plain(&all, false);
        let fastest = side.fastest();
        let mut methods = side.methods();
        let wall = |method: &str| side.p50(method, WALL).unwrap_or(f64::INFINITY);
        methods.sort_by(|one, other| wall(one).total_cmp(&wall(other)));
        for method in methods {
            let times = side.p50(method, WALL).zip(fastest).map(|(own, best)| ratio(own / best, 2));
            let mut cells = vec![method.to_owned(), times.unwrap_or(NONE.to_owned())];
            cells.extend(metrics.iter().zip(&units).map(|(metric, unit)| {
                side.p50(method, metric).map_or(NONE.to_owned(), |value| unit.number(value))
            }));
            table.row(Style::Plain, cells);
        }
        grid::write(page, &table, Head::Ruled);
    }
}

/// The figures of one published result.
pub(crate) fn figures(published: &Published, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    let name = format!("{PREFIX}{} · {}", published.name, published.machine);
    page.paragraph(Style::Bold, "", &name);
    page.paragraph(Style::Plain, "", published.title);
    page.paragraph(Style::Plain, "source: ", published.source);
    page.paragraph(Style::Plain, "known against it: ", published.caveat);
    page.blank();
    let heads = ["method", "metric", "p0", "p25", "p50", "p75", "p90", "p99", "p100", "n"];
    let mut table = Table::plain(&heads, false);
    for figure in &published.figures {
        let shown = |p: f64| {
            let found = figure.percentiles.iter().find(|(known, _)| (known - p).abs() < 0.01);
            found.map_or(NONE.to_owned(), |(_, value)| amount(figure.unit, *value))
        };
        let mut cells = vec![figure.method.clone(), figure.metric.clone()];
        cells.extend([0.0, 25.0].map(shown));
        cells.push(amount(figure.unit, figure.p50));
        cells.extend([75.0, 90.0, 99.0, 100.0].map(shown));
        cells.push(figure.n.map_or(NONE.to_owned(), |n| n.to_string()));
        table.row(Style::Plain, cells);
    }
    grid::write(&mut page, &table, Head::Ruled);
    page.into_text()
}

/// All published results, each with its source and its known defects.
pub(crate) fn list(all: &[Published], layout: &Layout) -> String {
    let mut page = Page::new(layout);
    for published in all {
        let name = format!("{PREFIX}{}", published.name);
        page.line(&[(Style::Bold, &name)]);
        let about = format!(
            "{}, on: {}; to stand beside a run of {}",
            published.title, published.machine, published.experiment
        );
        page.hanging("  ", &about);
        page.hanging("  source: ", published.source);
        page.hanging("  known against it: ", published.caveat);
    }
    page.into_text()
}
