//! Whole runs of methods that are played: what the device delivers, what is shown, what is evicted.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::*;
use crate::count::Sources;
use crate::experiment::{Experiment, How, Method};
use crate::launch::{Counted, CountingRunner, Launch, Stop, Traced, TracedRunner};
use crate::measure::{Job, Progress, Record, measure, new_run};
use crate::protocol::Done;
use crate::run::{Plan, Run};

/// Starts processes of which each reads these numbers of bytes from the device, in its first
/// samples; none after that.
struct Evicted(Vec<u64>);

struct Reads {
    bytes: Vec<u64>,
    n: usize,
}

impl Launch for Evicted {
    fn start(&mut self, _: &str, _: &Method, _: bool) -> Result<Box<dyn Runner>, RunError> {
        Ok(Box::new(Reads { bytes: self.0.clone(), n: 0 }))
    }

    fn start_counting(
        &mut self,
        _: &str,
        _: &Method,
        _: &Sources,
        _: bool,
    ) -> Result<Box<dyn CountingRunner>, RunError> {
        unreachable!("nothing is counted")
    }

    fn start_traced(&mut self, _: &str, _: &Method) -> Result<Box<dyn TracedRunner>, RunError> {
        unreachable!("nothing is traced")
    }
}

impl Child for Reads {
    fn prepare(&mut self, _: &Point) -> Result<Ready, RunError> {
        Ok(Ready::default())
    }
}

impl Runner for Reads {
    fn go(&mut self, _: u64, ops: u64) -> Result<RawSample, RunError> {
        let mut taken = RawSample::default();
        (taken.done.wall_ns, taken.done.ops, taken.done.bytes) = (1_000_000_000, ops, 8 * ops);
        taken.used.device_read_bytes = Some(self.bytes.get(self.n).copied().unwrap_or(0));
        self.n += 1;
        Ok(taken)
    }

    fn has_died(&self) -> bool {
        false
    }
}

/// What was shown before the rounds: each method, how many of how many were done before it, and the
/// number of samples until then.
#[derive(Default)]
struct Shown(Vec<(String, usize, usize, usize)>);

impl Record for Shown {
    fn begin(&mut self, _: &mut Run) -> Result<()> {
        Ok(())
    }
    fn cell(&mut self, _: &Run, _: usize) -> Result<()> {
        Ok(())
    }
    fn sample(&mut self, _: &Run, _: usize) -> Result<()> {
        Ok(())
    }
    fn set_aside(&mut self, _: &Run, _: u32) -> Result<()> {
        Ok(())
    }
    fn progress(&mut self, run: &Run, progress: &Progress<'_>) {
        if let Progress::Preparing { method, done, of } = progress {
            let samples = run.cells.iter().map(|cell| cell.samples.len()).sum();
            self.0.push(((*method).to_owned(), *done, *of, samples));
        }
    }
    fn finish(&mut self, _: &Run) -> Result<()> {
        Ok(())
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
    let experiment = Experiment {
        name: "played",
        question: "",
        readme: "",
        params: Vec::new(),
        methods: Vec::new(),
        dir: None,
        data: Box::new(|_, _, _| Ok(Data::default())),
    };
    let method = |name: &&str| Method::contender(*name, "", How::worker(["true"]));
    let methods = names.iter().map(method).collect();
    let job = Job { experiment: &experiment, methods, least_sessions: 0 };
    let time_limit_ns = Plan::NO_TIME_LIMIT_NS;
    let plan = Plan { rounds: 1, warm_up: 1, time_limit_ns, ..plan };
    let mut run = new_run(&job, vec![Point::default()], plan, None);
    measure(&job, &mut run, &[data], launch, record, &Stop::default()).unwrap();
    run
}

/// The cell of three sessions of one round, warmed up once, whose processes read these bytes.
fn measured_while_evicted(bytes: &[u64]) -> Cell {
    let data = Data { payload_bytes: Some(8), ..Data::default() };
    let plan = Plan { sessions: 3, cache: CacheState::Warm, ..Plan::default() };
    measured(&mut Evicted(bytes.to_vec()), data, plan)
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
    let launch = &mut Evicted(Vec::new());
    recorded(&["reads", "other"], launch, Data::default(), plan, &mut shown);
    let step = |name: &str, done, samples| (name.to_owned(), done, 2, samples);
    let [reads, other] = [step("reads", 0, 0), step("other", 1, 1)];
    assert_eq!(shown.0, [reads.clone(), reads, other.clone(), other]);
}

/// A method that reads a file, and its samples of each pass before which the file was cached.
#[derive(Clone)]
struct ReadsFile {
    file: PathBuf,
    was_cached: Arc<Mutex<Vec<(Pass, bool)>>>,
}

impl ReadsFile {
    fn read(&self, pass: Pass, ops: u64) -> Done {
        let is_cached = cache::residency(&self.file).unwrap().cached > 0;
        self.was_cached.lock().unwrap().push((pass, is_cached));
        let bytes = std::fs::read(&self.file).unwrap().len() as u64;
        Done { wall_ns: 1_000_000_000, ops, bytes, ..Done::default() }
    }
}

impl Launch for ReadsFile {
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

impl Child for ReadsFile {
    fn prepare(&mut self, _: &Point) -> Result<Ready, RunError> {
        Ok(Ready::default())
    }
}

impl Runner for ReadsFile {
    fn go(&mut self, _: u64, ops: u64) -> Result<RawSample, RunError> {
        Ok(RawSample { done: self.read(Pass::Timing, ops), ..RawSample::default() })
    }

    fn has_died(&self) -> bool {
        false
    }
}

impl CountingRunner for ReadsFile {
    fn count(&mut self, _: u64, ops: u64) -> Result<Counted, RunError> {
        Ok(Counted { done: self.read(Pass::Counting, ops), ..Counted::default() })
    }

    fn trace(&mut self, _: u64, ops: u64, _: u64) -> Result<Traced, RunError> {
        let done = Done { ops, ..Done::default() };
        Ok(Traced { done, calls: Err("it is only played".to_owned()) })
    }
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
        let mut launch = ReadsFile { file: file.clone(), was_cached: Arc::default() };
        let data = Data { files: vec![file.clone()], ..Data::default() };
        let plan = Plan { sessions: 2, cache, counting: 2, ..Plan::default() };
        let cell = measured(&mut launch, data, plan);
        assert_eq!(cell.status, Status::Measured, "{cell:?}");
        std::mem::take(&mut *launch.was_cached.lock().unwrap())
    };
    let both = |samples: &[(Pass, bool)], is_cached| {
        [Pass::Timing, Pass::Counting].map(|pass| samples.contains(&(pass, is_cached)))
    };
    assert_eq!(both(&was_cached(CacheState::Cold), true), [false; 2]);
    assert_eq!(both(&was_cached(CacheState::AsIs), true), [true; 2]);
}
