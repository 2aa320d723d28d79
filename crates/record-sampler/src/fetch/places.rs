//! Records whose places in the files are known.

use super::copy;
use super::lines::is_after_crlf;
use crate::Result;
use crate::input::{Access, Population, Window};
use crate::sink::{Place, Sink};

/// Passes on records by their places. Those that are in order and close to each other are read
/// together.
pub(crate) fn fetch_places(
    population: &Population,
    places: &[Place],
    sink: &mut dyn Sink,
) -> Result<u64> {
    const PIECE: u64 = 256 << 10;
    /// Where records are further apart on average, each is read alone.
    const CLOSE_BYTES: u64 = 32 << 10;
    let files = population.files().unwrap_or_default();
    let starts: Vec<u64> = files
        .iter()
        .scan(0, |end, file| {
            *end += file.size;
            Some(*end - file.size)
        })
        .collect();
    let size = files.iter().map(|file| file.size).sum::<u64>();
    let is_close = places.len() as u64 > size / CLOSE_BYTES && places.is_sorted();
    let longest = places.iter().map(|place| place.len).max().unwrap_or(0);
    let capacity = if is_close { PIECE } else { longest.clamp(2, PIECE) };
    let mut open: Option<(usize, Window<'_>)> = None;
    let mut bytes_read = 0;
    for place in places {
        let number = starts.partition_point(|start| *start <= place.at).saturating_sub(1);
        let Some(file) = files.get(number) else { break };
        if open.as_ref().is_none_or(|(open, _)| *open != number) {
            bytes_read += open.take().map_or(0, |(_, window)| window.bytes_read);
        }
        let new = || (number, Window::new(Access::Read(file), capacity as usize));
        let (_, window) = open.get_or_insert_with(new);
        let at = place.at - starts[number];
        let limit = if is_close { PIECE } else { place.len.clamp(1, PIECE) } as usize;
        let copied = copy(window, at, place.len, limit, sink).and_then(|()| {
            let Some(end) = population.format.end() else { return Ok(false) };
            Ok(is_open(window, at + place.len, end)? && is_after_crlf(window, at)?)
        });
        let is_after_crlf =
            copied.map_err(|error| error.with_path(&population.inputs[number].path))?;
        sink.end(*place, is_after_crlf)?;
    }
    Ok(bytes_read + open.map_or(0, |(_, window)| window.bytes_read))
}

/// Whether the record that ends there does not end with this byte.
fn is_open(window: &mut Window<'_>, end: u64, byte: u8) -> Result<bool> {
    let Some(last) = end.checked_sub(1) else { return Ok(true) };
    Ok(window.at(last, 1)? != [byte])
}
