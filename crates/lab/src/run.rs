//! The record of one invocation. This, and nothing derived from it, is stored.

mod columns;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::metric::Pass;
use crate::param::Point;
pub use crate::warning::{Cells, Warning, WarningKind};

/// The version of the stored document and of the JSON.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub schema: u32,
    pub id: String,
    pub experiment: String,
    /// The question the experiment asks, as it was worded then.
    pub question: String,
    pub label: Option<String>,
    /// RFC 3339, UTC.
    pub started: String,
    /// Whether all that the plan asks was measured; a run that was stopped or killed is not
    /// complete.
    pub complete: bool,
    pub environment: Environment,
    pub plan: Plan,
    /// The full points: each is a family whose cells are compared with each other.
    pub points: Vec<Point>,
    pub cells: Vec<Cell>,
    /// Doubts that arose while measuring.
    pub notes: Vec<Warning>,
}

/// The machine, the kernel, the build: all that may change the numbers, by the name of the fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Digest of the facts that change slowly: equal on the same machine and system.
    pub fingerprint: String,
    #[serde(flatten)]
    pub facts: BTreeMap<String, serde_json::Value>,
}

/// By default nothing is measured: no round, no time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Rounds per session, at most.
    pub rounds: u32,
    /// Time for the rounds of all sessions together, at most.
    pub time_limit_ns: u64,
    /// Rounds at the start of each session that are marked as warm-up.
    pub warm_up: u32,
    pub sessions: u32,
    pub seed: u64,
    pub cache: CacheState,
    /// Time for one sample or one preparation, at most; then the child is killed.
    pub sample_limit_ns: u64,
    /// Where made data is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// Samples per cell in which is counted what costs time to count, taken after all others.
    #[serde(default)]
    pub counting: u32,
    /// Every sample of the timing pass is the first of a new process.
    #[serde(default)]
    pub fresh: bool,
    /// Where the experiment is not one of the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
    /// Versions of the definitions of the metrics, by name; those that are not named are of
    /// version 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metric_versions: BTreeMap<String, u32>,
    /// By point, what its methods are compared by, as it was chosen after the first session. Empty
    /// before that, and in older runs, of which it is chosen from all samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
    /// Where another program measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

impl Plan {
    /// All rounds are taken, however long that takes: a number that JSON keeps exactly.
    pub const NO_TIME_LIMIT_NS: u64 = (1 << 53) - 1;
}

/// What the methods of a point are compared by, and why by this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    pub metric: String,
    pub why: String,
}

/// A file in which another program tells what it measured. Its methods were not measured in rounds:
/// no two cells have a round in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The program, and its version where that is told: `fio 3.33`.
    pub tool: String,
    /// The file or directory, as it was named.
    pub file: String,
}

/// The file in which the user declared the experiment, as it was when the run began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Its absolute path.
    pub file: String,
    pub text: String,
    pub thresholds: Vec<Threshold>,
}

/// A limit for one metric, or for the ratio to the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The methods that it holds for; none: all that compete.
    pub methods: Vec<String>,
    /// The name of a metric, or [`RATIO`].
    pub metric: String,
    pub max: f64,
}

/// In place of a metric: method / reference, in what decides between the two.
pub const RATIO: &str = "ratio";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    Warm,
    Cold,
    #[default]
    AsIs,
}

/// One method at one point, with all its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub method: String,
    pub about: String,
    pub role: Role,
    /// Of a worker: the language it says it is written in.
    pub language: Option<String>,
    /// The values of the params that the method reads.
    pub point: Point,
    #[serde(flatten)]
    pub status: Status,
    /// Digest of the bytes handed over, where the method gives one.
    pub digest: Option<String>,
    /// System calls per operation, of one sample in which each was looked at.
    #[serde(default)]
    pub syscalls_by_name: Option<BTreeMap<String, f64>>,
    pub samples: Vec<Sample>,
    /// A column per metric, as long as `samples`; NaN where a sample lacks it.
    #[serde(with = "columns")]
    pub values: BTreeMap<String, Vec<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Competes.
    Contender,
    /// Stands beside the contenders as a line to hold them against: the limit, or a well-known
    /// program. It has no verdict and may lack an answer.
    Yardstick,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", content = "reason", rename_all = "lowercase")]
pub enum Status {
    Measured,
    /// Refused by this machine or this data; the reason.
    Skipped(String),
    /// Started, and ended wrongly; the reason. Samples taken before are kept.
    Failed(String),
}

/// How the reason of a method begins that died after samples that count.
const DIED: &str = "died after ";

impl Status {
    /// As it is stored and shown.
    pub fn word(&self) -> &'static str {
        match self {
            Status::Measured => "measured",
            Status::Skipped(_) => "skipped",
            Status::Failed(_) => "failed",
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Status::Measured => None,
            Status::Skipped(reason) | Status::Failed(reason) => Some(reason),
        }
    }

    /// Of a method that died: its samples until then stand.
    pub fn died(rounds: usize, how: &str) -> Status {
        Status::Failed(format!("{DIED}{rounds} rounds: {how}"))
    }
}

/// One timed execution. Its values stand in the cell's columns at the same index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    #[serde(default)]
    pub pass: Pass,
    pub session: u32,
    pub round: u32,
    /// Place in the round, from 0.
    pub slot: u32,
    pub warm_up: bool,
    /// Why the sample does not count (not in the asked cache state); it is kept all the same.
    pub not_counted: Option<String>,
    pub ops: u64,
    pub bytes: u64,
    pub answer: Option<String>,
}

/// What a list of runs says of one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub id: String,
    pub experiment: String,
    pub label: Option<String>,
    /// RFC 3339, UTC.
    pub started: String,
    pub machine: Machine,
    pub complete: bool,
    pub cells: u64,
    pub samples: u64,
}

/// By what a reader knows the machine of a run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    pub fingerprint: String,
    /// The fact `cpu_model` of the environment.
    pub cpu_model: Option<String>,
}

impl Run {
    /// Whether its methods took turns; else what happened meanwhile is in every difference between
    /// them.
    pub fn in_rounds(&self) -> bool {
        self.plan.imported.is_none()
    }
}

impl Cell {
    /// Of a contender, without samples.
    pub fn new(method: impl Into<String>, point: Point) -> Self {
        Self {
            method: method.into(),
            about: String::new(),
            role: Role::Contender,
            language: None,
            point,
            status: Status::Measured,
            digest: None,
            syscalls_by_name: None,
            samples: Vec::new(),
            values: BTreeMap::new(),
        }
    }

    /// Whether its samples stand for the method: those of one that died late do, too. Those of one
    /// that handed over what is wrong, or said what cannot be, do not.
    pub fn has_figures(&self) -> bool {
        match &self.status {
            Status::Measured => true,
            Status::Failed(reason) => reason.starts_with(DIED),
            Status::Skipped(_) => false,
        }
    }

    /// Adds a sample with its values.
    pub fn push<N: AsRef<str>>(&mut self, sample: Sample, values: &[(N, f64)]) {
        let n = self.samples.len();
        for (name, value) in values {
            let column = match self.values.get_mut(name.as_ref()) {
                Some(column) => column,
                None => self.values.entry(name.as_ref().to_owned()).or_default(),
            };
            column.resize(n, f64::NAN);
            column.push(*value);
        }
        self.samples.push(sample);
        for column in self.values.values_mut() {
            column.resize(n + 1, f64::NAN);
        }
    }

    /// The `n`-th sample and its values.
    pub fn nth(&self, n: usize) -> Option<(&Sample, Vec<(&str, f64)>)> {
        let sample = self.samples.get(n)?;
        let values = self.values.iter().filter_map(|(name, column)| {
            column.get(n).filter(|value| !value.is_nan()).map(|value| (name.as_str(), *value))
        });
        Some((sample, values.collect()))
    }

    /// The samples that count (no warm-up, cache state proved) and their value of a metric, in
    /// order. They are those of the counting pass where that has the metric, else those of the
    /// timing pass.
    pub fn counted<'a>(
        &'a self,
        metric: &str,
    ) -> impl Iterator<Item = (&'a Sample, f64)> + use<'a> {
        let column = self.values.get(metric).map_or(&[][..], Vec::as_slice);
        let all = || self.samples.iter().zip(column).filter(|(_, value)| !value.is_nan());
        let pass = if all().any(|(sample, _)| sample.counts_in(Pass::Counting)) {
            Pass::Counting
        } else {
            Pass::Timing
        };
        all()
            .filter(move |(sample, _)| sample.counts_in(pass))
            .map(|(sample, value)| (sample, *value))
    }

    /// How many samples of a pass count.
    pub fn n(&self, pass: Pass) -> usize {
        self.samples.iter().filter(|sample| sample.counts_in(pass)).count()
    }
}

impl Sample {
    /// Whether its times count.
    pub fn counts(&self) -> bool {
        self.counts_in(Pass::Timing)
    }

    pub fn counts_in(&self, pass: Pass) -> bool {
        self.pass == pass && !self.warm_up && self.not_counted.is_none()
    }
}
