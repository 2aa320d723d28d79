//! How a run is printed, and `bytelab show`, which prints a stored run again.

use std::io::{self, Write};
use std::process::ExitCode;

use analysis::{Analysis, analyze};
use anyhow::Result;
use clap::Args;
use experiments::custom;
use model::run::Run;
use report::{ExtraColumn, RowOrder, TableOptions, TimeUnit};

use super::{Context, layout};
use crate::console;

#[derive(Args, Clone)]
pub(crate) struct OutputArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print p0 to p100 of every metric
    #[arg(long, conflicts_with = "json")]
    pub(crate) percentiles: bool,
    /// Print all notes, and not only three
    ///
    /// Those three are the notes that could change the answer most.
    #[arg(long, conflicts_with = "json")]
    pub(crate) notes: bool,
    /// Also show these columns
    #[arg(
        long,
        value_enum,
        hide_short_help = true,
        value_name = "NAME,…",
        value_delimiter = ',',
        conflicts_with = "json"
    )]
    pub(crate) columns: Vec<ExtraColumn>,
}

/// How the tables of a run are arranged.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct TableArgs {
    /// The unit of the times: microsecond, millisecond, second [default: what fits]
    #[arg(short = 'u', long, value_enum, value_name = "UNIT", hide_possible_values = true)]
    time_unit: Option<TimeUnit>,
    /// The order of the lines: auto (by time), command or mean-time (by time) [default: auto]
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        hide_possible_values = true,
        hide_short_help = true
    )]
    sort: Option<RowOrder>,
}

impl TableArgs {
    pub(crate) fn options(self) -> TableOptions<'static> {
        let TableArgs { time_unit, sort } = self;
        TableOptions { more: &[], own: &[], time_unit, order: sort.unwrap_or_default() }
    }
}

/// The metrics that only the definition of the run gives.
pub(crate) fn own_metrics(run: &Run) -> Vec<String> {
    let definition = run.plan.definition.as_ref();
    definition.map(|own| custom::own_metrics(&own.text)).unwrap_or_default()
}

pub(crate) fn print(run: &Run, output: &OutputArgs, table: TableArgs) -> Result<Analysis> {
    let analysis = analyze(run);
    let mut out = io::BufWriter::new(console::stdout());
    if output.json {
        report::json(run, &analysis, &mut out)?;
        writeln!(out)?;
    } else {
        let layout = layout();
        let own = own_metrics(run);
        let table = TableOptions { more: &output.columns, own: &own, ..table.options() };
        let shown = report::TextOptions { table, all_notes: output.notes };
        out.write_all(report::text(run, &analysis, shown, &layout).as_bytes())?;
        if output.percentiles {
            write!(out, "\n{}", report::percentiles(run, &analysis, &layout))?;
        }
    }
    out.flush()?;
    Ok(analysis)
}

// `bytelab show`: prints a stored run again.

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The run: its id, its label, or `latest`, the newest
    #[arg(default_value = store::LATEST)]
    id: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    table: TableArgs,
    /// Also draw the samples of each method, in their order and as a histogram
    #[arg(long, conflicts_with = "json")]
    plot: bool,
}

pub(crate) fn show(args: &ShowArgs, context: &Context) -> Result<ExitCode> {
    let run = store::load(context.open_store()?.as_mut(), &args.id)?;
    let analysis = print(&run, &args.output, args.table)?;
    if args.plot {
        let text = report::plot(&run, &analysis, &layout());
        console::stdout().write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
