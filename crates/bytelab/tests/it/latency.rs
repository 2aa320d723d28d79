//! `threads` and `files` through the real program: every job runs, refusals are values, and no
//! files remain.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::program::{World, cell, on_go};

const LITTLE: [&str; 9] =
    ["--json", "--rounds", "2", "--sessions", "1", "--counting", "0", "--time", "60s"];

fn run(world: &World, args: &[&str]) -> (i32, Value) {
    let ran = world.run(&[&["run"], args, &LITTLE].concat());
    (ran.code, ran.json())
}

fn cells(json: &Value) -> impl Iterator<Item = &Value> {
    json["cells"].as_array().unwrap().iter()
}

/// The run's folders in a directory.
fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_ours = |path: &PathBuf| path.to_string_lossy().contains(".bytelab-files-");
    entries.filter(is_ours).collect()
}

/// A directory next to the program: the directory for temporary files may be in memory.
fn on_the_device() -> tempfile::TempDir {
    let program = Path::new(env!("CARGO_BIN_EXE_bytelab"));
    tempfile::tempdir_in(program.parent().unwrap()).unwrap()
}

const SMALL_FILES: [&str; 6] = ["--size", "0,5000", "--span", "16KiB", "--entries", "5"];

#[test]
fn every_job_of_threads_is_measured_and_only_rivals_are_compared() {
    let (code, json) = run(
        &World::new(),
        &["threads", "--placement", "unpinned", "--busy", "1,3", "--steps", "100", "--set", "0,64"],
    );
    assert_eq!(code, 0);
    assert!(cells(&json).all(|cell| cell["status"] == "measured"));
    let comparisons = json["comparisons"].as_array().unwrap();
    let references = |job: &str| {
        let of_job = comparisons.iter().filter(|c| c["point"]["job"] == job);
        let mut names: Vec<&str> = of_job.map(|c| c["reference"].as_str().unwrap()).collect();
        names.dedup();
        names
    };
    assert_eq!(references("life"), ["std-thread"]);
    #[cfg(target_os = "linux")]
    {
        assert_eq!(references("handover"), ["semaphore"]);
        assert_eq!(references("uncontended"), ["semaphore-alone"]);
        assert_eq!(references("pool"), ["per-cpu"]);
    }
    assert_eq!(references("switch"), ["switch-threads"]);
    assert_eq!(references("process"), ["posix-spawn"]);
    for (method, metrics) in [
        ("pthread", &["create_ns", "start_ns", "end_ns", "join_ns"][..]),
        ("channel", &["handover_ns"]),
        ("per-procedure", &["procedure_ns", "wake_ns", "share_ns"]),
        ("switch-processes", &["switch_ns", "overhead_ns"]),
    ] {
        for metric in metrics {
            assert!(cell(&json, method)["metrics"][metric]["p50"].is_number(), "{method} {metric}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn with_one_cpu_the_placements_on_two_are_skipped_with_the_reason() {
    // A program may use the same CPUs as the thread that starts it.
    let one_cpu = || {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let all = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap());
        sched_setaffinity(None, &one).unwrap();
        let args = ["threads", "--job", "handover", "--method", "futex,spin"];
        run(&World::new(), &[&args[..], &["--placement", "unpinned,same,other,awake"]].concat())
    };
    let (code, json) = std::thread::spawn(one_cpu).join().unwrap();
    assert_eq!(code, 1);
    for cell in cells(&json) {
        if ["unpinned", "same"].contains(&cell["point"]["placement"].as_str().unwrap()) {
            assert_eq!(cell["status"], "measured", "{cell}");
        } else {
            assert_eq!(cell["status"], "skipped");
            assert_eq!(cell["reason"], "needs two CPUs, and this process may use one only");
        }
    }
}

#[test]
fn several_directories_are_measured_in_one_run_and_compared() {
    let (world, one, other) = (World::new(), on_the_device(), on_the_device());
    let dirs = format!("{},{}", one.path().display(), other.path().display());
    let args = [&["files", "--dir", &dirs], &SMALL_FILES[..]].concat();
    let (code, json) = run(&world, &args);
    // The machine that runs the tests may have no device.
    assert!(code == 0 || cells(&json).any(|cell| cell["point"]["job"] == "random-cold"), "{code}");
    assert!(cells(&json).all(|cell| cell["status"] != "failed"));
    let across = json["across"].as_array().unwrap();
    assert!(across.len() >= 15, "{}", across.len());
    for pair in across {
        assert_eq!(pair["param"], "dir");
        assert_eq!(pair["value"], other.path().to_str().unwrap());
        assert_eq!(pair["reference_value"], one.path().to_str().unwrap());
        assert_eq!(pair["method"], pair["reference"]);
    }
    for dir in [&one, &other] {
        assert_eq!(folders(dir.path()), Vec::<PathBuf>::new(), "nothing is left");
    }
    let text = world.run(&["show", json["id"].as_str().unwrap()]).stdout;
    assert!(text.contains("The same method, by dir, against "), "{text}");
}

#[test]
fn the_default_directory_is_that_of_the_data() {
    let world = World::new();
    let (code, json) = run(&world, &["files", "--job", "stat,unlink", "--size", "10"]);
    assert_eq!(code, 0);
    assert!(cells(&json).all(|cell| cell["point"].get("dir").is_none()));
    assert_eq!(folders(&world.path(".cache/bytelab")), Vec::<PathBuf>::new());
}

#[test]
fn a_wrong_directory_is_reported_in_one_line() {
    let world = World::new();
    let file = world.write("file", "");
    for (dir, expected) in [
        ("/no/such", "bytelab: /no/such does not exist; give a directory with --dir"),
        (&file, " is not a directory; give one with --dir"),
        // No user may write there, not even root.
        ("/proc", "bytelab: making a folder in /proc; give a directory that you may write to with"),
    ] {
        world.refused(&["run", "files", "--dir", dir], expected);
    }
    let args = ["run", "files", "--job", "read", "--method", "append"];
    world.refused(&args, "none of the chosen methods does the chosen job");
}

#[test]
fn a_directory_that_is_removed_during_the_run_fails_its_methods_alone() {
    let (world, dir) = (World::new(), on_the_device());
    let folder = dir.path().display();
    // It is one of the methods, and removes the files of all others in its fourth sample.
    let go =
        format!("[ $n -ge 4 ] && rm -rf {folder}/.bytelab-files-*; echo \"done $n wall=1000\"");
    let worker = world.worker("remover", &on_go(&go));
    let dir = dir.path().to_str().unwrap();
    let args = ["files", "--dir", dir, "--job", "rename,call", "--worker", &worker];
    let (code, json) = run(&world, &[&args[..], &["--warm-up", "6"]].concat());
    assert_eq!(code, 1);
    assert_eq!(cell(&json, "getppid")["status"], "measured");
    let rename = cell(&json, "rename");
    assert_eq!(rename["status"], "failed");
    let reason = rename["reason"].as_str().unwrap();
    assert!(reason.starts_with("renaming ") && reason.contains("No such file"), "{reason}");
}

#[test]
fn folders_of_a_killed_run_are_removed_by_the_next_one_and_those_in_use_remain() {
    let (world, dir) = (World::new(), on_the_device());
    let (worker, fifo) = world.reporting_worker(0);
    let path = dir.path().to_str().unwrap();
    let args = [
        "run", "files", "--dir", path, "--job", "stat", "--worker", &worker, "--rounds", "1000000",
        "--time", "1h",
    ];
    let mut child =
        world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    let _ = samples.nth(3).unwrap().unwrap();
    let left = folders(dir.path());
    assert_eq!(left.len(), 1);
    // Another run in the same directory does not remove it.
    let other = ["files", "--dir", path, "--job", "stat"];
    assert_eq!(run(&world, &other).0, 0);
    assert_eq!(folders(dir.path()), left);
    child.kill().unwrap();
    child.wait().unwrap();
    // Reads until the worker's end of the FIFO is closed: its methods have ended with it.
    samples.for_each(drop);
    assert_eq!(folders(dir.path()), left);
    let (code, json) = run(&world, &other);
    assert_eq!(code, 0);
    assert_eq!(folders(dir.path()), Vec::<PathBuf>::new());
    let notes = json["notes"].to_string();
    assert!(notes.contains("what 1 killed runs had left was removed"), "{notes}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_file_system_of_every_directory_is_recorded() {
    let world = World::new();
    let (device, memory) = (on_the_device(), Path::new("/dev/shm"));
    let Ok(memory) = tempfile::tempdir_in(memory) else { return };
    let dirs = [device.path(), memory.path()].map(|dir| dir.display().to_string());
    for job in ["durable", "stat", "random-cold"] {
        let args = ["files", "--job", job, "--dir", &dirs.join(","), "--method"];
        let method = match job {
            "durable" => "fsync",
            "stat" => "stat",
            _ => "cold-direct",
        };
        let (_, json) = run(&world, &[&args[..], &[method], &SMALL_FILES].concat());
        let facts = &json["environment"];
        for (prefix, dir) in [("data", &dirs[0]), ("data_2", &dirs[1])] {
            let fact = |name: &str| &facts[format!("{prefix}_{name}")];
            assert_eq!(fact("directory"), dir.as_str(), "{job}");
            for name in ["file_system", "device"] {
                assert!(fact(name).is_string(), "{job}: {name} of {dir}");
            }
            assert!(fact("free_bytes").is_u64(), "{job}: {dir}");
            // This is unknown for memory, a network or an overlay.
            assert_eq!(
                fact("device_encrypted").is_boolean(),
                fact("device_name").is_string(),
                "{facts}"
            );
        }
        assert_eq!(facts["data_2_file_system"], "tmpfs");
        assert_ne!(facts["data_file_system"], "tmpfs");
    }
}
