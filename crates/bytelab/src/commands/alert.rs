//! `bytelab history --alert`: loads the runs in which something may have got slower lately.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use lab::analyze::{NEWEST, slowdowns};
use lab::run::{Listed, Run};

use super::context::{layout, readable};
use super::exit;
use crate::console;
use crate::report::alert::{self, Alert};
use crate::store::Store;

pub(super) fn run(
    days: u32,
    since: &str,
    json: bool,
    listed: &[Listed],
    store: &mut dyn Store,
) -> Result<ExitCode> {
    // Where no run is recent, nothing changed recently.
    let recent = listed.iter().filter(|run| run.started.as_str() >= since);
    let recent: BTreeSet<&str> = recent.map(|run| run.experiment.as_str()).collect();
    let wanted = listed.iter().filter(|run| recent.contains(run.experiment.as_str()));
    let wanted = newest(wanted.collect(), NEWEST);
    let runs = readable(wanted, |run| load(store, &run.id))?;
    let found = Alert::new(days, since, slowdowns(&runs, since), &runs);
    let text = if json { alert::json(&found)? + "\n" } else { alert::text(&found, &layout()) };
    console::stdout().write_all(text.as_bytes())?;
    Ok(exit::of_slowdowns(found.slowdowns.len()))
}

/// The newest runs of each experiment on each machine: no more than these are examined.
fn newest(mut runs: Vec<&Listed>, most: usize) -> Vec<&Listed> {
    runs.sort_by(|a, b| b.started.cmp(&a.started));
    let mut taken: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    runs.retain(|run| {
        let n = taken.entry((&run.experiment, &run.machine.fingerprint)).or_default();
        *n += 1;
        *n <= most
    });
    runs
}

/// Only the times are kept: the runs are in memory together.
fn load(store: &mut dyn Store, id: &str) -> Result<Run> {
    let mut run = store.load(id)?;
    for cell in &mut run.cells {
        cell.values.retain(|metric, _| metric == "wall_ns");
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use lab::run::Machine;

    use super::*;

    #[test]
    fn the_newest_runs_of_each_experiment_and_machine_are_examined() {
        let run = |(i, experiment, machine): (usize, &str, &str)| Listed {
            id: i.to_string(),
            uuid: String::new(),
            experiment: experiment.to_owned(),
            label: None,
            started: format!("2026-01-31T12:00:{i:02}Z"),
            machine: Machine { fingerprint: machine.to_owned(), cpu_model: None },
            complete: true,
            cells: 1,
            samples: 1,
        };
        let runs = [
            (0, "reading", "a"),
            (1, "reading", "a"),
            (2, "reading", "b"),
            (3, "reading", "a"),
            (4, "copying", "a"),
        ];
        let runs = runs.map(run);
        let ids = |most: usize| {
            let newest = newest(runs.iter().collect(), most);
            newest.iter().map(|run| run.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(ids(1), ["4", "3", "2"]);
        assert_eq!(ids(2), ["4", "3", "2", "1"]);
        assert_eq!(ids(9).len(), 5);
    }
}
