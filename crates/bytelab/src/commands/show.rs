//! `bytelab show`: prints a stored run again.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::context::{Context, layout};
use super::output::{OutputArgs, TableArgs, print};
use crate::console;
use crate::{report, store};

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The id of the run; `latest` is the newest
    id: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    table: TableArgs,
    /// Also draw the samples of each method, in their order and as a histogram
    #[arg(long, conflicts_with = "json")]
    plot: bool,
}

pub(crate) fn run(args: &ShowArgs, context: &Context) -> Result<ExitCode> {
    let run = store::load(context.open_store()?.as_mut(), &args.id)?;
    let analysis = print(&run, &args.output, args.table)?;
    if args.plot {
        let text = report::plot(&run, &analysis, &layout());
        console::stdout().write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
