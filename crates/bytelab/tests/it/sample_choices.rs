//! What `bytelab sample` draws, and in which order, as a user chooses it.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::sample::{lines, names_in, world};

#[test]
fn numbers_are_taken_as_people_write_them() {
    let (world, path) = world(&lines(2000));
    let run = |args: &[&str]| world.run(&[&["sample", &path, "--seed", "1"], args].concat());
    for (one, other) in [
        (["-n", "1e3"], ["-n", "1000"]),
        (["-n", "1.5E2"], ["-n", "150"]),
        (["-p", "10%"], ["-p", "0.1"]),
        (["-p", "0.5%"], ["-p", "0.005"]),
    ] {
        let (one, other) = (run(&one), run(&other));
        assert_eq!((one.code, one.stdout), (0, other.stdout), "{}", one.stderr);
    }
    for (args, expected) in [
        (["-n", "1.5"], "N is not a whole number (examples: 1000, 1e6)"),
        (["-n", "1e-3"], "N is not a whole number"),
        (["-n", "1e300"], "N is not a whole number"),
        (["-p", "x%"], "not a number of per cent"),
        (["-p", "101%"], "101 % is not from 0 to 100"),
        (["-p", "x"], "not a probability (examples: 0.1, 10%)"),
    ] {
        let ran = run(&args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_systematic_sample_has_equal_distances() {
    let (world, path) = world(&lines(100));
    let ran = world.run(&["sample", &path, "-n", "5", "--systematic", "--seed", "3"]);
    let drawn: Vec<u64> = ran.stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(drawn.len(), 5, "{}", ran.stderr);
    assert!(drawn.windows(2).all(|two| two[1] - two[0] == 20), "{drawn:?}");
    for args in [&["-p", "0.1", "--systematic"][..], &["-n", "5", "--systematic", "--invert"]] {
        let ran = world.run(&[&["sample", &path], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    }
    let mut child = world
        .command(&["sample", "-n", "5", "--systematic"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let expected = "bytelab sample: a systematic sample needs the number of records: give a file\n";
    assert_eq!((output.status.code(), stderr.as_str()), (Some(2), expected));
}

#[test]
fn a_random_order_needs_little_memory_and_leaves_nothing_behind() {
    use rustix::process::{Pid, Signal, kill_process};

    let (world, path) = world(&lines(200_000));
    let temporary = world.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let command = |args: &[&str]| {
        let all = [&["sample", "-p", "1", "--shuffle", "--seed", "5"], args].concat();
        let mut command = world.command(&all);
        command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let expected = command(&[&path]).output().unwrap().stdout;
    assert_eq!(expected.len(), lines(200_000).len());
    let output = command(&[&path, "--memory", "64KiB"]).output().unwrap();
    assert!(output.stdout == expected, "{}", String::from_utf8_lossy(&output.stderr));
    // The order of a pipe's records is the same, as all are taken.
    let mut child = command(&["--memory", "64KiB"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || stdin.write_all(lines(200_000).as_bytes()).unwrap());
    assert!(child.wait_with_output().unwrap().stdout == expected);
    feeding.join().unwrap();
    // While it writes, the temporary file is there, but has no name.
    let mut child = command(&[&path, "--memory", "64KiB"]).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    assert_eq!(names_in(&temporary), [""; 0]);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_eq!(names_in(&temporary), [""; 0]);
    let mut without = command(&[&path, "--memory", "64KiB"]);
    let output = without.env("TMPDIR", "/no/such/directory").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let text = "bytelab sample: /no/such/directory: creating a temporary file, for which TMPDIR \
                names the directory: No such file or directory";
    assert!(stderr.starts_with(text) && stderr.lines().count() == 1, "{stderr}");
}
