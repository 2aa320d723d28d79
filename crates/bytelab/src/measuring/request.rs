//! The request for a run, made by `bytelab run`, `numbers` or `check`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use lab::param::Point;
use lab::run::{CacheState, Definition, Warning};
use serde_json::Value;

use super::progress::Shown;
use crate::store::Server;

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct RunRequest {
    /// The name of the experiment, also for one in a file.
    pub(crate) experiment: String,
    pub(crate) points: Vec<Point>,
    /// The definition of an experiment in a file.
    pub(crate) definition: Option<Definition>,
    pub(crate) selection: Selection,
    /// The maximum number of rounds, of all sessions together. `None`: as many as the verdicts
    /// need.
    pub(crate) rounds: Option<u32>,
    pub(crate) time: Time,
    /// Whether a run without a number of rounds may go on past its time.
    pub(crate) until_decided: bool,
    /// The difference, in percent, up to which two methods are the same.
    pub(crate) margin_percent: Option<f64>,
    pub(crate) warm_up: u32,
    /// `None`: as many as the rounds need.
    pub(crate) sessions: Option<u32>,
    /// Before this number of sessions neither a decision nor the time ends the run.
    pub(crate) min_sessions: Option<u32>,
    /// The maximum of sessions if nothing says how many there are.
    pub(crate) max_sessions: Option<u32>,
    pub(crate) seed: Option<u64>,
    pub(crate) cache: CacheState,
    /// `None`: a sample takes as long as it takes.
    pub(crate) sample_limit: Option<Duration>,
    /// Samples per method in which system calls and other events are counted.
    pub(crate) counting: u32,
    /// Every sample in a new process.
    pub(crate) fresh: bool,
    /// The first method that fails, or that is not installed, ends the run with an error.
    pub(crate) needs_all: bool,
    /// Where the timeline of one additional round is written.
    pub(crate) trace: Option<PathBuf>,
    pub(crate) label: Option<String>,
    /// What is known of the run before it begins.
    pub(crate) facts: BTreeMap<String, Value>,
    pub(crate) notes: Vec<Warning>,
    pub(crate) data_dir: Option<PathBuf>,
    /// Whether the run is stored.
    pub(crate) keep: bool,
    /// The server to which the run is pushed when it has ended, if the store names none.
    pub(crate) push_to: Option<Server>,
    /// What is shown on standard error meanwhile.
    pub(crate) shown: Shown,
}

/// How long a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Time {
    /// As long as its rounds take.
    #[default]
    Unlimited,
    /// This time for its rounds, and three times as long in all.
    Rounds(Duration),
    /// This time for all of it.
    All(Duration),
}

/// Which methods take part; if none is named, the default ones.
#[derive(Default)]
pub(crate) struct Selection {
    /// Names, in which `*` stands for any text.
    pub(crate) methods: Vec<String>,
    pub(crate) languages: Vec<String>,
    pub(crate) reference: Option<String>,
    /// The levels of the optimiser at which workers are built, each in place of the usual one.
    pub(crate) levels: Vec<String>,
    /// `NAME=COMMAND` for the user's own programs.
    pub(crate) workers: Vec<String>,
}
