//! Thresholds are decided by session, and together for the whole run.

use model::run::Definition;
use model::run::{RATIO, Threshold};

use super::*;

fn with_thresholds(cells: Vec<Cell>, thresholds: &[(&str, f64)]) -> Run {
    let mut run = run(cells);
    let threshold = |(metric, max): &(&str, f64)| Threshold {
        methods: Vec::new(),
        metric: (*metric).to_owned(),
        max: *max,
    };
    let thresholds = thresholds.iter().map(threshold).collect();
    run.plan.definition = Some(Definition { thresholds, ..Definition::default() });
    run
}

/// By its hundred samples the p50 is certainly above 1.06 ms; by its ten processes it is not.
#[test]
fn the_samples_of_a_session_are_one_value() {
    let process = [1.0, 1.3, 0.98, 1.2, 0.97, 1.25, 1.3, 1.15, 1.2, 1.1];
    let own = noisy(1, 0.001);
    let times = own.iter().enumerate().map(|(i, ns)| ns * process[i / 10]);
    let run = with_thresholds(vec![cell("a", times)], &[("wall_ns", 1.06e6)]);
    let outcome = &analyze(&run).thresholds[0];
    assert_eq!(outcome.verdict, ThresholdVerdict::Undecided, "{outcome:?}");
    assert_eq!(outcome.reason.as_deref(), Some("the limit lies within the interval"));
}

#[test]
fn all_outcomes_hold_together() {
    let cells = || (0..5).map(|i| cell(&format!("m{i}"), noisy(i, 0.02))).collect();
    let thresholds = [("wall_ns", 1.1e6), (RATIO, 1.1)];
    let of = |thresholds| analyze(&with_thresholds(cells(), thresholds)).thresholds;
    let both = of(&thresholds);
    // The reference has no ratio.
    assert_eq!(both.len(), 9);
    for outcome in &both {
        close(Some(outcome.level), 1.0 - 0.05 / 9.0, 1e-12);
        assert_eq!(outcome.verdict, ThresholdVerdict::Kept);
    }
    let alone = of(&thresholds[..1]);
    let width = |outcome: &ThresholdOutcome| outcome.high.unwrap() - outcome.low.unwrap();
    assert!(width(&alone[1]) < width(&both[1]));
}

#[test]
fn fewer_than_five_sessions_decide_nothing() {
    let few = noisy(1, 0.001).into_iter().take(40);
    let run = with_thresholds(vec![cell("a", few)], &[("wall_ns", 1.0)]);
    let outcome = &analyze(&run).thresholds[0];
    assert_eq!(outcome.verdict, ThresholdVerdict::Undecided);
    let reason = "4 sessions are too few, at least 5 are needed";
    assert_eq!(outcome.reason.as_deref(), Some(reason));
}

/// The time for which a method waited for a CPU is no reason for the verdict that it takes too
/// long.
#[test]
fn a_ratio_with_a_wait_is_exceeded_if_it_is_without_it() {
    let tree = |name: &str, seed, wall: f64, wait: f64| {
        let cell = cell(name, times(&noisy(seed, 0.01), 60.0 * wall));
        let cell = with(cell, "cpu_ns", |_| 1e7);
        with(cell, "cpu_delay_ns", move |_| wait)
    };
    let cells = || vec![tree("a", 1, 1.0, 0.0), tree("b", 2, 1.2, 1.2e7)];
    let held = |max: f64| {
        let outcomes = analyze(&with_thresholds(cells(), &[(RATIO, max)])).thresholds;
        outcomes.into_iter().map(|outcome| outcome.verdict).next().unwrap()
    };
    // Without its wait it takes as long as the other one, or up to 1.2 times the time.
    assert_eq!(held(1.5), ThresholdVerdict::Kept);
    assert_eq!([held(1.1), held(1.19)], [ThresholdVerdict::Undecided; 2]);
    assert_eq!(held(0.9), ThresholdVerdict::Exceeded);
}

/// CPU times that agree are no evidence: methods of other numbers of threads take other times
/// without the wait.
#[test]
fn a_ratio_with_a_wait_is_not_kept_for_the_sake_of_its_cpu_time() {
    let tree = |name: &str, seed, cpu_share: f64| {
        let cell = cell(name, times(&noisy(seed, 0.01), 1.0));
        let cell = with(cell, "cpu_ns", move |wall_ns| cpu_share * wall_ns);
        with(cell, "cpu_delay_ns", |wall_ns| 0.5 * wall_ns)
    };
    let cells = || vec![tree("a", 1, 0.5), tree("b", 2, 0.6)];
    let held = |max: f64| {
        let outcomes = analyze(&with_thresholds(cells(), &[(RATIO, max)])).thresholds;
        outcomes.into_iter().map(|outcome| outcome.verdict).next().unwrap()
    };
    assert_eq!([held(0.4), held(1.3)], [ThresholdVerdict::Exceeded, ThresholdVerdict::Undecided]);
}

#[test]
fn five_sessions_decide() {
    let few = noisy(1, 0.001).into_iter().take(50);
    let run = with_thresholds(vec![cell("a", few)], &[("wall_ns", 1.0)]);
    assert_eq!(analyze(&run).thresholds[0].verdict, ThresholdVerdict::Exceeded);
}

#[test]
fn each_ratio_is_that_of_its_method_and_point() {
    let at = |size: u64, factors: [f64; 3]| {
        let cells = ["a", "b", "c"].into_iter().zip(factors);
        cells.map(move |(name, factor)| {
            let walls = times(&noisy(size, 0.01), factor);
            Cell { point: point(&[("size", size)]), ..cell(name, walls) }
        })
    };
    let cells = at(1, [1.0, 2.0, 3.0]).chain(at(2, [1.0, 4.0, 5.0]));
    let mut run = with_thresholds(cells.collect(), &[(RATIO, 2.5)]);
    run.points = [1, 2].map(|size| point(&[("size", size)])).to_vec();
    let outcomes = analyze(&run).thresholds;
    assert_eq!(outcomes.len(), 4);
    for (outcome, ratio) in outcomes.iter().zip([2.0, 3.0, 4.0, 5.0]) {
        close(outcome.value, ratio, 1e-9);
    }
}
