//! `dump`: an annotated hex dump of every value, in the order of the file.

use std::io::{self, Write};

use fleece_codec::{Doc, Kind, Value};

use super::walk::{self, Slot};

/// The number of bytes on each line.
const LINE_BYTES: usize = 8;

pub(super) fn write(doc: &Doc<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    let bytes = doc.as_bytes();
    let mut next = 0;
    for (value, slots) in walk::stored(doc).into_values() {
        let range = value.range();
        unreached(bytes, next, range.start, out)?;
        let times = if slots > 1 { format!(" ×{slots}") } else { String::new() };
        match value.kind() {
            Kind::Array | Kind::Dict => collection(doc, value, &times, out)?,
            _ => line(bytes, range.start, range.len(), &format!("{}{times}", meaning(value)), out)?,
        }
        next = next.max(range.end);
    }
    let root = walk::root(doc);
    unreached(bytes, next, root.at, out)?;
    slot(bytes, &root, "root ", out)
}

fn collection(
    doc: &Doc<&[u8]>,
    value: Value<'_>,
    times: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (bytes, range) = (doc.as_bytes(), value.range());
    let slots = walk::slots(doc, value);
    let header = walk::header_len(bytes, value).min(range.len());
    let is_dict = value.kind() == Kind::Dict;
    let (kind, count) = if is_dict { ("dict", slots.len() / 2) } else { ("array", slots.len()) };
    let wide = if slots.first().is_some_and(|slot| slot.len == 4) { ", wide" } else { "" };
    line(bytes, range.start, header, &format!("{kind} of {count}{wide}{times}"), out)?;
    for (index, entry) in slots.iter().enumerate() {
        let label = match (is_dict, index % 2) {
            (false, _) => format!("  [{index}] "),
            (true, 0) => "  key ".to_owned(),
            (true, _) => "    = ".to_owned(),
        };
        slot(bytes, entry, &label, out)?;
    }
    Ok(())
}

fn slot(bytes: &[u8], slot: &Slot<'_>, label: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = match slot.value {
        None => "a pointer out of this document".to_owned(),
        Some(value) if slot.is_inline() => meaning(value),
        Some(value) => format!("→ {:06x} {}", value.offset(), meaning(value)),
    };
    line(bytes, slot.at, slot.len, &format!("{label}{text}"), out)
}

/// Prints padding between values, and bytes that no slot refers to. Values of an odd length have
/// one byte of padding.
fn unreached(bytes: &[u8], from: usize, to: usize, out: &mut dyn Write) -> io::Result<()> {
    if from >= to {
        return Ok(());
    }
    let rest = &bytes[from..to];
    let what = match rest.iter().all(|&byte| byte == 0) {
        true if rest.len() == 1 => "filler",
        _ if rest[0] & 0x80 != 0 && rest.len() == 4 => "a wide pointer on the way",
        _ => "not reached from the root",
    };
    line(bytes, from, to - from, what, out)
}

/// Describes a value on one line, which is truncated if it is long.
fn meaning(value: Value<'_>) -> String {
    let text = value.as_str().map_or_else(|| format!("{value:?}"), |text| format!("{text:?}"));
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(48).collect();
    if characters.next().is_some() { format!("{start}…") } else { start }
}

fn line(bytes: &[u8], at: usize, len: usize, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let all = &bytes[at..(at + len).min(bytes.len())];
    let mut lines = all.chunks(LINE_BYTES);
    let hex = |bytes: &[u8]| {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<String>>().join(" ")
    };
    let first = lines.next().unwrap_or_default();
    writeln!(out, "{at:06x}  {:24} {text}", hex(first))?;
    for (index, more) in (1..).zip(lines) {
        writeln!(out, "{:06x}  {}", at + index * LINE_BYTES, hex(more))?;
    }
    Ok(())
}
