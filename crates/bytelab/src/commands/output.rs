//! How a run is printed.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use lab::analyze::{Analysis, analyze};
use lab::run::Run;

use super::context::layout;
use crate::report::{self, More};

#[derive(Args, Clone)]
pub(crate) struct OutputArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print p0 to p100 of every metric
    #[arg(long, conflicts_with = "json")]
    pub(crate) percentiles: bool,
    /// Print all notes, and not only the three that could change the answer most
    #[arg(long, conflicts_with = "json")]
    pub(crate) notes: bool,
    /// Also show these columns
    #[arg(long, value_enum, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "json")]
    pub(crate) columns: Vec<More>,
}

pub(crate) fn print(run: &Run, output: &OutputArgs) -> Result<Analysis> {
    let analysis = analyze(run);
    let mut out = io::BufWriter::new(io::stdout().lock());
    if output.json {
        report::json(run, &analysis, &mut out)?;
        writeln!(out)?;
    } else {
        let layout = layout();
        let shown = report::Shown { more: &output.columns, all_notes: output.notes };
        out.write_all(report::text(run, &analysis, shown, &layout).as_bytes())?;
        if output.percentiles {
            write!(out, "\n{}", report::percentiles(run, &analysis, &layout))?;
        }
    }
    out.flush()?;
    Ok(analysis)
}
