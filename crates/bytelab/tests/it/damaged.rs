//! What the commands say of a run whose data is damaged, in the store and in a journal.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rusqlite::Connection;

use crate::program::{World, long_run};

#[test]
fn a_damaged_run_is_refused_in_one_line_and_the_others_are_shown() {
    let world = World::new();
    let store = world.path("runs.sqlite");
    let run = |args: &[&str]| world.run(&[&["--store", store.to_str().unwrap()], args].concat());
    for _ in 0..3 {
        let ran = run(&["bench", "-r", "3", "-n", "nothing", "true"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let connection = Connection::open(&store).unwrap();
    let flipped = "UPDATE cell_metric SET data = CAST(substr(data, 1, 8) || x'41' AS BLOB)
                   WHERE run = 2 AND name = 'user_ns'";
    assert_eq!(connection.execute(flipped, []).unwrap(), 1);
    drop(connection);

    let expected = "run 2: its data is damaged (cell 0: the checksum of user_ns is wrong); restore";
    for args in [
        &["show", "2"][..],
        &["export", "2", "--format", "json"],
        &["compare", "1", "2"],
        &["report", "2", "--output", "page.html"],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{args:?}: {}", ran.stderr);
    }
    for args in [&["show", "1"][..], &["export", "3", "--format", "json"]] {
        let ran = run(args);
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{args:?}");
    }
    let listed = run(&["history"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(listed.stderr.contains("runs that cannot be read: 1; "), "{}", listed.stderr);
    assert!(listed.stdout.contains("cannot be read"), "{}", listed.stdout);
    let plotted = run(&["history", "--plot", "nothing", "--metric", "user_ns", "--json"]);
    assert_eq!(plotted.code, 0, "{}", plotted.stderr);
    assert!(plotted.stderr.contains(expected), "{}", plotted.stderr);
    assert!(
        plotted.stderr.contains("1 run cannot be read and is left out: "),
        "{}",
        plotted.stderr
    );
    let found = run(&["doctor"]);
    assert!(found.stdout.contains("run 2: its data is damaged"), "{}", found.stdout);
    assert_eq!(run(&["delete", "2"]).code, 0);
    let found = run(&["doctor"]);
    assert!(!found.stdout.contains("is damaged"), "{}", found.stdout);
}

#[test]
fn latest_is_the_newest_run_that_can_be_read_also_without_a_reader_of_the_message() {
    let world = World::new();
    let store = world.path("runs.sqlite");
    let of_store = ["--store", store.to_str().unwrap()];
    for _ in 0..2 {
        let bench = ["bench", "-r", "3", "-n", "nothing", "true"];
        let ran = world.run(&[&of_store[..], &bench].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let connection = Connection::open(&store).unwrap();
    let changed = "UPDATE run SET question = 'another one' WHERE id = 2";
    assert_eq!(connection.execute(changed, []).unwrap(), 1);
    drop(connection);

    let show = [&of_store[..], &["show", "latest"]].concat();
    let shown = world.run(&show);
    let said = "bytelab: run 2 cannot be read: the newest one that can is run 1\n";
    assert_eq!((shown.code, &*shown.stderr), (0, said));
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = world.command(&show);
    let ended = command.stdin(Stdio::null()).stderr(closed).output().unwrap();
    let stdout = String::from_utf8(ended.stdout).unwrap();
    assert_eq!((ended.status.code(), stdout), (Some(0), shown.stdout));
}

#[test]
fn a_damaged_journal_is_kept_and_the_run_says_so() {
    let world = World::new();
    let (worker, fifo) = world.reporting_worker(4096);
    let store = world.path("runs.sqlite");
    let of_store = ["--store", store.to_str().unwrap()];
    let args = [&of_store[..], &long_run("4KiB", "1000000", &worker)].concat();
    let mut child =
        world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    let _ = samples.nth(40).unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = world.path("runs.sqlite-run-1");
    let mut bytes = std::fs::read(&journal).unwrap();
    let mut entries = bytes.windows(10).enumerate().filter(|(_, part)| *part == b"{\"Sample\":");
    let (at, _) = entries.nth(5).unwrap();
    bytes[at + 30] ^= 1;
    std::fs::write(&journal, &bytes).unwrap();

    let note = "the journal of this run is damaged in a place: 1 sample, and perhaps other entries, \
                are missing; it is kept as runs.sqlite-run-1.damaged";
    for _ in 0..2 {
        let shown = world.run(&[&of_store[..], &["show", "1"]].concat());
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let one_line = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(note), "{}", shown.stdout);
    }
    assert!(!journal.exists());
    assert_eq!(std::fs::read(world.path("runs.sqlite-run-1.damaged")).unwrap(), bytes);
}
