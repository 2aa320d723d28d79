//! The definition of an experiment: an `Experiment` is a job, its params and the methods that
//! compete.

use std::any::Any;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use model::descriptor::JOB_PARAMS;
use model::metric;
use model::param::{Param, ParamKind, ParamValue, Point};
use model::run::Role;
use regex_lite::Regex;

use crate::stop::Stop;

/// An experiment answers one question. The first method is the reference.
pub struct Experiment {
    pub name: &'static str,
    /// The question in one sentence.
    pub question: &'static str,
    /// The experiment's README: its page in the documentation, and its manual page.
    pub readme: &'static str,
    pub params: Vec<Param>,
    pub methods: Vec<Method>,
    /// The working directory of the methods' processes; none: that of the lab.
    pub dir: Option<PathBuf>,
    /// Creates or inspects the data of a point. It is called once per point, before any method is
    /// started.
    pub data: MakeData,
}

pub type MakeData = Box<dyn Fn(&Point, &Path, &Stop) -> Result<Data>>;

/// What a point's methods work on.
#[derive(Default)]
pub struct Data {
    /// The point as the methods receive it: with the paths of the files and with all values that
    /// are known only from the data.
    pub arguments: Point,
    /// The arguments that the old side of a check receives instead.
    pub old_arguments: Option<Point>,
    /// The files whose page-cache state is controlled and verified.
    pub files: Vec<PathBuf>,
    /// The directory in which the methods work, where it is not that of the first file.
    pub directory: Option<PathBuf>,
    /// The number of bytes that every contender must deliver per operation, where the job fixes it.
    pub payload_bytes: Option<u64>,
    /// Whether the methods do nothing but read the files, each at its own speed, so that no method
    /// can notice that another one runs: several are then prepared for counting at the same time.
    pub is_only_read: bool,
    /// Whether the files are on no device of this machine, so that the bytes that are read from
    /// them are not counted.
    pub is_served: bool,
    /// Doubts about the data, which become notes of the run.
    pub notes: Vec<String>,
    /// The work that is done when the run has ended, for whatever reason.
    pub ending: Ending,
    /// Why the methods of the point are skipped: its files cannot be kept in the requested cache
    /// state.
    pub unfit: Option<String>,
    /// A value that is dropped when the run has ended, such as a temporary directory.
    pub guard: Option<Box<dyn Any>>,
}

/// One way to do the job.
#[derive(Clone)]
#[must_use]
pub struct Method {
    pub name: String,
    /// One line that describes the method.
    pub about: String,
    /// The params that change what the method does. It is measured once per combination of their
    /// values.
    pub reads: Vec<&'static str>,
    pub execution: Execution,
    pub role: Role,
    /// Whether the method bypasses the page cache, so that the device delivers bytes whatever is
    /// cached.
    pub bypasses_cache: bool,
    /// Whether the method is measured when no method is named on the command line.
    pub default: bool,
    /// For an experiment with several jobs: the word of its param `job`, `source` or `kind` at
    /// which the method competes, or several words with `|` between them; or `name=word|word` for
    /// another param, or several such conditions separated by spaces, which must all hold. None:
    /// the method competes at every point.
    pub job: Option<&'static str>,
}

impl Experiment {
    /// An experiment without params and methods of its own, whose methods need no data.
    pub fn empty(name: &'static str) -> Self {
        Self {
            name,
            question: "",
            readme: "",
            params: Vec::new(),
            methods: Vec::new(),
            dir: None,
            data: Box::new(|_, _, _| Ok(Data::default())),
        }
    }

    /// The condition under which the method competes, with the names of the params: `input=file
    /// output=pipe|socket`. None: the method competes at every point.
    pub fn only_with(&self, method: &Method) -> Option<String> {
        let is_declared = |name: &&&str| self.params.iter().any(|param| param.name == **name);
        let of_jobs = JOB_PARAMS.iter().find(is_declared).unwrap_or(&JOB_PARAMS[0]);
        let named = |condition: &str| {
            if condition.contains('=') {
                condition.to_owned()
            } else {
                format!("{of_jobs}={condition}")
            }
        };
        let conditions: Vec<String> = method.job?.split_ascii_whitespace().map(named).collect();
        Some(conditions.join(" "))
    }
}

impl Method {
    /// A contender that is part of the program.
    pub fn built_in(name: impl Into<String>, about: impl Into<String>, build: Build) -> Method {
        Method::contender(name, about, Execution::BuiltIn(build))
    }

    /// A method that competes at every point, reads no param and is measured by default.
    pub fn contender(
        name: impl Into<String>,
        about: impl Into<String>,
        execution: Execution,
    ) -> Method {
        Method {
            name: name.into(),
            about: about.into(),
            reads: Vec::new(),
            execution,
            role: Role::Contender,
            bypasses_cache: false,
            default: true,
            job: None,
        }
    }

    /// The method as a yardstick: shown, never judged.
    pub fn as_yardstick(self) -> Method {
        Method { role: Role::Yardstick, ..self }
    }

    /// The method with further params that it reads.
    pub fn reads(mut self, params: &[&'static str]) -> Method {
        self.reads.extend(params);
        self
    }

    /// The method where it competes only at these jobs, or under this condition.
    pub fn job(self, job: &'static str) -> Method {
        Method { job: Some(job), ..self }
    }

    /// Whether the method does the job of this point.
    pub fn competes_at(&self, point: &Point) -> bool {
        let is_one =
            |words: &str, value: &ParamValue| words.split('|').any(|word| *value == word.into());
        self.job.unwrap_or_default().split_ascii_whitespace().all(|condition| {
            let (value, words) = match condition.split_once('=') {
                Some((name, words)) => (point.get(name), words),
                None => (JOB_PARAMS.iter().find_map(|name| point.get(name)), condition),
            };
            value.is_none_or(|value| is_one(words, value))
        })
    }

    /// Whether `job` names a job of its own. Otherwise it restricts where the method can do the job
    /// of all other methods.
    pub fn has_own_job(&self) -> bool {
        self.job.is_some_and(|job| !job.contains('='))
    }
}

/// How the lab executes a method.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each method")]
pub enum Execution {
    /// This program, started again as a worker.
    BuiltIn(Build),
    /// A program that speaks the line protocol.
    Worker { argv: Vec<String> },
    /// A program that is started once per sample and timed from outside.
    Command(Command),
    /// One of the other variants, with commands around it that are not timed.
    Hooked { execution: Box<Execution>, hooks: Hooks },
    /// One of the other variants as the old side of a check.
    Baseline { execution: Box<Execution>, side: BaselineSide },
    /// Something that the method needs is missing: the method is skipped, for this reason.
    Unavailable { reason: String },
}

impl Execution {
    pub fn worker(argv: impl IntoIterator<Item = impl Into<String>>) -> Execution {
        Execution::Worker { argv: argv.into_iter().map(Into::into).collect() }
    }

    /// Whether only one process of the experiment runs, and no command or hook of the user.
    pub(crate) fn is_one_process(&self) -> bool {
        matches!(self, Execution::BuiltIn(_) | Execution::Worker { .. })
    }

    /// Whether the method is timed from outside.
    pub fn is_command(&self) -> bool {
        match self {
            Execution::Command(_) => true,
            Execution::Hooked { execution, .. } | Execution::Baseline { execution, .. } => {
                execution.is_command()
            }
            _ => false,
        }
    }
}

/// The location of the old side of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaselineSide {
    /// The name of the method in the old program.
    pub name: String,
    /// The program whose hidden worker runs a built-in method; none: this program.
    pub program: Option<PathBuf>,
    /// The working directory of its processes; none: that of the new side.
    pub dir: Option<PathBuf>,
}

/// A plain command. `{name}` in its words is replaced by that value of the point, `{{name}}` by
/// `{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    pub argv: Vec<String>,
    /// The words that start a shell. It gets `-c` and the script, which is the only word of `argv`;
    /// the values inserted into it are quoted. None: no shell is started.
    pub shell: Option<Vec<String>>,
    /// The file that is the standard input of the command; none: /dev/null.
    pub input: Option<String>,
    pub output: Destination,
    pub answer: Answer,
    pub accepts: ExitCodes,
    /// The number of processes that run it at the same time in each sample; 0 is one as well.
    pub copies: u32,
    /// The figures that the command prints.
    pub metrics: Vec<PrintedMetric>,
    /// Variables of its environment, besides those of the lab.
    pub env: Vec<(String, String)>,
    pub leaves: LeftProcesses,
}

/// What becomes of the processes that a plain command leaves running when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeftProcesses {
    /// They are ended, and the method has no verdict, as the rest of their work is in no figure.
    #[default]
    Ended,
    /// A sample lasts until the last of them has ended.
    WaitedFor,
    /// They are left alone, during the next samples and after the run.
    Kept,
}

impl LeftProcesses {
    pub(crate) fn are_kept(self) -> bool {
        self == LeftProcesses::Kept
    }
}

impl Command {
    pub fn plain(argv: impl IntoIterator<Item = impl Into<String>>) -> Command {
        Command { argv: argv.into_iter().map(Into::into).collect(), ..Command::default() }
    }

    /// A script for `/bin/sh`.
    pub fn script(text: impl Into<String>) -> Command {
        let shell = Some(vec![SHELL.to_owned()]);
        Command { argv: vec![text.into()], shell, ..Command::default() }
    }
}

/// The shell of a script that names no other.
pub const SHELL: &str = "/bin/sh";

/// Where the standard output of a plain command goes unless it is the answer. In the counting pass
/// what would be shown goes to /dev/null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// To /dev/null.
    #[default]
    Nowhere,
    /// Into a pipe, from which the lab reads and discards it.
    Pipe,
    /// To the standard output of the lab, and its standard error to that of the lab.
    Shown,
    /// To a file, which is emptied before each sample.
    File(String),
}

/// The exit codes with which a plain command has done its job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExitCodes {
    #[default]
    Zero,
    /// All, and the end by a signal as well.
    All,
    These(Vec<i32>),
}

impl ExitCodes {
    /// `None` is the end by a signal.
    pub fn contain(&self, code: Option<i32>) -> bool {
        match self {
            ExitCodes::Zero => code == Some(0),
            ExitCodes::All => true,
            ExitCodes::These(codes) => code.is_some_and(|code| codes.contains(&code)),
        }
    }
}

/// What the answer of a plain command is computed from. It is read after each sample, untimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: the output goes to /dev/null.
    #[default]
    None,
    /// The standard output, which goes to a file in memory.
    Output,
    /// A file that the command writes. It is removed before each sample.
    File(String),
}

/// Commands that are run around the samples of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Run whenever the method is started for a point.
    pub setup: Option<Command>,
    /// Run before each sample.
    pub prepare: Option<Command>,
    /// Run after each sample.
    pub conclude: Option<Command>,
}

/// Sets up a built-in method for one point.
pub type Build = fn(&Point) -> Result<Box<dyn Task>>;

/// A built-in method that is set up for one point. An error that is a [`Skip`] skips the method,
/// any other error fails it.
pub trait Task {
    /// Does the job `ops` times. Only this call is timed.
    fn run(&mut self, ops: u64) -> Result<Work>;

    /// An order-sensitive digest of all bytes that the job delivers, computed once and untimed. It
    /// must be equal for all methods that provide one.
    fn digest(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Brings data back into the caches that other processes evicted from them, or prepares what a
    /// sample consumes. Untimed, called directly before each sample.
    fn before(&mut self) -> Result<()> {
        Ok(())
    }

    /// Restores the state that the next sample needs. Untimed, called between two samples.
    fn between(&mut self) -> Result<()> {
        Ok(())
    }

    /// The method's own metrics of the last run, per operation, by name; the name ends with the
    /// unit.
    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// The result of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub ops: u64,
    /// Payload bytes of all operations together.
    pub bytes: u64,
    /// The result of the job (of any one operation). It must be equal for all methods that provide
    /// one.
    pub answer: Option<u64>,
}

/// The error of a method that this machine or this data does not support. In the result it is a
/// value, not a failure.
#[derive(Debug)]
pub struct Skip(pub String);

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// Skips the method for this reason: `return Err(skip("no io_uring"))`.
pub fn skip(reason: impl Into<String>) -> anyhow::Error {
    Skip(reason.into()).into()
}

/// Where all combinations are not more than these, they are not reduced first.
const PLAIN_MAX: usize = 10_000;

impl Experiment {
    /// All combinations of the values of its params. Where these are very many, a param that no
    /// method reads at a job, or under the other words of the point, has its first value there.
    /// None if there are more than `max`.
    pub fn combinations(&self, axes: &[(&str, Vec<ParamValue>)], max: usize) -> Option<Vec<Point>> {
        if count(axes) <= max.min(PLAIN_MAX) {
            return Some(Point::product(axes));
        }
        let is_word = |name: &str| {
            let param = self.params.iter().find(|param| param.name == name);
            param.is_some_and(|param| matches!(param.kind, ParamKind::Word(_)))
        };
        let words: Vec<_> = axes.iter().filter(|(name, _)| is_word(name)).cloned().collect();
        if count(&words) > max {
            return None;
        }
        let mut points = Vec::new();
        for job in Point::product(&words) {
            let read = |name: &str| {
                let mut there = self.methods.iter().filter(|method| method.competes_at(&job));
                there.any(|method| method.reads.contains(&name))
            };
            let values = |(name, values): &(&str, Vec<ParamValue>)| match job.get(name) {
                Some(word) => vec![word.clone()],
                None if read(name) => values.clone(),
                None => values.iter().take(1).cloned().collect(),
            };
            let axes: Vec<(&str, Vec<ParamValue>)> =
                axes.iter().map(|axis| (axis.0, values(axis))).collect();
            if points.len().saturating_add(count(&axes)) > max {
                return None;
            }
            points.extend(Point::product(&axes));
        }
        Some(points)
    }

    /// The points at which at least one of the chosen methods competes. Each point keeps only those
    /// params that one of the experiment's methods reads there, and occurs once.
    pub fn points(&self, points: Vec<Point>, chosen: &[Method]) -> Vec<Point> {
        let mut kept: Vec<Point> = Vec::new();
        for point in points {
            if !chosen.iter().any(|method| method.competes_at(&point)) {
                continue;
            }
            // A program of the user reads all params that exist.
            let there = || self.methods.iter().filter(|method| method.competes_at(&point));
            let point = point.only(|name| there().any(|method| method.reads.contains(&name)));
            if !kept.contains(&point) {
                kept.push(point);
            }
        }
        kept
    }
}

fn count(axes: &[(&str, Vec<ParamValue>)]) -> usize {
    axes.iter().fold(1, |count: usize, (_, values)| count.saturating_mul(values.len()))
}

/// Work that is done once: on an explicit call of [`Ending::end`], else on drop.
#[derive(Default)]
pub struct Ending(Option<Box<dyn FnOnce() -> Result<()>>>);

impl Ending {
    pub fn new(work: impl FnOnce() -> Result<()> + 'static) -> Ending {
        Ending(Some(Box::new(work)))
    }

    pub fn end(&mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), |work| work())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // A caller that needs the result calls `end` itself.
        let _ = self.end();
    }
}

/// A metric whose value a plain command prints to its standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedMetric {
    pub name: String,
    pattern: String,
}

impl PrintedMetric {
    /// The value is the first group of this regular expression, where it matches first; without a
    /// group it is all that matches.
    pub fn new(name: &str, pattern: &str) -> Result<PrintedMetric> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
        ensure!(
            begins && name.len() <= 40 && name.bytes().all(is_plain),
            "metric {name:?}: a name is made of at most 40 small letters, digits and _"
        );
        ensure!(
            !metric::is_known(name) && name != metric::EXIT_CODE,
            "metric {name}: it means something else; name it otherwise"
        );
        let metric = PrintedMetric { name: name.to_owned(), pattern: pattern.to_owned() };
        metric.regex()?;
        Ok(metric)
    }

    pub(crate) fn regex(&self) -> Result<Regex> {
        let PrintedMetric { name, pattern } = self;
        Regex::new(pattern).map_err(|error| anyhow!("metric {name}: {pattern:?}: {error}"))
    }

    pub fn pattern(&self) -> &str {
        &self.pattern
    }
}

#[cfg(test)]
mod tests;
