//! A sweep: how a metric depends on one numeric param. One panel for each combination of the other
//! params that vary, one line for each method and run.

use std::collections::BTreeMap;

use lab::analyze::Analysis;
use lab::analyze::size_sweep::announced;
use lab::param::{Point, Value};
use lab::run::Run;
use serde::Serialize;

use crate::report::model::units;
use crate::report::model::varying::Varying;
use crate::report::model::words::clean;

/// Maps an index of a run and of its cell to the index of the drawn cell.
pub(crate) type CellIndexes = BTreeMap<(usize, usize), usize>;

/// More panels than these are not drawn.
const PANELS_MAX: usize = 24;

#[derive(Serialize)]
pub(crate) struct Sweep {
    pub(crate) param: String,
    /// Each value of the param, and its text.
    pub(crate) values: Vec<(u64, String)>,
    /// Whether it shows the latency of memory by the size of the set: then p10 is drawn, with the
    /// caches that the operating system reports.
    pub(crate) ladder: bool,
    pub(crate) caches: Vec<(&'static str, u64)>,
    pub(crate) panels: Vec<Panel>,
    pub(crate) panels_left_out: usize,
}

#[derive(Serialize)]
pub(crate) struct Panel {
    /// The other params' values; empty if no other param varies.
    pub(crate) title: String,
    pub(crate) lines: Vec<SweepLine>,
}

#[derive(Serialize)]
pub(crate) struct SweepLine {
    pub(crate) method: String,
    /// What distinguishes it from other lines of the method.
    pub(crate) kind: String,
    pub(crate) run: usize,
    /// A value of the param, and the index of the cell that is drawn there; sorted by value.
    pub(crate) cells: Vec<(u64, usize)>,
}

/// One for each param that has two or more numbers, the one with the most first.
pub(crate) fn all(
    shown: &[(Run, Analysis)],
    varying: &Varying<'_>,
    known: &CellIndexes,
) -> Vec<Sweep> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for param in &varying.names {
        sweeps.extend(sweep(shown, param, varying, known, false));
        sweeps.extend(sweep(shown, param, varying, known, true));
    }
    sweeps.sort_by_key(|sweep| (!sweep.ladder, std::cmp::Reverse(sweep.values.len())));
    sweeps
}

fn sweep(
    shown: &[(Run, Analysis)],
    param: &str,
    varying: &Varying<'_>,
    known: &CellIndexes,
    is_ladder: bool,
) -> Option<Sweep> {
    let mut panels: Vec<Panel> = Vec::new();
    for (number, (run, analysis)) in shown.iter().enumerate() {
        for family in &analysis.families {
            let Some(Value::Number(x)) = family.point.get(param) else { continue };
            if is_ladder != (param == "size" && super::super::size_sweep::holds(run, &family.point))
            {
                continue;
            }
            let panel = panel(&mut panels, &title(&family.point, param, varying, is_ladder));
            for index in &family.cells {
                let Some(drawn) = known.get(&(number, *index)) else { continue };
                let cell = &run.cells[*index];
                let kind = if is_ladder { pages(&cell.point) } else { String::new() };
                let method = clean(&cell.method).into_owned();
                panel.add(SweepLine { method, kind, run: number, cells: vec![(*x, *drawn)] });
            }
        }
    }
    panels.retain(|panel| panel.values().len() > 1);
    let panels_left_out = panels.len().saturating_sub(PANELS_MAX);
    panels.truncate(PANELS_MAX);
    let mut values: Vec<u64> = panels.iter().flat_map(Panel::values).collect();
    values.sort_unstable();
    values.dedup();
    let values: Vec<_> = values.into_iter().map(|n| (n, words(n))).collect();
    let caches = shown.first().filter(|_| is_ladder).map(|(run, _)| announced(run));
    (!panels.is_empty()).then(|| Sweep {
        param: clean(param).into_owned(),
        values,
        ladder: is_ladder,
        caches: caches.unwrap_or_default(),
        panels,
        panels_left_out,
    })
}

/// `64Ki`, `100k`: exact, and short enough for a tick.
fn words(n: u64) -> String {
    let binary = units::short(n);
    if !binary.ends_with(|c: char| c.is_ascii_digit()) {
        return binary;
    }
    let decimal = [("G", 1_000_000_000), ("M", 1_000_000), ("k", 1000)];
    let found = decimal.into_iter().find(|(_, size)| n >= *size && n.is_multiple_of(*size));
    found.map_or(binary, |(letter, size)| format!("{}{letter}", n / size))
}

fn title(point: &Point, param: &str, varying: &Varying<'_>, is_ladder: bool) -> String {
    let other = |name: &str| name != param && !(is_ladder && name == "pages");
    clean(&varying.shown(&point.only(other))).into_owned()
}

fn pages(point: &Point) -> String {
    point.text("pages").map(|pages| format!("{} pages", clean(pages))).unwrap_or_default()
}

fn panel<'p>(panels: &'p mut Vec<Panel>, title: &str) -> &'p mut Panel {
    let found = panels.iter().position(|panel| panel.title == title).unwrap_or_else(|| {
        panels.push(Panel { title: title.to_owned(), lines: Vec::new() });
        panels.len() - 1
    });
    &mut panels[found]
}

impl Panel {
    fn add(&mut self, line: SweepLine) {
        let same = |known: &&mut SweepLine| {
            (&known.method, &known.kind, known.run) == (&line.method, &line.kind, line.run)
        };
        match self.lines.iter_mut().find(same) {
            Some(known) => {
                known.cells.extend(line.cells);
                known.cells.sort_unstable();
                known.cells.dedup_by_key(|(x, _)| *x);
            }
            None => self.lines.push(line),
        }
    }

    fn values(&self) -> Vec<u64> {
        let mut values: Vec<u64> =
            self.lines.iter().flat_map(|line| &line.cells).map(|(x, _)| *x).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}
