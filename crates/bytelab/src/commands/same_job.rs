//! What holds for runs that are compared: they are different measurements, and may have been made
//! in different places.

use std::collections::HashMap;

use anyhow::{Result, bail};
use lab::experiment::Experiment;
use lab::param::Kind;
use lab::run::Run;

/// A run that was imported twice, or exported and imported, is one measurement, not two values of a
/// side.
pub(super) fn ensure_different<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Result<()> {
    let mut known: HashMap<Vec<u64>, &str> = HashMap::new();
    for run in runs {
        let values = run.cells.iter().flat_map(|cell| cell.values.values().flatten());
        let values: Vec<u64> = values.map(|value| value.to_bits()).collect();
        if values.is_empty() {
            continue;
        }
        if let Some(first) = known.insert(values, &run.id) {
            bail!(
                "runs {first} and {} are the same measurement, value by value: it cannot count twice; name one \
                 of them, or delete one",
                run.id
            );
        }
    }
    Ok(())
}

/// The params of an experiment that name where a job is done.
pub(super) fn places(experiments: &[Experiment], experiment: &str) -> Vec<&'static str> {
    let known = experiments.iter().find(|known| known.name == experiment);
    let params = known.map_or(&[][..], |known| &known.params);
    params.iter().filter(|param| param.kind == Kind::Path).map(|param| param.name).collect()
}
