//! `bytelab import`: results of other programs become runs that all other commands accept; errors
//! are reported, and nothing is stored then.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{Ran, World, cell};

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/src/import/fixtures").join(name)
}

/// Imports a file, and returns the id of the run.
pub(crate) fn import(world: &World, args: &[&str]) -> String {
    let ran = world.run(&[&["import"], args].concat());
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    id_of(&ran)
}

/// The id that an import shows.
pub(crate) fn id_of(ran: &Ran) -> String {
    let id = ran.stdout.strip_prefix("run ").and_then(|rest| rest.split_once(':'));
    id.unwrap_or_else(|| panic!("{}", ran.stdout)).0.to_owned()
}

pub(crate) fn json_of(world: &World, args: &[&str]) -> Value {
    let ran = world.run(args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    ran.json()
}

pub(crate) fn history(world: &World) -> Vec<Value> {
    json_of(world, &["history", "--json"]).as_array().unwrap().clone()
}

/// Refused with these words, and nothing is stored.
pub(crate) fn refused(world: &World, args: &[&str], expected: &str) {
    let before = history(world).len();
    world.refused(&[&["import"], args].concat(), expected);
    assert_eq!(history(world).len(), before, "{args:?}");
}

#[test]
fn every_format_becomes_a_run_that_is_shown_drawn_and_listed() {
    let world = World::new();
    for (file, format, cells) in [
        ("hyperfine.json", "hyperfine", 2),
        ("google-benchmark.json", "google-benchmark", 6),
        ("google-benchmark-aggregates.json", "google-benchmark", 6),
        ("go.txt", "go", 4),
        ("fio.json", "fio", 2),
        ("fio-bins.json", "fio", 2),
        ("criterion", "criterion", 6),
    ] {
        let path = fixture(file);
        let path = path.to_str().unwrap();
        let guessed = world.run(&["import", path, "--label", "theirs"]);
        assert_eq!(guessed.code, 0, "{}", guessed.stderr);
        let note = format!("taken for --format {format} (");
        assert!(guessed.stderr.contains(&note), "{}", guessed.stderr);
        let id = import(&world, &[path, "--format", format]);
        let shown = json_of(&world, &["show", &id, "--json"]);
        assert_eq!(shown["cells"].as_array().unwrap().len(), cells, "{file}");
        assert_eq!((&shown["experiment"], &shown["complete"]), (&json!(format), &json!(true)));
        let imported = &shown["plan"]["imported"];
        assert_eq!(imported["file"], path);
        assert!(imported["tool"].as_str().unwrap().starts_with(format), "{imported}");
        let text = world.run(&["show", &id, "--percentiles", "--plot", "--notes"]).stdout;
        let one_line = text.replace("\n  ", " ").replace('\n', " ");
        for words in [", not by bytelab", "note: bytelab did not measure this"] {
            assert!(one_line.contains(words), "{words}: {text}");
        }
        let page = world.run(&["report", &id, "-o", "-"]);
        assert_eq!(page.code, 0, "{}", page.stderr);
        assert!(page.stdout.contains("not by bytelab"), "{file}");
    }
    let all = history(&world);
    assert_eq!(all.len(), 14);
    let first = all.iter().find(|run| run["id"] == "1").unwrap();
    assert_eq!((&first["label"], &first["samples"]), (&json!("theirs"), &json!(20)));
    let plot = world.run(&["history", "--plot", "true", "--experiment", "hyperfine"]);
    assert!(plot.stdout.contains("machine not known"), "{}{}", plot.stdout, plot.stderr);
}

#[test]
fn five_runs_a_side_have_a_verdict_and_one_has_none() {
    let world = World::new();
    let side = |label: &str, command: &str, base: f64| {
        for i in 0..5 {
            let times: Vec<f64> = (0..10).map(|k| base + f64::from(i * 10 + k) * 1e-5).collect();
            let results = json!({"results": [
                {"command": command, "times": times}, {"command": "other", "times": [0.5, 0.5]}
            ]});
            let file = world.write("results.json", results.to_string());
            import(&world, &[&file, "--label", label]);
        }
    };
    side("before", "work", 0.2);
    side("after", "work", 0.1);
    let line = |compared: &Value| -> Value {
        let lines = compared["comparisons"].as_array().unwrap();
        lines.iter().find(|line| line["method"] == "work").unwrap().clone()
    };
    let compared = json_of(&world, &["compare", "--label", "before", "--label", "after", "--json"]);
    let found = line(&compared);
    assert_eq!(found["absolute"]["verdict"], "faster", "{found}");
    assert!(found["relative"].is_null(), "{found}");
    let notes = compared["notes"].to_string();
    assert!(
        notes.contains("bytelab did not measure runs 1, 2, 3, 4, 5 of A: hyperfine did"),
        "{notes}"
    );
    assert!(notes.contains("the machine of an imported run is not known"), "{notes}");
    let one = json_of(&world, &["compare", "1", "6", "--json"]);
    assert_eq!(line(&one)["absolute"]["verdict"], "undecided");
    let text = world.run(&["compare", "--label", "before", "--label", "after"]).stdout;
    assert!(text.contains("faster (absolute)") && text.contains("machine not known"), "{text}");
    let shown = json_of(&world, &["show", "1", "--json"]);
    let verdicts: Vec<&Value> =
        shown["comparisons"].as_array().unwrap().iter().map(|c| &c["verdict"]).collect();
    assert_eq!(verdicts, ["undecided"]);
}

#[test]
fn whatever_is_wrong_is_reported_in_one_line_and_nothing_is_stored() {
    let world = World::new();
    let hyperfine = std::fs::read_to_string(fixture("hyperfine.json")).unwrap();
    let hyperfine = hyperfine.trim_end();
    let cut = world.write("cut.json", &hyperfine[..hyperfine.len() / 2]);
    for (args, expected) in [
        (
            &[cut.as_str(), "--format", "nothing"][..],
            "there is no such format; there are hyperfine",
        ),
        (&["/no/such/file"], "bytelab: /no/such/file: No such file"),
        (&["/dev/zero"], "/dev/zero: is a device; name a file"),
        (&[&cut], "the file is cut off"),
        (&[&cut, "--format", "hyperfine"], "line 36 column"),
        (&[&world.write("foreign.json", "{\"a\": 1}")], "not of a known format: hyperfine,"),
        (&[&world.write("foreign.txt", "hello")], "--format NAME says which it is"),
        (&[&world.write("empty", "")], "not of a known format"),
        (&[&world.write("none.json", "{\"results\": []}")], "no result is in it"),
        (&[&world.write("latin", b"Benchmark\xe9")], "latin: not UTF-8 at byte 9"),
        (&[world.dir.path().to_str().unwrap()], "no new/benchmark.json below it"),
        (&[world.dir.path().to_str().unwrap(), "--format", "go"], "is a directory; the text of go"),
        (&[&cut, "--format", "criterion"], "a file; criterion's results are a directory"),
    ] {
        refused(&world, args, expected);
    }
    // The first result is valid: it is not stored without the second.
    let half =
        "{\"results\": [{\"command\":\"a\",\"times\":[1]},{\"command\":\"b\",\"times\":[NaN]}]}";
    refused(&world, &[&world.write("half.json", half)], "\"results[1].times[0]\": NaN at line 1");
    let huge = half.replace("NaN", "1e308");
    refused(&world, &[&world.write("huge.json", huge)], "results[1].times[0]: too large a number");
    let name = "evil\u{1b}[2J\nname.json";
    let ran = world.run(&["import", &world.write(name, "")]);
    assert!(ran.code == 2 && !ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{:?}", ran.stderr);
}

#[test]
fn links_below_a_directory_are_not_followed() {
    let world = World::new();
    std::fs::create_dir_all(world.path("criterion/a")).unwrap();
    symlink(fixture("criterion"), world.path("criterion/elsewhere")).unwrap();
    symlink(world.path("criterion"), world.path("criterion/a/loop")).unwrap();
    let dir = world.path("criterion");
    refused(&world, &[dir.to_str().unwrap()], "no new/benchmark.json below it");
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let world = World::new();
    let file = world.write("secret.json", "{}");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).unwrap();
    let Some(ran) = world.run_as_nobody(&["import", &file]) else { return };
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("secret.json: Permission denied"), "{stderr}");
}

#[test]
fn hostile_names_break_neither_terminal_nor_page_nor_drawing() {
    const HOSTILE: &str = "</script><script>alert(1)</script>\u{1b}[2J\u{202e}\"'&\r\nx\u{9b}31m";
    let world = World::new();
    let results = json!({"results": [
        {"command": HOSTILE, "times": [1.0, 2.0, 3.0], "parameters": {HOSTILE: HOSTILE}},
        {"command": HOSTILE, "times": [1.0, 2.5, 3.0]},
        {"command": HOSTILE, "times": [1.0, 2.5, 3.0]},
    ]});
    let benchmarks = json!({
        "context": {"host_name": HOSTILE, "library_version": HOSTILE, "date": HOSTILE, "executable": HOSTILE},
        "benchmarks": [
            {"name": HOSTILE, "iterations": 1, "real_time": 1.0, "label": HOSTILE, HOSTILE: 1.0},
            {"name": "b", "iterations": 1, "real_time": 2.0, "error_occurred": true, "error_message": HOSTILE}
        ]
    });
    let steers =
        |text: &str| text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}');
    let name = "evil\u{1b}[2J<b>\n.json";
    for document in [results, benchmarks] {
        let file = world.write(name, document.to_string());
        let ran = world.run(&["import", &file, "--label", HOSTILE]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!steers(&ran.stdout) && !steers(&ran.stderr), "{:?}{:?}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
        let id = ran.stdout.strip_prefix("run ").unwrap().split_once(':').unwrap().0;
        let text = world.run(&["show", id, "--percentiles", "--plot"]).stdout;
        assert!(!steers(&text), "{text:?}");
        assert!(!steers(&world.run(&["history"]).stdout));
        let page = world.run(&["report", id, "-o", "-"]).stdout;
        assert!(!page.contains("alert(1)</script>") && !page.contains("<b>\\n"), "{id}");
        let drawings = world.path("drawings");
        let ran = world.run(&["report", id, "--svg", drawings.to_str().unwrap()]);
        if ran.code == 0 {
            for entry in std::fs::read_dir(&drawings).unwrap() {
                let svg = std::fs::read_to_string(entry.unwrap().path()).unwrap();
                assert!(!svg.contains("<script") && !steers(&svg), "{svg}");
            }
        }
    }
}

#[test]
fn many_rows_of_a_file_are_one_run() {
    // A million are parsed by a test of the crate report.
    const N: usize = 200_000;
    let world = World::new();
    let text = format!(
        "{{\"results\":[{{\"command\":\"a\",\"times\":[{}]}}]}}",
        vec!["0.25"; N].join(",")
    );
    let file = world.write("many.json", text);
    import(&world, &[&file]);
    assert_eq!(history(&world)[0]["samples"], N);
}

#[test]
fn a_run_that_was_imported_cannot_be_measured_on() {
    let world = World::new();
    let id = import(&world, &[fixture("go.txt").to_str().unwrap()]);
    let resumed = world.run(&["run", "--resume", &id]);
    assert_eq!(resumed.code, 2, "{}", resumed.stderr);
    for args in
        [&["baseline", "set", "main", &id][..], &["check", "--baseline", &id, "--allow", "wall=5%"]]
    {
        world.refused(args, "which bytelab cannot do again");
    }
    let shown = json_of(&world, &["show", &id, "--json"]);
    assert_eq!(cell(&shown, "Build")["metrics"]["allocated_bytes"]["p50"], 67);
}
