//! Files are created, written, removed and overwritten, and lines are appended to a log.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use measure::clock::now_ns;
use measure::experiment::{Build, Method, Task, Work};
use model::param::Point;

use super::data::{NewFolders, OrRefuse, Phases, buffer, changing, enough_space, own_folder};
use crate::shared::{Buffer, window};

pub(super) fn creating() -> Vec<Method> {
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
    fresh: NewFolders,
    size: u64,
    buffer: Buffer,
    phases: Phases<3>,
    /// The files that still have their content.
    full: Vec<PathBuf>,
}

impl Create {
    fn new(point: &Point) -> Result<Create> {
        let size = point.number("size")?;
        let fresh = NewFolders::new(point)?;
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
    fresh: NewFolders,
    size: u64,
    buffer: Buffer,
    /// The files that the next sample removes.
    stock: Vec<PathBuf>,
}

impl Unlink {
    fn new(point: &Point) -> Result<Unlink> {
        let size = point.number("size")?;
        let fresh = NewFolders::new(point)?;
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

/// Bytes that must survive a loss of power: 4 KiB overwritten and synced to the device; and lines
/// appended to a log.
pub(super) fn durable() -> Vec<Method> {
    let durable =
        |name: &str, about: &str, build: Build| changing("durable", name, about, &["dir"], build);
    let append =
        |name: &str, about: &str, build: Build| changing("append", name, about, &["dir"], build);
    let line = "a line of 100 bytes to a log";
    vec![
        durable("fsync", "overwrite 4 KiB, fsync", |point| {
            overwrite(point, 0, Some(File::sync_all))
        }),
        durable("fdatasync", "overwrite 4 KiB, fdatasync", |point| {
            overwrite(point, 0, Some(File::sync_data))
        }),
        durable("o-dsync", "overwrite 4 KiB of a file opened with O_DSYNC", |point| {
            overwrite(point, libc::O_DSYNC, None)
        }),
        append("append", &format!("{line}: one write each"), |point| {
            window(Box::new(Append { log: log(point)?, sync: false }))
        }),
        append("append-buffered", &format!("{line}, through a BufWriter"), |point| {
            let log = log(point)?;
            window(Box::new(BufferedAppend(BufWriter::new(log.file), log.path)))
        }),
        // It gives a stronger guarantee than the others, so it is a yardstick.
        append("append-durable", &format!("{line}, fdatasync after each"), |point| {
            Ok(Box::new(Append { log: log(point)?, sync: true }))
        })
        .as_yardstick(),
    ]
}

const BLOCK: usize = 4096;
/// The number of blocks in the overwritten file: large enough that the same block is not soon
/// overwritten again.
const BLOCKS: u64 = 256;

type SyncCall = fn(&File) -> std::io::Result<()>;

struct Overwrite {
    file: File,
    path: PathBuf,
    block: Buffer,
    next: u64,
    sync: Option<SyncCall>,
    phases: Phases<2>,
}

fn overwrite(point: &Point, flags: i32, sync: Option<SyncCall>) -> Result<Box<dyn Task>> {
    let path = own_folder(point)?.join("overwritten");
    let doing = || format!("writing {}", path.display());
    let block = Buffer::new(BLOCK)?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).custom_flags(flags).open(&path);
    let mut file = file.or_refuse(doing)?;
    for _ in 0..BLOCKS {
        file.write_all(&block).or_refuse(doing)?;
    }
    file.sync_all().or_refuse(doing)?;
    let phases = Phases::new(["write_ns", "sync_ns"]);
    Ok(Box::new(Overwrite { file, path, block, next: 0, sync, phases }))
}

impl Task for Overwrite {
    fn run(&mut self, ops: u64) -> Result<Work> {
        self.phases.clear();
        for _ in 0..ops {
            let offset = self.next % BLOCKS * BLOCK as u64;
            self.next += 1;
            let start_ns = now_ns();
            let written = self.file.write_all_at(&self.block, offset);
            written.or_refuse(|| format!("writing {}", self.path.display()))?;
            let written_ns = now_ns();
            if let Some(sync) = self.sync {
                sync(&self.file).or_refuse(|| format!("syncing {}", self.path.display()))?;
            }
            self.phases.push(&[start_ns, written_ns, now_ns()]);
        }
        Ok(Work { ops, bytes: ops * BLOCK as u64, answer: None })
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        self.phases.medians()
    }
}

const LINE: [u8; 100] = {
    let mut line = [b'x'; 100];
    line[99] = b'\n';
    line
};

struct LogFile {
    file: File,
    path: PathBuf,
}

fn log(point: &Point) -> Result<LogFile> {
    let path = own_folder(point)?.join("log");
    let file = OpenOptions::new().append(true).create_new(true).open(&path);
    Ok(LogFile { file: file.or_refuse(|| format!("creating {}", path.display()))?, path })
}

struct Append {
    log: LogFile,
    sync: bool,
}

impl Task for Append {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let doing = || format!("appending to {}", self.log.path.display());
        for _ in 0..ops {
            (&self.log.file).write_all(&LINE).or_refuse(doing)?;
            if self.sync {
                self.log.file.sync_data().or_refuse(doing)?;
            }
        }
        Ok(Work { ops, bytes: ops * LINE.len() as u64, answer: None })
    }
}

struct BufferedAppend(BufWriter<File>, PathBuf);

impl Task for BufferedAppend {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            let written = self.0.write_all(&LINE);
            written.or_refuse(|| format!("appending to {}", self.1.display()))?;
        }
        Ok(Work { ops, bytes: ops * LINE.len() as u64, answer: None })
    }
}
