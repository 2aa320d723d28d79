//! How long a method waited for a CPU, as far as it is known.

use crate::metric::{CPU, WALL};
use crate::run::{Cell, Sample};

/// From this share of the wall time on, the wait for a CPU is subtracted.
pub(super) const WAIT_SHARE: f64 = 0.05;

/// The share of its wall time in which a cell was ready to run and had no CPU; for several threads
/// it is the sum, which may exceed 1. None where that is not known.
pub(super) fn wait_share(cell: &Cell) -> Option<f64> {
    share_of(cell, &|_| true)
}

fn share_of(cell: &Cell, counts: &dyn Fn(&Sample) -> bool) -> Option<f64> {
    let share = sum(cell, "run_queue_wait_ns", counts)? / sum(cell, WALL, counts)?;
    share.is_finite().then_some(share)
}

/// The sum over these of the samples that count; none if there is no such sample.
fn sum(cell: &Cell, metric: &str, counts: &dyn Fn(&Sample) -> bool) -> Option<f64> {
    let values = cell.counted(metric).filter(|(sample, _)| counts(sample));
    values.map(|(_, value)| value).reduce(|sum, value| sum + value)
}

/// From this rate per second of CPU time on, a method that is preempted shares its CPU with others.
/// The slices of Linux take 3 to 6 ms where several tasks want a CPU; on a quiet machine
/// preemptions occur a few times per second.
const PREEMPTIONS_PER_S: f64 = 50.0;

/// Whether a method waited for a CPU during more than a small share of the wall time of these
/// samples, as far as that is known: for a single thread exactly; for a process tree, because it
/// was preempted and took longer than it computed.
pub(super) fn waited(cell: &Cell, counts: impl Fn(&Sample) -> bool) -> bool {
    if let Some(share) = share_of(cell, &counts) {
        return share > WAIT_SHARE;
    }
    let sum = |metric: &str| sum(cell, metric, &counts).unwrap_or_default();
    let (wall, cpu) = (sum(WALL), sum(CPU));
    cpu < wall * (1.0 - WAIT_SHARE) && sum("involuntary_switches") > PREEMPTIONS_PER_S * cpu / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::{cell, with};

    #[test]
    fn a_wait_that_is_known_counts_above_its_limit() {
        let of = |wait: f64| {
            let cell = with(cell("a", [100.0; 10]), "run_queue_wait_ns", |_| wait);
            waited(&cell, |_| true)
        };
        assert_eq!([4.0, 5.0, 5.1].map(of), [false, false, true]);
    }

    #[test]
    fn a_tree_waited_if_it_was_preempted_often_and_computed_less_than_it_took() {
        let of = |cpu: f64, switches: f64| {
            let cell = with(cell("a", [1e9]), "cpu_ns", |_| cpu);
            waited(&with(cell, "involuntary_switches", |_| switches), |_| true)
        };
        // 50 per second of 0.9 s of CPU time.
        assert_eq!([of(0.9e9, 45.0), of(0.9e9, 46.0)], [false, true]);
        let least = 1e9 * (1.0 - WAIT_SHARE);
        assert_eq!([of(least, 1e6), of(0.96e9, 1e6), of(0.94e9, 1e6)], [false, false, true]);
    }
}
