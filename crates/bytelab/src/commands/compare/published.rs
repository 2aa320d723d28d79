//! Compares a side with published results, or two published results. Both are shown as figures
//! without a verdict; the claims of a study have one, by the samples of the runs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use lab::analyze::{Analysis, analyze};
use lab::metric;
use lab::run::{Role, Run};

use crate::commands::Context;
use crate::commands::context::layout;
use crate::commands::study::{absent, published};
use crate::numbers;
use crate::reference::{self, Figure, PREFIX, Published, Study};
use crate::report;
use crate::report::compare::Side;
use crate::report::published::{self as documents, Beside};
use crate::report::study::StudyReport;
use crate::report::{View, view};

/// A side that is compared with a published one.
pub(super) enum ComparedSide {
    Stored(Side),
    Published(NamedResults),
}

/// A study, or one of its results.
pub(crate) struct NamedResults {
    name: String,
    study: &'static Study,
    /// One for each machine.
    pub(crate) results: Vec<Published>,
}

impl NamedResults {
    /// Whether the whole study is meant, and not one of its machines. Where the only result of a
    /// study has its name, both are the same.
    fn is_study(&self) -> bool {
        self.name == self.study.name
    }
}

/// The study or the result of this name, without the prefix.
pub(crate) fn named(name: &str) -> Result<NamedResults> {
    let of = |result: &Published| {
        reference::studies().iter().find(|study| study.published.contains(&result.name))
    };
    let found = match (reference::find(name), reference::study(name)) {
        (Some(result), _) => of(&result).map(|study| (study, vec![result])),
        (None, study) => study.map(|study| (study, published(study))),
    };
    let (study, results) = found.with_context(|| {
        let results = reference::all().into_iter().map(|published| published.name);
        let studies = reference::studies().iter().map(|study| study.name.clone());
        let all: BTreeSet<String> = results.chain(studies).collect();
        let all = all.into_iter().collect::<Vec<_>>().join(", ");
        format!("no published result {name:?}; there are {all}")
    })?;
    Ok(NamedResults { name: name.to_owned(), study, results })
}

/// The experiments that a published result or a study may be compared with.
pub(super) fn experiments(name: &str) -> BTreeSet<String> {
    let Ok(named) = named(name) else { return BTreeSet::new() };
    if named.is_study() {
        named.study.parts.iter().map(|part| part.experiment.clone()).collect()
    } else {
        named.results.iter().map(|result| result.experiment.to_owned()).collect()
    }
}

pub(super) fn looked_at(
    a: ComparedSide,
    b: ComparedSide,
    json: bool,
    context: &Context,
) -> Result<String> {
    let (study, is_study) = match (&a, &b) {
        (ComparedSide::Published(one), ComparedSide::Published(other)) => {
            ensure!(
                one.study.name == other.study.name,
                "{} is of {} and {} of {}: they have no job in common",
                one.name,
                one.study.name,
                other.name,
                other.study.name
            );
            (one.study, one.is_study() || other.is_study())
        }
        (ComparedSide::Published(named), ComparedSide::Stored(side))
        | (ComparedSide::Stored(side), ComparedSide::Published(named)) => {
            ensure!(
                side.runs.len() == 1 || named.is_study(),
                "{} are {} runs: name the one that is to stand beside {PREFIX}{}",
                side.name,
                side.runs.len(),
                named.name
            );
            (named.study, named.is_study())
        }
        (ComparedSide::Stored(_), ComparedSide::Stored(_)) => bail!("neither side is published"),
    };
    if json && !is_study {
        return of_two(a, b, study);
    }
    let (mut results, mut runs): (Vec<Published>, Vec<Run>) = (Vec::new(), Vec::new());
    for side in [a, b] {
        match side {
            ComparedSide::Stored(side) => runs.extend(side.runs),
            ComparedSide::Published(named) => results.extend(named.results),
        }
    }
    let mut known = BTreeSet::new();
    results.retain(|result| known.insert(result.name.clone()));
    let analyses: Vec<Analysis> = runs.iter().map(analyze).collect();
    let absent = if runs.is_empty() { BTreeMap::new() } else { absent(study, context) };
    let report = StudyReport {
        study,
        published: &results,
        runs: runs.iter().zip(&analyses).collect(),
        absent: &absent,
    };
    if json {
        report::study::json(&report)
    } else {
        Ok(report::study::text(&report, is_study && !runs.is_empty(), &layout()))
    }
}

/// Two sides of one machine each as a document.
fn of_two(a: ComparedSide, b: ComparedSide, study: &Study) -> Result<String> {
    let name = |side: &ComparedSide| match side {
        ComparedSide::Published(named) => Some(named.name.clone()),
        ComparedSide::Stored(_) => None,
    };
    let other = name(&a).or_else(|| name(&b)).unwrap_or_default();
    let mut notes = Vec::new();
    let mut side = |compared: ComparedSide| match compared {
        ComparedSide::Published(named) => named.results.into_iter().next().map(Beside::of),
        ComparedSide::Stored(side) => {
            notes.extend(other_work(&side.runs[0], study));
            Some(of_run(&side, &other))
        }
    };
    let (Some(a), Some(b)) = (side(a), side(b)) else { bail!("{other} has no figures") };
    let experiment = study.parts.first().map_or("", |part| part.experiment.as_str());
    documents::json(experiment, &a, &b, &notes)
}

/// What the run did more or less of than the author: times of different amounts of data are not
/// times of the same job.
fn other_work(run: &Run, study: &Study) -> Vec<String> {
    let analysis = analyze(run);
    let absent = BTreeMap::new();
    let runs = vec![(run, &analysis)];
    StudyReport { study, published: &[], runs, absent: &absent }.other_work()
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
