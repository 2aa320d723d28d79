//! The schedule of a sequential design: methods leave, and sessions are taken until all is decided.

use super::{FIRST_LOOKS, Schedule};
use crate::run::Design;

/// In a sequential design a session has fewer rounds where this number of sessions would not fit
/// into the time otherwise.
const SESSIONS_AIMED_AT: u64 = 22;

impl Schedule {
    /// These cells take part in no later session. What has left does not return.
    pub(in crate::measure) fn leave(&mut self, leaves: &[bool]) {
        for (left, leaves) in self.left.iter_mut().zip(leaves) {
            *left |= leaves;
        }
        self.slow_ns = self.time_of_slow_ns();
        self.share_of_warm_ups();
    }

    /// Whether what the sessions after the first show of the warm-ups may spare cells theirs: until
    /// the first look, after which most of the slow ones have left. In a fixed design all are
    /// warmed up.
    pub(in crate::measure) fn may_spare(&self) -> bool {
        self.design == Design::Sequential && (2..=FIRST_LOOKS[0]).contains(&self.begun)
    }

    /// These cells are not warmed up in later sessions, so that more sessions fit into the time.
    pub(in crate::measure) fn spare(&mut self, spared: &[bool]) {
        self.spared.resize(spared.len(), false);
        for (is_spared, now) in self.spared.iter_mut().zip(spared) {
            *is_spared |= now;
        }
        self.share_of_warm_ups();
    }

    /// Finds what a warm-up round costs of the cells that take part in all rounds.
    pub(super) fn share_of_warm_ups(&mut self) {
        let (mut all_ns, mut warmed_ns) = (0, 0);
        for (cell, ns) in self.samples_ns.iter().enumerate() {
            if !self.has_left(cell) && !self.is_slow(cell) {
                all_ns += ns;
                warmed_ns += if self.is_warmed_up_again(cell) { *ns } else { 0 };
            }
        }
        if all_ns > 0 {
            self.warm_share = warmed_ns as f64 / all_ns as f64;
        }
    }

    /// Whether sessions after the first warm the cell up.
    pub(super) fn is_warmed_up_again(&self, cell: usize) -> bool {
        !self.stays(cell) && self.spared.get(cell) != Some(&true)
    }

    /// By cell, whether it has left.
    pub(in crate::measure) fn left(&self) -> &[bool] {
        &self.left
    }

    pub(in crate::measure) fn has_left(&self, cell: usize) -> bool {
        self.left.get(cell).is_some_and(|left| *left)
    }

    /// The number of sessions that are measured even after the time limit. In a sequential design
    /// as many as fit into the maximum duration of the run; where none of the looks does, those of
    /// the first one, but never beyond a limit for the whole run.
    pub(super) fn needed_sessions(&self) -> u32 {
        let least = self.least_sessions();
        if self.design == Design::Fixed {
            return least[0];
        }
        let session_ns = self.session_ns(1).max(1);
        let fit = |n: &&u32| session_ns.saturating_mul(u64::from(**n)) <= self.at_most_ns;
        let first = if self.limits_all { 0 } else { FIRST_LOOKS[0] };
        least.iter().find(fit).copied().unwrap_or(first).saturating_sub(self.had)
    }

    /// The number of rounds of a session in a sequential design: fewer than planned where too few
    /// sessions would fit into the time otherwise. Methods that leave make rounds shorter.
    pub(super) fn aimed_rounds(&self) -> u32 {
        let session_ns = self.limit_ns / SESSIONS_AIMED_AT;
        let rounds_ns = session_ns.saturating_sub(self.session_ns(0));
        let fit = rounds_ns / self.pace_ns().max(1);
        u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, self.rounds.max(1))
    }

    /// Whether the slow cells may take part once more, if they have then taken this time: except in
    /// the sessions that verdicts require, at most half of the limit.
    pub(super) fn leaves_time_for_others(&self, slow_ns: u64) -> bool {
        self.begun <= self.needed_sessions() || slow_ns <= self.limit_ns / 2
    }

    /// Whether the slow cells have not used their share of the time yet.
    pub(super) fn has_time_for_slow(&self) -> bool {
        let taken = self.begun.div_ceil(self.stride());
        let all_ns = self.slow_ns.saturating_mul(u64::from(taken));
        match self.design {
            Design::Fixed => all_ns <= self.limit_ns.saturating_mul(2),
            Design::Sequential => self.leaves_time_for_others(all_ns),
        }
    }

    pub(super) fn time_of_slow_ns(&self) -> u64 {
        let of_cell =
            |(cell, ns): (usize, &u64)| (self.is_slow(cell) && !self.has_left(cell)).then_some(*ns);
        self.samples_ns.iter().enumerate().filter_map(of_cell).sum()
    }
}
