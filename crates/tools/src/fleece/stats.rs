//! `stats`: sizes by kind, and the bytes saved by sharing.

use std::io::{self, Write};

use fleece_codec::{Doc, Kind, Value};

use super::walk;

/// The parts of a document. The sizes of all kinds sum to the size of the document.
#[derive(Default)]
struct Stats {
    kinds: [Count; KINDS.len()],
    pointers: Count,
    shared: SharedValues,
    /// The number of numeric keys.
    shared_keys: usize,
}

#[derive(Clone, Copy, Default)]
struct Count {
    values: usize,
    bytes: usize,
}

/// Values that several slots refer to.
#[derive(Default)]
struct SharedValues {
    values: usize,
    slots: usize,
    saved_bytes: usize,
}

const KINDS: [&str; 8] = ["null", "bool", "integer", "float", "string", "data", "array", "dict"];

fn kind(value: Value<'_>) -> usize {
    match value.kind() {
        Kind::Bool => 1,
        Kind::Number => 2 + usize::from(!value.is_integer()),
        Kind::String => 4,
        Kind::Data => 5,
        Kind::Array => 6,
        Kind::Dict => 7,
        _ => 0,
    }
}

pub(super) fn write(doc: &Doc<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    let stats = Stats::from_doc(doc);
    let len = doc.as_bytes().len();
    let row = |name: &str, count: &Count| {
        let share = count.bytes as f64 * 100.0 / len as f64;
        format!("{name:10} {:>9} {:>11} {share:>5.1} %", count.values, count.bytes)
    };
    writeln!(out, "{:10} {:>9} {:>11} {:>7}", "", "number", "bytes", "share")?;
    for (name, count) in KINDS.iter().zip(&stats.kinds).filter(|(_, count)| count.values > 0) {
        writeln!(out, "{}", row(name, count))?;
    }
    writeln!(out, "{}", row("pointers", &stats.pointers))?;
    let known: usize = stats.kinds.iter().map(|count| count.bytes).sum();
    let rest = len.saturating_sub(known + stats.pointers.bytes);
    let share = rest as f64 * 100.0 / len as f64;
    writeln!(out, "{:10} {:>9} {rest:>11} {share:>5.1} %", "filler", "")?;
    writeln!(out, "{:10} {:>9} {len:>11} 100.0 %", "document", "")?;
    let SharedValues { values, slots, saved_bytes } = stats.shared;
    let times = slots.saturating_sub(values);
    writeln!(
        out,
        "\n{values} values are stored once and meant {times} times more: {saved_bytes} bytes saved"
    )?;
    if stats.shared_keys > 0 {
        writeln!(out, "{} keys are the numbers of shared keys", stats.shared_keys)?;
    }
    Ok(())
}

impl Stats {
    fn from_doc(doc: &Doc<&[u8]>) -> Stats {
        let mut stats = Stats::default();
        stats.pointers.add(2);
        for (value, slots) in walk::stored(doc).into_values() {
            let size = value.range().len();
            stats.value(doc, value, size);
            if slots > 1 {
                stats.shared.values += 1;
                stats.shared.slots += slots;
                stats.shared.saved_bytes += (slots - 1) * size.next_multiple_of(2);
            }
        }
        stats
    }

    fn value(&mut self, doc: &Doc<&[u8]>, value: Value<'_>, size: usize) {
        let slots = walk::slots(doc, value);
        // A value that is stored inside a slot is counted under its own kind.
        let slot_bytes: usize = slots.iter().map(|slot| slot.len).sum();
        self.kinds[kind(value)].add(size - slot_bytes);
        for slot in &slots {
            match slot.value {
                Some(inline) if slot.is_inline() => self.kinds[kind(inline)].add(slot.len),
                _ => self.pointers.add(slot.len),
            }
        }
        self.shared_keys += walk::shared_keys(doc, value).count();
    }
}

impl Count {
    fn add(&mut self, bytes: usize) {
        self.values += 1;
        self.bytes += bytes;
    }
}
