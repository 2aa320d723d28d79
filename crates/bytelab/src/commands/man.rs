//! `bytelab man`: a manual page for the program and for each subcommand, for packages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;

use super::context::Context;

use crate::path_arg::path;

#[derive(Args)]
pub(crate) struct ManArgs {
    /// It is made if it does not exist
    #[arg(value_name = "DIR", value_parser = path())]
    dir: PathBuf,
}

pub(crate) fn run(args: &ManArgs, context: &Context) -> Result<ExitCode> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let command = (context.command)(&context.experiments.experiments);
    // The name of a page is that which the command shows with its version: it may have no blank.
    let command = command.mut_subcommand("cat", |cat| cat.display_name("bytelab-cat"));
    clap_mangen::generate_to(command, dir).with_context(|| dir.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}
