//! What got slower lately, as one JSON document.

use anyhow::Result;
use lab::run::SCHEMA;
use serde::Serialize;

use super::compact;
use crate::report::model::history::Alert;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(flatten)]
    alert: &'a Alert,
}

pub(crate) fn json(alert: &Alert) -> Result<String> {
    compact(&Document { schema: SCHEMA, alert })
}
