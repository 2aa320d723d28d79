//! Any bytes as a document: no panic, no endless walk, and what checks is sound.

#![no_main]

use fleece_codec::{Doc, Edit, Encoder, Key, Kind, json};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

/// More values than this are not walked: shared subtrees make documents that are sound and have no
/// end.
const VISITS_MAX: usize = 5000;

fuzz_target!(|bytes: &[u8]| {
    let checked = Doc::check(bytes);
    for visit in checked.iter().flat_map(|doc| doc.root().deep_iter().take(VISITS_MAX)) {
        // A checked document hands its texts over without looking at them again.
        let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
        assert!(visit.value.as_str_bytes().is_none_or(is_text), "a checked string is UTF-8");
        for (key, _) in visit.value.as_dict().into_iter().flatten().take(100) {
            assert!(key.as_bytes().is_none_or(is_text), "a checked key is UTF-8");
        }
    }
    let checked = checked.is_ok();
    let Ok(doc) = Doc::open(bytes) else {
        assert!(!checked, "what checks can be opened");
        return;
    };
    let key = Key::new("name");
    let mut visits = 0;
    for visit in doc.root().deep_iter().take(VISITS_MAX) {
        visits += 1;
        let value = visit.value;
        let _ = (value.to_bool(), value.to_i64(), value.to_f64(), value.to_timestamp_ms());
        if checked && value.kind() == Kind::String {
            assert!(value.as_str().is_some(), "a checked string is UTF-8");
        }
        if let Some(dict) = value.as_dict() {
            let _ = (dict.len(), dict.get("a"), dict.get_key(&key), dict.parent());
        }
    }
    if visits == VISITS_MAX {
        return;
    }
    let printed = json::to_string(doc.root());
    let mut encoder = Encoder::new();
    encoder.write_value(doc.root());
    let copy = encoder.finish();
    if let (true, Ok(text)) = (checked, &printed) {
        let copy = Doc::check(copy.expect("what prints can be copied")).expect("a copy is sound");
        // Duplicate keys, and keys out of order, survive neither.
        if json::to_string(copy.root()).is_ok_and(|copied| copied == *text) {
            assert!(json::to_fleece(text.as_bytes()).is_ok() || visits > 500, "what is printed is JSON");
        }
    }
    if checked {
        amend(bytes);
    }
});

/// A delta against the document checks, apart from it and appended to it.
fn amend(bytes: &[u8]) {
    let base: Arc<[u8]> = bytes.into();
    let doc = Doc::check(base.clone()).expect("it checked before");
    let mut edit = match doc.root().as_dict() {
        Some(dict) => Edit::from_dict(dict),
        None => Edit::from(doc.root()),
    };
    edit.set("name", "new");
    let mut encoder = Encoder::amend_append(base.clone()).expect("it opened before");
    if encoder.write_edit(&edit).is_ok() {
        let delta = encoder.finish().expect("the edit was written");
        let whole = [&base[..], &delta].concat();
        let options = fleece_codec::CheckOptions::new().depth_limit(600);
        let whole = options.check(whole).expect("an amended document is sound");
        let name = whole.root().get("name").and_then(|name| name.as_str());
        assert!(name == Some("new") || !is_sorted(doc.root()), "the change is there");
    }
}

/// Lookups need sorted keys, which checking does not ask for.
fn is_sorted(value: fleece_codec::Value<'_>) -> bool {
    let Some(mut dict) = value.as_dict() else { return true };
    loop {
        let keys: Vec<_> = dict.iter().map(|(key, _)| key.as_bytes()).collect();
        if !keys.is_sorted_by(|a, b| a.is_some() && a < b) {
            return false;
        }
        match dict.parent() {
            Some(parent) => dict = parent,
            None => return true,
        }
    }
}
