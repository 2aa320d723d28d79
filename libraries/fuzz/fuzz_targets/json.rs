//! Any text as JSON: the same is accepted as by `serde_json`, with the same meaning.

#![no_main]

use fleece_codec::json::{self, ParseOptions, PrintOptions};
use fleece_codec::{Doc, Encoder, ErrorKind, Value};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::Value as Json;

fuzz_target!(|text: &[u8]| {
    let mut encoder = Encoder::new();
    let ours = json::encode(text, &mut encoder, &ParseOptions::new().depth_limit(400));
    if ours.as_ref().is_err_and(|error| error.kind() == ErrorKind::TooDeep) {
        return;
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let theirs = Json::deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    let theirs = match (ours, theirs) {
        (Ok(()), Ok(theirs)) => theirs,
        (Err(error), Err(_)) => {
            let (line, column) = error.line_column().expect("an error in text has a place");
            assert!(line > 0 && column > 0 && error.offset() <= Some(text.len()));
            return;
        }
        (ours, theirs) => panic!("{ours:?} but {theirs:?}"),
    };
    let doc = Doc::check(encoder.finish().expect("the text was one value")).expect("it is sound");
    assert!(is_equal(doc.root(), &theirs), "{:?} is not {theirs:?}", doc.root());
    let pretty = PrintOptions::new().pretty(1).print(doc.root()).expect("it has no NaN");
    let again = json::to_fleece(pretty.as_bytes()).expect("what is printed is JSON");
    // The bytes may differ: keys were written in another order.
    let again = Doc::check(again).expect("it is sound");
    assert!(again.root() == doc.root());
    assert_eq!(PrintOptions::new().pretty(1).print(again.root()).expect("it has no NaN"), pretty);
});

fn is_equal(ours: Value<'_>, theirs: &Json) -> bool {
    match theirs {
        Json::Null => ours.is_null(),
        Json::Bool(value) => ours.as_bool() == Some(*value),
        // -0 is an integer to us and a float to them.
        Json::Number(n) if n.is_f64() => ours.as_f64() == n.as_f64(),
        Json::Number(n) if n.is_u64() => ours.as_u64() == n.as_u64(),
        Json::Number(n) => ours.as_i64() == n.as_i64(),
        Json::String(value) => ours.as_str() == Some(value),
        Json::Array(items) => ours.as_array().is_some_and(|array| {
            array.len() == items.len() && array.iter().zip(items).all(|(a, b)| is_equal(a, b))
        }),
        Json::Object(pairs) => ours.as_dict().is_some_and(|dict| {
            let is_same = |(key, b): (&String, _)| dict.get(key).is_some_and(|a| is_equal(a, b));
            dict.len() == pairs.len() && pairs.iter().all(is_same)
        }),
    }
}
