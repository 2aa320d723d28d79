//! `bytelab sample --groups` and keys of several columns.

use std::collections::BTreeSet;

use crate::program::World;
use crate::sample::world;

fn table() -> (World, String) {
    let row = |i: usize| format!("u{},{},\"c,{}\"\n", i % 10, i, i % 2);
    world(&("user,id,\"a,b\"\n".to_owned() + &(0..100).map(row).collect::<String>()))
}

fn users(text: &str) -> BTreeSet<&str> {
    text.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect()
}

#[test]
fn groups_are_drawn_whole() {
    let (world, path) = table();
    let csv = ["sample", &path, "--format", "csv", "--header", "--seed", "4"];
    let run = |args: &[&str]| world.run(&[&csv, args].concat());
    let ran = run(&["--groups", "user", "-n", "3", "--stats"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 31), "{}", ran.stderr);
    assert_eq!(users(&ran.stdout).len(), 3);
    assert!(ran.stderr.contains("records taken  30\n"), "{}", ran.stderr);
    let ran = run(&["--groups", "user", "-p", "40%"]);
    assert_eq!(ran.stdout.lines().count(), 1 + 10 * users(&ran.stdout).len());
    // The same users, whatever else is in the file.
    let first: BTreeSet<String> = users(&ran.stdout).into_iter().map(str::to_owned).collect();
    let other = world.write("other", "user,id,\"a,b\"\nu1,1,\nu2,2,\nu77,3,\nu5,4,\n");
    let mut args = csv;
    args[1] = &other;
    let ran = world.run(&[&args[..], &["--groups", "user", "-p", "40%"]].concat());
    for user in ["u1", "u2", "u5"] {
        assert_eq!(users(&ran.stdout).contains(user), first.contains(user), "{user}");
    }
    for (args, code, expected) in [
        (
            &["--groups", "user", "-n", "11"][..],
            1,
            "11 groups by user were requested, but there are 10",
        ),
        (&["--groups", "user", "--per", "id=1"], 2, "cannot be used with"),
        (&["--groups", "user", "-n", "1", "--shuffle"], 2, "in the order of the files"),
        (&["--groups", "user"], 2, "required arguments were not provided"),
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_key_has_several_columns() {
    let (world, path) = table();
    let run = |per: &str| {
        let args = ["sample", &path, "--format", "csv", "--header", "--per", per, "--seed", "1"];
        let ran = world.run(&args);
        (ran.stdout.lines().count(), ran.stderr)
    };
    assert_eq!(run("user,a\\,b=1"), (11, String::new()));
    assert_eq!(run("a\\,b=3").0, 7);
    assert_eq!(run("user,id=1").0, 101);
    assert!(run("a,b=1").1.contains("there is no column a in the header"));
}

#[test]
fn mapping_is_refused_where_nothing_can_be_mapped() {
    let (world, path) = table();
    let map = ["--method", "mmap", "-n", "1"];
    for args in [
        &["sample", &path, "--format", "csv"][..],
        &["sample", &path, "--format", "csv", "--header", "--weight", "id"],
        &["sample", "/dev/stdin"],
    ] {
        world.refused(&[args, &map].concat(), "mapping is for lines and records");
    }
    assert_eq!(world.run(&[&["sample", path.as_str()], &map[..]].concat()).code, 0);
}

#[test]
fn a_manifest_repeats_the_sample() {
    let (world, path) = world("a\nb\nc\nd\n");
    let manifest = world.path("manifest.json");
    let text = manifest.to_str().unwrap();
    let ran = world.run(&["sample", &path, "-n", "2", "--manifest", text]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = std::fs::read_to_string(&manifest).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let input = serde_json::json!({
        "path": path,
        "size_bytes": 8,
        "sha256": "cf2c7f63055d2e84af6e3f01ac1bb7fce598d20cf213fab2b56b8e8047b46ced",
    });
    assert_eq!(document["inputs"], serde_json::json!([input]));
    assert_eq!((&document["records_seen"], &document["records_taken"][0]), (&4.into(), &2.into()));
    let command: Vec<&str> =
        document["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(world.run(&[&command[1..], &["--force"]].concat()).stdout, ran.stdout);
    for (args, expected) in [
        (&["-n", "9", "--manifest", text][..], "9 records were requested"),
        (&["-n", "1", "--manifest", "/no/such/dir/manifest"], "/no/such/dir/manifest: "),
    ] {
        std::fs::write(&manifest, "before").unwrap();
        let ran = world.run(&[&["sample", path.as_str(), "--force"], args].concat());
        assert!(ran.code != 0 && ran.stderr.contains(expected), "{}", ran.stderr);
        assert_eq!(std::fs::read_to_string(&manifest).unwrap(), "before");
    }
    let ran = world.run(&["sample", "/dev/null", "-n", "0", "--manifest", text]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}
