//! Workers as shell scripts, and a record that keeps nothing.

use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use anyhow::Result;
use measure::experiment::{Data, Execution, Experiment, Method};
use measure::launch::{Launcher, Stop};
use measure::{MeasureJob, Record, measure, new_run, prepare_data};
use model::param::Point;
use model::run::{CacheState, Cell, Plan, Run};

/// A worker that follows the protocol; `$n` is the number of the sample.
pub(crate) const GOOD: &str = r#"
    echo "hello 1 name=good lang=sh"
    while read -r verb n rest; do
        case $verb in
            prepare) echo ready;;
            go) echo "done $n wall=2000000 bytes=8 answer=2a own_ns=7";;
            bye) exit 0;;
        esac
    done"#;

/// The worker with this job.
pub(crate) fn job(text: &str) -> String {
    GOOD.replace("go)", &format!("go) {text};"))
}

/// The worker that does this instead when a sample is requested.
pub(crate) fn on_go(text: &str) -> String {
    GOOD.replace(r#"echo "done $n wall=2000000 bytes=8 answer=2a own_ns=7""#, text)
}

/// A worker in Python; the text defines `job`.
pub(crate) fn python(name: &str, text: &str) -> Method {
    let worker = format!(
        "import os, sys, threading
{text}
print('hello 1 lang=python', flush=True)
for line in sys.stdin:
    word = line.split()
    if word[0] == 'prepare': print('ready', flush=True)
    elif word[0] == 'bye': break
    else:
        job()
        print(f'done {{word[1]}} wall=2000000 bytes=8 answer=2a', flush=True)"
    );
    method(name, Execution::worker(["python3", "-c", &worker]))
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        question: "Does the lab survive its children?",
        data: Box::new(|_, _, _| Ok(Data { payload_bytes: Some(8), ..Data::default() })),
        ..Experiment::empty("scripts")
    }
}

pub(crate) fn method(name: &str, execution: Execution) -> Method {
    Method::contender(name, "", execution)
}

pub(crate) fn script(name: &str, text: &str) -> Method {
    method(name, Execution::worker(["/bin/sh", "-c", text]))
}

/// A sample limit for a child that hangs: on a busy machine, a good shell script beside it needs
/// most of a second for its answer.
pub(crate) const HANG_LIMIT_NS: u64 = 3_000_000_000;

pub(crate) fn plan(rounds: u32) -> Plan {
    Plan {
        rounds,
        // A test does not need a quiet machine: these limits only end processes that hang.
        time_limit_ns: 3_600_000_000_000,
        warm_up: 1,
        sessions: 1,
        seed: 7,
        cache: CacheState::AsIs,
        sample_limit_ns: 1_200_000_000_000,
        ..Plan::default()
    }
}

pub(crate) fn launcher() -> Launcher {
    Launcher {
        program: "/nonexistent".into(),
        sample_limit_ns: plan(1).sample_limit_ns,
        fresh: false,
        dir: None,
        memory_limit_bytes: None,
        stop: Stop::default(),
    }
}

/// Measures these methods; `watch` is called after every sample.
pub(crate) fn run_with(
    methods: Vec<Method>,
    plan: Plan,
    stop: &Stop,
    watch: impl FnMut(&Run, usize),
) -> Run {
    let experiment = experiment();
    let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
    let mut run = new_run(&job, vec![Point::default()], plan, None);
    go(&job, &mut run, stop, watch);
    run
}

/// Resumes the run.
pub(crate) fn go_on(experiment: &Experiment, run: &mut Run, methods: Vec<Method>) {
    let job = MeasureJob { experiment, methods, least_sessions: 0 };
    go(&job, run, &Stop::default(), |_, _| {});
}

/// The tests are one process, and so one lab: what others start at the same time counts as started
/// by its command. Where that matters, a test runs [`alone`].
static LAB: RwLock<()> = RwLock::new(());

/// While it lives, no other test measures.
pub(crate) fn no_other() -> RwLockWriteGuard<'static, ()> {
    LAB.write().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn go(job: &MeasureJob<'_>, run: &mut Run, stop: &Stop, watch: impl FnMut(&Run, usize)) {
    let _with_others = LAB.read().unwrap_or_else(PoisonError::into_inner);
    measure_all(job, run, stop, watch);
}

/// Measures these methods while no other test measures.
pub(crate) fn alone(methods: Vec<Method>, plan: Plan) -> Run {
    let _alone = no_other();
    let experiment = experiment();
    let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
    let mut run = new_run(&job, vec![Point::default()], plan, None);
    measure_all(&job, &mut run, &Stop::default(), |_, _| {});
    run
}

fn measure_all(job: &MeasureJob<'_>, run: &mut Run, stop: &Stop, watch: impl FnMut(&Run, usize)) {
    let dir = std::env::temp_dir();
    let data =
        prepare_data(job.experiment, &mut run.points, &dir, run.plan.cache, &Ok, stop).unwrap();
    let mut launcher = Launcher {
        sample_limit_ns: run.plan.sample_limit_ns,
        fresh: run.plan.fresh,
        stop: stop.clone(),
        ..launcher()
    };
    measure(job, run, &data, &mut launcher, &mut Watch(watch), stop).unwrap();
}

pub(crate) fn run(methods: Vec<Method>, plan: Plan) -> Run {
    run_with(methods, plan, &Stop::default(), |_, _| {})
}

pub(crate) fn cell<'a>(run: &'a Run, method: &str) -> &'a Cell {
    run.cells.iter().find(|cell| cell.method == method).unwrap()
}

struct Watch<F>(F);

impl<F: FnMut(&Run, usize)> Record for Watch<F> {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        run.id = "1".into();
        Ok(())
    }
    fn sample(&mut self, run: &Run, cell: usize) -> Result<()> {
        (self.0)(run, cell);
        Ok(())
    }
}
