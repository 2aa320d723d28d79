//! compare, published results, history's filters and plot.

use serde_json::Value;

use crate::program::{World, on_go};

/// Five sessions of one round.
const FEW: &[&str] = &["--method", "read,mmap", "--sessions", "5", "--counting", "1"];

fn measure(world: &World, args: &[&str]) -> String {
    let (code, json) = world.reading(&[FEW, args].concat());
    assert_eq!(code, 0, "{json}");
    json["id"].as_str().unwrap().to_owned()
}

#[test]
fn two_runs_have_ratios_and_no_verdict() {
    let world = World::new();
    let (a, b) = (measure(&world, &[]), measure(&world, &[]));
    let text = world.run(&["compare", &a, &b]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    for part in ["A: run 1", "mmap", "no verdict", "run 4 more of A", "B/A by metric"] {
        // Lines are wrapped at the width of the page.
        let words: Vec<&str> = text.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(part), "{part}: {}", text.stdout);
    }
    let json = world.run(&["compare", &a, &b, "--json"]).json();
    assert_eq!(json["experiment"], "reading");
    let lines = json["comparisons"].as_array().unwrap();
    let wall = lines.iter().find(|l| l["method"] == "mmap" && l["metric"] == "wall_ns").unwrap();
    assert!(wall["absolute"]["ratio"].as_f64().unwrap() > 0.0);
    assert!(wall["relative"]["ratio"].as_f64().unwrap() > 0.0);
    assert_eq!((&wall["reference"], &wall["absolute"]["low"]), (&"read".into(), &Value::Null));
    let calls = lines.iter().find(|l| l["method"] == "read" && l["metric"] == "syscalls");
    // Without permission nothing is counted.
    assert!(calls.is_none_or(|l| l["absolute"]["verdict"] == "same"), "{calls:?}");
}

#[test]
fn five_labelled_runs_a_side_have_an_interval() {
    let world = World::new();
    for label in ["one", "other"] {
        for _ in 0..5 {
            measure(&world, &["--label", label]);
        }
    }
    let args = ["compare", "--label", "one", "--label", "other", "--json"];
    let json = world.run(&args).json();
    assert_eq!(json["a"]["runs"].as_array().unwrap().len(), 5);
    let line = &json["comparisons"][0];
    assert!(line["absolute"]["low"].as_f64() <= line["absolute"]["ratio"].as_f64(), "{line}");
    let text = world.run(&args[..5]).stdout;
    assert!(!text.contains("no verdict"), "{text}");
    // All ten are from one machine.
    let machine = json["a"]["machines"][0].as_str().unwrap();
    world.refused(&["compare", "1,2,3,4,5", "--machine", &machine[..8]], "run 1 is on both sides");
}

/// A run of a worker that reports this wall time, with another worker that never changes.
fn run_with_wall(world: &World, label: &str, wall_ns: u32) -> String {
    let worker = |name: &str, wall_ns: u32| {
        // Longer than the reported time.
        let go = format!(
            "i=0; while [ $i -lt 400 ]; do i=$((i + 1)); done
             echo \"done $n wall=$(({wall_ns} + n)) bytes=65536 answer=7 calls=$(({wall_ns} / 100))\""
        );
        world.worker(name, &on_go(&go))
    };
    let (steady, mine) = (worker("steady", 40_000), worker("mine", wall_ns));
    let fixed = "--method read --sessions 3 --counting 0 --reference steady".split(' ');
    let args = fixed.chain(["--worker", &steady, "--worker", &mine, "--label", label]);
    let (code, json) = world.reading(&args.collect::<Vec<_>>());
    // The answer of `read` differs from that of the two.
    assert_eq!(code, 1, "{json}");
    json["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_gate_on_stored_runs_has_an_exit_status() {
    let world = World::new();
    for _ in 0..5 {
        run_with_wall(&world, "a", 40_000);
        run_with_wall(&world, "b", 20_000);
    }
    let code = |args: &[&str]| {
        let ran = world.run(&[&["compare"], args].concat());
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        (ran.code, ran.stdout)
    };
    let slower = code(&["--label", "b", "--label", "a", "--fail", "wall=5%"]);
    assert_eq!(slower.0, 3, "{}", slower.1);
    assert!(slower.1.contains("slower    mine wall_ns"), "{}", slower.1);
    assert!(slower.1.ends_with("compare --fail: slower\n"), "{}", slower.1);
    let faster = code(&["--label", "a", "--label", "b", "--fail", "wall=5%", "--json"]);
    assert_eq!(faster.0, 0, "{}", faster.1);
    let gate: Value = serde_json::from_str(&faster.1).unwrap();
    assert_eq!(gate["gate"]["outcome"], "faster", "{gate}");
    assert_eq!(code(&["--label", "b", "--label", "a", "--fail", "wall=150%"]).0, 0);
    // One run per side decides nothing, nor does a method that was not measured.
    assert_eq!(code(&["1", "2", "--fail", "wall=150%"]).0, 4);
    let two = code(&[
        "--label",
        "b",
        "--label",
        "a",
        "--fail",
        "wall=150%",
        "--fail",
        "rss=5%,syscalls=5%",
    ]);
    assert_eq!(two.0, 4, "{}", two.1);
    assert_eq!(code(&["1", "2"]).0, 0);
    world.refused(&["compare", "1", "2", "--fail", "wall"], "write METRIC=N%");
    world.refused(&["compare", "1", "2", "--fail", "wall=5%,wall=6%"], "names wall_ns twice");
    let published = ["compare", "1", "published:urlsession-m2", "--fail", "wall=5%"];
    world.refused(&published, "decides nothing");
}

#[test]
fn what_cannot_be_compared_is_reported() {
    let world = World::new();
    world.refused(&["compare", "1"], "1 side is named, but two are compared");
    world.refused(&["compare", "1", "2"], "no run \"1\"");
    let run = measure(&world, &[]);
    world.refused(&["compare", &run, &run], "run 1 is on both sides");
    world.refused(&["compare", &run, "99"], "no run \"99\"");
    world.refused(&["compare", &run, "x"], "no run \"x\"");
    world.refused(&["compare", &run, "1,1"], "named twice");
    world.refused(&["compare", &run, "--label", "none"], "no run of label none");
    world.refused(&["compare", &run, "published:none"], "no published result \"none\"");
    world.refused(&["compare", &run, "published:iphone-x"], "numbers and reading");
    world.refused(&["compare", "published:fleece", "published:iphone-x"], "no job in common");
    let args =
        ["run", "reading", "--json", "--size", "128KiB", "--rounds", "1", "--method", "read"];
    let other = world.run(&args).json()["id"].as_str().unwrap().to_owned();
    world.refused(&["compare", &run, &other], "at the same point");
    let cold = measure(&world, &["--cache", "as-is"]);
    world.refused(&["compare", &run, &cold], "--despite-differences");
    let all_the_same = world.run(&["compare", &run, &cold, "--despite-differences"]);
    assert_eq!(all_the_same.code, 0, "{}", all_the_same.stderr);
    let numbers = world.run(&["numbers", "--row", "mutex", "--rounds", "3", "--json"]);
    let numbers = numbers.json()["id"].as_str().unwrap().to_owned();
    world.refused(&["compare", &run, &numbers], "different experiments (numbers and reading)");
}

#[test]
fn published_results_stand_beside_a_run_without_a_verdict() {
    let world = World::new();
    let list = world.run(&["list", "published"]).stdout;
    for name in ["urlsession-m2", "urlsession-imac", "iphone-x", "bytestring-2007", "fleece"] {
        assert!(list.contains(&format!("published:{name}\n")), "{list}");
    }
    let table = world.run(&["list", "published:urlsession-m2"]).stdout;
    assert!(table.contains("M2 MacBook Air") && table.contains("36 ms"), "{table}");
    let run = measure(&world, &[]);
    let text = world.run(&["compare", &run, "published:urlsession-m2"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    let text = text.stdout;
    for part in ["another machine: M2", "No verdict", "known against it", "64 KiB here, 128 MiB"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("faster") && !text.contains("slower"), "{text}");
    let beside = world
        .run(&["compare", "published:urlsession-m2", "published:urlsession-imac", "--json"])
        .json();
    assert_eq!((&beside["verdict"], &beside["a"]["published"]), (&Value::Null, &true.into()));
    let wall = beside["ratios"].as_array().unwrap().iter();
    assert_eq!(wall.filter(|ratio| ratio["metric"] == "wall_ns").count(), 14);
    let rows = ["numbers", "--row", "mutex,pread", "--rounds", "3", "--json"];
    let numbers = world.run(&rows).json()["id"].as_str().unwrap().to_owned();
    let phone = world.run(&["compare", &numbers, "published:iphone-x", "--json"]).json();
    let ratios = phone["ratios"].as_array().unwrap();
    // A mutex is not a hand-over: only the read has the same meaning.
    assert_eq!(ratios.len(), 1, "{phone}");
    assert_eq!(
        (&ratios[0]["method"], &ratios[0]["b"]),
        (&"latency.disk_ns".into(), &1300.0.into())
    );
}

#[test]
fn history_is_filtered_and_drawn() {
    let world = World::new();
    assert_eq!(world.run(&["history", "--json"]).stdout, "[]\n");
    world.refused(&["history", "--plot", "read"], "no value of wall_ns of a method read in 0 runs");
    for label in ["a", "b", "b"] {
        measure(&world, &["--label", label]);
    }
    let count = |args: &[&str]| {
        let all = [&["history", "--json"], args].concat();
        world.run(&all).json().as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--label", "b"]), 2);
    assert_eq!(count(&["--experiment", "files"]), 0);
    assert_eq!(count(&["--since", "2020-01-01", "--until", "9999-12-31"]), 3);
    assert_eq!(count(&["--until", "2020-01-01"]), 0);
    assert_eq!(count(&["--machine", "no such machine"]), 0);
    world.refused(&["history", "--since", "soon"], "2026-01-31");
    let drawn = world.run(&["history", "--plot", "mmap"]);
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    assert!(drawn.stdout.contains('•') && drawn.stdout.contains("3 runs are too few"));
    let series = world.run(&["history", "--plot", "mmap", "--metric", "cpu", "--json"]).json();
    assert_eq!(series["metric"], "cpu_ns");
    assert_eq!(series["series"][0]["values"].as_array().unwrap().len(), 3);
    world.refused(&["history", "--plot", "mmap", "--metric", "furlongs"], "no value of furlongs");
}
