//! `bytelab run`: measures an experiment, the rest of a run that was stopped or killed, or what a
//! published study measured, and stores and prints it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

use analysis::{Analysis, analyze};
use anyhow::{Context as _, Result, ensure};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use experiments::workers;
use measure::experiment::Method;
use measure::launch::Stop;
use model::run::Run;
use report::published::{self, Published, Study};
use report::study::{AbsentMethod, StudyReport};

use super::output::{OutputArgs, TableArgs, print_measured};
use super::study_files::StudyFilesArgs;
use super::{Context, exit, layout, load_run, note, warn_if_unoptimised};
use crate::console;
use crate::measuring::{self, ProgressMode, RunOutcome, RunRequest};

/// The arguments of `bytelab run`. Clap parses those of `Resume`; `run_flags` puts one of the other
/// variants in its place if an experiment or a study is named.
#[expect(clippy::large_enum_variant, reason = "a process has one of it")]
pub(crate) enum RunArgs {
    Resume(ResumeArgs),
    Experiment { request: RunRequest, output: OutputArgs, dry_run: bool },
    Study { request: StudyRequest, output: OutputArgs, dry_run: bool },
}

pub(crate) const STUDIES: &str = "`published:STUDY` measures what a published study measured \
                                  (`bytelab list published`), and also takes --report FILE.html, \
                                  --svg DIR and --export-markdown FILE.md";

#[derive(Args)]
pub(crate) struct ResumeArgs {
    /// Continue a run that was stopped or killed: its id, its label, or `latest`
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

impl Args for RunArgs {
    fn augment_args(command: Command) -> Command {
        ResumeArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        ResumeArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for RunArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<RunArgs, clap::Error> {
        ResumeArgs::from_arg_matches(matches).map(RunArgs::Resume)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = RunArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl RunArgs {
    /// Replaces these arguments by those of an experiment or a study, which do not go together with
    /// `--resume`.
    pub(crate) fn replace(&mut self, by: RunArgs) -> Result<()> {
        let names_run = matches!(self, RunArgs::Resume(ResumeArgs { resume: Some(_), .. }));
        ensure!(!names_run, NOTHING_NAMED);
        *self = by;
        Ok(())
    }
}

/// The error if neither of these is named, or both.
const NOTHING_NAMED: &str = "name an experiment, or --resume ID";

/// What is shown on standard error while the run is measured.
#[derive(Args, Clone, Copy)]
pub(crate) struct ProgressArgs {
    /// What is written to standard error during the run
    #[arg(long, value_enum, value_name = "FORM", default_value = "auto")]
    progress: ProgressForm,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProgressForm {
    /// On a terminal the table so far; elsewhere a line per look
    Auto,
    /// A JSON document on one line per look
    Json,
    /// Nothing
    None,
}

impl ProgressArgs {
    pub(crate) fn shown(self) -> ProgressMode {
        match self.progress {
            ProgressForm::Auto => ProgressMode::Table,
            ProgressForm::Json => ProgressMode::Json,
            ProgressForm::None => ProgressMode::Nothing,
        }
    }
}

pub(crate) fn run(args: RunArgs, context: &Context) -> Result<ExitCode> {
    match args {
        RunArgs::Resume(args) => resume(&args, context),
        RunArgs::Experiment { request, dry_run: true, .. } => {
            dry_run(&request, context)?;
            Ok(ExitCode::SUCCESS)
        }
        RunArgs::Experiment { request, output, .. } => {
            measure(&request, context, |run| print_measured(run, &output, TableArgs::default()))
        }
        RunArgs::Study { request, dry_run: true, .. } => dry_run_study(&request, context),
        RunArgs::Study { request, output, .. } => run_study(&request, &output, context),
    }
}

/// Prints what would be measured.
fn dry_run(request: &RunRequest, context: &Context) -> Result<()> {
    let store = context.store_of(request)?;
    let text = measuring::dry_run(&context.experiments, request, store)?;
    Ok(console::stdout().write_all(text.as_bytes())?)
}

fn resume(args: &ResumeArgs, context: &Context) -> Result<ExitCode> {
    let ResumeArgs { resume: id, output, progress } = args;
    let id = id.as_deref().context(NOTHING_NAMED)?;
    let shown = progress.shown();
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let mut store = context.local_store(None)?;
    let measured = load_run(&mut store.sqlite, id)
        .and_then(|run| measuring::resume(&context.experiments, run, store, shown, &stop));
    conclude(measured, &stop, |run| print_measured(run, output, TableArgs::default()))
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
    /// The files to which its page and its figures are written.
    pub(crate) files: StudyFilesArgs,
}

fn dry_run_study(request: &StudyRequest, context: &Context) -> Result<ExitCode> {
    note_left_out(request)?;
    request.parts.iter().try_for_each(|part| dry_run(part, context))?;
    Ok(ExitCode::SUCCESS)
}

fn note_left_out(request: &StudyRequest) -> io::Result<()> {
    request.left_out.iter().try_for_each(|why| note(&format!("not measured: {why}")))
}

fn run_study(request: &StudyRequest, output: &OutputArgs, context: &Context) -> Result<ExitCode> {
    request.files.ensure_directories()?;
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
    request.files.write(&report)?;
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

/// The methods of a study that cannot be measured on this machine.
pub(super) fn absent(study: &Study, context: &Context) -> BTreeMap<String, AbsentMethod> {
    let mut absent = BTreeMap::new();
    for part in &study.parts {
        let Ok(experiment) = context.experiments.find(&part.experiment) else { continue };
        for name in study.methods(part) {
            let method: Option<&Method> = experiment.methods.iter().find(|m| m.name == name);
            let reason = match method {
                None => Some("this system has no such method".to_owned()),
                Some(method) => workers::not_installed(method),
            };
            let remedy = method.and_then(workers::remedy).unwrap_or_default().to_owned();
            let why = reason.map(|reason| AbsentMethod { reason, remedy });
            absent.extend(why.map(|why| (name.to_owned(), why)));
        }
    }
    absent
}
