//! `--memory`: a method in a control group of its own, and what is left of that group afterwards.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Ran, World, cell, long_run};

const LIMIT: f64 = (32 << 20) as f64;

/// Runs the command, and returns its process id as well. Prints the reason and returns `None` where
/// this machine allows no control group.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
fn limited(mut command: Command) -> Option<(u32, Ran)> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = child.id();
    let ran = Ran::new(child.wait_with_output().unwrap());
    if ran.stderr.contains("systemd-run") {
        println!("skipped: {}", ran.stderr);
        return None;
    }
    Some((process, ran))
}

/// The control groups that this lab has made and not removed.
fn groups_of(lab: u32) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    let mut found = Vec::new();
    let is_of_lab = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(&format!("bytelab-{lab}-"))
    };
    while let Some(folder) = folders.pop() {
        // A group of another program may be removed meanwhile.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.extend(Some(entry.path()).filter(|path| is_of_lab(path)));
                folders.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn a_method_stays_below_its_limit_and_its_group_is_removed() {
    let world = World::new();
    let args = "run reading --memory 32MiB --size 8MiB --rounds 3 -m read,read-to-vec,mmap --json";
    let args: Vec<&str> = args.split(' ').collect();
    let Some((lab, ran)) = limited(world.command(&args)) else { return };
    let json = ran.json();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(json["plan"]["memory_limit_bytes"].as_f64(), Some(LIMIT));
    // Version 2 cannot reset the peak before Linux 6.12, and the run says so.
    let cannot_reset = ran.stdout.contains("memory.peak cannot be reset");
    for method in ["read", "read-to-vec", "mmap"] {
        let metrics = &cell(&json, method)["metrics"];
        let peak = metrics["group_peak_bytes"]["p50"].as_f64();
        let is_below = peak.is_some_and(|peak| peak > 0.0 && peak <= LIMIT);
        assert!(is_below || cannot_reset, "{method}: {metrics}");
    }
    assert_eq!(groups_of(lab), Vec::<PathBuf>::new());
    let shown = world.run(&["show", "latest"]).stdout;
    assert!(shown.contains(" · in 32MiB of memory"), "{shown}");
}

#[test]
fn a_method_that_needs_more_fails_and_says_so() {
    let world = World::new();
    let command = "head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null";
    let args = ["bench", "--memory", "16MiB", "--runs", "1", command];
    let Some((lab, ran)) = limited(world.command(&args)) else { return };
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stderr.contains("it needs more than --memory 16MiB"), "{}", ran.stderr);
    assert_eq!(groups_of(lab), Vec::<PathBuf>::new());
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next() {
    let world = World::new();
    let next = "run reading --memory 64MiB --size 4KiB --rounds 1 -m read";
    let next: Vec<&str> = next.split(' ').collect();
    if limited(world.command(&next)).is_none() {
        return;
    }
    let (worker, fifo) = world.reporting_worker(4096);
    let mut args = long_run("4KiB", "1000000", &worker);
    args.extend(["--memory", "64MiB"]);
    let mut child =
        world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    samples.next().unwrap().unwrap();
    let mut groups = groups_of(child.id());
    // In version 2 the lab has one, too.
    groups.retain(|group| !group.to_string_lossy().ends_with("-lab"));
    assert_eq!(groups.len(), 2, "one for each method");
    child.kill().unwrap();
    child.wait().unwrap();
    // The keeper of the killed lab may be removing them at the same moment.
    let is_removed = (0..10).any(|_| {
        limited(world.command(&next)).unwrap();
        groups_of(child.id()).is_empty()
    });
    assert!(is_removed, "{:?}", groups_of(child.id()));
}

#[test]
fn without_the_rights_a_line_says_how_to_have_them() {
    let world = World::new();
    let Some(ran) = world.run_as_nobody(&["run", "reading", "--memory", "64MiB"]) else { return };
    let ran = Ran::new(ran);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("--memory: ") && ran.stderr.contains("systemd-run"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_limit_that_holds_no_process_is_refused() {
    let world = World::new();
    world.refused(&["run", "reading", "--memory", "4KiB"], "at least 1MiB");
    world.refused(&["run", "reading", "--memory", "much"], "--memory");
}
