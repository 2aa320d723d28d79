//! `bytelab run --resume`: continues a run that was stopped or killed.

use std::process::ExitCode;

use anyhow::Result;
use lab::launch::Stop;

use super::context::{Context, warn_if_unoptimised};
use super::measure::conclude;
use super::output::{OutputArgs, print};
use crate::measuring;

pub(super) fn run(id: &str, output: &OutputArgs, context: &Context) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let measured = measuring::resume(&context.experiments, id, context.open_store()?, &stop);
    conclude(measured, &stop, |run| print(run, output))
}
