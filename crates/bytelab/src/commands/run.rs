//! `bytelab run`: measures an experiment, stores the run and prints it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::context::Context;
use super::measure::measure;
use super::output::{OutputArgs, print};
use super::resume;
use crate::measuring::RunRequest;

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
}

pub(crate) fn run(args: RunArgs, context: &Context) -> Result<ExitCode> {
    let RunArgs { resume, output, request } = args;
    match (&resume, request) {
        (Some(id), None) => resume::run(id, &output, context),
        (None, Some(request)) => measure(request, context, |run| print(run, &output)),
        _ => anyhow::bail!("name an experiment, or --resume ID"),
    }
}
