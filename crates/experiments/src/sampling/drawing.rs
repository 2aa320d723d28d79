//! A drawing as a task: each operation is another sample of the same file into an unnamed output
//! file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use byte_stream::decode::Encoding;
use measure::clock::Cpu;
use measure::experiment::{Build, Method, Task, Work, skip};
use model::param::Point;
use record_sampler::{Format, Layout, Population, Stats};

use super::check::{Promise, SampleProperties};
use super::data::{self, is_plain, layout, population};

/// The sample that is drawn: its input and its size.
pub(super) struct Request {
    pub(super) file: PathBuf,
    pub(super) layout: Layout,
    encoding: Option<Encoding>,
    pub(super) samples: u64,
    pub(super) records: u64,
}

impl Request {
    pub(super) fn from_point(point: &Point) -> Result<Request> {
        let file = point.path("file")?;
        let layout = layout(point.text("kind")? == "text", &file)?;
        Ok(Request {
            encoding: data::encoding(&layout, &file)?,
            layout,
            file,
            samples: point.number("samples")?,
            records: point.number("records")?,
        })
    }

    /// The path of the file, which `data` has verified to be UTF-8.
    pub(super) fn name(&self) -> String {
        self.file.display().to_string()
    }

    pub(super) fn population(&self) -> record_sampler::Result<Population> {
        population(&self.layout, &self.file)
    }

    /// The bytes of the file, decoded.
    pub(super) fn open(&self) -> Result<Box<dyn Read + Send>> {
        data::open(&self.file, self.encoding)
    }

    /// The reason to skip what reads only what is wanted.
    pub(super) fn must_be_uncompressed(&self) -> Result<()> {
        if self.encoding.is_none() { Ok(()) } else { Err(skip("reads no compressed file")) }
    }

    /// The reason to skip what needs to know where a record is by its number, or that of its line.
    pub(super) fn must_be_numbered(&self) -> Result<()> {
        self.must_be_uncompressed()?;
        match self.layout.format {
            Format::Marked { .. } => Err(skip(format!("reads no {}", self.layout.name))),
            _ => Ok(()),
        }
    }

    /// The reason to skip what reads nothing but lines and records of 64 bytes, without a header.
    pub(super) fn must_be_plain(&self) -> Result<()> {
        self.must_be_uncompressed()?;
        if is_plain(&self.layout) {
            return Ok(());
        }
        Err(skip(format!("reads no {}", self.layout.name)))
    }
}

/// A way to draw: writes the sample for this seed.
pub(super) type Draw = Box<dyn FnMut(&Request, u64, &mut File) -> Result<DrawUsage>>;

/// The resources that a method reports for one drawing.
#[derive(Default)]
pub(super) struct DrawUsage {
    /// The bytes that were read, or accessed through a mapping.
    pub(super) looked_at_bytes: Option<u64>,
    /// The CPU time, if another process drew the sample.
    pub(super) cpu: Option<Cpu>,
}

impl From<Stats> for DrawUsage {
    fn from(stats: Stats) -> DrawUsage {
        DrawUsage { looked_at_bytes: Some(stats.bytes_read), cpu: None }
    }
}

pub(super) struct DrawTask {
    job: Request,
    draw: Draw,
    promise: Promise,
    out: File,
    seed: u64,
    /// The operations of the last run.
    ops: u64,
    looked_at_bytes: Option<u64>,
    cpu: Option<Cpu>,
}

impl DrawTask {
    pub(super) fn task(point: &Point, promise: Promise, draw: Draw) -> Result<Box<dyn Task>> {
        let job = Request::from_point(point)?;
        let dir = job.file.parent().context("the file is in no directory")?;
        let out = tempfile::tempfile_in(dir).or_else(|_| tempfile::tempfile());
        let out = out.context("making the file that the sample is written to")?;
        Ok(Box::new(DrawTask {
            job,
            draw,
            promise,
            out,
            seed: 0,
            ops: 1,
            looked_at_bytes: None,
            cpu: None,
        }))
    }
}

impl Task for DrawTask {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let mut bytes = 0;
        (self.ops, self.cpu) = (ops.max(1), None);
        for _ in 0..ops {
            self.out.seek(SeekFrom::Start(0))?;
            self.out.set_len(0)?;
            self.seed += 1;
            let used = (self.draw)(&self.job, self.seed, &mut self.out)?;
            self.looked_at_bytes = used.looked_at_bytes;
            if let Some(cpu) = used.cpu {
                self.cpu = Some(self.cpu.unwrap_or_default() + cpu);
            }
            bytes += self.out.stream_position()?;
        }
        Ok(Work { ops, bytes, answer: Some(self.job.samples) })
    }

    /// The digest covers not the sample itself but the properties that every sample must have.
    fn digest(&mut self) -> Result<Option<u64>> {
        self.run(1)?;
        let Request { file, layout, encoding, samples, records } = &self.job;
        let (encoding, records, promise) = (*encoding, *records, self.promise);
        let claim =
            SampleProperties { file, layout, encoding, records, samples: *samples, promise };
        claim.check(&self.out).context("the sample is wrong")?;
        Ok(Some(*samples))
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        let looked_at = self.looked_at_bytes.map(|bytes| ("looked_at_bytes", bytes as f64));
        let cpu = self.cpu.map(|cpu| ("cpu_ns", cpu.all_ns as f64 / self.ops as f64));
        looked_at.into_iter().chain(cpu).collect()
    }
}

/// The params that every method reads.
pub(super) const PARAMS: [&str; 5] = ["samples", "records", "kind", "dir", "file"];

/// A method that draws from the point's file.
pub(super) fn contender(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build).reads(&PARAMS)
}

/// A method that draws only from files of this kind.
pub(super) fn of_kind(kind: &'static str, name: &str, about: &str, build: Build) -> Method {
    contender(name, about, build).job(kind)
}
