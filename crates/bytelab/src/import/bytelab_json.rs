//! Our own document, from `bytelab export --format json`: the stored run. It is imported unchanged,
//! with its facts about the machine and about who measured it.

use anyhow::{Context, Result, bail, ensure};
use lab::metric;
use lab::run::{Cell, Run, SCHEMA};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::draft::CELLS_MAX;
use super::read;

#[derive(Deserialize)]
struct Head {
    schema: u32,
    /// Only present in the output of `show --json`.
    #[serde(default)]
    families: Option<IgnoredAny>,
}

pub(super) fn run(text: &str) -> Result<Run> {
    let head: Head = read::json(text)?;
    ensure!(
        head.schema <= SCHEMA,
        "it was written by a newer bytelab (schema {}, known here is {SCHEMA}): update bytelab",
        head.schema
    );
    if head.families.is_some() {
        bail!(
            "what `show --json` prints, which lacks a part of the run: use `bytelab export --format json`"
        );
    }
    let mut run: Run = read::json(text)?;
    humantime::parse_rfc3339(&run.started)
        .with_context(|| format!("started: {:?} is no time in UTC", run.started))?;
    ensure!(!run.experiment.is_empty(), "experiment is empty");
    ensure!(
        !run.experiment.contains(char::is_control),
        "experiment: {:?} has a control character",
        run.experiment
    );
    for (name, n) in [("cells", run.cells.len()), ("points", run.points.len())] {
        ensure!(n <= CELLS_MAX, "{n} {name} are too many: at most {CELLS_MAX}");
    }
    for (at, cell) in run.cells.iter().enumerate() {
        check(cell).with_context(|| format!("cells[{at}]"))?;
    }
    run.id = String::new();
    Ok(run)
}

fn check(cell: &Cell) -> Result<()> {
    let n = cell.samples.len();
    for (name, column) in &cell.values {
        ensure!(column.len() == n, "values[{name:?}] has {} values for {n} samples", column.len());
        for (i, value) in column.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let key = || format!("values[{name:?}][{i}]");
            if metric::is_known(name) {
                read::amount(*value, key)?;
            } else {
                read::finite(*value, key)?;
            }
        }
    }
    Ok(())
}
