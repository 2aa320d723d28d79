//! The flags that measuring any experiment has.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lab::param::Point;
use lab::run::{CacheState, Definition};

use crate::measuring::{RunRequest, Selection};

/// Of all sessions together.
pub(crate) const MOST_ROUNDS: i64 = 1_000_000;
/// Also of rounds that warm up, and of samples that count.
pub(crate) const MOST_SESSIONS: i64 = 1000;

/// How an experiment is measured: the flags that all of them have.
#[derive(Args)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct MeasureArgs {
    /// Only these methods (`*` stands for any text); may be repeated [default: all]
    #[arg(short, long = "method", value_name = "NAME,…", value_delimiter = ',')]
    methods: Vec<String>,
    /// Only methods in these languages, and all of them; `bytelab list EXPERIMENT` tells which are
    /// installed [default: of each that is installed, the best]
    #[arg(long = "language", value_name = "NAME,…", value_delimiter = ',')]
    languages: Vec<String>,
    /// The method that the others are compared with [default: the first one]
    #[arg(long, value_name = "NAME")]
    reference: Option<String>,
    /// A program that speaks the line protocol competes, too; may be repeated
    #[arg(long = "worker", value_name = "NAME=COMMAND")]
    workers: Vec<String>,
    /// Rounds of all sessions together, at most
    #[arg(short = 'n', long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: u32,
    /// Time for the rounds; a run takes at most three times that, counting and what verdicts need
    /// included
    #[arg(short, long, default_value = "30s", value_parser = humantime::parse_duration)]
    time: Duration,
    /// Rounds at the start of a session that do not count
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=MOST_SESSIONS))]
    warm_up: u32,
    /// Sets of fresh processes that share the rounds [default: one for every five rounds, at least
    /// six]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_SESSIONS))]
    sessions: Option<u32>,
    /// Of the random orders [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// The state of the data in the page cache, proved for every sample
    #[arg(long, value_enum, default_value = "warm")]
    cache: Cache,
    /// Time for one sample, at most; a method that needs more is killed
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
    sample_limit: Duration,
    /// Samples per method, after all others, in which system calls and the like are counted; 0 is
    /// none
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=MOST_SESSIONS))]
    counting: u32,
    /// Take every sample in a new process; show start-up, first touch and total apart
    #[arg(long)]
    fresh: bool,
    /// Write a timeline of one more round to this file, to be opened in ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// A name for the run, to find it again
    #[arg(long)]
    label: Option<String>,
    /// Where made data is kept [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "BYTELAB_DATA_DIR", hide_env_values = true)]
    data_dir: Option<PathBuf>,
    /// Do not keep the run
    #[arg(long)]
    no_store: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Cache {
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

impl MeasureArgs {
    pub(crate) fn request(
        self,
        experiment: &str,
        points: Vec<Point>,
        definition: Option<Definition>,
    ) -> RunRequest {
        let MeasureArgs { methods, languages, reference, workers, .. } = self;
        RunRequest {
            experiment: experiment.to_owned(),
            points,
            definition,
            selection: Selection { methods, languages, reference, workers },
            rounds: self.rounds,
            time: self.time,
            warm_up: self.warm_up,
            sessions: self.sessions,
            seed: self.seed,
            cache: self.cache.into(),
            sample_limit: self.sample_limit,
            counting: self.counting,
            fresh: self.fresh,
            trace: self.trace,
            label: self.label,
            data_dir: self.data_dir,
            keep: !self.no_store,
        }
    }
}
