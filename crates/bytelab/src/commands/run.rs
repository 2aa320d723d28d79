//! `bytelab run`: measures an experiment, or the rest of a run that was stopped or killed, and
//! stores and prints it.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use lab::analyze::Analysis;
use lab::launch::Stop;
use lab::run::Run;

use super::context::{Context, note, warn_if_unoptimised};
use super::exit;
use super::output::{OutputArgs, TableArgs, print};
use super::study::{self, StudyRequest};
use crate::console;
use crate::measuring::{self, Measured, RunRequest, Shown};

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Continue a run that was stopped or killed
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
    progress: Form,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// The table until now, on a terminal; elsewhere a line per look
    Auto,
    /// A JSON document on one line per look
    Json,
    /// Nothing
    None,
}

impl ProgressArgs {
    fn shown(self) -> Shown {
        match self.progress {
            Form::Auto => Shown::Table,
            Form::Json => Shown::Json,
            Form::None => Shown::Nothing,
        }
    }
}

pub(crate) fn run(args: RunArgs, context: &Context) -> Result<ExitCode> {
    let RunArgs { resume: resumed, output, progress, request, study, dry_run } = args;
    let shown = progress.shown();
    if let (None, Some(mut request)) = (&resumed, study) {
        request.parts.iter_mut().for_each(|part| part.shown = shown);
        return if dry_run {
            study::dry_run(&request, context)
        } else {
            study::run(&request, &output, context)
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

fn resume(id: &str, output: &OutputArgs, shown: Shown, context: &Context) -> Result<ExitCode> {
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
    measured: Result<Measured>,
    stop: &Stop,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    let Measured { run, tidy } = match (measured, exit::of_signal(stop)) {
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
        return Ok(exit::of_run(&run, &analysis, tidy));
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
