//! A published study, or published results, beside runs of ours as one JSON document.

use std::collections::BTreeMap;

use analysis::Claimed;
use anyhow::Result;
use serde::Serialize;

use super::compact;
use crate::published::Figure;
use crate::views::compare::SideFigures;
use crate::views::study::by_figures::{ClaimByFigures, FiguresVerdict, by_figures};
use crate::views::study::{
    ClaimOutcome, ClaimVerdict, FigureOrigin, NotMeasured, StudyLine, StudyReport, TestResult,
};

#[derive(Serialize)]
struct StudyDocument<'a> {
    schema: u32,
    study: &'a str,
    title: &'a str,
    /// The ids of the runs.
    runs: Vec<&'a str>,
    published: Vec<&'a str>,
    differs: Vec<String>,
    rows: Vec<StudyRowJson<'a>>,
    not_measured: Vec<NotMeasured<'a>>,
    claims: Vec<ClaimJson<'a>>,
}

#[derive(Serialize)]
struct StudyRowJson<'a> {
    key: &'a str,
    label: String,
    figures: Vec<LineJson<'a>>,
}

#[derive(Serialize)]
struct LineJson<'a> {
    /// `author`, `same` or `in-its-place`.
    whose: &'static str,
    /// The machine of the author, or the method.
    name: &'a str,
    p50: BTreeMap<&'a str, f64>,
    /// To the first row of the same quantity, on the same machine.
    ratio: Option<f64>,
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    id: &'a str,
    says: &'a str,
    /// The author's words; empty where we have none.
    quote: &'a str,
    /// What the tests cannot see.
    unseen: &'a str,
    by_figures: ByFiguresJson,
    own: OutcomeJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_their_place: Option<OutcomeJson<'a>>,
}

/// By the author's own figures.
#[derive(Serialize)]
struct ByFiguresJson {
    /// `holds`, `holds-in-part`, `fails` or `no-figures`.
    verdict: &'static str,
    machines: Vec<MachineJson>,
}

#[derive(Serialize)]
struct MachineJson {
    machine: String,
    holds: bool,
    values: Vec<f64>,
}

#[derive(Serialize)]
struct OutcomeJson<'a> {
    /// `confirmed`, `confirmed-as-far-as-testable`, `refuted`, `undecided` or `not-testable`.
    verdict: &'static str,
    /// The reasons why tests were not possible.
    missing: Vec<&'a str>,
    tests: Vec<TestJson<'a>>,
}

#[derive(Serialize)]
struct TestJson<'a> {
    of: &'a str,
    to: &'a str,
    metric: &'a str,
    /// The claimed range; no upper bound if it has none.
    min: f64,
    max: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Claimed,
    reason: Option<&'a str>,
}

pub fn json(report: &StudyReport<'_>) -> Result<String> {
    let judgements = report.judgements();
    let figures = by_figures(report.study, report.published);
    compact(&StudyDocument {
        schema: model::run::SCHEMA,
        study: &report.study.name,
        title: &report.study.title,
        runs: report.runs.iter().map(|(run, _)| run.id.as_str()).collect(),
        published: report.published.iter().map(|published| published.name.as_str()).collect(),
        differs: report.differs(),
        rows: rows(report),
        not_measured: report.not_measured(),
        claims: judgements
            .iter()
            .zip(&figures)
            .map(|(judgement, figures)| ClaimJson {
                id: &judgement.claim.id,
                says: &judgement.claim.says,
                quote: &judgement.claim.quote,
                unseen: &judgement.claim.unseen,
                by_figures: of_figures(figures),
                own: outcome(&judgement.own),
                in_their_place: judgement.in_their_place.as_ref().map(outcome),
            })
            .collect(),
    })
}

fn rows<'a>(report: &StudyReport<'a>) -> Vec<StudyRowJson<'a>> {
    let line = |line: &StudyLine<'a>| {
        let (whose, name) = match line.whose {
            FigureOrigin::Author(machine) => ("author", machine),
            FigureOrigin::Same(method) => ("same", method),
            FigureOrigin::InItsPlace(method) => ("in-its-place", method),
        };
        let columns = report.study.columns.iter().map(|column| column.metric.as_str());
        let columns = columns.zip(&line.figures);
        let p50 = columns.filter_map(|(column, figure)| Some((column, (*figure)?)));
        LineJson { whose, name, p50: p50.collect(), ratio: line.ratio }
    };
    let blocks = report.blocks().into_iter();
    blocks
        .map(|block| StudyRowJson {
            key: block.key,
            label: block.label,
            figures: block.lines.iter().map(line).collect(),
        })
        .collect()
}

fn of_figures(claim: &ClaimByFigures<'_>) -> ByFiguresJson {
    let machines = claim.machines.iter().map(|machine| MachineJson {
        machine: machine.machine.clone(),
        holds: machine.holds(),
        values: machine.found.iter().map(|test| test.value).collect(),
    });
    ByFiguresJson {
        verdict: match claim.verdict() {
            FiguresVerdict::Holds => "holds",
            FiguresVerdict::HoldsOn(..) => "holds-in-part",
            FiguresVerdict::Fails => "fails",
            FiguresVerdict::NoFigure => "no-figures",
        },
        machines: machines.collect(),
    }
}

fn outcome<'a>(outcome: &'a ClaimOutcome<'_>) -> OutcomeJson<'a> {
    match outcome {
        ClaimOutcome::NotHere(reason) => {
            OutcomeJson { verdict: "not-testable", missing: vec![reason], tests: Vec::new() }
        }
        ClaimOutcome::Judged { verdict, tests, missing } => OutcomeJson {
            verdict: match verdict {
                ClaimVerdict::Confirmed => "confirmed",
                ClaimVerdict::ConfirmedInPart => "confirmed-as-far-as-testable",
                ClaimVerdict::Refuted => "refuted",
                ClaimVerdict::Undecided => "undecided",
            },
            missing: missing.iter().map(String::as_str).collect(),
            tests: tests.iter().map(test).collect(),
        },
    }
}

fn test<'a>(tested: &'a TestResult<'_>) -> TestJson<'a> {
    let [min, max] = tested.test.range();
    let [of, to] = &tested.names;
    TestJson {
        of,
        to,
        metric: &tested.test.metric,
        min,
        max: Some(max).filter(|max| max.is_finite()),
        ratio: tested.found.ratio,
        low: tested.found.low,
        high: tested.found.high,
        verdict: tested.verdict,
        reason: tested.found.reason.as_deref(),
    }
}

/// A run and published results as one JSON document.
#[derive(Serialize)]
struct PublishedDocument<'a> {
    schema: u32,
    experiment: &'a str,
    a: SideFiguresJson<'a>,
    b: SideFiguresJson<'a>,
    /// The ratios of methods and metrics that both sides have.
    ratios: Vec<RatioJson<'a>>,
    /// Always `None`.
    verdict: Option<&'a str>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct SideFiguresJson<'a> {
    name: &'a str,
    machine: &'a str,
    published: bool,
    source: Option<&'a str>,
    caveat: Option<&'a str>,
    figures: &'a [Figure],
}

#[derive(Serialize)]
struct RatioJson<'a> {
    method: &'a str,
    metric: &'a str,
    a: f64,
    b: f64,
    ratio: f64,
}

pub fn published(
    experiment: &str,
    a: &SideFigures,
    b: &SideFigures,
    notes: &[String],
) -> Result<String> {
    let ratios = a.figures.iter().filter_map(|figure| {
        let (method, metric) = (figure.method.as_str(), figure.metric.as_str());
        let (of_a, of_b) = (figure.p50, b.p50(method, metric)?);
        let ratio = Some(of_b / of_a).filter(|ratio| ratio.is_finite())?;
        Some(RatioJson { method, metric, a: of_a, b: of_b, ratio })
    });
    compact(&PublishedDocument {
        schema: model::run::SCHEMA,
        experiment,
        a: SideFiguresJson::new(a),
        b: SideFiguresJson::new(b),
        ratios: ratios.collect(),
        verdict: None,
        notes,
    })
}

impl<'a> SideFiguresJson<'a> {
    fn new(side: &'a SideFigures) -> SideFiguresJson<'a> {
        SideFiguresJson {
            name: &side.name,
            machine: &side.machine,
            published: side.published.is_some(),
            source: side.published.map(|(source, _)| source),
            caveat: side.published.map(|(_, caveat)| caveat),
            figures: &side.figures,
        }
    }
}
