//! The flags for measuring, which every experiment has, and those that say where a run and its data
//! are kept.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, ValueEnum};
use experiments::medium::SlowMedium;
use model::param::{Param, ParamKind, ParamValue, Point};
use model::run::{CacheState, Definition};
use store::Server;

use super::path;
use crate::measuring::{ProgressMode, RunRequest, TimeLimit};

/// The maximum number of rounds, of all sessions together.
pub(crate) const MOST_ROUNDS: i64 = 1_000_000;
/// Also the maximum for warm-up rounds and for counting samples.
pub(crate) const MOST_SESSIONS: i64 = 1000;

/// The maximum margin, in percent.
const MOST_MARGIN: f64 = 50.0;
const TIME: Duration = Duration::from_secs(30);

/// How an experiment is measured: the flags that every experiment has.
#[derive(Args)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct MeasureArgs {
    /// Only these methods; `*` is any text [default: all]
    ///
    /// May be repeated.
    #[arg(
        short,
        long = "method",
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Methods"
    )]
    methods: Vec<String>,
    /// All methods in these languages, and no others
    ///
    /// `bytelab list EXPERIMENT` shows which languages are installed. Without it: the best method
    /// of each installed language.
    #[arg(
        long = "language",
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "Methods"
    )]
    languages: Vec<String>,
    /// Build the methods in compiled languages at these levels of the optimiser, each as a method
    /// of its own: Onone, O, Osize, Ounchecked (Swift), O0 to O3 (C, C++), O0 to O2 (Haskell)
    #[arg(
        long = "optimise",
        value_name = "LEVEL,…",
        value_delimiter = ',',
        help_heading = "Methods",
        hide_short_help = true
    )]
    levels: Vec<String>,
    /// The method that the others are compared with [default: the first one]
    #[arg(long, value_name = "NAME", help_heading = "Methods")]
    reference: Option<String>,
    /// Also measure a program that implements the line protocol
    ///
    /// May be repeated.
    #[arg(long = "worker", value_name = "NAME=COMMAND", help_heading = "Methods")]
    workers: Vec<String>,
    /// Rounds of all sessions together [default: until all is decided]
    ///
    /// All methods take part in all of these rounds, which are the maximum. Without this flag,
    /// decided methods and yardsticks are dropped, and the run ends when all is decided; with
    /// --sessions, --trace or thresholds there are 100 rounds.
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: Option<u32>,
    /// Time limit for the whole run [default: 30s of rounds, 90s in all]
    ///
    /// The limit includes warming up methods, all points, and counting, but not the set-up of the
    /// first session. Each method is run at least once. Fewer than six sessions give no verdict.
    /// Without this flag, the rounds have 30 seconds, or as long as six sessions take, unless a
    /// sample takes a minute; with --rounds there is no limit.
    #[arg(short, long, value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Continue beyond --time until all is decided, up to ten times as long
    #[arg(long, conflicts_with_all = ["rounds", "sessions", "trace"])]
    until_decided: bool,
    /// The difference up to which two methods are called the same [default: 1%]
    #[arg(long, value_name = "N%", hide_short_help = true, value_parser = margin)]
    margin: Option<f64>,
    /// Warm-up rounds of each session, which are not counted
    #[arg(long, default_value_t = 1, hide_short_help = true, value_parser = clap::value_parser!(u32).range(0..=MOST_SESSIONS))]
    warm_up: u32,
    /// Sets of fresh processes that share the rounds [default: six or more]
    ///
    /// By default, there is one for every five rounds, and at least six; without --rounds, as many
    /// as are needed until all is decided.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_SESSIONS))]
    sessions: Option<u32>,
    /// Minimum number of sessions
    ///
    /// Before that, neither a decision nor --time ends the run.
    #[arg(long, value_name = "N", hide_short_help = true, conflicts_with_all = ["rounds", "sessions"], value_parser = clap::value_parser!(u32).range(1..=MOST_SESSIONS))]
    min_sessions: Option<u32>,
    /// Maximum number of sessions
    ///
    /// This is for a run that ends when all is decided.
    #[arg(long, value_name = "N", hide_short_help = true, conflicts_with_all = ["rounds", "sessions"], value_parser = clap::value_parser!(u32).range(1..=MOST_SESSIONS))]
    max_sessions: Option<u32>,
    /// The seed of the random orders [default: a different one each time]
    #[arg(long, hide_short_help = true)]
    seed: Option<u64>,
    /// The data in the page cache: warm, cold or as-is
    ///
    /// The state is verified for every sample.
    #[arg(long, value_enum, default_value = "warm", hide_possible_values = true)]
    cache: CacheChoice,
    /// Limit the memory of each method, with its page cache [default: none]
    ///
    /// Each method runs in a control group of its own, without swap: as root, or where a control
    /// group is delegated to you. With `--cache warm` the files are read in that group before each
    /// sample, and stay there as far as they fit.
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = size)]
    memory: Option<u64>,
    /// Read the files from a slow medium, such as slow:20ms,200MB/s [default: where they are]
    ///
    /// The value has the latency of each request (of up to 128 KiB) and the bandwidth, and may have
    /// the number of requests answered at once (8) and the kernel's read-ahead:
    /// slow:20ms,200MB/s,8,128KiB. This file system in user space needs root or fusermount3.
    #[arg(long, value_name = "slow:…", hide_short_help = true, value_parser = medium)]
    medium: Option<String>,
    /// Time after which a sample and its method are killed [default: none]
    #[arg(long, value_name = "TIME", hide_short_help = true, value_parser = humantime::parse_duration)]
    sample_limit: Option<Duration>,
    /// Samples of each method in which events are counted; 0: none
    ///
    /// System calls and other events are counted after all other samples, in at most this many
    /// samples, and in two if these agree. If the counts of up to four methods differ, all samples
    /// are counted, because eight of each show that the difference is not chance.
    #[arg(long, value_name = "N", default_value_t = 8, hide_short_help = true, value_parser = clap::value_parser!(u32).range(0..=MOST_SESSIONS))]
    counting: u32,
    /// Take every sample in a new process
    ///
    /// Start-up, first touch and total are shown separately.
    #[arg(long)]
    fresh: bool,
    /// Write a timeline of one more round, for ui.perfetto.dev
    #[arg(long, value_name = "FILE.json", hide_short_help = true, value_parser = path())]
    trace: Option<PathBuf>,
    /// Profile each method after all samples, and name the functions that differ
    ///
    /// The profile takes six to twenty jobs of each of up to eight methods, in five seconds for
    /// each method if that is enough; their times do not count. With a file, the call chains are
    /// drawn there as a flame graph.
    #[arg(long, value_name = "FILE.svg", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    why: Option<String>,
    #[command(flatten, next_help_heading = "The run and its data")]
    keep: KeepArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CacheChoice {
    Warm,
    Cold,
    AsIs,
}

impl From<CacheChoice> for CacheState {
    fn from(cache: CacheChoice) -> CacheState {
        match cache {
            CacheChoice::Warm => CacheState::Warm,
            CacheChoice::Cold => CacheState::Cold,
            CacheChoice::AsIs => CacheState::AsIs,
        }
    }
}

/// Parses a size such as `64MiB`.
pub(super) fn size(text: &str) -> std::result::Result<u64, String> {
    let param = Param::new("memory", ParamKind::Bytes(1, 1 << 50), "");
    match param.parse(text).as_deref() {
        Ok([ParamValue::Number(size)]) => Ok(*size),
        Ok(_) => Err("write one size, such as 64MiB".to_owned()),
        Err(error) => Err(error.root_cause().to_string()),
    }
}

/// The text of a medium.
fn medium(text: &str) -> std::result::Result<String, String> {
    text.parse::<SlowMedium>().map(|_| text.to_owned()).map_err(|error| format!("{error:#}"))
}

/// Parses a margin such as `2%`.
fn margin(text: &str) -> std::result::Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| *percent > 0.0 && *percent <= MOST_MARGIN);
    percent.ok_or_else(|| format!("write N%, above 0 and up to {MOST_MARGIN}, such as 2%"))
}

/// A command line of these flags alone.
#[derive(Parser)]
struct MeasureArgsParser {
    #[command(flatten)]
    measuring: MeasureArgs,
}

impl MeasureArgs {
    /// The values if no flag is given, for an experiment with these defaults.
    pub(crate) fn with_defaults(defaults: Vec<(&'static str, String)>) -> Result<MeasureArgs> {
        let command =
            defaults.into_iter().fold(MeasureArgsParser::command(), |command, (id, value)| {
                command.mut_arg(id, |arg| arg.default_value(value))
            });
        let matches = command.try_get_matches_from([""])?;
        Ok(MeasureArgs::from_arg_matches(&matches)?)
    }

    fn limit(&self) -> TimeLimit {
        match self.time {
            Some(time) => TimeLimit::All(time),
            None if self.until_decided => TimeLimit::All(TIME),
            None if self.rounds.is_some() => TimeLimit::Unlimited,
            None => TimeLimit::Rounds(TIME),
        }
    }

    pub(crate) fn request(
        self,
        experiment: &str,
        points: Vec<Point>,
        definition: Option<Definition>,
    ) -> RunRequest {
        let time = self.limit();
        let MeasureArgs { methods, languages, levels, reference, workers, .. } = self;
        RunRequest {
            experiment: experiment.to_owned(),
            points,
            definition,
            methods,
            languages,
            reference,
            levels,
            workers,
            rounds: self.rounds,
            time,
            until_decided: self.until_decided,
            margin_percent: self.margin,
            warm_up: self.warm_up,
            sessions: self.sessions,
            min_sessions: self.min_sessions,
            max_sessions: self.max_sessions,
            seed: self.seed,
            cache: self.cache.into(),
            memory_limit_bytes: self.memory,
            medium: self.medium,
            sample_limit: self.sample_limit,
            counting: self.counting,
            fresh: self.fresh,
            trace: self.trace,
            why: self.why,
            label: self.keep.label,
            data_dir: self.keep.data_dir,
            keep: !self.keep.no_store,
            push_to: self.keep.push,
            shown: ProgressMode::Step,
            ..RunRequest::default()
        }
    }
}

// Where a run and its data are kept: the flags of all subcommands that measure.

#[derive(Args, Clone)]
pub(crate) struct KeepArgs {
    /// A name for the run, to find it again
    #[arg(long)]
    pub(super) label: Option<String>,
    /// Where generated data is kept [default: the user's cache directory]
    #[arg(
        long,
        value_name = "DIR",
        env = "BYTELAB_DATA_DIR",
        hide_env_values = true,
        hide_short_help = true, value_parser = path())]
    pub(super) data_dir: Option<PathBuf>,
    /// Do not store the run
    #[arg(long)]
    pub(super) no_store: bool,
    /// Push the run to this server when it has ended [default: that of `BYTELAB_SERVER`]
    ///
    /// A run that cannot be pushed waits, and the next `bytelab push` sends it.
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "no_store",
        hide_short_help = true,
        value_parser = ServerUrl
    )]
    pub(super) push: Option<Server>,
}

/// Parses the URL of a server; an empty text stands for that of the environment. Unlike clap, its
/// error does not quote the text, which may have a password.
#[derive(Clone)]
pub(super) struct ServerUrl;

impl TypedValueParser for ServerUrl {
    type Value = Server;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Server, clap::Error> {
        Server::named(value.to_str()).map_err(|error| {
            let flag = arg.map(|arg| format!("{arg}: ")).unwrap_or_default();
            let text = format!("{flag}{error}\n");
            clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(command)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_one_number_of_bytes() {
        assert_eq!([size("64MiB"), size("4096")], [Ok(64 << 20), Ok(4096)]);
        assert_eq!(size("1MiB..4MiB").unwrap_err(), "write one size, such as 64MiB");
        for wrong in ["", "0", "-1", "64 parsecs", "1PiB1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_margin_is_a_percentage_above_0() {
        assert_eq!([margin("2%"), margin("0.5 %"), margin("50%")], [Ok(2.0), Ok(0.5), Ok(50.0)]);
        for wrong in ["2", "0%", "-1%", "51%", "NaN%", "inf%", "%", ""] {
            assert!(margin(wrong).unwrap_err().ends_with("such as 2%"), "{wrong}");
        }
    }
}
