//! How the time of a run is shared out: how many sessions it is worth to start, when each of them ends,
//! and what one hands on to the next. Knows no clock: it is told the time.

use crate::run::Plan;

/// Rounds without which several methods get no verdict; for them a run may take twice its time.
const LEAST_ROUNDS: u32 = 12;
/// Each session costs the rounds that warm it up, and so should have this many that count.
const ROUNDS_PER_SESSION: u32 = 3;
/// A sample that takes more than this part of all the time, and that many times as long as those of most cells,
/// is taken once in a session.
const SLOW_PART: u64 = 30;
const SLOW_TIMES: u64 = 10;
/// With fewer than five sessions they cannot be compared as wholes; a sixth makes the intervals a third shorter.
const LEAST_SESSIONS: [u32; 2] = [6, 5];
/// All that a run does takes at most its time this many times, the counting pass included.
const TIMES_AT_MOST: u64 = 3;

/// How long a run takes at most, or its first rounds if these take longer.
pub fn at_most_ns(plan: &Plan) -> u64 {
    plan.time_limit_ns.saturating_mul(TIMES_AT_MOST)
}

#[derive(Default)]
pub(super) struct Course {
    /// By cell, how many operations a sample holds: found once, so that all samples are alike.
    pub(super) ops: Vec<Option<u64>>,
    /// What the lab itself needed for each sample.
    pub(super) between_ns: Vec<u64>,
    /// By cell, where it is known, whether it takes part in one round of a session only.
    slow: Vec<bool>,
    /// What the samples of the slow ones take together.
    slow_ns: u64,
    /// For all rounds that are left; a multiple of it is the limit of what they must have.
    limit_ns: u64,
    at_most_ns: u64,
    sessions: u32,
    rounds: u32,
    /// The rounds that warm up a session.
    warm_up: u32,
    begun: u32,
    /// Whether the slow ones take part in the session in hand.
    with_slow: bool,
    /// When measuring began, and when the session in hand did.
    began_ns: Option<u64>,
    session_began_ns: u64,
    /// What starting the processes of a session takes.
    start_ns: Option<u64>,
    /// When the first round that counts began, and what the first round took, also if it was a warm-up.
    started_ns: Option<u64>,
    round_ns: Option<u64>,
    /// Rounds of the session in hand that count.
    taken: u32,
}

/// By cell, whether it is slow: the slow ones share the time of the run with the others, and must not take it all.
/// The reference, which all are compared with, is never slow.
pub(super) fn slow(samples_ns: &[u64], reference: &[bool], limit_ns: u64) -> Vec<bool> {
    let mut sorted: Vec<u64> = samples_ns.iter().copied().filter(|ns| *ns > 0).collect();
    sorted.sort_unstable();
    let median_ns = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let bearable_ns = (limit_ns / SLOW_PART).max(median_ns.saturating_mul(SLOW_TIMES)).max(1);
    let is_slow = |(ns, is_reference): (&u64, &bool)| !is_reference && *ns > bearable_ns;
    samples_ns.iter().zip(reference).map(is_slow).collect()
}

impl Course {
    /// For so many sessions of the plan, with so many rounds together.
    pub(super) fn new(plan: &Plan, sessions: u32, rounds: u32, cells: usize) -> Course {
        let all = u64::from(plan.rounds) * u64::from(plan.sessions.max(1));
        let limit_ns = u128::from(plan.time_limit_ns) * u128::from(rounds) / u128::from(all.max(1));
        Course {
            ops: vec![None; cells],
            limit_ns: limit_ns.try_into().unwrap_or(u64::MAX),
            at_most_ns: at_most_ns(plan),
            sessions,
            rounds,
            warm_up: plan.warm_up,
            ..Course::default()
        }
    }

    /// Whether a session is begun: there must be time to start its processes, to warm them up and for a round.
    /// The slow ones take part in it if there is time for them, too.
    pub(super) fn begins_session(&mut self, now_ns: u64) -> bool {
        self.began_ns.get_or_insert(now_ns);
        let session_ns = self.session_ns(1);
        let in_time = self.spent_ns(now_ns).saturating_add(session_ns) <= self.limit_ns;
        // What the verdicts need is taken after the time is over, too.
        let needed = self.begun < LEAST_SESSIONS[0];
        let begins = self.begun == 0
            || self.begun < self.worth_sessions()
                && (in_time || needed)
                && self.is_left(now_ns, session_ns);
        self.begun += u32::from(begins);
        self.session_began_ns = now_ns;
        self.taken = 0;
        let with_slow_ns = session_ns.saturating_add(self.slow_ns);
        self.with_slow =
            self.begun < 2 || self.has_time_for_slow() && self.is_left(now_ns, with_slow_ns);
        begins
    }

    /// The first round that counts is about to begin.
    pub(super) fn starts(&mut self, now_ns: u64) {
        self.started_ns.get_or_insert(now_ns);
    }

    /// The processes of a session are started. How long the samples of each cell take, and which are of the
    /// reference, is told once, so that all sessions are alike.
    pub(super) fn learn(&mut self, samples_ns: &[u64], reference: &[bool], now_ns: u64) {
        if self.start_ns.is_some() {
            return;
        }
        self.slow = slow(samples_ns, reference, self.limit_ns);
        let slow = samples_ns.iter().zip(&self.slow).filter(|(_, slow)| **slow);
        self.slow_ns = slow.map(|(ns, _)| *ns).sum();
        // The first session also took a sample of each to find this out.
        let samples_ns: u64 = samples_ns.iter().sum();
        let took_ns = now_ns.saturating_sub(self.session_began_ns);
        self.start_ns = Some(took_ns.saturating_sub(samples_ns));
    }

    /// Whether the cell takes part in the next round. What is slow is not warmed up again in each session.
    pub(super) fn takes_part(&self, cell: usize, warm_up: bool) -> bool {
        if !self.slow.get(cell).is_some_and(|slow| *slow) {
            return true;
        }
        !warm_up && self.taken == 0 && self.with_slow
    }

    /// A round has been taken, in this time.
    pub(super) fn took(&mut self, round_ns: u64, counts: bool) {
        self.round_ns.get_or_insert(round_ns);
        self.taken += u32::from(counts);
    }

    /// The rounds of a session that is to do so many, at most: where fewer sessions are worth it, each
    /// has more.
    pub(super) fn session_rounds(&self, asked: u32) -> u32 {
        let worth = self.worth_sessions();
        if worth < self.sessions { self.rounds.div_ceil(worth) } else { asked }
    }

    /// Whether the session in hand has time for another round: at least half of it must fit. For the rounds
    /// without which there is no verdict there is twice the time. All of it must fit into what the run takes at
    /// most.
    pub(super) fn has_time(&self, now_ns: u64) -> bool {
        let worth = self.worth_sessions();
        let round_ns = self.round_ns.unwrap_or_default();
        let fits = |limit_ns: u64| {
            let end_ns = (limit_ns / u64::from(worth)).saturating_mul(u64::from(self.begun));
            self.spent_ns(now_ns).saturating_add(round_ns / 2) <= end_ns
        };
        let needed = self.taken < LEAST_ROUNDS.div_ceil(worth);
        let in_time = fits(self.limit_ns) || needed && fits(self.limit_ns.saturating_mul(2));
        in_time && self.is_left(now_ns, round_ns)
    }

    /// Whether there is so much time before the run has taken what it takes at most.
    fn is_left(&self, now_ns: u64, ns: u64) -> bool {
        ns <= self.at_most_left_ns(now_ns)
    }

    fn at_most_left_ns(&self, now_ns: u64) -> u64 {
        let began_ns = self.began_ns.unwrap_or(now_ns);
        let taken_ns = now_ns.saturating_sub(began_ns);
        self.at_most_ns.saturating_sub(taken_ns)
    }

    pub(super) fn spent_ns(&self, now_ns: u64) -> u64 {
        self.started_ns.map_or(0, |started_ns| now_ns.saturating_sub(started_ns))
    }

    /// All that were asked for, or as many as the time allows when a round is long. Before they are fewer than
    /// can be compared as wholes, the run takes longer; where that is not enough either, one is left.
    fn worth_sessions(&self) -> u32 {
        let Some(round_ns) = self.round_ns else { return self.sessions };
        let worth = |slow_ns: u64| {
            let fit = |limit_ns: u64, rounds| {
                limit_ns / self.session_ns(rounds).saturating_add(slow_ns).max(1)
            };
            let whole = fit(self.limit_ns, ROUNDS_PER_SESSION).min(u64::from(self.sessions)) as u32;
            // The first one also finds out how long the samples take.
            let first_ns =
                round_ns.saturating_add(self.start_ns.unwrap_or_default()).saturating_add(slow_ns);
            let most_ns = self.limit_ns.saturating_mul(TIMES_AT_MOST).saturating_sub(first_ns);
            let least = LEAST_SESSIONS.into_iter().find(|n| fit(most_ns, 1) >= u64::from(*n));
            least.map(|least| whole.max(least))
        };
        // What is too slow for that does not cost the others their sessions.
        let sessions = worth(self.slow_ns).or_else(|| worth(0)).unwrap_or(1);
        sessions.min(self.sessions).max(1)
    }

    /// What a session takes in which this many rounds count, with those that warm it up and without what is slow.
    fn session_ns(&self, counted: u32) -> u64 {
        let round_ns = self.round_ns.unwrap_or_default();
        let rounds = u64::from(self.warm_up) + u64::from(counted);
        round_ns.saturating_mul(rounds).saturating_add(self.start_ns.unwrap_or_default())
    }

    /// Whether the slow ones have not had their share of the time yet.
    fn has_time_for_slow(&self) -> bool {
        let all_ns = self.slow_ns.saturating_mul(u64::from(self.begun));
        all_ns <= self.limit_ns.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT_NS: u64 = 30_000_000_000;

    fn course(warm_up: u32, sessions: u32) -> Course {
        let at_most_ns = TIMES_AT_MOST * LIMIT_NS;
        let limit_ns = LIMIT_NS;
        Course { limit_ns, at_most_ns, sessions, rounds: 100, warm_up, ..Course::default() }
    }

    /// The counted rounds of each session of a run of 30 s, whose processes start and whose rounds are taken in
    /// so many ms; and the seconds that it takes.
    fn simulate(sessions: u32, start_ms: u64, round_ms: u64) -> (Vec<u32>, u64) {
        simulate_warmed(1, sessions, start_ms, round_ms)
    }

    fn simulate_warmed(
        warm_up: u32,
        sessions: u32,
        start_ms: u64,
        round_ms: u64,
    ) -> (Vec<u32>, u64) {
        let (start_ns, round_ns) = (start_ms * 1_000_000, round_ms * 1_000_000);
        let mut course = course(warm_up, sessions);
        let (mut now_ns, mut taken) = (0, Vec::new());
        while course.begins_session(now_ns) {
            // In the first one, also a sample of each.
            now_ns += start_ns + if taken.is_empty() { round_ns } else { 0 };
            course.learn(&[round_ns], &[true], now_ns);
            for _ in 0..warm_up {
                now_ns += round_ns;
                course.took(round_ns, false);
            }
            course.starts(now_ns);
            let mut rounds = 0;
            while rounds < course.session_rounds(100 / sessions)
                && (rounds == 0 || course.has_time(now_ns))
            {
                now_ns += round_ns;
                course.took(round_ns, true);
                rounds += 1;
            }
            taken.push(rounds);
        }
        (taken, now_ns / 1_000_000_000)
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
        // A reference takes part in all, and where all are slow, all do.
        assert_eq!(of(&[9000, 10, 10]), [false; 3]);
        assert_eq!(of(&[5000, 6000, 20_000]), [false; 3]);
        assert_eq!(of(&[0, 0]), [false; 2]);
    }

    /// In how many rounds of each session a cell of samples of so many ms takes part, beside others of 10 ms.
    fn check_slow(sample_ms: u64, expected: &[u32]) {
        let samples_ns = [10_000_000, 10_000_000, 10_000_000, sample_ms * 1_000_000];
        let mut course = course(1, 10);
        let (mut now_ns, mut taken) = (0, Vec::new());
        while course.begins_session(now_ns) {
            now_ns += 100_000_000;
            course.learn(&samples_ns, &[true, false, false, false], now_ns);
            assert!(!course.takes_part(3, true), "it is warmed up");
            course.took(30_000_000, false);
            course.starts(now_ns);
            let (mut rounds, mut own) = (0, 0);
            while rounds < course.session_rounds(10) && (rounds == 0 || course.has_time(now_ns)) {
                let takes_part = u32::from(course.takes_part(3, false));
                now_ns += 30_000_000 + u64::from(takes_part) * samples_ns[3];
                course.took(30_000_000, true);
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
        check(10, 2500, &[2; 6]);
        check(10, 4000, &[2, 2, 2, 1, 2, 1]);
        check(10, 20_000, &[2]);
        check(1, 600, &[50]);
    }

    /// Six rounds at the least, in sessions enough to be compared as wholes, within three times the time.
    #[test]
    fn rounds_of_some_seconds_are_enough_for_a_verdict() {
        for (start_ms, round_ms) in [(500, 1000), (2000, 2000), (2000, 3000), (4000, 4000)] {
            let (taken, seconds) = simulate(10, start_ms, round_ms);
            let rounds: u32 = taken.iter().sum();
            assert!(taken.len() >= 6 && rounds >= 6, "{round_ms} ms: {taken:?}");
            assert!(seconds <= 90, "{round_ms} ms: {seconds} s");
        }
    }
    /// Three times its time, or what the first session takes before it can look at a clock: a sample of
    /// each method, the rounds that warm it up, and one that counts.
    #[test]
    fn a_run_takes_three_times_its_time_or_its_first_rounds() {
        for warm_up in [0, 1, 5, 100] {
            for round_ms in [1, 100, 300, 700, 1000, 2500, 4000, 10_000, 14_000, 20_000, 40_000] {
                let (taken, seconds) = simulate_warmed(warm_up, 10, 500, round_ms);
                let first = (500 + (u64::from(warm_up) + 2) * round_ms) / 1000;
                assert!(
                    seconds <= first.max(90),
                    "{warm_up} to warm up, rounds of {round_ms} ms: {seconds} s, {taken:?}"
                );
            }
        }
    }
}
