//! Wrong input gives one clear line or a failed cell; no panic, no hang, no lost sample.

use crate::program::{World, cell, files_below};

fn refused(args: &[&str], expected: &str) {
    World::new().refused(args, expected);
}

#[test]
fn a_missing_file_is_named() {
    let args = ["run", "reading", "--file", "/no/such/file"];
    refused(&args, "bytelab: /no/such/file does not exist");
}

#[test]
fn a_directory_a_fifo_a_device_and_an_empty_file_are_named() {
    let world = World::new();
    refused(&["run", "reading", "--file", "/"], "bytelab: / is a directory");
    refused(&["run", "reading", "--file", "/dev/zero"], "bytelab: /dev/zero is a device");
    let fifo = world.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    refused(&["run", "reading", "--file", fifo.to_str().unwrap()], "is a FIFO");
    refused(&["run", "reading", "--file", &world.write("empty", "")], "is empty");
}

#[test]
fn a_file_larger_than_memory_needs_another_cache_state() {
    let world = World::new();
    let sparse = world.path("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(1 << 42).unwrap();
    let args = ["run", "reading", "--file", sparse.to_str().unwrap(), "--method", "read"];
    world.refused(&args, "--cache cold");
}

#[test]
fn too_little_space_is_reported_before_anything_is_written() {
    let world = World::new();
    world.refused(&["run", "reading", "--size", "1TiB"], "--data-dir");
    let data: Vec<_> = files_below(world.dir.path());
    assert!(data.iter().all(|path| !path.to_string_lossy().contains("reading")), "{data:?}");
}

#[test]
fn unknown_names_are_reported_with_those_that_are_known() {
    refused(&["run", "nothing"], "unrecognized subcommand 'nothing'");
    refused(&["list", "nothing"], "there is no experiment nothing; there are numbers, memory");
    refused(&["run", "reading", "--method", "x"], "there is no method x; reading has read, ");
    refused(&["run", "reading", "--reference", "x"], "--reference x: not one of the methods");
    refused(&["run", "reading", "--colour", "1"], "unexpected argument '--colour'");
    refused(&["show", "99"], "99");
    refused(&["delete", "99"], "99");
    refused(&["run", "--resume", "99"], "99");
}

#[test]
fn a_run_names_an_experiment_or_the_run_that_goes_on_and_not_both() {
    let expected = "name an experiment, or --resume ID";
    refused(&["run", "--json"], expected);
    refused(&["run", "--resume", "1", "reading"], expected);
    refused(&["run", "--resume", "1", "published:urlsession"], expected);
}

#[test]
fn a_command_without_quotes_is_shown_with_them() {
    let tip = "tip: to measure a command, quote it: bytelab \"gzip -c 'x y'\"";
    refused(&["gzip", "-c", "x y"], tip);
    refused(&["sort", "x"], "tip: to measure a command, quote it: bytelab 'sort x'");
    refused(&["gzip"], "tip: to measure a command: bytelab bench gzip");
    refused(&["runs"], "tip: to list the stored runs: bytelab history");
    refused(&["glossary"], "tip: to read how a table is read: bytelab show --explain");
    for tip in ["tip: to list the stored runs:", "tip: to measure a command: bytelab bench ls"] {
        refused(&["ls"], tip);
    }
    refused(&["lines.toml"], "tip: to measure an experiment in a file: bytelab run lines.toml");
    let near = World::new().refused(&["histroy", "--json"], "'history'");
    assert!(!near.stderr.contains("quote"), "{}", near.stderr);
}

#[test]
fn a_gate_without_a_file_says_how_one_is_made() {
    let toml = "bytelab bench './work big.txt' --toml > bench.toml; then, with another checkout: \
                bytelab check bench.toml --against ../main/bench.toml --allow wall=5%";
    for args in [
        &["check", "--rev", "main,pr", "--allow", "wall=5%", "./work big.txt"][..],
        &["bench", "./work big.txt", "--fail", "wall=5%"],
        &["check", "--against", "main", "--allow", "wall=5%"],
        &["check", "./work big.txt", "--allow", "wall=5%"],
    ] {
        refused(args, &format!("check needs a file: {toml}"));
    }
    refused(&["run", "./work big.txt"], "is a command: bytelab bench './work big.txt'");
    refused(&["check", "gzip -c x"], "bytelab bench 'gzip -c x' --toml > bench.toml");
    let ran = World::new().refused(&["bench", "a b", "--fail", "wall=5%"], "--fail");
    assert!(!ran.stderr.contains("similar argument"), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_nearly_another_is_named() {
    let world = World::new();
    world.write("lines.toml", "");
    for (typed, expected) in [
        ("lines.tml", "tip: there is a file lines.toml: bytelab run lines.toml"),
        ("linse.toml", "linse.toml does not exist; did you mean lines.toml?"),
        ("./lines", "./lines does not exist; did you mean ./lines.toml?"),
        ("zzz", "tip: `bytelab list` shows the experiments; the name of a file ends with .toml"),
    ] {
        let ran = world.run_in_home(&["run", typed]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{typed}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{typed}: {}", ran.stderr);
    }
}

#[test]
fn values_out_of_range_are_reported_with_the_range() {
    refused(&["run", "reading", "--buffer", "0"], "--buffer 0: 0 is out of range, allowed is 1 to");
    refused(&["run", "reading", "--buffer", "many"], "--buffer many: not a number of bytes");
    refused(&["run", "reading", "--parallel", "65"], "allowed is 1 to 64");
    refused(&["run", "reading", "--rounds", "0"], "0 is not in 1..=1000000");
    refused(&["run", "reading", "--time", "soon"], "invalid value 'soon'");
    refused(&["run", "reading", "--worker", "x"], "--worker x: write NAME=COMMAND");
}

#[test]
fn a_read_error_in_the_middle_fails_the_method() {
    // The memory of a process can be opened, but nothing is mapped at its start: EIO.
    let world = World::new();
    let reader = world.worker(
        "reader",
        "echo hello 1; read -r x; echo ready; while read -r verb n; do
         error=$(cat /proc/self/mem 2>&1) || echo \"fail ${error##*: }\"; done",
    );
    let (code, json) = world.reading(&["--method", "read", "--worker", &reader]);
    assert_eq!(code, 1);
    assert_eq!(cell(&json, "reader")["status"], "failed");
    assert_eq!(cell(&json, "reader")["reason"], "Input/output error");
    assert_eq!(cell(&json, "read")["status"], "measured");
}

#[test]
fn a_worker_that_lies_about_its_answer_is_out() {
    let world = World::new();
    let liar = world.worker(
        "liar",
        "echo hello 1 lang=sh; while read -r verb n rest; do case $verb in
         prepare) echo ready;; go) echo \"done $n wall=1000 bytes=65536 answer=0\";; bye) exit;;
         esac; done",
    );
    let (code, json) = world.reading(&["--method", "read,mmap", "--worker", &liar]);
    assert_eq!(code, 1);
    let verdicts: Vec<&serde_json::Value> = json["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|comparison| comparison["method"] == "liar")
        .map(|comparison| &comparison["verdict"])
        .collect();
    assert!(!verdicts.is_empty() && verdicts.iter().all(|v| **v == "wrong-answer"), "{verdicts:?}");
    assert_eq!(cell(&json, "liar")["language"], "sh");
    let text = world.run(&["show", json["id"].as_str().unwrap()]).stdout;
    assert!(text.contains("wrong answer"), "{text}");
}

#[test]
fn a_worker_that_dies_leaves_the_others_measured() {
    let world = World::new();
    let dying = world.worker("dying", "echo hello 1; echo 'no disk' >&2; exit 3");
    // A page that the kernel evicts in the meantime is not the subject of this test.
    let args = ["--method", "read", "--cache", "as-is", "--worker", &dying];
    let (code, json) = world.reading(&args);
    assert_eq!(code, 1);
    let reason = cell(&json, "dying")["reason"].as_str().unwrap();
    assert!(reason.contains("ended with exit status 3") && reason.contains("no disk"), "{reason}");
    assert_eq!(cell(&json, "read")["metrics"]["wall_ns"]["n"], 3);
}

#[test]
fn what_was_typed_does_not_reach_the_terminal_as_it_is() {
    for args in [
        &["run", "reading", "--method", "a\u{1b}[31mb"][..],
        &["run", "reading", "--size", "\u{1b}[2J"],
        &["show", "\u{7}"],
        &["\u{1b}[31m"],
        &["delete", "\u{202e}x"],
        &["run", "/\u{1b}]0;x\u{7}.toml"],
    ] {
        let ran = World::new().run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        let steers = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!ran.stderr.contains(steers), "{args:?}: {:?}", ran.stderr);
    }
}

#[test]
fn a_method_that_is_nearly_another_is_named() {
    let message = "there is no method mmpa (did you mean mmap?); reading has ";
    refused(&["run", "reading", "--method", "mmpa"], message);
    refused(&["run", "reading", "--method", "zzz"], "there is no method zzz; reading has ");
}
