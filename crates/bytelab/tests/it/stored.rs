//! Runs in the store: history, show, delete, resume; stores that are damaged, newer or shared.

use rusqlite::Connection;

use crate::program::{World, cell};

#[test]
fn a_run_can_be_listed_shown_and_deleted() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read,mmap", "--label", "mine"]);
    let id = json["id"].as_str().unwrap();
    let history = world.run(&["history", "--json"]).json();
    assert_eq!(history[0]["id"], json["id"]);
    for key in ["experiment", "label", "started", "machine", "complete"] {
        assert!(!history[0][key].is_null(), "{key}: {history}");
    }
    assert!(history[0]["took_ns"].as_u64().is_some_and(|took_ns| took_ns > 0), "{history}");
    assert_eq!(history[0]["flags"]["size"], "64Ki", "{history}");
    let shown = world.run(&["show", id, "--json"]).json();
    assert_eq!(shown, json, "what is stored shows what was measured");
    assert!(world.run(&["history"]).stdout.contains("mine"));
    assert_eq!(world.run(&["delete", id]).code, 0);
    assert_eq!(world.run(&["show", id]).code, 2);
}

#[test]
fn the_list_says_what_was_measured() {
    let world = World::new();
    world.reading(&["--method", "read,mmap", "--label", "mine"]);
    let commands = ["bench", "-r", "2", "-n", "echo a", "true a", "true b", "--counting", "0"];
    assert_eq!(world.run(&commands).code, 0);
    assert_eq!(world.run(&["bench", "-r", "2", "true c"]).code, 0);
    let wide = world.command(&["history"]).env("COLUMNS", "200").output().unwrap();
    let wide = String::from_utf8(wide.stdout).unwrap();
    let lines: Vec<&str> = wide.lines().collect();
    assert_eq!(lines.len(), 4, "{wide}");
    for (line, parts) in lines.iter().zip([
        &["id ", " measured ", " took ", " fastest"][..],
        &["1 ", " mine ", " reading rounds=3 size=64Ki: read, mmap "],
        &["2 ", " echo a, true b "],
        &["3 ", " true c ", "s"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{parts:?}: {line}");
    }
    let narrow = world.run(&["history"]).stdout;
    assert!(narrow.lines().all(|line| line.chars().count() < 80), "{narrow}");
    for (text, expected) in [("TRUE B", 1), ("reading", 1), ("min", 1), ("true", 2), ("none", 0)] {
        let found = world.run(&["history", text, "--json"]).json();
        assert_eq!(found.as_array().unwrap().len(), expected, "{text}: {found}");
    }
    let none = world.run(&["history", "--label", "before"]).stdout;
    assert_eq!(none, "no run matches; the labels: mine; `bytelab history` lists all\n");
    let ran = world.run(&["compare", "--label", "before", "--label", "mine"]);
    assert!(ran.stderr.contains("no run of label before; the labels: mine; "), "{}", ran.stderr);
    assert!(world.run(&["history", "--since", "yesterday"]).stdout.contains("true c"));
    let newest = world.run(&["history", "--limit", "1"]).stdout;
    assert!(newest.contains("true c") && !newest.contains("reading"), "{newest}");
}

#[test]
fn a_damaged_store_is_reported_and_left_as_it_is() {
    let world = World::new();
    let store = world.path("store.sqlite");
    std::fs::write(&store, "this is no store, though it is long enough to be one".repeat(100))
        .unwrap();
    let before = std::fs::read(&store).unwrap();
    let name = store.to_str().unwrap();
    for args in [&["history"][..], &["run", "reading", "--size", "4KiB", "--method", "read"]] {
        world.refused(&[args, &["--store", name]].concat(), name);
    }
    assert_eq!(std::fs::read(&store).unwrap(), before);
}

#[test]
fn a_run_whose_plan_is_damaged_is_still_listed() {
    for (column, damaged) in [("plan", "{"), ("points", "[1"), ("environment", "no JSON")] {
        let world = World::new();
        let store = world.path("runs.sqlite");
        let name = store.to_str().unwrap();
        for _ in 0..2 {
            world.reading(&["--method", "read,mmap", "--store", name]);
        }
        let sql = format!("UPDATE run SET {column} = ?1 WHERE id = 1");
        assert_eq!(Connection::open(&store).unwrap().execute(&sql, [damaged]).unwrap(), 1);
        let listed = world.run(&["history", "--json", "--store", name]);
        assert_eq!(listed.code, 0, "{column}: {}", listed.stderr);
        let runs = listed.json();
        assert_eq!(runs.as_array().unwrap().len(), 2, "{column}: {runs}");
        assert_eq!(runs[1]["flags"]["size"], "64Ki", "{column}: {runs}");
        let shown = world.run(&["show", "1", "--store", name]);
        assert_eq!(shown.code, 2, "{column}: {}", shown.stdout);
        let expected = "run 1: its data is damaged (its checksum is wrong)";
        assert!(shown.stderr.contains(expected), "{column}: {}", shown.stderr);
    }
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
    let history = world.run(&["history", "--json"]).json();
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

/// Three runs, of which the second is a baseline.
fn world_of_three() -> World {
    let world = World::new();
    for n in ["1", "2", "3"] {
        let ran = world.run(&[
            "run", "reading", "--method", "read", "--size", "4KiB", "--rounds", "2", "--label", n,
        ]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    assert_eq!(world.run(&["baseline", "set", "main", "2"]).code, 0);
    world
}

fn ids(world: &World) -> Vec<String> {
    let listed = world.run(&["history", "--json"]).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    listed.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn latest_stands_wherever_an_id_may_stand() {
    let world = world_of_three();
    for args in [
        &["show", "latest"][..],
        &["export", "latest", "--format", "csv"],
        &["report", "latest", "-o", "report.html"],
        &["compare", "1", "latest", "--despite-differences"],
        &["compare", "latest", "1,2", "--despite-differences"],
        &["label", "latest", "newest"],
        &["baseline", "set", "other", "latest"],
        &["check", "--baseline", "latest", "--allow", "wall=5%", "--dry-run"],
    ] {
        let ran = world.run_in_home(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    }
    assert!(world.run(&["show", "3"]).stdout.contains("newest"));
    let resumed = world.run(&["run", "--resume", "latest"]);
    assert!(resumed.stderr.contains("run 3"), "{}", resumed.stderr);
    assert_eq!(world.run(&["baseline", "delete", "other"]).code, 0);
    assert_eq!(world.run(&["delete", "latest"]).code, 0);
    assert_eq!(ids(&world), ["1", "2"]);
    let same = world.run(&["compare", "2", "latest"]);
    assert!(same.code == 2 && same.stderr.contains("run 2 is on both sides"), "{}", same.stderr);
    let empty = World::new().run(&["delete", "latest"]);
    assert!(empty.stderr.contains("the store is empty"), "{}", empty.stderr);
}

#[test]
fn a_label_stands_wherever_an_id_may_stand() {
    let world = world_of_three();
    for (id, label) in [("1", "before-zstd"), ("2", "new"), ("3", "new")] {
        assert_eq!(world.run(&["label", id, label]).code, 0);
    }
    for args in [
        &["show", "before-zstd"][..],
        &["export", "before-zstd", "--format", "csv"],
        &["report", "before-zstd", "-o", "report.html"],
        &["compare", "before-zstd", "2", "--despite-differences"],
        &["compare", "2,before-zstd", "3", "--despite-differences"],
        &["baseline", "set", "other", "before-zstd"],
        &["check", "--baseline", "before-zstd", "--allow", "wall=5%", "--dry-run"],
        &["label", "before-zstd", "old"],
    ] {
        let ran = world.run_in_home(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    }
    assert_eq!(world.run(&["show", "old"]).stdout, world.run(&["show", "1"]).stdout);
    // A command that deletes must not guess.
    for args in [&["delete", "new"][..], &["show", "new"], &["compare", "new", "1"]] {
        world.refused(args, "2 runs have the label \"new\": name one by its id: 3, 2");
    }
    assert_eq!(ids(&world), ["1", "2", "3"]);
    world.refused(&["show", "before"], "no run \"before\"");
}

#[test]
fn without_an_id_the_latest_run_is_shown_and_exported() {
    let world = world_of_three();
    for args in [&["show"][..], &["show", "--json"], &["export", "--format", "csv"]] {
        let (command, flags) = args.split_first().unwrap();
        let latest = world.run(&[&[*command, "latest"][..], flags].concat());
        assert_eq!(latest.code, 0, "{args:?}: {}", latest.stderr);
        assert_eq!(world.run(args).stdout, latest.stdout, "{args:?}");
    }
    World::new().refused(&["show"], "the store is empty");
}

#[test]
fn a_label_is_given_changed_and_removed() {
    let world = world_of_three();
    let labels = |world: &World| world.run(&["history"]).stdout;
    assert_eq!(world.run(&["label", "1", "first of all"]).code, 0);
    assert!(labels(&world).contains("first of"), "{}", labels(&world));
    assert_eq!(world.run(&["label", "1", ""]).code, 0);
    assert!(!labels(&world).contains("first of"), "{}", labels(&world));
    assert_eq!(world.run(&["label", "99", "a"]).code, 2);
}

#[test]
fn old_runs_are_deleted_and_baselines_stay() {
    let world = world_of_three();
    let dry = world.run(&["delete", "--keep", "1", "--dry-run"]);
    assert!(dry.stdout.starts_with("would delete run 1: reading (1), "), "{}", dry.stdout);
    assert_eq!(dry.stdout.lines().count(), 1, "{}", dry.stdout);
    assert!(dry.stderr.contains("run 2 stays: it is the baseline \"main\""), "{}", dry.stderr);
    assert_eq!(world.run(&["delete", "--older", "1d"]).code, 0);
    assert_eq!(world.run(&["delete", "--older", "2020-01-01", "--keep", "0"]).code, 0);
    assert_eq!(ids(&world), ["1", "2", "3"]);
    assert_eq!(world.run(&["delete", "--older", "2999-01-01", "--keep", "2"]).code, 0);
    assert_eq!(ids(&world), ["2", "3"]);
    let kept = world.run(&["delete", "--keep", "0"]);
    assert!(kept.stdout.starts_with("deleted run 3: reading (3), "), "{}", kept.stdout);
    assert_eq!(ids(&world), ["2"]);
    for args in [&["delete"][..], &["delete", "2", "--keep", "1"], &["delete", "--older", "soon"]] {
        assert_eq!(world.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn the_cache_is_emptied_and_nothing_else() {
    let world = World::new();
    assert_eq!(world.reading(&["--method", "read"]).0, 0);
    let made = |world: &World| crate::program::files_below(&world.path(".cache/bytelab")).len();
    assert!(made(&world) > 0);
    let dry = world.run(&["delete", "--cache", "--dry-run"]);
    assert!(dry.stdout.starts_with("would delete ") && dry.stdout.contains(".cache/bytelab, "));
    assert!(made(&world) > 0);
    let outside = world.path("outside");
    std::fs::write(&outside, "kept").unwrap();
    std::os::unix::fs::symlink(&outside, world.path(".cache/bytelab/link")).unwrap();
    let ran = world.run(&["delete", "--cache"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(outside.exists() && !world.path(".cache/bytelab").exists());
    assert_eq!(ids(&world).len(), 1);
    assert!(world.run(&["delete", "--cache"]).stdout.starts_with("deleted 0 files"));
}
