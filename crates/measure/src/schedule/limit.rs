//! The times and the limits of a run: when it is over, and the announcements where its time is too
//! short for a verdict.

use std::collections::{BTreeMap, BTreeSet};

use analysis::stats::{LOOKS, SESSIONS_NEEDED};
use model::run::{Design, Plan, Run, Uncounted, Warning};

use super::{FIRST_LOOKS, Schedule};
use crate::clock;
use crate::context::{MeasureContext, RunProgress};

/// The whole run, including the counting pass, takes at most this multiple of a limit for its
/// rounds.
pub(super) const TIMES_AT_MOST: u64 = 3;
/// The counting pass has at least and at most these parts of a limit for the whole run.
const COUNTING_PARTS: [u64; 2] = [10, 4];
/// Where no limit for the whole run is given, a sample of this duration ends the run once each cell
/// has one: six sessions of it would take longer than users expect.
const LONG_SAMPLE_NS: u64 = 60_000_000_000;

/// The maximum duration of a run. Where the limit is one for its rounds, those that a verdict takes
/// may take longer.
pub fn at_most_ns(plan: &Plan) -> u64 {
    plan.time_limit_ns.saturating_mul(times(plan.limits_all))
}

fn times(limits_all: bool) -> u64 {
    if limits_all { 1 } else { TIMES_AT_MOST }
}

/// The times of a run: its limits, and what has been used of them.
#[derive(Default)]
pub(crate) struct Budget {
    /// The limit for all remaining rounds; the limit of what the verdicts require is a multiple of
    /// it.
    pub(super) limit_ns: u64,
    /// The time of all that happens before the counting pass.
    pub(crate) at_most_ns: u64,
    /// The time of the first look beyond that, counting included; and the time to announce, until
    /// it is announced.
    pub(super) extra_ns: u64,
    pub(super) announce_ns: Option<u64>,
    /// Whether it is settled if the time is too short for a verdict: that was announced, or the run
    /// has the sessions of one.
    pub(super) is_short_settled: bool,
    /// A sample of the first session that takes this long ends the run; none: no sample does.
    pub(super) long_sample_ns: Option<u64>,
    /// Whether the limit is one for the whole run, and the share of the counting pass.
    pub(super) limits_all: bool,
    pub(super) counting: u32,
    pub(super) counting_ns: u64,
    /// When measuring began, and when the current session began.
    pub(super) began_ns: Option<u64>,
    pub(super) session_began_ns: u64,
    /// The time to start the processes of a session.
    pub(super) start_ns: Option<u64>,
    /// The time to set up the first session, which is no part of the limit, and the part of it that
    /// later sessions take as well.
    pub(super) set_up_ns: u64,
    pub(super) set_up_again_ns: u64,
    /// The duration of the longest sample of the first session.
    pub(super) longest_ns: u64,
    /// When the first counted round began, and the duration of the first round, even if that was a
    /// warm-up round.
    pub(super) started_ns: Option<u64>,
    pub(super) round_ns: Option<u64>,
    /// The duration of the last round without the slow cells.
    pub(super) last_round_ns: u64,
    /// The number of rounds that were taken, and their time without the slow cells.
    pub(super) paced: u64,
    pub(super) paced_ns: u64,
    /// The time that the lab itself needed for each sample.
    pub(crate) between_ns: Vec<u64>,
}

impl Budget {
    /// The times of this number of sessions of the plan; earlier samples took `spent_ns`.
    pub(super) fn new(plan: &Plan, sessions: u32, spent_ns: u64) -> Budget {
        let limit_ns = match plan.design {
            Design::Fixed => {
                let share = u128::from(plan.time_limit_ns) * u128::from(sessions);
                (share / u128::from(plan.sessions.max(1))).try_into().unwrap_or(u64::MAX)
            }
            // It is not known how many sessions will be taken.
            Design::Sequential => plan.time_limit_ns.saturating_sub(spent_ns),
        };
        let is_long = !plan.limits_all && plan.time_limit_ns < Plan::NO_TIME_LIMIT_NS;
        Budget {
            limit_ns,
            at_most_ns: if plan.limits_all { limit_ns } else { at_most_ns(plan) },
            long_sample_ns: is_long.then_some(LONG_SAMPLE_NS),
            limits_all: plan.limits_all,
            counting: plan.counting,
            ..Budget::default()
        }
    }

    /// Records how long a step that sets up the first session took, and whether each later session
    /// has it as well.
    pub(crate) fn set_up(&mut self, ns: u64, again: bool) {
        self.set_up_ns = self.set_up_ns.saturating_add(ns);
        self.set_up_again_ns = self.set_up_again_ns.saturating_add(if again { ns } else { 0 });
    }

    /// Called when the first counted round is about to begin.
    pub(crate) fn starts(&mut self, now_ns: u64) {
        if self.started_ns.is_none() && self.limits_all {
            self.limit_ns = self.at_most_left_ns(now_ns);
        }
        self.started_ns.get_or_insert(now_ns);
    }

    /// Records the duration of a round, of which slow cells took this part.
    pub(super) fn took(&mut self, round_ns: u64, slow_ns: u64) {
        self.round_ns.get_or_insert(round_ns);
        self.last_round_ns = round_ns.saturating_sub(slow_ns);
        self.paced_ns = self.paced_ns.saturating_add(self.last_round_ns);
        self.paced += 1;
    }

    /// The mean duration of a round without the slow cells; none before the first one.
    pub(super) fn mean_round_ns(&self) -> Option<u64> {
        self.paced_ns.checked_div(self.paced)
    }

    pub(super) fn times_at_most(&self) -> u64 {
        times(self.limits_all)
    }

    /// Whether a sample took so long that a run without a limit of the user's takes no other.
    fn is_too_long(&self) -> bool {
        self.long_sample_ns.is_some_and(|long_ns| self.longest_ns >= long_ns)
    }

    /// The time since measuring began.
    pub(super) fn taken_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.began_ns.unwrap_or(now_ns))
    }

    /// The time since the first counted round began.
    pub(super) fn spent_ns(&self, now_ns: u64) -> u64 {
        self.started_ns.map_or(0, |started_ns| now_ns.saturating_sub(started_ns))
    }

    /// Whether this much time remains of the maximum duration of the run.
    pub(super) fn is_left(&self, now_ns: u64, ns: u64) -> bool {
        ns <= self.at_most_left_ns(now_ns)
    }

    pub(super) fn at_most_left_ns(&self, now_ns: u64) -> u64 {
        let most_ns = self.at_most_ns.saturating_add(self.past_limit_ns());
        most_ns.saturating_sub(self.taken_ns(now_ns))
    }

    /// The time that the run takes beyond its limit: to set up, and for its first look.
    pub(crate) fn past_limit_ns(&self) -> u64 {
        self.extra_ns.saturating_add(self.set_up_ns)
    }

    /// The time of the counting pass, between these bounds.
    fn counting_of(&self, [least_ns, most_ns]: [u64; 2]) -> u64 {
        if self.counting > 0 { self.counting_ns.clamp(least_ns, most_ns) } else { 0 }
    }
}

impl Schedule {
    /// A run of at least this number of sessions.
    pub(crate) fn with_least(self, sessions: u32) -> Schedule {
        Schedule { least: sessions.saturating_sub(self.had), ..self }
    }

    /// Records how long a sample took. Those of the first session show how long the command takes.
    pub(crate) fn sampled(&mut self, ns: u64) {
        if self.is_first() {
            self.budget.longest_ns = self.budget.longest_ns.max(ns);
        }
    }

    /// Whether a limit for the whole run does not allow another sample, or a sample took so long
    /// that without such a limit there is no other.
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        let budget = &self.budget;
        self.begun > self.least
            && (budget.limits_all && budget.at_most_left_ns(now_ns) == 0 || budget.is_too_long())
    }

    /// Whether the first session has time for a whole round: where a limit for the whole run has
    /// none for it, the samples that warm up are all there is.
    pub(crate) fn has_time_for_round(&self, now_ns: u64) -> bool {
        !self.budget.limits_all
            || self.begun > 1
            || self.begun <= self.least
            || self.budget.is_left(now_ns, self.pace_ns().saturating_add(self.roster.slow_ns()))
    }

    /// A run without a limit for all of it goes on until it has the sessions of its first look,
    /// whether there is time for the counting pass or not.
    pub(super) fn make_time_for_first_look(&mut self, now_ns: u64) {
        let (first, budget) = (FIRST_LOOKS[0], &self.budget);
        let goes_on =
            self.had + self.sessions >= first && !budget.limits_all && !budget.is_too_long();
        let missing = first.saturating_sub(self.had + self.begun);
        if !goes_on || missing == 0 || budget.round_ns.is_none() {
            return;
        }
        let sessions_ns = self.whole_session_ns().saturating_mul(u64::from(missing));
        let budget = &mut self.budget;
        let lacks_ns = sessions_ns.saturating_sub(budget.at_most_left_ns(now_ns));
        if lacks_ns > 0 && budget.extra_ns == 0 {
            budget.announce_ns = Some(sessions_ns);
        }
        budget.extra_ns = budget.extra_ns.saturating_add(lacks_ns);
    }

    /// Leaves time for the counting pass in a limit for the whole run, of what the sessions of a
    /// verdict leave: it starts two processes of each method, and takes two samples
    /// where one is counted, and three more before that.
    pub(super) fn leave_time_for_counting(&mut self, round_ns: u64, now_ns: u64) {
        let verdict_ns = self.verdict_ns(self.had);
        let budget = &mut self.budget;
        if budget.counting > 0 {
            let samples = 2 * u64::from(budget.counting) + 3;
            let pass_ns = round_ns.saturating_mul(samples);
            let start_ns = budget.start_ns.unwrap_or_default().saturating_mul(2);
            budget.counting_ns = pass_ns.saturating_add(start_ns);
        }
        if budget.limits_all {
            let counting_ns = budget.counting_of(COUNTING_PARTS.map(|part| budget.limit_ns / part));
            let left_ns = budget.at_most_left_ns(now_ns).saturating_sub(verdict_ns);
            budget.at_most_ns = budget.at_most_ns.saturating_sub(counting_ns.min(left_ns));
        }
    }

    /// Leaves out warm-up rounds for which a limit for the whole run has no time, if it also has to
    /// hold the sessions of a verdict. Cells with a process per sample are warmed up once.
    pub(super) fn leave_out_warm_ups(&mut self, now_ns: u64) {
        let round_ns = self.pace_ns();
        let budget = &self.budget;
        if !budget.limits_all || round_ns == 0 || !self.roster.all_process_per_sample() {
            return;
        }
        let left_ns = budget.at_most_left_ns(now_ns).saturating_sub(self.verdict_ns(self.had));
        let fit = u32::try_from(left_ns / round_ns).unwrap_or(u32::MAX);
        self.warm_up = self.warm_up.min(fit.saturating_add(1));
    }

    /// The number of sessions that a verdict takes.
    fn sessions_of_verdict(&self) -> u32 {
        match self.design {
            Design::Fixed => SESSIONS_NEEDED as u32,
            Design::Sequential => LOOKS[0] as u32,
        }
    }

    /// The time of the sessions that a verdict takes if the run has this number of them.
    fn verdict_ns(&self, had: u32) -> u64 {
        let missing = self.sessions_of_verdict().saturating_sub(had);
        self.whole_session_ns().saturating_mul(u64::from(missing))
    }

    /// The time of a session of one round with the slow cells.
    fn whole_session_ns(&self) -> u64 {
        self.session_ns(1).saturating_add(self.roster.slow_ns())
    }

    /// After the first samples of each cell, the limit of [`Schedule::too_short`] where the rest of
    /// the time will not suffice; once.
    pub(crate) fn will_be_too_short(&mut self, had: u32, now_ns: u64) -> Option<u64> {
        let budget = &self.budget;
        let lacks_time = budget.at_most_left_ns(now_ns) < self.verdict_ns(had);
        let is_new = !budget.is_short_settled && (lacks_time || budget.is_too_long());
        self.budget.is_short_settled |= had >= self.sessions_of_verdict();
        let (_, limit_ns) = self.too_short(had, now_ns).filter(|_| is_new)?;
        self.budget.is_short_settled |= limit_ns.is_some();
        limit_ns
    }

    /// Whether [`Schedule::will_be_too_short`] may find anything: for it the sessions are counted,
    /// which takes longer with each of them.
    fn may_be_too_short(&self) -> bool {
        let budget = &self.budget;
        !budget.is_short_settled && (budget.limits_all || budget.is_too_long())
    }

    /// Where the time ended the run before a verdict, after only this number of sessions: the
    /// number of sessions that a verdict takes, and a limit for the whole run that would suffice,
    /// if it can be estimated.
    pub(crate) fn too_short(&self, had: u32, now_ns: u64) -> Option<(u32, Option<u64>)> {
        let needed = self.sessions_of_verdict();
        let budget = &self.budget;
        let ends_early = budget.limits_all || budget.is_too_long();
        if !ends_early || had >= needed || self.had + self.sessions < needed {
            return None;
        }
        let rounds_ns = self.rounds_ns(had, now_ns);
        let counting_ns = budget.counting_of(COUNTING_PARTS.map(|part| rounds_ns / (part - 1)));
        let limit_ns = rounds_ns.saturating_add(counting_ns);
        Some((needed, (self.whole_session_ns() > 0).then_some(limit_ns)))
    }

    /// The time of the rounds until now, and of the sessions that a verdict takes beyond this
    /// number of them.
    fn rounds_ns(&self, had: u32, now_ns: u64) -> u64 {
        let taken_ns = self.budget.taken_ns(now_ns).saturating_sub(self.budget.set_up_ns);
        // One more, because sessions differ.
        taken_ns.saturating_add(self.verdict_ns(had)).saturating_add(self.whole_session_ns())
    }

    /// A limit for the whole run that leaves time for a counting pass of `pass_ns`, where the run
    /// had this number of sessions when the pass began: the pass has the least of its parts of any
    /// limit, if the sessions of a verdict leave that. It is not known of a resumed run, whose
    /// earlier rounds took other time.
    pub(super) fn enough_to_count_ns(&self, had: u32, began_ns: u64, pass_ns: u64) -> Option<u64> {
        if self.had > 0 {
            return None;
        }
        let starts_ns = self.budget.start_ns?.saturating_mul(2);
        let pass_ns = pass_ns.saturating_add(starts_ns);
        let of_rounds_ns = self.rounds_ns(had, began_ns).saturating_add(pass_ns);
        Some(of_rounds_ns.max(pass_ns.saturating_mul(COUNTING_PARTS[0])))
    }
}

/// Why the methods were not counted for which the counting pass had no time: it began then, and all
/// of it would take `pass_ns`.
pub(crate) fn no_time_to_count(
    run: &Run,
    schedule: &Schedule,
    began_ns: u64,
    pass_ns: u64,
) -> Uncounted {
    let had = sessions_of_two(run);
    let enough_ns = schedule.enough_to_count_ns(had, began_ns, pass_ns);
    // An estimate below the limit that was too short is wrong.
    let given_ns = given_ns(run).unwrap_or_default();
    Uncounted::NoTime { enough_ns: enough_ns.filter(|ns| *ns > given_ns) }
}

/// Announces once that the run will exceed its limit, because it is too short for its first look.
pub(crate) fn announce_longer(context: &mut MeasureContext<'_>, schedule: &mut Schedule) {
    if let Some(ns) = schedule.budget.announce_ns.take() {
        context.record.progress(context.run, &RunProgress::Longer { ns });
    }
}

/// Announces once, as soon as it is known, that the time is too short for a verdict, and which
/// limit would suffice.
pub(crate) fn announce_short(context: &mut MeasureContext<'_>, schedule: &mut Schedule) {
    if !schedule.may_be_too_short() {
        return;
    }
    let had = sessions_of_two(context.run);
    let Some(limit_ns) = schedule.will_be_too_short(had, clock::now_ns()) else { return };
    let short = RunProgress::Short { limit_ns, given_ns: given_ns(context.run) };
    context.record.progress(context.run, &short);
}

/// The limit of the user; none where the plan has one of its own.
fn given_ns(run: &Run) -> Option<u64> {
    run.plan.limits_all.then_some(run.plan.time_limit_ns)
}

/// Adds a note where the time was too short for a verdict, with a limit that would suffice.
pub(crate) fn note_short_time(run: &mut Run, schedule: &Schedule) {
    let had = sessions_of_two(run);
    let Some((needed, limit_ns)) = schedule.too_short(had, clock::now_ns()) else { return };
    let enough = match limit_ns {
        Some(ns) => format!("--time {}s would do", ns.div_ceil(1_000_000_000)),
        None => "give more --time".to_owned(),
    };
    let why = match given_ns(run) {
        Some(ns) => format!(
            "in {} s there was time for {had} of the {needed} sessions that one takes",
            ns as f64 / 1e9
        ),
        None => format!(
            "one takes {needed} sessions, and runs of a minute or more are not repeated by \
             themselves"
        ),
    };
    let what = if run.cells.len() == 1 { "interval" } else { "verdict" };
    run.notes.push(Warning::noted(format!("no {what}: {why}; {enough}")));
}

/// The number of sessions in which more than one cell has a sample that counts, or the only one.
fn sessions_of_two(run: &Run) -> u32 {
    let mut cells: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for (i, cell) in run.cells.iter().enumerate() {
        for sample in cell.samples.iter().filter(|sample| sample.counts()) {
            cells.entry(sample.session).or_default().insert(i);
        }
    }
    let least = run.cells.len().min(2);
    cells.values().filter(|cells| cells.len() >= least).count() as u32
}
