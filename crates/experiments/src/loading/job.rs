//! What one operation loads, where it goes, and the check of what has arrived. A method is a
//! function that brings all ranges of a `LoadJob` into memory, as `Loaded`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use measure::experiment::{Task, Work};
use memmap2::{Mmap, MmapMut};
use model::param::Point;

use super::libraries::choice_metric;
use super::table::FilePart;
use crate::shared::PAGE;
use crate::shared::fold::{Digest, Fold, Sum, combined};
use crate::shared::input::{Input, fits_in_memory};

/// The file, and the ranges of it that are wanted.
pub(super) struct LoadJob {
    pub(super) input: Input,
    pub(super) places: Vec<PlacedRange>,
    /// The memory that holds all ranges.
    pub(super) memory_bytes: usize,
    /// The sum of the lengths of the ranges.
    wanted_bytes: u64,
}

/// A range of the file, and where it begins in the memory of a method that copies it there: at the
/// same place of a page as in the file, so that `O_DIRECT` can read it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacedRange {
    pub(super) offset: u64,
    pub(super) len: usize,
    pub(super) start: usize,
}

impl PlacedRange {
    /// The whole pages that hold the range.
    pub(super) fn aligned(self) -> PlacedRange {
        let before = self.start % PAGE;
        let len = (before + self.len).next_multiple_of(PAGE);
        PlacedRange { offset: self.offset - before as u64, len, start: self.start - before }
    }
}

/// A part of a range that is read by one request.
pub(super) struct Piece<'a> {
    pub(super) offset: u64,
    pub(super) bytes: &'a mut [u8],
}

/// What a method has loaded.
pub(super) enum Loaded {
    /// The ranges at their places.
    Memory(MmapMut),
    /// The whole file.
    Mapped(Mmap),
    /// The ranges as the parts of what byte-stream has loaded.
    Parts(byte_stream::Loaded),
}

impl LoadJob {
    fn new(point: &Point) -> Result<LoadJob> {
        let input = Input::from_point(point, "file")?;
        let list = point.path("ranges")?;
        let ranges = ranges(&list).with_context(|| format!("reading {}", list.display()))?;
        LoadJob::of_ranges(input, &ranges)
    }

    pub(super) fn of_ranges(input: Input, ranges: &[FilePart]) -> Result<LoadJob> {
        let mut places = Vec::new();
        let (mut end, mut wanted_bytes) = (0, 0u64);
        for FilePart { offset, len } in ranges {
            let is_within = offset.checked_add(*len).is_some_and(|end| end <= input.size);
            ensure!(is_within, "{len} bytes at {offset} are not in the file");
            let (start, len) = (end + (*offset % PAGE as u64) as usize, usize::try_from(*len)?);
            places.push(PlacedRange { offset: *offset, len, start });
            let next = start.checked_add(len).and_then(|end| end.checked_next_multiple_of(PAGE));
            // A sparse file may have parts that lie on one another.
            end = next.filter(|end| isize::try_from(*end).is_ok()).with_context(|| {
                format!("{len} bytes at {offset}: all ranges have more bytes than memory can have")
            })?;
            wanted_bytes += len as u64;
        }
        ensure!(wanted_bytes > 0, "there is nothing to load");
        Ok(LoadJob { input, places, memory_bytes: end, wanted_bytes })
    }

    /// New memory for all ranges: the kernel gives its pages at the first touch, which is a part of
    /// what loading costs.
    pub(super) fn memory(&self) -> Result<MmapMut> {
        MmapMut::map_anon(self.memory_bytes).context("memory for what is loaded")
    }

    /// The bytes of each range, in order.
    fn bytes<'a>(&'a self, loaded: &'a Loaded) -> impl Iterator<Item = &'a [u8]> {
        self.places.iter().enumerate().map(move |(index, place)| match loaded {
            Loaded::Memory(memory) => &memory[place.start..][..place.len],
            Loaded::Mapped(map) => &map[place.offset as usize..][..place.len],
            Loaded::Parts(parts) => parts.part(index).unwrap_or_default(),
        })
    }

    fn sum(&self, loaded: &Loaded) -> u64 {
        let mut sum = Sum::at(0);
        self.bytes(loaded).for_each(|bytes| sum.chunk(bytes));
        sum.result()
    }

    fn digest(&self, loaded: &Loaded) -> u64 {
        combined(self.bytes(loaded).map(|bytes| {
            let mut digest = Digest::at(0);
            digest.chunk(bytes);
            digest.result()
        }))
    }
}

/// The requests that read these places into the memory, of at most so many bytes each.
pub(super) fn pieces(
    places: impl IntoIterator<Item = PlacedRange>,
    memory: &mut [u8],
    most: usize,
) -> Vec<Piece<'_>> {
    let (mut rest, mut at) = (memory, 0);
    let mut pieces = Vec::new();
    for PlacedRange { mut offset, len, start } in places {
        let (mut bytes, behind) = rest.split_at_mut(start - at).1.split_at_mut(len);
        (rest, at) = (behind, start + len);
        while !bytes.is_empty() {
            let (piece, more) = bytes.split_at_mut(most.min(bytes.len()));
            bytes = more;
            let len = piece.len() as u64;
            pieces.push(Piece { offset, bytes: piece });
            offset += len;
        }
    }
    pieces
}

/// The lines of the list: offset and length.
fn ranges(list: &Path) -> Result<Vec<FilePart>> {
    let text = std::fs::read_to_string(list)?;
    let range = |line: &str| {
        let (offset, len) = line.split_once(' ').context("a line without a length")?;
        Ok(FilePart { offset: offset.parse()?, len: len.parse()? })
    };
    text.lines().map(range).collect()
}

/// A way to load a job: set up once, called for each operation.
pub(super) type Load = Box<dyn FnMut(&LoadJob) -> Result<Loaded>>;

struct LoadTask {
    job: LoadJob,
    load: Load,
    /// What the last operation has loaded: to give it back is not timed.
    loaded: Option<Loaded>,
}

/// The task of a method that copies what it loads; it is skipped if that does not fit.
pub(super) fn copying(
    point: &Point,
    way: impl FnOnce(&LoadJob) -> Result<Load>,
) -> Result<Box<dyn Task>> {
    let job = LoadJob::new(point)?;
    fits_in_memory(job.memory_bytes as u64)?;
    let load = way(&job)?;
    Ok(Box::new(LoadTask { job, load, loaded: None }))
}

/// The task of a method that maps the file, or may do so.
pub(super) fn mapping(point: &Point, load: Load) -> Result<Box<dyn Task>> {
    Ok(Box::new(LoadTask { job: LoadJob::new(point)?, load, loaded: None }))
}

impl Task for LoadTask {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let mut answer = 0;
        for _ in 0..ops {
            self.loaded = None;
            let loaded = (self.load)(&self.job)?;
            answer = self.job.sum(&loaded);
            self.loaded = Some(loaded);
        }
        Ok(Work { ops, bytes: self.job.wanted_bytes.wrapping_mul(ops), answer: Some(answer) })
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        let loaded = (self.load)(&self.job)?;
        Ok(Some(self.job.digest(&loaded)))
    }

    fn before(&mut self) -> Result<()> {
        self.loaded = None;
        Ok(())
    }

    fn between(&mut self) -> Result<()> {
        self.loaded = None;
        Ok(())
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        match &self.loaded {
            Some(Loaded::Parts(parts)) => vec![choice_metric(parts.choice())],
            _ => Vec::new(),
        }
    }
}
