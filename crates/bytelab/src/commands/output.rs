//! How a run is printed, and `bytelab show`, which prints a stored run again.

use std::io::{self, Write};
use std::process::ExitCode;

use analysis::{Analysis, analyze};
use anyhow::Result;
use clap::Args;
use experiments::custom;
use model::run::Run;
use report::{ExtraColumn, PageExtent, RowOrder, TableOptions, TextOptions, TimeUnit};

use super::export::parameters;
use super::{Context, layout, load_run};
use crate::console;

#[derive(Args, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct OutputArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print p0 to p100 of every metric
    #[arg(long, conflicts_with = "json")]
    pub(crate) percentiles: bool,
    /// Print the answer alone, in a sentence
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print all tables of a run that has many
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) all: bool,
    /// Print all notes, and not only the most important one
    #[arg(long, conflicts_with = "json")]
    pub(crate) notes: bool,
    /// Say how to read the table; the first run in a store does
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
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
        TableOptions { time_unit, order: sort.unwrap_or_default(), ..TableOptions::default() }
    }
}

/// The metrics that only the definition of the run gives.
pub(crate) fn own_metrics(run: &Run) -> Vec<String> {
    let definition = run.plan.definition.as_ref();
    definition.map(|own| custom::own_metrics(&own.text)).unwrap_or_default()
}

/// Prints a run that was measured just now.
pub(crate) fn print_measured(run: &Run, output: &OutputArgs, table: TableArgs) -> Result<Analysis> {
    // Who has read the first run in a store knows how to read its table.
    let explain = output.explain || run.id == "1";
    print(run, &OutputArgs { explain, ..output.clone() }, table)
}

pub(crate) fn print(run: &Run, output: &OutputArgs, table: TableArgs) -> Result<Analysis> {
    let analysis = analyze(run);
    let mut out = io::BufWriter::new(console::stdout());
    if output.json {
        report::json(run, &analysis, &mut out)?;
        writeln!(out)?;
    } else {
        let layout = layout();
        let (own, parameters) = (own_metrics(run), parameters(run));
        let (more, parameters) = (&output.columns[..], Some(&parameters));
        let table = TableOptions { more, own: &own, parameters, ..table.options() };
        let extent = match output {
            OutputArgs { quiet: true, .. } => PageExtent::Answer,
            OutputArgs { all: true, .. } => PageExtent::All,
            _ => PageExtent::Summary,
        };
        let (all_notes, explain) = (output.notes, output.explain);
        let shown = TextOptions { table, all_notes, explain, extent };
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
    let run = load_run(context.open_store()?.as_mut(), &args.id)?;
    let analysis = print(&run, &args.output, args.table)?;
    if args.plot {
        let text = report::plot(&run, &analysis, &layout());
        console::stdout().write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
