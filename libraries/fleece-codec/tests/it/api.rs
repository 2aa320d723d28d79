//! Documents that the original's encoder wrote call by call.

use crate::{data, vector};
use fleece_codec::{Doc, Edit, Encoder, SharedKeys, fleece, json};

/// Writes with `write`, and compares with the vector.
fn check(name: &str, write: impl FnOnce(&mut Encoder)) {
    let mut encoder = Encoder::new();
    write(&mut encoder);
    let bytes = encoder.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(bytes == vector(name), "{name}:\n{bytes:02x?}\n{:02x?}", vector(name));
}

fn check_array(name: &str, write: impl FnOnce(&mut Encoder)) {
    check(name, |encoder| {
        encoder.begin_array();
        write(encoder);
        encoder.end_array();
    });
}

#[test]
fn roots_are_the_same() {
    check("api_root_null", Encoder::write_null);
    check("api_root_undefined", Encoder::write_undefined);
    check("api_root_true", |e| e.write_bool(true));
    check("api_root_false", |e| e.write_bool(false));
    for name in ["api_root_str0", "api_root_str1", "api_root_str2", "api_root_str15"] {
        let doc = Doc::check(vector(name)).unwrap();
        check(name, |e| e.write_str(doc.root().as_str().unwrap()));
    }
}

#[test]
fn scalars_are_the_same() {
    let items = |name: &str| -> Vec<f64> {
        let doc = Doc::check(vector(name)).unwrap();
        doc.root().as_array().unwrap().iter().map(|item| item.as_f64().unwrap()).collect()
    };
    check_array("api_double_as_f32", |e| {
        items("api_double_as_f32").iter().for_each(|&n| e.write_f64(n))
    });
    check_array("api_infinity", |e| {
        e.write_f64(f64::INFINITY);
        e.write_f32(f32::NEG_INFINITY);
    });
    check_array("api_float32", |e| {
        items("api_float32").iter().for_each(|&n| e.write_f32(n as f32))
    });
    check_array("api_signed_positive", |e| {
        [2048, 32767, 32768, 8_388_607, 8_388_608, 2_147_483_647, 2_147_483_648, i64::MAX]
            .iter()
            .for_each(|&n| e.write_i64(n));
    });
    let unsigned = Doc::check(vector("api_unsigned")).unwrap();
    check_array("api_unsigned", |e| {
        unsigned.root().as_array().unwrap().iter().for_each(|n| e.write_u64(n.as_u64().unwrap()));
    });
    check_array("api_undefined_in_array", |e| {
        e.write_i64(1);
        e.write_undefined();
        e.write_i64(3);
    });
    check_array("api_date", |e| {
        e.write_timestamp_ms(1_400_000_000_123);
        e.write_timestamp_ms(0);
    });
}

#[test]
fn strings_and_data_are_the_same() {
    for name in ["api_data_lengths", "api_data_not_shared"] {
        let doc = Doc::check(vector(name)).unwrap();
        let items = doc.root().as_array().unwrap();
        check_array(name, |e| {
            for item in items {
                match item.as_data() {
                    Some(data) => e.write_data(data),
                    None => e.write_str(item.as_str().unwrap()),
                }
            }
        });
    }
    let doc = Doc::check(vector("api_string_nul")).unwrap();
    match doc.root().as_array() {
        Some(items) => check_array("api_string_nul", |e| {
            items.iter().for_each(|item| e.write_str(item.as_str().unwrap()));
        }),
        None => check("api_string_nul", |e| e.write_str(doc.root().as_str().unwrap())),
    }
    check("api_no_unique", |e| {
        e.set_share_strings(false);
        let text = data("vectors/api_no_unique.json");
        json::encode(&text, e, &json::ParseOptions::new()).unwrap();
    });
}

#[test]
fn a_value_that_is_written_again_is_the_same() {
    check_array("api_write_again", |e| {
        e.begin_dict();
        e.write_key("foo");
        e.write_i64(17);
        e.end_dict();
        let dict = e.last_value().unwrap();
        e.write_again(dict);
        e.write_again(dict);
    });
}

#[test]
fn copies_are_the_same() {
    let text = data("vectors/api_reencode_value.json");
    let doc = Doc::check(json::to_fleece(&text).unwrap()).unwrap();
    check("api_reencode_value", |e| e.write_value(doc.root()));
}

#[test]
fn edits_are_the_same() {
    let mut edit = Edit::new_array();
    edit.push(1.5);
    edit.push(0.1);
    edit.push(0.1_f32);
    edit.push(5);
    edit.push(2048);
    edit.push(-2048);
    edit.push(1_u64 << 63);
    edit.push("hi");
    edit.push(&b"hi"[..]);
    check("api_mutable_scalars", |e| e.write_edit(&edit).unwrap());
}

#[test]
fn wide_arrays_of_every_inline_kind_are_the_same() {
    let text = data("vectors/api_wide_inline_kinds.json");
    check("api_wide_inline_kinds", |e| json::encode(&text, e, &json::ParseOptions::new()).unwrap());
}

#[test]
fn shared_keys_are_the_same() {
    let mut keys = SharedKeys::new();
    for name in ["basic", "second"] {
        keys = check_shared(name, keys);
    }
    check_shared("full", SharedKeys::new());
    check_shared("records", SharedKeys::new());
}

/// In the order of writing, which decides the numbers of the keys.
const BASIC: &str = r#"{"name": "x", "has space": 1, "waytoolongforasharedkey": 2, "age": 3, "sixteen-chars-ok": 4,
    "seventeen-chars-x": 5, "": 6, "under_score": 7, "dot.ted": 8, "unié": 9, "A": 10}"#;

fn check_shared(name: &str, keys: SharedKeys) -> SharedKeys {
    let name = format!("api_sharedkeys_{name}");
    let text = match name.as_str() {
        "api_sharedkeys_basic" => BASIC.into(),
        _ => data(&format!("vectors/{name}.json")),
    };
    let mut encoder = Encoder::new();
    encoder.set_shared_keys(keys);
    json::encode(&text, &mut encoder, &json::ParseOptions::new()).unwrap();
    let keys = encoder.take_shared_keys().unwrap();
    assert!(encoder.finish().unwrap() == vector(&name), "{name}");
    assert!(keys.to_state().unwrap() == vector(&format!("{name}.state")), "{name}");
    keys
}

#[test]
fn wrong_calls_are_errors() {
    let fails = |write: fn(&mut Encoder)| {
        let mut encoder = Encoder::new();
        write(&mut encoder);
        assert_eq!(encoder.finish().unwrap_err().kind(), fleece_codec::ErrorKind::State);
        // The encoder is as new.
        encoder.write_null();
        assert_eq!(encoder.finish().unwrap(), fleece!(null));
    };
    fails(|_| {});
    fails(Encoder::begin_array);
    fails(Encoder::end_dict);
    fails(|e| {
        e.write_null();
        e.write_null();
    });
    fails(|e| e.write_key("a"));
    fails(|e| {
        e.begin_dict();
        e.write_null();
        e.end_dict();
    });
    fails(|e| {
        e.begin_dict();
        e.write_key("a");
        e.write_key("b");
        e.write_null();
        e.end_dict();
    });
    fails(|e| {
        e.begin_dict();
        e.begin_array();
        e.end_array();
        e.end_dict();
    });
    fails(|e| {
        e.begin_array();
        e.end_dict();
    });
}
