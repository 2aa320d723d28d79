//! kill -9 at any moment loses no finished sample, and the incomplete run can be resumed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::program::{World, cell, long_run};

#[test]
fn a_kill_at_any_moment_loses_no_finished_sample() {
    let world = World::new();
    let (worker, fifo) = world.reporting_worker(4096);
    let args = long_run("4KiB", "1000000", &worker);
    for kill in 0..20u32 {
        let mut child =
            world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
        // A different moment each time: after a number of samples, and some iterations of a loop.
        let _ = samples.nth((kill * 7 % 40) as usize).unwrap().unwrap();
        for _ in 0..kill * 997 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let requested =
            samples.last().map_or(u64::from(kill * 7 % 40) + 1, |last| sample(&last.unwrap()));
        let id = (kill + 1).to_string();
        let shown = world.run(&["show", &id, "--json"]);
        let json = shown.json();
        assert_eq!(json["complete"], false);
        let cell = cell(&json, "reporting");
        let count = |samples: &serde_json::Value| samples["wall_ns"].as_array().map_or(0, Vec::len);
        let kept = count(&cell["samples"])
            + count(&cell["warm_up"]["samples"])
            + count(&cell["not_counted"]["samples"]);
        assert!(kept as u64 + 1 >= requested, "kill {kill}: requested {requested}, kept {kept}");
    }
}

/// The sample that a line of the reporting worker refers to.
fn sample(line: &str) -> u64 {
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_killed_run_is_resumed() {
    let world = World::new();
    let (worker, fifo) = world.reporting_worker(4096);
    let mut args = long_run("4KiB", "800", &worker);
    // Every sample counts, even if the kernel evicts a page of the file.
    args.extend(["--cache", "as-is"]);
    let mut child =
        world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    let _ = samples.nth(12).unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = world.run(&["run", "--resume", "1", "--json"]);
    let json = ran.json();
    assert_eq!(json["complete"], true, "{}", ran.stderr);
    let n = cell(&json, "read")["metrics"]["wall_ns"]["n"].as_u64().unwrap();
    assert_eq!(n, 800, "the session that was killed is taken again");
    assert_eq!(cell(&json, "reporting")["status"], "measured", "its command is kept with the run");
    drop(samples);
}
