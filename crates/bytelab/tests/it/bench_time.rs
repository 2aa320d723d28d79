//! `bytelab bench` and time: what is left where it is short, and which limits there are.

use crate::program::World;

/// Each command has its figure although there is time for nothing; it is compared with nothing.
#[test]
fn a_time_that_is_too_short_leaves_one_run_of_each_command() {
    let world = World::new();
    let args = ["--time", "1ms", "echo a >>log; sleep 0.01", "echo b >>log; sleep 0.01"];
    let ran = world.bench(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let mut lines = world.lines("log");
    lines.sort();
    assert_eq!(lines, ["a", "b"]);
    assert!(ran.stderr.contains("0.001 s are too short for a verdict"), "{}", ran.stderr);
    assert!(ran.stdout.contains("There is no verdict: each method was run once"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("  estimate ").count(), 2, "{}", ran.stdout);
    // The same is stored, and in what is exported.
    let shown = world.run(&["show", "latest"]).stdout;
    assert!(shown.contains("each method was run once") && shown.contains("  estimate "), "{shown}");
    let json = world.run(&["show", "latest", "--json"]).json();
    for cell in json["cells"].as_array().unwrap() {
        assert_eq!(cell["metrics"]["wall_ns"]["n"], 1, "{cell}");
        assert!(cell["metrics"]["wall_ns"]["p50"].is_number(), "{cell}");
    }
    assert_eq!(json["comparisons"].as_array().unwrap().len(), 0);
    let hyperfine = world.run(&["export", "latest", "--format", "hyperfine"]).stdout;
    assert_eq!(hyperfine.matches("\"times\":[0.").count(), 2, "{hyperfine}");
}

#[test]
fn a_command_has_as_long_as_it_takes_unless_it_is_said() {
    let world = World::new();
    let json = world.bench_json(&["-r", "1", "true"]);
    // The limit of a plan without one.
    assert_eq!(json["plan"]["sample_limit_ns"], (1_u64 << 53) - 1);
    let json = world.bench_json(&["-r", "1", "--timeout", "9s", "true"]);
    assert_eq!(json["plan"]["sample_limit_ns"], 9_000_000_000_u64);
}

/// The time that one command has without a flag may be exceeded for six runs; one that is given may
/// not.
#[test]
fn the_time_of_one_command_gives_way_to_six_runs_unless_it_is_given() {
    let world = World::new();
    let limits = |args: &[&str]| {
        let json = world.bench_json(&[args, &["-w", "0", "--counting", "0", "true"]].concat());
        let plan = &json["plan"];
        (plan["time_limit_ns"].as_u64().unwrap(), plan["limits_all"] == true)
    };
    assert_eq!(limits(&["-m", "3"]), (3_000_000_000, false));
    assert_eq!(limits(&["--time", "20ms"]), (20_000_000, true));
}
