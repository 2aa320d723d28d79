//! Two sides as one JSON document.

use std::collections::BTreeSet;

use anyhow::Result;
use lab::analyze::{Checked, MetricChange, OverallChange, RunComparison, Unmatched};
use lab::run::SCHEMA;
use serde::Serialize;
use serde_json::Value;

use super::compact;
use crate::report::model::compare::{Side, different, notes};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    experiment: &'a str,
    a: SideJson<'a>,
    b: SideJson<'a>,
    differences: Vec<DifferenceJson>,
    comparisons: &'a [MetricChange],
    alone: &'a [Unmatched],
    /// The geometric mean over all points, for each method.
    overall: &'a [OverallChange],
    notes: Vec<String>,
    /// The result of --fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a Checked>,
}

#[derive(Serialize)]
struct SideJson<'a> {
    name: &'a str,
    runs: Vec<&'a str>,
    machines: BTreeSet<&'a str>,
}

impl<'a> SideJson<'a> {
    fn new(side: &'a Side) -> SideJson<'a> {
        let machines = side.runs.iter().map(|run| run.environment.fingerprint.as_str());
        SideJson {
            name: &side.name,
            runs: side.runs.iter().map(|run| run.id.as_str()).collect(),
            machines: machines.collect(),
        }
    }
}

#[derive(Serialize)]
struct DifferenceJson {
    fact: String,
    a: Value,
    b: Value,
}

pub(crate) fn json(
    a: &Side,
    b: &Side,
    sides: &RunComparison,
    gate: Option<&Checked>,
) -> Result<String> {
    let differences = different(a, b).into_iter();
    compact(&Document {
        schema: SCHEMA,
        experiment: &a.runs[0].experiment,
        a: SideJson::new(a),
        b: SideJson::new(b),
        differences: differences.map(|d| DifferenceJson { fact: d.fact, a: d.a, b: d.b }).collect(),
        comparisons: &sides.lines,
        alone: &sides.alone,
        overall: &sides.overall,
        notes: notes(a, b),
        gate,
    })
}
