//! The bounds between which a wall time without its wait for a CPU lies, and what they show of two
//! methods whose waits are known only as a sum (partial identification: Manski 2003; Imbens and
//! Manski 2004).

use super::look::{Compared, compared_rounds};
use super::values::Rounds;
use super::wait::{BLOCKED_SHARE, delay_ns};
use crate::metric::{CPU, LONGEST_TASK_CPU, STEAL, WALL};
use crate::run::{Cell, Run, Sample};
use crate::stats;

/// Whether a cell waits for something else than a CPU in these samples, as far as that is known: a
/// wait for a CPU that is not known counts as one for something else.
pub(super) fn blocks(cell: &Cell, counts: impl Fn(&Sample) -> bool) -> bool {
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
pub(super) fn knows_delays(cell: &Cell) -> bool {
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
pub(super) fn bounds(run: &Run, [cell, reference]: [usize; 2], alpha: f64) -> Option<(f64, f64)> {
    let cpus = run.environment.facts.get("cpu_affinity_count").and_then(serde_json::Value::as_f64);
    let cpus = cpus.filter(|cpus| *cpus >= 1.0).unwrap_or(f64::INFINITY);
    let least = |cell: usize| least(&run.cells[cell], cpus);
    let whole = |cell: usize| Rounds::of(&run.cells[cell], WALL);
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
    use crate::analyze::tests::{cell, run, with};
    use crate::metric::CPU_DELAY;

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
