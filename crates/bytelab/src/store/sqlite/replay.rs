//! Applies a journal to its run as it is stored. Reading goes on behind an entry that is damaged,
//! and the run then has a note.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use lab::param::Point;
use lab::run::{Cell, Environment, Listed, Pass, Plan, Run, Sample, Status, Warning};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::journal::{HEAD, START, checksum};
use crate::store::columns::OwnedValues;

/// An entry after reading.
#[derive(Deserialize)]
enum OwnedEntry {
    Sample(u64, usize, Sample, OwnedValues),
    Cell(usize, Cell),
    SetAside(u64, u32, String),
    Plan(Plan),
    Finish(bool, Environment, Vec<Warning>),
}

/// What the list of runs shows of an entry.
#[derive(Deserialize)]
enum BriefEntry {
    Sample(u64, IgnoredAny, IgnoredAny, IgnoredAny),
    Cell(u64, IgnoredAny),
    SetAside(IgnoredAny, IgnoredAny, IgnoredAny),
    Plan(IgnoredAny),
    Finish(bool, IgnoredAny, IgnoredAny),
}

/// What applying a journal gave.
pub(super) struct Applied {
    /// Whether there is anything but the state of the run to store again.
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
) -> Result<Applied> {
    let mut reader = Reader { run, stored: next_sample, next_sample, missing: 0, changed: false };
    let damaged =
        each(journal, |text, is_damaged| reader.apply(serde_json::from_slice(text)?, is_damaged))?;
    let Reader { next_sample, missing, changed: is_changed, .. } = reader;
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
    Ok(Applied { is_changed, next_sample, is_damaged: damaged > 0 })
}

/// A run to which a journal is applied.
struct Reader<'a> {
    run: &'a mut Run,
    /// The samples before this one are in the run already.
    stored: u64,
    next_sample: u64,
    missing: u64,
    changed: bool,
}

impl Reader<'_> {
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
            // Of a journal that is folded already, it would affect the samples after it.
            OwnedEntry::SetAside(number, ..) if number < self.stored => {}
            OwnedEntry::SetAside(_, session, reason) => {
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
