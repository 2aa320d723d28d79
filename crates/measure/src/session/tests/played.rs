//! Whole runs of methods that are played: what the device delivers, what is shown, what is evicted.

use std::sync::{Arc, Mutex};

use analysis::stopping_decision;
use model::run::{Design, Plan, Run};

use super::*;
use crate::count::Sources;
use crate::experiment::{Execution, Experiment, Method};
use crate::launch::{CountedSample, CountingRunner, Launch, Stop, TracedRunner, TracedSample};
use crate::protocol::Done;
use crate::{MeasureJob, Record, RunProgress, measure, new_run};

/// Starts processes that are played: the function makes each sample, from its pass and the number
/// of its operations. Each process begins with a copy of the function.
#[derive(Clone)]
struct Played<F>(F);

impl<F: FnMut(Pass, u64) -> RawSample + Clone + Send + 'static> Launch for Played<F> {
    fn start(&mut self, _: &str, _: &Method, _: bool) -> Result<Box<dyn Runner>, RunError> {
        Ok(Box::new(self.clone()))
    }

    fn start_counting(
        &mut self,
        _: &str,
        _: &Method,
        _: &Sources,
        _: bool,
    ) -> Result<Box<dyn CountingRunner>, RunError> {
        Ok(Box::new(self.clone()))
    }

    fn start_traced(&mut self, _: &str, _: &Method) -> Result<Box<dyn TracedRunner>, RunError> {
        unreachable!("nothing is recorded")
    }
}

impl<F> Child for Played<F> {
    fn prepare(&mut self, _: &Point) -> Result<Ready, RunError> {
        Ok(Ready::default())
    }
}

impl<F: FnMut(Pass, u64) -> RawSample> Runner for Played<F> {
    fn go(&mut self, _: u64, ops: u64) -> Result<RawSample, RunError> {
        Ok((self.0)(Pass::Timing, ops))
    }

    fn has_died(&self) -> bool {
        false
    }
}

impl<F: FnMut(Pass, u64) -> RawSample + Send> CountingRunner for Played<F> {
    fn count(&mut self, _: u64, ops: u64) -> Result<CountedSample, RunError> {
        Ok(CountedSample { done: (self.0)(Pass::Counting, ops).done, ..CountedSample::default() })
    }

    fn trace(&mut self, _: u64, ops: u64, _: u64) -> Result<TracedSample, RunError> {
        let done = Done { ops, ..Done::default() };
        Ok(TracedSample { done, calls: Err("it is only played".to_owned()) })
    }
}

/// Starts processes of which each reads these numbers of bytes from the device, in its first
/// samples; none after that.
fn evicted(bytes: Vec<u64>) -> impl Launch {
    let mut bytes = bytes.into_iter();
    Played(move |_, ops| {
        let mut taken = RawSample::default();
        (taken.done.wall_ns, taken.done.ops, taken.done.bytes) = (1_000_000_000, ops, 8 * ops);
        taken.used[Counter::DeviceReadBytes] = Some(bytes.next().unwrap_or(0));
        taken
    })
}

/// What was shown before the rounds: each method, how many of how many were done before it, and the
/// number of samples until then.
#[derive(Default)]
struct Shown(Vec<(String, usize, usize, usize)>, Vec<ShortOf>);

/// The number of samples when the time was found to be too short, and the limit that would do.
type ShortOf = (usize, u64);

impl Record for Shown {
    fn begin(&mut self, _: &mut Run) -> Result<()> {
        Ok(())
    }
    fn progress(&mut self, run: &Run, progress: &RunProgress<'_>) {
        let samples = run.cells.iter().map(|cell| cell.samples.len()).sum();
        match progress {
            RunProgress::Preparing { method, done, of } => {
                self.0.push(((*method).to_owned(), *done, *of, samples));
            }
            RunProgress::Short { limit_ns, .. } => self.1.push((samples, *limit_ns)),
            _ => {}
        }
    }
}

/// The only cell of a run.
fn measured(launch: &mut dyn Launch, data: Data, plan: Plan) -> Cell {
    recorded(&["reads"], launch, data, plan, &mut Shown::default()).cells.remove(0)
}

fn recorded(
    names: &[&str],
    launch: &mut dyn Launch,
    data: Data,
    plan: Plan,
    record: &mut Shown,
) -> Run {
    let experiment = Experiment::empty("played");
    let method = |name: &&str| Method::contender(*name, "", Execution::worker(["true"]));
    let methods = names.iter().map(method).collect();
    let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
    let time_limit_ns = if plan.limits_all { plan.time_limit_ns } else { Plan::NO_TIME_LIMIT_NS };
    let plan = Plan { rounds: 1, warm_up: 1, time_limit_ns, ..plan };
    let mut run = new_run(&job, vec![Point::default()], plan, None);
    measure(&job, &mut run, &[data], launch, record, &Stop::default()).unwrap();
    run
}

/// The cell of three sessions of one round, warmed up once, whose processes read these bytes.
fn measured_while_evicted(bytes: &[u64]) -> Cell {
    let data = Data { payload_bytes: Some(8), ..Data::default() };
    let plan = Plan { sessions: 3, cache: CacheState::Warm, ..Plan::default() };
    measured(&mut evicted(bytes.to_vec()), data, plan)
}

#[test]
fn a_sample_whose_file_had_left_the_page_cache_is_taken_again() {
    let counts = |bytes: &[u64]| {
        let cell = measured_while_evicted(bytes);
        let timed = cell.samples.iter().filter(|sample| !sample.warm_up);
        let counts: Vec<(u32, bool)> = timed.map(|s| (s.session, s.counts())).collect();
        (counts, cell.status)
    };
    let each = |of_session: &[bool]| -> Vec<(u32, bool)> {
        (0..3).flat_map(|session| of_session.iter().map(move |counts| (session, *counts))).collect()
    };
    assert_eq!(counts(&[]), (each(&[true]), Status::Measured));
    // The first sample of a process warms up: it is not taken again.
    assert_eq!(counts(&[4096]), (each(&[true]), Status::Measured));
    assert_eq!(counts(&[0, 4096]), (each(&[false, true]), Status::Measured));
    assert_eq!(counts(&[0, 4096, 1]), (each(&[false, false, true]), Status::Measured));
    // What always reads from the device is no endless task.
    let (always, status) = counts(&[4096; 9]);
    assert_eq!(always, [(0, false); 3]);
    assert!(matches!(status, Status::Skipped(reason) if reason.contains("5 samples in a row")));
}

/// Each process prepares, and then the number of its operations is found: of the reference before
/// others prepare, so that its figures can be seen meanwhile.
#[test]
fn what_precedes_the_rounds_is_shown_in_the_first_session_only() {
    let mut shown = Shown::default();
    let plan = Plan { sessions: 3, ..Plan::default() };
    recorded(&["reads", "other"], &mut evicted(Vec::new()), Data::default(), plan, &mut shown);
    let step = |name: &str, done, samples| (name.to_owned(), done, 2, samples);
    let [reads, other] = [step("reads", 0, 0), step("other", 1, 1)];
    assert_eq!(shown.0, [reads.clone(), reads, other.clone(), other]);
}

/// Samples of a second each in a limit of half a second: nothing is repeated, and each method has
/// its figure.
#[test]
fn a_limit_that_is_too_short_leaves_each_method_one_sample() {
    let mut shown = Shown::default();
    let limit_ns = 500_000_000;
    let plan = Plan {
        sessions: 240,
        design: Design::Sequential,
        time_limit_ns: limit_ns,
        limits_all: true,
        counting: 5,
        ..Plan::default()
    };
    let names = ["a", "b", "c"];
    let run = recorded(&names, &mut evicted(Vec::new()), Data::default(), plan, &mut shown);
    assert!(run.complete);
    for cell in &run.cells {
        assert_eq!((cell.samples.len(), cell.n(Pass::Timing)), (1, 0), "{}", cell.method);
        assert_eq!(cell.estimate(), Some(0), "{}", cell.method);
    }
    let [(3, enough_ns)] = shown.1[..] else { panic!("{:?}", shown.1) };
    // Of the workers' six sessions each warms up.
    assert!(enough_ns > 36_000_000_000, "{enough_ns}");
    let notes: Vec<String> = run.notes.iter().map(ToString::to_string).collect();
    let note =
        "no verdict: in 0.5 s there was time for 0 of the 6 sessions that one takes; --time ";
    assert!(notes.iter().any(|text| text.starts_with(note)), "{notes:?}");
    // Nobody goes on with it, as it has all that its limit allows.
    assert_eq!(stopping_decision(&run).leaves, [false; 3]);
}

#[test]
fn a_doubt_about_the_data_is_noted_once() {
    let data = Data { notes: vec!["it is small".to_owned(); 2], ..Data::default() };
    let plan = Plan { sessions: 1, ..Plan::default() };
    let (mut launch, mut shown) = (evicted(Vec::new()), Shown::default());
    let run = recorded(&["reads"], &mut launch, data, plan, &mut shown);
    let doubts = run.notes.iter().filter(|note| note.to_string() == "it is small");
    assert_eq!(doubts.count(), 1, "{:?}", run.notes);
}

#[test]
fn the_file_is_evicted_before_each_sample_of_both_passes_of_a_cold_run_only() {
    // Beside the program: the directory for temporary files may be in memory.
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let directory = tempfile::tempdir_in(folder).or_else(|_| tempfile::tempdir()).unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, vec![7; 1 << 16]).unwrap();
    cache::evict(&file).unwrap();
    if cache::residency(&file).unwrap().cached > 0 {
        return;
    }
    let was_cached = |cache: CacheState| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (path, each) = (file.clone(), seen.clone());
        let mut launch = Played(move |pass, ops| {
            let is_cached = cache::residency(&path).unwrap().cached > 0;
            each.lock().unwrap().push((pass, is_cached));
            let bytes = std::fs::read(&path).unwrap().len() as u64;
            let done = Done { wall_ns: 1_000_000_000, ops, bytes, ..Done::default() };
            RawSample { done, ..RawSample::default() }
        });
        let data = Data { files: vec![file.clone()], ..Data::default() };
        let plan = Plan { sessions: 2, cache, counting: 2, ..Plan::default() };
        let cell = measured(&mut launch, data, plan);
        assert_eq!(cell.status, Status::Measured, "{cell:?}");
        std::mem::take(&mut *seen.lock().unwrap())
    };
    let both = |samples: &[(Pass, bool)], is_cached| {
        [Pass::Timing, Pass::Counting].map(|pass| samples.contains(&(pass, is_cached)))
    };
    assert_eq!(both(&was_cached(CacheState::Cold), true), [false; 2]);
    assert_eq!(both(&was_cached(CacheState::AsIs), true), [true; 2]);
}
