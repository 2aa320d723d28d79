//! Counts the records of a part.

use super::description::Part;
use super::scan::{PartScan, Start, start};
use crate::fetch::count_fixed;
use crate::input::{Access, Population, Window};
use crate::simd::count_lines;
use crate::watch::Watch;
use crate::{Error, Format, Result};

/// The number of records of the only file of the population that are in the part.
pub(super) fn count(part: &Part, population: &mut Population) -> Result<u64> {
    match part.format {
        Format::Fixed(len) if population.files().is_some() => Ok(fixed(part, population, len)?.1),
        format if format.is_lines() && population.files().is_some() => {
            let start = start(part, population)?;
            lines(part, population, &start).map_err(|error: Error| error.with_path(&part.path))
        }
        _ => PartScan::new(part, population, Watch::default())?.count(),
    }
}

/// The number of the first record of the part in its file, and the number of its records.
pub(super) fn fixed(part: &Part, population: &Population, len: u64) -> Result<(u64, u64)> {
    let total: u64 = count_fixed(population, len)?.iter().sum();
    let rank = |offset: u64| offset.saturating_sub(part.header.bytes()).div_ceil(len).min(total);
    let (first, end) = (rank(part.from), rank(part.to));
    Ok((first, end.saturating_sub(first)))
}

/// A line begins behind each line feed that is not the last byte of the file.
fn lines(part: &Part, population: &Population, start: &Start) -> Result<u64> {
    const PIECE: usize = 256 << 10;
    let end = part.to.min(start.size);
    let is_first_within = part.from <= start.first && start.first < end;
    let Some(file) = population.files().and_then(|files| files.first().copied()) else {
        return Ok(0);
    };
    let mut window = Window::new(Access::Read(file), PIECE);
    let mut at = part.from.max(start.first + 1) - 1;
    let mut count = u64::from(is_first_within);
    while at + 1 < end {
        let most = (end - 1 - at).min(PIECE as u64) as usize;
        let piece = window.at(at, most)?;
        count += count_lines(piece);
        at += piece.len() as u64;
    }
    Ok(count)
}
