//! A figure is that of the whole job, and of nothing else: processes that a command leaves running,
//! inputs that can be read only once, and a lab that is stopped.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::program::{Ran, World, cell};

/// Two commands that do the same work, the first one in a process that it leaves running.
const LEAVES: &str = "sh -c 'sleep 0.3 & exit 0'";
const STAYS: &str = "sleep 0.3";

fn bench(args: &[&str]) -> Ran {
    World::new().bench(&[&["-r", "6", "--counting", "0"], args].concat())
}

/// The text as one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_command_that_leaves_processes_running_has_no_verdict() {
    let ran = bench(&[LEAVES, STAYS]);
    let shown = line(&ran.stdout);
    let answer = format!(
        "{LEAVES} left 1 process running after 6 of 6 runs; what it does is in no figure. Only one method"
    );
    assert!(shown.contains(&answer), "{}", ran.stdout);
    assert!(shown.contains("no verdict") && !ran.stdout.contains("* sh"), "{}", ran.stdout);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // In a session of its own, and two of them.
    let ran = bench(&["setsid sleep 30 & setsid sleep 30 &", STAYS, "sleep 0.35"]);
    let shown = line(&ran.stdout);
    assert!(shown.contains("left up to 2 processes running after 6 of 6 runs"), "{}", ran.stdout);
    // Whether 50 ms of 300 can be shown depends on what else the machine does.
    assert!(shown.contains("sleep 0.3 takes its place"), "{}", ran.stdout);
}

#[test]
fn what_a_command_leaves_running_is_waited_for_on_request() {
    let ran = bench(&["--wait-for-all", LEAVES, "sleep 0.01"]);
    let shown = line(&ran.stdout);
    assert!(
        !shown.contains("left 1 process") && shown.contains("Fastest here: sleep 0.01"),
        "{}",
        ran.stdout
    );
    // The output of all of it is part of the answer.
    let world = World::new();
    let json = world.bench_json(&[
        "-r",
        "3",
        "--counting",
        "0",
        "--wait-for-all",
        "--same-output",
        "sh -c '(sleep 0.05; echo b) & echo a'",
        "sh -c 'echo a; echo b'",
    ]);
    assert!(
        json["cells"].as_array().unwrap().iter().all(|cell| cell["wrong_answer"] == false),
        "{json}"
    );
    let toml = world.bench(&["--toml", "--wait-for-all", LEAVES]).stdout;
    assert!(toml.contains("\nwait_for_all = true\n"), "{toml}");
    world.refused(&["bench", "--wait-for-all", "--keep-running", "true"], "cannot be used with");
}

#[test]
fn what_a_command_leaves_running_is_kept_on_request() {
    let world = World::new();
    let pids = world.path("pids");
    let leaves = format!("sh -c 'sleep 60 & echo $! >>{}'", pids.display());
    let ran = world.bench(&["-r", "6", "--counting", "0", "--keep-running", &leaves, STAYS]);
    let pids: Vec<i32> = world.lines("pids").iter().map(|line| line.parse().unwrap()).collect();
    let alive = pids.iter().filter(|pid| rustix::process::test_kill_process(pid_of(**pid)).is_ok());
    let alive = alive.count();
    for pid in &pids {
        let _ = rustix::process::kill_process(pid_of(*pid), rustix::process::Signal::KILL);
    }
    assert!(pids.len() >= 6 && alive == pids.len(), "{alive} of {pids:?}");
    let shown = line(&ran.stdout);
    assert!(
        shown.contains("running after 6 of 6 runs, which went on beside the next runs"),
        "{}",
        ran.stdout
    );
    assert!(shown.contains("sleep 0.3, takes"), "{}", ran.stdout);
}

fn pid_of(number: i32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(number).unwrap()
}

/// What a process computes for which nobody waits is part of the job: its parent ends after it.
#[test]
fn the_cpu_time_of_a_process_that_nobody_waits_for_counts() {
    let world = World::new();
    let spin = "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done";
    // The shell becomes a program that waits for the end of the pipe, and not for the process.
    let zombie = format!("bash -c 'exec 3< <({spin}); exec cat <&3'");
    let waits = format!("sh -c '({spin}) & wait'");
    let json = world.bench_json(&["-r", "3", "--counting", "0", &zombie, &waits]);
    let cpu = |method: &str| {
        let metrics: &Value = &cell(&json, method)["metrics"];
        metrics["cpu_ns"]["p50"].as_f64().unwrap()
    };
    assert!(cpu(&zombie) > 0.5 * cpu(&waits), "{} {}", cpu(&zombie), cpu(&waits));
}

#[test]
fn an_input_that_can_be_read_only_once_is_copied() {
    let world = World::new();
    let script = format!(
        "seq 1000 | {} bench -r 3 --counting 0 -w 0 --input /dev/stdin 'wc -l >>log'",
        env!("CARGO_BIN_EXE_bytelab")
    );
    let run = |script: &str| {
        let mut command = world.in_world("bash", &["-c", script]);
        Ran::new(command.current_dir(world.dir.path()).output().unwrap())
    };
    let ran = run(&script);
    assert_eq!((ran.code, world.lines("log")), (0, vec!["1000".to_owned(); 3]), "{}", ran.stderr);
    assert!(ran.stderr.contains("can be read only once: it is copied"), "{}", ran.stderr);
    let left = std::fs::read_dir(world.dir.path()).unwrap().flatten();
    let left: Vec<String> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.starts_with(".bytelab")), "{left:?}");
    // A file of the user's is read as it is.
    let ran = run(&script.replace("/dev/stdin", "log").replace("seq 1000 |", ""));
    assert!(!ran.stderr.contains("copied"), "{}", ran.stderr);
    let file = "[[method]]\nname = \"a\"\ncommand = \"cat\"\ninput = \"fifo\"\n";
    let file = world.write("a.toml", format!("question = \"?\"\n{file}"));
    let ran = run(&format!(
        "mkfifo fifo; {} run {file} --rounds 1 --no-store",
        env!("CARGO_BIN_EXE_bytelab")
    ));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(line(&ran.stdout).contains("can be read only once"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn waiting_for_an_input_ends_on_a_signal() {
    let world = World::new();
    let script = format!(
        "mkfifo fifo; exec {} bench -r 2 --input fifo 'wc -l'",
        env!("CARGO_BIN_EXE_bytelab")
    );
    let mut command = world.in_world("bash", &["-c", &script]);
    let mut bench =
        command.current_dir(world.dir.path()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(bench.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("copied") {
        assert_ne!(std::io::BufRead::read_line(&mut stderr, &mut said).unwrap(), 0, "{said}");
    }
    let pid = rustix::process::Pid::from_child(&bench);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(bench.wait().unwrap().code(), Some(143));
}

/// A sample during which the lab was stopped is taken again.
#[test]
fn a_sample_during_which_the_lab_was_stopped_does_not_count() {
    let world = World::new();
    let stop = world.write(
        "stop.sh",
        // The lab is the parent. It is stopped once, in the first run that counts.
        "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n\n\
         if [ $n = 1 ]; then (sleep 0.3; kill -CONT $PPID) & kill -STOP $PPID; wait; fi\n",
    );
    std::fs::set_permissions(&stop, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("sh {stop}");
    let json = world.bench_json(&["-r", "4", "-w", "1", "--counting", "0", &command]);
    let exported = world.run(&["export", "1", "--format", "json"]).json();
    let samples = exported["cells"][0]["samples"].as_array().unwrap();
    let reasons: Vec<&str> = samples.iter().filter_map(|s| s["not_counted"].as_str()).collect();
    assert_eq!(reasons, ["bytelab was stopped meanwhile"], "{exported}");
    assert_eq!(cell(&json, &command)["metrics"]["wall_ns"]["n"], 4, "{json}");
    let notes = world.run(&["show", "1", "--notes"]).stdout;
    assert!(!notes.contains("free memory"), "{notes}");
}

/// A worker in one thread whose wall time is shorter than its CPU time has wrong figures.
#[test]
fn figures_that_cannot_be_are_named_and_not_compared() {
    let world = World::new();
    let worker = world.write(
        "lie.py",
        "import sys\nprint('hello 1', flush=True)\n\
         for line in sys.stdin:\n\
         \x20   words = line.split()\n\
         \x20   if words[0] == 'prepare':\n\
         \x20       print('ready', flush=True)\n\
         \x20   elif words[0] == 'go':\n\
         \x20       sum(range(2000000))\n\
         \x20       print(f'done {words[1]} wall=1000 bytes=65536', flush=True)\n\
         \x20   else:\n\
         \x20       break\n",
    );
    let lie = format!("lie=python3 {worker}");
    let ran = world.run(&[
        "run",
        "reading",
        "--method",
        "read",
        "--worker",
        &lie,
        "--size",
        "64KiB",
        "--rounds",
        "6",
        "--counting",
        "0",
        "--language",
        "rust",
    ]);
    if ran.stderr.contains("python3 is not installed") {
        return;
    }
    let shown = line(&ran.stdout);
    assert!(shown.contains("lie has wrong figures: a CPU time of"), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("* lie"), "{}", ran.stdout);
}

/// Where `/proc` is that of another pid namespace, nothing is read from it for other processes.
#[test]
fn in_a_pid_namespace_without_its_own_proc_nothing_of_others_is_read() {
    let world = World::new();
    let command = "unshare --pid --fork -- \"$@\" 2>&1";
    let args = [
        "-c",
        command,
        "sh",
        env!("CARGO_BIN_EXE_bytelab"),
        "bench",
        "-r",
        "6",
        "--no-store",
        "--json",
    ];
    let output =
        world.in_world("sh", &[&args[..], &["true", "sleep 0.02"]].concat()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("unshare failed") || text.contains("unshare: ") {
        return;
    }
    let start = text.find('{').unwrap_or_else(|| panic!("{text}"));
    let json: Value =
        serde_json::from_str(&text[start..]).unwrap_or_else(|e| panic!("{e}: {text}"));
    let metrics = &cell(&json, "true")["metrics"];
    assert!(metrics["wall_ns"]["p50"].as_f64().unwrap() > 0.0, "{metrics}");
    assert!(
        metrics["run_queue_wait_ns"].is_null() && metrics["peak_rss_bytes"].is_null(),
        "{metrics}"
    );
}

/// Where a process ignores the end of its children, the kernel forgets what they used.
#[test]
fn cpu_time_that_nobody_accounts_for_is_missing() {
    let world = World::new();
    let script = world.write(
        "forget.py",
        "import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nchild = os.fork()\n\
         if child == 0:\n\
         \x20   sum(range(6000000))\n\
         \x20   os._exit(0)\n\
         try:\n\
         \x20   os.waitpid(child, 0)\n\
         except ChildProcessError:\n\
         \x20   pass\n",
    );
    let command = format!("python3 {script}");
    let ran = world.bench(&["-r", "3", "--counting", "0", "--json", &command]);
    if ran.stderr.contains("python3 is not installed") {
        return;
    }
    let json = ran.json();
    let metrics = &cell(&json, &command)["metrics"];
    // Without the rights for taskstats it cannot be seen.
    if metrics["tasks"].is_null() {
        return;
    }
    assert!(metrics["wall_ns"]["p50"].is_number() && metrics["cpu_ns"].is_null(), "{metrics}");
    assert!(ran.stdout.contains("ignores the end of its processes"), "{}", ran.stdout);
}
