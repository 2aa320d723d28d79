//! Any document there and back: through bytes, copies and JSON text.

use fleece_codec::json::{self, PrintOptions};
use fleece_codec::{Doc, Encoder, Value};
use proptest::prelude::*;
use serde_json::Value as Json;

fn any_json() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        (-3000_i64..3000).prop_map(Json::from),
        any::<f64>()
            .prop_filter_map("finite", |n| serde_json::Number::from_f64(n).map(Json::Number)),
        any::<f32>().prop_filter_map("finite", |n| serde_json::Number::from_f64(n.into())
            .map(Json::Number)),
        any::<String>().prop_map(Json::from),
        "[a-c\"\\\\\n]{0,20}".prop_map(Json::from),
    ];
    scalar.prop_recursive(6, 200, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Json::from),
            prop::collection::btree_map("[a-d]{0,3}", inner.clone(), 0..20)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
            prop::collection::btree_map(any::<String>(), inner, 0..20)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

/// The same value, every number to the last bit: `serde_json`'s own parser may be off by one.
fn is_equal(ours: Value<'_>, theirs: &Json) -> bool {
    match theirs {
        Json::Null => ours.is_null(),
        Json::Bool(value) => ours.as_bool() == Some(*value),
        Json::Number(n) if n.is_f64() => {
            ours.as_f64().map(f64::to_bits) == n.as_f64().map(f64::to_bits)
        }
        Json::Number(n) if n.is_u64() => ours.as_u64() == n.as_u64(),
        Json::Number(n) => ours.as_i64() == n.as_i64(),
        Json::String(value) => ours.as_str() == Some(value),
        Json::Array(items) => {
            let array = ours.as_array().unwrap();
            array.len() == items.len() && array.iter().zip(items).all(|(a, b)| is_equal(a, b))
        }
        Json::Object(pairs) => {
            let dict = ours.as_dict().unwrap();
            dict.len() == pairs.len()
                && pairs.iter().all(|(key, b)| dict.get(key).is_some_and(|a| is_equal(a, b)))
        }
    }
}

proptest! {
    #[test]
    fn json_comes_back_as_it_was(value in any_json()) {
        let text = serde_json::to_string(&value).unwrap();
        let doc = Doc::check(json::to_fleece(text.as_bytes()).unwrap()).unwrap();
        let compact = json::to_string(doc.root()).unwrap();
        prop_assert!(is_equal(doc.root(), &value));
        prop_assert!(serde_json::from_str::<Json>(&compact).is_ok());
        prop_assert_eq!(&json::to_fleece(compact.as_bytes()).unwrap(), doc.as_bytes());
        let pretty = PrintOptions::new().pretty(1).print(doc.root()).unwrap();
        prop_assert_eq!(&json::to_fleece(pretty.as_bytes()).unwrap(), doc.as_bytes());
        // White space and order do not matter.
        let theirs = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(&json::to_fleece(theirs.as_bytes()).unwrap(), doc.as_bytes());
    }

    #[test]
    fn a_copy_is_equal(value in any_json()) {
        let text = serde_json::to_string(&value).unwrap();
        let doc = Doc::check(json::to_fleece(text.as_bytes()).unwrap()).unwrap();
        let mut encoder = Encoder::new();
        encoder.write_value(doc.root());
        let copy = Doc::check(encoder.finish().unwrap()).unwrap();
        prop_assert_eq!(doc.root(), copy.root());
    }

    #[test]
    fn damaged_bytes_are_only_ever_wrong(
        value in any_json(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let text = serde_json::to_string(&value).unwrap();
        let mut bytes = json::to_fleece(text.as_bytes()).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let checked = Doc::check(&bytes).is_ok();
        if let Ok(doc) = Doc::open(&bytes) {
            for visit in doc.root().deep_iter().take(10_000) {
                let text = visit.value.as_str_bytes();
                prop_assert!(!checked || text.is_none() || visit.value.as_str().is_some());
            }
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let checked = Doc::check(&bytes).is_ok();
        let opened = Doc::open(&bytes).is_ok();
        prop_assert!(opened || !checked);
    }
}
