//! Records that are found only by scanning the whole input: CSV with quotes. While they are
//! counted, the starts of some are noted, from which chosen records are found.

use super::Ranks;
use crate::Result;
use crate::input::{Checkpoint, Population, Scan};
use crate::sink::{Place, Sink};
use crate::watch::Watch;

/// The records of scanned inputs.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) total: u64,
    pub(crate) bytes_read: u64,
    pub(crate) header: Vec<u8>,
    checkpoints: Checkpoints,
}

/// Starts of records, in order, at about the same distance.
struct Checkpoints {
    list: Vec<Checkpoint>,
    distance: u64,
}

/// The least distance of two checkpoints: what is read to find a record.
const DISTANCE_BYTES: u64 = 16 << 10;
/// Of larger inputs every other one is dropped, so that all of them take at most 5 MiB.
const MOST_CHECKPOINTS: usize = 1 << 17;

impl Default for Checkpoints {
    fn default() -> Checkpoints {
        Checkpoints { list: Vec::new(), distance: DISTANCE_BYTES }
    }
}

impl Checkpoints {
    fn push(&mut self, checkpoint: Option<Checkpoint>) {
        self.list.extend(checkpoint);
        if self.list.len() == MOST_CHECKPOINTS {
            let mut number = 0;
            self.list.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.distance *= 2;
        }
    }

    /// The last one up to this rank, in a search from `from` on.
    fn before(&self, rank: u64, from: &mut usize) -> Option<&Checkpoint> {
        let rest = self.list.get(*from..).unwrap_or_default();
        *from += rest.partition_point(|checkpoint| checkpoint.rank <= rank);
        self.list.get(from.checked_sub(1)?)
    }
}

/// Counts the records.
pub(crate) fn count_scanned(population: &mut Population, watch: &Watch) -> Result<Counted> {
    let can_jump = population.files().is_some();
    let mut scan = Scan::new(population, watch.clone())?;
    let header = scan.header().to_vec();
    let mut checkpoints = Checkpoints::default();
    let mut step = if can_jump { 1 } else { u64::MAX };
    let mut last = scan.offset();
    while scan.skip(step)? {
        checkpoints.push(scan.checkpoint());
        let distance = scan.offset().saturating_sub(last);
        if distance < checkpoints.distance / 2 {
            step = step.saturating_mul(2);
        } else if distance > 2 * checkpoints.distance {
            step = (step / 2).max(1);
        }
        last = scan.offset();
    }
    Ok(Counted { total: scan.rank(), bytes_read: scan.bytes_read(), header, checkpoints })
}

impl Counted {
    /// Passes the records with these ranks, of which there are about `expected`, to the sink;
    /// returns how many bytes were read.
    pub(crate) fn fetch(
        &self,
        population: &mut Population,
        ranks: Ranks<'_>,
        expected: u64,
        sink: &mut dyn Sink,
        watch: &Watch,
    ) -> Result<u64> {
        let Checkpoints { list, distance } = &self.checkpoints;
        let is_sparse = expected < list.len() as u64 / 4;
        let piece = if is_sparse { 2 * *distance as usize } else { usize::MAX };
        let mut scan = Scan::new(population, watch.clone())?;
        let (mut ranks, mut from) = (ranks.peekable(), 0);
        while let Some(rank) = ranks.next() {
            let checkpoint = self.checkpoints.before(rank, &mut from).filter(|_| is_sparse);
            if let Some(checkpoint) = checkpoint.filter(|to| to.rank > scan.rank()) {
                scan.jump(checkpoint, piece)?;
            }
            if !scan.go_to(rank)? {
                break;
            }
            let Some(record) = scan.next()? else { break };
            let place = Place { at: record.at, len: record.bytes.len() as u64 };
            loop {
                sink.piece(record.bytes)?;
                sink.end(place, record.is_after_crlf)?;
                if ranks.next_if_eq(&rank).is_none() {
                    break;
                }
            }
        }
        Ok(scan.bytes_read())
    }
}
