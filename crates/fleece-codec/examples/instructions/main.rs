//! Instructions of the codec's jobs, which are the same on a busy machine:
//! `examples/instructions/run` counts them with valgrind.
//!
//! `cargo run --release --example instructions JOB REPEATS` does one job so often; without
//! arguments it lists the jobs, and with `text` it writes the JSON text.

#![expect(clippy::print_stdout, reason = "the list of jobs is what it is for")]

// The data of the experiment, so that there is one generator.
#[path = "../../../bytelab/src/experiments/decoding/people.rs"]
mod people;
#[path = "../../../bytelab/src/experiments/decoding/random.rs"]
mod random;
#[path = "../../../bytelab/src/experiments/decoding/shapes.rs"]
#[expect(dead_code, reason = "the experiment lists the shapes")]
mod shapes;
mod typed;

use fleece_codec::{Doc, Edit, Encoder, Key, Kind, SharedKeys, Value, from_slice, json};
use std::hint::black_box;
use std::sync::Arc;
use typed::{Borrowed, Owned};

const JOBS: [&str; 17] = [
    "convert",
    "convert, shared keys",
    "check",
    "traverse as &str, checked",
    "traverse as &str, opened",
    "lookup",
    "lookup, Key",
    "lookup, Key of 18 letters",
    "lookup, shared keys",
    "lookup, Key, shared keys",
    "amend one field",
    "to JSON",
    "from_slice, owned",
    "from_slice, borrowed",
    "serde_json, owned",
    "rmp-serde, owned",
    "rmp-serde, borrowed",
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let text = shapes::minified("people", 1000);
    let (name, repeats) = match (arguments.next(), arguments.next()) {
        (Some(name), Some(repeats)) => (name, repeats),
        (Some(_), None) => return print!("{text}"),
        _ => return println!("{}", JOBS.join("\n")),
    };
    let repeats: u32 = repeats.parse().expect("the number of repeats");
    let bytes = json::to_fleece(text.as_bytes()).expect("the generator makes JSON");
    let (shared, keys) = with_shared_keys(&text);
    let plain = Doc::check(&bytes[..]).expect("it was just made");
    let opened = Doc::open(&bytes[..]).expect("it was just made");
    let shared = Doc::check(&shared[..]).expect("it was just made").with_shared_keys(keys);
    let people: Vec<Owned> = from_slice(&bytes).expect("the people have this type");
    let packed = rmp_serde::to_vec_named(&people).expect("it can be packed");
    let long = long_names();
    let long = Doc::check(&long[..]).expect("it was just made");
    let base: Arc<[u8]> = bytes.clone().into();
    let (short_key, long_key) = (Key::new("name"), Key::new("registration_dates"));
    for _ in 0..repeats {
        let done = match &*name {
            "convert" => json::to_fleece(black_box(text.as_bytes())).map_or(0, |bytes| bytes.len()),
            "convert, shared keys" => with_shared_keys(black_box(&text)).0.len(),
            "check" => usize::from(Doc::check(black_box(&bytes[..])).is_ok()),
            "traverse as &str, checked" => visit(black_box(&plain).root()),
            "traverse as &str, opened" => visit(black_box(&opened).root()),
            "lookup" => names(&plain, |person| person.get("name")),
            "lookup, Key" => names(&plain, |person| person.as_dict()?.get_key(&short_key)),
            "lookup, Key of 18 letters" => {
                names(&long, |person| person.as_dict()?.get_key(&long_key))
            }
            "lookup, shared keys" => names(&shared, |person| person.get("name")),
            "lookup, Key, shared keys" => {
                names(&shared, |person| person.as_dict()?.get_key(&short_key))
            }
            "amend one field" => amend(black_box(&base), &plain),
            "to JSON" => json::to_string(black_box(&plain).root()).map_or(0, |text| text.len()),
            "from_slice, owned" => {
                from_slice::<Vec<Owned>>(black_box(&bytes)).map_or(0, |v| v.len())
            }
            "from_slice, borrowed" => {
                from_slice::<Vec<Borrowed<'_>>>(black_box(&bytes)).map_or(0, |v| v.len())
            }
            "serde_json, owned" => {
                serde_json::from_str::<Vec<Owned>>(black_box(&text)).map_or(0, |v| v.len())
            }
            "rmp-serde, owned" => {
                rmp_serde::from_slice::<Vec<Owned>>(black_box(&packed)).map_or(0, |v| v.len())
            }
            "rmp-serde, borrowed" => rmp_serde::from_slice::<Vec<Borrowed<'_>>>(black_box(&packed))
                .map_or(0, |v| v.len()),
            _ => panic!("no such job: {name}"),
        };
        assert_ne!(black_box(done), 0);
    }
}

fn with_shared_keys(text: &str) -> (Vec<u8>, Arc<SharedKeys>) {
    let mut encoder = Encoder::new();
    encoder.set_shared_keys(SharedKeys::new());
    json::encode(text.as_bytes(), &mut encoder, &json::ParseOptions::new()).expect("it is JSON");
    let bytes = encoder.finish().expect("it is one value");
    (bytes, Arc::new(encoder.take_shared_keys().expect("it was given")))
}

/// A thousand dicts with keys that are too long for the header.
fn long_names() -> Vec<u8> {
    let mut encoder = Encoder::new();
    encoder.begin_array();
    for i in 0..1000 {
        encoder.begin_dict();
        for name in ["registration_place", "registration_dates", "registration_names", "name"] {
            encoder.write_key(name);
            encoder.write_str(&format!("{name} {i}"));
        }
        encoder.end_dict();
    }
    encoder.end_array();
    encoder.finish().expect("it is one value")
}

/// The lengths of one text of each person.
fn names<'d>(doc: &'d Doc<&[u8]>, name: impl Fn(Value<'d>) -> Option<Value<'d>>) -> usize {
    let people = black_box(doc).root().as_array().into_iter().flatten();
    people.filter_map(|person| Some(name(person)?.as_str()?.len())).sum()
}

fn amend(base: &Arc<[u8]>, doc: &Doc<&[u8]>) -> usize {
    let people = doc.root().as_array().expect("an array of people");
    let mut edit = Edit::from_dict(people.get(500).and_then(Value::as_dict).expect("a person"));
    edit.set("name", "Ada");
    let mut encoder = Encoder::amend_append(base.clone()).expect("it is a document");
    encoder.write_edit(&edit).expect("it can be written");
    encoder.finish().expect("it is one value").len()
}

/// The lengths of all texts and keys, and the number of all other values.
fn visit(value: Value<'_>) -> usize {
    match value.kind() {
        Kind::String => value.as_str().map_or(0, str::len),
        Kind::Array => value.as_array().into_iter().flatten().map(visit).sum(),
        Kind::Dict => {
            let pairs = value.as_dict().into_iter().flatten();
            pairs.map(|(key, value)| key.as_str().map_or(0, str::len) + visit(value)).sum()
        }
        _ => 1,
    }
}
