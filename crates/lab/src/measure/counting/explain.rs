//! Why a metric of the counting pass is missing.

use super::{Counting, State};
use crate::count::ALLOCATION_METRICS;
use crate::measure::agreement::has;
use crate::metric::{PEAK_RSS, SYSCALLS};
use crate::run::{Cell, Pass, Run};
use crate::warning::{CALLS_BY_NAME, FEWER_COUNTS, PROCESSOR_COUNTERS};

impl Counting<'_, '_> {
    /// Adds a note with the reason for each metric that a cell lacks.
    pub(super) fn explain(&mut self) {
        let hardware = self.sources.missing().clone();
        for (metric, why) in hardware.iter().filter(|(metric, _)| **metric != SYSCALLS) {
            self.bench.note_missing(None, metric, why);
        }
        let metrics: Vec<&str> = std::iter::once(SYSCALLS)
            .chain(ALLOCATION_METRICS)
            .chain(self.sources.metrics().filter(|metric| *metric != SYSCALLS))
            .collect();
        for (index, state) in self.cells.iter().enumerate() {
            let (lost, missing, untraced) = match state {
                State::Idle => continue,
                State::Lost(why) => {
                    let why = format!("the counting pass failed: {why}");
                    (Some(why.clone()), vec![(PEAK_RSS, why)], None)
                }
                State::Live(live) => (None, live.runner.missing(), live.untraced.clone()),
            };
            let method = self.bench.run.cells[index].method.clone();
            for (metric, why) in missing.iter().filter(|(metric, _)| *metric == PEAK_RSS) {
                if self.bench.run.cells[index].counted(metric).next().is_none() {
                    self.bench.note_missing(Some(&method), metric, why);
                }
            }
            for metric in &metrics {
                if has(&self.bench.run.cells[index], metric) {
                    continue;
                }
                let own = missing.iter().find(|(known, _)| known == metric);
                let own = own.map(|(_, why)| why.clone());
                let why = lost.clone().or(own).or_else(|| {
                    let general = hardware.get(metric).cloned().filter(|_| *metric == SYSCALLS);
                    let both = [general, untraced.clone()].into_iter().flatten();
                    Some(both.collect::<Vec<_>>().join("; ")).filter(|why| !why.is_empty())
                });
                let is_reported = |known: &&str| has(&self.bench.run.cells[index], known);
                let reports_others = ALLOCATION_METRICS.iter().any(is_reported);
                let unknown = if ALLOCATION_METRICS.contains(metric) && reports_others {
                    "the method reports its own allocations, but not this"
                } else if ALLOCATION_METRICS.contains(metric) {
                    "the program was built without the allocator that counts"
                } else {
                    "the counter was shared with others"
                };
                let why = why.unwrap_or_else(|| unknown.to_owned());
                self.bench.note_missing(Some(&method), metric, &why);
            }
            if let Some(why) = lost.filter(|_| has(&self.bench.run.cells[index], SYSCALLS)) {
                self.bench.note_missing(Some(&method), FEWER_COUNTS, &why);
            }
            let cell = &self.bench.run.cells[index];
            let is_unnamed = has(cell, SYSCALLS) && cell.syscalls_by_name.is_none();
            if let Some(why) = untraced.filter(|_| is_unnamed) {
                self.bench.note_missing(Some(&method), CALLS_BY_NAME, &why);
            }
        }
        forget_known_peaks(self.bench.run);
        let user_only = self.sources.without_kernel().join(", ");
        if !user_only.is_empty() {
            let text = "what the kernel does for a method is left out; see \
                        kernel.perf_event_paranoid";
            self.bench.note_missing(None, &format!("{PROCESSOR_COUNTERS} ({user_only})"), text);
        }
    }
}

/// The timing pass cannot measure the peak of processes that a method starts, and notes the reason.
/// Where this pass has the peak at all points of the method, the note is removed.
fn forget_known_peaks(run: &mut Run) {
    run.notes.retain(|note| {
        let of = |cell: &&Cell| Some(cell.method.as_str()) == note.method.as_deref();
        let cells = || run.cells.iter().filter(of).filter(|cell| cell.n(Pass::Timing) > 0);
        let known = cells().any(|cell| has(cell, PEAK_RSS))
            && cells().all(|cell| cell.counted(PEAK_RSS).next().is_some());
        !(known && note.missing_metric().is_some_and(|(metric, _)| metric == PEAK_RSS))
    });
}
