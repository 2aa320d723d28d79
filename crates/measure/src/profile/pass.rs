//! The jobs of the profile, in rounds, and what is kept of their samples.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Result;
use model::profile::{BLOCKED, CellProfile, FoldedStack, OTHERS, Profile, ProfiledJob};
use model::run::{Pass, Role, Run, Status};
use model::warning::PROFILE;

use super::sampler::{Attached, CodeAddress, JobStacks, PERIOD_NS, ProfileSampler};
use super::symbols::Symbols;
use crate::clock;
use crate::count::Sources;
use crate::launch::{Child, CountingRunner, RunError, TracedRunner};
use crate::{Interrupted, MeasureContext, RunProgress, order, unless_stopped};

/// The orders of the other passes use other numbers.
const SESSION: u32 = u32::MAX - 1;

/// The number of jobs of each method: as many as fit into this time, within these bounds. Fewer
/// have no interval.
const JOBS_NS: u64 = 5_000_000_000;
const JOBS: std::ops::RangeInclusive<u64> = 6..=20;

/// More methods than these would take too long: the first ones of the run are profiled.
const CELLS_MAX: usize = 8;

/// Less than this share of a cell's time is not kept by itself.
const FUNCTION_SHARE: f64 = 0.002;
const STACK_SHARE: f64 = 0.001;
const STACKS_MAX: usize = 400;

pub(super) fn pass(context: &mut MeasureContext<'_>) -> Result<()> {
    let start_ns = clock::now_ns();
    let sampler = ProfileSampler::start();
    let has_kernel = sampler.as_ref().is_ok_and(|sampler| sampler.has_kernel);
    let cells = cells(context.run);
    let refused = sampler.as_ref().err().cloned();
    let mut jobs = Jobs { context, sampler: sampler.ok().map(Rc::new), cells: Vec::new() };
    if unless_stopped(jobs.take(&cells))?.is_none() {
        return Ok(());
    }
    let Jobs { cells, .. } = jobs;
    let traced_slowdown = traced_slowdown(&cells);
    let mut kept = Kept { names: Names::default(), symbols: Symbols::new(), lost: 0 };
    let mut profiled = Vec::new();
    for cell in cells {
        // To read the symbols of large files takes some time.
        if unless_stopped(context.check_stop())?.is_none() {
            return Ok(());
        }
        profiled.extend(kept.cell(cell));
    }
    let lacks = match refused {
        Some(why) if profiled.is_empty() => Some(why),
        Some(why) => Some(format!("{why}; in its place the time in each system call was traced")),
        None => (!has_kernel).then(|| {
            "without the kernel's functions and where it waits; lower kernel.perf_event_paranoid to \
             1, or run as root"
                .to_owned()
        }),
    };
    if let Some(why) = lacks {
        context.note_missing(None, PROFILE, &why);
    }
    if profiled.is_empty() {
        return Ok(());
    }
    context.run.plan.profile = Some(Profile {
        period_ns: PERIOD_NS,
        has_kernel,
        took_ns: clock::now_ns() - start_ns,
        lost: kept.lost,
        traced_slowdown,
        names: kept.names.all,
        cells: profiled,
    });
    context.record.plan_changed(context.run)
}

/// The contenders that were measured.
fn cells(run: &Run) -> Vec<usize> {
    let cells = run.cells.iter().enumerate();
    let measured = cells.filter(|(_, cell)| {
        cell.role == Role::Contender && cell.status == Status::Measured && cell.n(Pass::Timing) > 0
    });
    measured.map(|(cell, _)| cell).take(CELLS_MAX).collect()
}

/// How many times as long as an untraced job the traced ones took, over all of these cells; none
/// where no job was traced.
fn traced_slowdown(cells: &[ProfiledCell]) -> Option<f64> {
    let walls_ns = cells.iter().filter(|cell| !cell.taken.is_empty()).filter_map(|cell| {
        let ProfiledRunner::Traced(_, untraced_ns) = &cell.runner else { return None };
        let traced_ns: f64 = cell.taken.iter().map(|job| job.wall_ns * job.ops).sum();
        Some([traced_ns / cell.taken.len() as f64, *untraced_ns as f64])
    });
    let [traced_ns, untraced_ns] = walls_ns.reduce(|[a, b], [x, y]| [a + x, b + y])?;
    Some(traced_ns / untraced_ns)
}

struct Jobs<'a, 'b> {
    context: &'a mut MeasureContext<'b>,
    /// None: the system calls of the jobs are traced.
    sampler: Option<Rc<ProfileSampler>>,
    cells: Vec<ProfiledCell>,
}

struct ProfiledCell {
    cell: usize,
    runner: ProfiledRunner,
    ops: u64,
    point: usize,
    jobs: u64,
    taken: Vec<TakenJob>,
    n: u64,
}

enum ProfiledRunner {
    Sampled(Box<dyn TracedRunner>, Rc<ProfileSampler>),
    /// With the time of a job that is not traced.
    Traced(Box<dyn CountingRunner>, u64),
}

impl ProfiledRunner {
    fn child(&mut self) -> &mut dyn Child {
        match self {
            ProfiledRunner::Sampled(runner, _) => runner.as_mut(),
            ProfiledRunner::Traced(runner, _) => runner.as_mut(),
        }
    }

    /// Does the job, and returns its result, its operations and where its time was spent.
    fn job(&mut self, n: u64, ops: u64) -> Result<TakenJob, RunError> {
        let (done, times) = match self {
            ProfiledRunner::Traced(runner, untraced_ns) => {
                let traced = runner.trace(n, ops, *untraced_ns)?;
                let calls = traced.calls.map_err(RunError::Failed)?;
                (traced.done, JobTimes::Calls(calls.ns_by_name))
            }
            ProfiledRunner::Sampled(runner, sampler) => {
                let attached = |process| sampler.attach(process).map_err(RunError::Failed);
                let running = runner.pid().map(Attached::Running);
                let mut attaching = running.map_or(Ok(()), &attached);
                let done = runner.go(n, ops, &mut |started| {
                    attaching = attached(Attached::New(started));
                });
                let stacks = sampler.end_job().map_err(RunError::Failed)?;
                let done = done?.done;
                attaching?;
                (done, JobTimes::Stacks(stacks))
            }
        };
        let job_ops = done.ops.max(1) as f64;
        Ok(TakenJob { ops: job_ops, wall_ns: done.wall_ns as f64 / job_ops, times })
    }
}

struct TakenJob {
    ops: f64,
    wall_ns: f64,
    times: JobTimes,
}

/// Where the time of a job was spent.
enum JobTimes {
    /// In the functions of these call chains.
    Stacks(JobStacks),
    /// In these system calls.
    Calls(BTreeMap<String, u64>),
}

impl Jobs<'_, '_> {
    fn take(&mut self, cells: &[usize]) -> Result<(), Interrupted> {
        for (done, cell) in cells.iter().enumerate() {
            let method = &self.context.run.cells[*cell].method;
            let progress = RunProgress::Profiling { method, done, of: cells.len() };
            self.context.record.progress(self.context.run, &progress);
            let prepared = self.known(*cell, |jobs| jobs.prepare(*cell))?;
            self.cells.extend(prepared);
        }
        let rounds = self.cells.iter().map(|cell| cell.jobs).max().unwrap_or_default();
        for round in 0..rounds {
            let seed = self.context.run.plan.seed;
            for at in order(seed, SESSION, round as u32, self.cells.len()) {
                if round >= self.cells[at].jobs {
                    continue;
                }
                let cell = self.cells[at].cell;
                if self.known(cell, |jobs| jobs.sample(at))?.is_none() {
                    self.cells[at].jobs = 0;
                }
            }
        }
        self.cells.iter_mut().for_each(|cell| cell.runner.child().bye());
        Ok(())
    }

    /// The failure of a method becomes a note.
    fn known<T>(
        &mut self,
        cell: usize,
        job: impl FnOnce(&mut Self) -> Result<T, RunError>,
    ) -> Result<Option<T>, Interrupted> {
        self.context.check_stop()?;
        let ended = job(self);
        self.context.or_missing(cell, PROFILE, ended)
    }

    /// Starts and prepares a method and lets it do the job once, without samples, and where its
    /// calls are traced once more without that.
    fn prepare(&mut self, cell: usize) -> Result<ProfiledCell, RunError> {
        let (method, point) = self.context.method(cell)?;
        let ops = self.context.ops(cell);
        let experiment = self.context.job.experiment.name;
        let has_digest = self.context.has_digest(cell);
        let launch = &mut self.context.launch;
        let mut runner = if let Some(sampler) = &self.sampler {
            let runner = launch.start_traced(experiment, method)?;
            ProfiledRunner::Sampled(runner, Rc::clone(sampler))
        } else {
            let sources = Sources::default();
            let runner = launch.start_counting(experiment, method, &sources, has_digest)?;
            ProfiledRunner::Traced(runner, 0)
        };
        runner.child().prepare(&self.context.arguments(method, point))?;
        runner.child().before(1)?;
        self.context.evict(point);
        let (wall_ns, n) = match &mut runner {
            ProfiledRunner::Sampled(runner, _) => (runner.go(1, ops, &mut |_| {})?.done.wall_ns, 1),
            ProfiledRunner::Traced(runner, untraced_ns) => {
                let wall_ns = runner.trace(1, ops, 0)?.done.wall_ns;
                runner.before(2)?;
                self.context.evict(point);
                *untraced_ns = runner.count(2, ops)?.done.wall_ns.max(1);
                (wall_ns, 2)
            }
        };
        let jobs = JOBS_NS / wall_ns.max(1);
        let jobs = jobs.clamp(*JOBS.start(), *JOBS.end());
        Ok(ProfiledCell { cell, runner, ops, point, jobs, taken: Vec::new(), n })
    }

    fn sample(&mut self, at: usize) -> Result<(), RunError> {
        let Jobs { context, cells, .. } = self;
        let ProfiledCell { runner, ops, point, taken, n, .. } = &mut cells[at];
        *n += 1;
        runner.child().before(*n)?;
        context.evict(*point);
        taken.push(runner.job(*n, *ops)?);
        Ok(())
    }
}

// What is kept of the samples.

#[derive(Default)]
struct Names {
    all: Vec<String>,
    known: HashMap<Arc<str>, u32>,
}

impl Names {
    fn index(&mut self, name: &Arc<str>) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let index = self.all.len() as u32;
        self.all.push(name.to_string());
        self.known.insert(Arc::clone(name), index);
        index
    }
}

struct Kept {
    names: Names,
    symbols: Symbols,
    lost: u64,
}

impl Kept {
    /// None for a method without jobs.
    fn cell(&mut self, cell: ProfiledCell) -> Option<CellProfile> {
        if cell.taken.is_empty() {
            return None;
        }
        let n = cell.taken.len() as f64;
        let mut stacks: BTreeMap<Vec<Arc<str>>, f64> = BTreeMap::new();
        let mut jobs: Vec<(f64, BTreeMap<Arc<str>, f64>)> = Vec::new();
        for TakenJob { ops, wall_ns, times } in cell.taken {
            let mut of_job: BTreeMap<Arc<str>, f64> = BTreeMap::new();
            let taken = match times {
                JobTimes::Stacks(taken) => taken,
                JobTimes::Calls(calls) => {
                    for (name, call_ns) in calls {
                        let (name, ns) = (Arc::<str>::from(name), call_ns as f64 / ops);
                        *stacks.entry(vec![Arc::clone(&name)]).or_default() += ns / n;
                        of_job.insert(name, ns);
                    }
                    jobs.push((wall_ns, of_job));
                    continue;
                }
            };
            self.lost += taken.lost;
            for (stack, [on_cpu_ns, waited_ns]) in &taken.times_ns {
                let mut frames = self.symbols.chain(stack);
                if *on_cpu_ns > 0 {
                    let ns = *on_cpu_ns as f64 / ops;
                    let function = frames.last().cloned();
                    *of_job.entry(function.unwrap_or_else(unknown)).or_default() += ns;
                    *stacks.entry(frames.clone()).or_default() += ns / n;
                }
                if *waited_ns > 0 {
                    let ns = *waited_ns as f64 / ops;
                    let waits = blocked(stack, &frames);
                    *of_job.entry(Arc::clone(&waits)).or_default() += ns;
                    frames.push(waits);
                    *stacks.entry(frames).or_default() += ns / n;
                }
            }
            jobs.push((wall_ns, of_job));
        }
        let total_ns: f64 = stacks.values().sum();
        let mut stacks: Vec<(Vec<Arc<str>>, f64)> = stacks.into_iter().collect();
        stacks.retain(|(_, ns)| *ns >= STACK_SHARE * total_ns);
        stacks.sort_by(|a, b| b.1.total_cmp(&a.1));
        stacks.truncate(STACKS_MAX);
        Some(CellProfile {
            cell: cell.cell,
            jobs: self.jobs(&jobs, FUNCTION_SHARE * total_ns),
            stacks: stacks.into_iter().map(|(frames, ns)| self.stack(&frames, ns)).collect(),
        })
    }

    fn stack(&mut self, frames: &[Arc<str>], ns: f64) -> FoldedStack {
        FoldedStack { frames: frames.iter().map(|name| self.names.index(name)).collect(), ns }
    }

    /// A function whose mean is below this is one of the others.
    fn jobs(&mut self, jobs: &[(f64, BTreeMap<Arc<str>, f64>)], least_ns: f64) -> Vec<ProfiledJob> {
        let mut sums: HashMap<&Arc<str>, f64> = HashMap::new();
        for (name, ns) in jobs.iter().flat_map(|(_, functions)| functions) {
            *sums.entry(name).or_default() += ns;
        }
        let n = jobs.len() as f64;
        let others: Arc<str> = Arc::from(OTHERS);
        let job = |(wall_ns, functions): &(f64, BTreeMap<Arc<str>, f64>)| {
            let mut self_ns: BTreeMap<u32, f64> = BTreeMap::new();
            for (name, ns) in functions {
                let is_kept = sums[name] / n >= least_ns;
                let index = self.names.index(if is_kept { name } else { &others });
                *self_ns.entry(index).or_default() += ns;
            }
            ProfiledJob { wall_ns: *wall_ns, self_ns: self_ns.into_iter().collect() }
        };
        jobs.iter().map(job).collect()
    }
}

fn unknown() -> Arc<str> {
    Arc::from("[unknown]")
}

/// What a job waits in: the innermost function that is not the kernel's.
fn blocked(stack: &[CodeAddress], names: &[Arc<str>]) -> Arc<str> {
    let is_user = |address: &CodeAddress| !matches!(address, CodeAddress::Kernel(_));
    match stack.iter().rposition(is_user).and_then(|at| names.get(at)) {
        Some(name) => Arc::from(format!("{BLOCKED} in {name}")),
        None => Arc::from(BLOCKED),
    }
}
