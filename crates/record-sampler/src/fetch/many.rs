//! Fetches many lines of a file by several threads: each takes consecutive ranks and collects their
//! lines, which are passed on in order. The memory needed depends neither on the number of lines
//! nor on their length.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{LineFile, fetch_lines, next_below};
use crate::input::Window;
use crate::sink::{Place, Sink};
use crate::threads::{join, start};
use crate::watch::Watch;
use crate::{Error, ErrorKind, Result};

/// Limits of a job: the number of ranks, and the bytes of their lines.
const RANKS: u64 = 2048;
const BYTES: u64 = 1 << 20;
/// A thread does not pay off for fewer lines.
const LEAST: u64 = 16 * RANKS;
const MOST_THREADS: usize = 8;

/// The number of threads that fetch lines of this file.
pub(crate) fn threads_for(file: &LineFile<'_>) -> usize {
    let is_worth_it = file.expected >= LEAST && ranks_at_once(file) >= RANKS / 8;
    if is_worth_it {
        thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
    } else {
        1
    }
}

/// The number of ranks whose records have half of the bytes, at the average length.
fn ranks_at_once(file: &LineFile<'_>) -> u64 {
    let mean_len = file.size() / file.records().max(1) + 1;
    (BYTES / 2 / mean_len).min(RANKS)
}

/// Passes the lines with these ranks to the sink; returns how many bytes were read.
pub(crate) fn fetch_many<I: Iterator<Item = u64>>(
    file: &LineFile<'_>,
    threads: usize,
    ranks: &mut Peekable<I>,
    sink: &mut dyn Sink,
    watch: &Watch,
) -> Result<u64> {
    let (jobs, taken) = sync_channel::<Job>(2 * threads);
    let taken = Mutex::new(taken);
    thread::scope(|scope| {
        let worker = |_| start(scope, || work(file, &taken));
        let workers: Vec<_> = (0..threads).map_while(worker).collect();
        if workers.is_empty() {
            return fetch_lines(file, &mut file.window(), ranks, sink, watch);
        }
        let result = deal(file, &jobs, 2 * threads, ranks, sink, watch);
        // The threads end when the channel of jobs is closed.
        drop(jobs);
        workers.into_iter().for_each(join);
        result
    })
}

/// Consecutive ranks, and the buffer for their lines.
struct Job {
    batch: Batch,
    done: SyncSender<(Batch, Result<u64>)>,
}

/// Distributes the ranks, and passes on the results in order.
fn deal<I: Iterator<Item = u64>>(
    file: &LineFile<'_>,
    jobs: &SyncSender<Job>,
    most_open: usize,
    ranks: &mut Peekable<I>,
    sink: &mut dyn Sink,
    watch: &Watch,
) -> Result<u64> {
    let end = file.base + file.records();
    let at_once = ranks_at_once(file);
    let mut open: VecDeque<Receiver<(Batch, Result<u64>)>> = VecDeque::new();
    let mut spare = Vec::new();
    let (mut bytes_read, mut reported) = (0, 0);
    loop {
        while open.len() < most_open {
            let mut batch: Batch = spare.pop().unwrap_or_default();
            batch.has_no_bytes = !sink.needs_bytes();
            batch.ranks.extend((0..at_once).map_while(|_| next_below(ranks, end)));
            if batch.ranks.is_empty() {
                break;
            }
            let (done, receiver) = sync_channel(1);
            jobs.send(Job { batch, done }).map_err(|_| lost())?;
            open.push_back(receiver);
        }
        let Some(first) = open.pop_front() else { break };
        let (mut batch, result) = first.recv().map_err(|_| lost())?;
        bytes_read += result? + batch.hand_over(file, sink)?;
        if let Some((last, _)) = batch.ends.last() {
            let at = last.at - file.start;
            watch.advance(at - reported)?;
            reported = at;
        }
        batch.clear();
        spare.push(batch);
    }
    watch.advance(file.size().saturating_sub(reported))?;
    Ok(bytes_read)
}

fn work(file: &LineFile<'_>, jobs: &Mutex<Receiver<Job>>) {
    let mut window = file.window();
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { mut batch, done }) = job else { return };
        let result = batch.collect(file, &mut window);
        // The receiver is gone if the work was cancelled.
        let _ = done.send((batch, result));
    }
}

#[derive(Default)]
struct Batch {
    ranks: Vec<u64>,
    bytes: Vec<u8>,
    /// For each line: its place, and whether it follows CRLF.
    ends: Vec<(Place, bool)>,
    /// The lines are longer than expected: the rest is left to the receiving thread.
    is_full: bool,
    /// The lines are not copied: their places suffice.
    has_no_bytes: bool,
}

impl Batch {
    fn collect(&mut self, file: &LineFile<'_>, window: &mut Window<'_>) -> Result<u64> {
        let ranks = std::mem::take(&mut self.ranks);
        let mut wanted = ranks.iter().copied().peekable();
        let before = window.bytes_read;
        // Progress is reported when the lines are passed on.
        let result = fetch_lines(file, window, &mut wanted, self, &Watch::default());
        self.ranks = ranks;
        match result {
            Err(_) if self.is_full => Ok(window.bytes_read - before),
            result => result,
        }
    }

    /// Returns how many more bytes were read.
    fn hand_over(&self, file: &LineFile<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let mut at = 0;
        for (place, is_after_crlf) in &self.ends {
            if self.has_no_bytes {
                sink.end(*place, *is_after_crlf)?;
                continue;
            }
            let len = place.len as usize;
            sink.piece(&self.bytes[at..at + len])?;
            sink.end(*place, *is_after_crlf)?;
            at += len;
        }
        if self.ends.len() == self.ranks.len() {
            return Ok(0);
        }
        let mut rest = self.ranks[self.ends.len()..].iter().copied().peekable();
        fetch_lines(file, &mut file.window(), &mut rest, sink, &Watch::default())
    }

    fn clear(&mut self) {
        self.ranks.clear();
        self.bytes.clear();
        self.ends.clear();
        self.is_full = false;
    }
}

impl Sink for Batch {
    #[inline]
    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        if self.has_no_bytes {
            return Ok(());
        }
        if (self.bytes.len() + bytes.len()) as u64 > BYTES {
            self.is_full = true;
            return Err(Error::stopped());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()> {
        self.ends.push((place, is_after_crlf));
        Ok(())
    }
}

/// Only after a panic, which is propagated.
fn lost() -> Error {
    Error::new(ErrorKind::Stopped, "a thread is gone")
}
