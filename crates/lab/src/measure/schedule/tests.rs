use super::limit::TIMES_AT_MOST;
use super::*;

const LIMIT_NS: u64 = 30_000_000_000;

fn schedule(warm_up: u32, sessions: u32) -> Schedule {
    let at_most_ns = TIMES_AT_MOST * LIMIT_NS;
    let limit_ns = LIMIT_NS;
    let (rounds, stays, warm_share) = (100 / sessions, vec![false], 1.0);
    Schedule {
        limit_ns,
        at_most_ns,
        sessions,
        rounds,
        stays,
        warm_share,
        warm_up,
        ..Schedule::default()
    }
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
) -> (Vec<u32>, u64, Vec<Progress<'static>>) {
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
        schedule.starts(now_ns);
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
fn check_slow(sample_ms: u64, expected: &[u32]) {
    let samples_ns = [10_000_000, 10_000_000, 10_000_000, sample_ms * 1_000_000];
    let mut schedule = schedule(1, 10);
    let (mut now_ns, mut taken) = (0, Vec::new());
    while schedule.begins_session(now_ns) {
        now_ns += 100_000_000;
        schedule.learn(&samples_ns, &[true, false, false, false], now_ns);
        assert!(!schedule.takes_part(3, true), "it is warmed up");
        schedule.took(30_000_000, false);
        schedule.starts(now_ns);
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
    check_slow(1500, &[1; 10]);
    check_slow(3900, &[1; 7]);
    check_slow(9000, &[1; 6]);
    check_slow(20_000, &[1, 1, 1, 0, 0, 0]);
}

#[test]
fn short_rounds_are_taken_in_all_sessions_and_long_ones_in_few() {
    check(10, 1, &[10; 10]);
    check(10, 600, &[5, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
    check(10, 1500, &[3, 3, 2, 2, 3, 2]);
    check(10, 2500, &[2, 1, 1, 1, 1, 1]);
    check(10, 4000, &[1; 6]);
    check(10, 20_000, &[2]);
    check(1, 600, &[50]);
}

/// For commands, a round is a session: two commands of ten seconds have a verdict after six rounds,
/// and short ones are repeated until the time limit.
#[test]
fn sessions_of_commands_are_started_and_warmed_up_once() {
    for (round_ms, sessions) in [(1, 100), (200, 100), (1000, 30), (10_000, 6), (20_000, 1)] {
        let plan_rounds = 1;
        let mut schedule = Schedule { rounds: plan_rounds, ..schedule(1, 100) };
        (schedule.stays, schedule.warm_share) = (vec![true], 0.0);
        let (mut now_ns, mut taken, round_ns) = (0, 0, round_ms * 1_000_000);
        while schedule.begins_session(now_ns) {
            schedule.learn(&[round_ns], &[true], now_ns);
            for _ in 0..schedule.warm_up() {
                schedule.took(round_ns, false);
            }
            schedule.starts(now_ns);
            assert_eq!(schedule.session_rounds(), 1);
            now_ns += round_ns;
            schedule.took(round_ns, true);
            taken += 1;
        }
        assert_eq!(taken, sessions, "{round_ms} ms");
    }
}

/// As many sessions as decide something at the level of a large table, as far as three times the
/// time limit allows.
#[test]
fn many_methods_have_ten_sessions() {
    for (round_ms, sessions) in
        [(1500, 10), (2500, 10), (4000, 10), (5000, 8), (7000, 5), (20_000, 1)]
    {
        let mut schedule = Schedule { stays: vec![false; 27], ..schedule(1, 20) };
        let (mut now_ns, mut taken, round_ns) = (0, 0, round_ms * 1_000_000);
        while schedule.begins_session(now_ns) {
            now_ns += if taken == 0 { round_ns } else { 0 };
            schedule.learn(&[round_ns], &[true], now_ns);
            now_ns += round_ns;
            schedule.took(round_ns, false);
            schedule.starts(now_ns);
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
        assert!(now_ns <= TIMES_AT_MOST * LIMIT_NS, "{round_ms} ms: {now_ns}");
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
/// Three times the time limit, or what the first session takes before it can check the time: one
/// sample of each method, its warm-up rounds, and one counted round.
#[test]
fn a_run_takes_three_times_its_time_or_its_first_rounds() {
    for warm_up in [0, 1, 5, 100] {
        for round_ms in [1, 100, 300, 700, 1000, 2500, 4000, 10_000, 14_000, 20_000, 40_000] {
            let (taken, seconds, _) = simulate_warmed(warm_up, 10, 500, round_ms);
            let first = (500 + (u64::from(warm_up) + 2) * round_ms) / 1000;
            assert!(
                seconds <= first.max(90),
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
                let Progress::Round { round, rounds, spent_ns, left_ns } = *shown else {
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

/// Simulates a run of 30 s in which all cells but the first two leave after six sessions. Returns
/// the rounds of each session, and the duration in seconds.
fn simulate_leaving(cells_ms: &[u64], stop_after: usize) -> (Vec<u32>, u64) {
    let samples_ns: Vec<u64> = cells_ms.iter().map(|ms| ms * 1_000_000).collect();
    let reference: Vec<bool> = (0..samples_ns.len()).map(|cell| cell == 0).collect();
    let plan = Plan {
        rounds: 5,
        sessions: 240,
        design: Design::Sequential,
        time_limit_ns: LIMIT_NS,
        warm_up: 1,
        ..Plan::default()
    };
    let mut schedule = Schedule::new(&plan, 240, vec![false; samples_ns.len()], 0);
    let (mut now_ns, mut taken) = (0, Vec::new());
    let round_ns = |schedule: &Schedule, warm_up| -> u64 {
        let cells = (0..samples_ns.len()).filter(|cell| schedule.takes_part(*cell, warm_up));
        cells.map(|cell| samples_ns[cell]).sum()
    };
    while taken.len() < stop_after && schedule.begins_session(now_ns) {
        let learns = if taken.is_empty() { samples_ns.iter().sum() } else { 0 };
        now_ns += 1_000_000 + learns;
        schedule.learn(&samples_ns, &reference, now_ns);
        let warm_ns = round_ns(&schedule, true);
        now_ns += warm_ns;
        schedule.took(warm_ns, false);
        schedule.starts(now_ns);
        let mut rounds = 0;
        while rounds < schedule.session_rounds() && (rounds == 0 || schedule.has_time(now_ns)) {
            let one_ns = round_ns(&schedule, false);
            now_ns += one_ns;
            schedule.took(one_ns, true);
            rounds += 1;
        }
        taken.push(rounds);
        if taken.len() == 6 {
            let leaves: Vec<bool> = (0..samples_ns.len()).map(|cell| cell > 1).collect();
            schedule.leave(&leaves);
        }
    }
    (taken, now_ns / 1_000_000_000)
}

#[test]
fn the_time_of_those_that_leave_is_that_of_the_others() {
    // A round of all takes 1 s, one of those that stay 20 ms.
    let (taken, seconds) = simulate_leaving(&[10, 10, 480, 500], 240);
    assert_eq!(taken[..7], [1; 7]);
    assert_eq!(taken[7..20], [5; 13]);
    assert!(taken.len() > 100 && seconds <= 31, "{seconds} s: {taken:?}");
    // Without methods that leave, the sessions are as long as the time allows.
    let (taken, seconds) = simulate_leaving(&[100, 100], 240);
    assert!((22..30).contains(&taken.len()) && seconds <= 31, "{seconds} s: {taken:?}");
    // Short rounds end with the last look.
    let (taken, _) = simulate_leaving(&[1, 1], 1000);
    assert_eq!(taken, [5; 240]);
}

#[test]
fn a_sequential_run_has_its_first_look_within_three_times_its_time() {
    let (taken, seconds) = simulate_leaving(&[2000, 2000, 2000], 240);
    assert_eq!(taken.len(), 6, "{taken:?}");
    assert!(seconds <= 90, "{seconds} s");
    // Where not even that fits, nothing is measured after the time limit.
    let (taken, seconds) = simulate_leaving(&[10_000, 10_000], 240);
    assert!(taken.len() < 6 && seconds <= 80, "{seconds} s: {taken:?}");
}

/// A slow cell that leaves costs nothing any more; before, it takes part in every session.
#[test]
fn what_is_slow_takes_part_until_it_leaves() {
    let (taken, seconds) = simulate_leaving(&[10, 10, 10, 2000], 240);
    assert!(taken.len() > 100 && seconds <= 33, "{seconds} s: {taken:?}");
    assert_eq!(taken[..6], [5; 6]);
}

#[test]
fn what_has_left_does_not_return() {
    let mut schedule = Schedule { left: vec![false; 3], ..schedule(1, 10) };
    schedule.leave(&[false, true, false]);
    schedule.leave(&[false, false, true]);
    let left: Vec<bool> = (0..3).map(|cell| schedule.has_left(cell)).collect();
    assert_eq!(left, [false, true, true]);
    assert!(!schedule.takes_part(1, false) && !schedule.takes_part(2, true));
    assert!(schedule.takes_part(0, false));
}

/// Simulates a run whose limit is for all of it or for its rounds, up to the counting pass: the
/// number of sessions with a counted round of all cells, when it ended in ms, and its schedule.
fn simulate_limited(limits_all: bool, limit_ms: u64, cells_ms: &[u64]) -> (u32, u64, Schedule) {
    let plan = Plan {
        rounds: 5,
        sessions: 240,
        design: Design::Sequential,
        time_limit_ns: limit_ms * 1_000_000,
        limits_all,
        warm_up: 1,
        counting: 5,
        ..Plan::default()
    };
    let mut schedule = Schedule::new(&plan, 240, vec![false; cells_ms.len()], 0);
    let samples_ns: Vec<u64> = cells_ms.iter().map(|ms| ms * 1_000_000).collect();
    let reference: Vec<bool> = (0..cells_ms.len()).map(|cell| cell == 0).collect();
    let (mut now_ns, mut whole) = (0, 0);
    // Returns whether there was time for a sample of each cell.
    let round = |schedule: &Schedule, now_ns: &mut u64| {
        samples_ns.iter().all(|ns| {
            let goes_on = !schedule.is_over(*now_ns);
            *now_ns += if goes_on { *ns } else { 0 };
            goes_on
        })
    };
    while schedule.begins_session(now_ns) {
        now_ns += 1_000_000;
        if whole == 0 {
            round(&schedule, &mut now_ns);
        }
        schedule.learn(&samples_ns, &reference, now_ns);
        let mut rounds = 0;
        for counts in [false, true, true, true, true, true] {
            if counts {
                schedule.starts(now_ns);
            }
            let is_last = rounds >= schedule.session_rounds();
            if is_last || schedule.is_over(now_ns) || rounds > 0 && !schedule.has_time(now_ns) {
                break;
            }
            let began_ns = now_ns;
            let is_whole = round(&schedule, &mut now_ns);
            schedule.took(now_ns - began_ns, counts);
            rounds += u32::from(counts && is_whole);
        }
        whole += u32::from(rounds > 0);
    }
    (whole, now_ns / 1_000_000, schedule)
}

#[test]
fn a_limit_for_the_whole_run_is_kept_but_for_one_sample() {
    for limit_ms in [1, 100, 1000, 3000, 30_000] {
        for cells_ms in [&[1, 1][..], &[10, 20, 30], &[100, 400], &[2000, 2000, 5000], &[40_000]] {
            let case = format!("{limit_ms} ms, samples of {cells_ms:?}");
            let (whole, took_ms, schedule) = simulate_limited(true, limit_ms, cells_ms);
            let sample_ms = cells_ms.iter().max().unwrap();
            assert!(took_ms <= limit_ms + sample_ms + 1, "{case}: {took_ms}");
            let counting_ms = (schedule.counting_ns / 1_000_000).min(limit_ms / 4);
            assert!(took_ms <= limit_ms + sample_ms + 1 - counting_ms, "{case}: {took_ms}");
            let is_short = schedule.too_short(whole, took_ms * 1_000_000).is_some();
            assert_eq!(is_short, whole < 6, "{case}: {whole}");
        }
    }
}

#[test]
fn where_a_limit_is_too_short_for_a_verdict_that_which_would_do_does() {
    for (limits_all, limit_ms, cells_ms) in [
        (true, 3000, &[100, 400][..]),
        (true, 10_000, &[500, 900, 1100]),
        (false, 3000, &[500, 900, 1100]),
    ] {
        let (whole, took_ms, schedule) = simulate_limited(limits_all, limit_ms, cells_ms);
        let (needed, enough) = schedule.too_short(whole, took_ms * 1_000_000).unwrap();
        assert!(whole < 6 && needed == 6, "{whole} {needed}");
        let enough_ms = enough.unwrap() / 1_000_000;
        assert!(enough_ms > limit_ms && enough_ms < 20 * limit_ms, "{enough_ms}");
        let (whole, took_ms, schedule) = simulate_limited(true, enough_ms, cells_ms);
        assert!(whole >= 6, "{enough_ms} ms: {whole}");
        assert_eq!(schedule.too_short(whole, took_ms * 1_000_000), None);
    }
    let (_, took_ms, schedule) = simulate_limited(true, 100, &[2000, 2000]);
    assert_eq!(schedule.too_short(0, took_ms * 1_000_000), Some((6, None)));
}
