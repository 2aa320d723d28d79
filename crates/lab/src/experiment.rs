//! What can be asked: an `Experiment` is a job, its params and the methods that compete.

use std::any::Any;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::param::{Param, Point, Value};
use crate::run::Role;
use crate::stop::Stop;

/// A question. The first method is the reference.
pub struct Experiment {
    pub name: &'static str,
    /// The question in one sentence.
    pub question: &'static str,
    /// The experiment's README: its page, its long help.
    pub readme: &'static str,
    pub params: Vec<Param>,
    pub methods: Vec<Method>,
    /// Makes, or looks at, the data of a point. Called once per point, before any method is
    /// started.
    pub data: MakeData,
}

pub type MakeData = Box<dyn Fn(&Point, &Path, &Stop) -> Result<Data>>;

/// What a point's methods work on.
#[derive(Default)]
pub struct Data {
    /// The point as the methods get it: with the paths of the files and all that only the data
    /// tells.
    pub arguments: Point,
    /// What the old side of a check gets in their place.
    pub old_arguments: Option<Point>,
    /// The files whose page-cache state is controlled and proved.
    pub files: Vec<PathBuf>,
    /// Where the methods work, where that is not told by the first file.
    pub directory: Option<PathBuf>,
    /// The bytes that every contender must hand over per operation, where the job fixes them.
    pub payload_bytes: Option<u64>,
    /// Doubts about the data that the run is to tell.
    pub notes: Vec<String>,
    /// What is done when the run has ended, in whatever way.
    pub ending: Ending,
    /// Why the methods of the point are skipped: its files cannot be kept in the asked cache state.
    pub unfit: Option<String>,
    /// Dropped when the run has ended: a temporary directory.
    pub guard: Option<Box<dyn Any>>,
}

/// Work that is done once: when it is asked for, else when it is dropped.
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
        // Who wants to know how it went asks for it.
        let _ = self.end();
    }
}

/// One way to do the job.
#[derive(Clone)]
pub struct Method {
    pub name: String,
    /// One line on what it does.
    pub about: String,
    /// The params that change what it does. A method is measured once per combination of these.
    pub reads: Vec<&'static str>,
    pub how: How,
    pub role: Role,
    /// Whether it goes round the page cache, so that the device delivers bytes whatever is cached.
    pub bypasses_cache: bool,
    /// Whether it is measured when no method is named.
    pub default: bool,
    /// Where an experiment has several jobs: the word of its param `job`, `source` or `kind` at
    /// which the method competes, or some of them with `|` between; or `name=word|word` for another
    /// param, or several such with a space between, which must all hold. None: at every point.
    pub job: Option<&'static str>,
}

/// The params whose words are jobs.
const JOB_PARAMS: [&str; 3] = ["job", "source", "kind"];

impl Experiment {
    /// The points at which one of the chosen methods competes, each with only those params that one
    /// of the experiment's methods reads there, and once.
    pub fn points(&self, points: Vec<Point>, chosen: &[Method]) -> Vec<Point> {
        let mut kept: Vec<Point> = Vec::new();
        for point in points {
            if !chosen.iter().any(|method| method.competes_at(&point)) {
                continue;
            }
            // A program of the user's reads whatever there is.
            let there = || self.methods.iter().filter(|method| method.competes_at(&point));
            let point = point.only(|name| there().any(|method| method.reads.contains(&name)));
            if !kept.contains(&point) {
                kept.push(point);
            }
        }
        kept
    }

    /// Where the method competes, with the params named: `input=file output=pipe|socket`. None: at
    /// every point.
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
    /// Whether it does the job of this point.
    pub fn competes_at(&self, point: &Point) -> bool {
        let is_one =
            |words: &str, value: &Value| words.split('|').any(|word| *value == word.into());
        self.job.unwrap_or_default().split_ascii_whitespace().all(|condition| {
            let (value, words) = match condition.split_once('=') {
                Some((name, words)) => (point.get(name), words),
                None => (JOB_PARAMS.iter().find_map(|name| point.get(name)), condition),
            };
            value.is_none_or(|value| is_one(words, value))
        })
    }

    /// Whether `job` names a job, rather than where the method can do that of all others.
    pub fn has_own_job(&self) -> bool {
        self.job.is_some_and(|job| !job.contains('='))
    }
}

#[derive(Clone)]
pub enum How {
    /// The same binary, started again as a worker.
    BuiltIn(Build),
    /// A program that speaks the line protocol.
    Worker { argv: Vec<String> },
    /// A program started once per sample and timed from outside.
    Command(Command),
    /// In one of the other ways, with commands around it that are not timed.
    Hooked { how: Box<How>, hooks: Hooks },
    /// In one of the other ways, as it is done elsewhere: the old side of a check.
    Old { how: Box<How>, side: OldSide },
    /// What it needs is not there: it is skipped, for this reason.
    Unavailable { reason: String },
}

impl How {
    /// Whether it is timed from outside.
    pub fn is_command(&self) -> bool {
        match self {
            How::Command(_) => true,
            How::Hooked { how, .. } | How::Old { how, .. } => how.is_command(),
            _ => false,
        }
    }
}

/// Where the old side of a check is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldSide {
    /// What the method is called there.
    pub name: String,
    /// The program whose hidden worker runs a built-in method; none: this one.
    pub program: Option<PathBuf>,
    /// Where its processes work; none: where those of the new side do.
    pub dir: Option<PathBuf>,
}

/// A plain command. `{name}` in its words is replaced by that value of the point, `{{name}}` by
/// `{name}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    pub argv: Vec<String>,
    /// Its only word is for `/bin/sh -c`; the values that are put in are quoted.
    pub shell: bool,
    /// The file that is its standard input; none: /dev/null.
    pub input: Option<String>,
    pub answer: Answer,
}

impl Command {
    pub fn plain(argv: impl IntoIterator<Item = impl Into<String>>) -> Command {
        Command { argv: argv.into_iter().map(Into::into).collect(), ..Command::default() }
    }
}

/// What a plain command answers with. It is looked at after each sample, untimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: its output goes to /dev/null.
    #[default]
    None,
    /// What it prints, which goes to a file in memory.
    Output,
    /// A file that it writes. It is removed before each sample.
    File(String),
}

/// Commands that are run around the samples of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Whenever the method is started for a point.
    pub setup: Option<Command>,
    /// Before each sample.
    pub prepare: Option<Command>,
}

/// Sets a built-in method up for one point.
pub type Build = fn(&Point) -> Result<Box<dyn Task>>;

/// A built-in method set up for one point. An error that is a [`Skip`] skips the method, any other
/// fails it.
pub trait Task {
    /// Does the job `ops` times. This is what is timed.
    fn run(&mut self, ops: u64) -> Result<Work>;

    /// An order-sensitive digest of all the bytes the job hands over, taken once and untimed. Equal
    /// for all methods that give one.
    fn digest(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Brings back into the caches what other processes pushed out of them, or makes ready what a
    /// sample uses up. Untimed, right before each sample.
    fn before(&mut self) -> Result<()> {
        Ok(())
    }

    /// What has to be done between two samples: the place is made ready for the next one. Untimed.
    fn between(&mut self) -> Result<()> {
        Ok(())
    }

    /// The method's own metrics of the last run, per operation, by name with the unit last.
    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// What one run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub ops: u64,
    /// Payload bytes of all operations together.
    pub bytes: u64,
    /// The result of the job (of any one operation); must be equal for all methods that give one.
    pub answer: Option<u64>,
}

/// The error of a method that this machine or this data refuses: a value in the result, not a
/// failure.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, job: Option<&'static str>, reads: &[&'static str]) -> Method {
        Method {
            name: name.to_owned(),
            about: String::new(),
            reads: reads.to_vec(),
            how: How::Command(Command::default()),
            role: Role::Contender,
            bypasses_cache: false,
            default: true,
            job,
        }
    }

    /// The points that are left of all combinations of two jobs, two sizes and two places.
    fn check(chosen: &[&str], expected: &[&str]) {
        let experiment = Experiment {
            name: "",
            question: "",
            readme: "",
            params: Vec::new(),
            methods: vec![
                method("read", Some("reading"), &["job", "size"]),
                method("hand", Some("handing"), &["job", "place"]),
                method("any", None, &["job"]),
            ],
            data: Box::new(|_, _, _| Ok(Data::default())),
        };
        let axes = [
            ("job", vec!["reading".into(), "handing".into()]),
            ("size", vec![1.into(), 2.into()]),
            ("place", vec!["here".into(), "there".into()]),
        ];
        let all = experiment.methods.iter();
        let chosen: Vec<Method> =
            all.filter(|method| chosen.contains(&&*method.name)).cloned().collect();
        let points = experiment.points(Point::product(&axes), &chosen);
        let points: Vec<String> = points.iter().map(ToString::to_string).collect();
        assert_eq!(points, expected);
    }

    #[test]
    fn a_point_has_only_the_params_of_the_methods_that_do_its_job() {
        let reading = ["job=reading size=1", "job=reading size=2"];
        let handing = ["job=handing place=here", "job=handing place=there"];
        check(&["read"], &reading);
        check(&["hand"], &handing);
        check(&["read", "hand"], &[reading, handing].concat());
        check(&["any"], &[reading, handing].concat());
        check(&[], &[]);
    }

    #[test]
    fn a_method_may_do_several_jobs() {
        let at = |param: &str, word: &str| {
            let mut point = Point::default();
            point.set(param, word);
            method("", Some("http|https"), &[]).competes_at(&point)
        };
        assert!(at("source", "http") && at("source", "https") && at("job", "https"));
        assert!(!at("source", "file") && !at("source", "http|https") && !at("job", "h"));
        assert!(at("place", "file"), "there is no job to choose");
    }

    #[test]
    fn a_method_may_be_for_some_values_of_several_params() {
        let at = |input: &str, output: &str| {
            let mut point = Point::default();
            point.set("input", input);
            point.set("output", output);
            method("", Some("input=file output=file|pipe"), &[]).competes_at(&point)
        };
        assert!(at("file", "file") && at("file", "pipe"));
        assert!(!at("pipe", "file") && !at("file", "null") && !at("file", "file|pipe"));
    }
}
