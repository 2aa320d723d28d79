//! Measures the methods of an experiment, whichever it is. Each round measures every method once,
//! in a new random order, and appends every sample to the run; a run that was interrupted is
//! resumed by whole sessions. What is read from the machine is here as well: the clock, counters of
//! processes, the state of the page cache, the environment.

pub mod cache;
pub mod clock;
mod context;
pub mod count;
pub mod counters;
mod counting;
pub mod environment;
pub mod experiment;
pub mod launch;
pub mod phases;
pub mod proc_fs;
pub mod profile;
pub mod protocol;
mod schedule;
mod session;
pub mod stop;
pub mod timeline;
mod values;
pub mod worker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use analysis::{choose_measures, is_look, stopping_decision};
use anyhow::{Result, bail};
use model::metric;
use model::param::Point;
use model::run::{
    CacheState, Cell, Design, INTERRUPTED, Pass, Plan, Role, Run, SCHEMA, Sample, Status, Warning,
};

pub use self::context::{Interrupted, order, reason};
pub(crate) use self::context::{MeasureContext, unless_stopped};
pub use self::context::{MeasureJob, Record, RunProgress};
use self::schedule::Schedule;
pub use self::schedule::limit::at_most_ns;
use self::schedule::limit::{announce_longer, announce_short, note_short_time};
use self::session::{RunningMethod, Session};
pub use self::values::values;
use crate::environment::{Noise, Shares};
use crate::experiment::{Data, Experiment, Method};
use crate::launch::{Launch, Stop};

/// Creates or inspects the data of each point and brings it into the requested cache state where
/// that state lasts. Values that are known only from the data, such as the size of a given file,
/// replace the points' values. `placed` may put the data elsewhere, which no point shows. If the
/// data of no point fits into memory, that is an error; if only the data of some points does not
/// fit, these points are skipped.
pub fn prepare_data(
    experiment: &Experiment,
    points: &mut Vec<Point>,
    data_dir: &Path,
    cache: CacheState,
    placed: &dyn Fn(Data) -> Result<Data>,
    stop: &Stop,
) -> Result<Vec<Data>> {
    let mut all: Vec<Data> = Vec::new();
    let mut known: Vec<Point> = Vec::new();
    for mut point in std::mem::take(points) {
        let mut data = (experiment.data)(&point, data_dir, stop)?;
        for (name, value) in data.arguments.iter() {
            if point.get(name).is_some() {
                point.set(name, value.clone());
            }
        }
        if known.contains(&point) {
            continue;
        }
        data = placed(data)?;
        if cache == CacheState::Warm {
            data.unfit = warm(&data.files, stop)?;
            if data.unfit.is_some() {
                // No method will read them.
                data.files.clear();
            }
        }
        known.push(point);
        all.push(data);
    }
    let unfit: Vec<&String> = all.iter().filter_map(|data| data.unfit.as_ref()).collect();
    if let (Some(reason), true) = (unfit.first(), unfit.len() == all.len()) {
        bail!("{reason}");
    }
    *points = known;
    Ok(all)
}

/// Reads the files into memory, or returns the reason why they cannot be kept there.
fn warm(files: &[PathBuf], stop: &Stop) -> Result<Option<String>> {
    for file in files {
        if let Some(reason) = cache::unfit(file)? {
            return Ok(Some(reason));
        }
        cache::fill(file, stop)?;
    }
    Ok(None)
}

/// A run with its cells: one per method and combination of the values that it reads.
pub fn new_run(job: &MeasureJob<'_>, points: Vec<Point>, plan: Plan, label: Option<String>) -> Run {
    let mut cells: Vec<Cell> = Vec::new();
    // In the order of the methods, so that the first cell of every point is that of the reference.
    for method in &job.methods {
        for point in &points {
            if !method.competes_at(point) {
                continue;
            }
            let point = point.only(|name| method.reads.contains(&name));
            if !cells.iter().any(|cell| cell.method == method.name && cell.point == point) {
                cells.push(new_cell(method, point));
            }
        }
    }
    Run {
        schema: SCHEMA,
        experiment: job.experiment.name.to_owned(),
        question: job.experiment.question.to_owned(),
        label,
        started: clock::utc_rfc3339(),
        plan: Plan { measures: Vec::new(), looked_at: 0, ..in_units(job, plan) },
        points,
        cells,
        ..Run::default()
    }
}

/// The session is the unit of all comparisons. Where every sample of a method is a process of its
/// own, a round of it is equivalent to a session, so that all methods have as many units as there
/// are rounds.
fn in_units(job: &MeasureJob<'_>, plan: Plan) -> Plan {
    let mut compared = job.methods.iter().filter(|method| method.role == Role::Contender);
    if compared.any(|method| is_process_per_sample(method, &plan)) {
        let sessions = match plan.design {
            Design::Fixed => plan.sessions.max(1).saturating_mul(plan.rounds),
            // After the last look nothing changes.
            Design::Sequential => plan.sessions,
        };
        Plan { sessions, rounds: 1, ..plan }
    } else {
        plan
    }
}

/// Whether no state of the method survives from one sample to the next.
fn is_process_per_sample(method: &Method, plan: &Plan) -> bool {
    plan.fresh || method.execution.is_command()
}

fn new_cell(method: &Method, point: Point) -> Cell {
    let new = Cell::new(&method.name, point);
    Cell { about: method.about.clone(), role: method.role, ..new }
}

/// Measures what the plan requires and the run does not have yet. The failure of a method becomes
/// the status of its cell; an error comes from the data, the record or the caller.
pub fn measure(
    job: &MeasureJob<'_>,
    run: &mut Run,
    data: &[Data],
    launch: &mut dyn Launch,
    record: &mut dyn Record,
    stop: &Stop,
) -> Result<()> {
    let (sessions, interrupted) = sessions_left(run);
    look_at_the_machine(run, data);
    note_doubts(run, data);
    if run.id.is_empty() {
        record.begin(run)?;
    }
    if let Some(session) = interrupted {
        discard_session(run, session, record)?;
    }
    let noise = Noise::start();
    let process_per_sample = run.cells.iter().map(|cell| {
        let mut methods = job.methods.iter();
        let method = methods.find(|method| method.name == cell.method);
        method.is_some_and(|method| is_process_per_sample(method, &run.plan))
    });
    let spent_ns = spent_ns(run);
    let schedule =
        Schedule::new(&run.plan, sessions.len() as u32, process_per_sample.collect(), spent_ns);
    let mut schedule = schedule.with_least(job.least_sessions);
    let ends_ns = clock::now_ns().saturating_add(schedule.budget.at_most_ns);
    let mut running: Vec<Option<RunningMethod>> = run.cells.iter().map(|_| None).collect();
    let mut context = MeasureContext { job, run, data, launch, record, stop };
    let (mut finished, mut has_time) = (true, true);
    // Of a resumed run, the methods that had left are found again from its samples.
    let is_resumed = sessions.len() < context.run.plan.sessions as usize;
    let mut is_decided =
        is_resumed && is_enough(context.run) && look(&mut context, &mut schedule, &mut running)?;
    for number in sessions {
        has_time = !is_decided && schedule.begins_session(clock::now_ns());
        if !has_time {
            break;
        }
        announce_longer(&mut context, &mut schedule);
        announce_short(&mut context, &mut schedule);
        let (running, schedule) = (&mut running, &mut schedule);
        let session = Session { context: &mut context, number, running, schedule, noise: &noise };
        finished = unless_stopped(session.run())?.is_some();
        if !finished {
            if number > 0 {
                discard_session(context.run, number, context.record)?;
            }
            break;
        }
        // What goes through all samples would take longer with each session.
        if context.run.plan.measures.is_empty() && is_enough(context.run) {
            keep_measures(context.run, context.record)?;
        }
        if !context.run.plan.design.is_fixed() && is_look(context.run) {
            add_shares(context.run, &noise.finish());
            is_decided = look(&mut context, schedule, running)?;
        }
    }
    if finished {
        keep_measures(context.run, context.record)?;
    }
    for running in running.iter_mut().flatten() {
        running.bye();
    }
    if finished && !has_time && !is_decided {
        note_short_time(context.run, &schedule);
    }
    add_facts(context.run, &noise.finish(), std::mem::take(&mut schedule.budget.between_ns));
    if finished {
        finished = unless_stopped(counting::pass(
            &mut context,
            &schedule,
            ends_ns.saturating_add(schedule.budget.past_limit_ns()),
        ))?
        .is_some();
    }
    context.run.complete = finished;
    context.record.finish(context.run)
}

/// Adds the load of the machine during the rounds, by which waits are judged that are not known.
fn add_shares(run: &mut Run, shares: &Shares) {
    let facts = &mut run.environment.facts;
    facts.insert("steal_share".to_owned(), shares.steal_share.into());
    facts.insert("busy_share_of_others".to_owned(), shares.busy_share_of_others.into());
    facts.insert("cgroup_throttled_share".to_owned(), shares.cgroup_throttled_share.into());
}

/// The same, and the time that the lab needed between samples.
fn add_facts(run: &mut Run, shares: &Shares, mut between_ns: Vec<u64>) {
    add_shares(run, shares);
    let facts = &mut run.environment.facts;
    between_ns.sort_unstable();
    if let Some(median_ns) = between_ns.get(between_ns.len() / 2) {
        facts.insert("between_samples_ns".to_owned(), (*median_ns).into());
    }
}

/// In a sequential design, drops the methods that have a verdict. Returns whether the run may end.
fn look(
    context: &mut MeasureContext<'_>,
    schedule: &mut Schedule,
    running: &mut [Option<RunningMethod>],
) -> Result<bool> {
    if context.run.plan.design.is_fixed() {
        return Ok(false);
    }
    keep_measures(context.run, context.record)?;
    // Stores the look before methods are dropped, so that a resumed run repeats it from the same
    // sessions.
    context.run.plan.looked_at = sessions_had(context.run, Sample::counts);
    context.record.plan_changed(context.run)?;
    let decided = stopping_decision(context.run);
    let is_least = context.run.plan.looked_at >= context.job.least_sessions;
    if is_least {
        schedule.roster.leave(&decided.leaves);
    }
    for (cell, running) in running.iter_mut().enumerate() {
        if schedule.roster.has_left(cell)
            && let Some(mut running) = running.take()
        {
            running.bye();
        }
    }
    let looked = RunProgress::Looked { decided: &decided, left: schedule.roster.left() };
    context.record.progress(context.run, &looked);
    Ok(decided.all && is_least)
}

/// Chooses the deciding measure once, before any ratio is computed, so that no ratio can influence
/// the choice.
fn keep_measures(run: &mut Run, record: &mut dyn Record) -> Result<()> {
    if !run.plan.measures.is_empty() {
        return Ok(());
    }
    run.plan.measures = choose_measures(run);
    record.plan_changed(run)
}

/// Whether there are enough samples to choose the deciding measure: each method's samples of one
/// session, or of five where a session is one round.
fn is_enough(run: &Run) -> bool {
    let needed = if run.plan.rounds > 1 { 1 } else { run.plan.sessions.min(5) };
    let mut measured = run.cells.iter().filter(|cell| cell.status == Status::Measured);
    measured.all(|cell| cell.counted("wall_ns").count() >= needed as usize)
}

fn look_at_the_machine(run: &mut Run, data: &[Data]) {
    let places = data.iter().filter_map(|data| data.directory.as_ref().or(data.files.first()));
    let places = environment::places(places);
    let mut environment = environment::capture(places.first().copied());
    for (n, place) in places.iter().enumerate().skip(1) {
        environment.facts.extend(environment::of_place(place, n + 1));
    }
    if let Some(file) = data.iter().flat_map(|data| &data.files).next() {
        let share = match cache::folio_share(file) {
            Ok(share) => share.into(),
            Err(reason) => format!("unknown: {reason:#}").into(),
        };
        environment.facts.insert("data_file_large_folio_share".to_owned(), share);
    }
    if run.id.is_empty() {
        run.environment = environment;
    } else if run.environment.fingerprint != environment.fingerprint {
        run.notes.push(Warning::noted(
            "the run was resumed on a machine or system that has changed: do not trust \
             differences between its sessions",
        ));
    }
}

/// Adds the doubts about the data to the notes, each once.
fn note_doubts(run: &mut Run, data: &[Data]) {
    for text in data.iter().flat_map(|data| &data.notes) {
        let warning = Warning::noted(text);
        if !run.notes.contains(&warning) {
            run.notes.push(warning);
        }
    }
}

// Resuming an interrupted run: which sessions it still needs.

/// The sessions of the plan that the run does not have yet, and the interrupted one, if any, which
/// is repeated as a whole. The repeated session has new processes and therefore a number of its
/// own: the number of the interrupted session plus a multiple of the number of sessions.
fn sessions_left(run: &Run) -> (Vec<u32>, Option<u32>) {
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
fn sessions_had(run: &Run, is_one: impl Fn(&Sample) -> bool) -> u32 {
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

/// The approximate time of the samples that a resumed run already has.
fn spent_ns(run: &Run) -> u64 {
    let spent = |cell: &Cell| {
        let samples = cell.samples.iter().zip(cell.column(metric::WALL).iter());
        let timed = samples.filter(|(sample, ns)| sample.pass == Pass::Timing && **ns > 0.0);
        timed.map(|(sample, ns)| ns * sample.ops as f64).sum::<f64>()
    };
    run.cells.iter().map(spent).sum::<f64>() as u64
}

/// Marks the samples of an interrupted session as not counted, because intervals are computed from
/// whole sessions.
fn discard_session(run: &mut Run, session: u32, record: &mut dyn Record) -> Result<()> {
    for sample in run.cells.iter_mut().flat_map(|cell| &mut cell.samples) {
        if sample.pass == Pass::Timing && sample.session == session {
            sample.not_counted.get_or_insert_with(|| INTERRUPTED.into());
        }
    }
    record.discard_session(run, session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::param::Point;
    use model::run::{CacheState, Plan, SCHEMA};

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
            let failed = Sample { not_counted: Some("not warm".into()), ..sample(0, again) };
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
