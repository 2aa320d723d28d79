//! A method of this experiment is a `Copying`, which copies all bytes from one descriptor to
//! another. Here it becomes a `Task`, whose CPU time is that of the copying alone. The descriptors
//! are of the kinds that the point names, with threads at their other ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail, ensure};
use measure::clock;
pub(super) use measure::clock::Cpu;
use measure::experiment::{Build, Method, Task, Work};
use model::param::Point;

/// A way to copy, with its reusable resources.
pub(super) trait Copying {
    /// Copies everything and closes both descriptors. Returns the CPU time if it is not that of
    /// this thread.
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>>;

    /// What is known of the last copy, of so many bytes, besides its time.
    fn counts(&self, _size: u64) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// All methods read `size`, `input`, `output` and `reader`; `reads` names further params.
pub(super) fn contender(name: &str, about: &str, reads: &[&'static str], build: Build) -> Method {
    let of_all = ["size", "input", "output", "reader"];
    Method::built_in(name, about, build).reads(&of_all).reads(reads)
}

pub(super) fn task<C: Copying + 'static>(point: &Point, copying: C) -> Result<Box<dyn Task>> {
    Ok(Box::new(CopyTask {
        setup: CopySetup::from_point(point)?,
        copying,
        cpu: Cpu::default(),
        ops: 1,
    }))
}

struct CopyTask<C> {
    setup: CopySetup,
    copying: C,
    /// The CPU time of the last run.
    cpu: Cpu,
    ops: u64,
}

impl<C: Copying> CopyTask<C> {
    fn once(&mut self, setup: &CopySetup) -> Result<Cpu> {
        let (CopyEnds { input, output }, rest) = setup.open()?;
        let before = clock::own_thread_cpu();
        let reported = self.copying.copy(input, output)?;
        let own = clock::own_thread_cpu() - before;
        setup.finish(rest)?;
        Ok(reported.unwrap_or(own))
    }
}

impl<C: Copying> Task for CopyTask<C> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let setup = self.setup.clone();
        self.ops = ops.max(1);
        self.cpu = Cpu::default();
        for _ in 0..ops {
            self.cpu = self.cpu + self.once(&setup)?;
        }
        let bytes = self.setup.size.wrapping_mul(ops);
        Ok(Work { ops, bytes, answer: Some(self.setup.size) })
    }

    /// Fails if a byte arrives that differs from the file's; so the results of all methods that
    /// succeed are equal.
    fn digest(&mut self) -> Result<Option<u64>> {
        let Some(setup) = self.setup.checked() else { return Ok(None) };
        self.once(&setup)?;
        Ok(Some(setup.size))
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        let Cpu { all_ns, user_ns } = self.cpu;
        let per_op = |ns: u64| ns as f64 / self.ops as f64;
        let system_ns = all_ns.saturating_sub(user_ns);
        let mut metrics = vec![
            ("cpu_ns", per_op(all_ns)),
            ("user_ns", per_op(user_ns)),
            ("system_ns", per_op(system_ns)),
        ];
        metrics.extend(self.copying.counts(self.setup.size));
        metrics
    }
}

const DRAIN_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, PartialEq)]
enum EndKind {
    Null,
    File,
    Pipe,
    Socket,
}

#[derive(Clone, Copy, PartialEq)]
enum ReaderAction {
    Reads,
    Drops,
    /// Untimed: compares every byte with the file.
    Compares,
}

/// The kinds and sizes that a point defines.
#[derive(Clone)]
struct CopySetup {
    path: PathBuf,
    size: u64,
    input: EndKind,
    output: EndKind,
    reader: ReaderAction,
}

/// An input and an output; the copying method takes ownership of them.
struct CopyEnds {
    input: OwnedFd,
    output: OwnedFd,
}

/// The threads and files that remain after the copy.
struct CopyHelpers {
    drainer: Option<JoinHandle<Result<u64>>>,
    feeder: Option<JoinHandle<()>>,
    file: Option<File>,
}

impl CopySetup {
    fn from_point(point: &Point) -> Result<CopySetup> {
        let kind = |name| match point.text(name)? {
            "null" => Ok(EndKind::Null),
            "file" => Ok(EndKind::File),
            "pipe" => Ok(EndKind::Pipe),
            "socket" => Ok(EndKind::Socket),
            other => bail!("{name} {other} is not known"),
        };
        let drops = point.text("reader")? == "drops";
        Ok(CopySetup {
            path: point.path("file")?,
            size: point.number("size")?,
            input: kind("input")?,
            output: kind("output")?,
            reader: if drops { ReaderAction::Drops } else { ReaderAction::Reads },
        })
    }

    /// The same setup, but with every byte checked; `None` if the copy has no output bytes.
    fn checked(&self) -> Option<CopySetup> {
        (self.output != EndKind::Null)
            .then(|| CopySetup { reader: ReaderAction::Compares, ..self.clone() })
    }

    fn open(&self) -> Result<(CopyEnds, CopyHelpers)> {
        let (input, feeder) = self.input()?;
        let mut rest = CopyHelpers { drainer: None, feeder, file: None };
        let output = match self.output {
            EndKind::Null => OpenOptions::new().write(true).open("/dev/null")?.into(),
            EndKind::File => {
                let dir = self.path.parent().unwrap_or(Path::new("."));
                let file = tempfile::tempfile_in(dir).context("a file to copy to")?;
                rest.file = Some(file.try_clone()?);
                file.into()
            }
            EndKind::Pipe => {
                let (reader, writer) = io::pipe().context("a pipe to copy to")?;
                rest.drainer = Some(self.drain(reader)?);
                writer.into()
            }
            EndKind::Socket => {
                let (reader, writer) = UnixStream::pair().context("a socket to copy to")?;
                rest.drainer = Some(self.drain(reader)?);
                writer.into()
            }
        };
        Ok((CopyEnds { input, output }, rest))
    }

    fn input(&self) -> Result<(OwnedFd, Option<JoinHandle<()>>)> {
        let file = self.file()?;
        Ok(match self.input {
            EndKind::Pipe => {
                let (reader, writer) = io::pipe().context("a pipe to copy from")?;
                (reader.into(), Some(feed(file, writer)?))
            }
            EndKind::Socket => {
                let (reader, writer) = UnixStream::pair().context("a socket to copy from")?;
                (reader.into(), Some(feed(file, writer)?))
            }
            _ => (file.into(), None),
        })
    }

    fn file(&self) -> Result<File> {
        File::open(&self.path).with_context(|| format!("opening {}", self.path.display()))
    }

    fn drain(&self, from: impl Read + AsFd + Send + 'static) -> Result<JoinHandle<Result<u64>>> {
        let drain = match self.reader {
            ReaderAction::Drops => return spawn(move || drop_pages(from)),
            ReaderAction::Reads => None,
            ReaderAction::Compares => Some(self.file()?),
        };
        spawn(move || read_all(from, drain.as_ref()))
    }

    /// Called after the copy: checks that all bytes have arrived.
    fn finish(&self, rest: CopyHelpers) -> Result<()> {
        let mut arrived = None;
        if let Some(file) = rest.file {
            if self.reader == ReaderAction::Compares {
                let mut copy = &file;
                io::Seek::rewind(&mut copy)?;
                read_all(copy, Some(&self.file()?))?;
            }
            arrived = Some(file.metadata()?.len());
        }
        if let Some(drainer) = rest.drainer {
            arrived =
                Some(drainer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        if let Some(feeder) = rest.feeder {
            feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        if let Some(arrived) = arrived {
            ensure!(arrived == self.size, "{arrived} of {} bytes have arrived", self.size);
        }
        Ok(())
    }
}

fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    thread::Builder::new().spawn(work).context("a thread at the other end")
}

/// Feeds pages of the file, as a program that uses splice would send them.
fn feed(file: File, to: impl AsFd + Send + 'static) -> Result<JoinHandle<()>> {
    // The input may be closed before its end: then the copy reports the error.
    spawn(move || drop(byte_stream::copy(&file, to)))
}

fn read_all(mut from: impl Read, compare: Option<&File>) -> Result<u64> {
    let mut buffer = vec![0; DRAIN_BYTES];
    let mut expected = vec![0; if compare.is_some() { DRAIN_BYTES } else { 0 }];
    let mut offset = 0;
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(offset);
        }
        if let Some(file) = compare {
            file.read_exact_at(&mut expected[..n], offset).context("more than there is")?;
            ensure!(buffer[..n] == expected[..n], "other bytes have arrived behind {offset}");
        }
        offset += n as u64;
    }
}

#[cfg(target_os = "linux")]
fn drop_pages(from: impl AsFd) -> Result<u64> {
    use rustix::pipe::{SpliceFlags, splice};

    let null = OpenOptions::new().write(true).open("/dev/null")?;
    let mut bytes = 0;
    loop {
        match splice(&from, None, &null, None, 1 << 20, SpliceFlags::empty())? {
            0 => return Ok(bytes),
            n => bytes += n as u64,
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn drop_pages(_from: impl AsFd) -> Result<u64> {
    Err(measure::experiment::skip("only Linux can throw the pages of a pipe away unseen"))
}
