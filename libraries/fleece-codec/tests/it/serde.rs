//! Rust types to documents and back.

use fleece_codec::{Doc, ErrorKind, fleece, from_slice, from_value, to_vec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(i64, String),
    Struct { side: f64 },
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Everything {
    numbers: (i8, u64, f32, f64),
    text: String,
    letter: char,
    none: Option<u8>,
    some: Option<u8>,
    unit: (),
    shapes: Vec<Shape>,
    by_number: BTreeMap<u32, bool>,
    nested: BTreeMap<String, Vec<Option<i32>>>,
    wrapped: Wrapped,
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Wrapped(u16);

fn everything() -> Everything {
    Everything {
        numbers: (-3, u64::MAX, 0.1, 1e300),
        text: "a text that is long enough".into(),
        letter: 'é',
        none: None,
        some: Some(255),
        unit: (),
        shapes: vec![
            Shape::Unit,
            Shape::Newtype(7),
            Shape::Tuple(-5000, "x".into()),
            Shape::Struct { side: 2.5 },
        ],
        by_number: [(1, true), (20, false)].into(),
        nested: [("k".into(), vec![Some(1), None])].into(),
        wrapped: Wrapped(9),
    }
}

#[test]
fn every_type_comes_back() {
    let bytes = to_vec(&everything()).unwrap();
    assert_eq!(from_slice::<Everything>(&bytes).unwrap(), everything());
}

#[test]
fn documents_are_those_of_the_json_text() {
    let value: serde_json::Value =
        serde_json::json!({"a": [1, -5, 1.5, "x", null, true, {}], "b": {"c": "d"}});
    let text = serde_json::to_string(&value).unwrap();
    let bytes = to_vec(&value).unwrap();
    assert_eq!(bytes, fleece_codec::json::to_fleece(text.as_bytes()).unwrap());
    assert_eq!(from_slice::<serde_json::Value>(&bytes).unwrap(), value);
}

#[test]
fn strings_and_data_are_borrowed() {
    let bytes = fleece!(["a string in the document", "b"]);
    let strings: Vec<&str> = from_slice(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&strings[0].as_ptr()));
    let mut encoder = fleece_codec::Encoder::new();
    encoder.write_data(&[1, 2, 3]);
    let bytes = encoder.finish().unwrap();
    assert_eq!(from_slice::<&[u8]>(&bytes).unwrap(), [1, 2, 3]);
}

#[test]
fn a_wrong_type_is_an_error() {
    let bytes = fleece!({"a": "text"});
    assert_eq!(from_slice::<BTreeMap<String, u8>>(&bytes).unwrap_err().kind(), ErrorKind::Custom);
    assert!(from_slice::<u8>(&fleece!(256)).is_err());
    assert!(from_slice::<(u8, u8)>(&fleece!([1])).is_err());
    assert!(from_slice::<(u8, u8)>(&fleece!([1, 2, 3])).is_err());
    assert!(from_slice::<Shape>(&fleece!({"Unit": null, "b": 1})).is_err());
    assert!(from_slice::<Shape>(&fleece!("Other")).is_err());
    assert!(from_slice::<BTreeMap<u8, u8>>(&fleece!({"x": 1})).is_err());
    assert_eq!(to_vec(&f64::NAN).unwrap_err().kind(), ErrorKind::NotRepresentable);
    assert_eq!(to_vec(&u128::MAX).unwrap_err().kind(), ErrorKind::NotRepresentable);
    let by_list: BTreeMap<Vec<u8>, u8> = [(vec![1], 1)].into();
    assert_eq!(to_vec(&by_list).unwrap_err().kind(), ErrorKind::BadKey);
}

#[test]
fn data_without_end_is_refused() {
    // An array that contains itself.
    let bytes = [0x60, 0x01, 0x80, 0x01, 0x80, 0x02];
    assert!(from_slice::<serde_json::Value>(&bytes).is_err());
    let doc = Doc::open(bytes).unwrap();
    let error = from_value::<serde_json::Value>(doc.root()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooDeep);
}

/// `{"a": [?]}`, where the item is a pointer that leads nowhere.
const BROKEN: [u8; 12] = [0x60, 0x01, 0x80, 0x00, 0x70, 0x01, 0x41, b'a', 0x80, 0x04, 0x80, 0x03];

#[expect(clippy::unnecessary_wraps, reason = "serde calls it so")]
fn swallow<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    Ok(Vec::<u8>::deserialize(deserializer).ok().map(|items| items[0]))
}

#[test]
fn what_a_type_leaves_out_must_be_sound_too() {
    #[derive(Deserialize, Debug)]
    struct Nothing {}
    #[derive(Deserialize, Debug)]
    struct Swallows {
        #[serde(deserialize_with = "swallow")]
        #[expect(dead_code, reason = "it is never made")]
        a: Option<u8>,
    }
    assert!(from_slice::<Nothing>(&fleece!({"a": [1]})).is_ok());
    assert_eq!(from_slice::<Nothing>(&BROKEN).unwrap_err().kind(), ErrorKind::BadPointer);
    assert_eq!(from_slice::<Swallows>(&BROKEN).unwrap_err().kind(), ErrorKind::BadPointer);
    // Of a document that need not be sound, the broken item is nothing.
    let value = Doc::open(&BROKEN).unwrap();
    let read = from_value::<BTreeMap<String, Vec<Option<u8>>>>(value.root()).unwrap();
    assert_eq!(read["a"], [None]);
}

#[test]
fn names_at_the_same_places_are_distinguished() {
    let long = "a name of more than fifteen letters";
    let kinds =
        [vec!["a", "b", ""], vec!["a", "c", long], vec!["b", "c"], vec!["ab", "b", long, "z"]];
    // Some are so far away from their dict that its slots are wide.
    let text = "x".repeat(40_000);
    let maps: Vec<BTreeMap<&str, String>> = (0..100)
        .map(|i| {
            let value =
                |at: usize| if (i + at) % 40 == 7 { text.clone() } else { format!("{i} {at}") };
            kinds[i % 7 % 4].iter().enumerate().map(|(at, name)| (*name, value(at))).collect()
        })
        .collect();
    let bytes = to_vec(&maps).unwrap();
    assert_eq!(from_slice::<Vec<BTreeMap<&str, String>>>(&bytes).unwrap(), maps);
}
