//! The journal of a run that is being measured: a file beside the store to which each change of the
//! run is added by one system call, and which is folded into the store when the run ends. If its
//! process is killed, the next one that opens the store folds it.
//!
//! The process that measures holds a lock on the file, which ends with the process. Samples are
//! numbered, so that a journal that was folded and not yet deleted changes nothing. `replay` reads
//! it.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::Crc;
use lab::run::{Cell, Environment, Plan, Sample, Warning};
use serde::Serialize;

use super::opening::beside;
use crate::store::columns::Values;
use crate::store::packed::without_samples;

/// A change of a run, as it is written.
#[derive(Serialize)]
pub(super) enum Entry<'a> {
    /// The number of the sample in its run, its cell, and its values.
    Sample(u64, usize, &'a Sample, Values<'a>),
    /// The cell at this position, without samples.
    Cell(usize, &'a Cell),
    /// The number of the next sample, the session, and the reason.
    SetAside(u64, u32, &'a str),
    Plan(&'a Plan),
    Finish(bool, &'a Environment, &'a [Warning]),
}

/// Before each entry stand its length and its checksum, of 4 bytes each.
pub(super) const HEAD: usize = 8;

/// So each entry begins.
pub(super) const START: &[u8] = b"{\"";

/// The journal of the run that this process measures.
pub(super) struct Journal {
    pub(super) run: i64,
    path: PathBuf,
    file: File,
    /// The end of the last whole entry.
    len: u64,
    cells: usize,
    next_sample: u64,
    /// The last entry; its memory is used again.
    record: Vec<u8>,
}

impl Journal {
    /// Creates the journal of a run that has this many cells; its next sample has this number.
    pub(super) fn create(
        store: &Path,
        run: i64,
        cells: usize,
        next_sample: u64,
    ) -> Result<Journal> {
        let path = path(store, run);
        let cannot = || format!("{} cannot be made", path.display());
        let directory = path.parent().context("the store has no directory")?;
        // It is locked before other processes can find it, which would fold it otherwise.
        let file = tempfile::Builder::new()
            .prefix(".bytelab-run-")
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(directory)
            .with_context(cannot)?;
        file.as_file().try_lock().with_context(cannot)?;
        match file.persist_noclobber(&path) {
            Ok(file) => {
                let record = Vec::new();
                Ok(Journal { run, path, file, len: 0, cells, next_sample, record })
            }
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                bail!("run {run} is being measured by another process: stop that first")
            }
            Err(error) => Err(error.error).with_context(cannot),
        }
    }

    pub(super) fn sample(
        &mut self,
        cell: usize,
        sample: &Sample,
        values: &[(&str, f64)],
    ) -> Result<()> {
        ensure!(cell < self.cells, "run {} has no cell {cell}", self.run);
        self.write(&Entry::Sample(self.next_sample, cell, sample, Values(values)))?;
        self.next_sample += 1;
        Ok(())
    }

    pub(super) fn cell(&mut self, position: usize, cell: &Cell) -> Result<()> {
        let (run, cells) = (self.run, self.cells);
        ensure!(
            position <= cells,
            "run {run} has {cells} cells: the next is at {cells}, not at {position}"
        );
        self.write(&Entry::Cell(position, &without_samples(cell)))?;
        self.cells = cells.max(position + 1);
        Ok(())
    }

    pub(super) fn set_aside(&mut self, session: u32, reason: &str) -> Result<()> {
        self.write(&Entry::SetAside(self.next_sample, session, reason))
    }

    /// Adds an entry. After an error, such as that of a full disk, the next one takes its place.
    pub(super) fn write(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.record.clear();
        self.record.resize(HEAD, 0);
        serde_json::to_writer(&mut self.record, entry)?;
        let (head, text) = self.record.split_at_mut(HEAD);
        let len = u32::try_from(text.len()).context("an entry of more than 4 GiB")?;
        head[..4].copy_from_slice(&len.to_le_bytes());
        head[4..].copy_from_slice(&checksum(self.len, text).to_le_bytes());
        let written = self.file.write_all_at(&self.record, self.len);
        written.with_context(|| format!("{} cannot be written", self.path.display()))?;
        self.len += self.record.len() as u64;
        Ok(())
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }
}

/// Closing the file would leave the lock to a process that was just forked and still has the file.
impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The journal of a run, for reading; none if there is none.
pub(super) fn open(store: &Path, run: i64) -> Result<Option<File>> {
    let path = path(store, run);
    match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.map(Some).with_context(|| path.display().to_string()),
    }
}

/// The journal that a process has left that is no more, locked; none if there is none.
pub(super) fn take(store: &Path, run: i64) -> Result<Option<File>> {
    let Some(file) = open(store, run)? else { return Ok(None) };
    // Another process may have folded and deleted it before the lock was taken.
    let is_mine = !is_locked(&file)? && file.metadata()?.nlink() > 0;
    Ok(is_mine.then_some(file))
}

/// Whether another process measures the run.
pub(super) fn is_measured(store: &Path, run: i64) -> Result<bool> {
    match open(store, run)? {
        Some(file) => Ok(is_locked(&file)?),
        None => Ok(false),
    }
}

/// Takes the lock if it is free.
fn is_locked(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The runs that have a journal.
pub(super) fn runs(store: &Path) -> io::Result<Vec<i64>> {
    let prefix = beside(store, MARK);
    let (Some(directory), Some(prefix)) = (store.parent(), prefix.file_name()) else {
        return Ok(Vec::new());
    };
    let number = |name: OsString| {
        let digits = name.as_bytes().strip_prefix(prefix.as_bytes())?;
        str::from_utf8(digits).ok()?.parse::<i64>().ok()
    };
    let mut runs = Vec::new();
    for entry in fs::read_dir(directory)? {
        runs.extend(number(entry?.file_name()));
    }
    Ok(runs)
}

/// Deletes the journal of a run, whose content is in the store.
pub(super) fn delete(store: &Path, run: i64) -> Result<()> {
    let path = path(store, run);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be deleted", path.display()))
        }
        _ => Ok(()),
    }
}

/// The place is in it, so that a piece of the file that is written to another place is damage.
pub(super) fn checksum(at: u64, text: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&at.to_le_bytes());
    crc.update(text);
    crc.sum()
}

/// A name for the journal of a run that is damaged. Its samples may be worth a look by hand.
pub(super) fn kept_path(store: &Path, run: i64) -> PathBuf {
    let first = beside(store, &format!("{MARK}{run}.damaged"));
    let later = (2..).map(|n| beside(store, &format!("{MARK}{run}.damaged-{n}")));
    let mut names = iter::once(first).chain(later);
    names.find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_default()
}

/// Renames the journal of a run, whose whole entries are in the store.
pub(super) fn keep(store: &Path, run: i64, kept_as: &Path) -> Result<()> {
    let path = path(store, run);
    fs::rename(&path, kept_as).with_context(|| format!("{} cannot be renamed", path.display()))
}

const MARK: &str = "-run-";

fn path(store: &Path, run: i64) -> PathBuf {
    beside(store, &format!("{MARK}{run}"))
}
