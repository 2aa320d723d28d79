//! A run compared with published results, and published results compared with each other: figures
//! of different machines, for orientation only. There is never a verdict.

use anyhow::Result;
use lab::metric::{self, ALLOCATIONS, CPU, PEAK_RSS, SYSCALLS, THROUGHPUT, WALL};
use serde::Serialize;

use super::json::compact;
use super::page::Layout;
use super::page::{Page, Style};
use super::table::Table;
use super::text_table::{self, Head};
use super::units::{NONE, Unit, amount, ratio};
use crate::reference::{Figure, PREFIX, Published};

/// A side: its name, its machine, and its figures.
pub(crate) struct Beside {
    pub(crate) name: String,
    pub(crate) machine: String,
    pub(crate) figures: Vec<Figure>,
    /// For a published result: its source, and its known defects.
    pub(crate) published: Option<(&'static str, &'static str)>,
}

impl Beside {
    pub(crate) fn of(published: Published) -> Beside {
        Beside {
            name: format!("{PREFIX}{}", published.name),
            machine: published.machine,
            figures: published.figures,
            published: Some((published.source, published.caveat)),
        }
    }

    fn p50(&self, method: &str, metric: &str) -> Option<f64> {
        let of = |figure: &&Figure| figure.method == method && figure.metric == metric;
        self.figures.iter().find(of).map(|figure| figure.p50).filter(|value| value.is_finite())
    }

    /// The methods in the order of the figures.
    fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = Vec::new();
        for figure in &self.figures {
            if !methods.contains(&figure.method.as_str()) {
                methods.push(&figure.method);
            }
        }
        methods
    }

    fn fastest(&self) -> Option<f64> {
        let walls = self.methods().into_iter().filter_map(|method| self.p50(method, WALL));
        walls.min_by(f64::total_cmp)
    }
}

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
        text_table::write(page, &table, Head::Ruled);
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
        text_table::write(page, &table, Head::Ruled);
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
    text_table::write(&mut page, &table, Head::Ruled);
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

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    experiment: &'a str,
    a: SideJson<'a>,
    b: SideJson<'a>,
    /// The ratios of methods and metrics that both sides have.
    ratios: Vec<RatioJson<'a>>,
    /// Always `None`.
    verdict: Option<&'a str>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct SideJson<'a> {
    name: &'a str,
    machine: &'a str,
    published: bool,
    source: Option<&'a str>,
    caveat: Option<&'a str>,
    figures: Vec<FigureJson<'a>>,
}

#[derive(Serialize)]
struct FigureJson<'a> {
    method: &'a str,
    metric: &'a str,
    unit: &'a str,
    p50: f64,
    n: Option<u64>,
}

#[derive(Serialize)]
struct RatioJson<'a> {
    method: &'a str,
    metric: &'a str,
    a: f64,
    b: f64,
    ratio: f64,
}

pub(crate) fn json(experiment: &str, a: &Beside, b: &Beside, notes: &[String]) -> Result<String> {
    let ratios = a.figures.iter().filter_map(|figure| {
        let (method, metric) = (figure.method.as_str(), figure.metric.as_str());
        let (of_a, of_b) = (figure.p50, b.p50(method, metric)?);
        let ratio = Some(of_b / of_a).filter(|ratio| ratio.is_finite())?;
        Some(RatioJson { method, metric, a: of_a, b: of_b, ratio })
    });
    compact(&Document {
        schema: lab::run::SCHEMA,
        experiment,
        a: SideJson::of(a),
        b: SideJson::of(b),
        ratios: ratios.collect(),
        verdict: None,
        notes,
    })
}

impl<'a> SideJson<'a> {
    fn of(side: &'a Beside) -> SideJson<'a> {
        let figures = side.figures.iter().map(|figure| FigureJson {
            method: &figure.method,
            metric: &figure.metric,
            unit: figure.unit,
            p50: figure.p50,
            n: figure.n,
        });
        SideJson {
            name: &side.name,
            machine: &side.machine,
            published: side.published.is_some(),
            source: side.published.map(|(source, _)| source),
            caveat: side.published.map(|(_, caveat)| caveat),
            figures: figures.collect(),
        }
    }
}
