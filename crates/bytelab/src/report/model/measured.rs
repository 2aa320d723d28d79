//! For how many sessions and rounds each method of a run was measured.

use std::collections::BTreeMap;

use lab::analyze::Analysis;
use lab::run::Run;

use super::rows::{self, WALL};
use super::varying::Varying;

/// None for a run in which all methods take part in all sessions.
pub(crate) fn measured_for(
    run: &Run,
    analysis: &Analysis,
    varying: &Varying<'_>,
) -> Option<String> {
    if run.plan.design.is_fixed() {
        return None;
    }
    let mut groups: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (cell, summary) in run.cells.iter().zip(&analysis.cells) {
        if let Some(wall) = rows::metric(Some(summary), WALL) {
            let name = format!("{}{}", cell.method, varying.of(&cell.point));
            groups.entry((wall.sessions, wall.n)).or_default().push(name);
        }
    }
    let said = groups.iter().rev().map(|((sessions, rounds), names)| {
        format!("{} in {sessions} sessions ({rounds} rounds)", names.join(", "))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("{}; what is decided leaves.", said.join("; ")))
}
