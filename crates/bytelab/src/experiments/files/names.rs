//! Operations on names rather than on bytes: rename, stat, mkdir, and reading a directory.

use std::fs::{self, File};
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use lab::experiment::{Method, Task, Work};
use lab::param::Point;

use crate::experiments::shared::window::window;

use super::data::OrRefuse;
use super::place::{Fresh, cached, changing, own_folder, shared};

pub(super) fn methods() -> Vec<Method> {
    vec![
        changing("rename", "rename", "a file back and forth in its directory", &["dir"], |point| {
            let folder = own_folder(point)?;
            let names = (folder.join("one"), folder.join("other"));
            touch(&names.0)?;
            window(Box::new(Rename(names)))
        }),
        cached("stat", "stat", "stat by path", &["dir"], |point| {
            let path = own_folder(point)?.join("file");
            touch(&path)?;
            task(move || {
                let stat = fs::metadata(&path);
                black_box(stat.with_context(|| format!("looking at {}", path.display()))?);
                Ok(())
            })
        }),
        cached("stat", "fstat", "stat of an open file", &["dir"], |point| {
            let path = own_folder(point)?.join("file");
            let file = touch(&path)?;
            task(move || {
                let stat = file.metadata();
                black_box(stat.with_context(|| format!("looking at {}", path.display()))?);
                Ok(())
            })
        }),
        changing("mkdir", "mkdir", "a new directory", &["dir"], |point| {
            Ok(Box::new(Mkdir(Fresh::new(point)?)))
        }),
        cached("readdir", "read-dir", "all names, by std::fs", &["dir", "entries"], |point| {
            let names = Names::from_point(point)?;
            task(move || names.check(names.open(|path| fs::read_dir(path))?.flatten().count()))
        }),
        cached("readdir", "getdents", "all names, 128 KiB at once", &["dir", "entries"], |point| {
            let names = Names::from_point(point)?;
            let mut buffer = Vec::with_capacity(128 << 10);
            task(move || {
                let folder = names.open(|path| File::open(path))?;
                names.check(count(&folder, &mut buffer)?)
            })
        }),
    ]
}

fn touch(path: &Path) -> Result<File> {
    File::create_new(path).or_refuse(|| format!("creating {}", path.display()))
}

struct Each<F>(F);

/// One call per operation; a sample is a window of calls.
pub(super) fn task(job: impl FnMut() -> Result<()> + 'static) -> Result<Box<dyn Task>> {
    window(Box::new(Each(job)))
}

impl<F: FnMut() -> Result<()>> Task for Each<F> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            (self.0)()?;
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

struct Rename((PathBuf, PathBuf));

impl Task for Rename {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            let (from, to) = &self.0;
            fs::rename(from, to).or_refuse(|| format!("renaming {}", from.display()))?;
            std::mem::swap(&mut self.0.0, &mut self.0.1);
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

struct Mkdir(Fresh);

impl Task for Mkdir {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for n in 0..ops {
            let path = self.0.folder.join(n.to_string());
            fs::create_dir(&path).or_refuse(|| format!("making {}", path.display()))?;
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }

    fn between(&mut self) -> Result<()> {
        self.0.next()
    }
}

struct Names {
    path: PathBuf,
    entries: u64,
}

impl Names {
    fn from_point(point: &Point) -> Result<Names> {
        Ok(Names { path: shared(point)?, entries: point.number("entries")? })
    }

    fn open<T>(&self, open: impl FnOnce(&Path) -> io::Result<T>) -> Result<T> {
        open(&self.path).with_context(|| format!("opening {}", self.path.display()))
    }

    fn check(&self, n: usize) -> Result<()> {
        let (path, entries) = (self.path.display(), self.entries);
        ensure!(n as u64 == entries, "{path} has {n} entries instead of {entries}");
        Ok(())
    }
}

/// The entries except the two that every directory has.
#[cfg(target_os = "linux")]
fn count(folder: &File, buffer: &mut Vec<u8>) -> Result<usize> {
    let mut entries = rustix::fs::RawDir::new(folder, buffer.spare_capacity_mut());
    let mut n = 0;
    while let Some(entry) = entries.next() {
        let entry = entry.context("reading a directory")?;
        n += usize::from(!matches!(entry.file_name().to_bytes(), b"." | b".."));
    }
    Ok(n)
}

#[cfg(not(target_os = "linux"))]
fn count(folder: &File, _buffer: &mut Vec<u8>) -> Result<usize> {
    let entries = rustix::fs::Dir::read_from(folder).context("reading a directory")?;
    let own = |name: &[u8]| matches!(name, b"." | b"..");
    Ok(entries.flatten().filter(|entry| !own(entry.file_name().to_bytes())).count())
}
