//! Runs in the store: history, show, delete, resume; stores that are damaged, newer or shared.

use crate::program::{World, cell};

#[test]
fn a_run_can_be_listed_shown_and_deleted() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read,mmap", "--label", "mine"]);
    let id = json["id"].as_str().unwrap();
    let history: serde_json::Value =
        serde_json::from_str(&world.run(&["history", "--json"]).stdout).unwrap();
    assert_eq!(history[0]["id"], json["id"]);
    for key in ["experiment", "label", "started", "machine", "complete"] {
        assert!(!history[0][key].is_null(), "{key}: {history}");
    }
    let shown: serde_json::Value =
        serde_json::from_str(&world.run(&["show", id, "--json"]).stdout).unwrap();
    assert_eq!(shown, json, "what is stored shows what was measured");
    assert!(world.run(&["history"]).stdout.contains("mine"));
    assert_eq!(world.run(&["delete", id]).code, 0);
    assert_eq!(world.run(&["show", id]).code, 2);
}

#[test]
fn a_damaged_store_is_told_and_left_as_it_is() {
    let world = World::new();
    let store = world.path("store.sqlite");
    std::fs::write(&store, "this is no store, though it is long enough to be one".repeat(100))
        .unwrap();
    let before = std::fs::read(&store).unwrap();
    let name = store.to_str().unwrap();
    for args in [&["history"][..], &["run", "reading", "--size", "4KiB", "--method", "read"]] {
        let ran = world.run(&[args, &["--store", name]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read(&store).unwrap(), before);
}

#[test]
fn two_programs_write_to_one_store_at_once() {
    let world = World::new();
    let args =
        ["run", "reading", "--size", "16KiB", "--method", "read,mmap", "--rounds", "60", "--json"];
    let mut children: Vec<_> = (0..3)
        .map(|_| world.command(&args).stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let history: serde_json::Value =
        serde_json::from_str(&world.run(&["history", "--json"]).stdout).unwrap();
    let runs = history.as_array().unwrap();
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run["complete"] == true), "{history}");
}

#[test]
fn a_run_that_is_complete_has_nothing_to_resume() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read"]);
    let ran = world.run(&["run", "--resume", json["id"].as_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("is complete"), "{}", ran.stderr);
}

#[test]
fn without_a_store_nothing_is_kept() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read", "--no-store"]);
    assert_eq!(cell(&json, "read")["status"], "measured");
    assert!(!world.path(".local").exists());
}
