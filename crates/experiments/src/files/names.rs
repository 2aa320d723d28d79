//! Operations on names rather than on bytes: rename, stat, mkdir, and reading a directory; and the
//! small costs below all of them.

#![expect(unsafe_code, reason = "mmap and munmap of memory that belongs to this method alone")]

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::ptr;

use anyhow::{Context, Result, ensure};
use measure::experiment::{Method, Task, Work, skip};
use model::param::{Point, bytes};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::data::{NewFolders, OrRefuse, cached, changing, own_folder, shared};
use crate::shared::window;

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
            Ok(Box::new(Mkdir(NewFolders::new(point)?)))
        }),
        cached("readdir", "read-dir", "all names, by std::fs", &["dir", "entries"], |point| {
            let names = FilledFolder::from_point(point)?;
            task(move || names.check(names.open(|path| fs::read_dir(path))?.flatten().count()))
        }),
        cached("readdir", "getdents", "all names, 128 KiB at once", &["dir", "entries"], |point| {
            let names = FilledFolder::from_point(point)?;
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

struct CallEach<F>(F);

/// One call per operation; a sample is a window of calls.
pub(super) fn task(job: impl FnMut() -> Result<()> + 'static) -> Result<Box<dyn Task>> {
    window(Box::new(CallEach(job)))
}

impl<F: FnMut() -> Result<()>> Task for CallEach<F> {
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

struct Mkdir(NewFolders);

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

struct FilledFolder {
    path: PathBuf,
    entries: u64,
}

impl FilledFolder {
    fn from_point(point: &Point) -> Result<FilledFolder> {
        Ok(FilledFolder { path: shared(point)?, entries: point.number("entries")? })
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

/// The small costs of file operations: system calls that do almost no work, and mappings.
pub(super) fn calls() -> Vec<Method> {
    vec![
        cached("call", "getppid", "the least that a system call does", &[], |_| {
            task(|| {
                black_box(rustix::process::getppid());
                Ok(())
            })
        }),
        cached("call", "read-zero", "1 byte from /dev/zero", &[], |_| {
            let mut zero = OpenOptions::new().read(true).open("/dev/zero")?;
            task(move || zero.read_exact(&mut [0]).context("reading /dev/zero"))
        })
        .as_yardstick(),
        cached("call", "write-null", "1 byte to /dev/null", &[], |_| {
            let mut null = OpenOptions::new().write(true).open("/dev/null")?;
            task(move || null.write_all(&[0]).context("writing /dev/null"))
        })
        .as_yardstick(),
        cached("map", "map", "mmap and munmap of memory, untouched", &["size"], |point| {
            map(point, false)
        }),
        cached("map", "map-touch", "the same, each page written", &["size"], |point| {
            map(point, true)
        })
        .as_yardstick(),
    ]
}

/// Skips a method that would need more than a quarter of the available memory, or of what the
/// control group allows.
fn fits(needed: u64) -> Result<()> {
    let facts = measure::environment::capture(None).facts;
    let limit = facts.get("cgroup_memory_limit_bytes").and_then(serde_json::Value::as_u64);
    let available = limit.into_iter().chain(measure::cache::available_bytes()).min();
    if let Some(available) = available.filter(|available| needed > available / 4) {
        return Err(skip(format!(
            "touches {}, more than a quarter of the {} of memory that there are",
            bytes(needed),
            bytes(available >> 20 << 20)
        )));
    }
    Ok(())
}

fn map(point: &Point, touch: bool) -> Result<Box<dyn Task>> {
    let page = rustix::param::page_size();
    let len = usize::try_from(point.number("size")?.max(1))?;
    if touch {
        fits(len as u64)?;
    }
    task(move || {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: new memory, at an address that the kernel chooses.
        let memory = unsafe { mmap_anonymous(ptr::null_mut(), len, protection, flags) };
        let memory = memory.context("mapping memory")?;
        if touch {
            for offset in (0..len).step_by(page) {
                // SAFETY: the offset is within the mapping.
                let byte = unsafe { memory.cast::<u8>().add(offset) };
                // SAFETY: the mapping is writable, and no other reference to it exists.
                unsafe { byte.write_volatile(1) };
            }
        }
        // SAFETY: the mapping is not used any more.
        unsafe { munmap(black_box(memory), len) }.context("unmapping memory")
    })
}
