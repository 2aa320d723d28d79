//! Amendments of documents with shared keys: with their table all is there, with another or none it
//! is an error.

use fleece_codec::{CheckOptions, Doc, Edit, Encoder, ErrorKind, Result, SharedKeys, Value, json};
use std::sync::Arc;

/// A person, and the table of the names if they are to be numbers.
fn base(mut keys: Option<SharedKeys>) -> (Arc<[u8]>, Option<SharedKeys>) {
    let mut encoder = Encoder::new();
    if let Some(keys) = keys.take() {
        encoder.set_shared_keys(keys);
    }
    encoder.begin_dict();
    for (key, value) in [("age", 36), ("born", 1815), ("died", 1852), ("name", 7)] {
        encoder.write_key(key);
        encoder.write_i64(value);
    }
    encoder.end_dict();
    let bytes = encoder.finish().unwrap();
    (bytes.into(), encoder.take_shared_keys())
}

/// Amends a base that was opened with one table by an encoder with another one, and gives the whole
/// document with that table.
fn amend(
    base: &Arc<[u8]>,
    opened_with: Option<&SharedKeys>,
    written_with: Option<SharedKeys>,
    change: fn(&mut Edit<'_>),
) -> Result<Doc<Vec<u8>>> {
    let mut doc = Doc::check(base.clone())?;
    if let Some(keys) = opened_with {
        doc = doc.with_shared_keys(Arc::new(keys.clone()));
    }
    let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    change(&mut edit);
    let mut encoder = Encoder::amend_append(base.clone())?;
    if let Some(keys) = written_with {
        encoder.set_shared_keys(keys);
    }
    // What goes wrong with one document does so with the next one.
    let first = encoder.write_edit(&edit);
    let _ = encoder.finish();
    assert_eq!(encoder.write_edit(&edit).is_ok(), first.is_ok());
    let _ = encoder.finish();
    encoder.write_edit(&edit)?;
    let delta = encoder.finish()?;
    let whole = Doc::check([base, &delta[..]].concat())?;
    Ok(match encoder.take_shared_keys() {
        Some(keys) => whole.with_shared_keys(Arc::new(keys)),
        None => whole,
    })
}

const CHANGES: [fn(&mut Edit<'_>); 4] = [
    |edit| edit.set("name", 8),
    |edit| edit.set("new", 8),
    |edit| edit.remove("name"),
    |edit| {
        for key in ["age", "born", "died", "name"] {
            edit.remove(key);
        }
        edit.set("x", 1);
    },
];

const EXPECTED: [&str; 4] = [
    r#"{"age":36,"born":1815,"died":1852,"name":8}"#,
    r#"{"age":36,"born":1815,"died":1852,"name":7,"new":8}"#,
    r#"{"age":36,"born":1815,"died":1852}"#,
    r#"{"x":1}"#,
];

fn check_sound(base: &Arc<[u8]>, keys: Option<&SharedKeys>) {
    for (change, expected) in CHANGES.iter().zip(EXPECTED) {
        let doc = amend(base, keys, keys.cloned(), *change).unwrap();
        let options = json::PrintOptions::new().canonical();
        assert_eq!(options.print(doc.root()).unwrap(), expected);
        for name in ["age", "born", "died", "name", "new", "x"] {
            let is_there = expected.contains(&format!(r#""{name}":"#));
            assert_eq!(doc.root().get(name).is_some(), is_there, "{name} of {expected}");
        }
    }
}

fn check_refused(base: &Arc<[u8]>, opened: Option<&SharedKeys>, written: Option<&SharedKeys>) {
    for (change, expected) in CHANGES.iter().zip(EXPECTED) {
        match amend(base, opened, written.cloned(), *change) {
            Ok(doc) => panic!("{:?} instead of {expected}", json::to_string(doc.root())),
            Err(error) => assert_eq!(error.kind(), ErrorKind::UnknownSharedKey, "{error}"),
        }
    }
}

/// A table of these names.
fn keys(names: &[&str]) -> SharedKeys {
    let mut keys = SharedKeys::new();
    for name in names {
        keys.add(name);
    }
    keys
}

fn full() -> SharedKeys {
    let mut keys = SharedKeys::new();
    for i in 0..SharedKeys::LEN_MAX {
        keys.add(&format!("k{i}"));
    }
    keys
}

#[test]
fn with_the_table_of_the_base_all_is_there() {
    let (bytes, keys) = base(Some(SharedKeys::new()));
    check_sound(&bytes, keys.as_ref());
    let (bytes, keys) = base(None);
    check_sound(&bytes, keys.as_ref());
}

#[test]
fn a_base_with_shared_keys_is_not_amended_without_its_table() {
    let (bytes, keys) = base(Some(SharedKeys::new()));
    check_refused(&bytes, keys.as_ref(), None);
    check_refused(&bytes, None, None);
}

#[test]
fn a_base_without_shared_keys_is_not_amended_with_a_table() {
    let (bytes, _) = base(None);
    let named = keys(&["name", "age", "born", "died", "new", "x"]);
    check_refused(&bytes, None, Some(&SharedKeys::new()));
    check_refused(&bytes, None, Some(&named));
    check_refused(&bytes, Some(&named), Some(&named));
}

#[test]
fn a_base_is_not_amended_with_another_table() {
    let (bytes, own) = base(Some(SharedKeys::new()));
    check_refused(&bytes, own.as_ref(), Some(&keys(&["name", "age", "born", "died"])));
    check_refused(&bytes, own.as_ref(), Some(&keys(&["age", "born"])));
}

#[test]
fn a_base_that_was_opened_without_its_table_is_not_edited() {
    let (bytes, keys) = base(Some(SharedKeys::new()));
    check_refused(&bytes, None, keys.as_ref());
}

/// Behind the mark of the parent come numbers, from 0 on, and then texts, of which those of zeros
/// are the first.
#[test]
fn the_keys_of_an_amendment_are_in_order() {
    let (bytes, keys) = base(Some(SharedKeys::new()));
    let keys = keys.unwrap();
    let long = "a key of more than fifteen bytes";
    for changed in [
        &["age"][..],
        &["name", "age"],
        &["age", ""],
        &["", "\0"],
        &["born", "\0", "\0\0", "age", ""],
        &["age", "\0", long, "a key"],
    ] {
        let doc = Doc::check(bytes.clone()).unwrap().with_shared_keys(Arc::new(keys.clone()));
        let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
        for (number, key) in changed.iter().enumerate() {
            edit.set(key, 100 + number as i64);
        }
        let mut encoder = Encoder::amend_append(bytes.clone()).unwrap();
        encoder.set_shared_keys(keys.clone());
        encoder.write_edit(&edit).unwrap();
        let whole = [&bytes, &encoder.finish().unwrap()[..]].concat();
        let options = CheckOptions::new().sorted_keys(true).unique_keys(true);
        let keys = encoder.take_shared_keys().unwrap();
        let doc = options.check(whole).unwrap().with_shared_keys(Arc::new(keys));
        assert!(doc.root().as_dict().unwrap().parent().is_some(), "{changed:?}");
        for (number, key) in changed.iter().enumerate() {
            let value = doc.root().get(key).and_then(Value::as_i64);
            assert_eq!(value, Some(100 + number as i64), "{key:?} of {changed:?}");
        }
    }
}

#[test]
fn names_that_a_full_table_has_no_room_for_are_no_mistake() {
    let (bytes, keys) = base(Some(full()));
    check_sound(&bytes, keys.as_ref());
    // The same names are numbers in another full table.
    let mut other = full();
    other.revert(SharedKeys::LEN_MAX - 1);
    other.add("name");
    check_refused(&bytes, None, Some(&other));
}

#[test]
fn what_holds_no_dict_needs_no_table() {
    let (bytes, _) = base(Some(SharedKeys::new()));
    let doc = Doc::check(bytes.clone()).unwrap();
    let mut encoder = Encoder::amend_extern(bytes.clone()).unwrap();
    encoder.begin_array();
    encoder.write_value(doc.root());
    encoder.end_array();
    assert!(encoder.finish().is_ok());
    encoder.begin_dict();
    encoder.end_dict();
    assert_eq!(encoder.finish().unwrap_err().kind(), ErrorKind::UnknownSharedKey);
}

#[test]
fn a_base_in_which_everything_overlaps_is_soon_amended() {
    // Every six bytes begin an array of all that comes behind it.
    let mut bytes = [0x67, 0xFF, 0xFF, 0xFF, 0x7F, 0x00].repeat(40_000);
    let root = (1 << 31) + bytes.len() as u32 / 2;
    bytes.extend(root.to_be_bytes());
    bytes.extend([0x80, 0x02]);
    let base: Arc<[u8]> = bytes.into();
    let mut encoder = Encoder::amend_extern(base).unwrap();
    encoder.write_null();
    assert!(encoder.finish().is_ok());
}

#[test]
fn a_dict_with_shared_keys_is_not_edited_without_the_table_where_others_have_text() {
    let mut encoder = Encoder::new();
    encoder.set_shared_keys(full());
    encoder.begin_array();
    for key in ["k0", "plain"] {
        encoder.begin_dict();
        for name in [key, "more", "yet_more"] {
            encoder.write_key(name);
            encoder.write_i64(1815);
        }
        encoder.end_dict();
    }
    encoder.end_array();
    let base: Arc<[u8]> = encoder.finish().unwrap().into();
    let doc = Doc::check(base.clone()).unwrap().with_shared_keys(full().into());
    let dict = doc.root().at(0).and_then(fleece_codec::Value::as_dict).unwrap();
    // The others change nothing that this dict has.
    for change in &CHANGES[..2] {
        let mut edit = Edit::from_dict(dict);
        change(&mut edit);
        let mut encoder = Encoder::amend_append(base.clone()).unwrap();
        let error = encoder.write_edit(&edit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownSharedKey);
    }
}
