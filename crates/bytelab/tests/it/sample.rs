//! `bytelab sample` as a user runs it: outputs, messages, exit status, and leftover files.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Output, Stdio};

use crate::program::{World, fed};

pub(crate) fn lines(n: usize) -> String {
    (0..n).fold(String::new(), |text, i| text + &i.to_string() + "\n")
}

/// A world with a file of lines, and the path of the file.
pub(crate) fn world(text: &str) -> (World, String) {
    let world = World::new();
    let path = world.write("lines", text);
    (world, path)
}

/// Runs with a reader that closes the pipe after two bytes.
fn left_early(world: &World, args: &[&str]) -> Output {
    let child = world.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 2]).unwrap();
    child.wait_with_output().unwrap()
}

fn names(world: &World) -> Vec<String> {
    names_in(world.dir.path())
}

pub(crate) fn names_in(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_sample_of_a_file_and_of_a_pipe() {
    let (world, path) = world(&lines(1000));
    let ran = world.run(&["sample", &path, "-n", "5", "--seed", "2026"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "92\n163\n202\n857\n868\n", "")
    );
    let args = ["sample", "-n", "5", "--seed", "2026"];
    let output = fed(&mut world.command(&args), lines(1000).as_bytes());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "197\n341\n862\n892\n923\n");
    let ran = world.run(&["sample", &path, "-p", "0.005", "--seed", "2026", "--stats"]);
    assert_eq!(ran.stdout, "169\n267\n332\n362\n");
    assert!(ran.stderr.contains("records seen   1000\nrecords taken  4\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("method         pread: line feeds are counted"), "{}", ran.stderr);
}

#[test]
fn every_flag_does_something() {
    let (world, path) = world("id,kind,w\n1,a,0\n2,b,1\n3,b,1\n");
    let csv = ["sample", &path, "--format", "csv", "--header"];
    let run = |args: &[&str]| {
        let ran = world.run(&[&csv, args].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    assert_eq!(run(&["-n", "9", "--at-most"]), "id,kind,w\n1,a,0\n2,b,1\n3,b,1\n");
    assert_eq!(run(&["-n", "2", "--weight", "w"]), "id,kind,w\n2,b,1\n3,b,1\n");
    assert_eq!(run(&["--per", "kind=1"]).lines().count(), 3);
    assert_eq!(run(&["--per", "kind=100%"]).lines().count(), 4);
    assert_eq!(run(&["-n", "1", "--invert"]).lines().count(), 3);
    assert_eq!(run(&["-n", "7", "--with-replacement"]).lines().count(), 8);
    let orders: std::collections::BTreeSet<String> =
        (0..40).map(|seed| run(&["-n", "3", "--shuffle", "--seed", &seed.to_string()])).collect();
    assert_eq!(orders.len(), 6);
    let ran = world.run(&["sample", &path, "-n", "2", "--index", "--stats"]);
    assert!(ran.stderr.contains("the index was made"), "{}", ran.stderr);
    assert!(names(&world).contains(&"lines.nlx".to_owned()));
    for method in ["pread", "mmap", "sequential"] {
        let ran = world.run(&[
            "sample", &path, "-n", "9", "--format", "fixed:1", "--method", method, "--stats",
        ]);
        assert!(
            ran.stderr.contains(&format!("method         {method}: requested")),
            "{}",
            ran.stderr
        );
    }
    let ran = world.run(&["sample", &path, "-n", "2", "--method", "probe", "--min-length", "5"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 2), "{}", ran.stderr);
}

#[test]
fn patterns_and_several_files_are_one_population() {
    let (world, _) = world("a\n");
    std::fs::write(world.path("lines-2"), "b\n").unwrap();
    let pattern = world.path("line*").to_str().unwrap().to_owned();
    let ran = world.run(&["sample", &pattern, "-n", "2"]);
    assert_eq!(ran.stdout, "a\nb\n", "{}", ran.stderr);
    let none = world.path("no*").to_str().unwrap().to_owned();
    let ran = world.run(&["sample", &none, "-n", "2"]);
    assert_eq!((ran.code, ran.stderr), (2, format!("bytelab sample: no file matches {none}\n")));
}

#[test]
fn an_output_appears_whole_or_not_at_all() {
    let (world, path) = world(&lines(10));
    let out = world.path("out").to_str().unwrap().to_owned();
    let ran = world.run(&["sample", &path, "-n", "10", "-o", &out]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), lines(10));
    let ran = world.run(&["sample", &path, "-n", "11", "-o", &out, "--force"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr,
        "bytelab sample: 11 records were requested, but there are 10; --at-most takes all of them\n"
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), lines(10), "as it was");
    // The input may also be the output.
    let ran = world.run(&["sample", &path, "-n", "3", "-o", &path, "--force"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    assert_eq!(names(&world), ["lines", "out"]);
    let ran = world.run(&["sample", &path, "-n", "1", "-o", "/no/such/dir/out"]);
    assert_eq!((ran.code, ran.stderr.contains("/no/such/dir/out")), (1, true), "{}", ran.stderr);
}

#[test]
fn an_output_that_is_there_already_is_replaced_by_force_alone() {
    let (world, path) = world(&lines(10));
    let out = world.write("out", "before");
    let expected = format!("bytelab sample: {out} is there already; --force replaces it\n");
    let (dangling, link) = (world.path("dangling"), world.path("link"));
    std::os::unix::fs::symlink("new", &dangling).unwrap();
    std::os::unix::fs::symlink("out", &link).unwrap();
    let first = format!("{}=0.5", world.path("first").display());
    let split = format!("{first},{out}=0.5");
    for args in [
        &["-n", "1", "-o", &out][..],
        &["-n", "1", "--manifest", &out],
        &["--split", &split],
        &["--split", &first, "--rest", &out],
        &["-n", "1", "-o", link.to_str().unwrap()],
    ] {
        let ran = world.run(&[&["sample", path.as_str()], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.replace("/link is", "/out is"), expected, "{args:?}");
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "before");
    }
    assert_eq!(names(&world), ["dangling", "lines", "link", "out"]);
    let ran = world.run(&["sample", &path, "-n", "10", "-o", dangling.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(world.path("new")).unwrap(), lines(10));
    let ran = world.run(&["sample", &path, "--split", &split, "--force"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 5);
}

#[test]
fn the_shares_of_a_split_are_1_together_or_leave_a_rest() {
    let (world, path) = world(&lines(1000));
    let name = |name: &str| world.path(name).display().to_string();
    let (train, test, rest) = (name("train"), name("test"), name("rest"));
    let split = |one: &str, other: &str| format!("{train}={one},{test}={other}");
    let run = |args: &[&str]| world.run(&[&["sample", &path, "--force", "--stats"], args].concat());
    for (shares, taken) in [
        (split("80%", "20%"), "800 + 200"),
        (split("0.7", "30%"), "700 + 300"),
        (format!("{},{rest}=0.7", split("0.1", "0.2")), "100 + 200 + 700"),
    ] {
        let ran = run(&["--split", &shares]);
        assert_eq!(ran.code, 0, "{shares}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("records taken  {taken}\n")), "{}", ran.stderr);
    }
    let ran = run(&["--split", &split("50%", "0.2"), "--rest", &rest]);
    assert!(ran.stderr.contains("records taken  500 + 200 + 300\n"), "{}", ran.stderr);
    let ran = run(&["--split", &format!("{train}=0.5"), "--rest", &rest]);
    assert!(ran.stderr.contains("records taken  500 + 500\n"), "{}", ran.stderr);
    let whole = split("0.8", "0.2");
    for (args, expected) in [
        (
            &["--split", &split("0.8", "0.3")][..],
            "the shares of --split add up to 1.1, not 1: a share is a part of 1, or per cent",
        ),
        (&["--split", &split("80", "20")], "add up to 100, not 1: a share is a part of 1"),
        (
            &["--split", &format!("{train}=0.5")],
            "the shares of --split add up to 0.5, not 1: --rest FILE takes the other records",
        ),
        (&["--split", &split("0.3", "0.3")], "add up to 0.6, not 1: --rest FILE takes"),
        (
            &["--split", &whole, "--rest", &rest],
            "the shares of --split add up to 1: they leave no rest",
        ),
        (&["--split", &split("80%", "101%")], "101 % is not from 0 to 100"),
        (&["--split", &split("80%", "x%")], "not a number of per cent"),
        (&["--split", &split("100%", "0%")], "0% is not a share above 0"),
        (&["-n", "1", "--rest", &rest], "required arguments were not provided"),
    ] {
        world.refused(&[&["sample", path.as_str()], args].concat(), expected);
    }
}

#[test]
fn a_split_gives_all_parts_or_none() {
    let (world, path) = world(&lines(100));
    let [train, test] = ["train", "test"].map(|name| world.path(name).to_str().unwrap().to_owned());
    let split = format!("{train}=0.8,{test}=0.2");
    let ran = world.run(&["sample", &path, "--split", &split, "--stats"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("records taken  80 + 20"), "{}", ran.stderr);
    let count = |path: &str| std::fs::read_to_string(path).unwrap().lines().count();
    assert_eq!((count(&train), count(&test)), (80, 20));
    std::fs::write(&path, "a\n\"b").unwrap();
    let ran = world.run(&["sample", &path, "--split", &split, "--format", "csv", "--force"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr,
        format!("bytelab sample: {path}: a quote is never closed, it is opened at offset 2\n")
    );
    assert_eq!((count(&train), count(&test)), (80, 20), "as they were");
    assert_eq!(names(&world), ["lines", "test", "train"]);
}

#[test]
fn two_parts_of_a_split_are_two_files() {
    let (world, path) = world(&lines(100));
    let dir = world.dir.path().to_str().unwrap();
    for name in ["new", "old"] {
        let split = format!("{dir}/{name}=0.5,{dir}/./{name}=0.5");
        let expected = format!("{dir}/./{name} is named twice");
        world.refused(&["sample", &path, "--split", &split, "--force"], &expected);
        std::fs::write(world.path("old"), "as it was").unwrap();
    }
    assert_eq!(names(&world), ["lines", "old"]);
    let ran = world.run(&["sample", &path, "--split", "/dev/null=0.5,/dev/null=0.5"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_broken_pipe_of_one_part_is_an_error() {
    let (world, path) = world(&lines(100_000));
    let split = format!("{}=0.5,/dev/stdout=0.5", world.path("part").to_str().unwrap());
    let output = left_early(&world, &["sample", &path, "--split", &split]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.contains("Broken pipe")), (Some(1), true), "{stderr}");
    assert_eq!(names(&world), ["lines"]);
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let (world, path) = world("a\nb\n");
    let dir = world.dir.path().to_str().unwrap().to_owned();
    let missing = world.path("missing").to_str().unwrap().to_owned();
    let gzip = world.path("cut.gz").to_str().unwrap().to_owned();
    std::fs::write(&gzip, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x05").unwrap();
    for (args, code, expected) in [
        (vec![path.as_str(), "-n", "3"], 1, "3 records were requested, but there are 2; --at-most"),
        (vec![&missing, "-n", "3"], 1, "missing: No such file or directory"),
        (vec![&gzip, "-n", "3"], 1, "cut.gz: reading at offset 0: "),
        (vec![&dir, "-n", "3"], 2, "is a directory"),
        (vec![&path, "-p", "2"], 2, "a probability must be from 0 to 1"),
        (
            vec![&path, "--per", "a=1"],
            2,
            "column a: only CSV, lines with fields and JSON Lines have columns",
        ),
        (
            vec![&path, "-n", "1", "--format", "fixed:3"],
            1,
            "lines: its size of 4 bytes is not a multiple of 3",
        ),
        (vec![&path, "-n", "1", "--format", "fixed:0"], 2, "a record must have at least 1 byte"),
        (
            vec![&path, "-n", "1", "--format", "xml"],
            2,
            "unknown format \"xml\", allowed is lines, csv",
        ),
        #[cfg(not(feature = "parquet"))]
        (vec![&path, "-n", "1", "--format", "parquet"], 2, "--features parquet"),
        #[cfg(feature = "parquet")]
        (vec![&path, "-n", "1", "--format", "parquet"], 1, "lines: not a sound Parquet file"),
        #[cfg(feature = "parquet")]
        (vec!["-", "-n", "1", "--format", "parquet"], 2, "not from standard input"),
        (vec![&path, "--split", "a=0"], 2, "0 is not a share above 0"),
        (vec![&path, "--split", "/dev/full=1"], 1, "writing the sample: /dev/full: No space left"),
        (vec![&path, "-", "-n", "1"], 2, "standard input cannot be combined with files"),
        (vec![&path], 2, "required arguments were not provided"),
        (
            vec!["/proc/self/mem", "-n", "1"],
            1,
            "/proc/self/mem: reading at offset 0: Input/output error",
        ),
        (
            vec![&path, "-n", "1", "-o", "/dev/full"],
            1,
            "writing the sample: /dev/full: No space left",
        ),
    ] {
        let ran = world.run(&[&["sample"], args.as_slice()].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.matches("os error").count() < 2, "reported twice: {}", ran.stderr);
    }
}

#[test]
fn a_full_disk_leaves_the_output_as_it_was() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    let (world, path) = world(&lines(100_000));
    let disk = world.path("disk");
    std::fs::create_dir(&disk).unwrap();
    if let Err(error) = mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), Some(c"size=64k")) {
        eprintln!("skipped: mounting needs root: {error}");
        return;
    }
    let out = disk.join("out");
    std::fs::write(&out, "as it was").unwrap();
    let out_text = out.to_str().unwrap();
    let split = format!("{out_text}=0.5,{}=0.5", world.path("other").to_str().unwrap());
    let ran = [
        world.run(&["sample", &path, "-n", "100000", "--force", "-o", out_text]),
        world.run(&["sample", &path, "--force", "--split", &split]),
    ];
    let left = names_in(&disk);
    let text = std::fs::read_to_string(&out).unwrap();
    unmount(&disk, UnmountFlags::empty()).unwrap();
    for ran in ran {
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
    }
    assert_eq!((left, text.as_str()), (vec!["out".to_owned()], "as it was"));
    assert_eq!(names(&world), ["disk", "lines"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (world, path) = world(&lines(100_000));
    let output = left_early(&world, &["sample", &path, "-n", "100000"]);
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_signal_leaves_nothing_behind() {
    use rustix::process::{Pid, Signal, kill_process};

    let world = World::new();
    let out: PathBuf = world.path("out");
    std::fs::write(&out, "as it was").unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        // More than a pipe can hold: when everything is written, the child is running, and its
        // output is open.
        let mut child = world
            .command(&["sample", "-p", "1", "--force", "-o", out.to_str().unwrap()])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(lines(200_000).as_bytes()).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it has no handler to end with a code");
        assert_eq!(names(&world), ["out"]);
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "as it was");
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_mapped_is_reported() {
    let (world, path) = world("");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(1 << 30).unwrap();
    let fifo = world.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    // All records are copied into a pipe that is not read yet, so the child blocks in the middle.
    let child = world
        .command(&["sample", &path, "-p", "1", "--format", "fixed:64", "--method", "mmap"])
        .args(["-o", fifo.to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = std::fs::File::open(&fifo).unwrap();
    let mut some = [0; 4096];
    reader.read_exact(&mut some).unwrap();
    file.set_len(4096).unwrap();
    let _ = std::io::copy(&mut reader, &mut std::io::sink());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("bytelab sample: a mapped file was truncated"), "{stderr}");
}
