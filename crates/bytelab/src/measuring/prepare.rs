//! Prepares a decided job for measuring: generates its data, builds its workers, and creates its
//! cells.

use std::cell::Cell;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use experiments::medium::{SlowMedium, on_medium};
use experiments::workers::{self, ToolchainVersion};
use measure::experiment::{Data, Execution, Method};
use measure::launch::{Launcher, Orphans, Stop};
use measure::{MeasureJob, Record, measure, new_run, prepare_data};
use model::path_text::to_path;
use model::run::{Design, Plan, Run, Warning};

use super::progress::{ProgressDisplay, figures};
use crate::console;

/// Everything that measuring needs.
pub(crate) struct PreparedRun<'a> {
    pub(crate) job: MeasureJob<'a>,
    pub(crate) run: Run,
    pub(crate) data: Vec<Data>,
    /// The tools with which the workers were built.
    pub(crate) toolchains: Vec<ToolchainVersion>,
}

/// Generates the data and builds the workers. A run without an id is a new one: it has what was
/// decided before anything is created or started (points, plan, label and notes), and gets its
/// cells. Processes that a build leaves behind are not counted as orphans of the run.
pub(crate) fn prepare_run<'a>(
    mut job: MeasureJob<'a>,
    mut run: Run,
    orphans: Option<&Orphans>,
    display: &ProgressDisplay,
    stop: &Stop,
) -> Result<PreparedRun<'a>> {
    let dir = run.plan.data_dir.as_ref().context("the plan names no directory for the data")?;
    let dir = to_path(dir);
    experiments::remove_leftovers(&dir);
    experiments::remove_leftovers(&std::env::temp_dir());
    display.say("making or reading the data");
    let medium = run.plan.medium.as_deref().map(str::parse::<SlowMedium>).transpose()?;
    let placed = |data: Data| match &medium {
        Some(medium) => on_medium(data, medium, &dir, stop),
        None => Ok(data),
    };
    let cache = run.plan.cache;
    let data = prepare_data(job.experiment, &mut run.points, &dir, cache, &placed, stop);
    display.clear();
    let data = data?;
    let languages: Vec<_> = job.methods.iter().map(workers::language_of).collect();
    let is_built_in = |method: &&Method| matches!(method.execution, Execution::BuiltIn(_));
    let built_in = job.methods.iter().filter(is_built_in).cloned().collect();
    let built_in = MeasureJob { experiment: job.experiment, methods: built_in, least_sessions: 0 };
    let before_builds = || {
        if run.id.is_empty() {
            print_first_figures(&built_in, &run, &data, display, stop);
        }
        display.clear();
        let _ = writeln!(console::stderr(), "bytelab: {}", builds_first(&run.plan));
    };
    let mut build = || build_workers(&mut job.methods, &dir, display, &before_builds, stop);
    let toolchains = match orphans {
        Some(orphans) => orphans.without(build)?,
        None => build()?,
    };
    if run.id.is_empty() {
        let Run { points, plan, label, notes, .. } = run;
        run = Run { notes, ..new_run(&job, points, plan, label) };
        name_languages(&mut run, &job, &languages);
    } else {
        note_other_toolchains(&mut run, &toolchains);
    }
    Ok(PreparedRun { job, run, data, toolchains })
}

/// Starts the methods of this program.
pub(crate) fn launcher(sample_limit_ns: u64, stop: &Stop) -> Result<Launcher> {
    Ok(Launcher {
        program: std::env::current_exe().context("finding this program")?,
        sample_limit_ns,
        fresh: false,
        dir: None,
        memory_limit_bytes: None,
        stop: stop.clone(),
    })
}

impl PreparedRun<'_> {
    pub(crate) fn launcher(&self, stop: &Stop) -> Result<Launcher> {
        let plan = &self.run.plan;
        let dir = self.job.experiment.dir.clone();
        Ok(Launcher {
            fresh: plan.fresh,
            dir,
            memory_limit_bytes: plan.memory_limit_bytes,
            ..launcher(plan.sample_limit_ns, stop)?
        })
    }
}

/// The time of the rounds before the first build.
const FIRST_FIGURES_LIMIT_NS: u64 = 5_000_000_000;
const BUILDING: &str = "building workers";

fn builds_first(plan: &Plan) -> String {
    match plan.time_limit_ns {
        Plan::NO_TIME_LIMIT_NS => "builds first".to_owned(),
        limit_ns => {
            format!("builds first, which is not part of the {} s", limit_ns.div_ceil(1_000_000_000))
        }
    }
}

/// Builds the other programs that the methods need. `before` is called before the first build.
fn build_workers(
    methods: &mut [Method],
    dir: &Path,
    display: &ProgressDisplay,
    before: &dyn Fn(),
    stop: &Stop,
) -> Result<Vec<ToolchainVersion>> {
    display.say(BUILDING);
    let is_first = Cell::new(true);
    let print_progress = |text: &str| {
        if is_first.replace(false) {
            before();
        }
        display.clear();
        writeln!(console::stderr(), "bytelab: {text}")?;
        display.say(BUILDING);
        Ok(())
    };
    let built = workers::make_ready(methods, dir, &print_progress, stop);
    display.clear();
    built
}

/// A run that is not stored, as that of the first figures.
pub(crate) struct NotStored;

impl Record for NotStored {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        "not stored".clone_into(&mut run.id);
        Ok(())
    }
}

/// Measures each method once that needs no build, and prints the table: a reader who waits for a
/// compiler has figures. They are no part of the run. An error is ignored, because the run itself
/// meets it again.
fn print_first_figures(
    job: &MeasureJob<'_>,
    new: &Run,
    data: &[Data],
    display: &ProgressDisplay,
    stop: &Stop,
) {
    let plan = Plan {
        rounds: 1,
        sessions: 1,
        warm_up: 0,
        counting: 0,
        design: Design::Fixed,
        time_limit_ns: FIRST_FIGURES_LIMIT_NS,
        ..new.plan.clone()
    };
    let mut run = new_run(job, new.points.clone(), plan, None);
    let Ok(mut launcher) = launcher(new.plan.sample_limit_ns, stop) else { return };
    launcher.dir.clone_from(&job.experiment.dir);
    launcher.memory_limit_bytes = new.plan.memory_limit_bytes;
    display.say("running each method that needs no build once");
    let measured = measure(job, &mut run, data, &mut launcher, &mut NotStored, stop);
    display.clear();
    let has_figures = run.cells.iter().any(|cell| !cell.samples.is_empty());
    if measured.is_ok() && has_figures {
        let _ = write!(
            console::stderr(),
            "bytelab: one run of each method that needs no build, which gives no verdict:\n{}",
            figures(&run)
        );
    }
}

/// Includes cells that are skipped, whose workers never send `hello`.
fn name_languages(run: &mut Run, job: &MeasureJob<'_>, languages: &[Option<&str>]) {
    for (method, language) in job.methods.iter().zip(languages) {
        for cell in run.cells.iter_mut().filter(|cell| cell.method == method.name) {
            cell.language = language.map(str::to_owned);
        }
    }
}

fn note_other_toolchains(run: &mut Run, toolchains: &[ToolchainVersion]) {
    for toolchain in toolchains {
        let then = run.environment.facts.get(&toolchain.fact()).and_then(|fact| fact.as_str());
        if let Some(then) = then.filter(|then| *then != toolchain.version) {
            let ToolchainVersion { language, version, .. } = toolchain;
            let text = format!(
                "the run was resumed with another toolchain of {language} ({version}, before: {then}): do not \
                 trust differences between its sessions"
            );
            // A language may have several workers.
            let warning = Warning::noted(text);
            if !run.notes.contains(&warning) {
                run.notes.push(warning);
            }
        }
    }
}
