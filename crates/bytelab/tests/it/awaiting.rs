//! The experiment `awaiting` as a user runs it.

use std::collections::BTreeSet;

use crate::languages::{assert_answers_agree, cells, have, measure};
use crate::program::{Ran, World};

#[test]
fn all_combinations_of_the_factors_read_the_same_bytes_and_have_effects() {
    if !have("rust", &["cargo"]) {
        return;
    }
    let world = World::new();
    let fixed = ["awaiting", "--size", "4097", "--buffer", "1000"];
    let (ran, json) =
        measure(&world, &[&fixed[..], &["--rounds", "6", "--sessions", "6"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(cells(&json).count(), 32);
    assert!(cells(&json).all(|cell| cell["status"] == "measured"), "{json}");
    assert_answers_agree(&json);
    for what in ["answer", "digest"] {
        let given: BTreeSet<&str> = cells(&json).filter_map(|cell| cell[what].as_str()).collect();
        assert_eq!(given.len(), 1, "{what}: {given:?}");
    }
    let found = json["factorial"].as_array().map(Vec::as_slice);
    let Some([found]) = found else { panic!("{}: {}", json["notes"], json["comparisons"]) };
    // Beside other load, methods may have only waited, and the reason stands in place of effects.
    let is_quiet = found["missing"].as_array().unwrap().is_empty();
    let is_whole = is_quiet && found["sessions"].as_u64().unwrap() >= 5;
    let n = if is_whole { 15 } else { 0 };
    assert_eq!(found["effects"].as_array().unwrap().len(), n, "{found}");
    for fact in ["worker_rust_awaiting_command", "worker_rust_awaiting_O0_command"] {
        assert!(json["environment"][fact].as_str().unwrap().contains("--profile O"), "{fact}");
    }
    let shown = world.run(&["show", "1"]).stdout;
    assert!(shown.contains("\neffects: ") && shown.contains("\ndyn × O0 ") == is_whole, "{shown}");
}

#[test]
fn without_the_language_of_all_methods_it_is_said_what_to_install() {
    let world = World::new();
    let mut command = world.command(&["run", "awaiting", "--dry-run"]);
    let ran = Ran::new(command.env("PATH", "/no/such/folder").output().unwrap());
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    let why = "left out, as not installed here: rust; `bytelab list awaiting` says what to install";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

#[test]
fn a_file_of_the_users_own_is_read_by_some_of_the_methods() {
    if !have("rust", &["cargo"]) {
        return;
    }
    let (world, own) = (World::new(), World::new());
    let file = own.write("own", "hello");
    let words = ["awaiting", "--file", &file, "-m", "await,dyn-handed"];
    let (_, json) = measure(&world, &words);
    assert!(cells(&json).all(|cell| cell["status"] == "measured"), "{json}");
    let sum: u32 = b"hello".iter().map(|byte| u32::from(*byte)).sum();
    assert!(cells(&json).all(|cell| cell["answer"] == format!("{sum:016x}")), "{json}");
    assert!(json.get("factorial").is_none(), "two of the methods are no full design: {json}");
}
