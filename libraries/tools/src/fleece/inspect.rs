//! `dump` and `stats`: the values that a document stores, each one once, even if several slots
//! refer to it. They also accept damaged documents.

use std::collections::BTreeMap;
use std::io::{self, Write};

use fleece_codec::{Doc, Kind, Value};

/// A slot of a collection, or the root slot.
pub(super) struct Slot<'d> {
    pub(super) at: usize,
    pub(super) len: usize,
    /// `None` if the slot refers to nothing in this document.
    pub(super) value: Option<Value<'d>>,
}

impl Slot<'_> {
    /// Whether the value is stored in the slot itself.
    fn is_inline(&self) -> bool {
        self.value.is_some_and(|value| value.offset() == self.at)
    }
}

/// The values that are stored outside slots, by offset, with the number of slots that refer to
/// each.
pub(super) fn stored<'d>(doc: &'d Doc<&[u8]>) -> BTreeMap<usize, (Value<'d>, usize)> {
    let mut stored: BTreeMap<usize, (Value<'d>, usize)> = BTreeMap::new();
    let mut open = vec![root(doc)];
    while let Some(slot) = open.pop() {
        let Some(value) = slot.value else { continue };
        if !slot.is_inline() {
            let (_, slots) = stored.entry(value.offset()).or_insert((value, 0));
            *slots += 1;
            if *slots > 1 {
                continue;
            }
        } else if value.range().end > slot.at + slot.len {
            // This happens only in damaged documents; the bytes in the value are other slots.
            continue;
        }
        open.extend(slots(doc, value));
    }
    stored
}

/// The last two bytes of the document.
pub(super) fn root<'d>(doc: &'d Doc<&[u8]>) -> Slot<'d> {
    let len = doc.as_bytes().len();
    Slot { at: len - 2, len: 2, value: Some(doc.root()) }
}

/// The slots of a collection, in order; a dict alternates keys and values.
fn slots<'d>(doc: &'d Doc<&[u8]>, value: Value<'d>) -> Vec<Slot<'d>> {
    if !matches!(value.kind(), Kind::Array | Kind::Dict) {
        return Vec::new();
    }
    let bytes = doc.as_bytes();
    let range = value.range();
    let width = width(bytes, value);
    let first = range.start + header_len(bytes, value);
    let places = (first..range.end).step_by(width).filter(|at| at + width <= range.end);
    places.map(|at| Slot { at, len: width, value: follow(doc, at, width) }).collect()
}

fn width(bytes: &[u8], value: Value<'_>) -> usize {
    if bytes[value.offset()] & 0x08 != 0 { 4 } else { 2 }
}

/// The length of a collection's header with its count, which is longer for counts from 2047.
fn header_len(bytes: &[u8], value: Value<'_>) -> usize {
    let at = value.offset();
    let count =
        usize::from(bytes[at] & 7) << 8 | bytes.get(at + 1).map_or(0, |&low| usize::from(low));
    if count < 2047 {
        return 2;
    }
    let varint = bytes[at..].iter().skip(2).take_while(|&&byte| byte & 0x80 != 0).count() + 1;
    (2 + varint).next_multiple_of(2)
}

/// The value that the slot holds or refers to, through further pointers if necessary.
fn follow<'d>(doc: &'d Doc<&[u8]>, at: usize, width: usize) -> Option<Value<'d>> {
    let (bytes, mut at, mut width) = (doc.as_bytes(), at, width);
    loop {
        let word = bytes.get(at..at + width)?;
        if word[0] & 0x80 == 0 {
            return doc.value_at(at);
        }
        let number = word.iter().fold(0, |number, &byte| number << 8 | usize::from(byte));
        let (distance, is_extern) = match width {
            2 => (number & 0x3FFF, number & 0x4000 != 0),
            _ => (number & 0x3FFF_FFFF, number & 0x4000_0000 != 0),
        };
        // The distances of pointers are positive, so the loop ends.
        at = at.checked_sub(2 * distance).filter(|_| distance > 0 && !is_extern)?;
        width = 4;
    }
}

/// The numeric keys of this collection, with the offsets of their slots; the key of a parent is not
/// included.
pub(super) fn shared_keys<'d>(
    doc: &'d Doc<&[u8]>,
    value: Value<'d>,
) -> impl Iterator<Item = (u16, usize)> {
    let is_dict = value.kind() == Kind::Dict;
    let keys = slots(doc, value).into_iter().step_by(2).filter(move |_| is_dict);
    keys.filter_map(|slot| Some((slot.value?.as_u64()?.try_into().ok()?, slot.at)))
}

/// The number of bytes on each line.
const LINE_BYTES: usize = 8;

/// An annotated hex dump of every value, in the order of the file.
pub(super) fn dump(doc: &Doc<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    let bytes = doc.as_bytes();
    let mut next = 0;
    for (value, slots) in stored(doc).into_values() {
        let range = value.range();
        unreached(bytes, next, range.start, out)?;
        let times = if slots > 1 { format!(" ×{slots}") } else { String::new() };
        match value.kind() {
            Kind::Array | Kind::Dict => collection(doc, value, &times, out)?,
            _ => line(bytes, range.start, range.len(), &format!("{}{times}", meaning(value)), out)?,
        }
        next = next.max(range.end);
    }
    let root = root(doc);
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
    let slots = slots(doc, value);
    let header = header_len(bytes, value).min(range.len());
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

/// The parts of a document. The sizes of all kinds sum to the size of the document.
#[derive(Default)]
struct Stats {
    kinds: [KindCount; KINDS.len()],
    pointers: KindCount,
    shared: SharedValues,
    /// The number of numeric keys.
    shared_keys: usize,
}

#[derive(Clone, Copy, Default)]
struct KindCount {
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

/// Sizes by kind, and the bytes saved by sharing.
pub(super) fn stats(doc: &Doc<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    let stats = Stats::from_doc(doc);
    let len = doc.as_bytes().len();
    let row = |name: &str, count: &KindCount| {
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
        "\n{values} values are stored once and used {times} more times: {saved_bytes} bytes saved"
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
        for (value, slots) in stored(doc).into_values() {
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
        let slots = slots(doc, value);
        // A value that is stored inside a slot is counted under its own kind.
        let slot_bytes: usize = slots.iter().map(|slot| slot.len).sum();
        self.kinds[kind(value)].add(size - slot_bytes);
        for slot in &slots {
            match slot.value {
                Some(inline) if slot.is_inline() => self.kinds[kind(inline)].add(slot.len),
                _ => self.pointers.add(slot.len),
            }
        }
        self.shared_keys += shared_keys(doc, value).count();
    }
}

impl KindCount {
    fn add(&mut self, bytes: usize) {
        self.values += 1;
        self.bytes += bytes;
    }
}
