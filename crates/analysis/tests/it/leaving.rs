//! Simulated runs of sequential design: a part of what the benchmark `statistics` runs in full.

use crate::scheme::{Scheme, simulate};

/// At most 5 % are promised; with 200 runs the share varies by 4.6 points.
const MOST: f64 = 0.096;

#[test]
fn a_pair_of_equal_methods_keeps_its_level() {
    for spread in [0.0, 0.5] {
        let scheme = Scheme { effects: &[0.0; 2], spread, last: 42 };
        let found = simulate(scheme, 200, 1);
        assert!(found.false_verdict <= MOST && found.best_lost <= MOST, "{spread}: {found:?}");
        assert!(found.missed <= MOST, "{spread}: {found:?}");
    }
}

#[test]
fn a_table_of_equal_methods_keeps_its_level_and_loses_none_of_its_best() {
    for spread in [0.3, 1.0] {
        let scheme = Scheme { effects: &[0.0; 8], spread, last: 15 };
        let found = simulate(scheme, 200, 2);
        assert!(found.false_verdict <= MOST && found.best_lost <= MOST, "{spread}: {found:?}");
    }
}

/// Slow methods leave early, so that the run takes less than a fully measured one, and two equal
/// fast ones stay.
#[test]
fn what_is_slow_leaves_and_the_best_stay() {
    let effects = &[0.0, -0.7, -0.7, 1.0, 1.0, 0.5, 2.0];
    let found = simulate(Scheme { effects, spread: 0.3, last: 15 }, 100, 3);
    assert!(found.false_verdict <= MOST && found.best_lost <= MOST, "{found:?}");
    assert!(found.sessions < 0.75, "{found:?}");
}
