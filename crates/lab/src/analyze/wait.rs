//! How long a method waited for a CPU, as far as it is known, and of what methods that can be
//! subtracted.

use crate::metric::{CPU, CPU_DELAY, WALL, WALL_LESS_WAIT};
use crate::run::{Cell, Pass, Sample};
use crate::stats::median;

/// A method that neither runs nor waits for a CPU in more than this share of its wall time waits
/// for something else.
pub(super) const BLOCKED_SHARE: f64 = 0.1;

/// A wait of more than this share of the wall time is noted.
pub(super) const WAIT_SHARE: f64 = 0.05;

/// The time in which the tasks of a sample were ready to run and had no CPU, all together.
pub(super) fn delay_ns(cell: &Cell, sample: usize) -> Option<f64> {
    cell.value(CPU_DELAY, sample).or_else(|| cell.value("run_queue_wait_ns", sample))
}

/// The share of its wall time in which a cell was ready to run and had no CPU; for several tasks it
/// is the sum, which may exceed 1. None where that is not known.
pub(super) fn wait_share(cell: &Cell) -> Option<f64> {
    share_of(cell, &|_| true)
}

fn share_of(cell: &Cell, counts: &dyn Fn(&Sample) -> bool) -> Option<f64> {
    let counted = cell.samples.iter().enumerate().filter(|(_, s)| s.counts() && counts(s));
    let known = counted.filter_map(|(i, _)| Some((delay_ns(cell, i)?, cell.value(WALL, i)?)));
    let sums = known.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    Some(sums.0 / sums.1).filter(|share| share.is_finite())
}

/// The sum over these of the samples that count; none if there is no such sample.
fn sum(cell: &Cell, metric: &str, counts: &dyn Fn(&Sample) -> bool) -> Option<f64> {
    let values = cell.counted(metric).filter(|(sample, _)| counts(sample));
    values.map(|(_, value)| value).reduce(|sum, value| sum + value)
}

/// Whether the time without the wait is known of most samples: the method waits in one thread, or
/// in one process after the other. Warm-up rounds show that, too.
pub(super) fn has_time_without_wait(cell: &Cell) -> bool {
    let [with, of] = timed(cell).fold([0, 0], |[with, of], i| {
        [with + usize::from(cell.value(WALL_LESS_WAIT, i).is_some()), of + 1]
    });
    2 * with > of
}

/// Whether the time without the wait is the time that the method takes alone: it is known, and the
/// method waits for nothing but a CPU. What it waits for otherwise goes on while it has no CPU, so
/// that the wait for the CPU need not have made it longer.
pub(super) fn computes_alone(cell: &Cell) -> bool {
    let both = timed(cell).filter_map(|i| cell.value(WALL_LESS_WAIT, i).zip(cell.value(CPU, i)));
    let blocked: Vec<f64> = both.map(|(time_ns, cpu_ns)| (time_ns - cpu_ns) / time_ns).collect();
    has_time_without_wait(cell) && median(&blocked) <= BLOCKED_SHARE
}

fn timed(cell: &Cell) -> impl Iterator<Item = usize> {
    let is_timed = |i: &usize| {
        let sample = &cell.samples[*i];
        sample.pass == Pass::Timing
            && sample.not_counted.is_none()
            && cell.value(WALL, *i).is_some()
    };
    (0..cell.samples.len()).filter(is_timed)
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
    fn the_time_without_the_wait_is_that_of_what_computes_in_one_thread() {
        let of = |wait: f64, cpu: f64, every: usize| {
            let cell = with(cell("a", [100.0; 10]), WALL_LESS_WAIT, |wall_ns| wall_ns - wait);
            let mut cell = with(cell, CPU, |_| cpu);
            let column = cell.values.get_mut(WALL_LESS_WAIT).unwrap();
            column.iter_mut().step_by(every).for_each(|value| *value = f64::NAN);
            [has_time_without_wait(&cell), computes_alone(&cell)]
        };
        assert_eq!(of(60.0, 40.0, 3), [true, true]);
        // It waits for something else in a tenth of its own time, or more.
        assert_eq!([of(50.0, 45.0, 3), of(50.0, 44.9, 3)], [[true, true], [true, false]]);
        // Half of the samples lack it.
        assert_eq!(of(60.0, 40.0, 2), [false, false]);
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
