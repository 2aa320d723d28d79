//! Copies records from mapped files, in the order of their entries: one bucket a thread, whose
//! records are passed on in the order of the buckets.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::entries::{Bucket, Entry, IS_APART, place_of};
use crate::sink::{Run, Sink};
use crate::threads::{join, start};
use crate::{Error, ErrorKind, Result};

/// The size of a run of copied records: it stays in a cache until it is written.
const RUN_BYTES: usize = 256 << 10;
/// The runs of a bucket that may wait.
const RUNS: usize = 16;
/// The number of records whose cache misses overlap.
const AT_ONCE: usize = 64;

/// The mapped files.
pub(super) struct Turns<'a> {
    pub(super) maps: &'a [&'a [u8]],
    /// Where each file begins, as if all were one.
    pub(super) starts: Vec<u64>,
    pub(super) record_end: Option<u8>,
}

/// What comes next.
enum Turn {
    Copied(Copied),
    /// A record that is listed apart, at this offset.
    Apart(u64),
}

/// Records one after the other.
#[derive(Default)]
struct Copied {
    bytes: Vec<u8>,
    lens: Vec<u32>,
    /// A record does not end as the others do.
    has_open: bool,
}

/// A bucket, and where its records go.
type Job = (Bucket, SyncSender<Result<Turn>>);
type Load<'a> = &'a (dyn Fn(Bucket) -> Result<Vec<Entry>> + Sync);

impl Turns<'_> {
    /// Passes on the records of all buckets.
    pub(super) fn pass_on(
        &self,
        buckets: Vec<Bucket>,
        load: Load<'_>,
        threads: usize,
        sink: &mut dyn Sink,
        mut fetch_apart: impl FnMut(u64, &mut dyn Sink) -> Result<()>,
    ) -> Result<()> {
        let (jobs, taken) = sync_channel::<Job>(2 * threads);
        let (taken, spare) = (Mutex::new(taken), Mutex::new(Vec::new()));
        let mut take = |turn: Turn, sink: &mut dyn Sink| match turn {
            Turn::Apart(at) => fetch_apart(at, sink),
            Turn::Copied(copied) => copied.pass_on(sink, &spare),
        };
        thread::scope(|scope| {
            let worker = |_| start(scope, || self.work(&taken, load, &spare));
            let workers: Vec<_> = (0..threads).map_while(worker).collect();
            if workers.is_empty() {
                return buckets.into_iter().try_for_each(|bucket| {
                    self.copy(&load(bucket)?, &spare, &mut |turn| take(turn, sink))
                });
            }
            let result = deal(buckets, &jobs, 2 * threads, |turn| take(turn, sink));
            // The threads end when the channel of jobs is closed.
            drop(jobs);
            workers.into_iter().for_each(join);
            result
        })
    }

    fn work(&self, jobs: &Mutex<Receiver<Job>>, load: Load<'_>, spare: &Mutex<Vec<Copied>>) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((bucket, done)) = job else { return };
            let mut send = |turn| done.send(Ok(turn)).map_err(|_| Error::stopped());
            let result = load(bucket).and_then(|entries| self.copy(&entries, spare, &mut send));
            if let Err(error) = result {
                // The receiver is gone if the work was cancelled.
                let _ = done.send(Err(error));
            }
        }
    }

    /// Copies the records of these entries.
    fn copy(
        &self,
        entries: &[Entry],
        spare: &Mutex<Vec<Copied>>,
        send: &mut dyn FnMut(Turn) -> Result<()>,
    ) -> Result<()> {
        let mut copied = Copied::new(spare);
        for batch in entries.chunks(AT_ONCE) {
            self.touch(batch);
            for entry in batch {
                let (at, len) = place_of(entry);
                if len == IS_APART {
                    send(Turn::Copied(std::mem::take(&mut copied)))?;
                    send(Turn::Apart(at))?;
                } else {
                    copied.push(self.record(at, len)?, self.record_end);
                }
            }
            if copied.bytes.len() >= RUN_BYTES {
                send(Turn::Copied(std::mem::replace(&mut copied, Copied::new(spare))))?;
            }
        }
        send(Turn::Copied(copied))
    }

    /// Loads the first and the last byte of each record.
    fn touch(&self, entries: &[Entry]) {
        let ends = entries.iter().map(|entry| {
            let (at, len) = place_of(entry);
            let record = self.record(at, if len == IS_APART { 0 } else { len });
            record.map_or(0, |record| record.first().unwrap_or(&0) ^ record.last().unwrap_or(&0))
        });
        black_box(ends.fold(0, |sum, end| sum ^ end));
    }

    #[inline]
    fn record(&self, at: u64, len: u64) -> Result<&[u8]> {
        let number = match self.maps.len() {
            1 => 0,
            _ => self.starts.partition_point(|start| *start <= at).saturating_sub(1),
        };
        let from = (at - self.starts[number]) as usize;
        let record = self.maps[number].get(from..from + len as usize);
        record.ok_or_else(|| Error::new(ErrorKind::Changed, "ended while it was read"))
    }
}

/// Distributes the buckets, and passes on their records in order.
fn deal(
    buckets: Vec<Bucket>,
    jobs: &SyncSender<Job>,
    most_open: usize,
    mut take: impl FnMut(Turn) -> Result<()>,
) -> Result<()> {
    let mut open: VecDeque<Receiver<Result<Turn>>> = VecDeque::new();
    let mut buckets = buckets.into_iter();
    loop {
        for bucket in buckets.by_ref().take(most_open - open.len()) {
            let (done, receiver) = sync_channel(RUNS);
            jobs.send((bucket, done))
                .map_err(|_| Error::new(ErrorKind::Stopped, "a thread is gone"))?;
            open.push_back(receiver);
        }
        let Some(first) = open.pop_front() else { return Ok(()) };
        first.into_iter().try_for_each(|turn| take(turn?))?;
    }
}

impl Copied {
    fn new(spare: &Mutex<Vec<Copied>>) -> Copied {
        let spare = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Copied {
            bytes: Vec::with_capacity(RUN_BYTES + (RUN_BYTES >> 3)),
            ..Copied::default()
        })
    }

    #[inline]
    fn push(&mut self, record: &[u8], record_end: Option<u8>) {
        self.bytes.extend_from_slice(record);
        self.lens.push(record.len() as u32);
        self.has_open |= record_end.is_some_and(|end| record.last() != Some(&end));
    }

    fn pass_on(mut self, sink: &mut dyn Sink, spare: &Mutex<Vec<Copied>>) -> Result<()> {
        sink.run(&Run { bytes: &self.bytes, lens: &self.lens, has_open: self.has_open })?;
        self.bytes.clear();
        self.lens.clear();
        self.has_open = false;
        spare.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        Ok(())
    }
}
