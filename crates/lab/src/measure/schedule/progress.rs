//! How far a run is, and the time that it still takes.

use super::Schedule;
use crate::measure::job::Progress;

impl Schedule {
    /// The state of the run before a round.
    pub(in crate::measure) fn progress(&self, now_ns: u64) -> Progress<'static> {
        let rounds = self.worth_sessions().saturating_mul(self.session_rounds());
        Progress::Round {
            round: self.before + self.counted,
            rounds: self.before.saturating_add(rounds),
            spent_ns: now_ns.saturating_sub(self.began_ns.unwrap_or(now_ns)),
            left_ns: self.left_ns(now_ns),
        }
    }

    /// The time of the remaining rounds, if they take as long as the earlier ones. None before the
    /// first round.
    fn left_ns(&self, now_ns: u64) -> Option<u64> {
        let round_ns = self.paced_ns.checked_div(self.paced)?;
        let rounds_ns = |rounds: u32| round_ns.saturating_mul(u64::from(rounds));
        let worth = self.worth_sessions();
        let start_ns = self.start_ns.unwrap_or_default();
        let warm_ns = rounds_ns(self.warm_up().saturating_sub(self.warmed));
        // What is left of this session and the following ones, if each has this number of counted
        // rounds.
        let of_sessions = |sessions: u32, rounds: u32| {
            let more = u64::from(sessions.saturating_sub(self.begun));
            let session_ns =
                start_ns.saturating_add(self.warm_ns(round_ns)).saturating_add(rounds_ns(rounds));
            let slow_ns = if self.with_slow { self.slow_ns } else { 0 };
            let later_ns = slow_ns / u64::from(self.stride());
            let this_ns = if self.taken == 0 { slow_ns } else { 0 };
            warm_ns
                .saturating_add(rounds_ns(rounds.saturating_sub(self.taken)))
                .saturating_add(this_ns)
                .saturating_add(session_ns.saturating_add(later_ns).saturating_mul(more))
        };
        let until = |limit_ns: u64| {
            let warm_ns = if self.started_ns.is_none() { warm_ns } else { 0 };
            limit_ns.saturating_sub(self.spent_ns(now_ns)).saturating_add(warm_ns)
        };
        let all_ns = of_sessions(worth, self.session_rounds());
        let needed_ns = of_sessions(worth.min(self.needed_sessions()), 1);
        let aim_ns = until(self.limit_ns).max(needed_ns);
        // Without a limit for the whole run there is time for the sessions of a verdict.
        let at_most_ns = if self.limits_all { 0 } else { needed_ns };
        let at_most_ns = self.at_most_left_ns(now_ns).max(at_most_ns);
        // The round that is about to begin is always taken.
        let sure_ns = warm_ns.saturating_add(round_ns);
        Some(all_ns.min(aim_ns).min(at_most_ns).max(sure_ns))
    }
}
