//! Seeded random documents, encoded by this library, as records for `compare.c`, which encodes them
//! with Couchbase's own encoder.
//!
//! `real_encoder DOCUMENTS SEED [FILE.json …] > records`; the script `run` beside this file builds
//! and runs both.

mod tree;

use fleece_codec::{Doc, Encoder, json};
use std::io::{BufWriter, Error, Result, Write};
use tree::{Forest, Tree};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |default| arguments.next().and_then(|argument| argument.parse().ok()).unwrap_or(default);
    let (documents, seed) = (number(10_000), number(1));
    let mut forest = Forest::new(seed);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for index in 0..documents {
        // Every tenth document is large enough for wide pointers, and for strings that are too far
        // away to be shared.
        let tree = if index % 10 == 9 { forest.large() } else { forest.small() };
        if index % 2 == 0 {
            text(&mut out, forest.json(&tree).as_bytes())?;
        } else {
            let (mut encoder, mut events) = (Encoder::new(), Vec::new());
            write(&tree, &mut encoder, &mut events);
            let bytes = encoder.finish().expect("the events are in order");
            record(&mut out, b'E', &events, bytes)?;
        }
    }
    for path in arguments {
        text(&mut out, &std::fs::read(path)?)?;
    }
    out.flush()
}

fn text(out: &mut impl Write, text: &[u8]) -> Result<()> {
    record(out, b'J', text, json::to_fleece(text).map_err(Error::other)?)
}

/// Writes a record: how to write the document, the input, our bytes and our JSON text.
fn record(out: &mut impl Write, kind: u8, input: &[u8], bytes: Vec<u8>) -> Result<()> {
    let bytes = as_of_2022(bytes);
    let doc = Doc::open(&bytes).map_err(Error::other)?;
    let text = json::to_vec(doc.root()).map_err(Error::other)?;
    let parts = [input, &bytes, &text];
    let size = 1 + parts.iter().map(|part| 4 + part.len()).sum::<usize>();
    out.write_all(&(size as u32).to_le_bytes())?;
    out.write_all(&[kind])?;
    for part in parts {
        out.write_all(&(part.len() as u32).to_le_bytes())?;
        out.write_all(part)?;
    }
    Ok(())
}

/// Until 2024 the encoder did not distinguish a double that is stored in four bytes from a float.
fn as_of_2022(mut bytes: Vec<u8>) -> Vec<u8> {
    let doc = Doc::open(bytes.clone()).expect("it was just made");
    for visit in doc.root().deep_iter() {
        let at = visit.value.offset();
        if bytes[at] == 0x24 {
            bytes[at] = 0x20;
        }
    }
    bytes
}

/// Writes the tree with our encoder, and records the calls for the other encoder.
fn write(tree: &Tree, encoder: &mut Encoder, events: &mut Vec<u8>) {
    let mut slice = |event, bytes: &[u8]| {
        events.push(event);
        events.extend((bytes.len() as u32).to_le_bytes());
        events.extend(bytes);
    };
    match tree {
        Tree::String(text) => slice(b's', text.as_bytes()),
        Tree::Data(data) => slice(b'b', data),
        Tree::Null => events.push(b'n'),
        Tree::Bool(value) => events.push(if *value { b't' } else { b'f' }),
        Tree::Signed(number) => {
            events.push(b'i');
            events.extend(number.to_le_bytes());
        }
        Tree::Unsigned(number) => {
            events.push(b'u');
            events.extend(number.to_le_bytes());
        }
        Tree::Float(number) => {
            events.push(b'r');
            events.extend(number.to_le_bytes());
        }
        Tree::Double(number) => {
            events.push(b'd');
            events.extend(number.to_le_bytes());
        }
        Tree::Array(_) => events.push(b'['),
        Tree::Dict(_) => events.push(b'{'),
    }
    match tree {
        Tree::Null => encoder.write_null(),
        Tree::Bool(value) => encoder.write_bool(*value),
        Tree::Signed(number) => encoder.write_i64(*number),
        Tree::Unsigned(number) => encoder.write_u64(*number),
        Tree::Float(number) => encoder.write_f32(*number),
        Tree::Double(number) => encoder.write_f64(*number),
        Tree::String(text) => encoder.write_str(text),
        Tree::Data(data) => encoder.write_data(data),
        Tree::Array(items) => {
            encoder.begin_array();
            for item in items {
                write(item, encoder, events);
            }
            encoder.end_array();
            events.push(b']');
        }
        Tree::Dict(pairs) => {
            encoder.begin_dict();
            for (key, value) in pairs {
                encoder.write_key(key);
                events.push(b'k');
                events.extend((key.len() as u32).to_le_bytes());
                events.extend(key.as_bytes());
                write(value, encoder, events);
            }
            encoder.end_dict();
            events.push(b'}');
        }
    }
}
