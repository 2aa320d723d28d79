//! `bytelab cat` behaves like `cat`.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::Command;

use crate::program::{World, fed};

/// The output of a command, its exit status, and its messages.
pub(crate) type ProgramOutput = (Vec<u8>, i32, String);

pub(crate) fn ended(command: &mut Command, input: &[u8]) -> ProgramOutput {
    let output = fed(command, input);
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.stdout, output.status.code().unwrap_or(-1), stderr)
}

/// The system's own utility, if it is that of GNU.
pub(crate) fn gnu() -> Option<Command> {
    #[expect(clippy::disallowed_methods, reason = "the program that ours is held against")]
    let new = || Command::new("cat");
    let version = new().arg("--version").output().ok()?;
    String::from_utf8_lossy(&version.stdout).contains("GNU coreutils").then(|| {
        let mut command = new();
        command.env("LC_ALL", "C.UTF-8");
        command
    })
}

/// Checks our program, and the system's own utility if there is one, which must give the same
/// result.
pub(crate) fn check(
    world: &World,
    args: &[&str],
    input: &[u8],
    expected: &[u8],
    code: i32,
) -> String {
    let ours = ended(&mut world.command(&[&["cat"], args].concat()), input);
    assert!(ours.0 == expected, "{args:?}: {} bytes, {}", ours.0.len(), ours.2);
    assert_eq!(ours.1, code, "{args:?}: {}", ours.2);
    if let Some(mut theirs) = gnu() {
        let theirs = ended(theirs.args(args), input);
        assert!((&theirs.0, theirs.1) == (&ours.0, ours.1), "{args:?}: cat does otherwise");
        assert_eq!(ours.2.replace("bytelab cat: ", "cat: "), theirs.2, "{args:?}");
    }
    ours.2
}

#[test]
fn files_and_standard_input_come_one_after_the_other() {
    let world = World::new();
    let (a, b) = (world.path("a"), world.path("b"));
    let large = vec![b'x'; 3_000_000];
    std::fs::write(&a, "hello ").unwrap();
    std::fs::write(&b, &large).unwrap();
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    check(&world, &[], b"input", b"input", 0);
    check(&world, &["-"], &large, &large, 0);
    check(&world, &[a], b"", b"hello ", 0);
    check(&world, &[a, "-", a], b"input", b"hello inputhello ", 0);
    check(&world, &[b], b"", &large, 0);
    check(
        &world,
        &["/dev/null", "/proc/version"],
        b"",
        &std::fs::read("/proc/version").unwrap(),
        0,
    );
}

#[test]
fn an_input_that_fails_is_reported_and_the_others_get_through() {
    let world = World::new();
    let a = &world.write("a", "hello");
    let stderr = check(&world, &["/no/such", a, "/", a], b"", b"hellohello", 1);
    assert_eq!(
        stderr,
        "bytelab cat: /no/such: No such file or directory\nbytelab cat: /: Is a directory\n"
    );
}

#[test]
fn a_file_is_not_copied_to_its_own_end() {
    let world = World::new();
    let path = world.path("a");
    std::fs::write(&path, "hello").unwrap();
    let append = || OpenOptions::new().append(true).open(&path).unwrap();
    let name = path.to_str().unwrap();
    for args in [&["cat", name][..], &["cat", "--sha256", &"0".repeat(64), name]] {
        let output = world.command(args).stdout(append()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr.ends_with("a: input file is output file\n"), "{stderr}");
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
    }
    let args = ["cat", &world.write("b", " there")];
    assert!(world.command(&args).stdout(append()).status().unwrap().success());
    assert_eq!(std::fs::read(&path).unwrap(), b"hello there");
}

#[test]
fn a_reader_that_goes_away_is_success_and_a_full_device_is_not() {
    let world = World::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = world.command(&["cat", "/proc/self/exe"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = world.command(&["cat", "/proc/self/exe"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "bytelab cat: write error: No space left on device\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_limit_and_the_digest_are_kept() {
    let world = World::new();
    let name = &world.write("a", "hello");
    let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let ran = world.run(&["cat", "--sha256", right, name]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "hello", ""));
    let ran = world.run(&["cat", "--sha256", &right.replace('2', "3"), name]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("a: the SHA-256 is 2cf24"), "{}", ran.stderr);
    let ran = world.run(&["cat", "--limit", "9", name, name]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "hello"));
    assert!(ran.stderr.contains("more than the limit of 4 bytes"), "{}", ran.stderr);
    assert_eq!(world.run(&["cat", "--limit", "10", name, name]).code, 0);
    assert_eq!(world.run(&["cat", "--sha256", "12", name]).code, 1);
    assert_eq!(world.run(&["cat", "--sha256", right, name, name]).code, 1);
    assert_eq!(world.run(&["cat", "--resume", name]).code, 1);
    assert_eq!(world.run(&["--store", "x", "cat", "--no-such-flag"]).code, 1);
    assert_eq!(world.run(&["sample", "cat", "--no-such-flag"]).code, 2);
    let ran = world.run(&["cat", "--progress", name]);
    assert!(ran.stderr.ends_with("a: 5 bytes\n"), "{}", ran.stderr);
}

#[test]
fn two_runs_with_one_output_do_not_mix() {
    let world = World::new();
    let fifo = world.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let out = world.path("out");
    let out_text = out.to_str().unwrap();
    let slow = world.command(&["cat", fifo.to_str().unwrap(), "-o", out_text]).spawn().unwrap();
    // This waits until the program has opened its input.
    let mut writer = OpenOptions::new().write(true).open(&fifo).unwrap();
    writer.write_all(&[b'a'; 10_000]).unwrap();
    std::fs::write(world.path("other"), vec![b'b'; 5_000]).unwrap();
    let ran = world.run(&["cat", world.path("other").to_str().unwrap(), "-o", out_text]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(std::fs::read(&out).unwrap() == [b'b'; 5_000]);
    writer.write_all(&[b'a'; 10_000]).unwrap();
    drop(writer);
    let slow = slow.wait_with_output().unwrap();
    assert!(slow.status.success(), "{slow:?}");
    assert!(std::fs::read(&out).unwrap() == vec![b'a'; 20_000]);
}

#[test]
fn a_digest_that_was_not_checked_is_a_failure() {
    let world = World::new();
    let zeros = "0".repeat(64);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = ["cat", "--sha256", &zeros, "/proc/self/exe"];
    let output = world.command(&args).stdout(writer).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
    assert!(stderr.contains("SHA-256"), "{stderr}");
}

#[test]
fn a_standard_stream_that_is_closed_is_a_failure() {
    let world = World::new();
    let path = &world.write("a", "hello");
    for (script, code, expected) in [
        ("exec \"$0\" cat <&-", 1, "bytelab cat: -: Bad file descriptor\n"),
        ("exec \"$0\" cat - \"$1\" <&-", 1, "bytelab cat: -: Bad file descriptor\n"),
        ("exec \"$0\" cat \"$1\" <&-", 0, ""),
        ("exec \"$0\" cat \"$1\" >&-", 1, "bytelab cat: standard output: Bad file descriptor\n"),
        ("exec \"$0\" cat \"$1\" -o \"$1.copy\" >&-", 0, ""),
        // Opened like Python's subprocess.DEVNULL: not closed.
        ("exec \"$0\" cat <>/dev/null", 0, ""),
        ("exec \"$0\" cat \"$1\" 1<>/dev/null", 0, ""),
    ] {
        let program = env!("CARGO_BIN_EXE_bytelab");
        #[expect(clippy::disallowed_methods, reason = "only a shell closes a standard stream")]
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", script]).arg(program).arg(path).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(code), expected), "{script}");
    }
    assert_eq!(std::fs::read(world.path("a.copy")).unwrap(), b"hello");
}

#[test]
fn every_kind_of_output_gets_the_same_bytes() {
    let world = World::new();
    let source = world.path("source");
    let data: Vec<u8> = (0..2_000_003u32).map(|i| ((i * 31) >> 3) as u8).collect();
    std::fs::write(&source, &data).unwrap();
    let args = ["cat", source.to_str().unwrap()];
    let out = world.path("out");
    assert!(world.command(&args).stdout(File::create(&out).unwrap()).status().unwrap().success());
    assert!(std::fs::read(&out).unwrap() == data);
    let (mut reader, socket) = std::os::unix::net::UnixStream::pair().unwrap();
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        all
    });
    let mut command = world.command(&args);
    assert!(command.stdout(std::os::fd::OwnedFd::from(socket)).status().unwrap().success());
    drop(command);
    assert!(thread.join().unwrap() == data);
}
