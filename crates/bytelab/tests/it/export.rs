//! `export`: each format of a measured run; complete files; clear messages if no export is
//! possible.

use crate::program::World;

pub(crate) fn stored(world: &World, more: &[&str]) -> String {
    let (_, json) = world.reading(&[&["--method", "read,mmap"], more].concat());
    json["id"].as_str().unwrap().to_owned()
}

/// Each format, with text that its output must contain.
const FORMATS: [(&str, &str); 12] = [
    ("json", "\"bytelab\":\"run\""),
    ("csv", "run,experiment,label,"),
    ("tsv", "run\texperiment\tlabel\t"),
    ("markdown", "| method "),
    ("asciidoc", "|===\n| method "),
    ("orgmode", "|---+---"),
    ("hyperfine", "\"exit_codes\":[0,"),
    ("google-benchmark", "\"run_type\":\"aggregate\""),
    ("go", "BenchmarkReading/method=mmap/size=65536"),
    ("github-action-benchmark", "\"name\":\"reading: mmap (size=65536"),
    ("openmetrics", "# EOF\n"),
    ("hdrhistogram", "Tag=mmap/size=65536"),
];

#[test]
fn every_format_of_a_measured_run_can_be_had() {
    let world = World::new();
    let id = stored(&world, &["--label", "mine"]);
    let help = world.run(&["export", "--help"]).stdout;
    for (format, words) in FORMATS {
        assert!(help.contains(&format!("- {format}:")), "{format}: {help}");
        let ran = world.run(&["export", &id, "--format", format]);
        assert_eq!(ran.code, 0, "{format}: {}", ran.stderr);
        assert!(ran.stdout.contains(words), "{format}: {}", ran.stdout);
        assert!(ran.stdout.ends_with('\n'), "{format}");
        let latest = world.run(&["export", "latest", "--format", format]);
        assert_eq!(latest.stdout, ran.stdout, "{format}");
    }
}

#[test]
fn a_file_is_whole_and_its_name_says_the_format() {
    let world = World::new();
    let id = stored(&world, &[]);
    let csv = world.run(&["export", &id, "--format", "csv", "-o", "-"]).stdout;
    let path = world.path("a run.csv");
    std::fs::write(&path, "before").unwrap();
    let link = world.path("link.csv");
    std::os::unix::fs::symlink("a run.csv", &link).unwrap();
    let ran = world.run(&["export", &id, "-o", link.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let written = format!("in {}\n", link.display());
    assert!(ran.stderr.contains(" samples of 2 methods"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with(&written), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), csv);
    let markdown = world.path("run.md");
    let ran = world.run(&["export", &id, "-o", markdown.to_str().unwrap()]);
    let written = format!("bytelab: run {id} as markdown in {}\n", markdown.display());
    assert!(ran.stderr.ends_with(&written), "{}", ran.stderr);
    std::fs::remove_file(&markdown).unwrap();
    let tip = "tip: write it as a format: --format csv";
    world.refused(&["export", &id, "--csv"], tip);
    assert!(link.is_symlink());
    let left = std::fs::read_dir(world.dir.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".bytelab-")), "{left:?}");
    // A named terminal or pipe is not replaced by a file.
    let ran = world.run(&["export", &id, "--format", "csv", "-o", "/dev/stdout"]);
    assert_eq!((ran.code, ran.stdout), (0, csv));
}

#[test]
fn what_cannot_be_exported_is_reported_in_one_line() {
    let world = World::new();
    world.refused(&["export", "latest", "--format", "csv"], "the store is empty");
    let id = stored(&world, &[]);
    let (json, dir) = (world.path("out.json"), world.dir.path());
    let missing = dir.join("no/such/dir/out.csv");
    let [json, dir, missing] =
        [json.as_path(), dir, &missing].map(|path| path.to_str().unwrap().to_owned());
    for (args, word) in [
        (&["export", "77", "--format", "csv"][..], "no run \"77\""),
        (&["export", &id], "name a format: --format json|csv"),
        (&["export", &id, "--format", "xml"], "xml"),
        (&["export", &id, "-o", &json], "several formats are JSON"),
        (&["export", &id, "-f", "csv", "-o", &dir], "is a directory"),
        (&["export", &id, "-o", &missing], "no/such/dir"),
    ] {
        world.refused(args, word);
    }
    assert!(!world.path("out.json").exists());
}

#[test]
fn without_parquet_the_program_says_how_to_get_it() {
    let world = World::new();
    let id = stored(&world, &[]);
    let path = world.path("run.parquet");
    let ran = world.run(&["export", &id, "-o", path.to_str().unwrap()]);
    if cfg!(feature = "parquet") {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let file = std::fs::read(&path).unwrap();
        assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    } else {
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("--features parquet"), "{}", ran.stderr);
        assert!(!path.exists());
    }
}

#[test]
fn what_was_not_measured_is_reported() {
    let world = World::new();
    let script = "echo hello 1; while read -r line; do case $line in prepare*) echo skip no such luck;; \
                  bye) exit;; esac; done";
    let (_, json) = world.reading(&["-m", "read", "--worker", &world.worker("shy", script)]);
    let id = json["id"].as_str().unwrap();
    let ran = world.run(&["export", id, "--format", "csv"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("shy is left out: skipped: no such luck"), "{}", ran.stderr);
    let own = world.run(&["export", id, "--format", "json"]);
    assert_eq!(own.stderr, "");
    let document = own.json();
    assert_eq!(document["cells"][1]["reason"], "no such luck");
}
