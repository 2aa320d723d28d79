//! The interface of a method of this experiment: a `Source` passes the bytes of one file to a
//! `Fold`. Here a source becomes a `Task`, and `parallel` sources become threads.

use std::thread;

use anyhow::{Context, Result};
use measure::experiment::{Build, Execution, Method, Task, Work};
use model::param::Point;

use super::fold::{Digest, Fold, Sum, combined};
use crate::shared::input;
pub(super) use crate::shared::input::Input;

/// A way to read one file, with its reusable resources.
pub(super) trait Source: Send {
    /// Opens the file, passes on all its bytes in order and closes it.
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()>;
}

/// A method that reads files. All read the file of `size` or `file`, and `parallel`; `reads` names
/// further params.
pub(super) fn contender(name: &str, about: &str, reads: &[&'static str], build: Build) -> Method {
    method(name, about, reads, Execution::BuiltIn(build)).job("file")
}

/// A method of any source.
pub(super) fn method(
    name: &str,
    about: &str,
    reads: &[&'static str],
    execution: Execution,
) -> Method {
    let of_all = ["source", "size", "file", "parallel"];
    Method::contender(name, about, execution).reads(&of_all).reads(reads)
}

/// Creates a source for each file of the point.
pub(super) fn reading<S: Source + 'static>(
    point: &Point,
    prepare: impl Fn(Input) -> Result<S>,
) -> Result<Box<dyn Task>> {
    Ok(Box::new(ReadingTask::new(point, prepare)?))
}

pub(super) struct ReadingTask<S> {
    sources: Vec<S>,
    /// The size of all files together.
    size: u64,
}

impl<S: Source> ReadingTask<S> {
    pub(super) fn new(
        point: &Point,
        prepare: impl Fn(Input) -> Result<S>,
    ) -> Result<ReadingTask<S>> {
        ReadingTask::each(point, |index| prepare(Input::from_point(point, &argument(index))?))
    }

    /// Like [`ReadingTask::new`], but `prepare` gets the index of the file, from 0.
    pub(super) fn each(
        point: &Point,
        prepare: impl Fn(u64) -> Result<S>,
    ) -> Result<ReadingTask<S>> {
        let parallel = point.number("parallel")?;
        let sources = (0..parallel).map(prepare).collect::<Result<Vec<S>>>()?;
        let size = point.number("size")?.checked_mul(parallel);
        Ok(ReadingTask { sources, size: size.context("size × parallel is too large")? })
    }

    /// The fold of each file. Each of several files is read by its own thread, which is started
    /// here, once for all operations.
    fn results<F: Fold>(&mut self, ops: u64) -> Result<Vec<u64>> {
        if let [source] = self.sources.as_mut_slice() {
            return Ok(vec![repeat::<S, F>(source, ops)?]);
        }
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for source in &mut self.sources {
                let thread = thread::Builder::new()
                    .spawn_scoped(scope, move || repeat::<S, F>(source, ops))
                    .context("starting a thread for each file")?;
                threads.push(thread);
            }
            threads.into_iter().map(joined).collect()
        })
    }
}

fn repeat<S: Source, F: Fold>(source: &mut S, ops: u64) -> Result<u64> {
    let mut result = 0;
    for _ in 0..ops {
        let mut fold = F::at(0);
        source.pass(&mut fold)?;
        result = fold.result();
    }
    Ok(result)
}

/// The value that the thread returned; its panic is propagated.
pub(super) fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl<S: Source> Task for ReadingTask<S> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let sums = self.results::<Sum>(ops)?;
        let answer = sums.into_iter().fold(0, u64::wrapping_add);
        Ok(Work { ops, bytes: self.size.wrapping_mul(ops), answer: Some(answer) })
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        Ok(Some(combined(self.results::<Digest>(1)?)))
    }
}

/// The argument that holds the path of the file with this index.
pub(super) fn argument(index: u64) -> String {
    numbered("file", index)
}

/// `file`, `file2`, `file3` …
pub(super) fn numbered(name: &str, index: u64) -> String {
    if index == 0 { name.to_owned() } else { format!("{name}{}", index + 1) }
}

/// Skips a method that holds whole files in memory if they do not fit.
pub(super) fn fits_in_memory(point: &Point) -> Result<()> {
    input::fits_in_memory(point.number("size")?.saturating_mul(point.number("parallel")?))
}
