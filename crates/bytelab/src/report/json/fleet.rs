//! Groups of runs beside each other as one JSON document.

use anyhow::Result;
use lab::analyze::FleetPoint;
use lab::run::SCHEMA;
use serde::Serialize;

use super::compact;
use crate::report::model::fleet::FleetReport;

#[derive(Serialize)]
struct Document<'a> {
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

pub(crate) fn json(report: &FleetReport<'_>) -> Result<String> {
    let groups = report.groups.iter().map(|group| GroupJson {
        name: &group.name,
        runs: group.runs.iter().map(|run| run.id.as_str()).collect(),
    });
    compact(&Document {
        schema: SCHEMA,
        experiment: report.experiment,
        by: report.by,
        groups: groups.collect(),
        points: &report.fleet.points,
    })
}
