//! The command line: the subcommands.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::commands::{
    Context, baseline, cat, check, compare, delete, doctor, export, fleece, history, import, init,
    list, numbers, report, run, sample, self_test, show,
};

/// What does it cost to get bytes into a program, and which way is best — on this machine, with
/// this data — and is that proved?
#[derive(Parser)]
#[command(name = "bytelab", version, max_term_width = 100, after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    /// Where runs are kept [default: runs.sqlite in the user's data directory]
    #[arg(long, global = true, value_name = "FILE", env = "BYTELAB_STORE", hide_env_values = true)]
    pub(crate) store: Option<OsString>,

    #[command(subcommand)]
    pub(crate) task: Task,
}

const EXIT_STATUS: &str = "Exit status: 0 all was measured; 1 something did not run, or answers \
                           disagree; 2 wrong use; of thresholds in a file: 3 one is exceeded, 4 one is \
                           undecided; 130 or 143 stopped by a signal.";

#[derive(Subcommand)]
pub(crate) enum Task {
    /// The latency numbers of this machine, beside published ones (at most 45 seconds)
    Numbers(numbers::NumbersArgs),
    /// Measure: run an experiment, prove its answers, show which method wins
    #[command(arg_required_else_help = true, subcommand_value_name = "EXPERIMENT|FILE.toml")]
    Run(run::RunArgs),
    /// The experiments and their methods; `list published`: results of others
    List(list::ListArgs),
    /// Write an experiment of your own to start from: a commented file that runs as it is
    Init(init::InitArgs),
    /// Fleece, the binary form of JSON: convert, check, look into
    Fleece(fleece::FleeceArgs),
    /// What this machine can measure, from which source, and what would enable the rest
    Doctor(doctor::DoctorArgs),
    /// Check the measuring against known truth (one minute at most)
    SelfTest(self_test::SelfTestArgs),
    /// Files and URLs to standard output, in the cheapest way
    Cat(cat::CatArgs),
    /// The stored runs, the oldest first; or one method over time
    History(history::HistoryArgs),
    /// A stored run again
    Show(show::ShowArgs),
    /// Two runs, labels or machines side by side, or a run beside published results
    Compare(compare::CompareArgs),
    /// Fail if a method got slower than allowed: beside its old side, or measured again against a
    /// baseline
    #[command(subcommand_value_name = "EXPERIMENT|FILE.toml", subcommand_negates_reqs = true)]
    Check(check::CheckArgs),
    /// Names for the runs that are checked against
    Baseline(baseline::BaselineArgs),
    /// Charts of stored runs: one HTML file, or SVG files
    Report(report::ReportArgs),
    /// Keep what another program measured as a run
    Import(import::ImportArgs),
    /// A stored run for other programs: CSV, Parquet, benchstat, hyperfine and more
    Export(export::ExportArgs),
    /// Random records of files and streams, fair and reading only what it must
    #[command(arg_required_else_help = true)]
    Sample(Box<sample::SampleArgs>),
    /// Remove runs from the store
    Delete(delete::DeleteArgs),
}

impl Task {
    pub(crate) fn run(self, context: &Context) -> Result<ExitCode> {
        match self {
            Task::Numbers(args) => numbers::run(&args, context),
            Task::Run(args) => run::run(args, context),
            Task::List(args) => list::run(&args, context),
            Task::Init(args) => init::run(&args, context),
            Task::Fleece(args) => fleece::run(&args, context),
            Task::Doctor(args) => doctor::run(&args, context),
            Task::SelfTest(args) => self_test::run(&args, context),
            Task::Cat(args) => Ok(cat::run(args, context)),
            Task::History(args) => history::run(&args, context),
            Task::Show(args) => show::run(&args, context),
            Task::Compare(args) => compare::run(&args, context),
            Task::Check(args) => check::run(args, context),
            Task::Baseline(args) => baseline::run(&args, context),
            Task::Report(args) => report::run(&args, context),
            Task::Import(args) => import::run(&args, context),
            Task::Export(args) => export::run(&args, context),
            Task::Sample(args) => Ok(sample::run(&args, context)),
            Task::Delete(args) => delete::run(&args, context),
        }
    }
}
