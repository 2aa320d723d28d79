//! `bytelab bench` and hyperfine side by side: each line of a table of flags is given to both, and
//! what they do is compared. The cases are those of hyperfine's own integration tests, and more.

use std::path::Path;

use serde_json::Value;

use crate::program::World;

/// The arguments of both, and why they differ; empty where they do the same.
type Row = (&'static [&'static str], &'static str);

const WRONG_USE: &str = "wrong use has exit status 2, as in all of bytelab";
const TAKE_TURNS: &str = "commands take turns, so that setup and cleanup are for all of them";
const COUNTING: &str = "without -r, further runs count memory and system calls";
const CSV: &str = "a line for each run, with all figures";
const ONE_NAME: &str = "a name stands for one command: that of the second has #2";
const ONE_LINE: &str = "a name is one line";
const DASHES: &str = "after -- are the words of one command";
const EXPORTED: &str = "what was measured is exported, although the cleanup failed";
const WARM_UPS: &str = "runs that warm up are numbered with the others";
const NO_SUCH_PARAMETER: &str = "a parameter that changes nothing is refused";

const RUNS: &[Row] = &[
    (&["-r", "2", "echo x >>log"], ""),
    (&["--runs=2", "echo x >>log"], ""),
    (&["--runs=1", "echo x >>log"], ""),
    (&["-r", "2", "echo a >>log", "echo b >>log"], ""),
    (&["-r", "2", "echo a >>log", "echo a >>log"], ONE_NAME),
    (&["-r", "2", "-n", "x", "-n", "y", "echo a >>log", "echo a >>log"], ""),
    (&["-r", "1", "--", "echo a >>log", "echo b >>log"], DASHES),
    (&["-w", "3", "-r", "2", "echo x >>log"], ""),
    (&["--warmup", "1", "--runs", "3", "echo a >>log", "echo b >>log"], ""),
    (&["-w", "0", "-r", "1", "echo x >>log"], ""),
    (&["-r", "3", "echo $HYPERFINE_ITERATION$BYTELAB_ITERATION >>log"], ""),
    (&["-w", "1", "-r", "1", "echo $HYPERFINE_ITERATION$BYTELAB_ITERATION >>log"], WARM_UPS),
    (&["-w", "0", "-m", "4", "-M", "4", "echo x >>log"], COUNTING),
    (&["-m", "5", "-M", "4", "echo x >>log"], WRONG_USE),
    (&["-r", "4", "-M", "4", "echo x >>log"], ""),
    (&["-r", "4", "-m", "4", "echo x >>log"], ""),
    (&["-r", "5", "--warmup=2", "echo x >>log"], ""),
    (&["-w", "1", "-r", "1", "echo a >>log", "echo b >>log", "echo c >>log"], ""),
    (&["--runs", "12", "echo x >>log"], ""),
    (&["-r", "1"], ""),
    (&["-r", "1", "--nonsense", "true"], ""),
];

const SHELLS: &[Row] = &[
    (&["-r", "1", "-N", "echo x >>log"], ""),
    (&["-r", "1", "--shell=none", "tee -a log in"], ""),
    (&["-r", "1", "-S", "none", "--show-output", "echo 'out: a b' c"], ""),
    (&["-r", "1", "-N", "--show-output", "echo \"out: it's\" \\$HOME *"], ""),
    (&["-r", "1", "--show-output", "echo out: i*"], ""),
    (&["-r", "1", "--shell=default", "echo x >>log"], ""),
    (&["-r", "1", "-S", "sh", "echo $((1 + 2)) >>log"], ""),
    (&["-r", "1", "-S", "sh -e", "echo a >>log; false; echo b >>log"], ""),
    (&["-r", "1", "-S", "sh -e", "-i", "echo a >>log; false; echo b >>log"], ""),
    (&["-r", "1", "--show-output", "-S", "echo 'out: shell' '--arg'", "echo benchmark"], ""),
    (&["-r", "1", "A=7; echo $A >>log"], ""),
    (&["-r", "1", "A=7 sh -c 'echo $A >>log'"], ""),
    (&["-r", "1", "cat in | tr a-z A-Z >>log"], ""),
    (&["-r", "1", "(cd / && pwd) >>log"], ""),
    (&["-r", "1", "for i in 1 2; do echo $i >>log; done"], ""),
    (&["-r", "1", "echo 'a\nb' >>log"], ONE_LINE),
    (&["-r", "1", "-S", "sh -x", "-i", "echo x >>log"], ""),
    (&["-r", "1", "echo x | cat >>log"], ""),
    (&["-r", "1", "echo a >>log && echo b >>log"], ""),
    (&["-r", "1", "false || echo b >>log"], ""),
    (&["-r", "1", "echo `echo sub` >>log"], ""),
    (&["-r", "1", "echo $(echo sub) >>log"], ""),
    (&["-r", "1", "echo ~root >>log"], ""),
    (&["-r", "1", "[ -f in ] && echo yes >>log"], ""),
    (&["-r", "1", "if true; then echo t >>log; fi"], ""),
    (&["-r", "1", "echo \"quoted $((2 * 3))\" >>log"], ""),
    (&["-r", "1", "cat <in >>log"], ""),
    (&["-r", "1", "echo x>>log;echo y>>log"], ""),
    (&["-r", "1", "f() { echo f >>log; }; f"], ""),
    (&["-r", "1", "cd / ; pwd >>\"$OLDPWD/log\""], ""),
    (&["-r", "1", "exec tee -a log in"], ""),
    (&["-r", "1", "-N", "sh -c 'echo x >>log'"], ""),
    (&["-r", "1", "umask 077; echo x >>log"], ""),
    (&["-r", "1", "-S", "nosuchshell", "true"], ""),
];

const FAILURES: &[Row] = &[
    (&["-r", "1", "false"], ""),
    (&["-r", "1", "-N", "false"], ""),
    (&["-r", "2", "echo x >>log; exit 3"], ""),
    (&["-r", "2", "-i", "echo x >>log; exit 3"], ""),
    (&["-r", "1", "--ignore-failure", "false"], ""),
    (&["-r", "1", "--ignore-failure=1", "exit 1"], ""),
    (&["-r", "1", "--ignore-failure=1", "exit 2"], ""),
    (&["-r", "1", "--ignore-failure=1,2,3", "exit 1"], ""),
    (&["-r", "1", "--ignore-failure=1,2,3", "exit 3"], ""),
    (&["-r", "1", "--ignore-failure=1,2,3", "exit 4"], ""),
    (&["-r", "1", "--ignore-failure=all-non-zero", "exit 5"], ""),
    (&["-r", "1", "-i", "kill -9 $$"], ""),
    (&["-r", "1", "kill -9 $$"], ""),
    (&["-r", "1", "-i", "false", "true"], ""),
    (&["-r", "1", "nosuchprogram-b5d9574198b7"], ""),
    (&["-r", "3", "-i", "echo x >>log; exit 7"], ""),
    (&["-r", "2", "-i=2", "echo x >>log; exit 2", "echo y >>log"], ""),
    (&["-r", "1", "-i", "-N", "false"], ""),
    (&["-r", "1", "exit 0"], ""),
    (&["-r", "1", "-N", "nosuchprogram-b5d9574198b7"], ""),
    (&["-r", "1", "-s", "nosuchprogram-b5d9574198b7", "echo x >>log"], ""),
    (&["-r", "1", "-c", "nosuchprogram-b5d9574198b7", "echo x >>log"], EXPORTED),
    (&["-r", "1", "-p", "nosuchprogram-b5d9574198b7", "echo x >>log"], ""),
    (&["-r", "1", "--conclude", "nosuchprogram-b5d9574198b7", "echo x >>log"], ""),
    (&["-r", "1", "-s", "false", "echo x >>log"], ""),
    (&["-r", "1", "-p", "false", "echo x >>log"], ""),
    (&["-r", "1", "--conclude", "false", "echo x >>log"], ""),
    (&["-r", "1", "-i", "-p", "false", "echo x >>log"], ""),
];

const HOOKS: &[Row] = &[
    (&["-r", "2", "-p", "echo p >>log", "echo x >>log"], ""),
    (&["-r", "2", "-p", "echo p >>log", "echo a >>log", "echo b >>log"], ""),
    (&["-w", "2", "-r", "1", "--prepare", "echo p >>log", "echo a >>log", "echo b >>log"], ""),
    (&["-r", "1", "-p", "echo a >>log", "-p", "echo b >>log", "true", "echo"], ""),
    (&["-r", "1", "-p", "echo a", "-p", "echo b", "true", "echo", "echo x >>log"], WRONG_USE),
    (&["-r", "2", "--conclude", "echo c >>log", "echo a >>log", "echo b >>log"], ""),
    (&["-w", "2", "-r", "1", "--conclude", "echo c >>log", "echo a >>log"], ""),
    (&["-r", "1", "--conclude", "echo a >>log", "--conclude", "echo b >>log", "true", "echo"], ""),
    (&["-r", "1", "--conclude", "a", "--conclude", "b", "true", "echo", "echo x"], WRONG_USE),
    (&["-r", "2", "-s", "echo s >>log", "echo x >>log"], ""),
    (&["-r", "2", "-c", "echo c >>log", "echo x >>log"], ""),
    (&["-r", "2", "-s", "echo s >>log", "echo a >>log", "echo b >>log"], TAKE_TURNS),
    (&["-r", "2", "-c", "echo c >>log", "echo a >>log", "echo b >>log"], TAKE_TURNS),
    (
        &[
            "-w",
            "1",
            "-r",
            "2",
            "-s",
            "echo s >>log",
            "-p",
            "echo p >>log",
            "echo x >>log",
            "--conclude",
            "echo d >>log",
            "-c",
            "echo c >>log",
        ],
        "",
    ),
    (&["-r", "1", "-N", "-p", "tee -a log in", "true"], ""),
    (&["-r", "3", "-p", "echo p >>log", "--conclude", "echo c >>log", "echo x >>log"], ""),
    (&["-w", "1", "-r", "1", "-s", "echo s >>log", "-c", "echo c >>log", "echo x >>log"], ""),
    (&["-r", "1", "--reference", "echo r >>log", "echo a >>log", "echo b >>log"], ""),
    (
        &[
            "-r",
            "1",
            "--reference",
            "echo a >>log",
            "--reference-name",
            "r",
            "echo a >>log",
            "true",
        ],
        "",
    ),
    (&["-r", "1", "--setup", "echo s >>log", "echo x >>log"], ""),
    (&["-r", "1", "--cleanup", "echo c >>log", "echo x >>log"], ""),
    (&["-r", "2", "--prepare", "echo p >>log", "-N", "tee -a log in"], ""),
    (&["-r", "1", "-p", "echo a >>log", "-L", "n", "1,2", "echo {n} >>log"], ""),
    (&["-w", "1", "-r", "2", "-p", "echo p >>log", "--reference", "echo r >>log", "true"], ""),
    (&["-r", "1", "-i", "--conclude", "false", "echo x >>log"], ""),
    (&["-r", "1", "-i", "-s", "false", "echo x >>log"], ""),
    (&["-r", "2", "--conclude", "cat in >>log", "true"], ""),
    (&["-r", "1", "-p", "exit 3", "echo x >>log"], ""),
    (
        &[
            "-r",
            "1",
            "-p",
            "echo p0 >>log",
            "-p",
            "echo p1 >>log",
            "--reference",
            "echo r >>log",
            "echo a >>log",
        ],
        "",
    ),
    (&["-r", "1", "--reference", "true", "--reference-name", "ref", "echo a"], ""),
];

const PARAMETERS: &[Row] = &[
    (&["-r", "2", "-L", "n", "1,2,3", "echo {n} >>log"], ""),
    (&["-r", "1", "--parameter-list", "n", "a b,c", "echo '{n}' >>log"], ""),
    (&["-r", "1", "-L", "n", "a\\,b,c", "echo {n} >>log"], ""),
    (&["-r", "1", "-L", "n", "1,2", "-L", "m", "a,b", "echo {n} {m} >>log"], ""),
    (&["-r", "1", "-P", "n", "1", "4", "echo {n} >>log"], ""),
    (&["-r", "1", "-P", "n", "30", "45", "-D", "5", "echo {n} >>log"], ""),
    (&["-r", "1", "-P", "n", "1", "3", "-D", "2", "echo {n} >>log"], ""),
    (&["-r", "1", "-P", "n", "0", "1", "-D", "0.25", "echo {n} >>log"], ""),
    (&["-r", "1", "-P", "n", "5", "5", "echo {n} >>log"], ""),
    (&["-r", "2", "-L", "n", "1,2", "echo {n}{n} >>log"], ""),
    (&["-r", "1", "-L", "a", "1,2", "-p", "echo {a} >>log", "-n", "x{a}", "echo {a}"], ""),
    (&["-r", "1", "-L", "x", "1,2", "-L", "y", "3", "-L", "z", "4,5", "echo {x}{y}{z} >>log"], ""),
    (&["-r", "1", "--parameter-scan", "n", "0.1", "0.3", "-D", "0.1", "echo {n} >>log"], ""),
    (&["-r", "1", "-P", "n", "-1", "1", "echo {n} >>log"], ""),
    (&["-r", "1", "-L", "n", "1,2", "echo '{m}' {n} >>log"], ""),
    (&["-r", "1", "-L", "n", "1,2", "-p", "echo p{n} >>log", "echo {n} >>log"], ""),
    (&["-r", "1", "-L", "n", "1,2", "-s", "echo s{n} >>log", "echo {n}"], ""),
    (&["-r", "1", "-L", "n", "1,2", "-c", "echo c{n} >>log", "echo {n}"], ""),
    (&["-r", "1", "-L", "n", "1,2", "--reference", "echo r >>log", "echo {n} >>log"], ""),
    (&["-r", "1", "-L", "n", "1,2", "-n", "name {n}", "echo {n} >>log"], ""),
    (&["-r", "1", "-L", "n", "1,2", "echo x >>log"], NO_SUCH_PARAMETER),
    (&["-r", "1", "-L", "n", "1,2", "-L", "n", "a,b", "echo {n}"], WRONG_USE),
    (&["-r", "1", "-P", "n", "2", "1", "echo {n}"], WRONG_USE),
    (&["-r", "1", "-D", "1", "echo x"], ""),
];

const STREAMS: &[Row] = &[
    (&["-r", "1", "cat >>log"], ""),
    (&["-r", "1", "-N", "--input", "in", "tee -a log"], ""),
    (&["-r", "1", "--show-output", "--input=in", "wc -c | sed s/^/out:/"], ""),
    (&["-r", "2", "--show-output", "-N", "echo out: x"], ""),
    (&["-r", "1", "--input", "in", "cat >>log"], ""),
    (&["-r", "2", "--input=in", "cat >>log"], ""),
    (&["-r", "1", "--input", "null", "cat >>log"], ""),
    (&["-r", "1", "--input", "nowhere", "cat >>log"], WRONG_USE),
    (&["-r", "2", "-n", "dummy", "--show-output", "echo out: 4fd47015"], ""),
    (&["-r", "1", "--show-output", "echo 'err: x' >&2"], ""),
    (&["-r", "1", "--input", "in", "--show-output", "sed s/^/out:/"], ""),
    (&["-r", "1", "--output", "inherit", "echo out: x"], ""),
    (&["-r", "1", "--output", "null", "echo out: x"], ""),
    (&["-r", "1", "echo out: x"], ""),
    (&["-r", "2", "--output", "./log", "echo x"], ""),
    (&["-r", "1", "--output", "pipe", "[ -p /dev/stdout ] && echo x >>log"], ""),
    (&["-r", "1", "--output=null", "echo out: a", "--output=./log", "echo b"], ""),
    (&["-r", "1", "--show-output", "--output", "null", "echo out: x"], ""),
];

const RESULTS: &[Row] = &[
    (&["-r", "3", "true", "echo a"], ""),
    (&["-r", "1", "-n", "first", "-n", "second", "true", "echo a"], ""),
    (&["-r", "1", "-n", "first", "true", "echo a"], ""),
    (&["-r", "1", "-n", "a", "-n", "b", "echo a"], WRONG_USE),
    (&["-r", "1", "--export-markdown", "out.md", "true", "echo a"], ""),
    (&["-r", "1", "--export-asciidoc", "out.adoc", "true", "echo a"], ""),
    (&["-r", "1", "--export-orgmode", "out.org", "true", "echo a"], ""),
    (&["-r", "1", "--export-csv", "out.csv", "true", "echo a"], CSV),
    (&["-r", "2", "-n", "first", "--command-name=second", "true", "echo a"], ""),
    (
        &[
            "-r",
            "1",
            "--export-markdown",
            "out.md",
            "--export-orgmode",
            "out.org",
            "true",
            "echo a",
        ],
        "",
    ),
    (&["-r", "2", "-u", "millisecond", "--sort", "command", "true", "echo a"], ""),
    (&["-r", "2", "--time-unit", "second", "--sort=mean-time", "true", "echo a"], ""),
    (&["-r", "2", "-u", "microsecond", "--sort=auto", "true", "echo a"], ""),
    (&["-r", "1", "-u", "hour", "true"], ""),
    (&["-r", "1", "--sort", "name", "true"], ""),
    (&["-r", "1", "--style", "none", "true"], ""),
    (&["-r", "1", "--style=color", "true"], ""),
    (&["-r", "1", "--style=nocolor", "true"], ""),
    (&["-r", "1", "--style", "green", "true"], ""),
];

/// What a program did with its arguments.
#[derive(Debug, PartialEq)]
struct Observed {
    code: Option<i32>,
    /// What commands and hooks wrote, in any order: how often each was run, and with which input.
    log: Vec<String>,
    /// Of both streams, the lines by which the commands are known.
    shown: [Vec<String>; 2],
    /// By command: the number of times, the exit codes and the parameters.
    json: Vec<(String, usize, Value, Value)>,
    /// Of the other files that were written: whether the commands are in it, and its head.
    files: Vec<(bool, String)>,
}

fn seen(program: &Path, bench: &[&str], args: &[&str]) -> Observed {
    let world = World::new();
    std::fs::write(world.path("in"), "of the input\n").unwrap();
    let args = [bench, &["--export-json", "out.json"], args].concat();
    let mut command = world.in_world(program.to_str().unwrap(), &args);
    let ran = command.current_dir(world.dir.path()).output().unwrap();
    let lines = |text: &[u8], mark: &str| {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter(|line| line.starts_with(mark)).map(str::to_owned).collect()
    };
    let mut log: Vec<String> = world.lines("log");
    log.sort();
    let files = ["md", "adoc", "org", "csv"].into_iter().filter_map(|ending| {
        let text = std::fs::read_to_string(world.path(&format!("out.{ending}"))).ok()?;
        let head = if ending == "csv" { text.lines().next().unwrap_or_default() } else { "" };
        Some((text.contains("true") && text.contains("echo a"), head.to_owned()))
    });
    Observed {
        code: ran.status.code(),
        log,
        shown: [lines(&ran.stdout, "out:"), lines(&ran.stderr, "err:")],
        json: exported(&world.path("out.json")),
        files: files.collect(),
    }
}

fn exported(file: &Path) -> Vec<(String, usize, Value, Value)> {
    let Ok(text) = std::fs::read_to_string(file) else { return Vec::new() };
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    let results = json["results"].as_array().cloned().unwrap_or_default();
    let of_one = |one: &Value| {
        let times = one["times"].as_array().map_or(0, Vec::len);
        let [codes, parameters] = ["exit_codes", "parameters"].map(|key| one[key].clone());
        (one["command"].as_str().unwrap_or_default().to_owned(), times, codes, parameters)
    };
    let mut results: Vec<_> = results.iter().map(of_one).collect();
    results.sort_by(|a, b| a.0.cmp(&b.0));
    results
}

/// The other program is that of the variable `HYPERFINE`.
#[test]
fn each_flag_does_what_it_does_in_hyperfine() {
    let Some(hyperfine) = std::env::var_os("HYPERFINE") else {
        println!("skipped: HYPERFINE names no program (see .ci/run)");
        return;
    };
    let own = Path::new(env!("CARGO_BIN_EXE_bytelab"));
    let tables = [RUNS, SHELLS, FAILURES, HOOKS, PARAMETERS, STREAMS, RESULTS];
    let rows: Vec<&Row> = tables.into_iter().flatten().collect();
    let mut wrong = Vec::new();
    for (args, because) in &rows {
        let there = seen(Path::new(&hyperfine), &[], args);
        let here = seen(own, &["bench"], args);
        if (there == here) != because.is_empty() {
            wrong.push(format!("{args:?} ({because})\n  there {there:?}\n  here  {here:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn nine_of_ten_rows_are_the_same() {
    let tables = [RUNS, SHELLS, FAILURES, HOOKS, PARAMETERS, STREAMS, RESULTS];
    let rows: Vec<&Row> = tables.into_iter().flatten().collect();
    let same = rows.iter().filter(|(_, because)| because.is_empty()).count();
    assert!(same * 10 >= rows.len() * 9, "{same} of {}", rows.len());
}

/// The keys that the scripts in hyperfine's repository read, of its release 1.20.
#[test]
fn the_export_has_what_the_scripts_of_hyperfine_read() {
    let world = World::new();
    let args = ["-r", "3", "-P", "n", "1", "2", "echo {n}", "--export-json", "out.json"];
    let ran = world.bench(&args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let of_bench = std::fs::read_to_string(world.path("out.json")).unwrap();
    let again = world.run(&["export", "latest", "--format", "hyperfine"]).stdout;
    for text in [of_bench, again] {
        let json: Value = serde_json::from_str(&text).unwrap();
        let results = json["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        for (i, result) in results.iter().enumerate() {
            assert_eq!(result["command"], format!("echo {}", i + 1));
            for key in ["mean", "stddev", "median", "user", "system", "min", "max"] {
                assert!(result[key].is_number(), "{key}: {text}");
            }
            assert_eq!(result["times"].as_array().unwrap().len(), 3);
            assert_eq!(result["exit_codes"], serde_json::json!([0, 0, 0]));
            // plot_parametrized.py takes exactly one, as a number.
            assert_eq!(result["parameters"], serde_json::json!({ "n": (i + 1).to_string() }));
        }
    }
}
