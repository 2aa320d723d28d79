//! The two descriptors of a copy, of the kinds that the point names, and the threads at their other
//! ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail, ensure};
use lab::param::Point;

const DRAIN_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Null,
    File,
    Pipe,
    Socket,
}

#[derive(Clone, Copy, PartialEq)]
enum Reader {
    Reads,
    Drops,
    /// Untimed: compares every byte with the file.
    Compares,
}

/// The kinds and sizes that a point defines.
#[derive(Clone)]
pub(super) struct Setup {
    path: PathBuf,
    pub(super) size: u64,
    input: Kind,
    output: Kind,
    reader: Reader,
}

/// An input and an output; the copying method takes ownership of them.
pub(super) struct Ends {
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
}

/// The threads and files that remain after the copy.
pub(super) struct Rest {
    drainer: Option<JoinHandle<Result<u64>>>,
    feeder: Option<JoinHandle<()>>,
    file: Option<File>,
}

impl Setup {
    pub(super) fn from_point(point: &Point) -> Result<Setup> {
        let kind = |name| match point.text(name)? {
            "null" => Ok(Kind::Null),
            "file" => Ok(Kind::File),
            "pipe" => Ok(Kind::Pipe),
            "socket" => Ok(Kind::Socket),
            other => bail!("{name} {other} is not known"),
        };
        let drops = point.text("reader")? == "drops";
        Ok(Setup {
            path: point.path("file")?,
            size: point.number("size")?,
            input: kind("input")?,
            output: kind("output")?,
            reader: if drops { Reader::Drops } else { Reader::Reads },
        })
    }

    /// The same setup, but with every byte checked; `None` if the copy has no output bytes.
    pub(super) fn checked(&self) -> Option<Setup> {
        (self.output != Kind::Null).then(|| Setup { reader: Reader::Compares, ..self.clone() })
    }

    pub(super) fn open(&self) -> Result<(Ends, Rest)> {
        let (input, feeder) = self.input()?;
        let mut rest = Rest { drainer: None, feeder, file: None };
        let output = match self.output {
            Kind::Null => OpenOptions::new().write(true).open("/dev/null")?.into(),
            Kind::File => {
                let dir = self.path.parent().unwrap_or(Path::new("."));
                let file = tempfile::tempfile_in(dir).context("a file to copy to")?;
                rest.file = Some(file.try_clone()?);
                file.into()
            }
            Kind::Pipe => {
                let (reader, writer) = io::pipe().context("a pipe to copy to")?;
                rest.drainer = Some(self.drain(reader)?);
                writer.into()
            }
            Kind::Socket => {
                let (reader, writer) = UnixStream::pair().context("a socket to copy to")?;
                rest.drainer = Some(self.drain(reader)?);
                writer.into()
            }
        };
        Ok((Ends { input, output }, rest))
    }

    fn input(&self) -> Result<(OwnedFd, Option<JoinHandle<()>>)> {
        let file = self.file()?;
        Ok(match self.input {
            Kind::Pipe => {
                let (reader, writer) = io::pipe().context("a pipe to copy from")?;
                (reader.into(), Some(feed(file, writer)?))
            }
            Kind::Socket => {
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
            Reader::Drops => return spawn(move || drop_pages(from)),
            Reader::Reads => None,
            Reader::Compares => Some(self.file()?),
        };
        spawn(move || read_all(from, drain.as_ref()))
    }

    /// Called after the copy: checks that all bytes have arrived.
    pub(super) fn finish(&self, rest: Rest) -> Result<()> {
        let mut arrived = None;
        if let Some(file) = rest.file {
            if self.reader == Reader::Compares {
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
    Err(lab::experiment::skip("only Linux can throw the pages of a pipe away unseen"))
}
