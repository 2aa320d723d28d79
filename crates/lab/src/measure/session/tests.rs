use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::preparing::{StartedRunner, start_each, times_as_many};
use super::*;
use crate::count::Sources;
use crate::experiment::{Data, Experiment, How, Method};
use crate::launch::{
    Child, Counted, CountingRunner, Launch, RawSample, Ready, Stop, Traced, TracedRunner,
};
use crate::measure::batch::{Batch, shared_ops};
use crate::measure::{Job, Progress, Record, measure, new_run};
use crate::param::Point;
use crate::protocol::Done;
use crate::run::{Plan, Run};

/// The result for a file of 1000 bytes of which `payload_bytes` are delivered, if that is known.
fn disproved(
    cache: CacheState,
    read_bytes: impl Into<Option<u64>>,
    payload_bytes: impl Into<Option<u64>>,
    bypasses_cache: bool,
) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[7; 1000]).unwrap();
    let (files, payload_bytes) = (vec![file.path().to_owned()], payload_bytes.into());
    let data = Data { files, payload_bytes, ..Data::default() };
    let mut taken = RawSample::default();
    taken.used.device_read_bytes = read_bytes.into();
    disproved_by_device(cache, &taken, &data, bypasses_cache).unwrap_or_default()
}

#[test]
fn a_warm_sample_that_the_device_served_does_not_count() {
    let check = |read_bytes: Option<u64>, bypasses_cache, expected: &str| {
        assert_eq!(disproved(CacheState::Warm, read_bytes, 1000, bypasses_cache), expected);
    };
    check(Some(0), false, "");
    check(Some(1), false, "not warm: 1 bytes came from the device");
    check(Some(4096), false, "not warm: 4096 bytes came from the device");
    check(Some(4096), true, "");
    check(None, false, "");
}

#[test]
fn a_cold_sample_that_the_cache_served_does_not_count() {
    let check = |read_bytes: Option<u64>, payload_bytes: Option<u64>, expected: &str| {
        let said = disproved(CacheState::Cold, read_bytes, payload_bytes, false);
        assert_eq!(said.split(" (").next().unwrap(), expected, "{read_bytes:?} {payload_bytes:?}");
    };
    check(Some(1000), Some(1000), "");
    // A fiftieth may be missing.
    check(Some(980), Some(1000), "");
    check(Some(979), Some(1000), "not cold: 979 of 1000 bytes came from the device");
    check(Some(0), Some(1000), "not cold: 0 of 1000 bytes came from the device");
    // No more than the job delivers, or than the files contain.
    check(Some(98), Some(100), "");
    check(Some(97), Some(100), "not cold: 97 of 100 bytes came from the device");
    check(Some(979), Some(5000), "not cold: 979 of 1000 bytes came from the device");
    // If that is not known, any number.
    check(Some(1), None, "");
    check(Some(0), None, "not cold: 0 of 1 bytes came from the device");
    check(None, Some(1000), "");
}

#[test]
fn as_is_nothing_is_disproved() {
    for read_bytes in [None, Some(0), Some(1000)] {
        assert_eq!(disproved(CacheState::AsIs, read_bytes, 1000, false), "");
    }
}

#[test]
fn operations_are_batched_only_where_one_is_too_short_for_the_clock() {
    let batch = |point, ops, op_ns| Batch { cell: 0, point, ops, op_ns, yardstick: false };
    let shared = |batches: &[Batch]| shared_ops(batches);
    // 1000 steps of a clock of 20 ns are 20 µs.
    assert_eq!(shared(&[batch(0, 84, 250), batch(0, 20, 1000), batch(0, 1, 30_000)]), [84, 84, 1]);
    // Methods of another point have no influence, nor has a yardstick, which may need more.
    let limit = Batch { yardstick: true, ..batch(0, 1000, 21) };
    let slow_limit = Batch { yardstick: true, ..batch(0, 4, 6000) };
    assert_eq!(
        shared(&[limit, slow_limit, batch(0, 20, 1000), batch(1, 50, 400)]),
        [1000, 20, 20, 50]
    );
    // The number is limited so that no sample takes more than 10 ms.
    assert_eq!(shared(&[batch(0, 10_000, 2), batch(0, 2, 15_000)]), [10_000, 666]);
}

#[test]
fn a_sample_that_is_too_short_gets_as_many_operations_as_it_lacks() {
    assert_eq!(times_as_many(100, 20_000), 250);
    assert_eq!(times_as_many(99, 20_000), 253);
    // At least twice, and at most a thousand times as many.
    assert_eq!(times_as_many(19_999, 20_000), 2);
    assert_eq!([0, 7].map(|sample_ns| times_as_many(sample_ns, 20_000)), [1000; 2]);
}

#[test]
fn a_payload_that_no_count_can_hold_is_wrong_too() {
    let cell = Cell::new("x", Point::default());
    let data = Data { payload_bytes: Some(1 << 40), ..Data::default() };
    let check = |ops, bytes, expected: Option<&str>| {
        let mut taken = RawSample::default();
        (taken.done.ops, taken.done.bytes) = (ops, bytes);
        let wrong = wrong_payload(&cell, &data, &taken);
        assert_eq!(wrong, expected.map(|why| RunError::Failed(why.to_owned())));
    };
    check(2, 2 << 40, None);
    check(2, 1 << 40, Some("handed over 1099511627776 bytes instead of 2199023255552"));
    check(1 << 40, 0, Some("handed over 0 bytes instead of 1208925819614629174706176"));
}

/// How many processes are starting, and the most that ever were.
#[derive(Default)]
struct Starting {
    now: usize,
    most: usize,
}

struct SlowStart(Rc<RefCell<Starting>>);

impl Child for SlowStart {
    fn prepare(&mut self, _: &Point) -> Result<Ready, RunError> {
        unreachable!("it is only started")
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl Runner for SlowStart {
    fn started(&mut self) -> Result<(), RunError> {
        self.0.borrow_mut().now -= 1;
        Ok(())
    }

    fn go(&mut self, _: u64, _: u64) -> Result<RawSample, RunError> {
        unreachable!("it is only started")
    }

    fn has_died(&self) -> bool {
        false
    }
}

#[test]
fn no_more_processes_start_at_once_than_there_are_cpus() {
    let starting = Rc::new(RefCell::new(Starting::default()));
    let start = |cell: usize| -> StartedRunner {
        if cell == 3 {
            return Err(RunError::Skipped("is not there".into()));
        }
        let mut state = starting.borrow_mut();
        state.now += 1;
        state.most = state.most.max(state.now);
        Ok(Box::new(SlowStart(starting.clone())))
    };
    let started = start_each((0..100).rev().collect(), 2, start);
    let cells: Vec<usize> = started.iter().map(|(cell, _)| *cell).collect();
    assert!(cells.into_iter().eq((0..100).rev()));
    assert!(started.iter().all(|(cell, runner)| runner.is_err() == (*cell == 3)));
    let starting = starting.borrow();
    assert_eq!((starting.now, starting.most), (0, 2));
}

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

struct Forgets;

impl Record for Forgets {
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
    fn progress(&mut self, _: &Run, _: &Progress<'_>) {}
    fn finish(&mut self, _: &Run) -> Result<()> {
        Ok(())
    }
}

/// The only cell of a run.
fn measured(launch: &mut dyn Launch, data: Data, plan: Plan) -> Cell {
    recorded(launch, data, plan, &mut Forgets)
}

fn recorded(launch: &mut dyn Launch, data: Data, plan: Plan, record: &mut dyn Record) -> Cell {
    let experiment = Experiment {
        name: "played",
        question: "",
        readme: "",
        params: Vec::new(),
        methods: Vec::new(),
        dir: None,
        data: Box::new(|_, _, _| Ok(Data::default())),
    };
    let methods = vec![Method::contender("reads", "", How::worker(["true"]))];
    let job = Job { experiment: &experiment, methods, least_sessions: 0 };
    let time_limit_ns = Plan::NO_TIME_LIMIT_NS;
    let plan = Plan { rounds: 1, warm_up: 1, time_limit_ns, ..plan };
    let mut run = new_run(&job, vec![Point::default()], plan, None);
    measure(&job, &mut run, &[data], launch, record, &Stop::default()).unwrap();
    run.cells.remove(0)
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

/// What was shown before the rounds: each method, and how many were done before it.
#[derive(Default)]
struct Shown(Vec<(String, usize, usize)>);

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
    fn progress(&mut self, _: &Run, progress: &Progress<'_>) {
        if let Progress::Preparing { method, done, of } = progress {
            self.0.push(((*method).to_owned(), *done, *of));
        }
    }
    fn finish(&mut self, _: &Run) -> Result<()> {
        Ok(())
    }
}

#[test]
fn what_precedes_the_rounds_is_shown_in_the_first_session_only() {
    let mut shown = Shown::default();
    let plan = Plan { sessions: 3, ..Plan::default() };
    recorded(&mut Evicted(Vec::new()), Data::default(), plan, &mut shown);
    // The process prepares, and then the number of its operations is found.
    assert_eq!(shown.0, [("reads".to_owned(), 0, 1), ("reads".to_owned(), 0, 1)]);
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

    fn trace(&mut self, _: u64, ops: u64) -> Result<Traced, RunError> {
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
