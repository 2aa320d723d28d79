//! The result of a check of a suite, and what gates of a revision against itself show, as JSON; and
//! the Bencher Metric Format.

use std::collections::BTreeMap;

use analysis::Proof;
use anyhow::Result;
use model::run::SCHEMA;
use serde::Serialize;

use super::compact;
use crate::views::suite::SuiteReport;

#[derive(Serialize)]
struct SuiteDocument<'a> {
    schema: u32,
    #[serde(flatten)]
    report: &'a SuiteReport,
}

pub fn json(report: &SuiteReport) -> Result<String> {
    compact(&SuiteDocument { schema: SCHEMA, report })
}

#[derive(Serialize)]
struct ProofDocument<'a> {
    schema: u32,
    allowed_percent: f64,
    #[serde(flatten)]
    proof: &'a Proof,
    benchmarks: &'a [String],
}

pub fn proof_json(proof: &Proof, benchmarks: &[String], allowed_percent: f64) -> Result<String> {
    compact(&ProofDocument { schema: SCHEMA, allowed_percent, proof, benchmarks })
}

/// A measure of a benchmark, as Bencher reads it.
#[derive(Serialize)]
struct BencherMetric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// The latency of the new side of each benchmark, in ns, by its name.
pub fn bmf(report: &SuiteReport) -> Result<String> {
    let mut all: BTreeMap<String, BTreeMap<&str, BencherMetric>> = BTreeMap::new();
    for line in &report.benchmarks {
        let Some(value) = line.new_ns else { continue };
        let (lower_value, upper_value) = line.new_range_ns.unzip();
        let metric = BencherMetric { value, lower_value, upper_value };
        all.insert(line.label(), BTreeMap::from([("latency", metric)]));
    }
    compact(&all)
}
