//! Code that `run`, its `--resume` and `numbers` share: measure, print, and compute the exit
//! status.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use lab::analyze::Analysis;
use lab::launch::Stop;
use lab::run::Run;

use super::context::{Context, warn_if_unoptimised};
use super::exit;
use crate::measuring::{self, Measured, RunRequest};

/// Measures the request and prints the result.
pub(super) fn measure(
    request: RunRequest,
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
pub(super) fn conclude(
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
