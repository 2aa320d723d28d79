//! The speed of the codec beside `serde_json` and `sonic-rs`: CPU time, all jobs once a round,
//! medians of the rounds.
//!
//! `cargo run --release --example bench [ROUNDS [PEOPLE [ONLY]]]`, where ONLY is part of the names
//! of the jobs to run, for profiling.

#![expect(clippy::print_stdout, reason = "its table is what it is for")]

use cpu_time::ThreadTime;
use fleece_codec::{Array, Dict, Doc, Key, Kind, Value, json};
use std::hint::black_box;

/// A job: its name, and the number of repeats in one sample.
struct Job<'a> {
    name: &'static str,
    repeats: u32,
    run: Box<dyn FnMut() -> u64 + 'a>,
    samples_ns: Vec<f64>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |default| arguments.next().and_then(|argument| argument.parse().ok()).unwrap_or(default);
    let (rounds, people) = (number(100), number(1000));
    let only = arguments.next().unwrap_or_default();
    let minified = bytelab_documents::minified("people", people as u64);
    let pretty = bytelab_documents::pretty(&minified);
    let tree: serde_json::Value = serde_json::from_str(&pretty).expect("the generator makes JSON");
    let fleece = json::to_fleece(pretty.as_bytes()).expect("it is JSON");
    println!("pretty {} B, minified {} B, fleece {} B", pretty.len(), minified.len(), fleece.len());

    let mut jobs = jobs(&pretty, &minified, &fleece, &tree);
    jobs.retain(|job| job.name.contains(&only));
    for round in 0..=rounds {
        for step in 0..jobs.len() {
            // The order differs in each round, so that not always the same job follows one that
            // empties the caches.
            let at = (step + round) % jobs.len();
            let job = &mut jobs[at];
            let start = ThreadTime::now();
            for _ in 0..job.repeats {
                black_box((job.run)());
            }
            let ns = start.elapsed().as_nanos() as f64 / f64::from(job.repeats);
            // The first round warms up.
            if round > 0 {
                job.samples_ns.push(ns);
            }
        }
    }
    report(&jobs, &only);
}

fn jobs<'a>(
    pretty: &'a str,
    minified: &'a str,
    fleece: &'a [u8],
    tree: &'a serde_json::Value,
) -> Vec<Job<'a>> {
    let doc = Doc::open(fleece).expect("it was just made");
    let doc: &'a Doc<&'a [u8]> = Box::leak(Box::new(doc));
    let (key, index) = (Key::new("name"), tree.as_array().map_or(0, Vec::len) / 8);
    assert_eq!(visit(doc.root()), visit_tree(tree), "both visit the same");
    let name_len = |name: Option<&str>| name.map_or(0, |name| name.len() as u64);
    let dom = |text: &str| u64::from(sonic_rs::from_str::<sonic_rs::Value>(text).is_ok());
    let ours = |text: &str| json::to_fleece(text.as_bytes()).map_or(0, |bytes| bytes.len() as u64);
    let sonic_tree: sonic_rs::Value = sonic_rs::from_str(pretty).expect("it is JSON");
    vec![
        job("sonic-rs parse, pretty", 1, move || dom(pretty)),
        job("sonic-rs parse, minified", 1, move || dom(minified)),
        job("serde_json parse, pretty", 1, move || {
            u64::from(serde_json::from_str::<serde_json::Value>(pretty).is_ok())
        }),
        job("convert, pretty", 1, move || ours(pretty)),
        job("convert, minified", 1, move || ours(minified)),
        job("check", 1, move || u64::from(Doc::check(black_box(fleece)).is_ok())),
        job("open trusted", 10_000, move || Doc::open(black_box(fleece)).map_or(0, |_| 1)),
        job("serde_json lookup", 10_000, move || name_len(black_box(tree)[index]["name"].as_str())),
        job("lookup", 10_000, move || {
            let person = black_box(doc).root().at(index);
            name_len(person.and_then(|person| person.get("name")?.as_str()))
        }),
        job("lookup, Key", 10_000, move || {
            let person = black_box(doc).root().at(index).and_then(Value::as_dict);
            name_len(person.and_then(|person| person.get_key(&key)?.as_str()))
        }),
        job("serde_json traverse", 1, move || visit_tree(black_box(tree))),
        job("traverse", 1, move || visit(black_box(doc).root())),
        job("serde_json to JSON", 1, move || {
            serde_json::to_string(black_box(tree)).map_or(0, |text| text.len() as u64)
        }),
        job("sonic-rs to JSON", 1, move || {
            sonic_rs::to_string(black_box(&sonic_tree)).map_or(0, |text| text.len() as u64)
        }),
        job("to JSON", 1, move || {
            json::to_string(black_box(doc).root()).map_or(0, |text| text.len() as u64)
        }),
    ]
}

fn job<'a>(name: &'static str, repeats: u32, run: impl FnMut() -> u64 + 'a) -> Job<'a> {
    Job { name, repeats, run: Box::new(run), samples_ns: Vec::new() }
}

/// The sum over all values: lengths of strings and keys, numbers cut to integers, booleans.
fn visit(value: Value<'_>) -> u64 {
    match value.kind() {
        Kind::String => value.as_str().map_or(0, |text| text.len() as u64),
        Kind::Number => value.as_f64().unwrap_or(0.0) as i64 as u64,
        Kind::Bool => u64::from(value.to_bool()),
        Kind::Array => value.as_array().map_or(0, visit_array),
        Kind::Dict => value.as_dict().map_or(0, visit_dict),
        _ => 0,
    }
}

fn visit_array(array: Array<'_>) -> u64 {
    array.iter().fold(0, |sum, item| sum.wrapping_add(visit(item)))
}

fn visit_dict(dict: Dict<'_>) -> u64 {
    dict.iter().fold(0, |sum, (key, value)| {
        let key = key.as_str().map_or(0, |key| key.len() as u64);
        sum.wrapping_add(key).wrapping_add(visit(value))
    })
}

fn visit_tree(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::String(text) => text.len() as u64,
        serde_json::Value::Number(number) => number.as_f64().unwrap_or(0.0) as i64 as u64,
        serde_json::Value::Bool(value) => u64::from(*value),
        serde_json::Value::Array(items) => {
            items.iter().fold(0, |sum, item| sum.wrapping_add(visit_tree(item)))
        }
        serde_json::Value::Object(pairs) => pairs.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(key.len() as u64).wrapping_add(visit_tree(value))
        }),
        serde_json::Value::Null => 0,
    }
}

fn report(jobs: &[Job<'_>], only: &str) {
    for job in jobs {
        println!("{:26} {:>14.1} ns", job.name, median(job.samples_ns.clone()));
    }
    if !only.is_empty() {
        return;
    }
    println!();
    let ratio = |name: &str, reference: &str, goal: &str| {
        let samples = |name: &str| {
            let job = jobs.iter().find(|job| job.name == name).expect("the job exists");
            &job.samples_ns
        };
        let pairs = samples(name).iter().zip(samples(reference));
        let ratio = median(pairs.map(|(a, b)| a / b).collect());
        println!("{name:18} {ratio:>6.3} x {reference:26} goal {goal}");
    };
    ratio("convert, pretty", "sonic-rs parse, pretty", "2");
    ratio("convert, minified", "sonic-rs parse, minified", "");
    ratio("check", "sonic-rs parse, pretty", "0.4");
    ratio("lookup", "serde_json lookup", "1.0");
    ratio("lookup, Key", "serde_json lookup", "0.6");
    ratio("traverse", "serde_json traverse", "0.6");
    ratio("to JSON", "serde_json to JSON", "0.7");
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
