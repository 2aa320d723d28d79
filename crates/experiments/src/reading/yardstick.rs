//! Yardsticks for the methods: memory as the limit, `read` and byte-stream without the fold, and
//! `cat`.

use std::io::Read;

use anyhow::{Context, Result};
use measure::experiment::{Command, Execution, Method, Task, Work};
use memmap2::MmapMut;
use model::param::Point;

use super::fold::Fold;
use super::libraries::LentChunks;
use super::source::{Input, ReadingTask, Source, contender, fits_in_memory, reading};
use crate::shared::Buffer;

pub(super) fn methods() -> Vec<Method> {
    let memory = "the same fold over bytes already in memory: the limit";
    let bare = "read into a reused buffer, the bytes never looked at";
    let lent = "byte-stream's chunks, the bytes never looked at: as `bare-read`";
    let cat = Execution::Command(Command::plain(["/bin/cat", "{file}"]));
    vec![
        contender("memory", memory, &[], build_memory).as_yardstick(),
        contender("bare-read", bare, &["buffer"], build_bare).as_yardstick(),
        contender("bare-byte-stream", lent, &["buffer"], build_bare_stream).as_yardstick(),
        // One cat reads one file, whatever the value of `parallel`.
        Method::contender("cat", "/bin/cat FILE, to /dev/null", cat)
            .reads(&["source", "size", "file"])
            .job("file")
            .as_yardstick(),
    ]
}

struct Memory {
    input: Input,
    bytes: MmapMut,
}

fn build_memory(point: &Point) -> Result<Box<dyn Task>> {
    fits_in_memory(point)?;
    reading(point, |input| {
        let len = usize::try_from(input.size)?;
        let mut bytes = MmapMut::map_anon(len).context("memory for the whole file")?;
        // With small pages it is slower than the limit, but still memory.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        let mut file = input.open_checked()?;
        file.read_exact(&mut bytes).with_context(|| input.doing("reading"))?;
        Ok(Memory { input, bytes })
    })
}

impl Source for Memory {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        // Hides from the compiler that each operation does the same work as the one before.
        let bytes = std::hint::black_box(&self.bytes);
        fold.chunk(bytes);
        self.input.ended(bytes.len() as u64)
    }
}

/// It passes on no bytes, so it has neither an answer nor a digest.
struct Bare<S>(ReadingTask<S>);

struct BareRead {
    input: Input,
    buffer: Buffer,
}

fn build_bare(point: &Point) -> Result<Box<dyn Task>> {
    let reading = ReadingTask::new(point, |input| {
        Ok(BareRead { input, buffer: Buffer::from_point(point)? })
    })?;
    Ok(Box::new(Bare(reading)))
}

impl Source for BareRead {
    fn pass<F: Fold>(&mut self, _fold: &mut F) -> Result<()> {
        let mut file = self.input.open()?;
        let mut offset = 0;
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => return self.input.ended(offset),
                Ok(n) => offset = self.input.advanced(offset, n)?,
                Err(error) => return Err(self.input.failed(offset, error)),
            }
        }
    }
}

struct BareStream(LentChunks);

fn build_bare_stream(point: &Point) -> Result<Box<dyn Task>> {
    let reading = ReadingTask::new(point, |input| Ok(BareStream(LentChunks::new(point, input)?)))?;
    Ok(Box::new(Bare(reading)))
}

impl Source for BareStream {
    fn pass<F: Fold>(&mut self, _fold: &mut F) -> Result<()> {
        self.0.each(|_| {})
    }
}

impl<S: Source> Task for Bare<S> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        Ok(Work { answer: None, ..self.0.run(ops)? })
    }
}
