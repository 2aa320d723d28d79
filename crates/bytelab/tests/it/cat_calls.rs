//! How many system calls `bytelab cat` and `bytelab sample` need for each of many files: exact, as
//! the rest of the program's calls are the same for any number of files.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use crate::program::World;

type Calls = BTreeMap<String, i64>;

/// The names of the first `n` files of this size.
fn files(world: &World, n: usize, bytes: usize) -> Vec<String> {
    let name = |i| world.path(&format!("{bytes}-{i}")).to_str().unwrap().to_owned();
    let names: Vec<String> = (0..n).map(name).collect();
    for name in &names {
        std::fs::write(name, vec![b'x'; bytes]).unwrap();
    }
    names
}

/// The calls of this command with these files, by name, as strace counts them.
fn calls(world: &World, command: &[&str], files: &[String], output: Stdio) -> Option<Calls> {
    let summary = world.path("summary");
    let command = world.command(command);
    #[expect(clippy::disallowed_methods, reason = "strace is no method of an experiment")]
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-U", "calls,name", "-o"]).arg(&summary);
    strace.arg(command.get_program()).args(command.get_args()).args(files).stdin(Stdio::null());
    // The reader of a pipe is this process.
    let ended = strace.stdout(output).spawn().ok()?.wait_with_output().ok()?;
    let text = std::fs::read_to_string(&summary).ok()?;
    let number = |line: &str| {
        let (n, name) = line.trim().split_once(' ')?;
        Some((name.trim().to_owned(), n.parse().ok()?))
    };
    let found: Calls = text.lines().filter_map(number).collect();
    (ended.status.success() && !found.is_empty()).then_some(found)
}

/// How many more calls 20 more files take.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
fn for_20_more(
    world: &World,
    command: &[&str],
    bytes: usize,
    output: impl Fn() -> Stdio,
) -> Option<Calls> {
    let (few, many) = (files(world, 10, bytes), files(world, 30, bytes));
    let counted = |files: &[String]| calls(world, command, files, output());
    let (Some(few), Some(many)) = (counted(&few), counted(&many)) else {
        println!("skipped: strace is not installed, or may not trace");
        return None;
    };
    let more = many.into_iter().map(|(name, n)| {
        let more = n - few.get(&name).copied().unwrap_or(0);
        (name, more)
    });
    Some(more.filter(|(_, n)| *n != 0).collect())
}

/// The calls for each file, where nothing else changes their number.
fn for_each_file(world: &World, bytes: usize, output: impl Fn() -> Stdio) -> Option<Calls> {
    let each = for_20_more(world, &["cat"], bytes, output)?.into_iter().map(|(name, more)| {
        assert_eq!(more % 20, 0, "{more} more {name} for 20 more files");
        (name, more / 20)
    });
    Some(each.collect())
}

/// A build with debug assertions looks at a descriptor before it is closed.
const OF_DEBUG: i64 = cfg!(debug_assertions) as i64;

#[test]
fn a_small_file_takes_five_calls_where_its_size_is_its_end() {
    let world = World::new();
    // A file system without a block device may be one of a network, whose size is not believed.
    let on_disk = rustix::fs::major(std::fs::metadata(world.path("")).unwrap().dev()) != 0;
    let null = || File::options().write(true).open("/dev/null").unwrap().into();
    for bytes in [1, 4096, 60_000] {
        for output in [&null as &dyn Fn() -> Stdio, &Stdio::piped] {
            let Some(mut calls) = for_each_file(&world, bytes, output) else { return };
            // Open and close, the kind of the file, and the bytes; elsewhere also the kind of its
            // file system, and the read that finds the end.
            let total = calls.remove("total").unwrap() - OF_DEBUG;
            assert!(total == 5 || !on_disk && total <= 7, "{calls:?}");
            assert_eq!(calls["write"], 1, "{calls:?}");
        }
    }
    let file = || File::create(world.path("output")).unwrap().into();
    let Some(calls) = for_each_file(&world, 4096, file) else { return };
    assert!(calls["total"] <= 9 + OF_DEBUG, "{calls:?}");
}

#[test]
fn one_pipe_serves_all_files() {
    let world = World::new();
    // The reader decides how much each splice can move, so their number is not asserted.
    let Some(calls) = for_20_more(&world, &["cat"], 200_000, Stdio::piped) else { return };
    assert!(calls.contains_key("splice"), "{calls:?}");
    assert!(!calls.contains_key("pipe2") && calls["close"] == 20, "{calls:?}");
}

#[test]
fn a_sample_opens_and_reads_each_small_file_once() {
    let world = World::new();
    let command = ["sample", "-n", "1", "--seed", "1"];
    let Some(calls) = for_20_more(&world, &command, 36, Stdio::piped) else { return };
    let each = |name: &str| calls.get(name).copied().unwrap_or(0);
    assert_eq!(each("openat"), 20, "{calls:?}");
    // When it is opened, and when the sample is complete.
    assert_eq!(each("statx"), 40, "{calls:?}");
    // Where the file system has no block device, the last byte shows whether the size is believed.
    assert!([20, 40].contains(&each("pread64")), "{calls:?}");
    assert_eq!(each("read") + each("lseek") + each("sched_getaffinity"), 0, "{calls:?}");
}
