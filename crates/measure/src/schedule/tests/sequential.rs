use super::*;

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
        schedule.budget.starts(now_ns);
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
            schedule.roster.leave(&leaves);
        }
    }
    (taken, now_ns / 1_000_000_000)
}

#[test]
fn more_than_eight_methods_have_later_looks() {
    let plan = Plan { design: Design::Sequential, ..Plan::default() };
    let looks = |n: usize| Schedule::new(&plan, 240, vec![false; n], 0).least_sessions();
    assert_eq!([8, 9].map(looks), [FIRST_LOOKS, FIRST_LOOKS_OF_MANY]);
}

#[test]
fn who_has_left_is_known() {
    let mut schedule = Schedule::new(&Plan::default(), 10, vec![false; 2], 0);
    schedule.roster.leave(&[false, true]);
    assert_eq!(schedule.roster.left(), [false, true]);
    assert_eq!([0, 1, 2].map(|cell| schedule.roster.has_left(cell)), [false, true, false]);
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
    // Where not even that fits, it takes longer: a run without a verdict is of no use.
    for cells_ms in [&[10_000, 10_000][..], &[1000, 1000, 60_000], &[50_000, 1, 1]] {
        let (taken, seconds) = simulate_leaving(cells_ms, 240);
        assert_eq!(taken, [1; 6], "{cells_ms:?}");
        let session_s = cells_ms.iter().sum::<u64>() / 1000;
        assert!(seconds >= 6 * session_s && seconds <= 14 * session_s, "{seconds} s: {cells_ms:?}");
    }
}

/// A slow cell that leaves costs nothing any more; before, it takes part in every session.
#[test]
fn what_is_slow_takes_part_until_it_leaves() {
    let (taken, seconds) = simulate_leaving(&[10, 10, 10, 2000], 240);
    assert!(taken.len() > 100 && seconds <= 33, "{seconds} s: {taken:?}");
    assert_eq!(taken[..6], [5; 6]);
}

#[test]
fn a_method_that_has_left_does_not_return() {
    let roster = Roster::new(vec![false; 3]);
    let mut schedule = Schedule { roster, ..schedule(1, 10) };
    schedule.roster.leave(&[false, true, false]);
    schedule.roster.leave(&[false, false, true]);
    let left: Vec<bool> = (0..3).map(|cell| schedule.roster.has_left(cell)).collect();
    assert_eq!(left, [false, true, true]);
    assert!(!schedule.takes_part(1, false) && !schedule.takes_part(2, true));
    assert!(schedule.takes_part(0, false));
}

/// The warm-up of a spared cell is left out from then on, and counted as left out.
#[test]
fn a_spared_method_is_not_warmed_up_in_later_sessions() {
    let samples_ns = [10_000_000, 30_000_000, 60_000_000];
    let roster = Roster::new(vec![false; 3]);
    let mut schedule = Schedule { design: Design::Sequential, roster, ..schedule(1, 10) };
    let mut warmed_up = Vec::new();
    for skips_warm_up in [[false, false, true], [false, true, false], [false; 3]] {
        assert!(schedule.begins_session(0));
        schedule.learn(&samples_ns, &[true, false, false], 1);
        warmed_up
            .push(([0, 1, 2].map(|cell| schedule.takes_part(cell, true)), schedule.warm_ns(100)));
        assert!((0..3).all(|cell| schedule.takes_part(cell, false)));
        schedule.roster.skip_warm_ups(&skips_warm_up);
    }
    let [first, second, third] = [[true; 3], [true, true, false], [true, false, false]];
    assert_eq!(warmed_up, [(first, 100), (second, 40), (third, 10)]);
    // What has left takes no part in a round either, nor a slow cell in one that warms up.
    schedule.roster.leave(&[false, false, true]);
    assert_eq!(schedule.warm_ns(100), 25);
    schedule.roster.slow = vec![false, true, false];
    assert_eq!(schedule.warm_ns(100), 100);
}

#[test]
fn cells_are_spared_until_the_first_look_of_a_run_that_ends_when_all_is_decided() {
    let may_skip_warm_ups =
        |design, begun| Schedule { design, begun, ..schedule(1, 10) }.may_skip_warm_ups();
    let of_sequential = [1, 2, 6, 7].map(|begun| may_skip_warm_ups(Design::Sequential, begun));
    assert_eq!(of_sequential, [false, true, true, false]);
    assert!(!may_skip_warm_ups(Design::Fixed, 2));
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
                schedule.budget.starts(now_ns);
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
            let before_counting_ms = schedule.budget.at_most_ns / 1_000_000;
            assert!(took_ms <= before_counting_ms + sample_ms + 1, "{case}: {took_ms}");
            let is_short = schedule.too_short(whole, took_ms * 1_000_000).is_some();
            assert_eq!(is_short, whole < 6, "{case}: {whole}");
        }
    }
}

#[test]
fn where_a_limit_is_too_short_for_a_verdict_that_which_would_do_does() {
    for (limits_all, limit_ms, cells_ms) in
        [(true, 3000, &[100, 400][..]), (true, 10_000, &[500, 900, 1100])]
    {
        let (whole, took_ms, schedule) = simulate_limited(limits_all, limit_ms, cells_ms);
        let (needed, enough) = schedule.too_short(whole, took_ms * 1_000_000).unwrap();
        assert!(whole < 6 && needed == 6, "{whole} {needed}");
        let enough_ms = enough.unwrap() / 1_000_000;
        assert!(enough_ms > limit_ms && enough_ms < 20 * limit_ms, "{enough_ms}");
        let (whole, took_ms, schedule) = simulate_limited(true, enough_ms, cells_ms);
        assert!(whole >= 6, "{enough_ms} ms: {whole}");
        assert_eq!(schedule.too_short(whole, took_ms * 1_000_000), None);
    }
    // A limit for the rounds alone is never too short: the first look is reached.
    let (whole, took_ms, schedule) = simulate_limited(false, 3000, &[500, 900, 1100]);
    assert_eq!((whole, schedule.too_short(whole, took_ms * 1_000_000)), (6, None));
    let said_s = schedule.budget.announce_ns.map(|ns| ns / 1_000_000_000);
    assert!(said_s.is_some_and(|s| (12..30).contains(&s)), "{said_s:?}");
    let (_, took_ms, schedule) = simulate_limited(true, 100, &[2000, 2000]);
    let short = schedule.too_short(0, took_ms * 1_000_000);
    assert!(short.is_some_and(|(_, ns)| ns.is_some_and(|ns| ns > 48_000_000_000)), "{short:?}");
}

#[test]
fn a_limit_that_is_enough_to_count_leaves_the_counting_pass_its_time() {
    for (limit_ms, cells_ms, pass_ms) in
        [(3000, &[10, 20][..], 2000), (10_000, &[100, 400], 6000), (3000, &[100, 400], 500)]
    {
        let case = format!("{limit_ms} ms, samples of {cells_ms:?}, {pass_ms} ms to count");
        let (whole, took_ms, schedule) = simulate_limited(true, limit_ms, cells_ms);
        let enough = |schedule: &Schedule| {
            schedule.enough_to_count_ns(whole, took_ms * 1_000_000, pass_ms * 1_000_000)
        };
        let enough_ms = enough(&schedule).unwrap().div_ceil(1_000_000);
        assert!(enough_ms > limit_ms, "{case}: {enough_ms}");
        assert_eq!(enough(&Schedule { had: 1, ..schedule }), None, "{case}: it was resumed");
        let (_, took_ms, _) = simulate_limited(true, enough_ms, cells_ms);
        // The limit is kept but for one sample.
        let left_ms = (enough_ms + cells_ms.iter().max().unwrap()).saturating_sub(took_ms);
        assert!(left_ms >= pass_ms, "{case}: {left_ms} of {enough_ms}");
    }
}

/// The time to set up the methods is none of the limit, and the first samples tell at once what a
/// verdict takes.
#[test]
fn setting_up_takes_nothing_from_the_limit() {
    let plan = Plan {
        rounds: 1,
        sessions: 240,
        design: Design::Sequential,
        time_limit_ns: 5_000_000_000,
        limits_all: true,
        counting: 5,
        ..Plan::default()
    };
    let of = |sample_ns: u64| {
        let mut schedule = Schedule::new(&plan, 240, vec![true; 2], 0);
        assert!(schedule.begins_session(0));
        schedule.budget.set_up(60_000_000_000, false);
        let now_ns = 60_000_000_000 + 2 * sample_ns;
        schedule.learn(&[sample_ns; 2], &[true, false], now_ns);
        let left_ns = schedule.budget.at_most_left_ns(now_ns);
        let is_over = schedule.is_over(now_ns);
        (left_ns / 1_000_000, is_over, schedule.will_be_too_short(0, now_ns).is_some())
    };
    // The reserve of the counting pass is a tenth to a quarter.
    assert_eq!(of(10_000_000), (4480, false, false));
    assert_eq!(of(1_000_000_000), (3000, false, true));
    assert_eq!(of(3_000_000_000), (0, true, true));
}

/// Without a limit of the user's, a command of a minute is run once, and a shorter one six times.
#[test]
fn what_takes_a_minute_is_not_repeated() {
    let sessions = |sample_s: u64, limits_all| {
        let plan = Plan {
            rounds: 1,
            sessions: 240,
            design: Design::Sequential,
            time_limit_ns: LIMIT_NS,
            limits_all,
            ..Plan::default()
        };
        let mut schedule = Schedule::new(&plan, 240, vec![true], 0);
        let (mut now_ns, sample_ns, mut taken) = (0, sample_s * 1_000_000_000, 0);
        while schedule.begins_session(now_ns) {
            if taken == 0 {
                now_ns += sample_ns;
                schedule.sampled(sample_ns);
                schedule.learn(&[sample_ns], &[true], now_ns);
            }
            if schedule.is_over(now_ns) || !schedule.has_time_for_round(now_ns) {
                break;
            }
            schedule.budget.starts(now_ns);
            now_ns += sample_ns;
            schedule.took(sample_ns, true);
            taken += 1;
        }
        (taken, schedule.too_short(taken, now_ns).and_then(|(_, ns)| Some(ns? / 1_000_000_000)))
    };
    assert_eq!(sessions(20, false), (6, None));
    assert_eq!(sessions(59, false), (6, None));
    assert_eq!(sessions(60, false), (0, Some(480)));
    // A limit of the user's holds: there is time for no round, or for some.
    assert_eq!(sessions(20, true), (0, Some(160)));
    assert_eq!(sessions(4, true).0, 6);
}

/// Warm-up rounds that a limit has no time for are left out before rounds that count.
#[test]
fn warm_ups_give_way_to_the_rounds_of_a_verdict() {
    let warm_ups = |limit_s: u64, process_per_sample| {
        let plan = Plan {
            rounds: 1,
            sessions: 240,
            design: Design::Sequential,
            time_limit_ns: limit_s * 1_000_000_000,
            limits_all: true,
            warm_up: 5,
            ..Plan::default()
        };
        let mut schedule = Schedule::new(&plan, 240, vec![process_per_sample], 0);
        assert!(schedule.begins_session(0));
        schedule.learn(&[1_000_000_000], &[true], 1_000_000_000);
        schedule.warm_up()
    };
    assert_eq!([3, 7, 8, 10, 60].map(|limit_s| warm_ups(limit_s, true)), [1, 1, 2, 4, 5]);
    // Each session of processes of its own needs its own.
    assert_eq!(warm_ups(3, false), 5);
}
