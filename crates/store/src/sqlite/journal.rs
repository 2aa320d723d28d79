//! The journal of a run that is being measured: a file beside the store to which each change of the
//! run is added by one system call, and which is folded into the store when the run ends. If its
//! process is killed, the next one that opens the store folds it.
//!
//! The process that measures holds a lock on the file, which ends with the process. Samples are
//! numbered, so that a journal that was folded and not yet deleted changes nothing.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::Crc;
use model::param::Point;
use model::run::{Cell, Environment, Listed, Pass, Plan, Run, Sample, SharedText, Status, Warning};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::opening::with_suffix;
use crate::packed::{OwnedValues, SampleValues, without_samples};

/// A change of a run, as it is written.
#[derive(Serialize)]
pub(super) enum JournalEntry<'a> {
    /// The number of the sample in its run, its cell, and its values.
    Sample(u64, usize, &'a Sample, SampleValues<'a>),
    /// The cell at this position, without samples.
    Cell(usize, &'a Cell),
    /// The number of the next sample, the session, and the reason.
    SetAside(u64, u32, &'a str),
    Plan(&'a Plan),
    Finish(bool, &'a Environment, &'a [Warning]),
}

/// The bytes before each entry: its length and its checksum, of 4 bytes each.
pub(super) const HEAD: usize = 8;

/// The first bytes of each entry.
pub(super) const START: &[u8] = b"{\"";

/// The journal of the run that this process measures.
pub(super) struct Journal {
    pub(super) run: i64,
    path: PathBuf,
    file: LockedJournal,
    /// The end of the last whole entry.
    len: u64,
    cells: usize,
    next_sample: u64,
    /// The last entry; its memory is reused.
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
                let (file, record) = (LockedJournal(file), Vec::new());
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
        self.write(&JournalEntry::Sample(self.next_sample, cell, sample, SampleValues(values)))?;
        self.next_sample += 1;
        Ok(())
    }

    pub(super) fn cell(&mut self, position: usize, cell: &Cell) -> Result<()> {
        let (run, cells) = (self.run, self.cells);
        ensure!(
            position <= cells,
            "run {run} has {cells} cells: the next is at {cells}, not at {position}"
        );
        self.write(&JournalEntry::Cell(position, &without_samples(cell)))?;
        self.cells = cells.max(position + 1);
        Ok(())
    }

    pub(super) fn set_aside(&mut self, session: u32, reason: &str) -> Result<()> {
        self.write(&JournalEntry::SetAside(self.next_sample, session, reason))
    }

    /// Adds an entry. After an error, such as that of a full disk, the next one takes its place.
    pub(super) fn write(&mut self, entry: &JournalEntry<'_>) -> Result<()> {
        self.record.clear();
        self.record.resize(HEAD, 0);
        serde_json::to_writer(&mut self.record, entry)?;
        let (head, text) = self.record.split_at_mut(HEAD);
        let len = u32::try_from(text.len()).context("an entry of more than 4 GiB")?;
        head[..4].copy_from_slice(&len.to_le_bytes());
        head[4..].copy_from_slice(&checksum(self.len, text).to_le_bytes());
        let written = self.file.0.write_all_at(&self.record, self.len);
        written.with_context(|| format!("{} cannot be written", self.path.display()))?;
        self.len += self.record.len() as u64;
        Ok(())
    }

    pub(super) fn file(&self) -> &File {
        self.file.file()
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file.0, file)
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

/// The journal of a process that has ended without folding it, locked until this is dropped; `None`
/// if there is none.
pub(super) fn take_abandoned(store: &Path, run: i64) -> Result<Option<LockedJournal>> {
    let Some(journal) = open(store, run)?.map(LockedJournal::lock).transpose()?.flatten() else {
        return Ok(None);
    };
    // Another process may have folded and deleted it before the lock was taken.
    let is_there = journal.file().metadata()?.nlink() > 0;
    Ok(is_there.then_some(journal))
}

/// Whether another process measures the run.
pub(super) fn is_measured(store: &Path, run: i64) -> Result<bool> {
    match open(store, run)? {
        Some(file) => Ok(LockedJournal::lock(file)?.is_none()),
        None => Ok(false),
    }
}

/// The file of a journal on which this process holds the lock.
pub(super) struct LockedJournal(File);

impl LockedJournal {
    /// `None` if another process has the lock.
    fn lock(file: File) -> io::Result<Option<LockedJournal>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(LockedJournal(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.0
    }
}

/// Closing the file would leave the lock to a process that was just forked and still has the file.
impl Drop for LockedJournal {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The runs that have a journal.
pub(super) fn runs(store: &Path) -> io::Result<Vec<i64>> {
    let prefix = with_suffix(store, MARK);
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
    let first = with_suffix(store, &format!("{MARK}{run}.damaged"));
    let later = (2..).map(|n| with_suffix(store, &format!("{MARK}{run}.damaged-{n}")));
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
    with_suffix(store, &format!("{MARK}{run}"))
}

// Applies a journal to its run as it is stored. Reading goes on behind an entry that is damaged,
// and the run then has a note.

/// An entry after reading.
#[derive(Deserialize)]
enum OwnedEntry {
    Sample(u64, usize, Sample, OwnedValues),
    Cell(usize, Cell),
    SetAside(u64, u32, String),
    Plan(Plan),
    Finish(bool, Environment, Vec<Warning>),
}

/// The parts of an entry that the list of runs shows.
#[derive(Deserialize)]
enum BriefEntry {
    Sample(u64, IgnoredAny, IgnoredAny, IgnoredAny),
    Cell(u64, IgnoredAny),
    SetAside(IgnoredAny, IgnoredAny, IgnoredAny),
    Plan(IgnoredAny),
    Finish(bool, IgnoredAny, IgnoredAny),
}

/// The result of applying a journal.
pub(super) struct AppliedJournal {
    /// Whether more than the state of the run must be stored again.
    pub(super) is_changed: bool,
    /// The number of the next sample.
    pub(super) next_sample: u64,
    pub(super) is_damaged: bool,
}

/// Applies the entries to a run as it is stored, whose next sample had this number. If some are
/// damaged, the others are applied, and a note of the run says what is missing and where the
/// journal is kept.
pub(super) fn apply(
    run: &mut Run,
    next_sample: u64,
    journal: &File,
    kept_as: &Path,
) -> Result<AppliedJournal> {
    let mut reader =
        JournalReader { run, stored: next_sample, next_sample, missing: 0, changed: false };
    let damaged =
        each(journal, |text, is_damaged| reader.apply(serde_json::from_slice(text)?, is_damaged))?;
    let JournalReader { next_sample, missing, changed: is_changed, .. } = reader;
    if damaged > 0 {
        let kept = format!("it is kept as {}", kept_as.file_name().unwrap_or_default().display());
        // It may have been folded, and not yet renamed.
        if !run.notes.iter().any(|note| note.detail.ends_with(&kept)) {
            let places =
                if damaged == 1 { "a place".to_owned() } else { format!("{damaged} places") };
            let samples = match missing {
                0 => "samples or other entries".to_owned(),
                1 => "1 sample, and perhaps other entries,".to_owned(),
                n => format!("{n} samples, and perhaps other entries,"),
            };
            run.notes.push(Warning::noted(format!(
                "the journal of this run is damaged in {places}: {samples} are missing; {kept}"
            )));
        }
    }
    Ok(AppliedJournal { is_changed, next_sample, is_damaged: damaged > 0 })
}

/// A run to which a journal is applied.
struct JournalReader<'a> {
    run: &'a mut Run,
    /// The samples before this one are in the run already.
    stored: u64,
    next_sample: u64,
    missing: u64,
    changed: bool,
}

impl JournalReader<'_> {
    fn apply(&mut self, entry: OwnedEntry, is_damaged: bool) -> Result<()> {
        self.changed |= !matches!(entry, OwnedEntry::Plan(_) | OwnedEntry::Finish(..));
        let run = &mut *self.run;
        match entry {
            OwnedEntry::Sample(number, ..) if number < self.next_sample => {}
            OwnedEntry::Sample(number, cell, sample, OwnedValues(values)) => {
                self.missing += number - self.next_sample;
                self.next_sample = number.saturating_add(1);
                match run.cells.get_mut(cell) {
                    Some(cell) => cell.push(sample, &values),
                    None if is_damaged => self.missing += 1,
                    None => bail!("a sample of an unknown cell"),
                }
            }
            OwnedEntry::Cell(position, new) => put_cell(run, position, new, is_damaged)?,
            // If the journal was folded already, this would affect the samples after it.
            OwnedEntry::SetAside(number, ..) if number < self.stored => {}
            OwnedEntry::SetAside(_, session, reason) => {
                let reason = SharedText::from(reason);
                for sample in run.cells.iter_mut().flat_map(|cell| &mut cell.samples) {
                    if sample.pass == Pass::Timing && sample.session == session {
                        sample.not_counted.get_or_insert_with(|| reason.clone());
                    }
                }
            }
            OwnedEntry::Plan(plan) => run.plan = plan,
            OwnedEntry::Finish(complete, environment, notes) => {
                (run.complete, run.environment, run.notes) = (complete, environment, notes);
            }
        }
        Ok(())
    }
}

/// Replaces everything in a cell except its samples, or adds it. The entries of the cells before it
/// may be damaged.
fn put_cell(run: &mut Run, position: usize, new: Cell, is_damaged: bool) -> Result<()> {
    if let Some(cell) = run.cells.get_mut(position) {
        let samples = std::mem::take(&mut cell.samples);
        let values = std::mem::take(&mut cell.values);
        *cell = Cell { samples, values, ..new };
        return Ok(());
    }
    ensure!(position == run.cells.len() || is_damaged, "cell {position} is not the next one");
    ensure!(
        position - run.cells.len() < CELLS_LOST_MAX,
        "cells before cell {position} are missing"
    );
    while run.cells.len() < position {
        let status = Status::Failed("its entry in the journal is damaged".to_owned());
        run.cells.push(Cell { status, ..Cell::new("?", Point::default()) });
    }
    run.cells.push(new);
    Ok(())
}

/// No run adds as many cells while it is measured.
const CELLS_LOST_MAX: usize = 1000;

/// Applies the entries to the line of the run in a list; its next sample had this number when it
/// was stored.
pub(super) fn apply_to_list(listed: &mut Listed, next_sample: u64, journal: &File) -> Result<()> {
    each(journal, |text, _| {
        match serde_json::from_slice(text)? {
            BriefEntry::Sample(number, ..) => listed.samples += u64::from(number >= next_sample),
            BriefEntry::Cell(position, _) => listed.cells = listed.cells.max(position + 1),
            BriefEntry::Finish(complete, ..) => listed.complete = complete,
            BriefEntry::SetAside(..) | BriefEntry::Plan(_) => {}
        }
        Ok(())
    })?;
    Ok(())
}

/// Reads the entries that are whole, with whether damaged ones were before, and returns the number
/// of places in which it is damaged. An end that is cut off is no damage: a process can be killed,
/// and a disk be full, in the middle of an entry.
fn each(mut journal: &File, mut work: impl FnMut(&[u8], bool) -> Result<()>) -> Result<usize> {
    let end = journal.metadata()?.len();
    journal.rewind()?;
    let mut reader = BufReader::with_capacity(1 << 16, journal);
    let (mut at, mut damaged, mut text) = (0, 0, Vec::new());
    while at < end {
        if read_entry(&mut reader, at, end, &mut text)? {
            work(&text, damaged > 0).context("the journal of the run")?;
            at += (HEAD + text.len()) as u64;
            continue;
        }
        let Some(next) = next_whole(journal, at + 1, end)? else {
            damaged += usize::from(!is_cut_off(journal, at, end)?);
            break;
        };
        damaged += 1;
        at = next;
        reader.seek(SeekFrom::Start(at))?;
    }
    Ok(damaged)
}

/// Reads the entry that begins here; returns whether it is whole.
fn read_entry(reader: &mut impl Read, at: u64, end: u64, text: &mut Vec<u8>) -> io::Result<bool> {
    let left = end - at;
    if left < HEAD as u64 {
        return Ok(false);
    }
    let mut head = [[0; 4]; 2];
    reader.read_exact(head.as_flattened_mut())?;
    let [len, expected] = head.map(u32::from_le_bytes);
    if len == 0 || u64::from(len) > left - HEAD as u64 {
        return Ok(false);
    }
    text.resize(len as usize, 0);
    reader.read_exact(text)?;
    Ok(checksum(at, text) == expected)
}

/// The place of the first whole entry from here on. The length of an entry that is damaged may be
/// wrong itself, so each place is tried where the text of one begins.
fn next_whole(journal: &File, from: u64, end: u64) -> io::Result<Option<u64>> {
    const TRIED: usize = HEAD + START.len();
    let (mut bytes, mut text) = (vec![0; 1 << 16], Vec::new());
    let mut from = from;
    loop {
        let n = journal.read_at(&mut bytes, from)?;
        if n < TRIED {
            return Ok(None);
        }
        for (i, tried) in bytes[..n].windows(TRIED).enumerate() {
            let at = from + i as u64;
            if tried.ends_with(START) && at < end {
                let mut reader = journal;
                reader.seek(SeekFrom::Start(at))?;
                let len = u32::from_le_bytes([tried[0], tried[1], tried[2], tried[3]]);
                let fits = u64::from(len) <= end - at;
                if fits && read_entry(&mut reader, at, end, &mut text)? {
                    return Ok(Some(at));
                }
            }
        }
        from += (n - TRIED + 1) as u64;
    }
}

/// Whether the rest, in which no entry is whole, is what a kill leaves, or a machine that lost
/// power: less than a whole entry, or zeros at its end.
fn is_cut_off(journal: &File, at: u64, end: u64) -> io::Result<bool> {
    let mut rest = vec![0; usize::try_from(end - at).map_err(io::Error::other)?];
    journal.read_exact_at(&mut rest, at)?;
    let Some((head, text)) = rest.split_first_chunk::<HEAD>() else { return Ok(true) };
    let (heads, _) = head.as_chunks();
    let [len, expected] = [heads[0], heads[1]].map(u32::from_le_bytes);
    // The text may be whole, and only its length damaged.
    let is_shorter = len as usize > text.len() && checksum(at, text) != expected;
    Ok(is_shorter || rest.ends_with(&[0]))
}
