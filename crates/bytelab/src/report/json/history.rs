//! The stored runs, one method over time or by commit, and what got slower lately.

use anyhow::Result;
use lab::analyze::{CommitSeries, Series};
use lab::metric;
use lab::run::SCHEMA;
use serde::Serialize;

use super::compact;
use crate::report::views::history::{Alert, HistoryEntry};

/// An array with all listed facts of each run.
pub(crate) fn runs(runs: &[HistoryEntry]) -> Result<String> {
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

pub(crate) fn over_time(method: &str, metric: &str, series: &[Series]) -> Result<String> {
    let unit = metric::unit(metric);
    compact(&OverTimeDocument { schema: lab::run::SCHEMA, method, metric, unit, series })
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

pub(crate) fn by_commit(
    method: &str,
    metric: &str,
    series: &[CommitSeries],
    runs_without_commit: usize,
) -> Result<String> {
    let unit = metric::unit(metric);
    let schema = lab::run::SCHEMA;
    compact(&ByCommitDocument { schema, method, metric, unit, runs_without_commit, series })
}

/// Recent slowdowns, as one JSON document.
#[derive(Serialize)]
struct AlertDocument<'a> {
    schema: u32,
    #[serde(flatten)]
    alert: &'a Alert,
}

pub(crate) fn alert(alert: &Alert) -> Result<String> {
    compact(&AlertDocument { schema: SCHEMA, alert })
}
