//! Thresholds are decided by session, and together for the whole run.

use super::*;
use crate::run::Definition;
use crate::run::{RATIO, Threshold};

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
fn a_ratio_with_an_unknown_wait_is_not_exceeded() {
    let tree = |name: &str, seed, wall: f64| {
        let cell = cell(name, times(&noisy(seed, 0.01), 60.0 * wall));
        let cell = with(cell, "cpu_ns", |_| 1e7);
        with(cell, "involuntary_switches", |_| 5.0)
    };
    let cells = || vec![tree("a", 1, 1.0), tree("b", 2, 1.2)];
    let held = |max: f64| {
        let outcomes = analyze(&with_thresholds(cells(), &[(RATIO, max)])).thresholds;
        outcomes.into_iter().map(|outcome| (outcome.verdict, outcome.reason)).next().unwrap()
    };
    assert_eq!(held(1.5), (ThresholdVerdict::Kept, None));
    assert_eq!(held(1.1).0, ThresholdVerdict::Undecided);
    // The CPU time is the same: with another wait it may have exceeded this.
    assert_eq!(held(1.19).0, ThresholdVerdict::Undecided);
    assert_eq!(held(0.9).0, ThresholdVerdict::Exceeded);
}
