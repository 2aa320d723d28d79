//! The rows of a run of `numbers`.

use lab::analyze::Analysis;
use lab::run::Run;
use serde::Serialize;

use crate::reference::published;
use crate::report::model::numbers::{self, Number, numbers};
use crate::report::model::{View, view};

/// A row for other programs. Times in ns.
#[derive(Serialize)]
pub(crate) struct RowJson {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    experiment: &'static str,
    method: &'static str,
    point: &'static str,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<f64>,
    /// The best value for comparing two runs.
    p10: Option<f64>,
    p25: Option<f64>,
    p50: Option<f64>,
    /// The interval by session, at 95 %.
    p50_low: Option<f64>,
    p50_high: Option<f64>,
    p90: Option<f64>,
    n: usize,
    sessions: usize,
    disturbed: usize,
    grade: Option<char>,
    published: std::collections::BTreeMap<&'static str, f64>,
}

/// The rows of a run of `numbers`; `None` for any other run.
pub(crate) fn rows(run: &Run) -> Option<Vec<RowJson>> {
    (view(run) == View::Rows).then(|| numbers(run).iter().map(row_json).collect())
}

/// The warnings about the rows of a run of `numbers`; `None` for any other run.
pub(crate) fn notes_of(run: &Run, analysis: &Analysis) -> Option<Vec<String>> {
    (view(run) == View::Rows).then(|| {
        let all = numbers::all_notes(run, analysis, &numbers(run)).into_iter();
        all.map(|(about, text)| about + &text).collect()
    })
}

fn row_json(number: &Number) -> RowJson {
    let row = number.row;
    let figures = number.figures.as_ref().ok();
    RowJson {
        name: row.name,
        title: row.title.trim(),
        unit: "ns",
        experiment: row.experiment,
        method: row.method,
        point: row.point,
        status: number.figures.as_ref().err().cloned().unwrap_or_else(|| "measured".to_owned()),
        size_bytes: number.size_bytes,
        p10: figures.map(|figures| figures.p10),
        p25: figures.map(|figures| figures.p25),
        p50: figures.map(|figures| figures.p50),
        p50_low: figures.and_then(|figures| Some(figures.interval?.0)),
        p50_high: figures.and_then(|figures| Some(figures.interval?.1)),
        p90: figures.map(|figures| figures.p90),
        n: figures.map_or(0, |figures| figures.n),
        sessions: figures.map_or(0, |figures| figures.sessions),
        disturbed: figures.map_or(0, |figures| figures.disturbed),
        grade: figures.map(|figures| figures.grade),
        published: published(row.published, row.published_on).into_iter().collect(),
    }
}
