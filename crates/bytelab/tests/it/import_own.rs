//! The output of `bytelab export --format json` is imported as the same run.

use serde_json::Value;

use crate::import::{fixture, history, import, json_of, refused};
use crate::program::World;

#[test]
fn our_own_run_comes_back_with_a_new_id() {
    let world = World::new();
    let (_, measured) = world.reading(&["--method", "read,mmap", "--label", "mine"]);
    let id = measured["id"].as_str().unwrap();
    let exported = world.run(&["export", id, "--format", "json"]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let file = world.write("run.json", &exported.stdout);
    let second = import(&world, &[&file]);
    let mut shown = json_of(&world, &["show", &second, "--json"]);
    // What is imported is another record than what was measured here.
    for key in ["id", "uuid"] {
        assert_ne!(shown[key], measured[key]);
        shown[key] = measured[key].clone();
    }
    assert_eq!(shown["environment"]["imported_from"], file.as_str());
    shown["environment"].as_object_mut().unwrap().remove("imported_from");
    assert_eq!(shown, measured);
    let again = world.run(&["export", &second, "--format", "json"]).stdout;
    let (a, mut b): (Value, Value) = (exported.json(), serde_json::from_str(&again).unwrap());
    for key in ["id", "uuid"] {
        b[key] = a[key].clone();
    }
    b["environment"].as_object_mut().unwrap().remove("imported_from");
    assert_eq!(a, b);
    let renamed = import(&world, &[&file, "--format", "json", "--label", "copy"]);
    assert_eq!(json_of(&world, &["show", &renamed, "--json"])["label"], "copy");

    let newer = exported.stdout.replacen("\"schema\":2", "\"schema\":3", 1);
    let newer = newer.replacen("\"schema\": 2", "\"schema\": 3", 1);
    let newer = world.write("newer.json", newer);
    refused(&world, &[&newer], "newer bytelab (schema 3, known here is 2): update bytelab");
    let shown = world.write("shown.json", measured.to_string());
    refused(&world, &[&shown], "use `bytelab export --format json`");
}

#[test]
fn a_plan_that_no_command_line_can_give_is_not_measured_again() {
    let world = World::new();
    let (_, measured) = world.reading(&["--method", "read"]);
    let exported = world.run(&["export", measured["id"].as_str().unwrap(), "--format", "json"]);
    let exported = exported.json();
    for field in ["rounds", "sessions", "warm_up", "counting"] {
        let mut run = exported.clone();
        run["plan"][field] = u32::MAX.into();
        if field == "rounds" {
            run["plan"]["sessions"] = u32::MAX.into();
        }
        let id = import(&world, &[&world.write("run.json", run.to_string())]);
        let args = ["check", "--baseline", &id, "--allow", "wall=5%"];
        world.refused(&args, "more than bytelab measures");
    }
}

#[test]
fn what_another_program_exported_from_us_is_read_again() {
    let world = World::new();
    let (_, measured) = world.reading(&["--method", "read,mmap"]);
    let id = measured["id"].as_str().unwrap();
    for (format, name) in
        [("hyperfine", "hyperfine"), ("google-benchmark", "google-benchmark"), ("go", "go")]
    {
        let exported = world.run(&["export", id, "--format", format]);
        assert_eq!(exported.code, 0, "{format}: {}", exported.stderr);
        let file = world.write("exported", &exported.stdout);
        let again = json_of(&world, &["show", &import(&world, &[&file]), "--json"]);
        assert_eq!(again["experiment"], name);
        // Go also has a line for each counting sample, which has no time.
        let n = |json: &Value| -> usize {
            let times = |cell: &Value| cell["samples"]["wall_ns"].as_array().unwrap().clone();
            let cells = json["cells"].as_array().unwrap();
            cells.iter().flat_map(times).filter(|time| !time.is_null()).count()
        };
        assert_eq!(n(&again), n(&measured), "{format}");
    }
}

#[test]
fn no_command_is_started_because_an_imported_run_names_it() {
    let world = World::new();
    let bait = world.dir.path().join("bait");
    let command = format!("bait=touch {}", bait.display());
    let run = world.run(&[
        "run", "reading", "--size", "64KiB", "--rounds", "1", "-m", "read", "--worker", &command,
    ]);
    let id = run.stdout.split_once("run ").unwrap().1.split(' ').next().unwrap().to_owned();
    assert!(bait.exists(), "{}", run.stderr);
    std::fs::remove_file(&bait).unwrap();
    let exported = world.run(&["export", &id, "--format", "json"]).stdout;
    let imported = import(&world, &[&world.write("run.json", exported)]);
    let checked = world.run(&["check", "--baseline", &imported, "--allow", "wall=5%"]);
    assert!(
        checked.stderr.contains("was imported, and the command of its worker bait"),
        "{}",
        checked.stderr
    );
    assert_ne!(checked.code, 0);
    assert!(!bait.exists());
}

#[test]
fn one_measurement_does_not_count_twice() {
    let world = World::new();
    let file = fixture("hyperfine.json");
    let file = file.to_str().unwrap();
    for label in ["a", "a", "b"] {
        import(&world, &[file, "--label", label]);
    }
    let twice = ["compare", "--label", "a", "--label", "b"];
    world.refused(&twice, "runs 1 and 2 are the same measurement");
    assert_eq!(world.run(&["compare", "1", "3"]).code, 0);
}

#[test]
fn an_imported_run_is_not_resumed_and_names_no_directory() {
    let world = World::new();
    let (_, measured) = world.reading(&["--method", "read"]);
    let exported = world.run(&["export", measured["id"].as_str().unwrap(), "--format", "json"]);
    let mut run = exported.json();
    let bait = world.path("bait");
    run["plan"]["data_dir"] = bait.to_str().unwrap().into();
    let whole = import(&world, &[&world.write("whole.json", run.to_string())]);
    run["complete"] = false.into();
    let part = import(&world, &[&world.write("part.json", run.to_string())]);
    let resumed = world.run(&["run", "--resume", &part]);
    assert!(resumed.stderr.contains("was imported: start a new one"), "{}", resumed.stderr);
    world.run(&["check", "--baseline", &whole, "--allow", "wall=900%"]);
    assert!(!bait.exists());
}

#[test]
fn the_newest_is_the_one_that_started_last_and_not_the_one_stored_last() {
    let world = World::new();
    let (_, measured) = world.reading(&["--method", "read"]);
    let exported = world.run(&["export", "latest", "--format", "json"]);
    let mut run = exported.json();
    run["started"] = "2020-01-01T00:00:00Z".into();
    let old = import(&world, &[&world.write("old.json", run.to_string())]);
    assert_eq!(json_of(&world, &["show", "latest", "--json"])["id"], measured["id"]);
    assert_eq!(history(&world)[0]["id"], old.as_str());
    let none = world.run(&["history", "--until", "2019-01-01"]);
    assert!(none.stdout.contains("no run matches"), "{}", none.stdout);
    let kept = world.run(&[
        "baseline",
        "set",
        "main",
        &import(&world, &[fixture("go.txt").to_str().unwrap()]),
    ]);
    assert!(kept.stderr.contains("which bytelab cannot do again"), "{}", kept.stderr);
}
