//! Damaged and malicious documents.

use crate::{DEFECTS, data, table, vector};
use fleece_codec::{CheckOptions, Doc, ErrorKind, json};

#[test]
fn verdicts_are_those_of_the_original_but_for_its_defects() {
    for row in table("hostile/verdicts.tsv") {
        let (file, verdict) = (row[0].as_str(), row[1].as_str());
        let bytes = data(&format!("hostile/{file}"));
        let result = CheckOptions::new().check(&bytes);
        match (verdict, result) {
            ("invalid", Ok(_)) => panic!("{file} was accepted"),
            ("valid", Err(error)) => {
                println!("{file}: {error:?}");
                assert!(DEFECTS.contains(&error.kind()), "{file}: {error:?}");
            }
            _ => {}
        }
    }
}

#[test]
fn shared_subtrees_are_looked_at_once() {
    let doc = Doc::check(data("hostile/x099_bomb.fleece")).unwrap();
    // The walk would have no end, but its beginning is sound.
    assert_eq!(doc.root().deep_iter().take(1000).count(), 1000);
}

#[test]
fn a_million_levels_are_refused_without_recursion() {
    // An empty array within 800,000 others.
    let mut bytes = vec![0x60, 0x01, 0x60, 0x00];
    for _ in 0..800_000 {
        bytes.extend([0x60, 0x01, 0x80, 0x03]);
    }
    bytes.extend([0x80, 0x02]);
    assert_eq!(Doc::check(&bytes).unwrap_err().kind(), ErrorKind::TooDeep);
    let doc = Doc::open(&bytes).unwrap();
    assert_eq!(json::to_string(doc.root()).unwrap_err().kind(), ErrorKind::TooDeep);
    assert!(doc.root() == doc.root());
}

#[test]
fn depth_is_counted_exactly() {
    let nested = |levels: usize| {
        let mut encoder = fleece_codec::Encoder::new();
        (0..levels).for_each(|_| encoder.begin_array());
        encoder.write_null();
        (0..levels).for_each(|_| encoder.end_array());
        encoder.finish().unwrap()
    };
    for levels in [1, 2, 253, 254, 255, 256, 257, 512, 600, 65_535] {
        let limit = levels as u16;
        assert!(CheckOptions::new().depth_limit(limit).check(nested(levels)).is_ok(), "{levels}");
        let error = CheckOptions::new().depth_limit(limit - 1).check(nested(levels)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooDeep, "{levels}");
    }
    assert!(CheckOptions::new().depth_limit(u16::MAX).check(nested(65_536)).is_err());
}

#[test]
fn overlapping_arrays_are_refused_in_linear_time() {
    // Every two bytes begin another array of 2046 items: reading all would take a thousand times
    // the length.
    let mut bytes = [0x67, 0xFE].repeat(8192);
    let targets = (0..4096_u32).map(|item| 2 * item);
    let first = bytes.len() + 2 + 1 + 1;
    bytes.extend([0x6F, 0xFF, 0x81, 0x10]);
    assert_eq!(bytes.len(), first);
    for (item, target) in targets.enumerate().take(2047 + 0x801) {
        let at = (first + 4 * item) as u32;
        bytes.extend((0x8000_0000 | ((at - target) / 2)).to_be_bytes());
    }
    bytes.extend([0x80, 0x00, 0x20, 0x02, 0x80, 0x02]);
    let error = Doc::check(&bytes).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Overlap | ErrorKind::BadPointer), "{error}");
}

/// Everything that can be done with a document, whatever it is.
fn use_all(bytes: &[u8]) {
    let checked = Doc::check(bytes);
    for visit in checked.iter().flat_map(|doc| doc.root().deep_iter().take(2000)) {
        // A checked document hands its texts over without looking at them again.
        let bytes = visit.value.as_str_bytes();
        assert!(bytes.is_none_or(|bytes| std::str::from_utf8(bytes).is_ok()), "{bytes:02x?}");
    }
    let checked = checked.is_ok();
    let Ok(doc) = Doc::open(bytes) else {
        assert!(!checked);
        return;
    };
    for visit in doc.root().deep_iter().take(2000) {
        let value = visit.value;
        let _ = (value.to_bool(), value.to_i64(), value.to_f64(), value.to_timestamp_ms());
        let _ = (value.as_str(), value.as_data(), value.at(1), format!("{value:?}"));
        if let Some(dict) = value.as_dict() {
            let _ = (dict.get("name"), dict.iter().take(100).count(), dict.parent());
            let _ = (dict.get_key(&fleece_codec::Key::new("a longer key than eight bytes")),);
        }
        assert!(!checked || value.kind() != fleece_codec::Kind::String || value.as_str().is_some());
    }
}

#[test]
fn unchecked_data_gives_wrong_answers_at_worst() {
    for row in table("hostile/verdicts.tsv") {
        use_all(&data(&format!("hostile/{}", row[0])));
    }
}

#[test]
fn no_changed_byte_is_harmful() {
    for name in ["array_mixed", "api_delta_nested_appended", "str_lengths", "api_reencode_value"] {
        let bytes = vector(name);
        for at in 0..bytes.len() {
            for change in [0x01, 0x0F, 0x40, 0x80, 0xFF] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                use_all(&changed);
            }
            use_all(&bytes[..at]);
            use_all(&bytes[at..]);
        }
    }
}

#[test]
fn a_key_after_a_long_string_is_checked_as_a_key() {
    // A string of this length leaves the quick loop in the middle of a pair.
    let text = format!(r#"{{"aa":"{}","bb":1,"cc":2}}"#, "x".repeat(200));
    let mut bytes = json::to_fleece(text.as_bytes()).unwrap();
    let dict = Doc::check(&bytes).unwrap().root().offset();
    let (second_value, third_key) = (dict + 2 + 6, dict + 2 + 8);
    bytes[second_value..second_value + 2].copy_from_slice(&[0x30, 0]);
    assert!(Doc::check(&bytes).is_ok());
    bytes[third_key..third_key + 2].copy_from_slice(&[0x30, 0]);
    assert_eq!(Doc::check(&bytes).unwrap_err().kind(), ErrorKind::BadKey);
}
