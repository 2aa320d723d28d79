//! The codec's jobs, one in each process: `examples/instructions/run` counts their instructions
//! with valgrind, which do not depend on the load of the machine, and `examples/instructions/times`
//! compares their CPU time with that of the original.
//!
//! `cargo run --release --example instructions JOB REPEATS [SHAPE]` repeats one job, with a
//! document of this shape (people), and prints the CPU time of each, in ns; without arguments it
//! lists the jobs, and `text SHAPE` writes the JSON text.

#![expect(clippy::print_stdout, reason = "its lists and times are what it is for")]

mod typed;

use cpu_time::ThreadTime;
use fleece_codec::{Doc, Edit, Encoder, Key, Kind, SharedKeys, Value, from_slice, json};
use std::hint::black_box;
use std::sync::Arc;
use typed::{Borrowed, Owned};

/// The jobs of the first line work with any document, the others with people.
const JOBS: [&str; 18] = [
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
    "amend one field, no reuse",
    "to JSON",
    "from_slice, owned",
    "from_slice, borrowed",
    "serde_json, owned",
    "rmp-serde, owned",
    "rmp-serde, borrowed",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, repeats, shape) = match words[..] {
        [] => return println!("{}", JOBS.join("\n")),
        ["text", shape] => return print!("{}", bytelab_documents::minified(shape, 1000)),
        [name, repeats] => (name, repeats, "people"),
        [name, repeats, shape] => (name, repeats, shape),
        _ => panic!("JOB REPEATS [SHAPE]"),
    };
    let repeats: u32 = repeats.parse().expect("the number of repeats");
    let text = bytelab_documents::minified(shape, 1000);
    let bytes = json::to_fleece(text.as_bytes()).expect("the generator makes JSON");
    let document = Document::new(&text, &bytes);
    let people = (shape == "people").then(|| People::new(&document));
    let start = ThreadTime::now();
    for _ in 0..repeats {
        let done = document.job(name).or_else(|| people.as_ref()?.job(&document, name));
        let done = done.unwrap_or_else(|| panic!("no such job of {shape}: {name}"));
        assert_ne!(black_box(done), 0);
    }
    println!("{}", start.elapsed().as_nanos() / u128::from(repeats.max(1)));
}

struct Document<'a> {
    text: &'a str,
    bytes: &'a [u8],
    checked: Doc<&'a [u8]>,
    opened: Doc<&'a [u8]>,
}

impl<'a> Document<'a> {
    fn new(text: &'a str, bytes: &'a [u8]) -> Self {
        let checked = Doc::check(bytes).expect("it was just made");
        let opened = Doc::open(bytes).expect("it was just made");
        Self { text, bytes, checked, opened }
    }

    /// Runs a job; `None` if no job has this name.
    fn job(&self, name: &str) -> Option<usize> {
        Some(match name {
            "convert" => {
                json::to_fleece(black_box(self.text.as_bytes())).map_or(0, |bytes| bytes.len())
            }
            "convert, shared keys" => with_shared_keys(black_box(self.text)).0.len(),
            "check" => usize::from(Doc::check(black_box(self.bytes)).is_ok()),
            "traverse as &str, checked" => visit(black_box(&self.checked).root()),
            "traverse as &str, opened" => visit(black_box(&self.opened).root()),
            "to JSON" => {
                json::to_string(black_box(&self.checked).root()).map_or(0, |text| text.len())
            }
            _ => return None,
        })
    }
}

/// Data that only the jobs with people need.
struct People {
    shared: Doc<Vec<u8>>,
    long: Doc<Vec<u8>>,
    packed: Vec<u8>,
    base: Arc<[u8]>,
    short_key: Key,
    long_key: Key,
}

impl People {
    fn new(document: &Document<'_>) -> Self {
        let (shared, keys) = with_shared_keys(document.text);
        let people: Vec<Owned> = from_slice(document.bytes).expect("the people have this type");
        Self {
            shared: Doc::check(shared).expect("it was just made").with_shared_keys(keys),
            long: Doc::check(long_names()).expect("it was just made"),
            packed: rmp_serde::to_vec_named(&people).expect("it can be packed"),
            base: document.bytes.into(),
            short_key: Key::new("name"),
            long_key: Key::new("registration_dates"),
        }
    }

    /// Runs a job; `None` if no job has this name.
    fn job(&self, document: &Document<'_>, name: &str) -> Option<usize> {
        let (text, bytes, plain) = (document.text, document.bytes, &document.checked);
        let (short_key, long_key) = (&self.short_key, &self.long_key);
        let (shared, packed) = (&self.shared, &self.packed);
        Some(match name {
            "lookup" => names(plain, |person| person.get("name")),
            "lookup, Key" => names(plain, |person| person.as_dict()?.get_key(short_key)),
            "lookup, Key of 18 letters" => {
                names(&self.long, |person| person.as_dict()?.get_key(long_key))
            }
            "lookup, shared keys" => names(shared, |person| person.get("name")),
            "lookup, Key, shared keys" => {
                names(shared, |person| person.as_dict()?.get_key(short_key))
            }
            "amend one field" => amend(black_box(&self.base), true),
            "amend one field, no reuse" => amend(black_box(&self.base), false),
            "from_slice, owned" => len(from_slice::<Vec<Owned>>(black_box(bytes))),
            "from_slice, borrowed" => len(from_slice::<Vec<Borrowed<'_>>>(black_box(bytes))),
            "serde_json, owned" => len(serde_json::from_str::<Vec<Owned>>(black_box(text))),
            "rmp-serde, owned" => len(rmp_serde::from_slice::<Vec<Owned>>(black_box(packed))),
            "rmp-serde, borrowed" => {
                len(rmp_serde::from_slice::<Vec<Borrowed<'_>>>(black_box(packed)))
            }
            _ => return None,
        })
    }
}

fn len<T, E>(people: Result<Vec<T>, E>) -> usize {
    people.map_or(0, |people| people.len())
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

/// The sum of the lengths of one text of each person.
fn names<'d, B: AsRef<[u8]>>(
    doc: &'d Doc<B>,
    name: impl Fn(Value<'d>) -> Option<Value<'d>>,
) -> usize {
    let people = black_box(doc).root().as_array().into_iter().flatten();
    people.filter_map(|person| Some(name(person)?.as_str()?.len())).sum()
}

/// The size of an amendment, with or without strings of the base.
fn amend(base: &Arc<[u8]>, reuses: bool) -> usize {
    let doc = Doc::open(&base[..]).expect("it is a document");
    let people = doc.root().as_array().expect("an array of people");
    let mut edit = Edit::from_dict(people.get(500).and_then(Value::as_dict).expect("a person"));
    edit.set("name", "Ada");
    let mut encoder = Encoder::amend_append(base.clone()).expect("it is a document");
    encoder.set_reuse_base_strings(reuses);
    encoder.write_edit(&edit).expect("it can be written");
    encoder.finish().expect("it is one value").len()
}

/// The sum of the lengths of all texts and keys and the number of all other values.
fn visit(value: Value<'_>) -> usize {
    let mut sum = 0;
    match value.kind() {
        Kind::String => value.as_str().map_or(0, str::len),
        Kind::Array => {
            for item in value.as_array().expect("it is one") {
                sum += visit(item);
            }
            sum
        }
        Kind::Dict => {
            for (key, value) in value.as_dict().expect("it is one") {
                sum += key.as_str().map_or(0, str::len) + visit(value);
            }
            sum
        }
        _ => 1,
    }
}
