//! Errors of earlier metric definitions that have been corrected. A run stores the versions of the
//! metrics with which it was measured; values that an older version is known to have measured
//! wrongly are left out when the run is loaded.

use super::{PEAK_RSS, THROUGHPUT};
use crate::run::{Cell, Run, Warning};

/// How a method of a stored run did its job, as far as definitions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Built in, in its own process.
    BuiltIn,
    /// In processes that the method started.
    ByOthers,
    /// In a program that speaks the line protocol.
    Worker,
    /// In a program that was started for each sample.
    Command,
}

/// The error of all versions of the metrics below this one.
struct Mended {
    metrics: &'static [&'static str],
    version: u32,
    of: &'static [Ran],
    why: &'static str,
}

const MENDED: &[Mended] = &[
    Mended {
        metrics: &[
            "wall_less_wait_ns",
            "cpu_ns",
            "run_queue_wait_ns",
            "minor_faults",
            "major_faults",
            "voluntary_switches",
            "involuntary_switches",
        ],
        version: 2,
        of: &[Ran::ByOthers, Ran::Command],
        why: "left out the processes that the method starts",
    },
    Mended {
        metrics: &[PEAK_RSS],
        version: 2,
        of: &[Ran::ByOthers],
        why: "was that of a process of bytelab",
    },
    Mended {
        metrics: &[
            "wall_less_wait_ns",
            "cpu_ns",
            "run_queue_wait_ns",
            "device_read_bytes",
            "device_write_bytes",
            "minor_faults",
            "major_faults",
            "voluntary_switches",
            "involuntary_switches",
        ],
        version: 2,
        of: &[Ran::Worker],
        why: "held what the worker did between samples",
    },
    Mended {
        metrics: &["allocations", "allocated_bytes", "peak_live_bytes"],
        version: 2,
        of: &[Ran::ByOthers],
        why: "left out the processes that the method starts",
    },
    Mended {
        metrics: &["voluntary_switches", "involuntary_switches"],
        version: 3,
        of: &[Ran::Worker],
        why: "were those of the worker's first thread",
    },
    Mended {
        metrics: &[THROUGHPUT],
        version: 2,
        of: &[Ran::Command],
        why: "took every file that the command names for payload",
    },
];

/// The prefix of the reason why a value was left out.
const OLDER: &str = "measured by an older definition";

/// Removes the values from a loaded run that an older definition measured wrongly; a note gives the
/// reason for each. Measurements by another program have definitions of their own.
pub fn leave_out_mended(run: &mut Run, ran: impl Fn(&Cell) -> Ran) {
    if !run.in_rounds() {
        return;
    }
    for Mended { metrics, version, of, why } in MENDED {
        for metric in *metrics {
            if run.plan.metric_versions.get(*metric).copied().unwrap_or(1) >= *version {
                continue;
            }
            for at in 0..run.cells.len() {
                if of.contains(&ran(&run.cells[at])) {
                    leave_out(run, at, metric, why);
                }
            }
        }
    }
}

fn leave_out(run: &mut Run, at: usize, metric: &str, why: &str) {
    let cell = &mut run.cells[at];
    if metric == THROUGHPUT {
        cell.samples.iter_mut().for_each(|sample| sample.bytes = 0);
    }
    if cell.values.remove(metric).is_none() {
        return;
    }
    let note = Warning::missing(metric, format!("{OLDER}, which {why}")).of_method(&cell.method);
    if !run.notes.contains(&note) {
        run.notes.push(note);
    }
}

/// The methods and metrics of which values were left out when the run with these notes was loaded.
pub fn left_out(notes: &[Warning]) -> impl Iterator<Item = (&str, &str)> {
    notes.iter().filter_map(|note| {
        let (metric, why) = note.missing_metric()?;
        note.method.as_deref().filter(|_| why.starts_with(OLDER)).map(|method| (method, metric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_older_bytelab_got_wrong_was_left_out_for_it() {
        let older = Warning::missing("cpu_ns", format!("{OLDER}, which guessed"));
        let other = Warning::missing("syscalls", "it was not counted").of_method("cat");
        let notes = [older.clone(), older.of_method("dd"), other];
        assert_eq!(left_out(&notes).collect::<Vec<_>>(), [("dd", "cpu_ns")]);
    }
}
