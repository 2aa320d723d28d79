//! How the time of a run is shared out: how many sessions it is worth to start, when each of them ends,
//! and what one hands on to the next. Knows no clock: it is told the time.

use crate::run::Plan;

/// Rounds without which several methods get no verdict; for so many a run may take twice its time.
const LEAST_ROUNDS: u32 = 12;
/// Each session costs the rounds that warm it up, and so should have this many that count.
const ROUNDS_PER_SESSION: u64 = 4;
/// A sample that takes more than this part of all the time, and that many times as long as those of most cells,
/// is not taken in every round.
const SLOW_PART: u64 = 30;
const SLOW_TIMES: u64 = 10;
/// A guest takes part in every so many-th round.
const GUEST_EVERY: u32 = 3;
/// With fewer sessions they cannot be compared as wholes.
const LEAST_SESSIONS: u64 = 5;

#[derive(Default)]
pub(super) struct Course {
    /// By cell, how many operations a sample holds: found once, so that all samples are alike.
    pub(super) ops: Vec<Option<u64>>,
    /// What the lab itself needed for each sample.
    pub(super) between_ns: Vec<u64>,
    /// By cell, where they are known, in which rounds it takes part.
    turns: Vec<Turn>,
    /// For all rounds that are left, at most.
    limit_ns: u64,
    sessions: u32,
    rounds: u32,
    begun: u32,
    /// When the first round that counts began, and what the first round took, also if it was a warm-up.
    started_ns: Option<u64>,
    round_ns: Option<u64>,
    /// Rounds that count.
    taken: u32,
}

/// In every so many-th round, from which one on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Turn {
    every: u32,
    first: u32,
    warms_up: bool,
    /// What it adds to a round on average beside those that take part in all.
    mean_ns: u64,
}

/// By cell, in every how many-th round it takes part: the slow ones share the time of the run with the others,
/// and must not take it all. All are compared with the reference, which takes part in every round.
pub(super) fn slow_by(samples_ns: &[u64], reference: &[bool], limit_ns: u64) -> Vec<u32> {
    let mut sorted: Vec<u64> = samples_ns.iter().copied().filter(|ns| *ns > 0).collect();
    sorted.sort_unstable();
    let median_ns = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let bearable_ns = (limit_ns / SLOW_PART).max(median_ns.saturating_mul(SLOW_TIMES)).max(1);
    let every = |(sample_ns, is_reference): (&u64, &bool)| {
        let every = sample_ns.div_ceil(bearable_ns).clamp(1, u64::from(u32::MAX)) as u32;
        if *is_reference { 1 } else { every }
    };
    samples_ns.iter().zip(reference).map(every).collect()
}

impl Course {
    /// For so many sessions of the plan, with so many rounds together.
    pub(super) fn new(plan: &Plan, sessions: u32, rounds: u32, cells: usize) -> Course {
        let all = u64::from(plan.rounds) * u64::from(plan.sessions.max(1));
        let limit_ns = u128::from(plan.time_limit_ns) * u128::from(rounds) / u128::from(all.max(1));
        Course {
            ops: vec![None; cells],
            limit_ns: limit_ns.try_into().unwrap_or(u64::MAX),
            sessions,
            rounds,
            ..Course::default()
        }
    }

    /// Whether a session is begun: there must be time to warm it up and for a round.
    pub(super) fn begins_session(&mut self, now_ns: u64) -> bool {
        let needs_ns = self.round_ns.unwrap_or_default().saturating_mul(2);
        let begins = self.begun == 0
            || self.begun < self.worth_sessions()
                && self.spent_ns(now_ns).saturating_add(needs_ns) <= self.limit_ns;
        self.begun += u32::from(begins);
        begins
    }

    /// The first round that counts is about to begin.
    pub(super) fn starts(&mut self, now_ns: u64) {
        self.started_ns.get_or_insert(now_ns);
    }

    /// How long the samples of each cell take, and which are of the reference and of guests. It is told once,
    /// so that all sessions are alike.
    pub(super) fn learn(&mut self, samples_ns: &[u64], reference: &[bool], guests: &[bool]) {
        if !self.turns.is_empty() {
            return;
        }
        let slow_by = slow_by(samples_ns, reference, self.limit_ns);
        let mut others = 0;
        for (cell, by) in slow_by.into_iter().enumerate() {
            let every = if guests[cell] { by.max(GUEST_EVERY) } else { by };
            // Not all of them in one round.
            let first = if every > 1 { others % every } else { 0 };
            others += u32::from(every > 1);
            let mean_ns = if every > 1 { samples_ns[cell] / u64::from(every) } else { 0 };
            self.turns.push(Turn { every, first, warms_up: by == 1, mean_ns });
        }
    }

    /// Whether the cell takes part in the next round. What is slow is not warmed up again in each session.
    pub(super) fn takes_part(&self, cell: usize, warm_up: bool) -> bool {
        // There may be one round only.
        let counts = |turn: &Turn| self.taken == 0 || self.taken % turn.every == turn.first;
        self.turns.get(cell).is_none_or(|turn| if warm_up { turn.warms_up } else { counts(turn) })
    }

    /// A round has been taken, in this time.
    pub(super) fn took(&mut self, round_ns: u64, counts: bool) {
        let slow_ns: u64 = self.turns.iter().map(|turn| turn.mean_ns).sum();
        self.round_ns.get_or_insert(round_ns + slow_ns);
        self.taken += u32::from(counts);
    }

    /// The rounds of a session that is to do so many, at most: where fewer sessions are worth it, each
    /// has more.
    pub(super) fn session_rounds(&self, asked: u32) -> u32 {
        let worth = self.worth_sessions();
        if worth < self.sessions { self.rounds.div_ceil(worth) } else { asked }
    }

    /// Whether the session in hand has time for another round: at least half of it must fit.
    pub(super) fn has_time(&self, now_ns: u64) -> bool {
        let share_ns = self.limit_ns / u64::from(self.worth_sessions());
        let end_ns = share_ns.saturating_mul(u64::from(self.begun));
        let half_ns = self.round_ns.unwrap_or_default() / 2;
        let fits = |end_ns: u64| self.spent_ns(now_ns).saturating_add(half_ns) <= end_ns;
        let last = self.begun >= self.worth_sessions();
        fits(end_ns) || last && self.taken < LEAST_ROUNDS && fits(self.limit_ns.saturating_mul(2))
    }

    pub(super) fn spent_ns(&self, now_ns: u64) -> u64 {
        self.started_ns.map_or(0, |started_ns| now_ns.saturating_sub(started_ns))
    }

    /// All that were asked for, or as many as the time allows when a round is long.
    fn worth_sessions(&self) -> u32 {
        let Some(round_ns) = self.round_ns else { return self.sessions };
        let worth = self.limit_ns / round_ns.saturating_mul(ROUNDS_PER_SESSION).max(1);
        let worth = if worth < LEAST_SESSIONS { 1 } else { worth };
        self.sessions.min(u32::try_from(worth).unwrap_or(u32::MAX)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counted rounds of each session of a run of 30 s, whose rounds take so long.
    fn check(sessions: u32, round_ms: u64, expected: &[u32]) {
        let round_ns = round_ms * 1_000_000;
        let limit_ns = 30_000_000_000;
        let mut course = Course { limit_ns, sessions, rounds: 100, ..Course::default() };
        let (mut now_ns, mut taken) = (0, Vec::new());
        while course.begins_session(now_ns) {
            now_ns += round_ns;
            course.took(round_ns, false);
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
        assert_eq!(taken, expected, "{sessions} sessions, rounds of {round_ms} ms");
    }

    /// In which of the first rounds each cell takes part, in a run of 30 s.
    fn check_turns(samples_ms: &[u64], expected: &[&str]) {
        let samples_ns: Vec<u64> = samples_ms.iter().map(|ms| ms * 1_000_000).collect();
        let reference: Vec<bool> = (0..samples_ms.len()).map(|cell| cell == 0).collect();
        let mut course = Course { limit_ns: 30_000_000_000, sessions: 1, ..Course::default() };
        course.learn(&samples_ns, &reference, &vec![false; samples_ms.len()]);
        let mut rounds = vec![String::new(); samples_ms.len()];
        for _ in 0..expected[0].len() {
            for (cell, marks) in rounds.iter_mut().enumerate() {
                marks.push(if course.takes_part(cell, false) { 'x' } else { '.' });
                let is_slow = course.turns[cell].every > 1;
                assert_eq!(course.takes_part(cell, true), !is_slow, "{samples_ms:?}");
            }
            course.took(1_000_000, true);
        }
        assert_eq!(rounds, expected, "{samples_ms:?}");
    }

    #[test]
    fn what_is_slow_beside_the_others_takes_part_in_fewer_rounds() {
        check_turns(
            &[10, 10, 200, 999, 10],
            &["xxxxxxxx", "xxxxxxxx", "xxxxxxxx", "xxxxxxxx", "xxxxxxxx"],
        );
        check_turns(
            &[10, 10, 2500, 10, 3900],
            &["xxxxxxxx", "xxxxxxxx", "x..x..x.", "xxxxxxxx", "xx...x.."],
        );
        // A reference takes part in all, and where all are slow, all do.
        check_turns(&[9000, 10, 10], &["xxx", "xxx", "xxx"]);
        check_turns(&[5000, 6000, 20_000], &["xxx", "xxx", "xxx"]);
        check_turns(&[0, 0], &["x", "x"]);
    }

    #[test]
    fn a_guest_takes_part_in_every_third_round_and_is_warmed_up() {
        let mut course = Course { limit_ns: 30_000_000_000, sessions: 1, ..Course::default() };
        course.learn(&[10, 20, 20], &[true, false, false], &[false, true, true]);
        let mut rounds = [String::new(), String::new(), String::new()];
        for _ in 0..6 {
            for (cell, marks) in rounds.iter_mut().enumerate() {
                assert!(course.takes_part(cell, true));
                marks.push(if course.takes_part(cell, false) { 'x' } else { '.' });
            }
            course.took(1, true);
        }
        assert_eq!(rounds, ["xxxxxx", "x..x..", "xx..x."]);
    }

    #[test]
    fn slow_samples_count_in_what_a_round_takes() {
        let mut course =
            Course { limit_ns: 30_000_000_000, sessions: 10, rounds: 100, ..Course::default() };
        let samples_ns = [10_000_000, 10_000_000, 10_000_000, 3_900_000_000, 300_000_000];
        let only = |cell: usize| [0, 1, 2, 3, 4].map(|other| other == cell);
        course.learn(&samples_ns, &only(0), &only(4));
        course.took(20_000_000, false);
        assert_eq!(course.round_ns, Some(20_000_000 + 975_000_000 + 100_000_000));
    }

    #[test]
    fn short_rounds_are_taken_in_all_sessions_and_long_ones_in_few() {
        check(10, 1, &[10; 10]);
        check(10, 600, &[5, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
        check(10, 1500, &[4, 3, 3, 3, 3]);
        check(10, 2500, &[12]);
        check(10, 4000, &[12]);
        check(10, 20_000, &[3]);
        check(1, 600, &[50]);
    }
}
