//! A new file is created and written, and a file is removed.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::clock::now_ns;
use lab::experiment::{Method, Task, Work};
use lab::param::Point;

use crate::experiments::shared::aligned_buffer::Buffer;

use super::data::{OrRefuse, enough_space};
use super::place::{Fresh, Phases, buffer, changing};

pub(super) fn methods() -> Vec<Method> {
    let (create, unlink) = ("create, write and close a new file", "unlink a file just written");
    vec![
        changing("create", "create-write-close", create, &["dir", "size"], |point| {
            Ok(Box::new(Create::new(point)?))
        }),
        changing("unlink", "unlink", unlink, &["dir", "size"], |point| {
            Ok(Box::new(Unlink::new(point)?))
        }),
    ]
}

/// The minimum number of files in a sample, for small files.
const FILES_MIN: u64 = 4;
const SMALL: u64 = 64 << 10;
/// At most this many bytes of the created files remain; older files are truncated, but not removed.
const KEPT_BYTES: u64 = 128 << 20;

fn files(size: u64, ops: u64) -> u64 {
    if size <= SMALL { ops.max(FILES_MIN) } else { 1 }
}

struct Create {
    fresh: Fresh,
    size: u64,
    buffer: Buffer,
    phases: Phases<3>,
    /// The files that still have their content.
    full: Vec<PathBuf>,
}

impl Create {
    fn new(point: &Point) -> Result<Create> {
        let size = point.number("size")?;
        let fresh = Fresh::new(point)?;
        enough_space(&fresh.folder, size.saturating_add(KEPT_BYTES.min(size << 8)))?;
        let phases = Phases::new(["create_ns", "write_ns", "close_ns"]);
        Ok(Create { fresh, size, buffer: buffer(size)?, phases, full: Vec::new() })
    }
}

impl Task for Create {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = files(self.size, ops);
        self.phases.clear();
        for n in 0..ops {
            let path = self.fresh.folder.join(n.to_string());
            let start_ns = now_ns();
            let file = create_new(&path)?;
            let created_ns = now_ns();
            write(&file, &path, &self.buffer, self.size)?;
            let written_ns = now_ns();
            drop(file);
            self.phases.push(&[start_ns, created_ns, written_ns, now_ns()]);
            self.full.push(path);
        }
        Ok(Work { ops, bytes: ops * self.size, answer: None })
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        self.phases.medians()
    }

    fn between(&mut self) -> Result<()> {
        let kept = usize::try_from(KEPT_BYTES / self.size.max(1)).unwrap_or(usize::MAX);
        let empty = self.full.len().saturating_sub(kept);
        for path in self.full.drain(..empty) {
            emptied(&path).with_context(|| format!("emptying {}", path.display()))?;
        }
        self.fresh.next()
    }
}

/// The next session's process has its own folder: the files of this process are truncated to free
/// the space.
impl Drop for Create {
    fn drop(&mut self) {
        self.full.iter().for_each(|path| drop(emptied(path)));
    }
}

fn emptied(path: &Path) -> std::io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(0)
}

fn create_new(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.or_refuse(|| format!("creating {}", path.display()))
}

fn write(mut file: &File, path: &Path, buffer: &[u8], size: u64) -> Result<()> {
    let mut left = size;
    while left > 0 {
        let len = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&buffer[..len]).or_refuse(|| format!("writing {}", path.display()))?;
        left -= len as u64;
    }
    Ok(())
}

struct Unlink {
    fresh: Fresh,
    size: u64,
    buffer: Buffer,
    /// The files that the next sample removes.
    stock: Vec<PathBuf>,
}

impl Unlink {
    fn new(point: &Point) -> Result<Unlink> {
        let size = point.number("size")?;
        let fresh = Fresh::new(point)?;
        enough_space(&fresh.folder, size.saturating_mul(files(size, 1)))?;
        let mut unlink = Unlink { fresh, size, buffer: buffer(size)?, stock: Vec::new() };
        unlink.between()?;
        Ok(unlink)
    }
}

impl Drop for Unlink {
    fn drop(&mut self) {
        self.stock.iter().for_each(|path| drop(emptied(path)));
    }
}

impl Task for Unlink {
    /// Removes all existing files, whatever the number of operations.
    fn run(&mut self, _ops: u64) -> Result<Work> {
        let ops = self.stock.len() as u64;
        for path in self.stock.drain(..) {
            fs::remove_file(&path).or_refuse(|| format!("removing {}", path.display()))?;
        }
        Ok(Work { ops, bytes: 0, answer: None })
    }

    fn between(&mut self) -> Result<()> {
        self.fresh.next()?;
        for n in 0..files(self.size, 1) {
            let path = self.fresh.folder.join(n.to_string());
            write(&create_new(&path)?, &path, &self.buffer, self.size)?;
            self.stock.push(path);
        }
        Ok(())
    }
}
