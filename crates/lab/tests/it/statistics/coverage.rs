//! False alarms, coverage and power under simulated noise: a part of what the benchmark
//! `statistics` runs in full.

use std::fmt::Write;

use super::simulate::{NOISES, Noise, Order, false_alarms_of_processes, rates};

const POWER: &str = include_str!("power.tsv");

/// Sets by n: an unoptimised build has the time for these.
const SETS: [(usize, u32); 3] = [(10, 1600), (30, 800), (100, 300)];
const SEED: u64 = 1;

#[test]
fn in_rounds_every_noise_keeps_the_promised_rates() {
    let mut table = String::new();
    for (n, sets) in SETS {
        for noise in NOISES {
            let rates = rates(noise, Order::Rounds, n, sets, SEED);
            assert!(rates.hold(), "{noise:?} n={n}: {rates:?}");
            writeln!(table, "{noise:?}\t{n}\t{:.1}", 100.0 * rates.power).unwrap();
        }
    }
    check_power(&table);
}

/// A change of more than 3 points is seen: a loss is one of the method, a gain may be a false promise.
fn check_power(table: &str) {
    let kept = POWER.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(table.lines().count(), kept.clone().count(), "\n{table}");
    for (new, kept) in table.lines().zip(kept) {
        let (new_name, new) = new.rsplit_once('\t').unwrap();
        let (name, old) = kept.rsplit_once('\t').unwrap();
        assert_eq!(new_name, name);
        let (new, old): (f64, f64) = (new.parse().unwrap(), old.parse().unwrap());
        assert!((new - old).abs() <= 3.0, "the power table changed:\n{table}");
    }
}

/// A simulator in which the wrong design passed would prove nothing.
#[test]
fn one_after_the_other_fails_the_same_bounds_under_drift() {
    for noise in [Noise::Drift, Noise::Wander, Noise::Neighbour] {
        let rates = rates(noise, Order::OneAfterTheOther, 30, 300, SEED);
        assert!(!rates.hold(), "{noise:?}: {rates:?}");
        assert!(rates.false_alarms > 0.15, "{noise:?}: {rates:?}");
    }
}

/// The right share is 5 %; of 400 sets it strays by 3.3 points, and a mild difference between
/// processes is overlooked now and then, which costs up to 2 more.
#[test]
fn ten_sessions_keep_what_processes_differ_by_out_of_the_verdict() {
    for spread in [0.0, 0.2, 0.5, 3.0] {
        let share = false_alarms_of_processes(spread, 10, 10, 400);
        assert!(share <= 0.103, "processes differ by {spread} of the noise: {share}");
    }
    let one_process = false_alarms_of_processes(0.5, 1, 100, 100);
    assert!(one_process > 0.5, "a simulator without the trouble proves nothing: {one_process}");
}
