//! The latency of one operation: percentiles of the samples that no other program disturbed, and a
//! grade that shows how far they can be trusted.

use std::collections::BTreeSet;

use model::numbers::Quantity;
use model::run::{Cell, Run, Sample};

use crate::stats::moments;

/// All values in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub n: usize,
    pub sessions: usize,
    /// Samples in which the method had to wait for a CPU; they are left out if enough others
    /// remain.
    pub disturbed: usize,
    /// The best figure to compare two runs by: noise only adds time, and in ten runs on a loaded
    /// machine this figure varied least.
    pub p10: f64,
    pub p25: f64,
    pub p50: f64,
    pub p90: f64,
    /// Student's interval, at 95 %, of the centre of the sessions' medians; none for fewer than
    /// five sessions.
    pub interval: Option<(f64, f64)>,
    pub grade: char,
}

/// How busy the machine was while a run was measured. No sample shows this, and the grades must not
/// hide it: a neighbour that takes caches and the bus slows every sample equally. Shares of the CPU
/// time; none: not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineLoad {
    /// Taken by the hypervisor.
    pub steal: Option<f64>,
    /// Used by other programs.
    pub others: Option<f64>,
}

/// From the first share on the grade is at most B, from the second on at most C.
pub const STEAL: [f64; 2] = [0.01, 0.1];
/// The same for other programs.
pub const OTHERS: [f64; 2] = [0.1, 0.5];

/// The best grade that is possible with such a share.
fn best_grade(share: f64, [b, c]: [f64; 2]) -> char {
    match share {
        share if share > c => 'C',
        share if share > b => 'B',
        _ => 'A',
    }
}

impl MachineLoad {
    pub fn from_run(run: &Run) -> MachineLoad {
        let fact = |name: &str| run.environment.facts.get(name).and_then(serde_json::Value::as_f64);
        MachineLoad { steal: fact("steal_share"), others: fact("busy_share_of_others") }
    }

    /// The best grade that a cell can have.
    pub fn best_grade(&self) -> char {
        let of = |share: Option<f64>, limits| share.map_or('B', |share| best_grade(share, limits));
        of(self.steal, STEAL).max(of(self.others, OTHERS))
    }
}

/// A sample is disturbed when its method waited for a CPU during more than this share of its time.
const WAIT_SHARE: f64 = 0.01;
/// With fewer undisturbed samples than this, all of them count.
const ENOUGH: usize = 10;
/// With fewer sessions, an interval is not useful.
const SESSIONS_LEAST: usize = 5;
const LEVEL: f64 = 0.95;
/// If a larger share of the samples than the first of these waited for a CPU, the grade is at most
/// B; above the second, at most C.
const WAITED: [f64; 2] = [0.1, 0.5];

struct LatencyValue {
    session: u32,
    ns: f64,
    disturbed: bool,
}

/// The figures of the samples of a cell that count; none if no sample counts.
pub fn figures(cell: &Cell, quantity: Quantity, load: &MachineLoad) -> Option<Figures> {
    let values = values(cell, quantity);
    let disturbed = values.iter().filter(|value| value.disturbed).count();
    let waited = disturbed as f64 / values.len() as f64;
    let values = without_disturbed(values);
    let mut sorted: Vec<f64> = values.iter().map(|value| value.ns).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let [p10, p25, p50, p90] = [10.0, 25.0, 50.0, 90.0].map(|p| percentile(&sorted, p));
    let medians = of_sessions(&values, 50.0);
    let own = grade(&of_sessions(&values, 10.0), p25? / p10?);
    Some(Figures {
        n: sorted.len(),
        sessions: medians.len(),
        disturbed,
        p10: p10?,
        p25: p25?,
        p50: p50?,
        p90: p90?,
        interval: interval(&medians),
        grade: own.max(best_grade(waited, WAITED)).max(load.best_grade()),
    })
}

/// The undisturbed values, or all if these are too few or leave too few sessions for an interval.
fn without_disturbed(values: Vec<LatencyValue>) -> Vec<LatencyValue> {
    let sessions = |values: &mut dyn Iterator<Item = &LatencyValue>| {
        values.map(|value| value.session).collect::<BTreeSet<u32>>().len()
    };
    let undisturbed = || values.iter().filter(|value| !value.disturbed);
    let sessions_least = sessions(&mut values.iter()).min(SESSIONS_LEAST);
    if sessions(&mut undisturbed()) < sessions_least || undisturbed().count() < ENOUGH {
        return values;
    }
    values.into_iter().filter(|value| !value.disturbed).collect()
}

fn values(cell: &Cell, quantity: Quantity) -> Vec<LatencyValue> {
    let waits = column(cell, "run_queue_wait_ns");
    let walls = column(cell, "wall_ns");
    let of = |sample: &Sample, at: usize| match quantity {
        Quantity::Time => walls(at),
        Quantity::Metric(name) => column(cell, name)(at),
        // Per byte that was processed, not per operation, which is a pass over the whole set.
        Quantity::PerMebibyte => walls(at) * sample.ops as f64 / sample.bytes as f64 * 1_048_576.0,
    };
    let all = cell.samples.iter().enumerate().filter(|(_, sample)| sample.counts());
    all.map(|(at, sample)| LatencyValue {
        session: sample.session,
        ns: of(sample, at),
        disturbed: waits(at) > WAIT_SHARE * walls(at),
    })
    .filter(|value| value.ns.is_finite())
    .collect()
}

fn column<'a>(cell: &'a Cell, name: &str) -> impl Fn(usize) -> f64 + 'a {
    let values = cell.column(name);
    |at| values.get(at).copied().unwrap_or(f64::NAN)
}

/// By nearest rank.
fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (p / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// A percentile of each session, sorted: processes differ for their whole life.
fn of_sessions(values: &[LatencyValue], p: f64) -> Vec<f64> {
    let mut sessions: Vec<u32> = values.iter().map(|value| value.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let of_session = |session: u32| {
        let of_session = values.iter().filter(|value| value.session == session);
        let mut ns: Vec<f64> = of_session.map(|value| value.ns).collect();
        ns.sort_unstable_by(f64::total_cmp);
        percentile(&ns, p)
    };
    let mut all: Vec<f64> = sessions.into_iter().filter_map(of_session).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// Computed from the logarithms, because disturbances take a share of the time.
fn interval(medians: &[f64]) -> Option<(f64, f64)> {
    let logs: Vec<f64> = medians.iter().map(|ns| ns.ln()).collect();
    let found = moments(&logs).filter(|found| found.n >= SESSIONS_LEAST)?;
    let half_width = found.half_width(LEVEL)?;
    let [low, high] = [found.mean - half_width, found.mean + half_width].map(f64::exp);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// A: half of the sessions reach the lowest one, and a quarter of the samples reach p10, within 5
/// %. B: within 20 %. C: an order of magnitude only.
fn grade(floors: &[f64], p25_to_p10: f64) -> char {
    let lowest = floors.first().copied().unwrap_or(f64::NAN);
    let middle = percentile(floors, 50.0).unwrap_or(f64::NAN);
    // What is not known is no better than a large spread.
    let within = |spread: f64| [middle / lowest, p25_to_p10].iter().all(|x| *x - 1.0 <= spread);
    match () {
        () if within(0.05) => 'A',
        () if within(0.20) => 'B',
        () => 'C',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_value_of_its_rank() {
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(percentile(&sorted, 10.0), Some(2.0));
        assert_eq!(percentile(&sorted, 50.0), Some(10.0));
        assert_eq!(percentile(&sorted, 0.0), Some(1.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn the_load_of_the_machine_limits_the_grade() {
        let best = |steal, others| MachineLoad { steal, others }.best_grade();
        assert_eq!(best(Some(0.01), Some(0.1)), 'A');
        assert_eq!(best(Some(0.02), Some(0.0)), 'B');
        assert_eq!(best(Some(0.0), Some(0.6)), 'C');
        assert_eq!(best(None, Some(0.0)), 'B');
    }

    #[test]
    fn disturbed_samples_count_where_too_few_sessions_have_others() {
        let left = |undisturbed: u32, sessions: u32| {
            let value = |at: u32| {
                let session = at / 4;
                LatencyValue { session, ns: 1.0, disturbed: session >= undisturbed }
            };
            without_disturbed((0..4 * sessions).map(value).collect()).len()
        };
        assert_eq!(left(6, 6), 24);
        assert_eq!(left(5, 6), 20);
        assert_eq!(left(4, 6), 24, "four sessions have no interval");
        assert_eq!(left(3, 4), 16, "there is no interval anyway, but each session is seen");
    }

    #[test]
    fn the_interval_is_students_interval_of_the_logs() {
        // The mean of 1 to 5 is 3, their variance 2.5; t of 4 degrees of freedom is 2.776445.
        let medians = [1f64, 2.0, 3.0, 4.0, 5.0].map(f64::exp);
        let (low, high) = interval(&medians).unwrap();
        let half = 2.776_445 * (2.5f64 / 5.0).sqrt();
        assert!((low.ln() - (3.0 - half)).abs() < 1e-5, "{low}");
        assert!((high.ln() - (3.0 + half)).abs() < 1e-5, "{high}");
        assert_eq!(interval(&medians[..4]), None);
        assert_eq!(interval(&[0.0, 1.0, 1.0, 1.0, 1.0]), None);
    }

    #[test]
    fn a_grade_is_by_the_sessions_and_by_the_samples() {
        let of = |middle: f64, p25_to_p10: f64| grade(&[100.0, middle, 900.0], p25_to_p10);
        assert_eq!((of(104.0, 1.0), of(106.0, 1.0), of(121.0, 1.0)), ('A', 'B', 'C'));
        assert_eq!((of(100.0, 1.04), of(100.0, 1.19), of(100.0, 1.3)), ('A', 'B', 'C'));
        assert_eq!(grade(&[], 1.0), 'C');
        assert_eq!(grade(&[0.0, 0.0], f64::NAN), 'C');
    }

    #[test]
    fn a_percentile_of_each_session_is_of_its_own_samples() {
        let value = |session, ns| LatencyValue { session, ns, disturbed: false };
        let values = [value(1, 9.0), value(0, 2.0), value(0, 1.0), value(1, 5.0), value(0, 3.0)];
        assert_eq!(of_sessions(&values, 50.0), [2.0, 5.0]);
        assert_eq!(of_sessions(&values, 100.0), [3.0, 9.0]);
    }

    #[test]
    fn the_figures_leave_disturbed_samples_out_and_lower_the_grade() {
        use crate::tests::{cell, with};

        // Ten sessions of ten samples, of which two in each wait for 2 % of their time.
        let ns = |at: usize| if at % 10 < 2 { 500.0 } else { 100.0 };
        let plain = cell("read", (0..100).map(ns));
        let cell = with(plain, "run_queue_wait_ns", |ns| if ns > 200.0 { 10.0 } else { 1.0 });
        let load = MachineLoad { steal: Some(0.0), others: Some(0.0) };
        let found = figures(&cell, Quantity::Time, &load).unwrap();
        assert_eq!((found.n, found.sessions, found.disturbed), (80, 10, 20));
        assert_eq!((found.p10, found.p90, found.grade), (100.0, 100.0, 'B'));
        let mut large = cell;
        large.samples.iter_mut().for_each(|sample| (sample.ops, sample.bytes) = (4, 2 << 20));
        let found = figures(&large, Quantity::PerMebibyte, &load).unwrap();
        assert!((found.p50 - 200.0).abs() < 1e-9, "{}", found.p50);
        let waits = figures(&large, Quantity::Metric("run_queue_wait_ns"), &load).unwrap();
        assert!((waits.p50 - 1.0).abs() < 1e-9, "{}", waits.p50);
    }

    #[test]
    fn a_share_at_a_limit_has_the_better_grade() {
        let best =
            |steal, others| MachineLoad { steal: Some(steal), others: Some(others) }.best_grade();
        assert_eq!([best(0.0, 0.0), best(0.1, 0.0), best(0.0, 0.5)], ['A', 'B', 'B']);
        assert_eq!([best(0.11, 0.0), best(0.0, 0.51)], ['C', 'C']);
    }

    #[test]
    fn ten_samples_that_were_not_disturbed_are_enough() {
        let left = |undisturbed: u32| {
            let value =
                |at: u32| LatencyValue { session: at % 5, ns: 1.0, disturbed: at >= undisturbed };
            without_disturbed((0..20).map(value).collect()).len()
        };
        assert_eq!([9, 10, 11].map(left), [20, 10, 11]);
    }

    #[test]
    fn a_quarter_of_the_samples_must_reach_the_tenth() {
        use crate::tests::cell;

        // Two of the ten samples of each session take 100, the others a tenth more.
        let cell = cell("read", (0..100).map(|at| if at % 10 < 2 { 100.0 } else { 110.0 }));
        let load = MachineLoad { steal: Some(0.0), others: Some(0.0) };
        let found = figures(&cell, Quantity::Time, &load).unwrap();
        assert_eq!((found.p10, found.p25, found.grade), (100.0, 110.0, 'B'));
    }

    #[test]
    fn an_interval_without_a_finite_end_is_none() {
        assert_eq!(interval(&[1e-300, 1e-300, 1.0, 1e300, 1e300]), None);
    }
}
