//! Lines at random byte offsets, without counting lines; the bias towards long lines is corrected
//! by rejection.
//!
//! An offset falls into a line with a probability proportional to its length L. If no line is
//! shorter than m, and an offset counts only if it is one of the last m of its line, each line is
//! hit by exactly m offsets.

use std::collections::BTreeSet;

use memchr::memchr;

use crate::input::{Access, Population, Window};
use crate::sink::Place;
use crate::watch::Watch;
use crate::{Error, ErrorKind, Result, Rng};

/// If this many tries in a row find lines that are chosen already, it is concluded that there are
/// no others. With twice as many lines as needed, that happens once in 2⁶⁴ samples.
const REPEATS: u32 = 64;

/// `n` different lines in the order in which they were found, and how many bytes were read.
pub(crate) fn probe(
    population: &Population,
    n: u64,
    min_len: u32,
    mut rng: Rng,
    watch: &Watch,
) -> Result<(Vec<Place>, u64)> {
    let mut files = Vec::new();
    let mut end = 0;
    let input_files = population.files().unwrap_or_default();
    for file in &input_files {
        let last_len = usize::from(file.size > 0);
        let mut last = Window::new(Access::Read(file), last_len);
        let is_open = file.size > 0 && last.at(file.size - 1, 1)? != b"\n";
        let start = end;
        // A last line without a line feed counts as if it had one.
        end += file.size + u64::from(is_open);
        files.push((end, start, Window::new(Access::Read(file), 512)));
    }
    let bases: Vec<u64> = input_files
        .iter()
        .scan(0, |sum, file| {
            *sum += file.size;
            Some(*sum - file.size)
        })
        .collect();
    let (mut chosen, mut found) = (BTreeSet::new(), Vec::new());
    let (mut repeats, mut tries) = (0, 0u64);
    let most_tries = n.saturating_mul(100_000).saturating_add(10_000_000);
    while (found.len() as u64) < n {
        tries += 1;
        if repeats > REPEATS || tries > most_tries || end == 0 {
            let text = format!(
                "only {} different lines were found in {tries} tries at random offsets; use another method",
                found.len()
            );
            return Err(Error::new(ErrorKind::TooFew, text));
        }
        let offset = rng.below(end);
        let number = files.partition_point(|(end, ..)| *end <= offset);
        let (_, start, window) = &mut files[number];
        let named = |error: Error| error.with_path(&population.inputs[number].path);
        let line = line_at(window, offset - *start, u64::from(min_len)).map_err(named)?;
        let Some(mut line) = line else { continue };
        if line.at == 0 {
            let bom = input_files[number].bom_bytes(population.format).map_err(named)?;
            line = Place { at: bom, len: line.len - bom };
        }
        if chosen.insert((number, line.at)) {
            found.push(Place { at: line.at + bases[number], len: line.len });
            repeats = 0;
            watch.advance(line.len)?;
        } else {
            repeats += 1;
        }
    }
    let bytes_read = files.iter().map(|(.., window)| window.bytes_read).sum();
    Ok((found, bytes_read))
}

/// The line that has this offset among its last `min_len` bytes.
fn line_at(window: &mut Window<'_>, offset: u64, min_len: u64) -> Result<Option<Place>> {
    let size = window.size();
    let mut at = offset;
    let end = loop {
        let left = offset + min_len - at;
        if left == 0 {
            return Ok(None);
        }
        if at == size {
            break at;
        }
        let piece = window.at(at, left.min(512) as usize)?;
        if let Some(found) = memchr(b'\n', piece) {
            break at + found as u64 + 1;
        }
        at += piece.len() as u64;
    };
    let start = start_of_line(window, end)?;
    let is_open = end == size && offset == size || window.at(end - 1, 1)? != b"\n";
    if end - start + u64::from(is_open) < min_len {
        let text = format!(
            "the line at offset {start} is shorter than the least length of {min_len} bytes"
        );
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    Ok(Some(Place { at: start, len: end - start }))
}

/// The start of the line that ends before this offset.
fn start_of_line(window: &mut Window<'_>, end: u64) -> Result<u64> {
    // The last byte may be the line feed of this line.
    let mut before = end.saturating_sub(1);
    while before > 0 {
        let from = before.saturating_sub(512);
        let mut piece = Vec::new();
        while from + (piece.len() as u64) < before {
            let at = from + piece.len() as u64;
            piece.extend_from_slice(window.at(at, (before - at) as usize)?);
        }
        if let Some(found) = memchr::memrchr(b'\n', &piece) {
            return Ok(from + found as u64 + 1);
        }
        before = from;
    }
    Ok(0)
}
