//! Compares one cell with another in one metric, round by round.

use model::metric::{CPU, LONGEST_TASK_CPU, STEAL, WALL, WALL_LESS_WAIT};
use model::param::Point;
use model::run::{Design, Plan, Run};

use super::analysis::{ALPHA, Comparison, Doubt, Verdict};
use super::facts::{
    BLOCKED_SHARE, BUSY_SHARE, CellFacts, Rounds, RunFacts, SampleKey, VERDICT_METRICS, WAIT_SHARE,
    place,
};
use super::values::{ensure_usable, in_blocks, of_samples};
use crate::stats::{self, LOOKS, SESSIONS_NEEDED, Shift, last_look, median, pseudomedian};

/// A smaller difference, in percent, is not relevant.
pub(crate) const RELEVANT_PERCENT: f64 = 1.0;

/// The same for the verdicts of a run whose plan may give another limit.
pub fn margin_percent(plan: &Plan) -> f64 {
    plan.margin_percent.unwrap_or(RELEVANT_PERCENT)
}

/// Two cells of a family, and the α at which they are compared.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub run: &'a Run,
    pub point: &'a Point,
    pub cell: &'a CellFacts<'a>,
    pub reference: &'a CellFacts<'a>,
    pub alpha: f64,
}

impl<'a> Pair<'a> {
    /// The cells by their indices in the run.
    pub(crate) fn new(
        facts: &'a RunFacts<'a>,
        point: &'a Point,
        cells: [usize; 2],
        alpha: f64,
    ) -> Pair<'a> {
        let [cell, reference] = cells.map(|index| &facts.cells[index]);
        Pair { run: facts.run, point, cell, reference, alpha }
    }

    /// The wall time, and the other metrics that both have. The one in the family's metric decides,
    /// also where one of the two lacks it, or else the wall time.
    pub(crate) fn comparisons(&self, deciding: &str) -> Vec<Comparison> {
        let mut comparisons = VERDICT_METRICS.map(|metric| self.compare(metric)).to_vec();
        // The pair has a verdict and its reason also where there is no ratio.
        let kept = if self.run.plan.design.is_fixed() { WALL } else { deciding };
        comparisons.retain(|c| [WALL, kept].contains(&c.metric.as_str()) || c.ratio.is_some());
        let decides = comparisons.iter().position(|c| c.metric == deciding).unwrap_or(0);
        comparisons[decides].decides = true;
        if comparisons[0].decides {
            self.doubt(&mut comparisons[0]);
        }
        comparisons
    }

    /// The one of [`Pair::comparisons`] that decides, without computing the others unless it may be
    /// doubted.
    pub(crate) fn decision(&self, deciding: &str) -> Comparison {
        let is_fixed = self.run.plan.design.is_fixed();
        if deciding != WALL {
            let own = self.compare(deciding);
            if own.ratio.is_some() || !is_fixed {
                return Comparison { decides: true, ..own };
            }
        }
        let mut wall = Comparison { decides: true, ..self.compare(WALL) };
        self.doubt(&mut wall);
        wall
    }

    /// Whether a wait for a CPU may be in the wall times that are compared: it is known how long
    /// the waits were, or there is a sign of one.
    pub(crate) fn may_have_waited(&self) -> bool {
        let Ok(compared) = self.compared(WALL) else { return false };
        let counts = |session: u32| compared.has_session(session);
        let others = OthersTime::of(self.run);
        self.knows_waits() || self.cells().iter().any(|cell| waited(cell, others, counts))
    }

    /// The interval of the ratio of wall times that holds with the waits for a CPU and without
    /// them, whatever part of them was in vain.
    pub(crate) fn with_and_without_wait(&self) -> Option<(f64, f64)> {
        self.bounds().map(|(low, high)| (low.exp(), high.exp()))
    }

    fn knows_waits(&self) -> bool {
        self.cells().iter().all(|cell| cell.waits.are_known)
    }

    /// A wall time that may include a wait for a CPU decides what holds without the wait, whatever
    /// part of the known waits was in vain; or else what the CPU time shows, too, of methods that
    /// wait for nothing else: that is a verdict about the time beside this load. How long each
    /// method waits depends on the other processes of the machine and on how the scheduler treats
    /// new processes.
    fn doubt(&self, wall: &mut Comparison) {
        let claims = matches!(wall.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same);
        if !claims || !(self.knows_waits() || self.may_have_waited()) {
            return;
        }
        let margin = margin_percent(&self.run.plan);
        let limit = (margin / 100.0).ln_1p();
        let holds = |(low, high): (f64, f64)| match wall.verdict {
            Verdict::Faster => high < 0.0,
            Verdict::Slower => low > 0.0,
            _ => -limit <= low && high <= limit,
        };
        if self.bounds().is_some_and(holds) {
            return;
        }
        if wall.verdict != Verdict::Same
            && self.compare(CPU).verdict == wall.verdict
            && !self.one_blocks()
        {
            wall.beside_load = true;
            return;
        }
        let doubt = if self.knows_waits() { Doubt::Wait } else { Doubt::UnknownWait };
        wall.verdict = Verdict::Undecided;
        wall.below_relevance = false;
        wall.doubt = Some(doubt);
        wall.reason = Some(match doubt {
            Doubt::UnknownWait => "a method waited for a CPU, how long is not known, and the CPU \
                                   time does not show the same"
                .to_owned(),
            _ => "the methods' waits for a CPU may be the difference, and the CPU time does not \
                  show the same"
                .to_owned(),
        });
    }

    /// Whether one of the two waits for something else than a CPU, so that their CPU time says
    /// nothing about their wall time.
    fn one_blocks(&self) -> bool {
        let Ok(compared) = self.compared(WALL) else { return true };
        let counts = |session: u32| compared.has_session(session);
        self.cells().iter().any(|cell| blocks(cell, counts))
    }

    /// The lower limit of ln(method / reference) where the method has its lowest possible time
    /// without the wait and the reference all of its wall time, and the upper limit where it is the
    /// other way round; none where there are too few sessions. In every round the first ratio is no
    /// larger than the true one and the second no smaller, so that each limit keeps the level of
    /// its side.
    fn bounds(&self) -> Option<(f64, f64)> {
        let cpus = self.run.environment.facts.get("cpu_affinity_count");
        let cpus = cpus.and_then(serde_json::Value::as_f64).filter(|cpus| *cpus >= 1.0);
        let others = OthersTime::of(self.run);
        let least = self.cells().map(|cell| least(cell, cpus.unwrap_or(f64::INFINITY), others));
        let whole = self.cells().map(|cell| cell.rounds(WALL));
        let interval = |rounds: [&Rounds<'_>; 2]| {
            let compared = Compared::new(&self.run.plan, ratios(rounds, WALL).ok()?, self.alpha);
            stats::by_session(&compared.logs, compared.alpha?)?.interval
        };
        let (low, _) = interval([&least[0], &whole[1]])?;
        let (_, high) = interval([&whole[0], &least[1]])?;
        Some((low, high))
    }

    /// A comparison that cannot be made.
    pub(crate) fn without_ratio(&self, verdict: Verdict, reason: String) -> Comparison {
        Comparison {
            method: self.cell.stored.method.clone(),
            reference: self.reference.stored.method.clone(),
            point: self.point.clone(),
            metric: WALL.to_owned(),
            cell: self.cell.index,
            reference_cell: self.reference.index,
            decides: true,
            n: 0,
            sessions: 0,
            ratio: None,
            low: None,
            high: None,
            level: 1.0 - self.alpha,
            p: None,
            p_holm: None,
            verdict,
            beside_load: false,
            doubt: None,
            reason: Some(reason),
            below_relevance: false,
            found_percent: None,
            sessions_for_1_percent: None,
            longer_run: None,
        }
    }

    fn cells(&self) -> [&'a CellFacts<'a>; 2] {
        [self.cell, self.reference]
    }

    fn compared(&self, metric: &str) -> Result<Compared<'a>, String> {
        let shared = log_ratios(self.cells().map(|cell| (cell, metric)))?;
        Ok(Compared::new(&self.run.plan, shared, self.alpha))
    }

    pub(crate) fn compare(&self, metric: &str) -> Comparison {
        if !self.run.in_rounds() {
            return self.one_after_the_other(metric);
        }
        let found = self.compared(metric).and_then(|compared| {
            let alpha = compared.alpha.unwrap_or(self.alpha);
            let shift = stats::by_session(&compared.logs, alpha)
                .ok_or_else(|| self.no_shared_round(metric))?;
            Ok((shift, compared))
        });
        let mut comparison = match found {
            Ok((shift, compared)) => {
                let mut comparison = self.judge(shift, &compared);
                if metric == WALL_LESS_WAIT {
                    self.doubt_missing(&mut comparison, &compared);
                }
                comparison
            }
            Err(reason) => self.without_ratio(Verdict::Missing, reason),
        };
        metric.clone_into(&mut comparison.metric);
        comparison.decides = false;
        comparison
    }

    fn no_shared_round(&self, metric: &str) -> String {
        let lacks = self.cells().into_iter().find(|cell| !cell.has(metric));
        match lacks.filter(|cell| metric == WALL_LESS_WAIT && cell.has(WALL)) {
            Some(cell) => {
                let method = &cell.stored.method;
                format!("the time of {method} without the wait for a CPU is not known")
            }
            None => "there is no round in which both were measured".to_owned(),
        }
    }

    /// A round that lacks the time without the wait of one of the two is left out. Where that
    /// happens more often to one of them, what is left out depends on what it took.
    fn doubt_missing(&self, comparison: &mut Comparison, compared: &Compared<'_>) {
        let [all, known] =
            [WALL, WALL_LESS_WAIT].map(|metric| self.cells().map(|cell| cell.rounds(metric)));
        let counts = |(session, _)| compared.has_session(session);
        let [ours, theirs] = Rounds::only_one(all.each_ref(), known.each_ref(), counts);
        if stats::mcnemar(ours, theirs) >= ALPHA {
            return;
        }
        // The second one lacks it where only the first one has it.
        let [method, other] = self.cells().map(|cell| &cell.stored.method);
        let reason = format!(
            "the time without the wait for a CPU is missing of {method} alone in {theirs} rounds \
             and of {other} alone in {ours}: the missing rounds may depend on how long they took"
        );
        if comparison.low.is_some() {
            comparison.doubt = Some(Doubt::Missing);
            comparison.verdict = Verdict::Undecided;
            comparison.below_relevance = false;
            comparison.reason = Some(reason);
        }
    }

    /// The ratio of the medians, which includes the drift of the machine: it decides nothing.
    fn one_after_the_other(&self, metric: &str) -> Comparison {
        let middle = |cell: &CellFacts<'_>| Ok(median(&of_samples(cell, metric)?));
        let tool = self.run.plan.imported.as_ref().map_or("", |imported| imported.tool.as_str());
        let (verdict, reason, ratio) = match (middle(self.cell), middle(self.reference)) {
            (Ok(y), Ok(x)) => {
                let reason = format!("{tool} did not measure the methods in rounds");
                (
                    Verdict::Undecided,
                    reason,
                    Some(f64::exp(y - x)).filter(|ratio| ratio.is_finite()),
                )
            }
            (Err(reason), _) | (_, Err(reason)) => (Verdict::Missing, reason, None),
        };
        let mut comparison = self.without_ratio(verdict, reason);
        comparison.ratio = ratio;
        metric.clone_into(&mut comparison.metric);
        comparison.decides = false;
        comparison
    }

    fn judge(&self, shift: Shift, compared: &Compared<'_>) -> Comparison {
        let interval = shift.interval.filter(|_| compared.alpha.is_some());
        let alpha = compared.alpha.unwrap_or(self.alpha);
        let (verdict, below_relevance) = verdict(interval, margin_percent(&self.run.plan));
        let at_its_level = Pair { alpha, ..*self };
        let mut comparison = at_its_level.without_ratio(verdict, String::new());
        let needed = sessions_needed(&self.run.plan);
        comparison.n = compared.logs.iter().map(Vec::len).sum();
        // Where each session is one round, as it is for commands, users call it a round.
        let noun = if comparison.n == shift.n { "round" } else { "session" };
        comparison.reason = interval.is_none().then(|| few(shift.n, noun, needed));
        comparison.sessions = shift.n;
        comparison.ratio = Some(shift.estimate.exp());
        comparison.below_relevance = below_relevance;
        if let Some((low, high)) = interval {
            comparison.low = Some(low.exp());
            comparison.high = Some(high.exp());
            comparison.p = Some(match self.run.plan.design {
                Design::Fixed => shift.p,
                Design::Sequential => stats::p_of_all_looks(shift.p, shift.n),
            });
            let percent = stats::found_percent((high - low) / 2.0, alpha);
            comparison.found_percent = Some(percent);
            let sessions = stats::sessions_needed(shift.n, percent, RELEVANT_PERCENT);
            comparison.sessions_for_1_percent = Some(sessions);
        }
        comparison
    }
}

/// The verdict of an interval of logs, and whether a shown difference is too small to be relevant.
pub(crate) fn verdict(interval: Option<(f64, f64)>, margin_percent: f64) -> (Verdict, bool) {
    let Some((low, high)) = interval else { return (Verdict::Undecided, false) };
    let limit = (margin_percent / 100.0).ln_1p();
    let within = -limit <= low && high <= limit;
    match (low, high) {
        (_, high) if high < 0.0 => (Verdict::Faster, within),
        (low, _) if low > 0.0 => (Verdict::Slower, within),
        _ if within => (Verdict::Same, false),
        _ => (Verdict::Undecided, false),
    }
}

/// Why this number of sessions gives no interval.
pub(crate) fn too_few(sessions: usize, needed: usize) -> String {
    few(sessions, "session", needed)
}

fn few(n: usize, noun: &str, needed: usize) -> String {
    let (plural, are) = if n == 1 { ("", "is") } else { ("s", "are") };
    format!("{n} {noun}{plural} {are} too few, at least {needed} are needed")
}

// The rounds that two cells share.

/// The shift from the reference in each session, round by round.
pub(crate) fn relative(
    cell: &CellFacts<'_>,
    reference: &CellFacts<'_>,
    metric: &str,
) -> Result<Vec<f64>, String> {
    let sessions = log_ratios([(cell, metric), (reference, metric)])?;
    let sessions = in_blocks(sessions.into_iter().map(|(_, logs)| logs).collect());
    let shifts: Vec<f64> = sessions.iter().filter_map(|rounds| pseudomedian(rounds)).collect();
    if shifts.is_empty() {
        let what = if metric == WALL { "measured" } else { metric };
        return Err(format!("there is no round in which both were {what}"));
    }
    Ok(shifts)
}

/// ln(method / reference) of the rounds in which both have a sample that counts, by the number of
/// the session. A value that is not above 0 has no logarithm. Leaving out its round would be a
/// selection by the result, so the metric is then not compared at all.
pub(crate) fn log_ratios(
    [(cell, metric), (reference, of_reference)]: [(&CellFacts<'_>, &str); 2],
) -> Result<Vec<(u32, Vec<f64>)>, String> {
    ensure_usable(cell)?;
    ensure_usable(reference)?;
    ratios([&cell.rounds(metric), &reference.rounds(of_reference)], metric)
}

/// The same of values that are not those of a metric.
fn ratios([ours, theirs]: [&Rounds<'_>; 2], metric: &str) -> Result<Vec<(u32, Vec<f64>)>, String> {
    let mut theirs = theirs.iter().peekable();
    let mut sessions: Vec<(u32, Vec<f64>)> = Vec::new();
    for (round, y) in ours.iter() {
        while theirs.next_if(|(other, _)| *other < round).is_some() {}
        let Some((_, x)) = theirs.next_if(|(other, _)| *other == round) else { continue };
        let log = (y / x).ln();
        if !(x > 0.0 && y > 0.0 && log.is_finite()) {
            return Err(format!("{metric} is {y} and {x} in a round, which gives no ratio"));
        }
        match sessions.last_mut() {
            Some((session, logs)) if *session == round.0 => logs.push(log),
            _ => sessions.push((round.0, vec![log])),
        }
    }
    Ok(sessions)
}

// Which of the sessions that two cells share are compared, and at which level: all of them, or
// those of the last look of a run whose results decide when it ends.

/// The sessions by which two cells are compared.
pub(crate) struct Compared<'a> {
    plan: &'a Plan,
    /// ln(method / reference) of each round, by session.
    pub logs: Vec<Vec<f64>>,
    /// The α of the interval; none where the sessions are too few for one.
    pub alpha: Option<f64>,
    /// The place of the last of these sessions in the run, where later ones do not count.
    last: Option<u32>,
}

/// Keeps, of the values of sessions, those that the last look has, all in a run of a fixed design.
/// Returns the α of their interval; none where the sessions are too few for one.
pub(crate) fn at_last_look<T>(plan: &Plan, shared: &mut Vec<(u32, T)>, alpha: f64) -> Option<f64> {
    if plan.design.is_fixed() {
        return Some(alpha);
    }
    shared.sort_by_key(|(session, _)| place(plan, *session));
    let look = last_look(shared.len(), alpha)?;
    shared.truncate(look.sessions);
    Some(look.alpha)
}

impl<'a> Compared<'a> {
    /// The first sessions that both share, as many as the last look has; all of them in a run of a
    /// fixed design.
    pub(crate) fn new(
        plan: &'a Plan,
        mut shared: Vec<(u32, Vec<f64>)>,
        alpha: f64,
    ) -> Compared<'a> {
        let alpha = at_last_look(plan, &mut shared, alpha);
        let last = shared.last().filter(|_| !plan.design.is_fixed());
        let last = last.map(|(session, _)| place(plan, *session));
        let logs = shared.into_iter().map(|(_, logs)| logs).collect();
        Compared { plan, logs, alpha, last }
    }

    /// Whether the session is not a later one.
    fn has_session(&self, session: u32) -> bool {
        self.last.is_none_or(|last| place(self.plan, session) <= last)
    }
}

/// The number of sessions that an interval needs.
pub(crate) fn sessions_needed(plan: &Plan) -> usize {
    if plan.design.is_fixed() { SESSIONS_NEEDED } else { LOOKS[0] }
}

// The waits for a CPU in the sessions that are compared, and the bounds of a wall time without
// them (partial identification: Manski 2003; Imbens and Manski 2004).

/// From this rate per second of CPU time on, a method that is preempted shares its CPU with others.
/// The slices of Linux take 3 to 6 ms where several tasks want a CPU; on a quiet machine
/// preemptions occur a few times per second.
const PREEMPTIONS_PER_S: f64 = 50.0;

/// The longest slice that Linux gives to another task before a preempted one runs again, where few
/// tasks want a CPU.
const SLICE_NS: f64 = 6e6;

/// The CPU time that the other processes of the machine used during the rounds, with what a
/// hypervisor took.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OthersTime {
    /// Of the CPU time that the machine had.
    share: f64,
    /// How many CPUs that is on average. No job waits for others in a larger share of its time:
    /// while one of its tasks waits for another process, that process runs.
    cpus: f64,
}

impl OthersTime {
    /// None where it is not known, or where the run also waited for the quota of its control group.
    fn of(run: &Run) -> Option<OthersTime> {
        let fact = |name: &str| run.environment.facts.get(name).and_then(serde_json::Value::as_f64);
        if fact("cgroup_throttled_share").is_some_and(|share| share > 0.0) {
            return None;
        }
        let share = fact("busy_share_of_others")? + fact("steal_share").unwrap_or_default();
        Some(OthersTime { share, cpus: share * fact("cpu_threads")? })
    }
}

/// Whether a method waited for a CPU during more than a small share of the wall time of the
/// sessions that count, as far as that is known: for a single thread exactly; for a process tree,
/// because it was preempted often. That it computed for longer than it took is no sign of the
/// contrary: two threads that share a CPU do so, too. Where others used little CPU time, each
/// preemption took one slice at most.
fn waited(cell: &CellFacts<'_>, others: Option<OthersTime>, counts: impl Fn(u32) -> bool) -> bool {
    if let Some(share) = cell.wait_share(&counts) {
        return share > WAIT_SHARE;
    }
    let sum = |metric: &str| {
        let counted = cell.counted(metric).filter(|(key, _)| counts(key.session));
        counted.map(|(_, value)| value).reduce(|sum, value| sum + value).unwrap_or_default()
    };
    let (wall, cpu, preemptions) = (sum(WALL), sum(CPU), sum("involuntary_switches"));
    let is_quiet = others.is_some_and(|others| others.share <= BUSY_SHARE);
    preemptions > PREEMPTIONS_PER_S * cpu / 1e9
        && !(is_quiet && preemptions * SLICE_NS <= WAIT_SHARE * wall)
}

/// Whether a cell waits for something else than a CPU in the sessions that count, as far as that is
/// known: a wait for a CPU that is not known counts as one for something else.
fn blocks(cell: &CellFacts<'_>, counts: impl Fn(u32) -> bool) -> bool {
    let ([wall_ns, cpu_ns], delay_ns) = ([WALL, CPU].map(|m| cell.column(m)), cell.delays());
    let counted = cell.timing.iter().filter(|key| counts(key.session));
    let known = counted.filter_map(|key| {
        let (wall_ns, cpu_ns) = wall_ns(*key).zip(cpu_ns(*key))?;
        Some((wall_ns, cpu_ns + delay_ns(*key).unwrap_or_default()))
    });
    let (wall_ns, used_ns) =
        known.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1)).unwrap_or_default();
    wall_ns - used_ns > BLOCKED_SHARE * wall_ns || wall_ns <= 0.0
}

/// By round, no more than the sample would have taken without a wait for a CPU: while the longest
/// chain of a job's work waits, one of its tasks does. So it is the wall time less the sum of the
/// waits and what a hypervisor took, or more: no task computes in less than its CPU time, and all
/// together in no less than their CPU time spread over all CPUs. Of a sample whose wait is not
/// known, the wait for other processes is at most the CPU time that these used.
fn least(cell: &CellFacts<'_>, cpus: f64, others: Option<OthersTime>) -> Rounds<'static> {
    let [wall, stolen, longest, cpu] =
        [WALL, STEAL, LONGEST_TASK_CPU, CPU].map(|metric| cell.column(metric));
    let delay = cell.delays();
    let of_sample = |key: &SampleKey| {
        let wall_ns = wall(*key)?;
        let stolen_ns = stolen(*key).unwrap_or_default();
        let without_wait = match delay(*key) {
            Some(delay_ns) => Some(wall_ns - delay_ns - stolen_ns),
            None => others.map(|others| wall_ns * (1.0 - others.cpus)),
        };
        let spread = cpu(*key).map(|cpu_ns| cpu_ns / cpus);
        let bounds = [without_wait, longest(*key), spread];
        let least_ns = bounds.into_iter().flatten().fold(wall_ns * NEARLY_0, f64::max);
        Some(((key.session, key.round), least_ns.min(wall_ns)))
    };
    Rounds::new(cell.timing.iter().filter_map(of_sample))
}

/// In place of 0, which has no logarithm.
const NEARLY_0: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, facts_of};

    #[test]
    fn an_interval_gives_the_verdict() {
        let of = |low: f64, high: f64| verdict(Some((low.ln(), high.ln())), 1.0);
        assert_eq!(of(0.8, 0.9), (Verdict::Faster, false));
        assert_eq!(of(0.98, 0.995), (Verdict::Faster, false));
        assert_eq!(of(0.992, 0.998), (Verdict::Faster, true));
        assert_eq!(of(1.002, 1.008), (Verdict::Slower, true));
        assert_eq!(of(1.002, 1.02), (Verdict::Slower, false));
        assert_eq!(of(0.995, 1.005), (Verdict::Same, false));
        assert_eq!(of(1.0, 1.0), (Verdict::Same, false));
        assert_eq!(of(0.98, 1.005), (Verdict::Undecided, false));
        assert_eq!(verdict(None, 1.0), (Verdict::Undecided, false));
        let within_5 = |low: f64, high: f64| verdict(Some((low.ln(), high.ln())), 5.0);
        assert_eq!(within_5(0.97, 1.04), (Verdict::Same, false));
        assert_eq!(within_5(1.01, 1.04), (Verdict::Slower, true));
        assert_eq!(within_5(0.94, 1.04), (Verdict::Undecided, false));
    }

    #[test]
    fn a_plan_may_have_its_own_margin() {
        assert_eq!(Some(margin_percent(&Plan::default())), Some(RELEVANT_PERCENT));
        let plan = Plan { margin_percent: Some(5.0), ..Plan::default() };
        assert_eq!(Some(margin_percent(&plan)), Some(5.0));
    }

    #[test]
    fn a_value_that_is_not_above_0_gives_no_ratio() {
        let of = |y: f64, x: f64| {
            let cells = [cell("a", [1.0, y]), cell("b", [1.0, x])];
            let [cell, other] = cells.each_ref().map(facts_of);
            log_ratios([(&cell, WALL), (&other, WALL)])
        };
        assert_eq!(of(1.0, 1.0), Ok(vec![(0, vec![0.0, 0.0])]));
        for (y, x) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (1.0, 0.0)] {
            let reason = format!("wall_ns is {y} and {x} in a round, which gives no ratio");
            assert_eq!(of(y, x), Err(reason));
        }
    }

    #[test]
    fn methods_without_a_shared_round_have_a_reason_for_each_metric() {
        let mut other = cell("b", [1.0; 3]);
        other.samples.iter_mut().for_each(|sample| sample.round += 3);
        let of = |metric| relative(&facts_of(&cell("a", [1.0; 3])), &facts_of(&other), metric);
        let reason = |what| Err(format!("there is no round in which both were {what}"));
        assert_eq!(of(WALL), reason("measured"));
        assert_eq!(of("cpu_ns"), reason("cpu_ns"));
    }
}

#[cfg(test)]
mod waited_tests {
    use super::*;
    use crate::tests::{cell, facts_of, with};

    #[test]
    fn a_wait_that_is_known_counts_above_its_limit() {
        let of = |wait: f64| {
            let cell = with(cell("a", [100.0; 10]), "run_queue_wait_ns", |_| wait);
            waited(&facts_of(&cell), None, |_| true)
        };
        assert_eq!([4.0, 5.0, 5.1].map(of), [false, false, true]);
    }

    #[test]
    fn a_tree_waited_if_it_was_preempted_often_whatever_it_computed() {
        let of = |cpu: f64, switches: f64| {
            let cell = with(cell("a", [1e9]), "cpu_ns", |_| cpu);
            let cell = with(cell, "involuntary_switches", |_| switches);
            waited(&facts_of(&cell), None, |_| true)
        };
        // 50 per second of 0.9 s of CPU time.
        assert_eq!([of(0.9e9, 45.0), of(0.9e9, 46.0)], [false, true]);
        // Two threads on one CPU.
        assert_eq!([of(2e9, 100.0), of(2e9, 101.0)], [false, true]);
    }

    #[test]
    fn a_few_preemptions_on_a_quiet_machine_are_no_sign_of_a_wait() {
        let of = |share: f64, switches: f64| {
            let cell = with(cell("a", [1e9]), "cpu_ns", |_| 1e6);
            let cell = with(cell, "involuntary_switches", |_| switches);
            let others = OthersTime { share, cpus: 2.0 * share };
            waited(&facts_of(&cell), Some(others), |_| true)
        };
        // 8 slices of 6 ms are less than 5 % of a second.
        assert_eq!([of(0.1, 8.0), of(0.1, 9.0), of(0.11, 8.0)], [false, true, true]);
    }
}

#[cfg(test)]
mod bounds_tests {
    use super::*;
    use crate::tests::{cell, facts_of, run, with};
    use model::metric::CPU_DELAY;
    use model::run::Cell;

    /// Ten sessions of a method that takes about 1 ms, of which it waits and computes these shares.
    fn method(name: &str, factor: f64, delay: f64, cpu: f64) -> Cell {
        let walls = (0..100).map(|i| 1e6 * factor * (1.0 + 1e-4 * f64::from(i % 7)));
        let cell = with(cell(name, walls), CPU_DELAY, move |wall_ns| delay * wall_ns);
        with(cell, CPU, move |wall_ns| cpu * wall_ns)
    }

    fn of(a: Cell, b: Cell) -> (f64, f64) {
        beside(&[], a, b)
    }

    /// With these facts of the machine.
    fn beside(load: &[(&str, f64)], a: Cell, b: Cell) -> (f64, f64) {
        let mut run = run(vec![a, b]);
        let facts = &mut run.environment.facts;
        facts.insert("cpu_affinity_count".to_owned(), 2.into());
        facts.insert("cpu_threads".to_owned(), 2.into());
        facts.extend(load.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
        let (facts, point) = (RunFacts::new(&run), Point::default());
        Pair::new(&facts, &point, [1, 0], 0.05).with_and_without_wait().unwrap()
    }

    fn check((low, high): (f64, f64), expected: (f64, f64)) {
        assert!(
            (low - expected.0).abs() < 1e-3 && (high - expected.1).abs() < 1e-3,
            "{low} {high}"
        );
    }

    #[test]
    fn a_time_lies_between_what_is_left_without_the_waits_and_the_wall_time() {
        // The method may have taken 1.2 to 1.5, the reference 0.9 to 1.
        check(of(method("a", 1.0, 0.1, 0.0), method("b", 1.5, 0.2, 0.0)), (1.2, 1.5 / 0.9));
        // What the hypervisor took is a wait, too.
        let stolen = with(method("b", 1.5, 0.2, 0.0), STEAL, |wall_ns| 0.1 * wall_ns);
        check(of(method("a", 1.0, 0.1, 0.0), stolen), (1.05, 1.5 / 0.9));
        // No less than its CPU time on two CPUs, nor that of one task.
        check(of(method("a", 1.0, 0.0, 0.0), method("b", 1.0, 0.9, 1.2)), (0.6, 1.0));
        let with_task = with(method("b", 1.0, 0.9, 1.2), LONGEST_TASK_CPU, |wall_ns| 0.8 * wall_ns);
        check(of(method("a", 1.0, 0.0, 0.0), with_task), (0.8, 1.0));
    }

    #[test]
    fn without_the_waits_only_the_cpu_time_is_a_bound() {
        let unknown = |name, cpu| {
            let mut cell = method(name, 1.0, 0.0, cpu);
            cell.values.remove(CPU_DELAY);
            cell
        };
        check(of(unknown("a", 0.8), unknown("b", 1.0)), (0.5, 2.5));
        // One of many samples without it has the bound of its CPU time only, and changes little.
        let mut lost = method("b", 1.5, 0.2, 0.5);
        lost.values.get_mut(CPU_DELAY).unwrap().to_mut()[3] = f64::NAN;
        check(of(method("a", 1.0, 0.1, 0.0), lost), (1.2, 1.5 / 0.9));
    }

    #[test]
    fn a_wait_that_is_not_known_is_at_most_the_time_that_others_used() {
        let unknown = |name, factor, cpu| {
            let mut cell = method(name, factor, 0.0, cpu);
            cell.values.remove(CPU_DELAY);
            cell
        };
        let sleeps = || [unknown("a", 1.0, 0.0), unknown("b", 1.5, 0.0)];
        let of = |load: &[(&str, f64)]| {
            let [a, b] = sleeps();
            beside(load, a, b)
        };
        let others = ("busy_share_of_others", 0.1);
        // 0.1 of two CPUs are at most 0.2 of the time, and what a hypervisor took is added.
        check(of(&[others]), (1.2, 1.5 / 0.8));
        check(
            of(&[others, ("steal_share", 0.05), ("cgroup_throttled_share", 0.0)]),
            (1.05, 1.5 / 0.7),
        );
        let (low, high) = of(&[others, ("cgroup_throttled_share", 0.1)]);
        assert!(low < 1e-6 && high > 1e6, "{low} {high}");
        // Others that used a whole CPU leave no bound but that of the CPU time.
        check(
            beside(
                &[("busy_share_of_others", 0.6)],
                unknown("a", 1.0, 0.8),
                unknown("b", 1.0, 1.0),
            ),
            (0.5, 2.5),
        );
    }

    #[test]
    fn methods_whose_waits_are_not_known_have_a_verdict_where_others_cannot_be_the_difference() {
        let decide = |share: f64, preemptions: f64| {
            let unknown = |name, factor| {
                let mut cell = method(name, factor, 0.0, 0.1);
                cell.values.remove(CPU_DELAY);
                with(cell, "involuntary_switches", move |_| preemptions)
            };
            let mut run = run(vec![unknown("a", 1.0), unknown("b", 1.5)]);
            for (name, value) in [("cpu_threads", 2.0), ("busy_share_of_others", share)] {
                run.environment.facts.insert(name.to_owned(), value.into());
            }
            let (facts, point) = (RunFacts::new(&run), Point::default());
            let found = Pair::new(&facts, &point, [1, 0], 0.05).decision(WALL);
            (found.verdict, found.doubt)
        };
        let found = (Verdict::Slower, None);
        let withheld = (Verdict::Undecided, Some(Doubt::UnknownWait));
        assert_eq!([decide(0.0, 0.0), decide(0.1, 1.0)], [found, found]);
        // Others used 0.3 of a CPU, then 0.4: 1.5 times the time may be 1.05 times, then 0.9 times.
        assert_eq!([decide(0.15, 1.0), decide(0.2, 1.0)], [found, withheld]);
    }

    #[test]
    fn what_neither_runs_nor_waits_for_a_cpu_in_a_tenth_of_its_time_blocks() {
        let of = |delay, cpu| blocks(&facts_of(&method("a", 1.0, delay, cpu)), |_| true);
        assert_eq!([of(0.5, 0.41), of(0.5, 0.39), of(0.0, 2.0)], [false, true, false]);
        assert!(blocks(&facts_of(&method("a", 1.0, 0.5, 0.5)), |_| false));
    }
}
