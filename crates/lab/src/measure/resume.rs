//! Resuming an interrupted run: which sessions it still needs.

use std::collections::BTreeSet;

use anyhow::Result;

use super::Record;
use crate::metric;
use crate::run::{Cell, INTERRUPTED, Pass, Run, Sample, Status};

/// The sessions of the plan that the run does not have yet, and the interrupted one, if any, which
/// is repeated as a whole. The repeated session has new processes and therefore a number of its
/// own: the number of the interrupted session plus a multiple of the number of sessions.
pub(super) fn sessions_left(run: &Run) -> (Vec<u32>, Option<u32>) {
    let planned = run.plan.sessions.max(1);
    let of_pass = |pass| {
        let all = run.cells.iter().flat_map(|cell| &cell.samples);
        all.filter(move |sample| sample.pass == pass)
    };
    // The counting samples follow all other samples, also where the time limit has ended the
    // rounds.
    if of_pass(Pass::Counting).next().is_some() {
        return (Vec::new(), None);
    }
    let numbers = || of_pass(Pass::Timing).map(|sample| sample.session);
    let Some(last) = sessions_had(run, |_| true).checked_sub(1) else {
        return ((0..planned).collect(), None);
    };
    let later = last + 1..planned;
    if last < run.plan.looked_at {
        return (later.collect(), None);
    }
    let number = numbers().filter(|number| number % planned == last).max().unwrap_or(last);
    // In a sequential design the methods and rounds of a session follow from the results and the
    // time, so that a session that was interrupted cannot be distinguished from a whole one.
    if run.plan.design.is_fixed() && is_whole(run, number) {
        return (later.collect(), None);
    }
    let again = number.saturating_add(planned);
    (std::iter::once(again).chain(later).collect(), Some(number))
}

/// The number of sessions, in their order, from the first to the last one that has such a sample.
pub(super) fn sessions_had(run: &Run, is_one: impl Fn(&Sample) -> bool) -> u32 {
    let planned = run.plan.sessions.max(1);
    let all = run.cells.iter().flat_map(|cell| &cell.samples);
    let timed = all.filter(|sample| sample.pass == Pass::Timing && is_one(sample));
    timed.map(|sample| sample.session % planned + 1).max().unwrap_or_default()
}

/// Whether each method took all rounds of this session, or its only one if the method is slow.
fn is_whole(run: &Run, session: u32) -> bool {
    let measured = run.cells.iter().filter(|cell| cell.status == Status::Measured);
    let taken = measured.map(|cell| {
        let of_session = |s: &&Sample| s.pass == Pass::Timing && s.session == session;
        let timed = cell.samples.iter().filter(of_session).filter(|s| !s.warm_up);
        // A sample may have been taken again.
        timed.map(|sample| sample.round).collect::<BTreeSet<u32>>().len() as u32
    });
    let taken: Vec<u32> = taken.collect();
    let most = taken.iter().copied().max().unwrap_or_default();
    let aside = |sample: &Sample| {
        sample.session == session && sample.not_counted.as_deref() == Some(INTERRUPTED)
    };
    if run.cells.iter().flat_map(|cell| &cell.samples).any(aside) {
        return false;
    }
    // A slow cell takes part in one round or in none.
    most >= run.plan.rounds && taken.iter().all(|n| *n == most || most > 1 && *n < 2)
}

/// About how long the samples took that a resumed run has already.
pub(super) fn spent_ns(run: &Run) -> u64 {
    let spent = |cell: &Cell| {
        let column = cell.values.get(metric::WALL).map_or(&[][..], Vec::as_slice);
        let samples = cell.samples.iter().zip(column);
        let timed = samples.filter(|(sample, ns)| sample.pass == Pass::Timing && **ns > 0.0);
        timed.map(|(sample, ns)| ns * sample.ops as f64).sum::<f64>()
    };
    run.cells.iter().map(spent).sum::<f64>() as u64
}

/// Marks the samples of an interrupted session as not counted: a part of a session is not a unit.
pub(super) fn set_aside(run: &mut Run, session: u32, record: &mut dyn Record) -> Result<()> {
    for sample in run.cells.iter_mut().flat_map(|cell| &mut cell.samples) {
        if sample.pass == Pass::Timing && sample.session == session {
            sample.not_counted.get_or_insert_with(|| INTERRUPTED.to_owned());
        }
    }
    record.set_aside(run, session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Point;
    use crate::run::{CacheState, Plan, SCHEMA};

    fn sample(session: u32, round: u32) -> Sample {
        Sample { session, round, warm_up: round == 0, ops: 1, ..Sample::default() }
    }

    /// A cell with the given numbers of rounds in each set of processes.
    fn cell(taken: &[(u32, u32)]) -> Cell {
        let samples =
            taken.iter().flat_map(|(session, n)| (0..=*n).map(|round| sample(*session, round)));
        Cell { samples: samples.collect(), ..Cell::new("", Point::default()) }
    }

    /// A run of 2 sessions of 100 rounds.
    fn run(cells: Vec<Cell>) -> Run {
        let plan = Plan {
            rounds: 100,
            time_limit_ns: 1000,
            warm_up: 1,
            sessions: 2,
            seed: 1,
            cache: CacheState::AsIs,
            sample_limit_ns: 1,
            ..Plan::default()
        };
        Run { schema: SCHEMA, plan, cells, ..Run::default() }
    }

    /// Which sessions are left, and which one was interrupted.
    fn check(taken: &[(u32, u32)], left: &[u32], interrupted: Option<u32>) {
        let run = run(vec![cell(taken)]);
        assert_eq!(sessions_left(&run), (left.to_vec(), interrupted), "{taken:?}");
    }

    #[test]
    fn a_slow_method_has_one_round_of_a_session_or_none() {
        let is_whole = |taken: [u32; 3]| {
            let run = run(taken.map(|n| cell(&[(0, n)])).to_vec());
            is_whole(&run, 0)
        };
        assert!(is_whole([100, 1, 0]));
        assert!(!is_whole([100, 2, 100]));
        assert!(!is_whole([99, 1, 99]));
    }

    #[test]
    fn a_sample_that_was_taken_again_is_one_round() {
        let is_whole = |taken: [u32; 2], again: u32| {
            let mut cells = taken.map(|n| cell(&[(0, n)]));
            let at = cells[1].samples.iter().position(|sample| sample.round == again).unwrap();
            let failed = Sample { not_counted: Some("not warm".to_owned()), ..sample(0, again) };
            cells[1].samples.insert(at, failed);
            is_whole(&run(cells.to_vec()), 0)
        };
        assert!(is_whole([100, 100], 7));
        assert!(!is_whole([100, 99], 7));
        assert!(!is_whole([99, 99], 7));
    }

    #[test]
    fn the_time_that_a_resumed_run_has_spent_is_that_of_all_operations() {
        let mut cell = Cell::new("", Point::default());
        for (pass, ops, ns) in
            [(Pass::Timing, 3, 100.0), (Pass::Timing, 1, f64::NAN), (Pass::Counting, 5, 1000.0)]
        {
            cell.push(Sample { pass, ops, ..sample(0, 1) }, &[(metric::WALL, ns)]);
        }
        assert_eq!(spent_ns(&run(vec![cell.clone(), cell])), 600);
    }

    #[test]
    fn a_session_that_was_interrupted_is_taken_again_whole() {
        check(&[], &[0, 1], None);
        check(&[(0, 30)], &[2, 1], Some(0));
        check(&[(0, 30), (2, 20)], &[4, 1], Some(2));
        check(&[(0, 30), (2, 100)], &[1], None);
        check(&[(0, 30), (2, 100), (1, 60)], &[3], Some(1));
        check(&[(0, 100), (1, 100)], &[], None);
    }
}
