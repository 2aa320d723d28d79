//! The experiment `decoding` as a user runs it; workers are not built here, as that takes minutes
//! and a network.

use serde_json::Value;

use crate::languages::{assert_answers_agree, have, measure};
use crate::program::{World, cell};

/// The methods in other languages, what they need, and whether all of it is in the standard
/// library.
const LANGUAGES: &[(&str, &[&str], bool)] = &[
    ("cpp-simdjson", &["c++"], false),
    ("cpp-yyjson", &["c++"], false),
    ("go-json", &["go"], true),
    ("java-jackson", &["javac", "java", "mvn"], false),
    ("node-json", &["node"], true),
    ("python-json", &["python3"], true),
    ("python-orjson", &["python3", "pip3"], false),
    ("python-msgpack", &["python3", "pip3"], false),
];

fn decoding(world: &World, args: &[&str]) -> (i32, Value) {
    let fixed = ["run", "decoding", "--json", "--rounds", "2", "--counting", "0", "--people", "3"];
    let ran = world.run(&[&fixed, args].concat());
    (ran.code, ran.json())
}

#[test]
fn fleece_and_serde_json_agree_and_tell_their_sizes() {
    let (code, json) = decoding(&World::new(), &["-m", "serde_json,fleece,fleece-key"]);
    assert_eq!(code, 0, "{json}");
    let size = |method: &str| json_size(cell(&json, method));
    assert!(size("fleece") > 0.0 && size("fleece") < size("serde_json"));
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6, "two methods do three jobs; fleece-key does none of them");
}

fn json_size(cell: &Value) -> f64 {
    let size = &cell["metrics"]["size_bytes"];
    assert_eq!(size["unit"], "bytes");
    size["p50"].as_f64().unwrap()
}

#[test]
fn a_json_file_of_the_users_own_is_decoded() {
    let world = World::new();
    let path = world.write("mine.json", r#"{"items": [{"title": "x"}, {"title": "yz"}]}"#);
    let args = ["--file", &path, "--job", "lookup", "-m", "serde_json,fleece*"];
    let (code, json) = decoding(&world, &args);
    assert_eq!((code, json["cells"].as_array().unwrap().len()), (0, 3), "{json}");
    let missing = ["run", "decoding", "--file", "/no/such.json"];
    world.refused(&missing, "/no/such.json; give a file of JSON");
}

#[test]
fn a_worker_that_cannot_be_built_is_skipped_with_the_reason() {
    let world = World::new();
    let mut command = world.command(&["run", "decoding", "-m", "fleece,sonic-rs", "--people", "3"]);
    command.args(["--rounds", "2", "--counting", "0", "--json", "--job", "parse"]);
    let output = command.env("PATH", world.dir.path()).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(cell(&json, "fleece")["status"], "measured");
    assert_eq!(cell(&json, "sonic-rs")["status"], "skipped");
    let reason = cell(&json, "sonic-rs")["reason"].as_str().unwrap();
    assert_eq!(reason, "cargo is not installed; to have it, install Rust (https://rustup.rs)");
}

/// Runs these jobs by `serde_json` and by all methods in other languages whose tools are installed,
/// but for one.
#[expect(clippy::print_stdout, reason = "a test says what it leaves out")]
fn in_every_language(args: &[&str], but: &str) {
    let here = LANGUAGES.iter().filter(|(name, commands, _)| *name != but && have(name, commands));
    let here: Vec<_> = here.collect();
    let names: Vec<&str> = here.iter().map(|(name, ..)| *name).collect();
    let methods = format!("serde_json,{}", names.join(","));
    let fixed = ["decoding", "-m", &methods, "--rounds", "2", "--sessions", "1"];
    let (ran, json) = measure(&World::new(), &[&fixed, args].concat());
    assert_answers_agree(&json);
    let cells = json["cells"].as_array().unwrap();
    let digest = &cell(&json, "serde_json")["digest"];
    for (name, _, is_standard) in here {
        let of_method: Vec<_> = cells.iter().filter(|cell| cell["method"] == **name).collect();
        assert!(!of_method.is_empty(), "{name}");
        for cell in of_method {
            let reason = cell["reason"].as_str().unwrap_or_default();
            if cell["status"] == "measured" {
                assert!(json_size(cell) > 0.0, "{cell}");
                assert_eq!(&cell["digest"], digest, "{name}");
                assert_eq!(cell["language"], name.split('-').next().unwrap());
            } else {
                // A library may be missing, and a package without a network.
                let may =
                    reason.contains(" is not installed") || reason.contains("cannot be built");
                assert!(may && !is_standard, "{cell}: {}", ran.stderr);
                println!("skipped: {name}, as {reason}");
            }
        }
    }
}

#[test]
fn every_language_gives_the_answers_and_the_digest_of_serde_json() {
    let jobs = "convert,lookup,traverse,to-json,bytes-to-name,json-to-all";
    in_every_language(&["--people", "130", "--job", jobs], "");
}

#[test]
fn every_language_agrees_on_odd_texts_and_numbers() {
    let world = World::new();
    let odd = world.path("odd é.json");
    let text = r#"{"a":[-0.0,1e-7,-9007199254740993,18446744073709551615,1e300,-1e300,0.1,-2.9],
        "bé":["ü€😀","\u0001\u00e9\ud83d\ude00\"\\/",""],"":{"null":null,"t":true,"f":false},
        "__proto__":{"x":[[],{}]},
        "name":["no","ja€"]}"#;
    std::fs::write(&odd, text).unwrap();
    let odd = odd.to_str().unwrap();
    in_every_language(&["--file", odd, "--job", "parse,lookup,bytes-to-all"], "");
    // simdjson reads no integers of more than 64 bits.
    let large = ("large", "[1, 123456789012345678901234567890]", "cpp-simdjson");
    for (name, text, but) in [large, ("bool", "[[2.5, true]]", ""), ("null", "[null]", "")] {
        in_every_language(&["--file", &world.write(name, text), "--job", "lookup"], but);
    }
}
