//! The command line: the subcommands and their flags.

mod asked;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};
use lab::experiment::Experiment;
use lab::param::{Point, Value};
use lab::run::CacheState;

use crate::check::{BaselineTask, CheckArgs};
use crate::compare::CompareArgs;
use crate::experiments;
use crate::export::ExportArgs;
use crate::history::HistoryArgs;
use crate::import_file::ImportArgs;
use crate::numbers;
use crate::report::More;
use crate::report::numbers::{COLUMNS, Column};
use crate::report_file::ReportArgs;
use crate::self_test::pairs::Kind;
use crate::tools::cat::CatArgs;
use crate::tools::fleece::FleeceArgs;
use crate::tools::sample::SampleArgs;

pub(crate) use self::asked::{Asked, parse, taken, tool};

/// What does it cost to get bytes into a program, and which way is best — on this machine, with this
/// data — and is that proved?
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
    Numbers(NumbersArgs),
    /// Measure: run an experiment, prove its answers, show which method wins
    #[command(arg_required_else_help = true, subcommand_value_name = "EXPERIMENT|FILE.toml")]
    Run(RunArgs),
    /// The experiments and their methods; `list published`: results of others
    List {
        /// Only this one, with its params: a name, or a file of yours; or `published`, `published:NAME`
        #[arg(value_name = "EXPERIMENT|FILE.toml")]
        experiment: Option<String>,
    },
    /// Write an experiment of your own to start from: a commented file that runs as it is
    Init(InitArgs),
    /// Fleece, the binary form of JSON: convert, check, look into
    Fleece(FleeceArgs),
    /// What this machine can measure, from which source, and what would enable the rest
    Doctor {
        #[arg(long)]
        json: bool,
    },
    /// Check the measuring against known truth (one minute at most)
    SelfTest(SelfTestArgs),
    /// Files and URLs to standard output, in the cheapest way
    Cat(CatArgs),
    /// The stored runs, the oldest first; or one method over time
    History(HistoryArgs),
    /// A stored run again
    Show {
        /// Its id; `latest` is the newest
        id: String,
        #[command(flatten)]
        output: OutputArgs,
        /// Draw the samples of each method, too: in their order, and as a histogram
        #[arg(long, conflicts_with = "json")]
        plot: bool,
    },
    /// Two runs, labels or machines side by side, or a run beside published results
    Compare(CompareArgs),
    /// Fail if a method got slower than allowed: beside its old side, or measured again against a baseline
    #[command(subcommand_value_name = "EXPERIMENT|FILE.toml", subcommand_negates_reqs = true)]
    Check(CheckArgs),
    /// Names for the runs that are checked against
    Baseline {
        #[command(subcommand)]
        task: BaselineTask,
    },
    /// Charts of stored runs: one HTML file, or SVG files
    Report(ReportArgs),
    /// Keep what another program measured as a run
    Import(ImportArgs),
    /// A stored run for other programs: CSV, Parquet, benchstat, hyperfine and more
    Export(ExportArgs),
    /// Random records of files and streams, fair and reading only what it must
    #[command(arg_required_else_help = true)]
    Sample(Box<SampleArgs>),
    /// Remove runs from the store
    Delete {
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Continue a run that was stopped or killed
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args)]
pub(crate) struct InitArgs {
    /// Where it is written
    #[arg(default_value = "experiment.toml")]
    pub(crate) file: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the JSON Schema of such files, for editors, and write nothing
    #[arg(long, conflicts_with_all = ["file", "force"])]
    pub(crate) schema: bool,
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct NumbersArgs {
    /// Take more time for narrower results (at most 3 minutes)
    #[arg(long)]
    pub(crate) full: bool,
    /// Only these rows (their names are those of --json)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) row: Vec<String>,
    /// Only these columns
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = column)]
    pub(crate) columns: Vec<Column>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a table for a wiki
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Where files are made [default: where made data is kept]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<String>,
    /// Rounds of all sessions together, at most [default: 72; 500 with --full]
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: Option<u32>,
    /// A name for the run, to find it again
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Where made data is kept [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BYTELAB_DATA_DIR", hide_env_values = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Do not keep the run
    #[arg(long)]
    pub(crate) no_store: bool,
}

fn column(name: &str) -> Result<Column, String> {
    let found = COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, column)| *column);
    found.ok_or_else(|| {
        let known: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        format!("there is no such column; there are {}", known.join(", "))
    })
}

impl NumbersArgs {
    /// The same as `run numbers` would be asked.
    pub(crate) fn asked(&self, experiments: &[Experiment]) -> Result<Asked> {
        let experiment =
            experiments.iter().find(|experiment| experiment.name == numbers::EXPERIMENT);
        let experiment = experiment.context("there is no experiment numbers")?;
        let mut axes: Vec<(&str, Vec<Value>)> = Vec::new();
        for param in &experiment.params {
            let rows = self.row.join(",");
            let text = match param.name {
                "row" if rows.is_empty() => param.default,
                "row" => &rows,
                _ => self.dir.as_deref().unwrap_or(param.default),
            };
            if !text.is_empty() {
                axes.push((param.name, param.parse(text)?));
            }
        }
        let (sessions, rounds, seconds) = if self.full { (10, 500, 60) } else { (6, 72, 15) };
        let rounds = self.rounds.unwrap_or(rounds);
        Ok(Asked {
            experiment: experiment.name.to_owned(),
            points: Point::product(&axes),
            definition: None,
            measuring: MeasureArgs {
                methods: Vec::new(),
                languages: Vec::new(),
                reference: None,
                workers: Vec::new(),
                rounds,
                time: Duration::from_secs(seconds),
                warm_up: 1,
                sessions: Some(sessions.min(rounds)),
                seed: None,
                cache: Cache::Warm,
                sample_limit: Duration::from_mins(1),
                counting: 0,
                fresh: false,
                trace: None,
                label: self.label.clone(),
                data_dir: self.data_dir.clone(),
                no_store: self.no_store,
            },
        })
    }
}

/// Of which there is a method.
fn percent(text: &str) -> Result<u32, String> {
    let number = text.trim_end_matches('%').parse();
    let known = experiments::self_test::percents;
    number.ok().filter(|percent| known().any(|known| known == *percent)).ok_or_else(|| {
        let known: Vec<String> = known().map(|percent| percent.to_string()).collect();
        format!("one of {}", known.join(", "))
    })
}

#[derive(Args)]
pub(crate) struct SelfTestArgs {
    /// Compare methods that cost the same in so many runs, and count the false alarms
    #[arg(long, value_name = "PAIRS")]
    pub(crate) aa: Option<u32>,
    /// What the two methods of such a pair differ by
    #[arg(
        long = "kind",
        value_enum,
        value_delimiter = ',',
        default_value = "same",
        requires = "aa"
    )]
    pub(crate) kinds: Vec<Kind>,
    /// Count in 100 runs (or as many as --aa says) how often one that does so many percent more is found slower
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', value_parser = percent)]
    pub(crate) ab: Vec<u32>,
    /// Do so beside so many processes for each CPU that want it all the time
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(crate) load: Vec<u32>,
    /// Check a method against a baseline of itself so many times, and count the failures
    #[arg(long, value_name = "CHECKS", conflicts_with = "aa")]
    pub(crate) aa_check: Option<u32>,
}

#[derive(Args, Clone)]
pub(crate) struct OutputArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Print p0 to p100 of every metric
    #[arg(long, conflicts_with = "json")]
    pub(crate) percentiles: bool,
    /// Show these columns, too
    #[arg(long, value_enum, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "json")]
    pub(crate) columns: Vec<More>,
}

/// How an experiment is measured: the flags that all of them have.
#[derive(Args)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct MeasureArgs {
    /// Only these methods (`*` stands for any text); may be repeated [default: all]
    #[arg(short, long = "method", value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// Only methods in these languages, and all of them; `bytelab list EXPERIMENT` tells which are installed
    /// [default: of each that is installed, the best]
    #[arg(long = "language", value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) languages: Vec<String>,
    /// The method that the others are compared with [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) reference: Option<String>,
    /// A program that speaks the line protocol competes, too; may be repeated
    #[arg(long = "worker", value_name = "NAME=COMMAND")]
    pub(crate) workers: Vec<String>,
    /// Rounds of all sessions together, at most
    #[arg(short = 'n', long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: u32,
    /// Time for the rounds; a run takes at most three times that, counting and what verdicts need included
    #[arg(short, long, default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) time: Duration,
    /// Rounds at the start of a session that do not count
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) warm_up: u32,
    /// Sets of fresh processes that share the rounds [default: one for every five rounds, at least six]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sessions: Option<u32>,
    /// Of the random orders [default: another one each time]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The state of the data in the page cache, proved for every sample
    #[arg(long, value_enum, default_value = "warm")]
    pub(crate) cache: Cache,
    /// Time for one sample, at most; a method that needs more is killed
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    pub(crate) sample_limit: Duration,
    /// Samples per method, after all others, in which system calls and the like are counted; 0 is none
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) counting: u32,
    /// Take every sample in a new process; show start-up, first touch and total apart
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Write a timeline of one more round to this file, to be opened in ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// A name for the run, to find it again
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Where made data is kept [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BYTELAB_DATA_DIR", hide_env_values = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Do not keep the run
    #[arg(long)]
    pub(crate) no_store: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Cache {
    Warm,
    Cold,
    AsIs,
}

impl From<Cache> for CacheState {
    fn from(cache: Cache) -> CacheState {
        match cache {
            Cache::Warm => CacheState::Warm,
            Cache::Cold => CacheState::Cold,
            Cache::AsIs => CacheState::AsIs,
        }
    }
}
