//! Divides the time of a run: how many sessions to start, when each of them ends, which state one
//! session passes to the next, and the progress of the run. [`Budget`] has its times, [`Roster`]
//! what is known of each cell. A schedule reads no clock: the time is an argument.

pub(super) mod limit;
pub(super) mod roster;

use model::run::{Design, Plan};

use self::limit::Budget;
use self::roster::Roster;
use crate::context::RunProgress;

/// The minimum number of counted rounds of a session, because each session also costs its warm-up
/// rounds.
const ROUNDS_PER_SESSION: u32 = 3;
/// With fewer than five sessions there is no verdict; a sixth makes the intervals a third shorter.
/// At the levels that many methods require, Student's interval of six is still wide: twice that of
/// ten.
const LEAST_SESSIONS: &[u32] = &[6, 5];
const LEAST_SESSIONS_OF_MANY: &[u32] = &[10, 8, 6, 5];
const MANY: usize = 8;
/// In a sequential design the numbers of sessions that verdicts require are looks.
const FIRST_LOOKS: &[u32] = &[6];
const FIRST_LOOKS_OF_MANY: &[u32] = &[11, 8, 6];

#[derive(Default)]
pub(super) struct Schedule {
    pub(super) budget: Budget,
    pub(super) roster: Roster,
    design: Design,
    sessions: u32,
    /// The number of sessions that are measured regardless of the time.
    least: u32,
    /// Sessions that a resumed run has already.
    had: u32,
    /// Rounds per session, as planned.
    rounds: u32,
    /// The number of warm-up rounds of a session.
    warm_up: u32,
    begun: u32,
    /// The numbers that the sessions after the first have in the run, up to the first look.
    pub(super) later: Vec<u32>,
    /// Whether the slow cells take part in the current session.
    with_slow: bool,
    /// The maximum number of rounds of the current session in a sequential design, once known.
    of_session: Option<u32>,
    /// Counted rounds and warm-up rounds of the current session.
    taken: u32,
    warmed: u32,
    /// Counted rounds that a resumed run does not need any more, plus those of all sessions since.
    before: u32,
    counted: u32,
}

impl Schedule {
    /// A schedule for this number of sessions of the plan; `process_per_sample` is by cell, and
    /// earlier samples took `spent_ns`.
    pub(super) fn new(
        plan: &Plan,
        sessions: u32,
        process_per_sample: Vec<bool>,
        spent_ns: u64,
    ) -> Schedule {
        let had = plan.sessions.max(1).saturating_sub(sessions);
        Schedule {
            budget: Budget::new(plan, sessions, spent_ns),
            roster: Roster::new(process_per_sample),
            design: plan.design,
            had,
            sessions,
            rounds: plan.rounds,
            warm_up: plan.warm_up,
            before: had.saturating_mul(plan.rounds),
            ..Schedule::default()
        }
    }

    /// Whether the current session is the first.
    pub(super) fn is_first(&self) -> bool {
        self.begun < 2
    }

    /// The number of warm-up rounds of the current session.
    pub(super) fn warm_up(&self) -> u32 {
        if self.begun > 1 && self.roster.all_process_per_sample() { 0 } else { self.warm_up }
    }

    /// Whether to begin another session: there must be time to start its processes, to warm them up
    /// and to take one round. The slow cells take part in it if there is time for them as well.
    pub(super) fn begins_session(&mut self, now_ns: u64) -> bool {
        self.budget.began_ns.get_or_insert(now_ns);
        self.make_time_for_first_look(now_ns);
        let session_ns = self.session_ns(1);
        let budget = &self.budget;
        let in_time = budget.spent_ns(now_ns).saturating_add(session_ns) <= budget.limit_ns;
        // Sessions that the verdicts require are measured even after the time limit.
        let needed = self.begun < self.needed_sessions();
        let begins = self.begun < self.least.max(1)
            || self.begun < self.worth_sessions()
                && !self.is_over(now_ns)
                && (in_time || needed)
                && budget.is_left(now_ns, session_ns);
        self.begun += u32::from(begins);
        self.budget.session_began_ns = now_ns;
        (self.taken, self.warmed) = (0, 0);
        self.of_session = self.budget.round_ns.map(|_| self.aimed_rounds());
        let with_slow_ns = session_ns.saturating_add(self.roster.slow_ns());
        self.with_slow = self.begun < 2
            || (self.begun - 1).is_multiple_of(self.stride())
                && self.has_time_for_slow()
                && self.budget.is_left(now_ns, with_slow_ns);
        begins
    }

    /// Called when the processes of a session are started. How long the samples of each cell take,
    /// and which cells belong to the reference, is passed only once, so that all sessions are
    /// equal.
    pub(super) fn learn(&mut self, samples_ns: &[u64], reference: &[bool], now_ns: u64) {
        let budget = &mut self.budget;
        let took_ns = now_ns.saturating_sub(budget.session_began_ns);
        let set_up_once_ns = budget.set_up_ns.saturating_sub(budget.set_up_again_ns);
        if budget.start_ns.is_some() {
            // Cells with a process per sample were not started again.
            budget.start_ns = Some(took_ns);
            return;
        }
        self.roster.learn(samples_ns, reference, budget.limit_ns);
        // The first session also took a sample of each cell to determine this.
        let all_ns: u64 = samples_ns.iter().sum();
        budget.start_ns = Some(took_ns.saturating_sub(all_ns).saturating_sub(set_up_once_ns));
        self.leave_time_for_counting(all_ns, now_ns);
        self.leave_out_warm_ups(now_ns);
    }

    /// Whether the cell takes part in the next round. Slow cells, and cells with a process per
    /// sample, are not warmed up again in each session.
    pub(super) fn takes_part(&self, cell: usize, warm_up: bool) -> bool {
        let roster = &self.roster;
        if roster.has_left(cell) || warm_up && self.begun > 1 && !roster.is_warmed_up_again(cell) {
            return false;
        }
        if !roster.is_slow(cell) {
            return true;
        }
        !warm_up && self.taken == 0 && self.with_slow
    }

    /// Records a round and its duration.
    pub(super) fn took(&mut self, round_ns: u64, counts: bool) {
        let has_slow = counts && self.taken == 0 && self.with_slow;
        self.budget.took(round_ns, if has_slow { self.roster.slow_ns() } else { 0 });
        self.taken += u32::from(counts);
        self.counted += u32::from(counts);
        self.warmed += u32::from(!counts);
        self.of_session = self.of_session.or_else(|| Some(self.aimed_rounds()));
    }

    /// The maximum number of rounds of a session: if there are fewer sessions, each has more
    /// rounds. Sessions of one round keep one round, because the round is the unit there.
    pub(super) fn session_rounds(&self) -> u32 {
        if self.design == Design::Sequential {
            return self.of_session.unwrap_or(self.rounds);
        }
        let worth = self.worth_sessions();
        if self.rounds > 1 && worth < self.sessions {
            self.rounds.saturating_mul(self.sessions).div_ceil(worth)
        } else {
            self.rounds
        }
    }

    /// Whether the current session has time for another round: at least half of the round must fit
    /// into the session. All of it must fit into the maximum duration of the run.
    pub(super) fn has_time(&self, now_ns: u64) -> bool {
        let (worth, budget) = (self.worth_sessions(), &self.budget);
        let round_ns = budget.round_ns.unwrap_or_default();
        let end_ns = match self.design {
            Design::Fixed => {
                (budget.limit_ns / u64::from(worth)).saturating_mul(u64::from(self.begun))
            }
            Design::Sequential => budget.limit_ns,
        };
        let in_time = budget.spent_ns(now_ns).saturating_add(round_ns / 2) <= end_ns;
        in_time && budget.is_left(now_ns, round_ns)
    }

    /// The number of sessions: all that were planned, or as many as the time allows if a round is
    /// long. Before the number falls below what a comparison requires, the run takes longer. Where
    /// there is no time for that, the sessions of a verdict are still aimed at, of one round each:
    /// a longer session would give no verdict either.
    fn worth_sessions(&self) -> u32 {
        let budget = &self.budget;
        if budget.round_ns.is_none() || self.design == Design::Sequential {
            return self.sessions;
        }
        let round_ns = self.pace_ns();
        let worth = |slow_ns: u64| {
            let fit = |limit_ns: u64, rounds| {
                limit_ns / self.session_ns(rounds).saturating_add(slow_ns).max(1)
            };
            let rounds = ROUNDS_PER_SESSION.min(self.rounds);
            let whole = fit(budget.limit_ns, rounds).min(u64::from(self.sessions)) as u32;
            // The first session also determines how long the samples take.
            let start_ns = budget.start_ns.unwrap_or_default();
            let first_ns = round_ns.saturating_add(start_ns).saturating_add(slow_ns);
            let most_ns =
                budget.limit_ns.saturating_mul(budget.times_at_most()).saturating_sub(first_ns);
            let mut least = self.least_sessions().iter().copied();
            let least = least.find(|n| fit(most_ns, 1) >= u64::from(*n));
            least.map(|least| whole.max(least))
        };
        // Cells that are too slow for that do not reduce the number of sessions of the others.
        let slow_ns = self.roster.slow_ns() / u64::from(self.stride());
        let sessions = worth(slow_ns).or_else(|| worth(0));
        let sessions = sessions.unwrap_or(LEAST_SESSIONS[0]);
        sessions.max(self.least).min(self.sessions).max(1)
    }

    /// The duration of a round, from the first one, so that all sessions are equal; before it, the
    /// time of a sample of each cell. Where a round
    /// is a session, it is the mean of all so far, so that a slow first round does not lengthen the
    /// estimate.
    fn pace_ns(&self) -> u64 {
        let Some(first_ns) = self.budget.round_ns else {
            let of_all_ns: u64 = self.roster.samples_ns.iter().sum();
            return of_all_ns.saturating_sub(self.roster.slow_ns());
        };
        if self.design == Design::Sequential {
            return self.budget.last_round_ns;
        }
        if self.rounds > 1 {
            return first_ns;
        }
        self.budget.mean_round_ns().unwrap_or(first_ns)
    }

    /// Slow cells take part in every n-th session: in ten of the sessions that have one round.
    fn stride(&self) -> u32 {
        let every = self.rounds > 1 || self.design == Design::Sequential;
        if every { 1 } else { (self.sessions / 10).max(1) }
    }

    fn least_sessions(&self) -> &'static [u32] {
        match (self.design, self.roster.process_per_sample.len() > MANY) {
            (Design::Fixed, false) => LEAST_SESSIONS,
            (Design::Fixed, true) => LEAST_SESSIONS_OF_MANY,
            (Design::Sequential, false) => FIRST_LOOKS,
            (Design::Sequential, true) => FIRST_LOOKS_OF_MANY,
        }
    }

    /// The duration of a session with this number of counted rounds, including its warm-up rounds
    /// and without the slow cells.
    fn session_ns(&self, counted: u32) -> u64 {
        let round_ns = self.pace_ns();
        let counted_ns = round_ns.saturating_mul(u64::from(counted));
        let start_ns = self.budget.start_ns.unwrap_or_default();
        counted_ns.saturating_add(self.warm_ns(round_ns)).saturating_add(start_ns)
    }

    /// The warm-up time of a session after the first, if a round of all cells takes `round_ns`.
    fn warm_ns(&self, round_ns: u64) -> u64 {
        let whole_ns = round_ns.saturating_mul(u64::from(self.warm_up));
        (whole_ns as f64 * self.roster.warm_share()) as u64
    }
}

impl Schedule {
    /// The state of the run before a round.
    pub(crate) fn progress(&self, now_ns: u64) -> RunProgress<'static> {
        let rounds = self.worth_sessions().saturating_mul(self.session_rounds());
        RunProgress::Round {
            round: self.before + self.counted,
            rounds: self.before.saturating_add(rounds),
            spent_ns: self.budget.taken_ns(now_ns),
            left_ns: self.left_ns(now_ns),
        }
    }

    /// The time of the remaining rounds, if they take as long as the earlier ones. None before the
    /// first round.
    fn left_ns(&self, now_ns: u64) -> Option<u64> {
        let (budget, all_slow_ns) = (&self.budget, self.roster.slow_ns());
        let round_ns = budget.mean_round_ns()?;
        let rounds_ns = |rounds: u32| round_ns.saturating_mul(u64::from(rounds));
        let worth = self.worth_sessions();
        let start_ns = budget.start_ns.unwrap_or_default();
        let warm_ns = rounds_ns(self.warm_up().saturating_sub(self.warmed));
        // What is left of this session and the following ones, if each has this number of counted
        // rounds.
        let of_sessions = |sessions: u32, rounds: u32| {
            let more = u64::from(sessions.saturating_sub(self.begun));
            let session_ns =
                start_ns.saturating_add(self.warm_ns(round_ns)).saturating_add(rounds_ns(rounds));
            let slow_ns = if self.with_slow { all_slow_ns } else { 0 };
            let later_ns = slow_ns / u64::from(self.stride());
            let this_ns = if self.taken == 0 { slow_ns } else { 0 };
            warm_ns
                .saturating_add(rounds_ns(rounds.saturating_sub(self.taken)))
                .saturating_add(this_ns)
                .saturating_add(session_ns.saturating_add(later_ns).saturating_mul(more))
        };
        let until = |limit_ns: u64| {
            let warm_ns = if budget.started_ns.is_none() { warm_ns } else { 0 };
            limit_ns.saturating_sub(budget.spent_ns(now_ns)).saturating_add(warm_ns)
        };
        let all_ns = of_sessions(worth, self.session_rounds());
        let needed_ns = of_sessions(worth.min(self.needed_sessions()), 1);
        let aim_ns = until(budget.limit_ns).max(needed_ns);
        // Without a limit for the whole run there is time for the sessions of a verdict.
        let at_most_ns = if budget.limits_all { 0 } else { needed_ns };
        let at_most_ns = budget.at_most_left_ns(now_ns).max(at_most_ns);
        // The round that is about to begin is always taken.
        let sure_ns = warm_ns.saturating_add(round_ns);
        Some(all_ns.min(aim_ns).min(at_most_ns).max(sure_ns))
    }
}

// The schedule of a sequential design: methods leave, and sessions are taken until all is
// decided.

/// In a sequential design a session has fewer rounds where this number of sessions would not fit
/// into the time otherwise.
const SESSIONS_AIMED_AT: u64 = 22;

impl Schedule {
    /// Whether cells may skip their later warm-ups by the results of this session: in the sessions
    /// after the first up to the first look, after which most of the slow ones have left. In a
    /// fixed design all cells are warmed up.
    pub(crate) fn may_skip_warm_ups(&self) -> bool {
        self.design == Design::Sequential && (2..=FIRST_LOOKS[0]).contains(&self.begun)
    }

    /// The number of sessions that are measured even after the time limit. In a sequential design
    /// as many as fit into the maximum duration of the run; where none of the looks does, those of
    /// the first one, but never beyond a limit for the whole run.
    fn needed_sessions(&self) -> u32 {
        let least = self.least_sessions();
        if self.design == Design::Fixed {
            return least[0];
        }
        let session_ns = self.session_ns(1).max(1);
        let budget = &self.budget;
        let fit = |n: &&u32| session_ns.saturating_mul(u64::from(**n)) <= budget.at_most_ns;
        let first = if budget.limits_all { 0 } else { FIRST_LOOKS[0] };
        least.iter().find(fit).copied().unwrap_or(first).saturating_sub(self.had)
    }

    /// The number of rounds of a session in a sequential design: fewer than planned where too few
    /// sessions would fit into the time otherwise. Methods that leave make rounds shorter.
    fn aimed_rounds(&self) -> u32 {
        let session_ns = self.budget.limit_ns / SESSIONS_AIMED_AT;
        let rounds_ns = session_ns.saturating_sub(self.session_ns(0));
        let fit = rounds_ns / self.pace_ns().max(1);
        u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, self.rounds.max(1))
    }

    /// Whether the slow cells may take part once more, if they have then taken this time: except in
    /// the sessions that verdicts require, at most half of the limit.
    fn leaves_time_for_others(&self, slow_ns: u64) -> bool {
        self.begun <= self.needed_sessions() || slow_ns <= self.budget.limit_ns / 2
    }

    /// Whether the slow cells have not used their share of the time yet.
    fn has_time_for_slow(&self) -> bool {
        let taken = self.begun.div_ceil(self.stride());
        let all_ns = self.roster.slow_ns().saturating_mul(u64::from(taken));
        match self.design {
            Design::Fixed => all_ns <= self.budget.limit_ns.saturating_mul(2),
            Design::Sequential => self.leaves_time_for_others(all_ns),
        }
    }
}

#[cfg(test)]
mod tests;
