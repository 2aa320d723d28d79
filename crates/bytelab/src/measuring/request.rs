//! What is asked of a run, whoever asks: `bytelab run`, `numbers` or `check`.

use std::path::PathBuf;
use std::time::Duration;

use lab::param::Point;
use lab::run::{CacheState, Definition};

pub(crate) struct RunRequest {
    /// Its name; of one in a file, too.
    pub(crate) experiment: String,
    pub(crate) points: Vec<Point>,
    /// Of an experiment in a file.
    pub(crate) definition: Option<Definition>,
    pub(crate) selection: Selection,
    /// Of all sessions together, at most.
    pub(crate) rounds: u32,
    /// For the rounds.
    pub(crate) time: Duration,
    pub(crate) warm_up: u32,
    /// None: as many as the rounds need.
    pub(crate) sessions: Option<u32>,
    pub(crate) seed: Option<u64>,
    pub(crate) cache: CacheState,
    pub(crate) sample_limit: Duration,
    /// Samples per method in which system calls and the like are counted.
    pub(crate) counting: u32,
    /// Every sample in a new process.
    pub(crate) fresh: bool,
    /// Where the timeline of one more round is written.
    pub(crate) trace: Option<PathBuf>,
    pub(crate) label: Option<String>,
    pub(crate) data_dir: Option<PathBuf>,
    /// Whether the run is stored.
    pub(crate) keep: bool,
}

/// Which methods take part; where nothing is named, the default ones.
#[derive(Default)]
pub(crate) struct Selection {
    /// Names, in which `*` stands for any text.
    pub(crate) methods: Vec<String>,
    pub(crate) languages: Vec<String>,
    pub(crate) reference: Option<String>,
    /// `NAME=COMMAND` of programs of the user's.
    pub(crate) workers: Vec<String>,
}
