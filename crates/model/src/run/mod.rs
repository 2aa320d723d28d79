//! The record of one invocation. Only this record is stored, nothing that is derived from it.

mod columns;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::columns::MetricColumn;
use self::columns::NO_VALUES;
pub use crate::metric::Pass;
use crate::param::Point;
use crate::profile::Profile;
pub use crate::warning::{Cells, Uncounted, Warning, WarningKind};

/// The suffix of the name of a method's old side.
pub const OLD_SUFFIX: &str = "@old";

/// The version of the stored document and of the JSON. A document of a newer version is refused.
pub const SCHEMA: u32 = 2;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    pub schema: u32,
    /// The name of the run in one store.
    pub id: String,
    /// The name of the run everywhere: a UUID of version 7. Empty in runs that no store has.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uuid: String,
    pub experiment: String,
    /// The question of the experiment, as it was worded when the run was made.
    pub question: String,
    pub label: Option<String>,
    /// RFC 3339, UTC.
    pub started: String,
    /// Whether everything that the plan requires was measured; a run that was stopped or killed is
    /// not complete.
    pub complete: bool,
    pub environment: Environment,
    pub plan: Plan,
    /// The full points. Each point is a family whose cells are compared with each other.
    pub points: Vec<Point>,
    pub cells: Vec<Cell>,
    /// Doubts that arose while measuring.
    pub notes: Vec<Warning>,
}

/// The machine, the kernel, the build: all facts that may change the numbers, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Digest of the facts that change slowly: equal on the same machine and system.
    pub fingerprint: String,
    #[serde(flatten)]
    pub facts: BTreeMap<String, serde_json::Value>,
}

/// The default measures nothing: no rounds, no time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Maximum number of rounds per session.
    pub rounds: u32,
    /// Maximum time for the rounds of all sessions together, or for the whole run.
    pub time_limit_ns: u64,
    /// Whether the limit is one for the whole run, from the start of the first process to the end
    /// of counting.
    #[serde(default, skip_serializing_if = "is_no")]
    pub limits_all: bool,
    /// Rounds at the start of each session that are marked as warm-up.
    pub warm_up: u32,
    /// Maximum number of sessions.
    pub sessions: u32,
    /// What ends the run.
    #[serde(default, skip_serializing_if = "Design::is_fixed")]
    pub design: Design,
    /// The number of sessions, in their order, at which the last look was taken: they are not
    /// measured again, because a look must not be repeated with other samples.
    #[serde(default, skip_serializing_if = "is_0")]
    pub looked_at: u32,
    /// The difference, in percent, up to which two methods are called the same; none: 1 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<f64>,
    pub seed: u64,
    pub cache: CacheState,
    /// The limit of the control group that each method has of its own; none: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// The slow medium on which the files are; none: where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
    /// Maximum time for one sample or one preparation; after it the child is killed.
    pub sample_limit_ns: u64,
    /// The directory in which generated data is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<String>,
    /// Samples per cell in the counting pass, which takes what costs time to count, after all other
    /// samples.
    #[serde(default)]
    pub counting: u32,
    /// Whether every sample of the timing pass is the first of a new process.
    #[serde(default)]
    pub fresh: bool,
    /// The origin of the experiment, if it is not one of the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
    /// By point, the measure by which its methods are compared, chosen after the first session.
    /// Empty before that, and of figures that another program measured, for which it is chosen from
    /// all samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
    /// The origin of the figures, if another program measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// What the methods did in jobs of their own, after all samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "it is what serde gives")]
fn is_0(n: &u32) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "it is what serde gives")]
fn is_no(value: &bool) -> bool {
    !*value
}

impl Plan {
    /// The time limit of a plan without one: all rounds are taken, however long they take. JSON
    /// represents this number exactly.
    pub const NO_TIME_LIMIT_NS: u64 = (1 << 53) - 1;
}

/// What ends a run, which decides how its intervals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// The number of rounds or the time: all methods take part in all sessions, which are analysed
    /// once.
    #[default]
    Fixed,
    /// The results: the sessions are analysed after numbers that are fixed beforehand
    /// (`analysis::stats::LOOKS`), a method leaves when it is decided (a yardstick at the first
    /// of these), and the run ends when all is.
    Sequential,
}

impl Design {
    pub fn is_fixed(&self) -> bool {
        *self == Design::Fixed
    }
}

/// The measure by which the methods of a point are compared, and why it was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    pub metric: String,
    pub why: String,
    /// Methods that are compared by wall time all the same, as the metric is not known of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_wall: Vec<String>,
}

/// A file in which another program reports what it measured. Its methods were not measured in
/// rounds: no two cells have a round in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The program, with its version where the file has one: `fio 3.33`.
    pub tool: String,
    /// The file or directory, as it was named on the command line.
    pub file: String,
}

/// The file in which the user declared the experiment, with its contents at the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The absolute path of the file.
    pub file: String,
    pub text: String,
    pub thresholds: Vec<Threshold>,
    /// The metrics that have a column in its tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary_metrics: Vec<String>,
    #[serde(default, skip_serializing_if = "View::is_default")]
    pub view: View,
}

/// How the figures of a run are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// A table for each point or sweep, with verdicts.
    #[default]
    Tables,
    /// The same, but the latencies of points that differ by the param `size` are combined.
    SizeSweep,
    /// A line for each row of `bytelab numbers`, and no verdicts.
    Rows,
}

impl View {
    /// Whether this is the view of a definition that names none.
    pub fn is_default(&self) -> bool {
        *self == View::default()
    }
}

/// A limit for one metric, or for the ratio to the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The methods to which the limit applies; none: all that compete.
    pub methods: Vec<String>,
    /// The name of a metric, or [`RATIO`].
    pub metric: String,
    pub max: f64,
}

/// A limit with this in place of a metric's name is one for the ratio method / reference, of the
/// metric that decides between the two.
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
    /// For a worker: the language that it reports.
    pub language: Option<String>,
    /// The values of the params that the method reads.
    pub point: Point,
    #[serde(flatten)]
    pub status: Status,
    /// Digest of the delivered bytes, where the method provides one.
    pub digest: Option<String>,
    /// System calls per operation, from one sample in which each call was traced.
    #[serde(default)]
    pub syscalls_by_name: Option<BTreeMap<String, f64>>,
    pub samples: Vec<Sample>,
    /// One column per metric, as long as `samples`; NaN where a sample has no value.
    pub values: BTreeMap<String, MetricColumn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A method that competes.
    Contender,
    /// A method that is shown for orientation: the limit, or a well-known program. It has no
    /// verdict and may lack an answer.
    Yardstick,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", content = "reason", rename_all = "lowercase")]
pub enum Status {
    Measured,
    /// This machine or this data does not support the method; the reason.
    Skipped(String),
    /// The method was started and ended with an error; the reason. Samples taken before are kept.
    Failed(String),
}

/// The prefix of the reason of a method that died after samples that count.
const DIED: &str = "died after ";

impl Status {
    /// The word by which the status is stored and shown.
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

    /// The status of a method that died: its samples until then are valid.
    pub fn died(rounds: usize, how: &str) -> Status {
        Status::Failed(format!("{DIED}{rounds} rounds: {how}"))
    }
}

/// Why the samples of a session that a signal or a crash ended do not count.
pub const INTERRUPTED: &str = "its session was interrupted";

/// Why a sample does not count during which the lab was stopped and continued, as by SIGSTOP.
pub const STOPPED: &str = "bytelab was stopped meanwhile";

/// The same where the whole machine was.
pub const SUSPENDED: &str = "the machine was suspended meanwhile";

/// One timed execution. Its values stand in the cell's columns at the same index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    #[serde(default)]
    pub pass: Pass,
    pub session: u32,
    pub round: u32,
    /// Position in the round, from 0.
    pub slot: u32,
    pub warm_up: bool,
    /// Why the sample does not count (it was not in the requested cache state); it is kept
    /// nevertheless.
    pub not_counted: Option<SharedText>,
    pub ops: u64,
    pub bytes: u64,
    pub answer: Option<SharedText>,
}

/// A text that samples share. `Arc<str>` would take twice the space in each of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedText(Arc<String>);

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> SharedText {
        SharedText(Arc::new(text))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> SharedText {
        text.to_owned().into()
    }
}

/// The entry of a run in a list of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub id: String,
    pub uuid: String,
    pub experiment: String,
    pub label: Option<String>,
    /// RFC 3339, UTC.
    pub started: String,
    pub machine: Machine,
    pub complete: bool,
    pub cells: u64,
    pub samples: u64,
}

/// The facts by which a reader recognizes the machine of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    pub fingerprint: String,
    /// The fact `cpu_model` of the environment.
    pub cpu_model: Option<String>,
}

/// The experiment of `bytelab bench`.
pub const BENCH: &str = "bench";

impl Run {
    /// Whether its methods are commands that a user typed.
    pub fn is_bench(&self) -> bool {
        self.experiment == BENCH
    }

    /// What shows more of it: the command with this flag, or the flag of a run that is not stored.
    pub fn show_command(&self, flag: &str) -> String {
        match self.id.as_str() {
            "" => flag.to_owned(),
            id => format!("bytelab show {id} {flag}"),
        }
    }

    /// Whether the methods took turns. If they did not, every difference between them includes what
    /// changed in the meantime.
    pub fn in_rounds(&self) -> bool {
        self.plan.imported.is_none()
    }
}

impl Sample {
    /// Whether the times of the sample count.
    pub fn counts(&self) -> bool {
        self.counts_in(Pass::Timing)
    }

    pub fn counts_in(&self, pass: Pass) -> bool {
        self.pass == pass && !self.warm_up && self.not_counted.is_none()
    }
}

impl Cell {
    /// A cell of a contender, without samples.
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

    /// Whether the samples represent the method. Those of a method that died late do; those of a
    /// method that delivered wrong bytes or reported impossible values do not.
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
            let column = column.to_mut();
            column.resize(n, f64::NAN);
            column.push(*value);
        }
        self.samples.push(sample);
        for column in self.values.values_mut() {
            column.to_mut().resize(n + 1, f64::NAN);
        }
    }

    /// The values of a metric; none if no sample has it.
    pub fn column(&self, metric: &str) -> &MetricColumn {
        self.values.get(metric).unwrap_or(&NO_VALUES)
    }

    /// The `n`-th sample and its values.
    pub fn nth(&self, n: usize) -> Option<(&Sample, Vec<(&str, f64)>)> {
        let sample = self.samples.get(n)?;
        let values = self.values.iter().filter_map(|(name, column)| {
            column.get(n).filter(|value| !value.is_nan()).map(|value| (name.as_str(), *value))
        });
        Some((sample, values.collect()))
    }

    /// The samples that count (no warm-up, cache state verified) and their value of a metric, in
    /// order. They come from the counting pass where it has the metric, else from the timing pass.
    pub fn counted<'a>(
        &'a self,
        metric: &str,
    ) -> impl Iterator<Item = (&'a Sample, f64)> + use<'a> {
        let column = self.column(metric);
        let all = || self.samples.iter().zip(column.iter()).filter(|(_, value)| !value.is_nan());
        let pass = if all().any(|(sample, _)| sample.counts_in(Pass::Counting)) {
            Pass::Counting
        } else {
            Pass::Timing
        };
        all()
            .filter(move |(sample, _)| sample.counts_in(pass))
            .map(|(sample, value)| (sample, *value))
    }

    /// Of a cell without a timed sample that counts, the index of its last warm-up sample: an
    /// estimate, which is shown and takes no part in any comparison.
    pub fn estimate(&self) -> Option<usize> {
        // Nearly every cell has one, and early.
        if self.samples.iter().any(Sample::counts) {
            return None;
        }
        self.samples.iter().rposition(|sample| {
            sample.pass == Pass::Timing && sample.warm_up && sample.not_counted.is_none()
        })
    }

    /// Why a cell without a timed sample that counts is not compared.
    pub fn without_samples(&self) -> &'static str {
        match self.estimate() {
            Some(_) => "its only run warmed it up, which is an estimate",
            None => "it has no sample that counts",
        }
    }

    /// The samples behind the figures that are shown, and their value of a metric: those that
    /// count, or the estimate.
    pub fn shown<'a>(&'a self, metric: &str) -> impl Iterator<Item = (&'a Sample, f64)> + use<'a> {
        let estimate = self.estimate().and_then(|index| {
            let value = self.values.get(metric)?.get(index).filter(|value| !value.is_nan())?;
            Some((&self.samples[index], *value))
        });
        self.counted(metric).chain(estimate)
    }

    /// The value of the `n`-th sample; none where it has none.
    pub fn value(&self, metric: &str, n: usize) -> Option<f64> {
        self.values.get(metric)?.get(n).copied().filter(|value| !value.is_nan())
    }

    /// Whether its samples show that it is a plain command, whose memory only the counting pass
    /// knows.
    pub fn is_plain_command(&self) -> bool {
        self.values.contains_key("startup_ns") && !self.values.contains_key("prepare_ns")
    }

    /// The number of samples of a pass that count.
    pub fn n(&self, pass: Pass) -> usize {
        self.samples.iter().filter(|sample| sample.counts_in(pass)).count()
    }
}

// What git says of the project that was measured: of the tree in which a run began, and of the
// revisions whose programs it measured. Both are facts of the run's environment.

/// The start of the names of the facts of the tree.
const OF_TREE: &str = "project_";

/// The fact with the revisions, which is a list of [`MeasuredRevision`].
pub const REVISIONS: &str = "revisions";

/// A commit, and what is known of the tree in which it was checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCommit {
    /// All digits of its hash.
    pub commit: String,
    /// When it was committed: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_time: Option<String>,
    /// The first line of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether files that git tracks had been changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
}

/// A revision of which programs were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredRevision {
    /// Its name as it was typed.
    pub name: String,
    /// The tree is the worktree of the revision after its build.
    #[serde(flatten)]
    pub commit: ProjectCommit,
    pub methods: Vec<RevisionMethod>,
}

/// A method whose program is that of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionMethod {
    pub name: String,
    /// The name that it would have without a revision, which is the same at all of them.
    pub command: String,
    /// The SHA-256 of each file of the worktree that the command names, by its path there.
    pub sha256: BTreeMap<String, String>,
}

/// The digits of a hash that readers see.
const SHORT: usize = 7;

impl ProjectCommit {
    /// The first digits of the hash.
    pub fn short(&self) -> &str {
        self.commit.get(..SHORT).unwrap_or(&self.commit)
    }

    /// The first digits of the hash, with the mark that git uses for a tree with changes.
    pub fn described(&self) -> String {
        let changed = if self.dirty == Some(true) { "-dirty" } else { "" };
        format!("{}{changed}", self.short())
    }

    /// That of the tree in which the run of these facts began.
    pub fn from_facts(facts: &BTreeMap<String, Value>) -> Option<ProjectCommit> {
        let fact = |name: &str| facts.get(&format!("{OF_TREE}{name}"));
        let text = |name: &str| fact(name).and_then(Value::as_str).map(str::to_owned);
        Some(ProjectCommit {
            commit: text("commit")?,
            commit_time: text("commit_time"),
            subject: text("subject"),
            branch: text("branch"),
            dirty: fact("dirty").and_then(Value::as_bool),
        })
    }

    /// The facts of a run that is measured in this tree.
    pub fn facts(&self) -> BTreeMap<String, Value> {
        let ProjectCommit { commit, commit_time, subject, branch, dirty } = self;
        let known = [
            ("commit", Some(commit.as_str().into())),
            ("commit_time", commit_time.as_deref().map(Value::from)),
            ("subject", subject.as_deref().map(Value::from)),
            ("branch", branch.as_deref().map(Value::from)),
            ("dirty", dirty.map(Value::from)),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.map(|(name, value)| (format!("{OF_TREE}{name}"), value)).collect()
    }
}

impl MeasuredRevision {
    /// Those of the run of these facts; none if the fact is not what it should be.
    pub fn from_facts(facts: &BTreeMap<String, Value>) -> Vec<MeasuredRevision> {
        let revisions = facts.get(REVISIONS).map(Vec::deserialize);
        revisions.and_then(Result::ok).unwrap_or_default()
    }

    /// What readers see of the revision: the name that was typed, and the commit that it was then.
    pub fn label(&self) -> String {
        let short = self.commit.short();
        // A name may be the hash itself, of which git takes no fewer digits.
        if self.name.len() >= 4 && self.commit.commit.starts_with(&self.name) {
            return short.to_owned();
        }
        format!("{} {short}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn commit() -> ProjectCommit {
        ProjectCommit {
            commit: "cfdcc50b9572f1d0cfdcc50b9572f1d0cfdcc50b".to_owned(),
            commit_time: Some("2026-01-02T03:04:05Z".to_owned()),
            subject: Some("one: \"two\"".to_owned()),
            branch: Some("main".to_owned()),
            dirty: Some(true),
        }
    }

    #[test]
    fn the_facts_of_a_tree_are_read_as_they_were_written() {
        let bare = ProjectCommit { commit: commit().commit, ..ProjectCommit::default() };
        for commit in [commit(), bare] {
            let facts = commit.facts();
            assert!(facts.values().all(|value| !value.is_null()), "{facts:?}");
            assert_eq!(ProjectCommit::from_facts(&facts), Some(commit));
        }
        assert_eq!(ProjectCommit::from_facts(&BTreeMap::new()), None);
    }

    #[test]
    fn revisions_are_read_as_they_were_written() {
        let method = RevisionMethod {
            name: "HEAD~1 cfdcc50".to_owned(),
            command: "./tool".to_owned(),
            sha256: BTreeMap::from([("tool".to_owned(), "00".to_owned())]),
        };
        let revision =
            MeasuredRevision { name: "HEAD~1".to_owned(), commit: commit(), methods: vec![method] };
        let read = |value: Value| {
            MeasuredRevision::from_facts(&BTreeMap::from([(REVISIONS.to_owned(), value)]))
        };
        let written = serde_json::to_value([&revision]).unwrap();
        assert_eq!(written[0]["commit"], commit().commit.as_str());
        assert_eq!(read(written), [revision]);
        for odd in [json!(null), json!(3), json!([{"name": "a"}]), json!({})] {
            assert_eq!(read(odd), []);
        }
    }

    #[test]
    fn a_revision_is_called_by_its_name_and_its_commit() {
        let check = |name: &str, expected: &str| {
            let name = name.to_owned();
            let revision = MeasuredRevision { name, commit: commit(), methods: Vec::new() };
            assert_eq!(revision.label(), expected);
        };
        check("HEAD~1", "HEAD~1 cfdcc50");
        check("v1", "v1 cfdcc50");
        check("cfdc", "cfdcc50");
        check("c", "c cfdcc50");
        check("cfdcc50b9", "cfdcc50");
        check(&commit().commit, "cfdcc50");
        assert_eq!(commit().described(), "cfdcc50-dirty");
        assert_eq!(ProjectCommit::default().described(), "");
    }
}
