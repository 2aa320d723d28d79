//! The stored runs, and one method over time.

use anyhow::Result;
use lab::analyze::Series;
use lab::metric;
use serde::Serialize;

use super::compact;
use crate::report::model::history::Entry;

/// An array with all listed facts of each run.
pub(crate) fn runs(runs: &[Entry]) -> Result<String> {
    Ok(serde_json::to_string_pretty(runs)?)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    method: &'a str,
    metric: &'a str,
    unit: &'a str,
    series: &'a [Series],
}

pub(crate) fn over_time(method: &str, metric: &str, series: &[Series]) -> Result<String> {
    let unit = metric::unit(metric);
    compact(&Document { schema: lab::run::SCHEMA, method, metric, unit, series })
}
