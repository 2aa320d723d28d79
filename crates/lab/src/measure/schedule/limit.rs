//! How long a run may take, and when it is over.

use super::Schedule;
use crate::run::{Design, Plan};
use crate::stats::{LOOKS, SESSIONS_NEEDED};

/// The whole run, including the counting pass, takes at most this multiple of a limit for its
/// rounds.
pub(super) const TIMES_AT_MOST: u64 = 3;
/// The counting pass has at least and at most these parts of a limit for the whole run.
const COUNTING_PARTS: [u64; 2] = [10, 4];

/// The maximum duration of a run. Where the limit is one for its rounds, those that a verdict takes
/// may take longer.
pub fn at_most_ns(plan: &Plan) -> u64 {
    plan.time_limit_ns.saturating_mul(times(plan.limits_all))
}

fn times(limits_all: bool) -> u64 {
    if limits_all { 1 } else { TIMES_AT_MOST }
}

impl Schedule {
    /// A run of at least this number of sessions.
    pub(in crate::measure) fn with_least(self, sessions: u32) -> Schedule {
        Schedule { least: sessions.saturating_sub(self.had), ..self }
    }

    /// The maximum duration of what is left of the plan, whose own limit is this.
    pub(super) fn at_most_of(plan: &Plan, limit_ns: u64) -> u64 {
        if plan.limits_all { limit_ns } else { at_most_ns(plan) }
    }

    pub(super) fn times_at_most(&self) -> u64 {
        times(self.limits_all)
    }

    /// Whether a limit for the whole run does not allow another sample.
    pub(in crate::measure) fn is_over(&self, now_ns: u64) -> bool {
        self.limits_all && self.begun > self.least && self.at_most_left_ns(now_ns) == 0
    }

    /// Whether this much time remains of the maximum duration of the run.
    pub(super) fn is_left(&self, now_ns: u64, ns: u64) -> bool {
        ns <= self.at_most_left_ns(now_ns)
    }

    pub(super) fn at_most_left_ns(&self, now_ns: u64) -> u64 {
        let began_ns = self.began_ns.unwrap_or(now_ns);
        let taken_ns = now_ns.saturating_sub(began_ns);
        self.at_most_ns.saturating_add(self.extra_ns).saturating_sub(taken_ns)
    }

    /// A run of sequential design without a limit for all of it goes on until its first look.
    pub(super) fn make_time_for_first_look(&mut self, now_ns: u64) {
        let first = LOOKS[0] as u32;
        let has_looks = self.design == Design::Sequential && self.had + self.sessions >= first;
        let goes_on = has_looks && !self.limits_all;
        let missing = first.saturating_sub(self.had + self.begun);
        if !goes_on || missing == 0 || self.round_ns.is_none() {
            return;
        }
        let session_ns = self.session_ns(1).saturating_add(self.slow_ns);
        let sessions_ns = session_ns.saturating_mul(u64::from(missing));
        let needed_ns = sessions_ns.saturating_add(self.counting_ns);
        let lacks_ns = needed_ns.saturating_sub(self.at_most_left_ns(now_ns));
        if lacks_ns > 0 && self.extra_ns == 0 {
            self.said_ns = Some(sessions_ns);
        }
        self.extra_ns = self.extra_ns.saturating_add(lacks_ns);
    }

    /// Leaves time for the counting pass in a limit for the whole run: it starts two processes of
    /// each method, and takes two samples where one is counted, and three more before that.
    pub(super) fn leave_time_for_counting(&mut self, round_ns: u64) {
        if self.counting > 0 {
            let samples = 2 * u64::from(self.counting) + 3;
            let pass_ns = round_ns.saturating_mul(samples);
            let start_ns = self.start_ns.unwrap_or_default().saturating_mul(2);
            self.counting_ns = pass_ns.saturating_add(start_ns);
        }
        if self.limits_all {
            let left_ns = self.counting_of(COUNTING_PARTS.map(|part| self.limit_ns / part));
            self.at_most_ns = self.at_most_ns.saturating_sub(left_ns);
        }
    }

    /// The time of the counting pass, between these bounds.
    fn counting_of(&self, [least_ns, most_ns]: [u64; 2]) -> u64 {
        if self.counting > 0 { self.counting_ns.clamp(least_ns, most_ns) } else { 0 }
    }

    /// Where the time was too short for a verdict, as it had only this number of sessions: the
    /// number that a verdict takes, and the limit for the whole run that would do, if it can be
    /// known.
    pub(in crate::measure) fn too_short(
        &self,
        had: u32,
        now_ns: u64,
    ) -> Option<(u32, Option<u64>)> {
        let needed = match self.design {
            Design::Fixed => SESSIONS_NEEDED as u32,
            Design::Sequential => LOOKS[0] as u32,
        };
        if !self.limits_all || had >= needed || self.had + self.sessions < needed {
            return None;
        }
        // One more, because sessions differ.
        let missing = u64::from(needed - had) + 1;
        let taken_ns = now_ns.saturating_sub(self.began_ns.unwrap_or(now_ns));
        let session_ns = self.session_ns(1).saturating_add(self.slow_ns);
        let rounds_ns = taken_ns.saturating_add(missing.saturating_mul(session_ns));
        let counting_ns = self.counting_of(COUNTING_PARTS.map(|part| rounds_ns / (part - 1)));
        let limit_ns = rounds_ns.saturating_add(counting_ns);
        Some((needed, self.round_ns.map(|_| limit_ns)))
    }
}
