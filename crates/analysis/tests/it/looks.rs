//! The looks at a run that goes on until it is decided: a part of what the benchmark `statistics`
//! simulates in full.

use analysis::stats::{LOOKS, by_session, last_look};
use model::random::SplitMix64;

use crate::spending::{Limit, Sessions, spent};

/// The promised share is 5 %; with 6000 sets it varies by 0.84 points.
#[test]
fn all_looks_together_keep_the_level() {
    for (spread, sessions) in [
        (0.0, Sessions::Rounds(1)),
        (0.3, Sessions::Rounds(5)),
        (1.0, Sessions::Rounds(5)),
        (0.3, Sessions::ShortThenLong),
    ] {
        let share = spent(0.05, spread, sessions, 6000, 1);
        assert!((0.03..0.0584).contains(&share), "spread {spread}, {sessions:?}: {share}");
    }
}

/// One of 14 methods beside the reference, and one of its 91 pairs.
#[test]
fn the_looks_keep_the_level_of_tables() {
    for (parts, most) in [(13.0, 0.0062), (91.0, 0.0015)] {
        let share = spent(0.05 / parts, 0.3, Sessions::Rounds(1), 6000, 2);
        assert!(share <= most, "0.05 / {parts}: {share}");
    }
}

/// A simulation in which looks at the full level pass would prove nothing.
#[test]
fn the_same_looks_without_their_levels_fail() {
    let one = last_look(6, 0.05).unwrap().alpha;
    // An α whose first looks have a level of 5 % each.
    let share = spent(0.05 * 0.05 / one, 0.0, Sessions::Rounds(1), 1000, 3);
    assert!(share > 0.12, "{share}");
}

/// The shortcut above excludes 0 where the interval of the lab does.
#[test]
fn the_limits_are_those_of_the_intervals() {
    let mut random = SplitMix64(4);
    for set in 0..300 {
        let n = LOOKS[set % 8];
        let shift = 0.4 * random.normal();
        let values: Vec<f64> = (0..n).map(|_| shift + random.normal()).collect();
        let level = last_look(n, 0.05).unwrap().alpha;
        let sessions: Vec<Vec<f64>> = values.iter().map(|x| vec![*x]).collect();
        let (low, high) = by_session(&sessions, level).unwrap().interval.unwrap();
        assert_eq!(
            Limit::new(n, level).is_passed(&values),
            low > 0.0 || high < 0.0,
            "{n}: {low} {high}"
        );
    }
}
