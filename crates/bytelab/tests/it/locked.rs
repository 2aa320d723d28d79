//! A store that another program keeps locked while a run is measured: the run continues, and loses
//! nothing.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rusqlite::Connection;

use crate::program::{World, cell};

#[test]
fn a_lock_on_the_store_does_not_end_a_run_and_loses_no_sample() {
    const ROUNDS: usize = 40;
    let world = World::new();
    let (worker, fifo) = world.reporting_worker(65_536);
    let store = world.path("runs.sqlite");
    let rounds = ROUNDS.to_string();
    let args = [
        "--store",
        store.to_str().unwrap(),
        "run",
        "reading",
        "--size",
        "64KiB",
        "--method",
        "read",
        "--rounds",
        &rounds,
        "--sessions",
        "1",
        "--counting",
        "0",
        // Every sample counts, even if the kernel evicts a page of the file.
        "--cache",
        "as-is",
        "--time",
        "1h",
        "--json",
        "--worker",
        &worker,
    ];
    let child = world.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    samples.nth(10).unwrap().unwrap();
    let other = Connection::open(&store).unwrap();
    other.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The worker ends when all samples are taken; the store is still locked.
    let locked = samples.count();
    other.execute_batch("ROLLBACK").unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    // The worker reports no answer, which counts as a wrong one.
    assert_eq!(output.status.code(), Some(1), "{stderr}{stdout}");
    assert!(!stdout.contains("store locked"), "{stdout}");
    assert!(locked > ROUNDS / 2, "{locked}");
    let shown = world.run(&["--store", store.to_str().unwrap(), "show", "1", "--json"]);
    let json = shown.json();
    assert_eq!(json["complete"], true);
    for method in ["read", "reporting"] {
        assert_eq!(cell(&json, method)["metrics"]["wall_ns"]["n"], ROUNDS, "{json}");
    }
}
