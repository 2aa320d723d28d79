//! `bytelab sample --mergeable`: the sample that sketches of parts of the files give.

use record_sampler::{Format, Population, Sampler};

use crate::sample::{lines, world};

#[test]
fn sketches_of_parts_give_what_the_command_draws() {
    let (world, path) = world(&lines(1000));
    let other = &world.write("other", lines(500));
    let args = ["sample", &path, other, "-n", "20", "--seed", "7"];
    let ran = world.run(&[&args[..], &["--mergeable", "--stats"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("records seen   1500\n"), "{}", ran.stderr);
    let sampler = Sampler::exactly(20).seed(7);
    for part_bytes in [10, 333, 2000, 1_000_000] {
        let parts = Population::open([&path, other], Format::Lines).unwrap().parts(part_bytes);
        let sketches = parts.unwrap().into_iter().map(|part| sampler.sketch(&part).unwrap());
        let sketch = sketches.reduce(|one, other| other.merge(one).unwrap()).unwrap();
        let mut out = Vec::new();
        assert_eq!(sketch.write(&mut out).unwrap(), 20);
        assert_eq!(String::from_utf8(out).unwrap(), ran.stdout, "{part_bytes}");
    }
    // It is another sample than without the flag.
    assert_ne!(world.run(&args).stdout, ran.stdout);
    let shuffled = world.run(&[&args[..], &["--mergeable", "--shuffle"]].concat());
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&shuffled.stdout), sorted(&ran.stdout));
    assert_ne!(shuffled.stdout, ran.stdout);
}

#[test]
fn what_does_not_merge_is_refused() {
    let (world, path) = world(&lines(10));
    for (args, expected) in [
        (&["-p", "0.5"][..], "cannot be used with"),
        (&["-n", "1", "--invert"], "cannot be used with"),
        (&["-n", "1", "--method", "mmap"], "is drawn in one pass, without an index"),
        (&["-n", "1", "--format", "csv", "--no-header", "--weight", "9"], "has no column number 9"),
        (&["-n", "11"], "11 records were requested, but there are 10; --at-most takes all"),
    ] {
        let ran = world.run(&[&["sample", &path, "--mergeable"], args].concat());
        assert!(ran.code != 0 && ran.stdout.is_empty(), "{args:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}
