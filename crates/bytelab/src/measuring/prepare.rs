//! Prepares a decided job for measuring: generates its data, builds its workers, and creates its
//! cells.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use experiments::workers::{self, ToolchainVersion};
use measure::experiment::{Data, Method};
use measure::launch::{Launcher, Orphans, Stop};
use measure::{MeasureJob, new_run, prepare_data};
use model::path_text::to_path;
use model::run::{Run, Warning};

use super::progress::ProgressDisplay;
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
    let data = prepare_data(job.experiment, &mut run.points, &dir, run.plan.cache, stop);
    display.clear();
    let data = data?;
    let languages: Vec<_> = job.methods.iter().map(workers::language_of).collect();
    let mut build = || build_workers(&mut job.methods, &dir, display, stop);
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
        stop: stop.clone(),
    })
}

impl PreparedRun<'_> {
    pub(crate) fn launcher(&self, stop: &Stop) -> Result<Launcher> {
        let plan = &self.run.plan;
        let dir = self.job.experiment.dir.clone();
        Ok(Launcher { fresh: plan.fresh, dir, ..launcher(plan.sample_limit_ns, stop)? })
    }
}

const BUILDING: &str = "building workers";

/// Builds the other programs that the methods need.
fn build_workers(
    methods: &mut [Method],
    dir: &Path,
    display: &ProgressDisplay,
    stop: &Stop,
) -> Result<Vec<ToolchainVersion>> {
    display.say(BUILDING);
    let print_progress = |text: &str| {
        display.clear();
        writeln!(console::stderr(), "bytelab: {text}")?;
        display.say(BUILDING);
        Ok(())
    };
    let built = workers::make_ready(methods, dir, &print_progress, stop);
    display.clear();
    built
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
