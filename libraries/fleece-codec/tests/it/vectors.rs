//! Documents that the original made: each checks, prints as the original prints it, and is made
//! again byte for byte.

use crate::{data, table, vector};
use fleece_codec::json::{self, PrintOptions};
use fleece_codec::{CheckOptions, Doc, Encoder, Result, SharedKeys, Value};
use std::path::Path;
use std::sync::Arc;

/// The original prints these as text that is not JSON.
const NOT_JSON: [&str; 5] = [
    "api_infinity",
    "crafted_nan",
    "quirk_infinity",
    "api_undefined_in_array",
    "api_root_undefined",
];

fn exists(name: &str) -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vectors").join(name).exists()
}

fn check(name: &str, bytes: Vec<u8>) -> Result<Doc<Vec<u8>>> {
    let mut options = CheckOptions::new().utf8(name != "quirk_invalid_utf8");
    if let Some(stem) = name.strip_suffix("_extern") {
        options = options.base(vector(&format!("{stem}.base")).into());
    }
    let doc = options.check(bytes)?;
    let state = format!("{name}.state.fleece");
    if !exists(&state) {
        return Ok(doc);
    }
    let keys = SharedKeys::from_state(&data(&format!("vectors/{state}")))?;
    Ok(doc.with_shared_keys(Arc::new(keys)))
}

#[test]
fn every_document_checks_and_prints_as_the_original_prints_it() {
    for row in table("vectors/manifest.tsv") {
        let name = row[0].as_str();
        let doc = check(name, vector(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let out = format!("{name}.out.json");
        let file = if exists(&out) { out } else { format!("{name}.json") };
        if NOT_JSON.contains(&name) || name == "quirk_invalid_utf8" {
            continue;
        }
        let options = match row[1].as_str() {
            "crafted" => PrintOptions::new(),
            // Shared keys print in the order of their numbers.
            _ if name.starts_with("api_sharedkeys") => PrintOptions::new(),
            _ => PrintOptions::new().canonical(),
        };
        let expected = data(&format!("vectors/{file}"));
        let printed = options.print(doc.root()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(printed, String::from_utf8_lossy(&expected), "{name}");
    }
}

#[test]
fn every_document_is_made_again_from_its_json() {
    let mut made = 0;
    for row in table("vectors/manifest.tsv") {
        let (name, strict) = (row[0].as_str(), row[2].as_str());
        if strict == "yes" {
            let text = data(&format!("vectors/{name}.json"));
            let bytes = json::to_fleece(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(bytes == vector(name), "{name}");
            made += 1;
        }
    }
    assert_eq!(made, 85);
}

#[test]
fn every_document_is_equal_to_the_one_from_its_json() {
    for row in table("vectors/manifest.tsv") {
        let (name, made_by) = (row[0].as_str(), row[1].as_str());
        if NOT_JSON.contains(&name) || made_by != "crafted" && row[2] == "no" || has_data(name) {
            continue;
        }
        let doc = check(name, vector(name)).unwrap();
        let text = data(&format!("vectors/{name}.json"));
        let other = Doc::check(json::to_fleece(&text).unwrap()).unwrap();
        // JSON has no 32-bit floats: what they print as is another number.
        if !matches!(name, "api_float32" | "api_mutable_scalars") {
            assert_eq!(doc.root(), other.root(), "{name}");
        }
    }
}

fn has_data(name: &str) -> bool {
    name.starts_with("api_data") || name == "api_mutable_scalars"
}

#[test]
fn every_document_copies_to_an_equal_one() {
    for row in table("vectors/manifest.tsv") {
        let name = row[0].as_str();
        if matches!(name, "crafted_nan" | "quirk_duplicate_keys") {
            continue;
        }
        let doc = check(name, vector(name)).unwrap();
        let mut encoder = Encoder::new();
        encoder.write_value(doc.root());
        let copy = encoder.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
        let copy = CheckOptions::new().utf8(false).check(copy).unwrap();
        assert_eq!(copy.root(), doc.root(), "{name}");
    }
}

#[test]
fn invalid_json_that_the_original_accepts_is_refused() {
    let mut refused = 0;
    for row in table("vectors/manifest.tsv") {
        let name = row[0].as_str();
        if row[2] == "no" && name != "quirk_duplicate_keys" {
            let text = data(&format!("vectors/{name}.json"));
            assert!(json::to_fleece(&text).is_err(), "{name}");
            refused += 1;
        }
    }
    assert_eq!(refused, 6);
}

#[test]
fn every_pair_is_found_by_its_name() {
    for row in table("vectors/manifest.tsv") {
        let name = row[0].as_str();
        if matches!(name, "crafted_unsorted_dict" | "quirk_duplicate_keys" | "quirk_invalid_utf8") {
            continue;
        }
        let doc = check(name, vector(name)).unwrap();
        for visit in doc.root().deep_iter() {
            let Some(dict) = visit.value.as_dict() else { continue };
            for (key, value) in dict {
                let key = key.as_str().unwrap();
                let found = dict.get(key).unwrap_or_else(|| panic!("{name}: {key}"));
                assert_eq!((found.offset(), found.kind()), (value.offset(), value.kind()));
                let key = fleece_codec::Key::new(key);
                for _ in 0..2 {
                    assert_eq!(
                        dict.get_key(&key).map(fleece_codec::Value::offset),
                        Some(value.offset())
                    );
                }
            }
            assert!(dict.get("no such key").is_none());
        }
    }
}

#[test]
fn adapters_see_the_same_items_and_pairs_as_a_loop() {
    let place = |value: Value<'_>| (value.offset(), value.kind());
    let mut seen = 0;
    for row in table("vectors/manifest.tsv") {
        let name = row[0].as_str();
        let doc = check(name, vector(name)).unwrap();
        for visit in doc.root().deep_iter() {
            if let Some(array) = visit.value.as_array() {
                let (mut looped, mut folded) = (Vec::new(), Vec::new());
                for item in array {
                    looped.push(place(item));
                }
                array.iter().for_each(|item| folded.push(place(item)));
                assert_eq!(looped, folded, "{name}");
                seen += looped.len();
            }
            if let Some(dict) = visit.value.as_dict() {
                let (mut looped, mut folded) = (Vec::new(), Vec::new());
                for (key, value) in dict {
                    looped.push((key.as_bytes(), place(value)));
                }
                dict.iter().for_each(|(key, value)| folded.push((key.as_bytes(), place(value))));
                assert_eq!(looped, folded, "{name}");
                seen += looped.len();
            }
        }
    }
    assert!(seen > 10_000, "{seen}");
}
