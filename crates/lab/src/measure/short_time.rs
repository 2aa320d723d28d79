//! What is said where the time of a run is too short for a verdict.

use std::collections::{BTreeMap, BTreeSet};

use super::bench::Bench;
use super::job::Progress;
use super::schedule::Schedule;
use crate::clock;
use crate::run::{Run, Warning};
use crate::stats::LOOKS;

/// Says once how long a run goes on whose own time is too short for its first look.
pub(super) fn announce_longer(bench: &mut Bench<'_>, schedule: &mut Schedule) {
    if let Some(ns) = schedule.said_ns.take() {
        let longer = Progress::Longer { ns, sessions: LOOKS[0] as u32 };
        bench.record.progress(bench.run, &longer);
    }
}

/// Says once, as soon as it is known, which limit would do where the time is too short for a
/// verdict.
pub(super) fn announce_short(bench: &mut Bench<'_>, schedule: &mut Schedule) {
    let had = sessions_of_two(bench.run);
    let Some((sessions, limit_ns)) = schedule.will_be_too_short(had, clock::now_ns()) else {
        return;
    };
    let limit_ns = limit_ns.unwrap_or_default();
    let short = Progress::Short { sessions, limit_ns, given_ns: given_ns(bench.run) };
    bench.record.progress(bench.run, &short);
}

/// The limit of the user; none where the plan has one of its own.
fn given_ns(run: &Run) -> Option<u64> {
    run.plan.limits_all.then_some(run.plan.time_limit_ns)
}

/// Says which limit would do where the time was too short for a verdict.
pub(super) fn note_short_time(run: &mut Run, schedule: &Schedule) {
    let had = sessions_of_two(run);
    let Some((needed, limit_ns)) = schedule.too_short(had, clock::now_ns()) else { return };
    let enough = match limit_ns {
        Some(ns) => format!("--time {}s would do", ns.div_ceil(1_000_000_000)),
        None => "give more --time".to_owned(),
    };
    let why = match given_ns(run) {
        Some(ns) => format!(
            "in {} s there was time for {had} of the {needed} sessions that one takes",
            ns as f64 / 1e9
        ),
        None => format!(
            "one takes {needed} sessions, and runs of a minute or more are not repeated by \
             themselves"
        ),
    };
    let what = if run.cells.len() == 1 { "interval" } else { "verdict" };
    run.notes.push(Warning::noted(format!("no {what}: {why}; {enough}")));
}

/// The number of sessions in which more than one cell has a sample that counts, or the only one.
fn sessions_of_two(run: &Run) -> u32 {
    let mut cells: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for (i, cell) in run.cells.iter().enumerate() {
        for sample in cell.samples.iter().filter(|sample| sample.counts()) {
            cells.entry(sample.session).or_default().insert(i);
        }
    }
    let least = run.cells.len().min(2);
    cells.values().filter(|cells| cells.len() >= least).count() as u32
}
