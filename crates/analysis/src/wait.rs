//! Whether methods waited for a CPU in the sessions by which they are compared, and the bounds of a
//! wall time where the wait is known only as a sum.

use model::metric::{CPU, LONGEST_TASK_CPU, STEAL, WALL};
use model::run::Run;

use super::facts::{BLOCKED_SHARE, CellFacts, Rounds, SampleKey};
use super::values::{Compared, compared_rounds};
use crate::stats;

/// A wait of more than this share of the wall time is noted.
pub(crate) const WAIT_SHARE: f64 = 0.05;

/// From this rate per second of CPU time on, a method that is preempted shares its CPU with others.
/// The slices of Linux take 3 to 6 ms where several tasks want a CPU; on a quiet machine
/// preemptions occur a few times per second.
const PREEMPTIONS_PER_S: f64 = 50.0;

/// Whether a method waited for a CPU during more than a small share of the wall time of the
/// sessions that count, as far as that is known: for a single thread exactly; for a process tree,
/// because it was preempted and took longer than it computed.
pub(crate) fn waited(cell: &CellFacts<'_>, counts: impl Fn(u32) -> bool) -> bool {
    if let Some(share) = cell.wait_share(&counts) {
        return share > WAIT_SHARE;
    }
    let sum = |metric: &str| {
        let counted = cell.counted(metric).filter(|(key, _)| counts(key.session));
        counted.map(|(_, value)| value).reduce(|sum, value| sum + value).unwrap_or_default()
    };
    let (wall, cpu) = (sum(WALL), sum(CPU));
    cpu < wall * (1.0 - WAIT_SHARE) && sum("involuntary_switches") > PREEMPTIONS_PER_S * cpu / 1e9
}

// The bounds between which a wall time without its wait for a CPU lies, and what they show of
// two methods whose waits are known only as a sum (partial identification: Manski 2003; Imbens
// and Manski 2004).

/// Whether a cell waits for something else than a CPU in the sessions that count, as far as that is
/// known: a wait for a CPU that is not known counts as one for something else.
pub(crate) fn blocks(cell: &CellFacts<'_>, counts: impl Fn(u32) -> bool) -> bool {
    let ([wall_ns, cpu_ns], delay_ns) = ([WALL, CPU].map(|m| cell.column(m)), cell.delays());
    let counted = cell.timing().iter().filter(|key| counts(key.session));
    let known = counted.filter_map(|key| {
        let (wall_ns, cpu_ns) = wall_ns(*key).zip(cpu_ns(*key))?;
        Some((wall_ns, cpu_ns + delay_ns(*key).unwrap_or_default()))
    });
    let (wall_ns, used_ns) =
        known.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1)).unwrap_or_default();
    wall_ns - used_ns > BLOCKED_SHARE * wall_ns || wall_ns <= 0.0
}

/// By round, no more than the sample would have taken without a wait for a CPU: while the longest
/// chain of a job's work waits, one of its tasks does. So it is the wall time less the sum of the
/// waits and what a hypervisor took, or more: no task computes in less than its CPU time, and all
/// together in no less than their CPU time spread over all CPUs. Of a sample whose wait is not
/// known only this is.
fn least(cell: &CellFacts<'_>, cpus: f64) -> Rounds {
    let [wall, stolen, longest, cpu] =
        [WALL, STEAL, LONGEST_TASK_CPU, CPU].map(|metric| cell.column(metric));
    let delay = cell.delays();
    let of_sample = |key: &SampleKey| {
        let wall_ns = wall(*key)?;
        let stolen_ns = stolen(*key).unwrap_or_default();
        let without_wait = delay(*key).map(|delay_ns| wall_ns - delay_ns - stolen_ns);
        let spread = cpu(*key).map(|cpu_ns| cpu_ns / cpus);
        let bounds = [without_wait, longest(*key), spread];
        let least_ns = bounds.into_iter().flatten().fold(wall_ns * NEARLY_0, f64::max);
        Some(((key.session, key.round), least_ns.min(wall_ns)))
    };
    Rounds::new(cell.timing().iter().filter_map(of_sample))
}

/// In place of 0, which has no logarithm.
const NEARLY_0: f64 = 1e-9;

/// The lower limit of ln(method / reference) where the method has its lowest possible time without
/// the wait and the reference all of its wall time, and the upper limit where it is the other way
/// round; none where there are too few sessions. In every round the first ratio is no larger than
/// the true one and the second no smaller, so that each limit keeps the level of its side.
pub(crate) fn bounds(run: &Run, cells: [&CellFacts<'_>; 2], alpha: f64) -> Option<(f64, f64)> {
    let cpus = run.environment.facts.get("cpu_affinity_count").and_then(serde_json::Value::as_f64);
    let cpus = cpus.filter(|cpus| *cpus >= 1.0).unwrap_or(f64::INFINITY);
    let [least, of_reference] = cells.map(|cell| least(cell, cpus));
    let [whole, all_of_reference] = cells.map(|cell| cell.rounds(WALL));
    let interval = |rounds: [&Rounds; 2]| {
        let Compared { logs, alpha, .. } = compared_rounds(&run.plan, rounds, WALL, alpha).ok()?;
        stats::by_session(&logs, alpha?)?.interval
    };
    let (low, _) = interval([&least, &all_of_reference])?;
    let (_, high) = interval([&whole, &of_reference])?;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, facts_of, with};

    #[test]
    fn a_wait_that_is_known_counts_above_its_limit() {
        let of = |wait: f64| {
            let cell = with(cell("a", [100.0; 10]), "run_queue_wait_ns", |_| wait);
            waited(&facts_of(&cell), |_| true)
        };
        assert_eq!([4.0, 5.0, 5.1].map(of), [false, false, true]);
    }

    #[test]
    fn a_tree_waited_if_it_was_preempted_often_and_computed_less_than_it_took() {
        let of = |cpu: f64, switches: f64| {
            let cell = with(cell("a", [1e9]), "cpu_ns", |_| cpu);
            let cell = with(cell, "involuntary_switches", |_| switches);
            waited(&facts_of(&cell), |_| true)
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
    use crate::facts::RunFacts;
    use crate::tests::{cell, facts_of, run, with};
    use model::metric::CPU_DELAY;
    use model::run::Cell;

    /// Ten sessions of a method that takes about 1 ms, of which it waits and computes these shares.
    fn method(name: &str, factor: f64, delay: f64, cpu: f64) -> Cell {
        let walls = (0..100).map(|i| 1e6 * factor * (1.0 + 1e-4 * f64::from(i % 7)));
        let cell = with(cell(name, walls), CPU_DELAY, move |wall_ns| delay * wall_ns);
        with(cell, CPU, move |wall_ns| cpu * wall_ns)
    }

    fn of(a: Cell, b: Cell) -> (f64, f64) {
        let mut run = run(vec![a, b]);
        run.environment.facts.insert("cpu_affinity_count".to_owned(), 2.into());
        let cells = RunFacts::new(&run).cells;
        let (low, high) = bounds(&run, [&cells[1], &cells[0]], 0.05).unwrap();
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
        let of = |delay, cpu| blocks(&facts_of(&method("a", 1.0, delay, cpu)), |_| true);
        assert_eq!([of(0.5, 0.41), of(0.5, 0.39), of(0.0, 2.0)], [false, true, false]);
        assert!(blocks(&facts_of(&method("a", 1.0, 0.5, 0.5)), |_| false));
    }
}
