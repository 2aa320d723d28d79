//! Files are read: a whole file, which is opened and closed each time or kept open; and 4 KiB at
//! random offsets of a cached file.

#![expect(unsafe_code, reason = "maps a file")]

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use measure::experiment::{Method, Task, Work, skip};
use memmap2::Mmap;
use model::param::Point;
use model::random::XorShift64;

use super::data::{buffer, cached, shared};
use crate::shared::{Buffer, window};

pub(super) fn methods() -> Vec<Method> {
    vec![
        cached("read", "open-read-close", "open, read, close", &["dir", "size"], |point| {
            window(Box::new(FileReading(OpenReadClose(FileAndBuffer::from_point(point)?))))
        }),
        cached("read", "pread", "pread on a file that stays open", &["dir", "size"], |point| {
            let input = FileAndBuffer::from_point(point)?;
            let file = File::open(&input.path).with_context(|| input.name("opening"))?;
            window(Box::new(FileReading(OpenFilePread(file, input))))
        }),
    ]
}

struct FileAndBuffer {
    path: PathBuf,
    size: u64,
    buffer: Buffer,
}

impl FileAndBuffer {
    fn from_point(point: &Point) -> Result<FileAndBuffer> {
        let size = point.number("size")?;
        Ok(FileAndBuffer { path: shared(point)?, size, buffer: buffer(size)? })
    }

    fn name(&self, doing: &str) -> String {
        format!("{doing} {}", self.path.display())
    }
}

/// Reads the whole file once, and passes on each piece.
trait FileSource {
    fn pass(&mut self, see: impl FnMut(&[u8])) -> Result<()>;
    fn size(&self) -> u64;
}

struct FileReading<S>(S);

impl<S: FileSource> Task for FileReading<S> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            self.0.pass(|piece| {
                black_box(piece);
            })?;
        }
        Ok(Work { ops, bytes: ops * self.0.size(), answer: None })
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        let mut digest = Fnv1a::default();
        self.0.pass(|piece| digest.add(piece))?;
        Ok(Some(digest.0))
    }
}

/// Depends on every byte and its position: FNV-1a.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Fnv1a {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

struct OpenReadClose(FileAndBuffer);

impl FileSource for OpenReadClose {
    fn pass(&mut self, mut see: impl FnMut(&[u8])) -> Result<()> {
        let input = &mut self.0;
        let mut file = File::open(&input.path).with_context(|| input.name("opening"))?;
        let mut offset = 0;
        // Reads exactly the known size of the file: no read is needed to find the end.
        while offset < input.size {
            let n = file.read(&mut input.buffer);
            let n = n.with_context(|| input.name(&format!("reading at offset {offset} of")))?;
            ensure!(n > 0, "{} ended at offset {offset} of {}", input.name("file"), input.size);
            see(&input.buffer[..n]);
            offset += n as u64;
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        self.0.size
    }
}

struct OpenFilePread(File, FileAndBuffer);

impl FileSource for OpenFilePread {
    fn pass(&mut self, mut see: impl FnMut(&[u8])) -> Result<()> {
        let OpenFilePread(file, input) = self;
        let mut offset = 0;
        loop {
            let n = file.read_at(&mut input.buffer, offset);
            let n = n.with_context(|| input.name(&format!("reading at offset {offset} of")))?;
            see(&input.buffer[..n]);
            offset += n as u64;
            if offset >= input.size {
                return Ok(());
            }
            ensure!(n > 0, "{} ended at offset {offset} of {}", input.name("file"), input.size);
        }
    }

    fn size(&self) -> u64 {
        self.1.size
    }
}

/// A file is opened and closed, and nothing of it is read.
pub(super) fn open_close() -> Method {
    cached("open", "open-close", "open and close, without a read", &["dir", "size"], |point| {
        window(Box::new(OpenClose(shared(point)?)))
    })
}

struct OpenClose(PathBuf);

impl Task for OpenClose {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            let file = File::open(&self.0);
            black_box(file.with_context(|| format!("opening {}", self.0.display()))?);
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

pub(super) const BLOCK: usize = 4096;

/// The number of blocks in the digest.
pub(super) const DIGEST_BLOCKS: usize = 64;

/// Reads of 4 KiB at random offsets of a cached file; every block is read once before any block is
/// read again.
pub(super) fn at_random() -> Vec<Method> {
    let (pread, mapped) =
        ("pread of 4 KiB, all cached", "4 KiB copied out of a mapping, all cached");
    vec![
        cached("random", "random-pread", pread, &["dir", "span"], |point| {
            let blocks = ShuffledBlocks::from_point(point)?;
            let file = open(&blocks.path, 0)?;
            window(Box::new(RandomReads { blocks, from: file }))
        }),
        cached("random", "random-mmap", mapped, &["dir", "span"], |point| {
            let blocks = ShuffledBlocks::from_point(point)?;
            let file = open(&blocks.path, 0)?;
            // SAFETY: the file is in the run's own folder, where no other process changes it.
            let map = unsafe { Mmap::map(&file) };
            let map = map.with_context(|| format!("mapping {}", blocks.path.display()))?;
            window(Box::new(RandomReads { blocks, from: map }))
        }),
    ]
}

pub(super) fn open(path: &Path, flags: i32) -> Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    file.map_err(|error| match flags {
        0 => anyhow::Error::new(error).context(format!("opening {}", path.display())),
        _ => skip(format!("O_DIRECT is refused for {}: {error}", path.display())),
    })
}

/// A way to read a block.
pub(super) trait BlockSource {
    fn block(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}

impl BlockSource for File {
    fn block(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_exact_at(buffer, offset).with_context(|| format!("reading at offset {offset}"))
    }
}

impl BlockSource for Mmap {
    fn block(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset)?;
        let block = self.get(start..start + buffer.len()).context("the file is too short")?;
        buffer.copy_from_slice(block);
        Ok(())
    }
}

/// The blocks of a file in a random order, which is the same for all methods.
pub(super) struct ShuffledBlocks {
    pub(super) path: PathBuf,
    pub(super) order: Vec<u32>,
    pub(super) next: usize,
    /// Starts at a page, as `O_DIRECT` requires.
    buffer: Buffer,
}

impl ShuffledBlocks {
    pub(super) fn from_point(point: &Point) -> Result<ShuffledBlocks> {
        let path = shared(point)?;
        let n = u32::try_from(point.number("span")? / BLOCK as u64)?;
        Ok(ShuffledBlocks { path, order: order(n), next: 0, buffer: Buffer::new(BLOCK)? })
    }

    pub(super) fn next(&mut self, mut from: impl BlockSource) -> Result<()> {
        let offset = u64::from(self.order[self.next % self.order.len()]) * BLOCK as u64;
        self.next += 1;
        let read = from.block(offset, &mut self.buffer);
        read.with_context(|| self.path.display().to_string())
    }

    pub(super) fn digest(
        &mut self,
        mut next: impl FnMut(&mut ShuffledBlocks) -> Result<()>,
    ) -> Result<u64> {
        let mut digest = Fnv1a::default();
        self.next = 0;
        for _ in 0..DIGEST_BLOCKS.min(self.order.len()) {
            next(self)?;
            digest.add(&self.buffer);
        }
        Ok(digest.0)
    }
}

impl<F: BlockSource> BlockSource for &mut F {
    fn block(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        (*self).block(offset, buffer)
    }
}

impl BlockSource for &File {
    fn block(&mut self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_exact_at(buffer, offset).with_context(|| format!("reading at offset {offset}"))
    }
}

/// The shuffle of Fisher and Yates, by xorshift64 from a fixed seed.
fn order(n: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n.max(1)).collect();
    let mut random = XorShift64(0x9e37_79b9_7f4a_7c15);
    for i in (1..order.len()).rev() {
        order.swap(i, (random.draw() % (i as u64 + 1)) as usize);
    }
    order
}

struct RandomReads<F> {
    blocks: ShuffledBlocks,
    from: F,
}

impl<F: BlockSource> Task for RandomReads<F> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            self.blocks.next(&mut self.from)?;
            std::hint::black_box(&self.blocks.buffer[..]);
        }
        Ok(Work { ops, bytes: ops * BLOCK as u64, answer: None })
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        let from = &mut self.from;
        self.blocks.digest(|blocks| blocks.next(&mut *from)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_every_block_once_and_is_not_the_plain_one() {
        for n in [1, 2, 1000] {
            let mut blocks = order(n);
            assert_eq!(blocks, order(n));
            assert!(n < 3 || blocks.windows(2).any(|pair| pair[0] > pair[1]));
            blocks.sort_unstable();
            assert_eq!(blocks, (0..n).collect::<Vec<_>>());
        }
    }
}
