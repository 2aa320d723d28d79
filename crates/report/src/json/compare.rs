//! Two sides, the result of a check, and groups of runs, as one JSON document each.

use std::collections::BTreeSet;

use analysis::{
    Checked, DetectableEffect, FleetPoint, MetricChange, OverallChange, RunComparison, Unmatched,
};
use anyhow::Result;
use model::facts::Difference;
use model::run::SCHEMA;
use serde::Serialize;

use super::compact;
use crate::views::compare::{CheckBaseline, Side, Sides, different, notes};
use crate::views::fleet::FleetReport;

#[derive(Serialize)]
struct ComparisonDocument<'a> {
    schema: u32,
    experiment: &'a str,
    a: SideJson<'a>,
    b: SideJson<'a>,
    differences: Vec<Difference>,
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

pub fn json(a: &Side, b: &Side, sides: &RunComparison, gate: Option<&Checked>) -> Result<String> {
    compact(&ComparisonDocument {
        schema: SCHEMA,
        experiment: &a.runs[0].experiment,
        a: SideJson::new(a),
        b: SideJson::new(b),
        differences: different(a, b),
        comparisons: &sides.lines,
        alone: &sides.alone,
        overall: &sides.overall,
        notes: notes(a, b),
        gate,
    })
}

// The result of a check as JSON.

pub fn detectable_effects_json(found: &[DetectableEffect]) -> Result<String> {
    compact(&serde_json::json!({ "schema": SCHEMA, "dry_run": true, "lines": found }))
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a str>,
    runs: &'a [&'a str],
    #[serde(flatten)]
    checked: &'a Checked,
}

pub fn check_json(sides: &Sides<'_>, checked: &Checked) -> Result<String> {
    let (baseline, baseline_id, against) = match sides.against {
        CheckBaseline::Baseline { name, id } => (Some(name), Some(id), None),
        CheckBaseline::Old(old) => (None, None, Some(old)),
    };
    compact(&CheckDocument {
        schema: SCHEMA,
        baseline,
        baseline_id,
        against,
        runs: &sides.now,
        checked,
    })
}

/// Groups of runs beside each other as one JSON document.
#[derive(Serialize)]
struct FleetDocument<'a> {
    schema: u32,
    experiment: &'a str,
    by: &'a str,
    groups: Vec<GroupJson<'a>>,
    points: &'a [FleetPoint],
}

#[derive(Serialize)]
struct GroupJson<'a> {
    name: &'a str,
    runs: Vec<&'a str>,
}

pub fn fleet_json(report: &FleetReport<'_>) -> Result<String> {
    let groups = report.groups.iter().map(|group| GroupJson {
        name: &group.name,
        runs: group.runs.iter().map(|run| run.id.as_str()).collect(),
    });
    compact(&FleetDocument {
        schema: SCHEMA,
        experiment: report.experiment,
        by: report.by,
        groups: groups.collect(),
        points: &report.fleet.points,
    })
}
