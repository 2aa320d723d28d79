//! Ctrl-C and SIGTERM: the finished samples are stored and printed; no child and no temporary file
//! remains.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{World, cell, files_below, long_run};

/// The arguments of a run that takes longer than any test.
fn endless(worker: &str) -> Vec<&str> {
    [long_run("64KiB", "1000000", worker), vec!["--json"]].concat()
}

fn stopped_by(signal: Signal, code: i32) {
    let world = World::new();
    let (worker, fifo) = world.reporting_worker(65_536);
    let args = endless(&worker);
    let child = world.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The worker opens its end when it starts; after that, every sample is a line.
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    let line = samples.nth(20).unwrap().unwrap();
    let twice = world.run(&["run", "--resume", "1"]);
    assert_eq!(twice.code, 2, "{}", twice.stdout);
    assert!(twice.stderr.contains("is being measured by process"), "{}", twice.stderr);
    kill_process(Pid::from_child(&child), signal).unwrap();
    // Its end of the FIFO is closed when the worker has ended: no child remains.
    assert!(samples.count() < 1_000_000);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains("bytelab run --resume 1"), "{stderr}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["complete"], false);
    assert!(cell(&json, "read")["metrics"]["wall_ns"]["n"].as_u64().unwrap() >= 10, "{json}");
    let pid = line.split(' ').next().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    assert!(stat.is_err(), "{stat:?}");
    let temporary: Vec<_> = files_below(world.dir.path())
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("tmp"))
        .filter(|path| path.file_name().unwrap().to_string_lossy().contains("tmp"))
        .collect();
    assert!(temporary.is_empty(), "{temporary:?}");
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    stopped_by(Signal::INT, 130);
}

#[test]
fn sigterm_keeps_what_was_measured() {
    stopped_by(Signal::TERM, 143);
}

#[test]
fn a_hangup_that_nohup_ignores_stays_ignored() {
    let world = World::new();
    let (worker, fifo) = world.reporting_worker(65_536);
    let args = endless(&worker);
    let mut command = world.command_by("nohup", &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    samples.nth(5).unwrap().unwrap();
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::HUP).unwrap();
    let after = samples.by_ref().take(50).count();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(samples.count() < 1_000_000);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((after, output.status.code()), (50, Some(143)), "{stderr}");
}
