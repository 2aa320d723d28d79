//! The stored runs, one method over time or by commit, and what got slower lately.

use analysis::{CommitSeries, Series};
use anyhow::Result;
use model::metric;
use model::run::SCHEMA;
use serde::Serialize;

use super::compact;
use crate::views::history::{Alert, HistoryEntry};

/// An array with all listed facts of each run.
pub fn runs(runs: &[HistoryEntry]) -> Result<String> {
    Ok(serde_json::to_string_pretty(runs)?)
}

#[derive(Serialize)]
struct OverTimeDocument<'a> {
    schema: u32,
    method: &'a str,
    metric: &'a str,
    unit: &'a str,
    series: &'a [Series],
}

pub fn over_time(method: &str, metric: &str, series: &[Series]) -> Result<String> {
    let unit = metric::unit(metric);
    compact(&OverTimeDocument { schema: model::run::SCHEMA, method, metric, unit, series })
}

#[derive(Serialize)]
struct ByCommitDocument<'a> {
    schema: u32,
    method: &'a str,
    metric: &'a str,
    unit: &'a str,
    runs_without_commit: usize,
    series: &'a [CommitSeries],
}

pub fn by_commit(
    method: &str,
    metric: &str,
    series: &[CommitSeries],
    runs_without_commit: usize,
) -> Result<String> {
    let unit = metric::unit(metric);
    let schema = model::run::SCHEMA;
    compact(&ByCommitDocument { schema, method, metric, unit, runs_without_commit, series })
}

/// Recent slowdowns, as one JSON document.
#[derive(Serialize)]
struct AlertDocument<'a> {
    schema: u32,
    #[serde(flatten)]
    alert: &'a Alert,
}

pub fn alert(alert: &Alert) -> Result<String> {
    compact(&AlertDocument { schema: SCHEMA, alert })
}
