//! `run copying`: the default methods are available and copy the bytes; the reason is reported for
//! a method that cannot run.

use crate::program::World;

const SMALL: &[&str] = &["run", "copying", "--size", "300001", "--rounds", "2", "--counting", "0"];

#[test]
fn a_default_run_moves_the_bytes_and_exits_0() {
    let world = World::new();
    let ran = world.run(SMALL);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for word in ["skipped", "failed", "/dev/null"] {
        assert!(!ran.stdout.contains(word), "{word}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("output=pipe"), "{}", ran.stdout);
}

#[test]
fn a_method_that_cannot_work_between_the_ends_does_not_take_part() {
    let world = World::new();
    let ends = ["--input", "pipe,file", "--output", "socket,file"];
    let ran = world.run(&[SMALL, &ends].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let named = ["-m", "cat,sendfile", "--input", "pipe"];
    let ran = world.run(&[SMALL, &named].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let alone = ["-m", "sendfile", "--input", "pipe"];
    world.refused(&[SMALL, &alone].concat(), "none of the chosen methods");
}

#[test]
fn to_null_the_answer_says_that_nothing_was_moved() {
    let world = World::new();
    let ran = world.run(&[SMALL, &["--output", "null", "-m", "cat,mmap-write"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("/dev/null looks at no byte"), "{}", ran.stdout);
}

#[test]
fn a_named_method_that_takes_no_part_is_noted_and_as_the_reference_refused() {
    let world = World::new();
    let named = [SMALL, &["--output", "null", "-m", "cat,cp,cop*"]].concat();
    let ran = world.run(&[&named[..], &["--notes"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let note = "note: cp: takes part only with input=file output=file";
    assert!(ran.stdout.contains(note), "{}", ran.stdout);
    let ran = world.run(&[&named[..], &["--json"]].concat());
    let json = ran.json();
    let of =
        |note: &&serde_json::Value| note["method"] == "cp" || note["method"] == "copy-file-range";
    let notes: Vec<_> = json["notes"].as_array().unwrap().iter().filter(of).collect();
    assert_eq!(notes.len(), 1, "what only a pattern names is not noted: {notes:?}");
    assert_eq!(notes[0]["text"], "takes part only with input=file output=file");

    let line = "--reference cp: takes part only with input=file output=file";
    world.refused(&[&named[..], &["--reference", "cp"]].concat(), line);
}
