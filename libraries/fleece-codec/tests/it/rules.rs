//! Options against documents that two programs read differently, and against small ones that hold
//! very much.

use crate::data;
use fleece_codec::{CheckOptions, Doc, Encoder, ErrorKind, SharedKeys, fleece, json};
use proptest::prelude::*;

/// Twenty arrays, each of which holds the one before twice: a million values in 130 bytes.
fn bomb() -> Vec<u8> {
    let mut bytes = vec![0x60, 0x00];
    for level in 0..20 {
        let (first, second) = if level == 0 { (2, 3) } else { (4, 5) };
        bytes.extend([0x60, 0x02, 0x80, first, 0x80, second]);
    }
    bytes.extend([0x80, 0x03]);
    bytes
}

#[test]
fn a_small_document_that_holds_very_much_is_refused_within_every_budget() {
    let doc = Doc::check(bomb()).unwrap();
    let error = CheckOptions::new().unshared_collections(true).check(bomb()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SharedCollection);
    for options in [json::PrintOptions::new(), json::PrintOptions::new().pretty(8).canonical()] {
        let error = options.size_limit_bytes(10_000).print(doc.root()).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
    let mut encoder = Encoder::new();
    encoder.set_size_limit_bytes(10_000);
    encoder.write_value(doc.root());
    let typed = fleece_codec::from_slice::<serde_json::Value>(&bomb()).map(drop).unwrap_err();
    assert_eq!(typed.kind(), ErrorKind::TooLarge);
    assert_eq!(encoder.finish().map(drop).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn what_encoders_write_keeps_all_rules() {
    let all = CheckOptions::new().sorted_keys(true).unique_keys(true).unshared_collections(true);
    let mut kept = 0;
    for entry in
        std::fs::read_dir(format!("{}/tests/data/vectors", env!("CARGO_MANIFEST_DIR"))).unwrap()
    {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_plain = name.ends_with(".fleece") && !name.contains("delta");
        // These were made by hand, or repeat a value or a key on purpose.
        let on_purpose = ["crafted", "write_again", "duplicate", "invalid_utf8"];
        if !is_plain || on_purpose.iter().any(|word| name.contains(word)) {
            continue;
        }
        let bytes = data(&format!("vectors/{name}"));
        all.check(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        kept += 1;
    }
    assert!(kept > 100, "{kept} vectors");
}

#[test]
fn an_array_within_the_slots_of_another_one_is_shared() {
    // The outer array has a wide slot with an array of one item, and a pointer to that very slot.
    let bytes = [0x68, 0x02, 0x60, 0x01, 0x00, 0x07, 0x80, 0x00, 0x00, 0x02, 0x80, 0x05];
    let rule = CheckOptions::new().unshared_collections(true);
    assert_eq!(Doc::check(bytes).unwrap().root(), Doc::check(fleece!([[7], [7]])).unwrap().root());
    assert_eq!(rule.check(bytes).unwrap_err().kind(), ErrorKind::SharedCollection);
    assert!(rule.check(fleece!([[], [], {}, {}])).is_ok(), "empty ones are in their slots");
}

/// A dict of these keys in this order, each a string of one byte or a number.
fn dict(keys: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x70, keys.len() as u8];
    for &key in keys {
        bytes.extend(if key < 8 { [0x00, key] } else { [0x41, key] });
        bytes.extend([0x00, 0x01]);
    }
    let distance = bytes.len() as u8 / 2;
    bytes.extend([0x80, distance]);
    bytes
}

proptest! {
    #[test]
    fn the_rules_of_keys_are_what_they_say(keys in prop::collection::vec(0..16_u8, 0..6)) {
        let kind = |options: CheckOptions| options.check(dict(&keys)).err().map(|error| error.kind());
        let is_sorted = keys.is_sorted();
        let is_unique = (1..keys.len()).all(|i| !keys[..i].contains(&keys[i]));
        let sorted = kind(CheckOptions::new().sorted_keys(true));
        prop_assert_eq!(sorted, (!is_sorted).then_some(ErrorKind::UnsortedKeys));
        let unique = kind(CheckOptions::new().unique_keys(true));
        prop_assert_eq!(unique, (!is_unique).then_some(ErrorKind::DuplicateKey));
        let mut table = SharedKeys::new();
        for i in 0..4 {
            table.add(&format!("key{i}"));
        }
        let named = kind(CheckOptions::new().shared_keys(table.into()));
        let is_unknown = keys.iter().any(|key| (4..8).contains(key));
        prop_assert_eq!(named, is_unknown.then_some(ErrorKind::UnknownSharedKey));
        prop_assert_eq!(kind(CheckOptions::new()), None);
    }
}
