//! What `bytelab sample` draws, and in which order, as a user chooses it.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::Stdio;

use crate::program::{World, fed};
use crate::sample::{lines, names_in, world};

#[test]
fn numbers_are_taken_as_people_write_them() {
    let (world, path) = world(&lines(2000));
    let run = |args: &[&str]| world.run(&[&["sample", &path, "--seed", "1"], args].concat());
    for (one, other) in [
        (["-n", "1e3"], ["-n", "1000"]),
        (["-n", "1.5E2"], ["-n", "150"]),
        (["-n", "2000e-1"], ["-n", "200"]),
        (["-n", "+20.0"], ["-n", "20"]),
        (["-p", "10%"], ["-p", "0.1"]),
        (["-p", "0.5%"], ["-p", "0.005"]),
    ] {
        let (one, other) = (run(&one), run(&other));
        assert_eq!((one.code, one.stdout), (0, other.stdout), "{}", one.stderr);
    }
    for (args, expected) in [
        (["-n", "1.5"], "N is not a whole number of 0 or more (examples: 1000, 1e6)"),
        (["-n", "1e-3"], "N is not a whole number of 0 or more"),
        (["-n", "-5"], "N is not a whole number of 0 or more"),
        (["-n", "-5%"], "-5 % is not from 0 to 100"),
        (["-n", "1e300"], "N is too large: at most 18446744073709551615"),
        (["-n", "18446744073709551616"], "N is too large: at most 18446744073709551615"),
        (["-p", "x%"], "not a number of per cent"),
        (["-p", "101%"], "101 % is not from 0 to 100"),
        (["-p", "x"], "not a probability (examples: 0.1, 10%)"),
        (["-p", "-0.1"], "a probability must be from 0 to 1"),
        (["-p", "-10%"], "-10 % is not from 0 to 100"),
    ] {
        world.refused(&[&["sample", &path, "--seed", "1"], &args[..]].concat(), expected);
    }
    let ran = run(&["-n", "1e16"]);
    let expected = "10000000000000000 records were requested, but there are 2000";
    assert!(ran.code == 1 && ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn there_is_one_amount_and_what_it_needs() {
    let (world, path) = world("k,v\na,1\nb,2\n");
    let own = "--per has an amount of its own, in KEY=N: leave -n and -p out";
    for (args, expected) in [
        (&["-n", "5", "--per", "k=1"][..], own),
        (&["-p", "0.5", "--per", "k=1"], own),
        (&["-n", "5", "-p", "0.5"], "-n draws a number of records, -p each one by chance"),
        (
            &["-n", "5", "--split", "a=1"],
            "--split writes every record: it cannot be combined with -n",
        ),
        (&["--per", "k=1", "--split", "a=1"], "--split writes every record"),
    ] {
        world.refused(&[&["sample", path.as_str()], args].concat(), expected);
    }
    assert_eq!(names_in(world.dir.path()), ["lines"]);
    for amount in ["100%", "10%"] {
        let output = fed(&mut world.command(&["sample", "-n", amount, "--shuffle"]), b"1\n2\n");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let expected = "bytelab sample: a share of all records needs their number: give a file, \
                        or -p P for each record by chance: -p 1 takes all of them\n";
        assert_eq!((output.status.code(), stderr.as_str()), (Some(2), expected));
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
    let output = fed(&mut world.command(&["sample", "-n", "5", "--systematic"]), b"");
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
    let output = fed(&mut command(&["--memory", "64KiB"]), lines(200_000).as_bytes());
    assert!(output.stdout == expected);
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

#[test]
fn records_end_with_any_byte_or_have_several_lines() {
    let (world, path) = world("a\nb\0c\0d");
    let run = |text: &str, args: &[&str]| {
        std::fs::write(&path, text).unwrap();
        world.run(&[&["sample", &path, "-n", "2", "--seed", "1"], args].concat())
    };
    assert_eq!(run("a\nb\0c", &["-z"]).stdout, "a\nb\0c\0");
    assert_eq!(run("a\nb\0c", &["--separator", "\\0"]).stdout, "a\nb\0c\0");
    assert_eq!(run("a;b\n", &["--separator", ";"]).stdout, "a;b\n;");
    assert_eq!(run("a\x1eb\x1e", &["--separator", "\\x1E"]).stdout, "a\x1eb\x1e");
    let fastq = "@1\nAC\n+\nFF\n@2\nGT\n+\nFF\n";
    assert_eq!(run(fastq, &["--lines-per-record", "4"]).stdout, fastq);
    for (args, code, expected) in [
        (&["--separator", "ab"][..], 2, "not a byte (examples: ; \\t \\0 \\x1e)"),
        (&["-z", "--format", "csv"], 2, "only --format lines has a separator"),
        (&["-z", "--separator", ";"], 2, "cannot be used with"),
        (&["--lines-per-record", "0"], 2, "a record must have at least 1 line"),
        (&["--lines-per-record", "3"], 1, "the last record has 2 lines instead of 3, it begins"),
        (&["-z", "--index"], 2, "only files of lines have an index"),
    ] {
        let ran = run(fastq, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn formats_have_names_and_headers_have_rules() {
    let world = World::new();
    let vcf = "##fileformat=VCFv4.2\n##x\n#CHROM\tPOS\n1\t7\n1\t8\n2\t9\n";
    let genotypes = b"\x6c\x1b\x01\x0a\x0b\x0c";
    for (name, bytes) in [
        ("a.vcf", vcf.as_bytes()),
        ("a.bed", genotypes),
        ("a.fam", b"f 1\nf 2\n"),
        ("a.fasta", b">a\nAC\nGT\n>b\nA\n"),
        ("a.sam", b"@HD\tVN:1.6\nread\t4\tchr1\n"),
        ("a.txt", b"one\ntwo\nthree\n"),
    ] {
        std::fs::write(world.path(name), bytes).unwrap();
    }
    let run = |name: &str, args: &[&str]| {
        let path = world.path(name).display().to_string();
        world.run(&[&["sample", &path, "--seed", "1"], args].concat())
    };
    let check = |name: &str, args: &[&str], expected: &str| {
        let ran = run(name, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, expected), "{args:?}: {}", ran.stderr);
    };
    check("a.vcf", &["-n", "3", "--format", "vcf"], vcf);
    check("a.vcf", &["--per", "CHROM=9", "--at-most", "--format", "vcf"], vcf);
    check("a.vcf", &["-n", "3", "--header-prefix", "#"], vcf);
    check("a.vcf", &["-n", "3", "--header-lines", "3"], vcf);
    let all = "\x6c\x1b\x01\x0a\x0b\x0c";
    check("a.bed", &["-n", "3", "--format", "plink-bed"], all);
    check("a.bed", &["-n", "3", "--format", "plink-bed:4"], all);
    check("a.bed", &["-n", "1", "--format", "fixed:3", "--header-bytes", "3"], all);
    check("a.fasta", &["-n", "2", "--format", "fasta"], ">a\nAC\nGT\n>b\nA\n");
    check("a.sam", &["--per", "3=1", "--format", "sam"], "@HD\tVN:1.6\nread\t4\tchr1\n");
    for (name, args, code, expected) in [
        (
            "a.txt",
            &["--format", "plink-bed:4"][..],
            1,
            "a.txt: begins with [6f, 6e, 65] instead of",
        ),
        ("a.txt", &["--format", "fasta"], 1, "the record at offset 0 does not begin with >"),
        ("a.txt", &["--header-bytes", "1"], 2, "a header of bytes is for records of a fixed size"),
        ("a.txt", &["--header-lines", "4"], 1, "has 3 lines, fewer than the 4 of a header"),
        ("a.txt", &["--header", "--header-lines", "4"], 2, "cannot be used with"),
        ("a.txt", &["--mixed-headers"], 2, "--mixed-headers is for files that have headers"),
    ] {
        let ran = run(name, &[&["-n", "1"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
    std::fs::remove_file(world.path("a.fam")).unwrap();
    let ran = run("a.bed", &["-n", "1", "--format", "plink-bed"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("a.fam: it has the samples of the PLINK file"), "{}", ran.stderr);
}

#[test]
fn a_share_of_small_strata_reaches_each_of_them() {
    let rows = (0..10).flat_map(|key| ["a", "b", "c"].map(|id| format!("{id}{key},k{key}\n")));
    let (world, path) = world(&("id,k\n".to_owned() + &rows.collect::<String>()));
    for choice in ["--per k=10%", "-n 3 --stratify k", "-p 0.1 --stratify k"] {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for seed in 0..40 {
            let line = format!("sample {path} {choice} --with-probability --seed {seed}");
            let args: Vec<&str> = line.split(' ').chain(["--format", "csv", "--header"]).collect();
            let ran = world.run(&args);
            assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
            for record in ran.stdout.lines().skip(1) {
                let [_, key, probability] = record.split(',').collect::<Vec<_>>()[..] else {
                    panic!("{record}")
                };
                assert_eq!(probability, "0.1");
                *counts.entry(key.to_owned()).or_default() += 1;
            }
        }
        assert_eq!(counts.len(), 10, "{choice}: {counts:?}");
        assert_eq!(counts.values().sum::<u32>(), 120, "{choice}: {counts:?}");
    }
}

#[test]
fn shares_are_of_all_of_strata_and_of_outputs() {
    let kind = |i: u32| if i.is_multiple_of(4) { "a" } else { "b" };
    let rows = (0..100).fold(String::new(), |text, i| text + kind(i) + &format!(",{i}\n"));
    let (world, path) = world(&rows);
    let run = |args: &[&str]| {
        let csv = ["sample", &path, "--format", "csv", "--no-header", "--seed", "3"];
        let ran = world.run(&[&csv, args].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        let count =
            |text: &str, kind: char| text.lines().filter(|line| line.starts_with(kind)).count();
        (count(&ran.stdout, 'a'), count(&ran.stdout, 'b'))
    };
    let (a, b) = run(&["-n", "10%"]);
    assert_eq!(a + b, 10);
    assert_eq!(run(&["-n", "20", "--stratify", "1"]), (5, 15));
    assert_eq!(run(&["-p", "20%", "--stratify", "1"]), (5, 15));
    assert_eq!(run(&["-n", "20", "--stratify", "1", "--mergeable"]), (5, 15));
    assert_eq!(run(&["--per", "1=3"]), (3, 3));
    let (train, test) = (world.path("train"), world.path("test"));
    let parts = format!("{}=0.8,{}=0.2", train.display(), test.display());
    assert_eq!(run(&["--split", &parts, "--stratify", "1"]), (0, 0));
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(read(&test).lines().filter(|line| line.starts_with('a')).count(), 5);
    let in_order = read(&train);
    assert_eq!(run(&["--split", &parts, "--shuffle", "--force"]), (0, 0));
    let shuffled = read(&train);
    assert_eq!((shuffled.lines().count(), in_order.lines().count()), (80, 80));
    let numbers =
        |text: &str| -> Vec<u32> { text.lines().map(|line| line[2..].parse().unwrap()).collect() };
    assert!(numbers(&in_order).is_sorted() && !numbers(&shuffled).is_sorted());
    for args in [&["-n", "1", "--with-probability"][..], &["-n", "100%", "--with-probability"]] {
        let csv = ["sample", &path, "--format", "csv", "--no-header"];
        let ran = world.run(&[&csv[..], args].concat());
        let probability = if args[1] == "1" { ",0.01" } else { ",1" };
        assert!(ran.stdout.lines().all(|line| line.ends_with(probability)), "{}", ran.stdout);
    }
}
