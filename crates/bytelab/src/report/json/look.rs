//! A look at a run that is being measured, as one line of JSON.

use lab::analyze::{Decided, Family, Verdict};
use lab::param::Point;
use lab::run::Run;
use serde::Serialize;

/// The keys are stable; more may be added.
#[derive(Serialize)]
struct Look<'a> {
    event: &'static str,
    run: &'a str,
    /// Whether the run ends with this look.
    all_decided: bool,
    points: Vec<PointJson<'a>>,
}

#[derive(Serialize)]
struct PointJson<'a> {
    point: &'a Point,
    metric: &'a str,
    reference: Option<&'a str>,
    best: Vec<&'a str>,
    undecided: Vec<&'a str>,
    methods: Vec<MethodJson<'a>>,
}

#[derive(Serialize)]
struct MethodJson<'a> {
    method: &'a str,
    /// Whether it takes part in no later session.
    left: bool,
    /// The sessions that it shares with the reference, until the look.
    sessions: usize,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
}

pub(crate) fn json(run: &Run, decided: &Decided, left: &[bool]) -> anyhow::Result<String> {
    let points = decided.families.iter().map(|family| point(run, decided, left, family));
    let points = points.collect();
    super::compact(&Look { event: "look", run: &run.id, all_decided: decided.all, points })
}

fn point<'a>(
    run: &'a Run,
    decided: &'a Decided,
    left: &[bool],
    family: &'a Family,
) -> PointJson<'a> {
    let name = |cell: usize| run.cells.get(cell).map(|cell| cell.method.as_str());
    let names = |cells: &[usize]| cells.iter().filter_map(|cell| name(*cell)).collect();
    let method = |cell: &usize| {
        let found = decided.decision(family, *cell)?;
        Some(MethodJson {
            method: name(*cell)?,
            left: left.get(*cell) == Some(&true),
            sessions: found.sessions,
            ratio: found.ratio,
            low: found.low,
            high: found.high,
            verdict: found.verdict,
        })
    };
    PointJson {
        point: &family.point,
        metric: family.metric,
        reference: family.reference.and_then(name),
        best: names(&family.best),
        undecided: names(&family.undecided),
        methods: family.cells.iter().filter_map(method).collect(),
    }
}
