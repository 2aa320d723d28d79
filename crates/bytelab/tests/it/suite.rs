//! check --suite: a suite of a harness that only says how long it took, so that what is slower is
//! known.

use std::path::Path;

use serde_json::Value;

use crate::bench_revisions::{git, repository};
use crate::program::{Ran, World, script};

/// Prints the result that Google Benchmark would: the time is in a file of the tree, and varies by
/// about a thousandth from process to process. It starts no other program, as it runs hundreds of
/// times.
const BENCH: &str = r#"#!/bin/sh
dir=${0%/*}
if [ "$1" = --list ]; then ls "$dir/times"; exit; fi
printf '%s\n' "$1" >>"$HOME/log"
read -r ns <"$dir/times/$1" || { echo 'no such time' >&2; exit 3; }
case $ns in *[!0-9]*) echo "$ns" is no time >&2; exit 4 ;; esac
printf '{"context":{},"benchmarks":[{"name":"one","iterations":7,"real_time":%d.5,"time_unit":"ns"}]}\n' \
    $((ns + $$ % 13))
"#;

/// A folder with a suite of these times.
fn suite(folder: &Path, times: &[(&str, &str)]) {
    std::fs::create_dir_all(folder.join("times")).unwrap();
    for (name, ns) in times {
        std::fs::write(folder.join("times").join(name), format!("{ns}\n")).unwrap();
    }
    script(&folder.join("bench"), BENCH);
}

/// Checks the folder `new` against `old`.
fn check(world: &World, args: &[&str]) -> Ran {
    check_in(world, "new", &[&["--against", "../old"], args].concat())
}

fn check_in(world: &World, folder: &str, args: &[&str]) -> Ran {
    let fixed =
        ["check", "--suite-command", "{tree}/bench {name}", "--suite-list", "{tree}/bench --list"];
    let mut command = world.command(&[&fixed[..], args].concat());
    let ran = Ran::new(command.current_dir(world.path(folder)).output().unwrap());
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

fn shown(ran: &Ran) -> String {
    format!("{}: {}{}", ran.code, ran.stdout, ran.stderr)
}

const EQUAL: [(&str, &str); 4] =
    [("copy", "20000"), ("join", "30000"), ("parse", "40000"), ("split", "50000")];

fn sides(old: &[(&str, &str)], new: &[(&str, &str)]) -> World {
    let world = World::new();
    suite(&world.path("old"), old);
    suite(&world.path("new"), new);
    // The programs are equal, and this file says that the suites are not.
    std::fs::write(world.path("new/changed"), "").unwrap();
    world
}

#[test]
fn what_takes_twice_as_long_is_slower_in_two_sets_of_sessions() {
    let slower: Vec<(&str, &str)> = EQUAL
        .iter()
        .map(|(name, ns)| (*name, if *name == "join" { "60000" } else { *ns }))
        .collect();
    let world = sides(&EQUAL, &slower);
    let files = ["junit.xml", "bmf.json"].map(|name| world.path(name));
    let [junit, bmf] = files.each_ref().map(|path| path.to_str().unwrap());
    let ran = check(&world, &["--junit", junit, "--bmf", bmf]);
    assert_eq!(ran.code, 3, "{}", shown(&ran));
    let first = ran.stdout.lines().next().unwrap();
    assert!(first.starts_with("slower    join: 30 µs → 60 µs, +100 % ("), "{}", shown(&ran));
    assert!(first.contains("confirmed by +100 % of 6"), "{}", shown(&ran));
    assert!(ran.stdout.contains("ok        3 benchmarks: not above +2.0 %"), "{}", shown(&ran));
    assert!(ran.stderr.contains("a second must confirm it"), "{}", shown(&ran));
    let xml = std::fs::read_to_string(junit).unwrap();
    // The mean of four, of which one takes twice as long, is slower, too.
    assert!(ran.stdout.contains(": the suite as a whole is slower"), "{}", shown(&ran));
    assert!(xml.contains("tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"0\""), "{xml}");
    let bmf: Value = serde_json::from_str(&std::fs::read_to_string(bmf).unwrap()).unwrap();
    let value = bmf["join"]["latency"]["value"].as_f64().unwrap();
    assert!((60_000.0..60_020.0).contains(&value), "{bmf}");
    // The run is stored as any other: a point for each benchmark, and a method for each side.
    let run = world.run(&["show", "--json"]).json();
    assert_eq!(run["cells"].as_array().unwrap().len(), 8);
    assert_eq!(
        (&run["experiment"], &run["cells"][0]["method"]),
        (&"suite".into(), &"copy@old".into())
    );
    let history = world.run(&["history", "--plot", "join"]);
    assert_eq!(history.code, 0, "{}", shown(&history));
    let report = world.path("report.html");
    let report = world.run(&["report", "-o", report.to_str().unwrap()]);
    assert_eq!(report.code, 0, "{}", shown(&report));
}

#[test]
fn equal_sides_are_ok_and_what_is_faster_is_named() {
    let world = sides(&EQUAL, &EQUAL);
    let ran = check(&world, &["--json", "--no-store"]);
    assert_eq!(ran.code, 0, "{}", shown(&ran));
    let json = ran.json();
    assert_eq!((&json["outcome"], &json["run"]), (&"ok".into(), &Value::Null));
    let ratio = json["geometric_mean"]["ratio"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 1e-3, "{json}");
    std::fs::write(world.path("new/times/parse"), "30000\n").unwrap();
    let ran = check(&world, &["--allow", "wall=5%", "--filter", "*p*"]);
    assert_eq!(ran.code, 0, "{}", shown(&ran));
    assert!(ran.stdout.starts_with("faster    parse: 40 µs → 30 µs, -25 % ("), "{}", shown(&ran));
    // join has no p.
    assert!(ran.stdout.contains("ok        2 benchmarks: not above +5.0 %"), "{}", shown(&ran));
}

#[test]
fn equal_trees_are_the_same_program_and_not_run() {
    let world = sides(&EQUAL, &EQUAL);
    std::fs::remove_file(world.path("new/changed")).unwrap();
    // There is no difference to explain either.
    let why = ["--why", "join"];
    for args in [&why[..0], &why] {
        let ran = check(&world, args);
        assert_eq!(ran.code, 0, "{}", shown(&ran));
        assert!(
            ran.stdout.contains("the same program on both sides, not run: the suite"),
            "{}",
            shown(&ran)
        );
    }
    assert!(!world.path("log").exists());
}

#[test]
fn benchmarks_that_are_new_gone_or_broken_are_named() {
    let world = sides(
        &EQUAL,
        &[("copy", "20000"), ("fresh", "10000"), ("join", "30000"), ("split", "x y")],
    );
    let ran = check(&world, &[]);
    assert_eq!(ran.code, 1, "{}", shown(&ran));
    for expected in [
        "failed    split: new: ",
        "x y is no time",
        "new, and not compared: fresh\n",
        "gone, and not compared: parse\n",
        "ok        2 benchmarks: not above",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {}", shown(&ran));
    }
    let run = world.run(&["show", "--json"]).json();
    let failed = run["cells"].as_array().unwrap().iter().filter(|cell| cell["status"] == "failed");
    assert_eq!(failed.count(), 1);
}

#[test]
fn names_are_words_whatever_is_in_them() {
    let odd = [("a b", "20000"), ("it's \"$HOME\" `id`; *", "30000"), ("-n", "40000")];
    let world = sides(&odd, &odd);
    let ran = check(&world, &["--json"]);
    assert_eq!(ran.code, 0, "{}", shown(&ran));
    let json = ran.json();
    let mut names: Vec<&str> = json["benchmarks"].as_array().unwrap().iter().map(name).collect();
    names.sort_unstable();
    assert_eq!(names, ["-n", "a b", "it's \"$HOME\" `id`; *"]);
    let log = std::fs::read_to_string(world.path("log")).unwrap();
    assert!(log.lines().all(|line| names.contains(&line)), "{log}");
}

fn name(line: &Value) -> &str {
    line["name"].as_str().unwrap()
}

#[test]
fn without_time_nothing_is_decided() {
    let world = sides(&EQUAL, &EQUAL);
    let ran = check(&world, &["--time", "0s"]);
    assert_eq!(ran.code, 4, "{}", shown(&ran));
    assert!(ran.stdout.contains("undecided copy: too few sessions"), "{}", shown(&ran));
    let ran = check(&world, &["--time", "0s", "--undecided", "ok"]);
    assert_eq!(ran.code, 0, "{}", shown(&ran));
}

#[test]
fn revisions_are_measured_in_worktrees() {
    let Some(world) = repository() else { return };
    let home = world.dir.path();
    suite(&home.join("sub"), &[("parse", "40000"), ("join", "30000")]);
    let commit = |message: &str| {
        git(home, 3, &["add", "sub"]).unwrap();
        git(home, 3, &["commit", "--quiet", "-m", message]).unwrap();
    };
    commit("a suite");
    std::fs::write(home.join("sub/times/parse"), "80000\n").unwrap();
    commit("a slowdown");
    std::fs::write(home.join("sub/times/parse"), "90000\n").unwrap();
    let ran = check_in(&world, "sub", &["--against", "HEAD~1"]);
    assert_eq!(ran.code, 3, "{}", shown(&ran));
    assert!(ran.stdout.starts_with("slower    parse: 40 µs → 80 µs, +100 %"), "{}", shown(&ran));
    assert!(
        ran.stderr.contains("changes that are not committed are not measured"),
        "{}",
        shown(&ran)
    );
    let by_commit = world.run_in_home(&["history", "--plot", "parse", "--by", "commit"]);
    assert!(by_commit.stdout.contains("a slowdown"), "{}", shown(&by_commit));
    // Nothing is left of the worktrees.
    let known = std::fs::read_dir(home.join(".git/worktrees")).map_or(0, Iterator::count);
    assert_eq!(known, 0);
    let refused = check_in(&world, "sub", &["--against", "nosuch"]);
    assert_eq!(refused.code, 2, "{}", shown(&refused));
    assert!(
        refused.stderr.contains("nosuch is no folder and no program: --against nosuch: "),
        "{}",
        shown(&refused)
    );
}

#[test]
fn a_suite_against_itself_proves_the_gate() {
    let world = sides(&EQUAL, &EQUAL);
    let ran = check_in(&world, "new", &["--prove", "1ms", "--time", "1h"]);
    assert_eq!(ran.code, 0, "{}", shown(&ran));
    assert!(ran.stdout.contains("0 of 1 red (at most 95.0 %, at 95 %)"), "{}", shown(&ran));
    assert!(ran.stdout.contains("the worst benchmark, "), "{}", shown(&ran));
    let ran = check_in(&world, "new", &["--prove", "1ms", "--json"]);
    let json = ran.json();
    assert_eq!((&json["gates"], &json["red"]), (&1.into(), &0.into()));
    let percent = json["middle"]["percent"].as_f64().unwrap();
    assert!((2.0..5.0).contains(&percent), "{json}");
}

#[test]
fn what_cannot_be_run_or_has_no_time_proves_nothing() {
    let world = sides(&EQUAL, &[("copy", "x"), ("join", "0x")]);
    let ran = check_in(&world, "new", &["--prove", "1h"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", shown(&ran));
    assert!(ran.stderr.contains("join failed: "), "{}", shown(&ran));
    assert!(ran.stderr.contains("no benchmark could be run"), "{}", shown(&ran));
    let ran = check_in(&world, "old", &["--prove", "0s", "--time", "0s"]);
    assert_eq!(ran.code, 0, "{}", shown(&ran));
    assert!(ran.stdout.contains("no benchmark had its first six sessions"), "{}", shown(&ran));
}

/// Takes as many steps as it has ms, and thus as many on a side as that side takes longer.
const WORKING_BENCH: &str = r#"#!/bin/sh
dir=${0%/*}
if [ "$1" = --list ]; then ls "$dir/times"; exit; fi
printf '%s %s\n' "$1" "$2" >>"$HOME/log"
i=0
while [ $i -lt $(($2 * 100)) ]; do i=$((i + 1)); done
read -r ns <"$dir/times/$1"
printf '{"context":{},"benchmarks":[{"name":"one","iterations":7,"real_time":%d.5,"time_unit":"ns"}]}\n' $((ns + $$ % 13))
"#;

#[test]
fn both_sides_of_a_benchmark_are_profiled_with_as_many_iterations() {
    let world = sides(&[("join", "30000"), ("copy", "20000")], &[("join", "60000")]);
    for side in ["old", "new"] {
        script(&world.path(side).join("bench"), WORKING_BENCH);
    }
    let fixed = ["check", "--against", "../old", "--suite-list", "{tree}/bench --list"];
    let run = ["--suite-command", "{tree}/bench {name} {ms}", "--each", "1ms", "--json"];
    let check = |why: &str| {
        let mut command = world.command(&[&fixed[..], &run, &["--why", why]].concat());
        Ran::new(command.current_dir(world.path("new")).output().unwrap())
    };
    let ran = check("copy");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", shown(&ran));
    assert!(ran.stderr.contains("--why copy: no benchmark that is measured"), "{}", shown(&ran));
    let ran = check("join");
    assert_eq!(ran.code, 3, "{}", shown(&ran));
    assert!(ran.stderr.contains("profiling join"), "{}", shown(&ran));
    let log = std::fs::read_to_string(world.path("log")).unwrap();
    let times = |ms: &str| log.lines().filter(|line| *line == format!("join {ms}")).count();
    // 500 ms of 60 µs are as many as 250 ms of 30 µs.
    let profiled = [times("249") + times("250"), times("499") + times("500")];
    let run = world.run(&["show", "--json"]).json();
    if run["plan"]["profile"].is_null() {
        assert!(ran.stderr.contains("--why join: profile: "), "{}", shown(&ran));
        return println!("skipped: {}", ran.stderr);
    }
    let profile = &run["plan"]["profile"];
    let slowdown = profile["traced_slowdown"].as_f64();
    // The first one warms up; beside traced ones there is one that is not traced.
    let more = 1 + usize::from(slowdown.is_some());
    for (side, n) in profiled.into_iter().enumerate() {
        let jobs = profile["cells"][side]["jobs"].as_array().unwrap().len();
        assert!((6..=20).contains(&jobs) && n == jobs + more, "{jobs} of {n}: {log}");
    }
    // A run takes about a thousand times as long as the iteration that the gate knows.
    assert!(slowdown.is_none_or(|times| times < 100.0), "{slowdown:?}");
    let why = &ran.json()["why"][0];
    let pair = ["method", "reference"].map(|side| why[side].as_str().unwrap().to_owned());
    assert_eq!(pair, ["join", "join@old"]);
    assert!(why["jobs"].as_u64() >= Some(6), "{why}");
    let shown = world.run(&["show", "latest"]).stdout;
    assert!(shown.contains("why: join against join@old"), "{shown}");
}

/// A program that libtest could have made.
fn libtest(path: &Path, ns: u32) {
    let text = format!(
        r#"#!/bin/sh
case " $* " in
*' --help '*) echo '        --nocapture     do not capture' ;;
*' --list '*) echo 'join: bench' ;;
*) echo "test join ... bench: $(({ns} + $$ % 13)) ns/iter (+/- 7)" ;;
esac
"#
    );
    script(path, &text);
}

/// Says which programs it has built, as cargo does.
const CARGO: &str = r#"#!/bin/sh
for name in parse print; do
    printf '{"reason":"compiler-artifact","manifest_path":"%s/Cargo.toml",' "$PWD"
    printf '"target":{"name":"%s","kind":["bench"]},"profile":{"test":true},' $name
    printf '"executable":"%s/%s-new"}\n' "$PWD" $name
done
"#;

#[test]
fn a_program_that_was_built_before_is_an_old_side() {
    let world = World::new();
    for folder in ["new", "old", "bin"] {
        std::fs::create_dir(world.path(folder)).unwrap();
    }
    script(&world.path("bin/cargo"), CARGO);
    libtest(&world.path("new/parse-new"), 60_000);
    libtest(&world.path("new/print-new"), 70_000);
    libtest(&world.path("old/parse-0123456789abcdef"), 30_000);
    libtest(&world.path("old/saved"), 30_000);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", world.path("bin").display());
    let check = |old: &str| {
        let mut command = world.command(&["check", "--suite", "cargo", "--against", old]);
        command.current_dir(world.path("new")).env("PATH", &path);
        Ran::new(command.output().unwrap())
    };
    let ran = check("../old/parse-0123456789abcdef");
    assert_eq!(ran.code, 3, "{}", shown(&ran));
    let first = ran.stdout.lines().next().unwrap();
    assert!(first.starts_with("slower    parse: join: 30 µs → 60 µs"), "{}", shown(&ran));
    assert!(!ran.stdout.contains("print:"), "{}", shown(&ran));
    let ran = check("../old/saved");
    assert_eq!(ran.code, 1, "{}", shown(&ran));
    assert!(ran.stderr.contains("has 2 programs (parse, print)"), "{}", shown(&ran));
}

#[test]
fn wrong_use_is_refused() {
    let world = sides(&EQUAL, &EQUAL);
    for (args, expected) in [
        (&["--suite", "cargo"][..], "--against: name the old side, a revision or a folder"),
        (&["--suite", "ant", "--against", "x"], "invalid value 'ant' for '--suite <KIND>'"),
        (&["--suite-command", "x", "--against", "y"], "--suite-list <COMMAND>"),
        (&["--suite", "go", "--against", "x", "--allow", "rss=5%"], "only the time has a limit"),
        (&["--suite", "go", "--against", "x", "--dry-run"], "--prove says what would be found"),
        (&["--suite", "go", "--baseline", "x"], "cannot be used with"),
        (&["--suite", "go", "--prove", "1h", "--why", "x"], "cannot be used with"),
        (&["--baseline", "x", "--allow", "wall=5%", "--junit", "y"], "--suite <KIND>"),
        (&["--suite", "cargo", "--suite-args", "'", "--against", "x"], "a quote is not closed"),
        (&["--suite", "go", "--against", "HEAD"], "it is the commit that is checked out"),
        (&["--suite", "go", "--against", "x", "--each", "1h"], "--each: no process of a benchmark"),
    ] {
        world.refused(&[&["check"], args].concat(), expected);
    }
    let ran = check_in(&world, "new", &["--against", "."]);
    assert!(ran.code == 2 && ran.stderr.contains("it is the folder here"), "{}", shown(&ran));
    let ran = check_in(&world, "new", &["--against", "../old/bench"]);
    assert!(ran.code == 2 && ran.stderr.contains("needs the whole tree"), "{}", shown(&ran));
    let file = world.write("data", "no program");
    world.refused(&["check", "--suite", "go", "--against", &file], "cannot be executed");
    let ran = check(&world, &["--suite-build", "echo why >&2; exit 5"]);
    assert_eq!(ran.code, 1, "{}", shown(&ran));
    assert!(
        ran.stderr.contains("--suite-build: ") && ran.stderr.contains("why"),
        "{}",
        shown(&ran)
    );
    let ran = check(&world, &["--filter", "nosuch"]);
    assert_eq!(ran.code, 1, "{}", shown(&ran));
    assert!(ran.stderr.contains("no benchmark of this name"), "{}", shown(&ran));
}

/// The example, which really measures: only that it runs is checked.
#[test]
fn the_example_is_a_suite() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/suite");
    let world = World::new();
    std::fs::create_dir(world.path("old")).unwrap();
    for name in ["bench", "work.sh"] {
        std::fs::copy(Path::new(example).join(name), world.path("old").join(name)).unwrap();
    }
    let args = "--suite-list|{tree}/bench --list|--against|OLD|--time|0s|--undecided|ok";
    let old = world.path("old");
    std::fs::write(old.join("more"), "").unwrap();
    let words =
        args.split('|').map(|word| if word == "OLD" { old.to_str().unwrap() } else { word });
    let words: Vec<&str> =
        ["check", "--suite-command", "{tree}/bench {name} {ms}"].into_iter().chain(words).collect();
    let ran = Ran::new(world.command(&words).current_dir(example).output().unwrap());
    assert_eq!(ran.code, 0, "{}", shown(&ran));
    for name in ["count", "join", "split"] {
        assert!(ran.stdout.contains(&format!("undecided {name}: ")), "{}", shown(&ran));
    }
}
