//! How long a method waited for a CPU, as far as it is known, of what methods that can be
//! subtracted, and the bounds of a wall time where it is known only as a sum.

use model::metric::{CPU, CPU_DELAY, LONGEST_TASK_CPU, STEAL, WALL, WALL_LESS_WAIT};
use model::run::{Cell, Pass, Run, Sample};

use super::values::{Compared, Rounds, compared_rounds};
use crate::stats::{self, median};

/// A method that neither runs nor waits for a CPU in more than this share of its wall time waits
/// for something else.
pub(crate) const BLOCKED_SHARE: f64 = 0.1;

/// A wait of more than this share of the wall time is noted.
pub(crate) const WAIT_SHARE: f64 = 0.05;

/// The time in which the tasks of a sample were ready to run and had no CPU, all together.
pub(crate) fn delay_ns(cell: &Cell, sample: usize) -> Option<f64> {
    cell.value(CPU_DELAY, sample).or_else(|| cell.value("run_queue_wait_ns", sample))
}

/// The share of its wall time in which a cell was ready to run and had no CPU; for several tasks it
/// is the sum, which may exceed 1. None where that is not known.
pub(crate) fn wait_share(cell: &Cell) -> Option<f64> {
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
pub(crate) fn has_time_without_wait(cell: &Cell) -> bool {
    let [with, of] = timed(cell).fold([0, 0], |[with, of], i| {
        [with + usize::from(cell.value(WALL_LESS_WAIT, i).is_some()), of + 1]
    });
    2 * with > of
}

/// Whether the time without the wait is the time that the method takes alone: it is known, and the
/// method waits for nothing but a CPU. What it waits for otherwise goes on while it has no CPU, so
/// that the wait for the CPU need not have made it longer.
pub(crate) fn computes_alone(cell: &Cell) -> bool {
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
pub(crate) fn waited(cell: &Cell, counts: impl Fn(&Sample) -> bool) -> bool {
    if let Some(share) = share_of(cell, &counts) {
        return share > WAIT_SHARE;
    }
    let sum = |metric: &str| sum(cell, metric, &counts).unwrap_or_default();
    let (wall, cpu) = (sum(WALL), sum(CPU));
    cpu < wall * (1.0 - WAIT_SHARE) && sum("involuntary_switches") > PREEMPTIONS_PER_S * cpu / 1e9
}

// The bounds between which a wall time without its wait for a CPU lies, and what they show of
// two methods whose waits are known only as a sum (partial identification: Manski 2003; Imbens
// and Manski 2004).

/// Whether a cell waits for something else than a CPU in these samples, as far as that is known: a
/// wait for a CPU that is not known counts as one for something else.
pub(crate) fn blocks(cell: &Cell, counts: impl Fn(&Sample) -> bool) -> bool {
    let counted = cell.samples.iter().enumerate().filter(|(_, s)| s.counts() && counts(s));
    let known = counted.filter_map(|(i, _)| {
        let (wall_ns, cpu_ns) = cell.value(WALL, i).zip(cell.value(CPU, i))?;
        Some((wall_ns, cpu_ns + delay_ns(cell, i).unwrap_or_default()))
    });
    let (wall_ns, used_ns) =
        known.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1)).unwrap_or_default();
    wall_ns - used_ns > BLOCKED_SHARE * wall_ns || wall_ns <= 0.0
}

/// Whether the wait for a CPU is known of most samples.
pub(crate) fn knows_delays(cell: &Cell) -> bool {
    let counted = || (0..cell.samples.len()).filter(|i| cell.samples[*i].counts());
    let known = counted().filter(|i| delay_ns(cell, *i).is_some()).count();
    2 * known > counted().count()
}

/// By round, no more than the sample would have taken without a wait for a CPU: while the longest
/// chain of a job's work waits, one of its tasks does. So it is the wall time less the sum of the
/// waits and what a hypervisor took, or more: no task computes in less than its CPU time, and all
/// together in no less than their CPU time spread over all CPUs. Of a sample whose wait is not
/// known only this is.
fn least(cell: &Cell, cpus: f64) -> Rounds {
    let of_sample = |(i, sample): (usize, &Sample)| {
        let wall_ns = cell.value(WALL, i)?;
        let delay_ns = delay_ns(cell, i);
        let stolen_ns = cell.value(STEAL, i).unwrap_or_default();
        let without_wait = delay_ns.map(|delay_ns| wall_ns - delay_ns - stolen_ns);
        let spread = cell.value(CPU, i).map(|cpu_ns| cpu_ns / cpus);
        let bounds = [without_wait, cell.value(LONGEST_TASK_CPU, i), spread];
        let least_ns = bounds.into_iter().flatten().fold(wall_ns * NEARLY_0, f64::max);
        Some(((sample.session, sample.round), least_ns.min(wall_ns)))
    };
    let counted = cell.samples.iter().enumerate().filter(|(_, sample)| sample.counts());
    Rounds::new(counted.filter_map(of_sample))
}

/// In place of 0, which has no logarithm.
const NEARLY_0: f64 = 1e-9;

/// The lower limit of ln(method / reference) where the method has its lowest possible time without
/// the wait and the reference all of its wall time, and the upper limit where it is the other way
/// round; none where there are too few sessions. In every round the first ratio is no larger than
/// the true one and the second no smaller, so that each limit keeps the level of its side.
pub(crate) fn bounds(run: &Run, [cell, reference]: [usize; 2], alpha: f64) -> Option<(f64, f64)> {
    let cpus = run.environment.facts.get("cpu_affinity_count").and_then(serde_json::Value::as_f64);
    let cpus = cpus.filter(|cpus| *cpus >= 1.0).unwrap_or(f64::INFINITY);
    let least = |cell: usize| least(&run.cells[cell], cpus);
    let whole = |cell: usize| Rounds::of_metric(&run.cells[cell], WALL);
    let interval = |ours: Rounds, theirs: Rounds| {
        let Compared { logs, alpha, .. } =
            compared_rounds(run, [ours, theirs], WALL, alpha).ok()?;
        stats::by_session(&logs, alpha?)?.interval
    };
    let (low, _) = interval(least(cell), whole(reference))?;
    let (_, high) = interval(whole(cell), least(reference))?;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, with};

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

#[cfg(test)]
mod bounds_tests {
    use super::*;
    use crate::tests::{cell, run, with};
    use model::metric::CPU_DELAY;

    /// Ten sessions of a method that takes about 1 ms, of which it waits and computes these shares.
    fn method(name: &str, factor: f64, delay: f64, cpu: f64) -> Cell {
        let walls = (0..100).map(|i| 1e6 * factor * (1.0 + 1e-4 * f64::from(i % 7)));
        let cell = with(cell(name, walls), CPU_DELAY, move |wall_ns| delay * wall_ns);
        with(cell, CPU, move |wall_ns| cpu * wall_ns)
    }

    fn of(a: Cell, b: Cell) -> (f64, f64) {
        let mut run = run(vec![a, b]);
        run.environment.facts.insert("cpu_affinity_count".to_owned(), 2.into());
        let (low, high) = bounds(&run, [1, 0], 0.05).unwrap();
        (low.exp(), high.exp())
    }

    fn check((low, high): (f64, f64), expected: (f64, f64)) {
        assert!(
            (low - expected.0).abs() < 1e-3 && (high - expected.1).abs() < 1e-3,
            "{low} {high}"
        );
    }

    #[test]
    fn a_time_lies_between_what_is_left_without_the_waits_and_the_wall_time() {
        // The method may have taken 1.2 to 1.5, the reference 0.9 to 1.
        check(of(method("a", 1.0, 0.1, 0.0), method("b", 1.5, 0.2, 0.0)), (1.2, 1.5 / 0.9));
        // What the hypervisor took is a wait, too.
        let stolen = with(method("b", 1.5, 0.2, 0.0), STEAL, |wall_ns| 0.1 * wall_ns);
        check(of(method("a", 1.0, 0.1, 0.0), stolen), (1.05, 1.5 / 0.9));
        // No less than its CPU time on two CPUs, nor that of one task.
        check(of(method("a", 1.0, 0.0, 0.0), method("b", 1.0, 0.9, 1.2)), (0.6, 1.0));
        let with_task = with(method("b", 1.0, 0.9, 1.2), LONGEST_TASK_CPU, |wall_ns| 0.8 * wall_ns);
        check(of(method("a", 1.0, 0.0, 0.0), with_task), (0.8, 1.0));
    }

    #[test]
    fn without_the_waits_only_the_cpu_time_is_a_bound() {
        let unknown = |name, cpu| {
            let mut cell = method(name, 1.0, 0.0, cpu);
            cell.values.remove(CPU_DELAY);
            cell
        };
        check(of(unknown("a", 0.8), unknown("b", 1.0)), (0.5, 2.5));
        // One of many samples without it has the bound of its CPU time only, and changes little.
        let mut lost = method("b", 1.5, 0.2, 0.5);
        lost.values.get_mut(CPU_DELAY).unwrap()[3] = f64::NAN;
        check(of(method("a", 1.0, 0.1, 0.0), lost), (1.2, 1.5 / 0.9));
    }

    #[test]
    fn what_neither_runs_nor_waits_for_a_cpu_in_a_tenth_of_its_time_blocks() {
        let of = |delay, cpu| blocks(&method("a", 1.0, delay, cpu), |_| true);
        assert_eq!([of(0.5, 0.41), of(0.5, 0.39), of(0.0, 2.0)], [false, true, false]);
        assert!(blocks(&method("a", 1.0, 0.5, 0.5), |_| false));
    }
}
