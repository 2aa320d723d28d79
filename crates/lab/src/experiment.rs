//! What can be asked: an `Experiment` is a job, its params and the methods that compete.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::param::{Param, Point};
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
    /// Makes, or looks at, the data of a point. Called once per point, before any method is started.
    pub data: fn(&Point, &Path, &Stop) -> Result<Data>,
}

/// What a point's methods work on.
#[derive(Default)]
pub struct Data {
    /// The point as the methods get it: with the paths of the files and all that only the data tells.
    pub arguments: Point,
    /// The files whose page-cache state is controlled and proved.
    pub files: Vec<PathBuf>,
    /// The bytes that every contender must hand over per operation, where the job fixes them.
    pub payload_bytes: Option<u64>,
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
}

#[derive(Clone)]
pub enum How {
    /// The same binary, started again as a worker.
    BuiltIn(Build),
    /// A program that speaks the line protocol.
    Worker { argv: Vec<String> },
    /// A program started once per sample and timed from outside; `{name}` in an argument is replaced
    /// by that param of the point. Its output goes to /dev/null.
    Command { argv: Vec<String> },
}

/// Sets a built-in method up for one point.
pub type Build = fn(&Point) -> Result<Box<dyn Task>>;

/// A built-in method set up for one point. An error that is a [`Skip`] skips the method, any other fails it.
pub trait Task {
    /// Does the job `ops` times. This is what is timed.
    fn run(&mut self, ops: u64) -> Result<Work>;

    /// An order-sensitive digest of all the bytes the job hands over, taken once and untimed. Equal
    /// for all methods that give one.
    fn digest(&mut self) -> Result<Option<u64>> {
        Ok(None)
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

/// The error of a method that this machine or this data refuses: a value in the result, not a failure.
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
