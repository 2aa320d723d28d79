//! `bytelab run`: measures an experiment, or the rest of a run that was stopped or killed, and
//! stores and prints it.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lab::analyze::Analysis;
use lab::launch::Stop;
use lab::run::Run;

use super::context::{Context, warn_if_unoptimised};
use super::exit;
use super::output::{OutputArgs, print};
use crate::measuring::{self, Measured, RunRequest};

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Continue a run that was stopped or killed
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Set if an experiment is named.
    #[arg(skip)]
    pub(crate) request: Option<RunRequest>,
    /// Whether only the plan is printed.
    #[arg(skip)]
    pub(crate) dry_run: bool,
}

pub(crate) fn run(args: RunArgs, context: &Context) -> Result<ExitCode> {
    let RunArgs { resume: resumed, output, request, dry_run } = args;
    match (&resumed, request) {
        (None, Some(request)) if dry_run => {
            let store = context.store_if(request.keep)?;
            let text = measuring::dry_run(&context.experiments, &request, store)?;
            io::stdout().lock().write_all(text.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        (Some(id), None) => resume(id, &output, context),
        (None, Some(request)) => measure(&request, context, |run| print(run, &output)),
        _ => anyhow::bail!("name an experiment, or --resume ID"),
    }
}

fn resume(id: &str, output: &OutputArgs, context: &Context) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let measured = measuring::resume(&context.experiments, id, context.open_store()?, &stop);
    conclude(measured, &stop, |run| print(run, output))
}

/// Measures the request and prints the result.
pub(super) fn measure(
    request: &RunRequest,
    context: &Context,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let store = context.store_if(request.keep)?;
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
            writeln!(io::stderr(), "bytelab: {error:#}; nothing was measured yet")?;
            return Ok(stopped);
        }
        (Err(error), None) => return Err(error),
    };
    let analysis = print(&run)?;
    let Some(stopped) = exit::of_signal(stop) else {
        return Ok(exit::of_run(&run, &analysis, tidy));
    };
    if run.id.parse::<u64>().is_ok() {
        writeln!(io::stderr(), "bytelab: stopped; go on with: bytelab run --resume {}", run.id)?;
    }
    Ok(stopped)
}
