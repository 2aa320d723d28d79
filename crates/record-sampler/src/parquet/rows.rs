//! Copies chosen rows into row groups of the outputs, as many at once as fit into memory.

use super::columns::{self, ChosenRows};
use super::failure::contained;
use super::row_group_writer::{Writer, failed};
use super::sources::{Group, Sources};
use crate::Result;

/// The number of chosen rows that are gathered; the values of one column at a time are in memory.
const GATHERED: usize = 1 << 17;

/// What was copied.
pub(super) struct Copied {
    /// The rows of each output.
    pub(super) taken: Vec<u64>,
    /// The number of row groups that hold a chosen row.
    pub(super) groups: usize,
}

/// Copies the rows with these ascending ranks, each to the output with this index.
pub(super) fn copy(
    sources: &Sources<'_>,
    writers: Vec<Writer<'_, '_>>,
    rows: impl Iterator<Item = (u64, usize)>,
) -> Result<Copied> {
    let (outputs, mut rows) = (writers.len(), rows.peekable());
    let mut gathered = Gathered { writers, chosen: Vec::new(), counts: vec![0; outputs] };
    let mut copied = Copied { taken: vec![0; outputs], groups: 0 };
    for group in sources.groups() {
        let end = group.base + group.rows;
        copied.groups += usize::from(rows.peek().is_some_and(|(rank, _)| *rank < end));
        while let Some((rank, output)) = rows.next_if(|(rank, _)| *rank < end) {
            copied.taken[output] += 1;
            gathered.add(&group, rank - group.base, output);
            if gathered.counts.iter().sum::<usize>() == GATHERED {
                gathered.write(sources, (GATHERED / 8 / outputs).max(1))?;
            }
        }
    }
    gathered.write(sources, 1)?;
    for writer in gathered.writers {
        contained(|| writer.close()).map_err(failed)?;
    }
    Ok(copied)
}

struct Gathered<'a, 'b> {
    writers: Vec<Writer<'a, 'b>>,
    chosen: Vec<ChosenRows>,
    /// Of each output.
    counts: Vec<usize>,
}

impl Gathered<'_, '_> {
    fn add(&mut self, group: &Group, row: u64, output: usize) {
        self.counts[output] += 1;
        let (file, number) = (group.file, group.number);
        match self.chosen.last_mut() {
            Some(last) if (last.file, last.group) == (file, number) => {
                last.rows.push((row, output));
            }
            _ => self.chosen.push(ChosenRows { file, group: number, rows: vec![(row, output)] }),
        }
    }

    /// Writes a row group to each output that has at least this many rows. The others wait, so that
    /// an output with a small share does not get only small row groups; pages may be read again for
    /// their rows.
    fn write(&mut self, sources: &Sources<'_>, least: usize) -> Result<()> {
        let is_due: Vec<bool> = self.counts.iter().map(|count| *count >= least).collect();
        if !is_due.contains(&true) {
            return Ok(());
        }
        let mut due = Vec::new();
        for ChosenRows { file, group, rows } in std::mem::take(&mut self.chosen) {
            let (now, later): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_due[row.1]);
            for (rows, list) in [(now, &mut due), (later, &mut self.chosen)] {
                if !rows.is_empty() {
                    list.push(ChosenRows { file, group, rows });
                }
            }
        }
        columns::write(&mut self.writers, sources, &due, &is_due)?;
        for (count, is_due) in self.counts.iter_mut().zip(is_due) {
            *count = if is_due { 0 } else { *count };
        }
        Ok(())
    }
}
