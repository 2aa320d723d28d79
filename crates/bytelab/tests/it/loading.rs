//! The experiment `loading`, and the files of a run on a slow medium.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::languages::have;
use crate::program::{Ran, World, cell, long_run};

const SMALL: &[&str] = &["run", "loading", "--json", "--rounds", "2", "--counting", "0"];

/// Each method that was not skipped gave the answer of all others.
fn check(json: &Value, may_be_skipped: &[&str]) {
    let cells = json["cells"].as_array().unwrap();
    for cell in cells {
        let name = cell["method"].as_str().unwrap();
        let status = cell["status"].as_str().unwrap();
        let is_refused = status == "skipped" && may_be_skipped.iter().any(|may| name.contains(may));
        assert!(status == "measured" || is_refused, "{cell}");
        assert_eq!(cell["wrong_answer"], false, "{cell}");
    }
}

#[test]
fn every_way_loads_the_same() {
    let world = World::new();
    for job in ["whole", "parts", "random"] {
        let args = ["--size", "300001", "--job", job, "--records", "20", "--language", "rust"];
        let ran = world.run(&[SMALL, &args].concat());
        check(&ran.json(), &["direct", "io-uring", "nowait", "populate", "huge"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

#[test]
fn the_parts_of_a_model_are_its_tensors() {
    let world = World::new();
    let header = r#"{"a":{"dtype":"U8","shape":[70],"data_offsets":[0,70]},"b":{"dtype":"U8","shape":[30],"data_offsets":[70,100]}}"#;
    let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[3; 100]].concat();
    let file = world.write("model.safetensors", file);
    let args = ["--job", "parts", "--file", &file, "-m", "read,mmap,python-*"];
    let ran = world.run(&[SMALL, &args].concat());
    let json = ran.json();
    let may_be_skipped: &[&str] =
        if have("python", &["python3"]) { &["fromfile", "safetensors"] } else { &["python"] };
    check(&json, may_be_skipped);
    let broken = world.write("broken.gguf", b"GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff");
    world.refused(&["run", "loading", "--job", "parts", "--file", &broken], "allowed are 1048576");
}

/// Prints the reason and returns `None` where nothing can be mounted.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
fn mounted(ran: Ran) -> Option<Ran> {
    if ran.stderr.contains("it needs root or fusermount3") {
        println!("skipped: {}", ran.stderr);
        return None;
    }
    Some(ran)
}

/// The lines of the mounts in the temporary home.
fn mounts(world: &World) -> Vec<String> {
    let all = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let home = world.dir.path().to_str().unwrap();
    all.lines().filter(|line| line.contains(home)).map(str::to_owned).collect()
}

#[test]
fn a_slow_medium_takes_at_least_its_latency() {
    let world = World::new();
    let medium = "--medium slow:20ms,100MB/s --cache cold --size 128KiB -m read,mmap-random";
    let medium: Vec<&str> = medium.split(' ').collect();
    let Some(ran) = mounted(world.run(&[SMALL, &medium].concat())) else { return };
    let json = ran.json();
    check(&json, &[]);
    assert_eq!(json["plan"]["medium"], "slow:20ms,100MB/s");
    let wall_ns = |method: &str| cell(&json, method)["metrics"]["wall_ns"]["p50"].as_f64().unwrap();
    // One request for each page.
    assert!(wall_ns("mmap-random") >= 32.0 * 20e6, "{}", wall_ns("mmap-random"));
    assert!(wall_ns("read") >= 20e6, "{}", wall_ns("read"));
    assert_eq!(mounts(&world), Vec::<String>::new());
    // The file is that of the data folder, wherever it was read.
    assert!(!json["points"].to_string().contains("medium"), "{}", json["points"]);
}

#[test]
fn what_a_killed_run_has_mounted_is_unmounted_by_the_next() {
    let world = World::new();
    let on_medium = ["--medium", "slow:1ms,100MB/s"];
    let next =
        [&["run", "reading", "--size", "4KiB", "--rounds", "1", "-m", "read"], &on_medium[..]];
    if mounted(world.run(&next.concat())).is_none() {
        return;
    }
    let (worker, fifo) = world.reporting_worker(4096);
    let args = [&long_run("4KiB", "1000000", &worker)[..], &on_medium].concat();
    let mut child =
        world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    samples.next().unwrap().unwrap();
    assert_eq!(mounts(&world).len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    mounted(world.run(&next.concat())).unwrap();
    assert_eq!(mounts(&world), Vec::<String>::new());
}

#[test]
fn what_is_no_medium_is_refused() {
    let world = World::new();
    world.refused(&["run", "loading", "--medium", "slow:fast"], "write slow:LATENCY,BANDWIDTH");
    world.refused(&["run", "threads", "--medium", "slow:1ms,1MB/s"], "reads no file");
}
