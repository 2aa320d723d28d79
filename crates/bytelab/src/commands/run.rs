//! `bytelab run`: measures an experiment, the rest of a run that was stopped or killed, or what a
//! published study measured, and stores and prints it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{Analysis, analyze};
use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use experiments::workers;
use measure::experiment::Method;
use measure::launch::Stop;
use model::run::Run;
use report::published::{self, Published, Study};
use report::study::StudyReport;
use tools::atomic_file;

use super::output::{OutputArgs, TableArgs, print};
use super::{Context, exit, layout, note, warn_if_unoptimised};
use crate::console;
use crate::measuring::{self, ProgressMode, RunOutcome, RunRequest};

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Continue a run that was stopped or killed: its id, its label, or `latest`
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    /// Set if an experiment is named.
    #[arg(skip)]
    pub(crate) request: Option<RunRequest>,
    /// Set if a published study is named.
    #[arg(skip)]
    pub(crate) study: Option<StudyRequest>,
    /// Whether only the plan is printed.
    #[arg(skip)]
    pub(crate) dry_run: bool,
}

/// What is shown on standard error while the run is measured.
#[derive(Args, Clone, Copy)]
pub(crate) struct ProgressArgs {
    /// What is written to standard error meanwhile
    #[arg(long, value_enum, value_name = "FORM", default_value = "auto")]
    progress: ProgressForm,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProgressForm {
    /// The table until now, on a terminal; elsewhere a line per look
    Auto,
    /// A JSON document on one line per look
    Json,
    /// Nothing
    None,
}

impl ProgressArgs {
    fn shown(self) -> ProgressMode {
        match self.progress {
            ProgressForm::Auto => ProgressMode::Table,
            ProgressForm::Json => ProgressMode::Json,
            ProgressForm::None => ProgressMode::Nothing,
        }
    }
}

pub(crate) fn run(args: RunArgs, context: &Context) -> Result<ExitCode> {
    let RunArgs { resume: resumed, output, progress, request, study, dry_run } = args;
    let shown = progress.shown();
    if let (None, Some(mut request)) = (&resumed, study) {
        request.parts.iter_mut().for_each(|part| part.shown = shown);
        return if dry_run {
            dry_run_study(&request, context)
        } else {
            run_study(&request, &output, context)
        };
    }
    match (&resumed, request) {
        (None, Some(request)) if dry_run => {
            let store = context.store_of(&request)?;
            let text = measuring::dry_run(&context.experiments, &request, store)?;
            console::stdout().write_all(text.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        (Some(id), None) => resume(id, &output, shown, context),
        (None, Some(request)) => measure(&RunRequest { shown, ..request }, context, |run| {
            print(run, &output, TableArgs::default())
        }),
        _ => anyhow::bail!("name an experiment, or --resume ID"),
    }
}

fn resume(
    id: &str,
    output: &OutputArgs,
    shown: ProgressMode,
    context: &Context,
) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let store = context.local_store(None)?;
    let measured = measuring::resume(&context.experiments, id, store, shown, &stop);
    conclude(measured, &stop, |run| print(run, output, TableArgs::default()))
}

/// Measures the request and prints the result.
pub(super) fn measure(
    request: &RunRequest,
    context: &Context,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let store = context.store_of(request)?;
    let measured = measuring::run(&context.experiments, request, store, &stop);
    conclude(measured, &stop, print)
}

/// Prints the result and returns the exit status.
fn conclude(
    measured: Result<RunOutcome>,
    stop: &Stop,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    let RunOutcome { run, cleaned_up } = match (measured, exit::of_signal(stop)) {
        (Ok(measured), _) => measured,
        (Err(error), Some(stopped)) => {
            writeln!(console::stderr(), "bytelab: {error:#}; nothing was measured yet")?;
            return Ok(stopped);
        }
        (Err(error), None) => return Err(error),
    };
    let analysis = print(&run)?;
    let Some(stopped) = exit::of_signal(stop) else {
        exit::nothing_measured(&run).map_or(Ok(()), |why| note(&why))?;
        return Ok(exit::of_run(&run, &analysis, cleaned_up));
    };
    if run.id.parse::<u64>().is_ok() {
        writeln!(
            console::stderr(),
            "bytelab: stopped; go on with: bytelab run --resume {}",
            run.id
        )?;
    }
    Ok(stopped)
}

// `bytelab run published:NAME`: measures what the author of a published study measured, part by
// part, and prints both with a verdict on each claim.

/// The requests of all parts of a study that this machine can measure.
pub(crate) struct StudyRequest {
    pub(crate) study: &'static Study,
    pub(crate) parts: Vec<RunRequest>,
    /// The experiments of the other parts, each with the reason.
    pub(crate) left_out: Vec<String>,
    /// The file to which the page with the author's figures is written.
    pub(crate) page: Option<PathBuf>,
}

pub(super) fn dry_run_study(request: &StudyRequest, context: &Context) -> Result<ExitCode> {
    note_left_out(request)?;
    for part in &request.parts {
        let store = context.store_of(part)?;
        let text = measuring::dry_run(&context.experiments, part, store)?;
        console::stdout().write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn note_left_out(request: &StudyRequest) -> io::Result<()> {
    request.left_out.iter().try_for_each(|why| note(&format!("not measured: {why}")))
}

pub(super) fn run_study(
    request: &StudyRequest,
    output: &OutputArgs,
    context: &Context,
) -> Result<ExitCode> {
    if let Some(path) = &request.page {
        // Fails early: after the measurement it would be too late.
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        ensure!(
            dir.is_none_or(Path::is_dir),
            "--report {}: its directory does not exist; create it",
            path.display()
        );
    }
    note_left_out(request)?;
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let mut all: Vec<(Run, Analysis, bool)> = Vec::new();
    for part in &request.parts {
        if exit::of_signal(&stop).is_some() {
            break;
        }
        let store = context.store_of(part)?;
        match measuring::run(&context.experiments, part, store, &stop) {
            Ok(RunOutcome { run, cleaned_up }) => {
                let analysis = analyze(&run);
                all.push((run, analysis, cleaned_up));
            }
            // What was measured before is shown.
            Err(error) if exit::of_signal(&stop).is_some() => {
                writeln!(
                    console::stderr(),
                    "bytelab: {error:#}; of {} nothing was measured yet",
                    { &part.experiment }
                )?;
            }
            Err(error) => return Err(error),
        }
    }
    let published = published_results(request.study);
    let runs: Vec<(&Run, &Analysis)> = all.iter().map(|(run, found, _)| (run, found)).collect();
    let absent = absent(request.study, context);
    let report = StudyReport { study: request.study, published: &published, runs, absent: &absent };
    print_study(&report, output)?;
    if let Some(path) = &request.page {
        write_page(path, request.study, &report)?;
    }
    let Some(stopped) = exit::of_signal(&stop) else {
        for (run, why) in
            all.iter().filter_map(|(run, ..)| Some((run, exit::nothing_measured(run)?)))
        {
            note(&format!("{}: {why}", run.experiment))?;
        }
        return Ok(exit::of_runs(&all));
    };
    let unfinished = all.iter().find(|(run, ..)| !run.complete && run.id.parse::<u64>().is_ok());
    if let Some((run, ..)) = unfinished {
        writeln!(
            console::stderr(),
            "bytelab: stopped; go on with: bytelab run --resume {}",
            run.id
        )?;
    }
    Ok(stopped)
}

fn write_page(path: &Path, study: &'static Study, report: &StudyReport<'_>) -> Result<()> {
    let drawn = |drawing: &'static published::Drawing| {
        let svg = report::study::figure(report, drawing)?;
        let caption = report::study::caption(drawing);
        Some(report::study::DrawnFigure { title: &drawing.title, caption, svg })
    };
    let figures: Vec<_> = study.figures.iter().filter_map(drawn).collect();
    let page = report::study::page(report, &figures);
    let written = atomic_file::write(path, |mut file| Ok(file.write_all(page.as_bytes())?));
    written.with_context(|| format!("--report {}", path.display()))
}

fn print_study(report: &StudyReport<'_>, output: &OutputArgs) -> Result<()> {
    let mut out = console::stdout();
    if output.json {
        writeln!(out, "{}", report::study::json(report)?)?;
        return Ok(());
    }
    out.write_all(report::study::text(report, true, &layout()).as_bytes())?;
    if output.percentiles {
        for (run, analysis) in &report.runs {
            write!(out, "\n{}", report::percentiles(run, analysis, &layout()))?;
        }
    }
    Ok(())
}

/// The results of all machines of a study.
pub(super) fn published_results(study: &Study) -> Vec<Published> {
    study.published.iter().filter_map(|name| published::find(name)).collect()
}

/// The methods of a study that cannot be measured on this machine, each with the reason.
pub(super) fn absent(study: &Study, context: &Context) -> BTreeMap<String, String> {
    let mut absent = BTreeMap::new();
    for part in &study.parts {
        let Ok(experiment) = context.experiments.find(&part.experiment) else { continue };
        for name in study.methods(part) {
            let method: Option<&Method> = experiment.methods.iter().find(|m| m.name == name);
            let why = match method {
                None => Some("this system has no such method".to_owned()),
                Some(method) => workers::not_installed(method),
            };
            absent.extend(why.map(|why| (name.to_owned(), why)));
        }
    }
    absent
}
