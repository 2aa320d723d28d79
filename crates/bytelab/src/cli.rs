//! The command line: the subcommands.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use tools::{cat, fleece, sample};

use crate::commands::{
    Context, baseline, bench, check, compare, completions, delete, doctor, export, history, import,
    init, list, numbers, output, push, report, run, self_test, serve,
};
use crate::console;

/// Measures which of several ways to do the same job is best on this machine and with this data,
/// and says how certain that is: commands, builds, or methods that get bytes into a program
#[derive(Parser)]
#[command(name = "bytelab", version, max_term_width = 100, after_help = after_help())]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    /// Print the licences of the third-party code in this program
    #[arg(long, hide_short_help = true)]
    pub(crate) licences: bool,

    #[command(subcommand)]
    pub(crate) task: CliCommand,
}

// The flags of all commands; a doc comment would be the description of the program.
#[derive(Args, Default)]
pub(crate) struct GlobalArgs {
    /// Where runs are stored: a file, or `postgres://HOST/DATABASE` [default: runs.sqlite in the
    /// user's data directory]
    #[arg(
        long,
        global = true,
        value_name = "STORE",
        env = "BYTELAB_STORE",
        hide_env_values = true
    )]
    pub(crate) store: Option<OsString>,

    /// Pass this variable on to measured commands, although it may hold a password of the server
    ///
    /// Without this flag, measured commands, builds and hooks do not get `BYTELAB_SERVER`, nor, if
    /// a server is named, `PGPASSWORD` and the variable that names it.
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub(crate) keep_env: Vec<String>,
}

/// What most people want to know, and how to ask it.
pub(crate) const EXAMPLES: &str = "Examples:
  bytelab 'gzip -c x' 'gzip -9c x'   which of two commands is faster, and is that proved
  bytelab numbers                    what memory, threads, calls and files cost on this machine
  bytelab history                    what was measured; `bytelab show` prints the latest run";

const MORE_EXAMPLES: &str = "
  bytelab bench --rev HEAD~1,HEAD --build 'make' './work x'
      which of two commits is faster
  bytelab bench './work x' --toml > bench.toml
  bytelab check bench.toml --against ../main/bench.toml --allow wall=5%
      a gate: whether the program here is slower than that of another checkout";

fn after_help() -> String {
    let glossary = ::report::GLOSSARY;
    format!("{EXAMPLES}\n{MORE_EXAMPLES}\n\nThe words are explained at {glossary}\n\n{EXIT_STATUS}")
}

const EXIT_STATUS: &str = "Exit status: 0 all was measured; 1 something did not run, or answers \
                           disagree; 2 wrong use; of thresholds in a file: 3 one is exceeded, 4 one is \
                           undecided; 130 or 143 stopped by a signal.";

/// Written by `.ci/licences`.
const LICENCES: &str = include_str!("../licences.txt");

/// Prints the licences if nothing else is requested: all other flags need a subcommand.
pub(crate) fn licences(words: &[OsString]) -> Option<Result<ExitCode>> {
    let requested = matches!(words, [_, flag] if flag == "--licences");
    requested.then(|| {
        console::stdout().write_all(LICENCES.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    })
}

#[derive(Subcommand)]
pub(crate) enum CliCommand {
    /// Measure commands side by side: `bytelab bench 'gzip -c x' 'zstd -c x'`
    Bench(Box<bench::BenchArgs>),
    /// Measure: run an experiment, verify its answers, show which method wins
    #[command(
        arg_required_else_help = true,
        subcommand_value_name = "EXPERIMENT|FILE.toml",
        after_help = run::STUDIES
    )]
    Run(run::RunArgs),
    /// Measure this machine's latency numbers, with published ones (at most 45 seconds)
    Numbers(numbers::NumbersArgs),
    /// List the experiments and their methods; `list published`: results of others
    List(list::ListArgs),
    /// Write an example experiment: a commented file that can be run without changes
    Init(init::InitArgs),
    /// List the stored runs, the oldest first; or show one method over time
    History(history::HistoryArgs),
    /// Print a stored run again
    Show(output::ShowArgs),
    /// Compare two runs, labels or machines, or a run with published results
    Compare(compare::CompareArgs),
    /// Draw charts of stored runs: one HTML file, or SVG files
    Report(report::ReportArgs),
    /// Write a stored run for other programs: CSV, Parquet, benchstat, hyperfine and more
    Export(export::ExportArgs),
    /// Store results of another program as a run
    Import(import::ImportArgs),
    /// Fail if a method got slower than allowed, compared with its old side in the same rounds, or
    /// with a baseline
    #[command(subcommand_value_name = "EXPERIMENT|FILE.toml", subcommand_negates_reqs = true)]
    Check(check::CheckArgs),
    /// Manage baselines: names of runs that later runs are checked against
    Baseline(baseline::BaselineArgs),
    /// Give a run another label; an empty one removes it
    Label(baseline::LabelArgs),
    /// Remove runs from the store, or generated data and built workers from the cache
    Delete(delete::DeleteArgs),
    /// Serve pages of the stored runs to browsers, read-only
    Serve(serve::ServeArgs),
    /// Push stored runs to a PostgreSQL server; without an id, those that wait to be pushed
    #[cfg_attr(not(feature = "postgres"), command(hide = true))]
    Push(push::PushArgs),
    /// Get runs from a PostgreSQL server into the store
    #[cfg_attr(not(feature = "postgres"), command(hide = true))]
    Pull(push::PullArgs),
    /// Show what this machine can measure, from which source, and what the rest needs
    Doctor(doctor::DoctorArgs),
    /// Check the measurement against known values (one minute at most)
    SelfTest(self_test::SelfTestArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Man(completions::ManArgs),
    /// Copy files and URLs to standard output at the lowest cost
    Cat(cat::CatArgs),
    /// Draw random records of files and streams, unbiased and with as few reads as possible
    #[command(arg_required_else_help = true)]
    Sample(Box<sample::SampleArgs>),
    /// Convert, check and inspect Fleece documents, a binary form of JSON
    Fleece(fleece::FleeceArgs),
}

impl CliCommand {
    pub(crate) fn run(self, context: &Context) -> Result<ExitCode> {
        match self {
            CliCommand::Numbers(args) => numbers::run(&args, context),
            CliCommand::Run(args) => run::run(args, context),
            CliCommand::Bench(args) => bench::run(&args, context),
            CliCommand::List(args) => list::run(&args, context),
            CliCommand::Init(args) => init::run(&args, context),
            CliCommand::Fleece(args) => fleece::run(&args),
            CliCommand::Doctor(args) => doctor::run(&args, context),
            CliCommand::SelfTest(args) => self_test::run(&args, context),
            CliCommand::Cat(args) => Ok(cat::run(args)),
            CliCommand::History(args) => history::run(&args, context),
            CliCommand::Show(args) => output::show(&args, context),
            CliCommand::Compare(args) => compare::run(&args, context),
            CliCommand::Check(args) => check::run(args, context),
            CliCommand::Baseline(args) => baseline::run(&args, context),
            CliCommand::Report(args) => report::run(&args, context),
            CliCommand::Serve(args) => serve::run(&args, context),
            CliCommand::Import(args) => import::run(&args, context),
            CliCommand::Export(args) => export::run(&args, context),
            CliCommand::Sample(args) => Ok(sample::run(&args)),
            CliCommand::Completions(args) => completions::run(&args, context),
            CliCommand::Man(args) => completions::man(&args, context),
            CliCommand::Label(args) => baseline::label(&args, context),
            CliCommand::Push(args) => push::push(&args, context),
            CliCommand::Pull(args) => push::pull(&args, context),
            CliCommand::Delete(args) => delete::run(&args, context),
        }
    }
}
