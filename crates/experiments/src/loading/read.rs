//! The file is read into new memory: by one request after the other, by threads, or after the
//! kernel was asked to read ahead.

use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use measure::experiment::{Method, Task};
use model::param::Point;

use super::contender;
use super::job::{LoadJob, Loaded, Piece, copying, pieces};
use crate::shared::PAGE;

pub(super) fn methods() -> Vec<Method> {
    vec![
        contender("read", "each range by one read into new memory; the reference", &[], |point| {
            copying(point, |_| Ok(Box::new(read)))
        }),
        contender(
            "pread-threads",
            "pread of `buffer` bytes by `threads` threads",
            &["buffer", "threads"],
            threads,
        ),
    ]
}

fn read(job: &LoadJob) -> Result<Loaded> {
    read_from(&job.input.open_checked()?, job)
}

/// Reads each range as a whole.
pub(super) fn read_from(file: &File, job: &LoadJob) -> Result<Loaded> {
    let mut memory = job.memory()?;
    for piece in pieces(job.places.iter().copied(), &mut memory, usize::MAX) {
        job.input.read_at(file, piece.bytes, piece.offset)?;
    }
    Ok(Loaded::Memory(memory))
}

fn threads(point: &Point) -> Result<Box<dyn Task>> {
    let (most, threads) = (request_bytes(point)?, point.number("threads")?);
    copying(point, |_| {
        Ok(Box::new(move |job: &LoadJob| {
            let file = job.input.open_checked()?;
            let mut memory = job.memory()?;
            let pieces = pieces(job.places.iter().copied(), &mut memory, most);
            by_threads(threads, pieces, |Piece { offset, bytes }| {
                job.input.read_at(&file, bytes, offset)
            })?;
            Ok(Loaded::Memory(memory))
        }))
    })
}

/// The most that one request reads: whole pages, so that every way has the same requests.
pub(super) fn request_bytes(point: &Point) -> Result<usize> {
    Ok(usize::try_from(point.number("buffer")?)?.next_multiple_of(PAGE))
}

/// Each thread takes the next piece until there is none.
pub(super) fn by_threads<'a>(
    threads: u64,
    pieces: impl IntoIterator<Item = Piece<'a>, IntoIter: Send>,
    read: impl Fn(Piece<'a>) -> Result<()> + Sync,
) -> Result<()> {
    let pieces = Mutex::new(pieces.into_iter());
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<()> {
        while let Some(piece) = next() {
            read(piece)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let mut all = Vec::new();
        for _ in 0..threads {
            let thread = thread::Builder::new().spawn_scoped(scope, work);
            all.push(thread.context("starting a thread")?);
        }
        all.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
