//! Records that are found only by scanning the whole input: CSV with quotes. While they are
//! counted, the starts of some are noted, from which chosen records are found. Records whose places
//! are known are fetched without a scan.

use super::lines::is_after_crlf;
use super::{Ranks, copy};
use crate::Result;
use crate::input::{AlignedBuffer, Checkpoint, FileAccess, FileWindow, Population, Scan};
use crate::sink::{Place, Sink};
use crate::work::ProgressGate;

/// The number of records of scanned inputs, with checkpoints to find them.
#[derive(Default)]
pub(crate) struct CountedRecords {
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

/// The least distance of two checkpoints, which is read to find a record.
const DISTANCE_BYTES: u64 = 16 << 10;
/// If there are more, every other one is dropped, so that all of them take at most 5 MiB.
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
pub(crate) fn count_scanned(
    population: &mut Population,
    watch: &ProgressGate,
) -> Result<CountedRecords> {
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
    Ok(CountedRecords { total: scan.rank(), bytes_read: scan.bytes_read(), header, checkpoints })
}

impl CountedRecords {
    /// Passes the records with these ranks, of which there are about `expected`, to the sink;
    /// returns how many bytes were read.
    pub(crate) fn fetch(
        &self,
        population: &mut Population,
        ranks: Ranks<'_>,
        expected: u64,
        sink: &mut dyn Sink,
        watch: &ProgressGate,
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

/// Passes on records by their places. Those that are in order and close to each other are read
/// together.
pub(crate) fn fetch_places(
    population: &Population,
    places: &[Place],
    sink: &mut dyn Sink,
) -> Result<u64> {
    const PIECE: u64 = 256 << 10;
    /// Where records are further apart on average, each is read alone.
    const CLOSE_BYTES: u64 = 32 << 10;
    let files = population.files().unwrap_or_default();
    let starts: Vec<u64> = files
        .iter()
        .scan(0, |end, file| {
            *end += file.size;
            Some(*end - file.size)
        })
        .collect();
    let size = files.iter().map(|file| file.size).sum::<u64>();
    let is_close = places.len() as u64 > size / CLOSE_BYTES && places.is_sorted();
    let longest = places.iter().map(|place| place.len).max().unwrap_or(0);
    let capacity = if is_close { PIECE } else { longest.clamp(2, PIECE) };
    let mut open: Option<(usize, FileWindow<'_>)> = None;
    let mut buffer = AlignedBuffer::default();
    let mut bytes_read = 0;
    for place in places {
        let number = starts.partition_point(|start| *start <= place.at).saturating_sub(1);
        let Some(file) = files.get(number) else { break };
        if let Some((_, window)) = open.take_if(|(open, _)| *open != number) {
            bytes_read += window.bytes_read;
            buffer = window.into_buffer();
        }
        let (_, window) = open.get_or_insert_with(|| {
            let (access, buffer) = (FileAccess::Read(file), std::mem::take(&mut buffer));
            (number, FileWindow::with_buffer(access, capacity as usize, buffer))
        });
        let at = place.at - starts[number];
        let limit = if is_close { PIECE } else { place.len.clamp(1, PIECE) } as usize;
        let copied = copy(window, at, place.len, limit, sink).and_then(|()| {
            let Some(end) = population.format.end() else { return Ok(false) };
            Ok(is_open(window, at + place.len, end)? && is_after_crlf(window, at)?)
        });
        let is_after_crlf =
            copied.map_err(|error| error.with_path(&population.inputs[number].path))?;
        sink.end(*place, is_after_crlf)?;
    }
    Ok(bytes_read + open.map_or(0, |(_, window)| window.bytes_read))
}

/// Whether the record that ends there does not end with this byte.
fn is_open(window: &mut FileWindow<'_>, end: u64, byte: u8) -> Result<bool> {
    let Some(last) = end.checked_sub(1) else { return Ok(true) };
    Ok(window.at(last, 1)? != [byte])
}
