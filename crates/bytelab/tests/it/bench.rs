//! `bytelab bench`: each flag does what the same flag of hyperfine does, and what is typed is an
//! experiment like any other.

use serde_json::Value;

use crate::program::{Ran, World, cell};

impl World {
    /// Runs `bytelab bench` in the temporary home.
    pub(crate) fn bench(&self, args: &[&str]) -> Ran {
        self.run_in_home(&[&["bench"], args].concat())
    }

    pub(crate) fn bench_json(&self, args: &[&str]) -> Value {
        self.bench(&[args, &["--json"]].concat()).json()
    }
}

fn methods(json: &Value) -> Vec<&str> {
    let cells = json["cells"].as_array().unwrap();
    cells.iter().map(|cell| cell["method"].as_str().unwrap()).collect()
}

/// The arguments; the exit status; the lines that the commands and hooks append to the file `log`,
/// in any order; and a part of standard error.
type Case<'a> = (&'a [&'a str], i32, &'a [&'a str], &'a str);

fn check(cases: &[Case<'_>]) {
    for (args, code, log, stderr) in cases {
        let world = World::new();
        std::fs::write(world.path("in"), "of the input\n").unwrap();
        let ran = world.bench(args);
        let context = format!("{args:?}: {}\n{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, *code, "{context}");
        let mut lines = world.lines("log");
        lines.sort();
        assert_eq!(lines, *log, "{context}");
        assert!(ran.stderr.contains(stderr), "{context}");
        assert!(!ran.stderr.contains("panicked"), "{context}");
    }
}

#[test]
fn a_command_is_run_as_often_as_it_is_said() {
    check(&[
        (&["-r", "3", "echo x >>log"], 0, &["x"; 3], "/bin/sh runs echo x >>log, because > needs"),
        (&["--runs", "1", "echo x >>log"], 0, &["x"], ""),
        (&["-w", "2", "-r", "3", "echo x >>log"], 0, &["x"; 5], ""),
        (&["-r", "2", "echo a >>log", "echo b >>log"], 0, &["a", "a", "b", "b"], "and 1 more"),
        (&["-r", "1", "--", "sh", "-c", "echo 'x  y' >>log"], 0, &["x  y"], ""),
        (&["-r", "1", "echo a >>log", "--", "tee", "-a", "log", "in"], 0, &["a"], ""),
        (&["-r", "2", "--time", "20s", "echo x >>log"], 0, &["x"; 2], ""),
        (&["-M", "4", "-w", "0", "--counting", "0", "echo x >>log"], 0, &["x"; 4], ""),
        (&["-m", "4", "-M", "4", "-w", "0", "--counting", "0", "echo x >>log"], 0, &["x"; 4], ""),
        // The minimum takes longer than the time.
        (
            &["-m", "3", "--time", "1ms", "-w", "0", "--counting", "0", "echo x >>log; sleep 0.01"],
            0,
            &["x"; 3],
            "",
        ),
        (&["-m", "5", "-M", "4", "true"], 2, &[], "--min-runs 5 is more than --max-runs 4"),
        (&["-m", "4", "-r", "4", "true"], 2, &[], "cannot be used with"),
        (&["-M", "4", "-r", "4", "true"], 2, &[], "cannot be used with"),
        (&["-r", "0", "true"], 2, &[], "0 is not in 1.."),
        (&["-r", "x", "true"], 2, &[], "invalid digit"),
    ]);
}

#[test]
fn a_shell_is_used_where_it_is_needed_or_named() {
    check(&[
        (&["-r", "1", "-N", "echo x >>log"], 0, &[], ""),
        (&["-r", "1", "-S", "none", "tee -a 'log' in"], 0, &[], ""),
        (&["-r", "1", "-S", "sh -e", "echo a >>log; false; echo b"], 1, &["a"], "exit status 1"),
        (&["-r", "1", "-S", "default", "echo $0 >>log"], 0, &["/bin/sh"], ""),
        (&["-r", "1", "-S", "nosuchshell", "true"], 1, &[], "nosuchshell is not installed"),
        (&["-r", "1", "-S", "", "true"], 2, &[], "is not the command of a shell"),
        (
            &["-r", "1", "A=7; echo $A >>log"],
            0,
            &["7"],
            "runs A=7; echo $A >>log, because A=7; needs a shell",
        ),
        (&["-r", "1", "-N", "-S", "sh", "true"], 2, &[], "cannot be used with"),
    ]);
}

#[test]
fn a_command_that_fails_ends_the_bench_unless_that_is_ignored() {
    let hint = "bytelab: false ended with exit status 1 (--show-output shows";
    check(&[
        (&["-r", "2", "false"], 1, &[], hint),
        (&["-r", "2", "echo x >>log; exit 3"], 1, &["x"], "ended with exit status 3"),
        (&["-r", "2", "-i", "echo x >>log; exit 3"], 0, &["x", "x"], ""),
        (&["-r", "2", "-i=3,4", "echo x >>log; exit 3"], 0, &["x", "x"], ""),
        (&["-r", "2", "--ignore-failure=4", "exit 3"], 1, &[], "ended with exit status 3"),
        (&["-r", "2", "-i", "kill -9 $$"], 0, &[], ""),
        (&["-r", "2", "-i=1", "kill -9 $$"], 1, &[], "ended by signal 9"),
        (&["-i=x", "true"], 2, &[], "write exit codes with commas"),
        (&["-r", "1", "nosuchprogram -x"], 1, &[], "nosuchprogram is not installed\n"),
        (&["-r", "1", "--timeout", "50ms", "sleep 100"], 1, &[], "no answer within 0.05 s"),
        (
            &["-r", "2", "-i", "--timeout", "80ms", "echo x >>log; sleep 100 & wait"],
            0,
            &["x", "x"],
            "",
        ),
        (&["-r", "1", "-i=1", "--timeout", "80ms", "sleep 100"], 1, &[], "no answer within 0.08 s"),
        (
            &["-r", "1", "-p", "false", "true"],
            1,
            &[],
            "true: hook prepare: false ended with exit status 1\n",
        ),
        (&["-r", "1", "-i=4", "exit 3"], 1, &[], "exit status 3 (--show-output shows all that it"),
        (&["-r", "1", "-i=4", "--show-output", "exit 3"], 1, &[], "ended with exit status 3\n"),
        (&["-r", "1", "-s", "false", "echo x >>log"], 1, &[], "hook setup: false ended with"),
        (&["-r", "1", "--conclude", "false", "true"], 1, &[], "hook conclude: false ended with"),
    ]);
}

#[test]
fn runs_that_failed_are_counted_and_noted() {
    let world = World::new();
    let ran = world.bench(&["-r", "6", "-i", "exit 3", "true"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("runs that failed"), "{}", ran.stdout);
    assert!(ran.stdout.contains("6 of 6, exit code 3"), "{}", ran.stdout);
    let hyperfine = world.run(&["export", "latest", "--format", "hyperfine"]).stdout;
    let hyperfine: Value = serde_json::from_str(&hyperfine).unwrap();
    assert_eq!(hyperfine["results"][0]["exit_codes"], serde_json::json!([3, 3, 3, 3, 3, 3]));
    assert_eq!(hyperfine["results"][1]["exit_codes"], serde_json::json!([0, 0, 0, 0, 0, 0]));
}

#[test]
fn nothing_of_a_bench_that_failed_at_once_is_stored() {
    let world = World::new();
    assert_eq!(world.bench(&["-r", "2", "false"]).code, 1);
    assert_eq!(world.run(&["history"]).stdout, "no runs yet\n");
}

#[test]
fn what_is_typed_wrong_is_said_in_a_line() {
    check(&[
        (&[""], 2, &[], "bytelab: \"\": the command is empty\n"),
        (&["  "], 2, &[], "the command is empty"),
        (&["echo 'x"], 2, &[], "bytelab: \"echo 'x\": a quote is not closed\n"),
        (&["--", ""], 2, &[], "the command after -- is empty"),
        (&["-n", "a", "-n", "b", "true"], 2, &[], "--command-name: 2 names for 1 commands"),
        (&["-p", "a", "-p", "b", "true"], 2, &[], "--prepare is given 2 times for 1 commands"),
        (&["-p", "", "true"], 2, &[], "--prepare: the command is empty"),
        (&["--env", "A", "true"], 2, &[], "write NAME=VALUE"),
        (&["--cwd", "nowhere", "true"], 2, &[], "--cwd nowhere: No such file or directory"),
        (&["--cwd", "in", "true"], 2, &[], "--cwd in: it is not a directory"),
        (&["--input", "nowhere", "cat"], 2, &[], "--input nowhere: No such file or directory"),
        (&["--output", "", "true"], 2, &[], "name null, pipe, inherit or a file"),
        (&["--sort", "name", "true"], 2, &[], "invalid value 'name' for '--sort"),
        (&["-u", "hour", "true"], 2, &[], "invalid value 'hour' for '--time-unit"),
        (&["--cache", "cold", "true"], 2, &[], "--data"),
        (&["-L", "n", "1", "true"], 2, &[], "{n} is not in any command"),
        (&["-P", "n", "2", "1", "echo {n}"], 2, &[], "--parameter-scan n: 2 is above 1"),
        (&["-P", "n", "1", "99999", "echo {n}"], 2, &[], "99999 values, at most 10000"),
        (&["-D", "1", "true"], 2, &[], "--parameter-scan"),
        (&["-L", "n", "1", "-L", "n", "2", "echo {n}"], 2, &[], "n is given twice"),
        (&["--time", "soon", "true"], 2, &[], "invalid value 'soon' for '--time"),
    ]);
}

#[test]
fn hooks_are_run_around_the_runs() {
    check(&[
        (&["-r", "2", "-w", "1", "-p", "echo p >>log", "true"], 0, &["p"; 3], ""),
        (&["-r", "2", "-p", "echo p >>log", "true", "echo"], 0, &["p"; 4], ""),
        (
            &["-r", "1", "-p", "echo a >>log", "-p", "echo b >>log", "true", "echo"],
            0,
            &["a", "b"],
            "",
        ),
        (&["-r", "2", "--conclude", "echo c >>log", "true"], 0, &["c"; 2], ""),
        (&["-r", "3", "-s", "echo s >>log", "-c", "echo c >>log", "true"], 0, &["c", "s"], ""),
        (&["-r", "1", "-L", "n", "1,2", "-s", "echo s{n} >>log", "echo {n}"], 0, &["s1", "s2"], ""),
        (&["-r", "1", "-L", "n", "1,2", "-c", "echo c >>log", "echo {n}"], 0, &["c"], ""),
        (&["-r", "2", "-p", "echo p$BYTELAB_ITERATION >>log", "true"], 0, &["p0", "p1"], ""),
        (&["-r", "2", "echo $BYTELAB_ITERATION >>log"], 0, &["0", "1"], ""),
    ]);
}

#[test]
fn parameters_are_put_into_commands_names_and_hooks() {
    check(&[
        (&["-r", "1", "-L", "n", "a,b", "echo {n} >>log"], 0, &["a", "b"], ""),
        (&["-r", "1", "-P", "n", "1", "5", "-D", "2", "echo {n} >>log"], 0, &["1", "3", "5"], ""),
        (&["-r", "1", "-P", "n", "-1", "0", "echo {n} >>log"], 0, &["-1", "0"], ""),
        (
            &["-r", "1", "-L", "n", "1,2", "-L", "m", "a,b", "echo {n}{m} >>log"],
            0,
            &["1a", "1b", "2a", "2b"],
            "",
        ),
        (&["-r", "1", "-L", "n", "1,2", "echo {n}", "echo x >>log"], 0, &["x"], ""),
        (&["-r", "1", "-L", "n", "1,2", "--env", "A={n}", "echo $A >>log"], 0, &["1", "2"], ""),
        (&["-r", "1", "-L", "n", "1", "echo '{m}' {n} >>log"], 0, &["{m} 1"], ""),
    ]);
    let world = World::new();
    let args = ["-r", "1", "-L", "n", "1,2", "-n", "named", "echo {n}", "echo x"];
    assert_eq!(methods(&world.bench_json(&args)), ["named", "echo x", "named (n=2)"]);
}

#[test]
fn the_names_are_the_commands() {
    let world = World::new();
    let json = world.bench_json(&["-r", "1", "true", "true", "echo   a\ntrue", "-n", "first"]);
    assert_eq!(methods(&json), ["first", "true", "echo a true"]);
    let json = world.bench_json(&["-r", "1", "true", "true", "true"]);
    assert_eq!(methods(&json), ["true", "true #2", "true #3"]);
    let reference = ["-r", "6", "--reference", "true", "--reference-name", "ref", "echo a"];
    let json = world.bench_json(&reference);
    assert_eq!(methods(&json), ["ref", "echo a"]);
    let long = "x".repeat(5000);
    let json = world.bench_json(&["-r", "1", &format!("echo {long}")]);
    assert!(methods(&json)[0].ends_with("xx…"));
}

#[test]
fn braces_and_quotes_reach_the_command() {
    let world = World::new();
    for text in ["{dir} {{a}} ${x}", "a \"b\" \\c {file}", "it's {a} {{{b}}}"] {
        let ran = world.bench(&["-r", "1", "--show-output", "--no-store", "--", "echo", text]);
        assert!(ran.stdout.starts_with(&format!("{text}\n")), "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn input_and_output_go_where_it_is_said() {
    check(&[
        (&["-r", "1", "--input", "in", "cat >>log"], 0, &["of the input"], ""),
        (&["-r", "1", "--input", "null", "cat >>log"], 0, &[], ""),
        (&["-r", "1", "cat >>log"], 0, &[], ""),
        (&["-r", "2", "--output", "log", "echo x"], 0, &["x"], ""),
        (&["-r", "1", "--output", "null", "echo x"], 0, &[], ""),
        (&["-r", "1", "--output", "pipe", "[ -p /dev/stdout ] && echo x >>log"], 0, &["x"], ""),
        // More than a pipe holds.
        (
            &["-r", "1", "--output", "pipe", "head -c 3000000 /dev/zero && echo x >>log"],
            0,
            &["x"],
            "",
        ),
        (
            &["-r", "1", "--counting", "2", "--output", "pipe", "head -c 3000000 /dev/zero"],
            0,
            &[],
            "",
        ),
        (&["-r", "1", "--same-output", "echo x", "echo  x"], 0, &[], ""),
        (&["-r", "1", "--same-output", "echo x", "echo y"], 1, &[], ""),
        (&["-r", "1", "--env", "A=b c", "echo $A >>log"], 0, &["b c"], ""),
        (&["-r", "1", "--cwd", "/", "pwd >>$HOME/log"], 0, &["/"], ""),
    ]);
    let world = World::new();
    let ran = world.bench(&["-r", "2", "--show-output", "echo shown; echo wrong >&2"]);
    assert_eq!(ran.stdout.lines().filter(|line| *line == "shown").count(), 2, "{}", ran.stdout);
    assert_eq!(ran.stderr.lines().filter(|line| *line == "wrong").count(), 2, "{}", ran.stderr);
}

#[test]
fn what_is_typed_is_an_experiment_that_a_file_may_hold() {
    let world = World::new();
    let args = ["-r", "2", "-p", "echo {p} | cat", "--env", "A=1", "echo x >>log", "echo 'a b' c"];
    let printed = world.bench(&[&args[..], &["--toml"]].concat());
    assert_eq!((printed.code, world.lines("log").len()), (0, 0), "{}", printed.stderr);
    for line in ["command = [\"echo\", \"a b\", \"c\"]", "shell = true", "rounds = 2"] {
        assert!(printed.stdout.contains(line), "{line}: {}", printed.stdout);
    }
    let file = world.write("typed.toml", &printed.stdout);
    let ran = world.run(&["run", &file]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(world.lines("log"), ["x"; 2]);
    assert_eq!(world.bench(&args).code, 0);
    assert_eq!(world.lines("log").len(), 4);
    for id in ["1", "2"] {
        let shown = world.run(&["show", id]);
        assert!(shown.stdout.contains("echo 'a b' c"), "{}{}", shown.stdout, shown.stderr);
    }
    let report = world.path("report.html");
    assert_eq!(world.run(&["report", "2", "-o", report.to_str().unwrap()]).code, 0);
}

#[test]
fn a_printed_experiment_works_where_its_file_is() {
    let world = World::new();
    std::fs::write(world.path("in"), "x\n").unwrap();
    std::fs::create_dir(world.path("sub")).unwrap();
    let printed = |args: &[&str]| {
        let ran = world.bench(&[args, &["--toml"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let text = printed(&["--input", "in", "--output", "out", "--data", "in", "cat"]);
    let home = world.dir.path().to_str().unwrap();
    assert!(!text.contains(home) && !text.contains("\ndir = "), "{text}");
    // In another folder it reads and writes the files of that one.
    std::fs::write(world.path("sub/in"), "y\n").unwrap();
    let file = world.write("sub/typed.toml", &text);
    let ran = world.run(&["run", &file, "--rounds", "1", "--sessions", "1", "--counting", "0"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(std::fs::read_to_string(world.path("sub/out")).unwrap(), "y\n");
    assert!(!world.path("out").exists());
    // A folder that is named stays as it was typed, and files are found from anywhere.
    let text = printed(&["--cwd", "sub", "--input", "in", "cat"]);
    assert!(text.contains("\ndir = \"sub\"\n"), "{text}");
    assert!(text.contains(&format!("\ninput = \"{home}/in\"\n")), "{text}");
    world.refused(&["bench", "--toml", "--cwd", "nowhere", "true"], "--cwd nowhere");
}

#[test]
fn one_command_is_measured_for_a_while() {
    let world = World::new();
    let plan = |args: &[&str]| world.bench(&[args, &["--toml"]].concat()).stdout;
    // `run` would take a time in the file as a limit that leaves no six runs of a slow command.
    let expected = "[plan]\ncache = \"as-is\"\n";
    for args in [&["true"][..], &["true", "echo"]] {
        assert!(plan(args).contains(expected), "{args:?}");
    }
    assert!(plan(&["-r", "3", "true"]).contains("rounds = 3\nsessions = 3\n"));
    let timed = plan(&["--time", "9s", "true"]);
    assert!(timed.contains("[plan]\ntime = \"9s\"\ncache"), "{timed}");
    let rounds = |args: &[&str]| {
        let json = world.bench_json(&[args, &["--time", "1ms", "--counting", "0"]].concat());
        let plan = &json["plan"];
        plan["sessions"].as_u64().unwrap() * plan["rounds"].as_u64().unwrap()
    };
    assert_eq!(rounds(&["true"]), 1000);
    assert_ne!(rounds(&["true", "echo"]), 1000);
    assert_ne!(rounds(&["-M", "3", "true"]), 1000);
}

#[test]
fn a_run_that_was_stopped_goes_on_in_its_folder() {
    let world = World::new();
    let stops = "echo x >>log; [ $(wc -l <log) -ne 3 ] || kill -INT $PPID";
    let ran = world.bench(&["-r", "8", stops]);
    assert_eq!(ran.code, 130, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("bytelab run --resume 1"), "{}", ran.stderr);
    let resumed = world.run(&["run", "--resume", "1"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    // A round that was interrupted is taken again; the command may also have ended before.
    assert!([8, 9].contains(&world.lines("log").len()), "{:?}", world.lines("log"));
    let shown = world.run(&["show", "1", "--json"]).json();
    assert_eq!(cell(&shown, stops)["metrics"]["wall_ns"]["n"], 8, "{shown}");
    let again = world.run(&["run", "--resume", "1"]);
    assert!(again.stderr.contains("nothing to resume"), "{}", again.stderr);
}

#[test]
fn the_commands_of_an_imported_run_are_not_started() {
    let world = World::new();
    let stops = "echo x >>log; [ $(wc -l <log) -ne 3 ] || kill -INT $PPID";
    assert_eq!(world.bench(&["-r", "8", stops]).code, 130);
    let exported = world.path("run.json");
    let name = exported.to_str().unwrap();
    assert_eq!(world.run(&["export", "1", "--format", "json", "-o", name]).code, 0);
    let imported = world.run(&["import", name]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let before = world.lines("log").len();
    let resumed = world.run(&["run", "--resume", "2"]);
    assert_eq!(resumed.code, 2, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(world.lines("log").len(), before);
}

#[test]
fn a_bench_has_the_metrics_of_the_lab() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![b'x'; 10_000]).unwrap();
    let args = ["-r", "6", "--counting", "2", "--data", "data", "--cache", "warm", "cat data"];
    let json = world.bench_json(&args);
    let metrics = &cell(&json, "cat data")["metrics"];
    // A run for which the program itself is read from the device, as the cache has lost it, is not
    // warm and does not count.
    let n = metrics["wall_ns"]["n"].as_u64().unwrap();
    assert!((1..=6).contains(&n), "{json}");
    for metric in ["user_ns", "system_ns", "throughput_bytes_per_s"] {
        assert_eq!(metrics[metric]["n"], n, "{metric}: {json}");
    }
    // In each eighth round.
    assert_eq!(metrics["noop_ns"]["n"], 1, "{json}");
    assert_eq!(json["experiment"], "bench");
}

#[test]
fn commands_with_a_space_need_no_subcommand() {
    let world = World::new();
    let ran = world.run(&["echo a", "echo b", "-r", "5", "--counting", "0", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json = ran.json();
    assert_eq!(cell(&json, "echo b")["metrics"]["wall_ns"]["n"], 5, "{json}");
    world.refused(&["histroy", "echo a"], "history");
}

#[test]
fn ten_thousand_values_are_typed_in_one_line() {
    let world = World::new();
    let ran = world.bench(&["-P", "n", "1", "10000", "echo {n}", "--toml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("[[method]]").count(), 10_000);
}

#[test]
fn the_short_help_fits_on_a_page() {
    let world = World::new();
    let (short, long) = (world.bench(&["-h"]).stdout, world.bench(&["--help"]).stdout);
    assert!(short.lines().count() <= 60, "{}\n{short}", short.lines().count());
    for flag in ["--export-orgmode", "--seed", "--parameter-scan"] {
        assert!(long.contains(flag), "{flag}");
    }
}
