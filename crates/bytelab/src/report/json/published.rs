//! A run and published results as one JSON document.

use anyhow::Result;
use serde::Serialize;

use super::compact;
use crate::report::model::compare::Beside;

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
