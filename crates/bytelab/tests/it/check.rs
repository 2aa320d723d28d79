//! check and baseline: exit status, the confirmation, the step summary, and what is refused.

use serde_json::Value;

use crate::program::{World, on_go};

/// A worker that takes the number of ns in a file, with a little variation from sample to sample.
/// Reading the other file takes it longer than that, so the reported times are plausible.
fn worker(world: &World, name: &str, wall: &str) -> String {
    let go = format!(
        "read -r wall < {}; echo \"done $n wall=$((wall + n)) bytes=65536 answer=$(cat {})\"",
        world.path(wall).display(),
        world.path("answer").display()
    );
    world.worker(name, &on_go(&go))
}

/// A baseline of a worker and another one of the same speed, which never changes.
fn baseline(world: &World) -> String {
    std::fs::write(world.path("wall"), "40000\n").unwrap();
    std::fs::write(world.path("steady-wall"), "40000\n").unwrap();
    std::fs::write(world.path("answer"), "7\n").unwrap();
    let steady = worker(world, "steady", "steady-wall");
    let mine = worker(world, "mine", "wall");
    let fixed = "run reading --json --size 64KiB --rounds 10 --sessions 5 --counting 0 --method read \
                 --reference steady";
    let args: Vec<&str> =
        fixed.split_whitespace().chain(["--worker", &steady, "--worker", &mine]).collect();
    world.run(&args).json()["id"].as_str().unwrap().to_owned()
}

fn check(world: &World, args: &[&str]) -> (i32, String) {
    let ran = world.run(&[&["check", "--allow", "wall=5%"], args].concat());
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    (ran.code, ran.stdout + &ran.stderr)
}

#[test]
fn what_is_slower_fails_after_a_second_run() {
    let world = World::new();
    let id = baseline(&world);
    assert_eq!(world.run(&["baseline", "set", "main", &id]).code, 0);
    // The answer of `read` differs from that of the two workers: it is already excluded from the
    // baseline.
    let (code, text) = check(&world, &["--baseline", "main"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("ok        mine wall_ns"), "{text}");
    std::fs::write(world.path("wall"), "48000\n").unwrap();
    let summary = world.path("summary.md");
    std::fs::write(&summary, "before\n").unwrap();
    let mut command =
        world.command(&["check", "--baseline", "main", "--allow", "wall=5%", "--json"]);
    let output = command.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["outcome"], &json["baseline"]), (&"slower".into(), &"main".into()));
    assert_eq!(json["runs"].as_array().unwrap().len(), 2, "a second run confirms it");
    let markdown = std::fs::read_to_string(&summary).unwrap();
    assert!(markdown.starts_with("before\n### bytelab check: slower"), "{markdown}");
    // A larger limit is allowed.
    let ran = world.run(&["check", "--baseline", "main", "--allow", "wall=50%", "--no-store"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn another_answer_or_a_dead_method_is_no_success() {
    let world = World::new();
    let id = baseline(&world);
    std::fs::write(world.path("answer"), "8\n").unwrap();
    let (code, text) = check(&world, &["--baseline", &id]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("failed    mine"), "{text}");
    std::fs::remove_file(world.path("answer")).unwrap();
    assert_eq!(check(&world, &["--baseline", &id]).0, 1);
}

#[test]
fn one_session_is_undecided_and_says_what_to_measure() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read,mmap"]);
    let (code, text) = check(&world, &["--baseline", json["id"].as_str().unwrap()]);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("--sessions 5 or more"), "{text}");
    let (code, text) =
        check(&world, &["--baseline", json["id"].as_str().unwrap(), "--undecided", "ok"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("check: undecided"), "{text}");
}

#[test]
fn a_dry_run_measures_nothing_and_says_when_too_little_is_known() {
    let world = World::new();
    let id = baseline(&world);
    let dry = |args: &[&str]| {
        let (code, text) = check(&world, &[&["--baseline", &id, "--dry-run"], args].concat());
        assert_eq!(code, 0, "{text}");
        text
    };
    let few = dry(&[]);
    assert!(few.contains("mine wall_ns: what would be found is not known"), "{few}");
    assert!(few.contains("the store has 1 of this job") && few.contains("measure 4 more"), "{few}");
    for _ in 0..4 {
        baseline(&world);
    }
    let ran = world.run(&["check", "--baseline", &id, "--allow", "wall=5%", "--dry-run", "--json"]);
    let found = ran.json();
    let line = &found["lines"][1];
    assert_eq!((&line["method"], &line["runs"]), (&"mine".into(), &5.into()), "{found}");
    assert!(line["found_percent"].as_f64().is_some_and(|percent| percent >= 5.0), "{found}");
    let listed = world.run(&["history", "--json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap().as_array().unwrap().len(), 5);
}

#[test]
fn baselines_are_named_listed_and_deleted() {
    let world = World::new();
    world.refused(&["baseline", "set", "main", "1"], "no run \"1\"");
    let none = "no baseline \"main\" (`bytelab baseline list` shows all); ";
    let refused = world.refused(&["check", "--baseline", "main", "--allow", "wall=5%"], none);
    assert!(refused.stderr.contains("no run \"main\""), "{}", refused.stderr);
    world.refused(&["check", "--baseline", "7", "--allow", "wall=5%"], "no run \"7\"");
    world.refused(&["check", "--baseline", "7", "--allow", "speed=5%"], "there is no metric speed");
    world.refused(
        &["check", "--baseline", "7", "--allow", "wall=5%,wall=6%"],
        "names wall_ns twice",
    );
    let (_, json) = world.reading(&["--method", "read"]);
    let id = json["id"].as_str().unwrap();
    world.refused(&["baseline", "set", "7", id], "give a name of one line that is not empty");
    assert_eq!(world.run(&["baseline", "set", "main", id]).code, 0);
    let list = world.run(&["baseline", "list", "--json"]).json();
    assert_eq!(list, serde_json::json!([{"name": "main", "id": id}]));
    world.refused(&["delete", id], "is the baseline \"main\"; nothing was deleted");
    world.refused(
        &["baseline", "delete", "main", "other"],
        "no baseline \"other\"; nothing was deleted",
    );
    assert_eq!(world.run(&["baseline", "delete", "main"]).code, 0);
    assert_eq!(world.run(&["delete", id]).code, 0);
}
