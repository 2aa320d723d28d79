//! Readers that are gone: the work is done, and the exit status is that of the outcome.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Output, Stdio};

use crate::program::World;

/// The write end of a pipe whose reader is gone.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// The exit status with a reader, without one of standard output, and without one of standard
/// error.
fn codes(world: &World, args: &[&str]) -> [i32; 3] {
    let with = |stdout, stderr| {
        let mut command = world.command(args);
        let ended = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).output().unwrap();
        ended.status.code().unwrap_or(-1)
    };
    [
        with(Stdio::piped(), Stdio::piped()),
        with(closed(), Stdio::piped()),
        with(Stdio::piped(), closed()),
    ]
}

#[test]
fn the_status_of_a_gate_is_that_of_its_verdict() {
    let world = World::new();
    let file = |name: &str, command: &str| {
        let text = format!(
            "[answer]\nfrom = \"none\"\n[[method]]\nname = \"m\"\ncommand = \"{command}\"\n"
        );
        world.write(name, text)
    };
    let (old, new) = (file("old.toml", "sleep 0.001"), file("new.toml", "sleep 0.04"));
    let check = ["check", &new, "--against", &old, "--allow", "wall=5%", "--counting", "0"];
    assert_eq!(codes(&world, &check), [3; 3]);

    let limits = "[[method]]\nname = \"m\"\ncommand = \"true\"\n\
                  [[threshold]]\nmethod = \"m\"\nmax_wall = \"1ns\"\n";
    let limits = world.write("limits.toml", limits);
    let few = ["--rounds", "6", "--counting", "0"];
    assert_eq!(codes(&world, &[&["run", &limits], &few[..]].concat()), [3; 3]);
    let fails = file("fails.toml", "false");
    assert_eq!(codes(&world, &[&["run", &fails], &few[..]].concat()), [1; 3]);
    assert_eq!(codes(&world, &["bench", "-r", "2", "--counting", "0", "false"]), [1; 3]);
}

#[test]
fn every_command_does_its_work_without_a_reader() {
    let world = World::new();
    let bench = ["bench", "-r", "5", "--counting", "0", "true", "true 1"];
    assert_eq!(codes(&world, &bench), [0; 3]);
    let stored = || {
        let history = world.run(&["history", "--json"]).json();
        history.as_array().unwrap().len()
    };
    assert_eq!(stored(), 3, "each is stored");
    let exported = world.path("run.json").to_str().unwrap().to_owned();
    assert_eq!(world.run(&["export", "1", "--format", "json", "-o", &exported]).code, 0);
    // It notes that the format was detected before it stores the run.
    assert_eq!(codes(&world, &["import", &exported]), [0; 3]);
    assert_eq!(stored(), 6, "each is stored");
    for args in [
        &["show", "1"][..],
        &["show", "1", "--json"],
        &["history"],
        &["compare", "1", "2"],
        &["export", "1", "--format", "csv"],
        &["report", "1", "-o", "-"],
        &["list"],
        &["list", "reading"],
        &["baseline", "set", "first", "1"],
        &["baseline", "list"],
        &["label", "1", "a label"],
        &["init"],
        &["completions", "bash"],
        &["doctor"],
        &["--help"],
        &["delete", "2", "--dry-run"],
    ] {
        let [code, others @ ..] = codes(&world, args);
        assert_eq!(others, [code; 2], "{args:?}");
    }
    let exported = ["bench", "-r", "2", "--counting", "0", "--export-json", "-", "true"];
    assert_eq!(codes(&world, &exported), [0; 3]);
    // Wrong use and failures stay what they are.
    assert_eq!(codes(&world, &["show", "99"]), [2; 3]);
    assert_eq!(codes(&world, &["bench"]), [2; 3]);
}

#[test]
fn tools_whose_work_is_to_print_succeed() {
    let world = World::new();
    let lines = world.write("lines", "a line\n".repeat(100_000));
    let json = world.write("json", format!("[{}1]", "1,".repeat(100_000)));
    let fleece = world.path("fleece").to_str().unwrap().to_owned();
    assert_eq!(world.run(&["fleece", "encode", &json, "-o", &fleece]).code, 0);
    for args in [
        &["cat", &lines][..],
        &["sample", &lines, "-n", "50000"],
        &["sample", &lines, "-n", "50000", "--stats"],
        &["fleece", "encode", &json],
        &["fleece", "decode", &fleece],
        &["fleece", "dump", &fleece],
        &["fleece", "stats", &fleece],
    ] {
        assert_eq!(codes(&world, args), [0; 3], "{args:?}");
    }
    assert_eq!(codes(&world, &["fleece", "check", &lines]), [1; 3]);
    // A manifest without its sample is not written.
    let manifest = world.path("manifest").to_str().unwrap().to_owned();
    let sample = ["sample", &lines, "-n", "50000", "--force", "--manifest", &manifest];
    assert_eq!(codes(&world, &sample), [0, 1, 0]);
}

/// Runs with a FIFO as the named output, whose reader leaves after the first byte.
fn into_a_fifo_that_is_left(world: &World, args: &[&str]) -> Output {
    let fifo = world.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut options = File::options();
    let mut reader = options.read(true).custom_flags(nonblock).open(&fifo).unwrap();
    let args = [args, &["-o", fifo.to_str().unwrap()]].concat();
    let child = world.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = [rustix::event::PollFd::new(&reader, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut ready, None).unwrap();
    reader.read_exact(&mut [0]).unwrap();
    drop(reader);
    std::fs::remove_file(&fifo).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_named_output_that_cannot_be_written_is_an_error() {
    let world = World::new();
    let lines = world.write("lines", "a line\n".repeat(100_000));
    let json = world.write("json", format!("[{}1]", "1234567,".repeat(100_000)));
    // More than a pipe holds.
    let times = "0.00123456,".repeat(20_000) + "0.001";
    let many = format!("{{\"results\": [{{\"command\": \"x\", \"times\": [{times}]}}]}}");
    let many = world.write("many.json", many);
    assert_eq!(world.run(&["import", &many, "--format", "hyperfine"]).code, 0);
    for (args, code) in [
        (&["sample", &lines, "-n", "50000"][..], 1),
        (&["cat", &many], 1),
        (&["fleece", "encode", &json], 2),
        (&["export", "1", "--format", "json"], 2),
    ] {
        let output = into_a_fifo_that_is_left(&world, args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains("Broken pipe"), "{args:?}: {stderr}");
    }
}

/// Runs in a shell with a limit of the size of files, in blocks of 512 or 1024 bytes.
fn limited(world: &World, blocks: u32, words: &str) -> Output {
    let line = format!("ulimit -f {blocks}; exec \"$0\" {words}");
    let mut command = world.in_world("sh", &["-c", &line, env!("CARGO_BIN_EXE_bytelab")]);
    command.current_dir(world.dir.path()).output().unwrap()
}

#[test]
fn the_size_limit_of_files_is_an_error_in_words_and_ends_what_is_measured() {
    let world = World::new();
    world.write("lines", "a line\n".repeat(100_000));
    let stderr = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let sample = limited(&world, 8, "sample lines -n 50000 -o drawn");
    assert_eq!(sample.status.code(), Some(1), "{}", stderr(&sample));
    assert!(stderr(&sample).contains("File too large"), "{}", stderr(&sample));
    assert!(!world.path("drawn").exists());
    let stored = limited(&world, 8, "bench -r 2 --counting 0 true");
    assert_eq!(stored.status.code(), Some(1), "{}", stderr(&stored));
    assert!(stderr(&stored).contains("ulimit -f"), "{}", stderr(&stored));
    // SIGXFSZ has number 25.
    let words = "bench -r 1 --counting 0 --no-store 'dd if=/dev/zero of=big bs=1M count=1'";
    let killed = limited(&world, 8, words);
    assert_eq!(killed.status.code(), Some(1), "{}", stderr(&killed));
    assert!(stderr(&killed).contains("ended by signal 25"), "{}", stderr(&killed));
}

#[test]
fn a_working_directory_that_is_gone_is_named() {
    let world = World::new();
    let check = |line: &str| {
        let mut command = world.in_world("sh", &["-c", line, env!("CARGO_BIN_EXE_bytelab")]);
        let ran = command.current_dir(world.dir.path()).output().unwrap();
        let shown = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        assert!(shown.contains("working directory"), "{shown}");
        assert!(!shown.contains("not installed"), "{shown}");
    };
    let few = "-r 3 --counting 0 --no-store";
    check(&format!("mkdir gone; cd gone; rmdir ../gone; exec \"$0\" bench {few} true"));
    check(&format!("mkdir sub; exec \"$0\" bench {few} --cwd sub 'rmdir ../sub'"));
}
