//! False alarms between runs, a part of what the benchmark `gate` simulates in full.

use super::gate::{MACHINES, checks, sides};

/// The right share is 5 % of two comparisons at 2.5 %; 200 sets stray.
#[test]
fn five_runs_a_side_keep_the_promised_rate() {
    for shared in [MACHINES[1], MACHINES[2]] {
        let [absolute, relative] = sides(shared, 5, 200);
        assert!(absolute <= 0.06 && relative <= 0.06, "{}: {absolute} {relative}", shared.name);
    }
    // A simulator without the trouble proves nothing: a run for a session is no side.
    assert_eq!(sides(MACHINES[1], 1, 20), [0.0, 0.0]);
}

#[test]
fn a_check_of_what_did_not_change_hardly_ever_fails() {
    for shared in MACHINES {
        let shares = checks(shared, 3, 1.0, 60);
        assert!(shares.slower <= 0.02, "{}: {shares:?}", shared.name);
    }
    assert!(checks(MACHINES[0], 3, 1.0, 60).ok >= 0.95);
}

#[test]
fn a_check_finds_what_got_slower() {
    let shares = checks(MACHINES[0], 3, 1.15, 60);
    assert!(shares.slower >= 0.95, "{shares:?}");
    assert!(checks(MACHINES[1], 3, 1.5, 60).slower >= 0.95);
}
