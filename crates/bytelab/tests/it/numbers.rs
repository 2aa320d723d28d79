//! `numbers` on few rows and rounds: the numbers mean nothing here, only that they are there.

use serde_json::Value;

use crate::program::{Ran, World};

const ROWS: &str = "l1-load,read-l2,mutex,system-call,pread,read-file";

fn numbers(world: &World, args: &[&str]) -> Ran {
    world.run(&[&["numbers", "--row", ROWS, "--rounds", "2"], args].concat())
}

#[test]
fn the_rows_are_in_the_json_and_in_the_store() {
    let world = World::new();
    let ran = numbers(&world, &["--json"]);
    // A machine may lack huge pages: skipped is an answer, too.
    assert!(ran.code == 0 || ran.code == 1, "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names.join(","), ROWS);
    let call = rows.iter().find(|row| row["name"] == "system-call").unwrap();
    assert_eq!(call["unit"], "ns");
    for figure in ["p10", "p25", "p50", "p90"] {
        assert!(call[figure].as_f64().unwrap() > 0.0, "{call}");
    }
    assert_eq!(rows[0]["published"]["2012"], 1.0);
    let shown = world.run(&["show", json["id"].as_str().unwrap()]);
    assert!(shown.stdout.contains("a system call (getppid)"), "{}", shown.stdout);
    let history = world.run(&["history", "--json"]);
    assert!(history.stdout.contains("\"numbers\""), "{}", history.stdout);
}

#[test]
fn the_table_fits_80_columns_and_has_no_colour_in_a_pipe() {
    let world = World::new();
    let ran = numbers(&world, &["--no-store"]);
    assert!(ran.stdout.contains("pread 1 KiB, cached"), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains('\u{1b}'));
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    let ran = numbers(&world, &["--no-store", "--markdown", "--columns", "p10,n,method"]);
    assert!(ran.stdout.starts_with("| operation | p10 | n | method |\n"), "{}", ran.stdout);
}

#[test]
fn wrong_use_is_told_in_one_line() {
    let world = World::new();
    for (args, expected) in [
        (["--row", "l9-load"], "--row l9-load: unknown word"),
        (["--columns", "p11"], "there is no such column"),
        (["--rounds", "0"], "0 is not in 1..=1000000"),
    ] {
        let ran = world.run(&[&["numbers"], &args[..]].concat());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}
