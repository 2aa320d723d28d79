//! Compares a side with published results, or two published results. Both are shown as figures
//! without a verdict.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use lab::analyze::analyze;
use lab::metric;
use lab::run::{Role, Run};

use crate::numbers;
use crate::reference::{self, Figure};
use crate::report::compare::Side;
use crate::report::published::{self, Beside};
use crate::report::view::{View, view};
use crate::report::{self, Layout};

/// A side that is compared with a published one.
pub(super) enum Kept {
    Stored(Side),
    Published(reference::Published),
}

pub(crate) fn published(name: &str) -> Result<reference::Published> {
    reference::find(name).with_context(|| {
        let all = reference::all().into_iter().map(|published| published.name);
        format!("no published result {name:?}; there are {}", all.collect::<Vec<_>>().join(", "))
    })
}

pub(super) fn looked_at(a: Kept, b: Kept, json: bool, layout: &Layout) -> Result<String> {
    let mut notes = Vec::new();
    let experiment = match (&a, &b) {
        (Kept::Published(one), Kept::Published(other)) => {
            ensure!(
                one.experiment == other.experiment,
                "{} is of {} and {} of {}: they have no job in common",
                one.name,
                one.experiment,
                other.name,
                other.experiment
            );
            one.experiment
        }
        (Kept::Published(published), Kept::Stored(side))
        | (Kept::Stored(side), Kept::Published(published)) => {
            ensure!(
                side.runs.len() == 1,
                "{} are {} runs: name the one that is to stand beside {}{}",
                side.name,
                side.runs.len(),
                reference::PREFIX,
                published.name
            );
            notes.extend(other_payload(&side.runs[0], published));
            published.experiment
        }
        (Kept::Stored(_), Kept::Stored(_)) => bail!("neither side is published"),
    };
    let machine = |kept: &Kept| match kept {
        Kept::Published(published) => Some(published.name.clone()),
        Kept::Stored(_) => None,
    };
    let other = machine(&a).or_else(|| machine(&b)).unwrap_or_default();
    let side = |kept: Kept| match kept {
        Kept::Published(published) => Beside::of(published),
        Kept::Stored(side) => of_run(&side, &other),
    };
    let (a, b) = (side(a), side(b));
    if json {
        published::json(experiment, &a, &b, &notes)
    } else {
        Ok(published::text(&a, &b, &notes, layout))
    }
}

/// Fails if the payloads differ: times of different amounts of data are not times of the same job.
fn other_payload(run: &Run, published: &reference::Published) -> Option<String> {
    let theirs = published.payload_bytes?;
    let sizes: BTreeSet<u64> =
        run.points.iter().filter_map(|point| point.number("size").ok()).collect();
    (sizes.iter().any(|size| *size != theirs)).then(|| {
        let sizes: Vec<String> = sizes.iter().map(|size| lab::param::bytes(*size)).collect();
        format!(
            "its job was {}, this run's {}: of these figures only the throughput can be held against \
             the other; measure with --size {}",
            lab::param::bytes(theirs),
            sizes.join(" and "),
            lab::param::bytes(theirs)
        )
    })
}

/// The p50 of every metric of every method.
fn of_run(side: &Side, other: &str) -> Beside {
    let run = &side.runs[0];
    let figures = if view(run) == View::Rows { of_numbers(run, other) } else { of_cells(run) };
    let model = run.environment.facts.get("cpu_model").and_then(|model| model.as_str());
    Beside {
        name: side.name.clone(),
        machine: model.unwrap_or(&run.environment.fingerprint).to_owned(),
        figures,
        published: None,
    }
}

/// The figures of `numbers`. A row takes the name of the published figure that it is compared with,
/// if that figure means the same on that machine.
fn of_numbers(run: &Run, other: &str) -> Vec<Figure> {
    let machine = if other == "latency-2012" { "2012" } else { other };
    let figure = |(row, p50, n): (&numbers::Row, f64, usize)| {
        let means = row.published_on.is_empty() || row.published_on.contains(&machine);
        let name = if row.published.is_empty() || !means { row.title } else { row.published };
        Figure {
            method: name.trim().to_owned(),
            metric: "wall_ns".to_owned(),
            unit: "ns",
            p50,
            percentiles: Vec::new(),
            n: Some(n as u64),
        }
    };
    report::numbers::p50s(run).into_iter().map(figure).collect()
}

fn of_cells(run: &Run) -> Vec<Figure> {
    let several = run.points.len() > 1;
    let mut figures = Vec::new();
    for summary in &analyze(run).cells {
        let cell = &run.cells[summary.cell];
        if summary.wrong_answer || cell.role == Role::Yardstick {
            continue;
        }
        let at = if several { format!(" ({})", cell.point) } else { String::new() };
        for metric in &summary.metrics {
            let p50 = metric.percentiles.iter().find(|p| (p.p - 50.0).abs() < 0.01);
            figures.extend(p50.map(|p50| Figure {
                method: format!("{}{at}", cell.method),
                metric: metric.metric.clone(),
                unit: metric::unit(&metric.metric),
                p50: p50.value,
                percentiles: Vec::new(),
                n: Some(metric.n as u64),
            }));
        }
    }
    figures
}
