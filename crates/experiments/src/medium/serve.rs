//! The file system: read-only, one folder, and a delay before each answer to a read. What it reads
//! itself is the file below, which is fast as long as that is cached.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use fuser::consts::{FOPEN_KEEP_CACHE, FUSE_ASYNC_DIO};
use fuser::{
    FUSE_ROOT_ID, FileAttr, FileType, Filesystem, KernelConfig, MountOption, ReplyAttr, ReplyData,
    ReplyDirectory, ReplyEntry, ReplyOpen, Request,
};
use measure::clock::now_ns;
use measure::launch::end_with_the_lab;

use super::{LINKS, SlowMedium};
use crate::shared::locked_folder::MOUNT;

/// The files never change while they are served.
const LASTING: Duration = Duration::from_hours(1);
/// The kernel sends at most this many requests that nobody waits for.
const LEAST_BACKGROUND: u64 = 64;

/// The main function of the process: it serves the files of the folder until it is unmounted.
pub fn run(folder: &str, medium: &str) -> Result<()> {
    end_with_the_lab()?;
    let (folder, medium): (&Path, SlowMedium) = (Path::new(folder), medium.parse()?);
    let files = served_files(&folder.join(LINKS)).context("opening the files")?;
    let (requests, waiting) = mpsc::channel();
    let queue = Arc::new(RequestQueue {
        waiting: Mutex::new(waiting),
        free_ns: Mutex::new(0),
        latency_ns: medium.latency.as_nanos() as u64,
        bytes_per_s: medium.bytes_per_s,
    });
    for _ in 0..medium.parallel {
        let queue = Arc::clone(&queue);
        thread::Builder::new().spawn(move || queue.answer_all()).context("starting a thread")?;
    }
    let served = SlowFiles { files, requests, parallel: medium.parallel };
    let options = [MountOption::RO, MountOption::FSName("bytelab".to_owned())];
    fuser::mount2(served, folder.join(MOUNT), &options).context("mounting")
}

struct ServedFile {
    file: Arc<File>,
    metadata: Metadata,
}

/// The files that the links lead to, by the numbers that are their names.
fn served_files(links: &Path) -> io::Result<Vec<ServedFile>> {
    let mut files = Vec::new();
    while let Ok(path) = fs::canonicalize(links.join(files.len().to_string())) {
        let file = File::open(path)?;
        files.push(ServedFile { metadata: file.metadata()?, file: Arc::new(file) });
    }
    Ok(files)
}

/// The number of the file with this name, which may have an ending.
pub(super) fn number_of(name: &str) -> Option<u64> {
    name.split_once('.').map_or(name, |(number, _)| number).parse().ok()
}

struct SlowFiles {
    files: Vec<ServedFile>,
    requests: Sender<ReadRequest>,
    parallel: u64,
}

struct ReadRequest {
    file: Arc<File>,
    offset: u64,
    len: usize,
    reply: ReplyData,
}

/// The requests that wait for one of the threads.
struct RequestQueue {
    waiting: Mutex<Receiver<ReadRequest>>,
    /// When all that was accepted has been transferred.
    free_ns: Mutex<u64>,
    latency_ns: u64,
    bytes_per_s: u64,
}

impl RequestQueue {
    fn answer_all(&self) {
        let next = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(ReadRequest { file, offset, len, reply }) = next() {
            let begin_ns = now_ns() + self.latency_ns;
            let mut bytes = vec![0; len];
            let read = read_up_to(&file, &mut bytes, offset);
            sleep_until(self.transferred_ns(begin_ns, *read.as_ref().unwrap_or(&0) as u64));
            match read {
                Ok(n) => reply.data(&bytes[..n]),
                Err(error) => reply.error(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        }
    }

    /// When a transfer of these bytes ends that begins then, or when the medium is free.
    fn transferred_ns(&self, begin_ns: u64, bytes: u64) -> u64 {
        let mut free_ns = self.free_ns.lock().unwrap_or_else(PoisonError::into_inner);
        let transfer_ns = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_s);
        *free_ns = begin_ns.max(*free_ns) + transfer_ns as u64;
        *free_ns
    }
}

/// Reads until the buffer is full or the file ends.
fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

fn sleep_until(end_ns: u64) {
    loop {
        let left_ns = end_ns.saturating_sub(now_ns());
        if left_ns == 0 {
            return;
        }
        thread::sleep(Duration::from_nanos(left_ns));
    }
}

impl SlowFiles {
    /// The attributes of a file, or of the folder.
    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let own = rustix::process::geteuid().as_raw();
        let of_folder = FileAttr {
            ino: FUSE_ROOT_ID,
            size: 0,
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: FileType::Directory,
            perm: 0o500,
            nlink: 2,
            uid: own,
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        if inode == FUSE_ROOT_ID {
            return Some(of_folder);
        }
        let metadata = &self.file(inode)?.metadata;
        let changed = metadata.modified().unwrap_or(UNIX_EPOCH);
        Some(FileAttr {
            ino: inode,
            size: metadata.size(),
            blocks: metadata.size().div_ceil(512),
            mtime: changed,
            ctime: changed,
            kind: FileType::RegularFile,
            perm: 0o400,
            nlink: 1,
            ..of_folder
        })
    }

    fn file(&self, inode: u64) -> Option<&ServedFile> {
        self.files.get(usize::try_from(inode.checked_sub(FUSE_ROOT_ID + 1)?).ok()?)
    }
}

impl Filesystem for SlowFiles {
    fn init(&mut self, _: &Request<'_>, config: &mut KernelConfig) -> Result<(), libc::c_int> {
        // A kernel that knows neither of these sends fewer requests at once.
        let _ = config.set_max_background(self.parallel.max(LEAST_BACKGROUND) as u16);
        let _ = config.add_capabilities(FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let number = name.to_str().and_then(number_of);
        let inode = number.and_then(|number| number.checked_add(FUSE_ROOT_ID + 1));
        let found = inode.filter(|_| parent == FUSE_ROOT_ID).and_then(|it| self.attributes(it));
        match found {
            Some(attributes) => reply.entry(&LASTING, &attributes, 0),
            None => reply.error(libc::ENOENT),
        }
    }

    fn getattr(&mut self, _: &Request<'_>, inode: u64, _: Option<u64>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&LASTING, &attributes),
            None => reply.error(libc::ENOENT),
        }
    }

    /// What is cached stays cached when the file is opened again, as on a disk.
    fn open(&mut self, _: &Request<'_>, _: u64, _: i32, reply: ReplyOpen) {
        reply.opened(0, FOPEN_KEEP_CACHE);
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let Some(served) = self.file(inode) else { return reply.error(libc::ENOENT) };
        let (file, offset, len) = (Arc::clone(&served.file), offset as u64, size as usize);
        // The threads end with the process.
        let _ = self.requests.send(ReadRequest { file, offset, len, reply });
    }

    fn readdir(&mut self, _: &Request<'_>, _: u64, _: u64, offset: i64, mut reply: ReplyDirectory) {
        let begin = usize::try_from(offset).unwrap_or_default();
        for number in begin..self.files.len() {
            let inode = number as u64 + FUSE_ROOT_ID + 1;
            let next = number as i64 + 1;
            if reply.add(inode, next, FileType::RegularFile, number.to_string()) {
                break;
            }
        }
        reply.ok();
    }
}
