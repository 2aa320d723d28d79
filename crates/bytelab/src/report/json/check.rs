//! The result of a check as JSON.

use anyhow::Result;
use lab::analyze::{Checked, Foreseen};
use lab::run::SCHEMA;
use serde::Serialize;

use super::compact;
use crate::report::model::compare::{Against, Sides};

pub(crate) fn foreseen_json(found: &[Foreseen]) -> Result<String> {
    compact(&serde_json::json!({ "schema": SCHEMA, "dry_run": true, "lines": found }))
}

#[derive(Serialize)]
struct Document<'a> {
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

pub(crate) fn json(sides: &Sides<'_>, checked: &Checked) -> Result<String> {
    let (baseline, baseline_id, against) = match sides.against {
        Against::Baseline { name, id } => (Some(name), Some(id), None),
        Against::Old(old) => (None, None, Some(old)),
    };
    compact(&Document { schema: SCHEMA, baseline, baseline_id, against, runs: &sides.now, checked })
}
