mod sequential;

use super::limit::TIMES_AT_MOST;
use super::roster::slow;
use super::*;
use crate::context::RunProgress;

const LIMIT_NS: u64 = 30_000_000_000;

fn schedule(warm_up: u32, sessions: u32) -> Schedule {
    let limit_ns = LIMIT_NS;
    let budget = Budget { limit_ns, at_most_ns: TIMES_AT_MOST * LIMIT_NS, ..Budget::default() };
    let (rounds, roster) = (100 / sessions, Roster::new(vec![false]));
    Schedule { budget, roster, sessions, rounds, warm_up, ..Schedule::default() }
}

/// Simulates a run of 30 s with these times to start the processes and to take a round. Returns the
/// counted rounds of each session, and the duration in seconds.
fn simulate(sessions: u32, start_ms: u64, round_ms: u64) -> (Vec<u32>, u64) {
    let (taken, seconds, _) = simulate_warmed(1, sessions, start_ms, round_ms);
    (taken, seconds)
}

/// Also returns the progress before each round.
fn simulate_warmed(
    warm_up: u32,
    sessions: u32,
    start_ms: u64,
    round_ms: u64,
) -> (Vec<u32>, u64, Vec<RunProgress<'static>>) {
    let (start_ns, round_ns) = (start_ms * 1_000_000, round_ms * 1_000_000);
    let mut schedule = schedule(warm_up, sessions);
    let (mut now_ns, mut taken, mut shown) = (0, Vec::new(), Vec::new());
    while schedule.begins_session(now_ns) {
        // The first session also takes one sample of each.
        now_ns += start_ns + if taken.is_empty() { round_ns } else { 0 };
        schedule.learn(&[round_ns], &[true], now_ns);
        for _ in 0..warm_up {
            shown.push(schedule.progress(now_ns));
            now_ns += round_ns;
            schedule.took(round_ns, false);
        }
        schedule.budget.starts(now_ns);
        let mut rounds = 0;
        while rounds < schedule.session_rounds() && (rounds == 0 || schedule.has_time(now_ns)) {
            shown.push(schedule.progress(now_ns));
            now_ns += round_ns;
            schedule.took(round_ns, true);
            rounds += 1;
        }
        taken.push(rounds);
    }
    (taken, now_ns / 1_000_000_000, shown)
}

fn check(sessions: u32, round_ms: u64, expected: &[u32]) {
    let (taken, _) = simulate(sessions, 0, round_ms);
    assert_eq!(taken, expected, "{sessions} sessions, rounds of {round_ms} ms");
}

#[test]
fn what_is_slow_beside_the_others_takes_part_once_in_a_session() {
    let of = |samples_ms: &[u64]| {
        let samples_ns: Vec<u64> = samples_ms.iter().map(|ms| ms * 1_000_000).collect();
        let reference: Vec<bool> = (0..samples_ms.len()).map(|cell| cell == 0).collect();
        slow(&samples_ns, &reference, LIMIT_NS)
    };
    assert_eq!(of(&[10, 10, 200, 999, 10]), [false; 5]);
    assert_eq!(of(&[10, 10, 2500, 10, 3900]), [false, false, true, false, true]);
    // A reference takes part in all rounds, and if all cells are slow, all of them do.
    assert_eq!(of(&[9000, 10, 10]), [false; 3]);
    assert_eq!(of(&[5000, 6000, 20_000]), [false; 3]);
    assert_eq!(of(&[0, 0]), [false; 2]);
}

/// The number of rounds of each session in which a cell with samples of `sample_ms` takes part,
/// beside others of 10 ms.
fn check_slow(sessions: u32, sample_ms: u64, expected: &[u32]) {
    let samples_ns = [10_000_000, 10_000_000, 10_000_000, sample_ms * 1_000_000];
    let mut schedule = schedule(1, sessions);
    let (mut now_ns, mut taken) = (0, Vec::new());
    while schedule.begins_session(now_ns) {
        now_ns += 1_000_000_000 / u64::from(sessions);
        schedule.learn(&samples_ns, &[true, false, false, false], now_ns);
        assert!(!schedule.takes_part(3, true), "it is warmed up");
        schedule.took(30_000_000, false);
        schedule.budget.starts(now_ns);
        let (mut rounds, mut own) = (0, 0);
        while rounds < schedule.session_rounds() && (rounds == 0 || schedule.has_time(now_ns)) {
            let takes_part = u32::from(schedule.takes_part(3, false));
            now_ns += 30_000_000 + u64::from(takes_part) * samples_ns[3];
            schedule.took(30_000_000, true);
            (rounds, own) = (rounds + 1, own + takes_part);
        }
        taken.push(own);
    }
    assert_eq!(taken, expected, "{sample_ms} ms");
    assert!(now_ns < TIMES_AT_MOST * LIMIT_NS, "{sample_ms} ms: {now_ns}");
}

#[test]
fn what_is_slow_has_enough_sessions_for_a_verdict_where_there_is_time() {
    check_slow(10, 1500, &[1; 10]);
    check_slow(10, 3900, &[1; 7]);
    check_slow(10, 9000, &[1; 6]);
    check_slow(10, 20_000, &[1, 1, 1, 0, 0, 0]);
}

#[test]
fn what_is_slow_takes_part_in_ten_of_a_hundred_sessions() {
    let in_every_tenth: Vec<u32> = (0..100).map(|n| u32::from(n % 10 == 0)).collect();
    check_slow(100, 1500, &in_every_tenth);
}

#[test]
fn short_rounds_are_taken_in_all_sessions_and_long_ones_in_few() {
    check(10, 1, &[10; 10]);
    check(10, 600, &[5, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
    check(10, 1500, &[3, 3, 2, 2, 3, 2]);
    check(10, 2500, &[2, 1, 1, 1, 1, 1]);
    check(10, 4000, &[1; 6]);
    check(10, 20_000, &[1; 6]);
    check(1, 600, &[50]);
}

/// Processes that start slowly leave time for seven sessions, which share the hundred rounds.
#[test]
fn fewer_sessions_have_more_rounds_each() {
    let (taken, _) = simulate(10, 4000, 10);
    assert_eq!(taken, [15; 7]);
}

/// For commands, a round is a session: two commands of ten or twenty seconds have a verdict after
/// six rounds, and short ones are repeated until the time limit.
#[test]
fn sessions_of_commands_are_started_and_warmed_up_once() {
    for (round_ms, sessions) in [(1, 100), (200, 100), (1000, 30), (10_000, 6), (20_000, 6)] {
        let roster = Roster::new(vec![true]);
        let mut schedule = Schedule { rounds: 1, roster, ..schedule(1, 100) };
        let (mut now_ns, mut taken, round_ns) = (0, 0, round_ms * 1_000_000);
        while schedule.begins_session(now_ns) {
            schedule.learn(&[round_ns], &[true], now_ns);
            for _ in 0..schedule.warm_up() {
                schedule.took(round_ns, false);
            }
            schedule.budget.starts(now_ns);
            assert_eq!(schedule.session_rounds(), 1);
            now_ns += round_ns;
            schedule.took(round_ns, true);
            taken += 1;
        }
        assert_eq!(taken, sessions, "{round_ms} ms");
    }
}

/// As many sessions as decide something at the level of a large table, as far as three times the
/// time limit allows; six in any case.
#[test]
fn many_methods_have_ten_sessions() {
    for (round_ms, sessions) in
        [(1500, 10), (2500, 10), (4000, 10), (5000, 8), (7000, 5), (20_000, 6)]
    {
        let roster = Roster::new(vec![false; 27]);
        let mut schedule = Schedule { roster, ..schedule(1, 20) };
        let (mut now_ns, mut taken, round_ns) = (0, 0, round_ms * 1_000_000);
        while schedule.begins_session(now_ns) {
            now_ns += if taken == 0 { round_ns } else { 0 };
            schedule.learn(&[round_ns], &[true], now_ns);
            now_ns += round_ns;
            schedule.took(round_ns, false);
            schedule.budget.starts(now_ns);
            for round in 0..schedule.session_rounds() {
                if round > 0 && !schedule.has_time(now_ns) {
                    break;
                }
                now_ns += round_ns;
                schedule.took(round_ns, true);
            }
            taken += 1;
        }
        assert_eq!(taken, sessions, "{round_ms} ms");
        let most_ns = (TIMES_AT_MOST * LIMIT_NS).max(14 * round_ns);
        assert!(now_ns <= most_ns, "{round_ms} ms: {now_ns}");
    }
}

/// At least six rounds, in enough sessions to be compared as wholes, within three times the time
/// limit.
#[test]
fn rounds_of_some_seconds_are_enough_for_a_verdict() {
    for (start_ms, round_ms) in [(500, 1000), (2000, 2000), (2000, 3000), (4000, 4000)] {
        let (taken, seconds) = simulate(10, start_ms, round_ms);
        let rounds: u32 = taken.iter().sum();
        assert!(taken.len() >= 6 && rounds >= 6, "{round_ms} ms: {taken:?}");
        assert!(seconds <= 90, "{round_ms} ms: {seconds} s");
    }
}
/// Three times the time limit, or what six sessions take: a sample of each method to find how long
/// it takes, and in each session its warm-up rounds and one counted round.
#[test]
fn a_run_takes_three_times_its_time_or_six_sessions() {
    for warm_up in [0, 1, 5, 100] {
        for round_ms in [1, 100, 300, 700, 1000, 2500, 4000, 10_000, 14_000, 20_000, 40_000] {
            let (taken, seconds, _) = simulate_warmed(warm_up, 10, 500, round_ms);
            let session_ms = 500 + (u64::from(warm_up) + 1) * round_ms;
            // Before the first round it is not known how long one takes.
            let six = (6 * session_ms + round_ms) / 1000 + LIMIT_NS / 6_000_000_000;
            assert!(
                seconds <= six.max(90),
                "{warm_up} to warm up, rounds of {round_ms} ms: {seconds} s, {taken:?}"
            );
        }
    }
}
#[test]
fn the_share_of_the_time_is_shown_as_it_is_and_the_rounds_in_their_order() {
    for warm_up in [0, 1, 5, 100] {
        for round_ms in [1, 100, 600, 1000, 1500, 2500, 4000, 20_000, 40_000] {
            let case = format!("{warm_up} to warm up, rounds of {round_ms} ms");
            let (taken, seconds, shown) = simulate_warmed(warm_up, 10, 500, round_ms);
            let mut last = 0;
            for (n, shown) in shown.iter().enumerate() {
                let RunProgress::Round { round, rounds, spent_ns, left_ns } = *shown else {
                    panic!("{case}: {shown:?}");
                };
                assert!(round >= last && round < rounds, "{case}: {shown:?}");
                last = round;
                assert_eq!(left_ns.is_some(), n > 0, "{case}: {shown:?}");
                let Some(left_ns) = left_ns else { continue };
                assert!(left_ns > 0, "{case}: {shown:?}");
                let share = spent_ns as f64 / (spent_ns + left_ns) as f64;
                let is = spent_ns as f64 / 1e9 / (seconds as f64 + 0.5);
                assert!((share - is).abs() < 0.15, "{case}: {is} of {seconds} s, {shown:?}");
            }
            assert_eq!(last + 1, taken.iter().sum::<u32>(), "{case}");
        }
    }
}
