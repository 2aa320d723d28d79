//! `run copying`: what it measures by default is there and moves the bytes; of what does not, it is
//! said.

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
    let ran = world.run(&[SMALL, &alone].concat());
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("none of the chosen methods"), "{}", ran.stderr);
}

#[test]
fn to_null_the_answer_says_that_nothing_was_moved() {
    let world = World::new();
    let ran = world.run(&[SMALL, &["--output", "null", "-m", "cat,mmap-write"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("/dev/null looks at no byte"), "{}", ran.stdout);
}
