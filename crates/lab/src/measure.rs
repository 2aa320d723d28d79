//! The rounds: every method once per round in a fresh random order, sample by sample into the run.

mod counting;
mod course;
mod order;
mod session;
mod tracing;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use self::course::Course;
pub use self::course::at_most_ns;
use self::session::{Live, Session};
pub(crate) use self::tracing::JOB_START;
pub use self::tracing::trace;
use crate::analyze::choose_measures;
use crate::cache;
use crate::clock;
use crate::environment::{self, Noise, Shares};
use crate::experiment::{Data, Experiment, How, Method};
use crate::launch::{Launch, Stop};
use crate::metric;
use crate::param::Point;
use crate::run::{
    CacheState, Cell, Environment, Note, Pass, Plan, Role, Run, SCHEMA, Sample, Status,
};

/// What is to be measured, and with what.
pub struct Job<'a> {
    pub experiment: &'a Experiment,
    /// Those of the experiment that were chosen, and the user's own; the first is the reference.
    pub methods: Vec<Method>,
}

/// Sees the run grow: the store, and the progress line.
pub trait Record {
    /// The run has its cells and no samples yet; gives it its id.
    fn begin(&mut self, run: &mut Run) -> Result<()>;
    /// A cell's status, language or digest is new.
    fn cell(&mut self, run: &Run, cell: usize) -> Result<()>;
    /// The cell has a new last sample.
    fn sample(&mut self, run: &Run, cell: usize) -> Result<()>;
    /// The session was interrupted: its samples, which are in the run, do not count any more.
    fn set_aside(&mut self, run: &Run, session: u32) -> Result<()>;
    /// The plan has changed: what decides is chosen.
    fn planned(&mut self, _run: &Run) -> Result<()> {
        Ok(())
    }
    fn progress(&mut self, progress: &Progress<'_>);
    /// The environment, the notes and `complete` are final.
    fn finish(&mut self, run: &Run) -> Result<()>;
}

/// Why the samples of a session that a signal or a crash ended do not count.
pub const INTERRUPTED: &str = "its session was interrupted";

/// Where the measurement stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress<'a> {
    Preparing {
        method: &'a str,
        done: usize,
        of: usize,
    },
    /// Of all sessions together.
    Round {
        round: u32,
        /// As many as there are at most.
        rounds: u32,
        spent_ns: u64,
        /// Of the rounds; none before the first one has been taken.
        left_ns: Option<u64>,
    },
    Counting {
        round: u32,
        rounds: u32,
    },
    Tracing {
        method: &'a str,
        done: usize,
        of: usize,
    },
}

/// Makes or looks at the data of each point, and brings it into the asked cache state where that
/// lasts. What only the data tells, such as the size of a given file, replaces the points' values. Where
/// the data of no point fits into memory that is an error; of some points, these are skipped.
pub fn prepare_data(
    experiment: &Experiment,
    points: &mut Vec<Point>,
    data_dir: &Path,
    cache: CacheState,
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
        if cache == CacheState::Warm {
            data.unfit = warm(&data.files, stop)?;
            if data.unfit.is_some() {
                // Nobody will read them.
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

/// Reads the files into memory, or tells why they cannot be kept there.
fn warm(files: &[PathBuf], stop: &Stop) -> Result<Option<String>> {
    for file in files {
        if let Some(reason) = cache::unfit(file)? {
            return Ok(Some(reason));
        }
        cache::fill(file, stop)?;
    }
    Ok(None)
}

/// A run that has its cells, one per method and combination of the values that it reads.
pub fn new_run(job: &Job<'_>, points: Vec<Point>, plan: Plan, label: Option<String>) -> Run {
    let mut cells: Vec<Cell> = Vec::new();
    // In the order of the methods: the first cell of every point is then that of the reference.
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
        id: String::new(),
        experiment: job.experiment.name.to_owned(),
        question: job.experiment.question.to_owned(),
        label,
        started: clock::utc_rfc3339(),
        complete: false,
        environment: Environment::default(),
        plan: Plan {
            metric_versions: metric::versions(),
            measures: Vec::new(),
            ..in_units(job, plan)
        },
        points,
        cells,
        notes: Vec::new(),
    }
}

/// The session is the unit of all comparisons. Where every sample of a method is a process of its own, a round
/// of it is as good as a session, so that all methods have as many units as there are rounds.
fn in_units(job: &Job<'_>, plan: Plan) -> Plan {
    let mut compared = job.methods.iter().filter(|method| method.role == Role::Contender);
    if compared.any(|method| is_process_a_sample(method, &plan)) {
        Plan { sessions: plan.sessions.max(1).saturating_mul(plan.rounds), rounds: 1, ..plan }
    } else {
        plan
    }
}

/// Whether nothing of the method lives from one sample to the next.
fn is_process_a_sample(method: &Method, plan: &Plan) -> bool {
    plan.fresh || method.how.is_command()
}

fn new_cell(method: &Method, point: Point) -> Cell {
    let new = Cell::new(&method.name, point);
    Cell { about: method.about.clone(), role: method.role, ..new }
}

/// Measures what the plan asks and the run does not have yet. What goes wrong with a method is its
/// cell's status; an error is one of the data, of the record or of the caller.
pub fn measure(
    job: &Job<'_>,
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
        set_aside(run, session, record)?;
    }
    let noise = Noise::start();
    let ends_ns = clock::now_ns().saturating_add(at_most_ns(&run.plan));
    let stays = run.cells.iter().map(|cell| {
        let mut methods = job.methods.iter();
        let method = methods.find(|method| method.name == cell.method);
        method.is_some_and(|method| is_process_a_sample(method, &run.plan))
    });
    let mut course = Course::new(&run.plan, sessions.len() as u32, stays.collect());
    let mut live: Vec<Option<Live>> = run.cells.iter().map(|_| None).collect();
    let mut finished = true;
    for number in sessions {
        if !course.begins_session(clock::now_ns()) {
            break;
        }
        let session = Session {
            job,
            run: &mut *run,
            data,
            launch: &mut *launch,
            record: &mut *record,
            stop,
            number,
            live: &mut live,
            course: &mut course,
        };
        finished = session.run()?;
        if !finished {
            if number > 0 {
                set_aside(run, number, record)?;
            }
            break;
        }
        if is_enough(run) {
            keep_measures(run, record)?;
        }
    }
    if finished {
        keep_measures(run, record)?;
    }
    for live in live.iter_mut().flatten() {
        live.bye();
    }
    let mut between_ns = course.between_ns;
    let facts = &mut run.environment.facts;
    let Shares { steal_share, busy_share_of_others } = noise.finish();
    facts.insert("steal_share".to_owned(), steal_share.into());
    facts.insert("busy_share_of_others".to_owned(), busy_share_of_others.into());
    between_ns.sort_unstable();
    if let Some(median_ns) = between_ns.get(between_ns.len() / 2) {
        facts.insert("between_samples_ns".to_owned(), (*median_ns).into());
    }
    if finished {
        finished = counting::pass(job, run, data, launch, record, stop, ends_ns)?;
    }
    run.complete = finished;
    record.finish(run)
}

/// The sessions of the plan that the run does not have yet, and the one that was interrupted, if there is one:
/// it is taken again, whole. That has new processes and so a number of its own: that of its session plus a
/// multiple of the number of sessions.
fn sessions_left(run: &Run) -> (Vec<u32>, Option<u32>) {
    let planned = run.plan.sessions.max(1);
    let of_pass = |pass| {
        let all = run.cells.iter().flat_map(|cell| &cell.samples);
        all.filter(move |sample| sample.pass == pass)
    };
    // They come after all others, also where the time limit has ended the rounds.
    if of_pass(Pass::Counting).next().is_some() {
        return (Vec::new(), None);
    }
    let numbers = || of_pass(Pass::Timing).map(|sample| sample.session);
    let Some(last) = numbers().map(|number| number % planned).max() else {
        return ((0..planned).collect(), None);
    };
    let later = last + 1..planned;
    let number = numbers().filter(|number| number % planned == last).max().unwrap_or(last);
    if is_whole(run, number) {
        return (later.collect(), None);
    }
    let again = number.saturating_add(planned);
    (std::iter::once(again).chain(later).collect(), Some(number))
}

/// Chooses what decides, once: before any ratio is looked at, so that none of them can choose it.
fn keep_measures(run: &mut Run, record: &mut dyn Record) -> Result<()> {
    if !run.plan.measures.is_empty() {
        return Ok(());
    }
    run.plan.measures = choose_measures(run);
    record.planned(run)
}

/// Whether what decides can be chosen: by each method's samples of a session, or, where a session is one round,
/// of five.
fn is_enough(run: &Run) -> bool {
    let needed = if run.plan.rounds > 1 { 1 } else { run.plan.sessions.min(5) };
    let mut measured = run.cells.iter().filter(|cell| cell.status == Status::Measured);
    measured.all(|cell| cell.counted("wall_ns").count() >= needed as usize)
}

/// Whether each method took all rounds of this session, a slow one its only one.
fn is_whole(run: &Run, session: u32) -> bool {
    let measured = run.cells.iter().filter(|cell| cell.status == Status::Measured);
    let taken = measured.map(|cell| {
        let of_session = |s: &&Sample| s.pass == Pass::Timing && s.session == session;
        cell.samples.iter().filter(of_session).filter(|s| !s.warm_up).count() as u32
    });
    let taken: Vec<u32> = taken.collect();
    let most = taken.iter().copied().max().unwrap_or_default();
    let aside = |sample: &Sample| {
        sample.session == session && sample.not_counted.as_deref() == Some(INTERRUPTED)
    };
    if run.cells.iter().flat_map(|cell| &cell.samples).any(aside) {
        return false;
    }
    // A slow cell takes part in one round, or in none.
    most >= run.plan.rounds && taken.iter().all(|n| *n == most || most > 1 && *n < 2)
}

/// Marks the samples of an interrupted session: a part of a session is no unit.
fn set_aside(run: &mut Run, session: u32, record: &mut dyn Record) -> Result<()> {
    for sample in run.cells.iter_mut().flat_map(|cell| &mut cell.samples) {
        if sample.pass == Pass::Timing && sample.session == session {
            sample.not_counted.get_or_insert_with(|| INTERRUPTED.to_owned());
        }
    }
    record.set_aside(run, session)
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
        run.notes.push(Note {
            method: None,
            point: None,
            text: "the run was resumed on a machine or system that is not as it was: do not trust \
                   differences between its sessions"
                .to_owned(),
        });
    }
}

/// What a method gets to know of its point.
fn arguments(job: &Job<'_>, data: &Data, method: &Method) -> Point {
    let declared = |name: &str| job.experiment.params.iter().any(|param| param.name == name);
    let told = |name: &str| method.reads.contains(&name) || !declared(name) || name == "file";
    let of_old = data.old_arguments.as_ref().filter(|_| matches!(method.how, How::Old { .. }));
    of_old.unwrap_or(&data.arguments).only(told)
}

/// The doubts about the data, each once.
fn note_doubts(run: &mut Run, data: &[Data]) {
    for text in data.iter().flat_map(|data| &data.notes) {
        if !run.notes.iter().any(|note| note.text == *text) {
            run.notes.push(Note { method: None, point: None, text: text.clone() });
        }
    }
}

/// Why a metric is missing: of one method, or of all. It is said once.
fn note_missing(run: &mut Run, method: Option<&str>, metric: &str, why: &str) {
    let about = format!("{metric}: ");
    let known = |n: &Note| n.method.as_deref() == method && n.text.starts_with(&about);
    if !run.notes.iter().any(known) {
        let method = method.map(str::to_owned);
        run.notes.push(Note { method, point: None, text: about + why });
    }
}

/// By cell, whether it is one of the reference.
fn are_of_reference(job: &Job<'_>, run: &Run) -> Vec<bool> {
    let reference = job.methods.first().map(|method| method.name.as_str());
    run.cells.iter().map(|cell| Some(cell.method.as_str()) == reference).collect()
}

/// The first full point that holds the cell's values.
fn point_of(run: &Run, cell: &Cell) -> usize {
    run.points.iter().position(|point| cell.point.is_part_of(point)).unwrap_or_default()
}

/// Whether a method's payload can be wrong: a yardstick may hand over nothing.
fn must_hand_over_all(cell: &Cell) -> bool {
    cell.role == Role::Contender
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 2 sessions of 100 rounds that took so many in each set of processes: what is left, and which
    /// session was interrupted.
    fn check(taken: &[(u32, u32)], left: &[u32], interrupted: Option<u32>) {
        let plan = Plan {
            rounds: 100,
            time_limit_ns: 1000,
            warm_up: 1,
            sessions: 2,
            seed: 1,
            cache: CacheState::AsIs,
            sample_limit_ns: 1,
            data_dir: None,
            counting: 0,
            fresh: false,
            definition: None,
            metric_versions: std::collections::BTreeMap::new(),
            measures: Vec::new(),
            imported: None,
        };
        let sample = |session, round| crate::run::Sample {
            pass: Pass::Timing,
            session,
            round,
            slot: 0,
            warm_up: round == 0,
            not_counted: None,
            ops: 1,
            bytes: 0,
            answer: None,
        };
        let samples =
            taken.iter().flat_map(|(session, n)| (0..=*n).map(|round| sample(*session, round)));
        let cell = Cell { samples: samples.collect(), ..Cell::new("", Point::default()) };
        let run = Run {
            schema: SCHEMA,
            id: String::new(),
            experiment: String::new(),
            question: String::new(),
            label: None,
            started: String::new(),
            complete: false,
            environment: Environment::default(),
            plan,
            points: Vec::new(),
            cells: vec![cell],
            notes: Vec::new(),
        };
        assert_eq!(sessions_left(&run), (left.to_vec(), interrupted), "{taken:?}");
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
