//! The experiment `decoding` as a user runs it; workers are not built here, as that takes minutes
//! and a network.

use serde_json::Value;

use crate::program::{World, cell};

fn decoding(world: &World, args: &[&str]) -> (i32, Value) {
    let fixed = ["run", "decoding", "--json", "--rounds", "2", "--counting", "0", "--people", "3"];
    let ran = world.run(&[&fixed, args].concat());
    let json = serde_json::from_str(&ran.stdout);
    (ran.code, json.unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr)))
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
    let path = world.path("mine.json");
    std::fs::write(&path, r#"{"items": [{"title": "x"}, {"title": "yz"}]}"#).unwrap();
    let args = ["--file", path.to_str().unwrap(), "--job", "lookup", "-m", "serde_json,fleece*"];
    let (code, json) = decoding(&world, &args);
    assert_eq!((code, json["cells"].as_array().unwrap().len()), (0, 3), "{json}");
    let missing = world.run(&["run", "decoding", "--file", "/no/such.json"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("/no/such.json; give a file of JSON"), "{}", missing.stderr);
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
