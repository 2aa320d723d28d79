//! Which of the sessions that two cells share are compared, and at which level: all of them, or
//! those of the last look of a run whose results decide when it ends.

use super::values::{Rounds, numbered_log_ratios, ratios};
use crate::run::{Cell, Pass, Run, Sample};
use crate::stats::{LOOKS, SESSIONS_NEEDED, last_look};

/// The sessions by which two cells are compared.
pub(super) struct Compared {
    /// ln(method / reference) of each round, by session.
    pub(super) logs: Vec<Vec<f64>>,
    /// The α of the interval; none where the sessions are too few for one.
    pub(super) alpha: Option<f64>,
    /// The place of the last of these sessions in the run, where later ones do not count.
    last: Option<u32>,
}

/// The first sessions that both share, as many as the last look has; all of them in a run of a
/// fixed design.
pub(super) fn compared(
    run: &Run,
    cells: [usize; 2],
    metric: &str,
    alpha: f64,
) -> Result<Compared, String> {
    compared_metrics(run, cells.map(|cell| (cell, metric)), alpha)
}

/// The same where each of the two cells has a metric of its own.
pub(super) fn compared_metrics(
    run: &Run,
    [(cell, metric), (reference, of_reference)]: [(usize, &str); 2],
    alpha: f64,
) -> Result<Compared, String> {
    let both = [(&run.cells[cell], metric), (&run.cells[reference], of_reference)];
    Ok(until_look(run, numbered_log_ratios(both)?, alpha))
}

/// The same of values that are not those of a metric.
pub(super) fn compared_rounds(
    run: &Run,
    rounds: [Rounds; 2],
    metric: &str,
    alpha: f64,
) -> Result<Compared, String> {
    Ok(until_look(run, ratios(rounds, metric)?, alpha))
}

fn until_look(run: &Run, mut shared: Vec<(u32, Vec<f64>)>, alpha: f64) -> Compared {
    let alpha = at_last_look(run, &mut shared, alpha);
    let is_fixed = run.plan.design.is_fixed();
    let last = shared.last().filter(|_| !is_fixed).map(|(session, _)| place(run, *session));
    let logs = shared.into_iter().map(|(_, logs)| logs).collect();
    Compared { logs, alpha, last }
}

/// Keeps, of the values of sessions, those that the last look has, all in a run of a fixed design.
/// Returns the α of their interval; none where the sessions are too few for one.
pub(super) fn at_last_look<T>(run: &Run, shared: &mut Vec<(u32, T)>, alpha: f64) -> Option<f64> {
    if run.plan.design.is_fixed() {
        return Some(alpha);
    }
    shared.sort_by_key(|(session, _)| place(run, *session));
    let look = last_look(shared.len(), alpha)?;
    shared.truncate(look.sessions);
    Some(look.alpha)
}

impl Compared {
    /// Whether the sample is not of a later session.
    pub(super) fn is_before_end(&self, run: &Run, sample: &Sample) -> bool {
        self.has_session(run, sample.session)
    }

    pub(super) fn has_session(&self, run: &Run, session: u32) -> bool {
        self.last.is_none_or(|last| place(run, session) <= last)
    }
}

/// The number of sessions that an interval needs.
pub(super) fn sessions_needed(run: &Run) -> usize {
    if run.plan.design.is_fixed() { SESSIONS_NEEDED } else { LOOKS[0] }
}

/// By cell: how many sessions before the newest one of the run it took part last; none for a cell
/// without samples.
pub(super) fn sessions_since(run: &Run) -> Vec<Option<u32>> {
    let newest = |cell: &Cell| {
        let timed = cell.samples.iter().filter(|sample| sample.pass == Pass::Timing);
        timed.map(|sample| place(run, sample.session)).max()
    };
    let newest: Vec<Option<u32>> = run.cells.iter().map(newest).collect();
    let of_run = newest.iter().flatten().max().copied();
    newest.into_iter().map(|newest| Some(of_run? - newest?)).collect()
}

/// When the session was measured, counted in sessions: one that was interrupted is taken again
/// under a higher number, in the same place.
fn place(run: &Run, session: u32) -> u32 {
    session % run.plan.sessions.max(1)
}
