//! Any calls of the encoder: what is written reads back, from the document, its copy and its JSON
//! text.

#![no_main]

use fleece_codec::{Doc, Encoder, Value, json};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

/// The expected content of the document.
#[derive(Debug)]
enum Model {
    Null,
    Undefined,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Double(f64),
    Float(f32),
    String(String),
    Data(Vec<u8>),
    Array(Vec<Model>),
    Dict(BTreeMap<String, Model>),
}

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut encoder = Encoder::new();
    encoder.set_share_strings(take(&mut rest) & 1 == 0);
    let model = write(&mut rest, &mut encoder, 0);
    let doc = Doc::check(encoder.finish().expect("the calls were right")).expect("it is sound");
    assert!(is_equal(doc.root(), &model), "{:?} is not {model:?}", doc.root());
    encoder.write_value(doc.root());
    let copy = Doc::check(encoder.finish().expect("it can be copied")).expect("it is sound");
    assert!(is_equal(copy.root(), &model));
    if let Ok(text) = json::to_string(doc.root()) {
        json::to_fleece(text.as_bytes()).expect("what is printed is JSON");
    }
});

fn take(rest: &mut &[u8]) -> u8 {
    let Some((&first, after)) = rest.split_first() else { return 0 };
    *rest = after;
    first
}

fn take_8(rest: &mut &[u8]) -> u64 {
    let bytes = take(rest) % 9;
    (0..bytes).fold(0, |number, _| number << 8 | u64::from(take(rest)))
}

fn take_bytes(rest: &mut &[u8]) -> Vec<u8> {
    let len = usize::from(take(rest) % 24);
    let len = if len == 23 { 200 } else { len };
    (0..len).map(|_| take(rest)).collect()
}

fn take_string(rest: &mut &[u8]) -> String {
    String::from_utf8_lossy(&take_bytes(rest)).into_owned()
}

fn write(rest: &mut &[u8], encoder: &mut Encoder, depth: usize) -> Model {
    let kind = take(rest);
    match kind % if depth < 20 { 11 } else { 9 } {
        0 => {
            encoder.write_null();
            Model::Null
        }
        1 => {
            encoder.write_undefined();
            Model::Undefined
        }
        2 => {
            encoder.write_bool(kind > 100);
            Model::Bool(kind > 100)
        }
        3 => {
            let number = take_8(rest) as i64;
            let number = if kind > 100 { number } else { number.wrapping_neg() };
            encoder.write_i64(number);
            Model::Signed(number)
        }
        4 => {
            let number = take_8(rest);
            encoder.write_u64(number);
            Model::Unsigned(number)
        }
        5 => {
            let number = f64::from_bits(take_8(rest));
            let number = if number.is_nan() { 0.0 } else { number };
            encoder.write_f64(number);
            Model::Double(number)
        }
        6 => {
            let number = f32::from_bits(take_8(rest) as u32);
            let number = if number.is_nan() { 0.0 } else { number };
            encoder.write_f32(number);
            Model::Float(number)
        }
        7 => {
            let string = take_string(rest);
            encoder.write_str(&string);
            Model::String(string)
        }
        8 => {
            let data = take_bytes(rest);
            encoder.write_data(&data);
            Model::Data(data)
        }
        9 => {
            encoder.begin_array();
            let items = (0..take(rest)).map_while(|_| (!rest.is_empty()).then(|| write(rest, encoder, depth + 1)));
            let items = items.collect();
            encoder.end_array();
            Model::Array(items)
        }
        _ => {
            encoder.begin_dict();
            let mut pairs = BTreeMap::new();
            for _ in 0..take(rest) {
                if rest.is_empty() {
                    break;
                }
                let key = take_string(rest);
                encoder.write_key(&key);
                pairs.insert(key, write(rest, encoder, depth + 1));
            }
            encoder.end_dict();
            Model::Dict(pairs)
        }
    }
}

fn is_equal(value: Value<'_>, model: &Model) -> bool {
    match model {
        Model::Null => value.is_null(),
        Model::Undefined => value == Value::undefined(),
        Model::Bool(b) => value.as_bool() == Some(*b),
        Model::Signed(n) => value.as_i64() == Some(*n),
        Model::Unsigned(n) => value.as_u64() == Some(*n),
        Model::Double(n) => value.is_double() && value.as_f64().map(f64::to_bits) == Some(n.to_bits()),
        Model::Float(n) => {
            !value.is_double() && value.as_f64().map(f64::to_bits) == Some(f64::from(*n).to_bits())
        }
        Model::String(s) => value.as_str() == Some(s),
        Model::Data(d) => value.as_data() == Some(d),
        Model::Array(items) => value.as_array().is_some_and(|array| {
            array.len() == items.len() && array.iter().zip(items).all(|(value, item)| is_equal(value, item))
        }),
        Model::Dict(pairs) => value.as_dict().is_some_and(|dict| {
            dict.len() == pairs.len()
                && pairs.iter().all(|(key, model)| dict.get(key).is_some_and(|value| is_equal(value, model)))
        }),
    }
}
