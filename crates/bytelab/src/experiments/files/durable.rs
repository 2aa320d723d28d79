//! Bytes that must survive a loss of power: 4 KiB overwritten and synced to the device; and lines
//! appended to a log.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use anyhow::Result;
use lab::clock::now_ns;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;

use crate::experiments::shared::aligned_buffer::Buffer;
use crate::experiments::shared::window::window;

use super::data::OrRefuse;
use super::place::{Phases, changing, own_folder};

pub(super) fn methods() -> Vec<Method> {
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
            window(Box::new(Buffered(BufWriter::new(log.file), log.path)))
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

type Sync = fn(&File) -> std::io::Result<()>;

struct Overwrite {
    file: File,
    path: PathBuf,
    block: Buffer,
    next: u64,
    sync: Option<Sync>,
    phases: Phases<2>,
}

fn overwrite(point: &Point, flags: i32, sync: Option<Sync>) -> Result<Box<dyn Task>> {
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

struct Log {
    file: File,
    path: PathBuf,
}

fn log(point: &Point) -> Result<Log> {
    let path = own_folder(point)?.join("log");
    let file = OpenOptions::new().append(true).create_new(true).open(&path);
    Ok(Log { file: file.or_refuse(|| format!("creating {}", path.display()))?, path })
}

struct Append {
    log: Log,
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

struct Buffered(BufWriter<File>, PathBuf);

impl Task for Buffered {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            let written = self.0.write_all(&LINE);
            written.or_refuse(|| format!("appending to {}", self.1.display()))?;
        }
        Ok(Work { ops, bytes: ops * LINE.len() as u64, answer: None })
    }
}
