//! The rounds: every method once per round in a fresh random order, sample by sample into the run.

mod counting;
mod course;
mod order;
mod session;
mod tracing;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use self::course::Course;
pub use self::course::at_most_ns;
use self::session::Session;
pub(crate) use self::tracing::JOB_START;
pub use self::tracing::trace;
use crate::cache;
use crate::clock;
use crate::environment::{self, Noise};
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
    fn progress(&mut self, progress: &Progress<'_>);
    /// The environment, the notes and `complete` are final.
    fn finish(&mut self, run: &Run) -> Result<()>;
}

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
        plan: Plan { metric_versions: metric::versions(), ..plan },
        points,
        cells,
        notes: Vec::new(),
    }
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
    let sessions = rounds_left(run);
    look_at_the_machine(run, data);
    note_doubts(run, data);
    if run.id.is_empty() {
        record.begin(run)?;
    }
    let noise = Noise::start();
    let ends_ns = clock::now_ns().saturating_add(at_most_ns(&run.plan));
    let rounds = sessions.iter().map(|(_, rounds)| rounds).sum();
    let mut course = Course::new(&run.plan, sessions.len() as u32, rounds, run.cells.len());
    let mut finished = true;
    for (number, rounds) in sessions {
        if !course.begins_session(clock::now_ns()) {
            break;
        }
        let live = run.cells.iter().map(|_| None).collect();
        let session = Session {
            job,
            run: &mut *run,
            data,
            launch: &mut *launch,
            record: &mut *record,
            stop,
            number,
            rounds,
            live,
            course: &mut course,
        };
        finished = session.run()?;
        if !finished {
            break;
        }
    }
    let mut between_ns = course.between_ns;
    let facts = &mut run.environment.facts;
    facts.insert("steal_share".to_owned(), noise.finish().steal_share.into());
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

/// All sessions of the plan and their rounds; for a run that was stopped, the rest of its last session
/// and those after it. The rest of a session has new processes and so a number of its own:
/// that of its session plus a multiple of the number of sessions.
fn rounds_left(run: &Run) -> Vec<(u32, u32)> {
    let plan = &run.plan;
    let planned = plan.sessions.max(1);
    let of_pass = |pass| {
        let all = run.cells.iter().flat_map(|cell| &cell.samples);
        all.filter(move |sample| sample.pass == pass)
    };
    // They come after all others, also where the time limit has ended the rounds.
    if of_pass(Pass::Counting).next().is_some() {
        return Vec::new();
    }
    let samples = || of_pass(Pass::Timing);
    let whole = |number| (number, plan.rounds);
    let Some(last) = samples().map(|sample| sample.session % planned).max() else {
        return (0..planned).map(whole).collect();
    };
    let processes: BTreeSet<u32> =
        samples().map(|sample| sample.session).filter(|number| number % planned == last).collect();
    // A round that was begun and not ended is taken again.
    let rounds = |number: &u32| {
        let measured = run.cells.iter().filter(|cell| cell.status == Status::Measured);
        let ended = |cell: &Cell| {
            let of_session = |s: &&Sample| s.pass == Pass::Timing && s.session == *number;
            let counted = cell.samples.iter().filter(of_session).filter(|s| !s.warm_up);
            let rounds = counted.map(|s| (s.round + 1).saturating_sub(plan.warm_up));
            (rounds.clone().max().unwrap_or_default(), rounds.count() as u32)
        };
        let ended: Vec<(u32, u32)> = measured.map(ended).collect();
        let most = ended.iter().map(|(_, n)| *n).max().unwrap_or_default();
        // A slow cell takes part in some rounds only.
        let of_all = ended.iter().filter(|(_, n)| (n + 1) * 2 > most);
        of_all.map(|(last, _)| *last).min().unwrap_or_default()
    };
    let left = plan.rounds.saturating_sub(processes.iter().map(rounds).sum());
    let number = processes.last().map_or(last, |number| number + planned);
    let rest = (left > 0).then_some((number, left));
    rest.into_iter().chain((last + 1..planned).map(whole)).collect()
}

fn look_at_the_machine(run: &mut Run, data: &[Data]) {
    let file = data.iter().flat_map(|data| &data.files).next();
    let mut environment = environment::capture(file.map(PathBuf::as_path));
    if let Some(file) = file {
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

    /// A run of 2 sessions of 100 rounds that took so many rounds in each set of processes.
    fn check(taken: &[(u32, u32)], expected: &[(u32, u32)]) {
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
        assert_eq!(rounds_left(&run), expected, "{taken:?}");
    }

    #[test]
    fn what_is_left_of_a_run_is_what_the_plan_asks_less_what_was_taken() {
        check(&[], &[(0, 100), (1, 100)]);
        check(&[(0, 30)], &[(2, 70), (1, 100)]);
        check(&[(0, 30), (2, 20)], &[(4, 50), (1, 100)]);
        check(&[(0, 30), (2, 70)], &[(1, 100)]);
        check(&[(0, 30), (2, 70), (1, 60)], &[(3, 40)]);
        check(&[(0, 100), (1, 100)], &[]);
    }
}
