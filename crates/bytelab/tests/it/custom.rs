//! The user's own experiments: files in TOML, their hooks, answers and thresholds.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Ran, World, cell, files_below, on_go};

/// Few samples, and little time.
const FEW: &[&str] = &["--rounds", "2", "--warm-up", "0", "--counting", "0"];

impl World {
    fn own(&self, text: &str, args: &[&str]) -> Ran {
        let path = self.path("my.toml");
        std::fs::write(&path, text).unwrap();
        // Flags that the test sets itself are not passed twice.
        let few = FEW.chunks(2).filter(|flag| !args.contains(&flag[0])).flatten().copied();
        let args: Vec<&str> = few.chain(args.iter().copied()).collect();
        self.run(&[&["run", path.to_str().unwrap()], &args[..]].concat())
    }

    pub(crate) fn own_json(&self, text: &str) -> (i32, Value) {
        let ran = self.own(text, &["--json"]);
        (ran.code, ran.json())
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn reason<'a>(json: &'a Value, method: &str, status: &str) -> &'a str {
    assert_eq!(cell(json, method)["status"], status, "{json}");
    cell(json, method)["reason"].as_str().unwrap()
}

#[test]
fn what_init_writes_runs_as_it_is() {
    let world = World::new();
    let file = world.path("lines.toml");
    let name = file.to_str().unwrap();
    let ran = world.run(&["init", name]);
    assert_eq!(
        (ran.code, ran.stdout),
        (0, format!("wrote {name}; run it with: bytelab run {name}\n"))
    );
    std::fs::write(&file, "mine").unwrap();
    world.refused(&["init", name], "is there already; --force replaces it");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(world.run(&["init", "--force", name]).code, 0);

    let few = "--rounds 2 --sessions 1 --size 4KiB,64KiB --time 1h --json".split(' ');
    let few: Vec<&str> = few.collect();
    let ran = world.run(&[&["run", name], &few[..]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let json = ran.json();
    assert_eq!(json["experiment"], "lines");
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 10, "five methods at two sizes");
    for cell in cells {
        // The kernel may have evicted a page of a program: a sample that reads it again is not
        // counted.
        let left_out = cell["not_counted"]["rounds"].as_array().map_or(0, Vec::len);
        for metric in ["wall_ns", "cpu_ns", "startup_ns", "throughput_bytes_per_s"] {
            let of_this = &cell["metrics"][metric];
            let counted = if of_this.is_null() { 0 } else { of_this["n"].as_u64().unwrap() };
            assert_eq!(counted + left_out as u64, 2, "{metric} of {cell}");
        }
        // In each eighth round, of which the first one is one.
        assert!(left_out > 0 || cell["metrics"]["noop_ns"]["n"] == 1, "{cell}");
        let text = world.path(&format!(".cache/bytelab/own-v1-text-{}.bin", cell["point"]["size"]));
        let lines = std::fs::read_to_string(text).unwrap().lines().count();
        assert_eq!(cell["answer"], lines.to_string(), "{cell}");
    }
    let shown = world.run(&["show", json["id"].as_str().unwrap(), "--json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), json);
    assert!(world.run(&["history"]).stdout.contains("lines"));
}

#[test]
fn a_file_s_params_are_flags_and_are_listed() {
    let world = World::new();
    let file = world.path("lines.toml");
    let name = file.to_str().unwrap();
    world.run(&["init", name]);
    let help = world.run(&["run", name, "--help"]);
    assert_eq!(help.code, 0);
    for text in ["--size <BYTES>", "how large the file is", "[default: 4MiB]", "[default: 30]"] {
        assert!(help.stdout.contains(text), "{text}: {}", help.stdout);
    }
    let list = world.run(&["list", name]).stdout;
    assert!(list.contains("fastest way to count") && list.contains("--size"), "{list}");
    world.refused(&["run", name, "--size", "many"], "--size many: not a number");
    let missing = world.path("no.toml");
    world.refused(&["run", missing.to_str().unwrap()], "no.toml cannot be read");
    let schema = world.run(&["init", "--schema"]).json();
    assert!(schema["properties"]["method"].is_object(), "{schema}");
}

#[test]
fn answers_that_disagree_are_out() {
    let world = World::new();
    let text = "answer.from = 'stdout'\n[[method]]\nname = 'a'\ncommand = 'echo 7'\n[[method]]\nname = \
                'b'\ncommand = 'echo  7'\n[[method]]\nname = 'liar'\ncommand = 'echo 8'\n";
    let (code, json) = world.own_json(text);
    assert_eq!(code, 1);
    assert_eq!(
        (&cell(&json, "b")["answer"], &cell(&json, "b")["wrong_answer"]),
        (&"7".into(), &false.into())
    );
    assert_eq!(cell(&json, "liar")["wrong_answer"], true);
}

#[test]
fn the_answer_may_be_a_file() {
    let world = World::new();
    let text = "[answer]\nfrom = 'file'\nfile = '{dir}/out'\n[[method]]\nname = 'short'\ncommand = 'echo 7 \
                >{dir}/out'\nshell = true\n[[method]]\nname = 'long'\ncommand = '[ ! -e {dir}/out ] && seq 9 \
                >{dir}/out'\nshell = true\n[[method]]\nname = 'none'\ncommand = 'true'\n";
    let (code, json) = world.own_json(text);
    assert_eq!(code, 1);
    assert_eq!(cell(&json, "short")["answer"], "7");
    let long = cell(&json, "long")["answer"].as_str().unwrap();
    assert!(long.starts_with("18 bytes, SHA-256 "), "{long}");
    assert!(reason(&json, "none", "failed").starts_with("it left no file "));
}

#[test]
fn hooks_run_around_the_samples_and_nothing_is_left() {
    let world = World::new();
    let text = "[hooks]\nsetup = { command = 'echo setup {n} >>log; touch {dir}/made', shell = true }\n\
                prepare = { command = 'echo {method} >>log; touch {dir}/{method}', shell = true }\n\
                cleanup = { command = '[ -e {dir}/made ] && echo cleanup {n} >>log', shell = true }\n\
                [[param]]\nname = 'n'\nkind = 'count'\ndefault = '1,2'\n\
                [[method]]\nname = 'a'\ncommand = 'rm {dir}/a'\n\
                [[method]]\nname = 'b'\ncommand = ['rm', '{dir}/b']\nsetup = 'test -e {dir}/made'\n";
    let ran = world.own(text, &["--counting", "1"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let log = world.lines("log");
    let count = |line: &str| log.iter().filter(|known| *known == line).count();
    assert_eq!((&*log[0], &*log[1]), ("setup 1", "setup 2"));
    assert_eq!((&*log[log.len() - 2], &*log[log.len() - 1]), ("cleanup 1", "cleanup 2"));
    assert_eq!((count("setup 1"), count("cleanup 1")), (1, 1));
    assert!(count("a") >= 8 && count("b") >= 8, "each sample is prepared: {log:?}");
    let left: Vec<_> = files_below(&world.path(".cache")).into_iter().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_hook_that_fails_is_named() {
    let world = World::new();
    let method = "[[method]]\nname = 'a'\ncommand = 'true'\n";
    let ran =
        world.own(&format!("hooks.setup = 'sh -c \"echo no disk >&2; exit 3\"'\n{method}"), &[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("hook setup: sh ended with exit status 3; stderr of sh: no disk"));
    let (code, json) = world.own_json(&format!("hooks.prepare = 'false'\n{method}"));
    assert_eq!(code, 1);
    assert_eq!(reason(&json, "a", "failed"), "hook prepare: false ended with exit status 1");
    let (code, json) = world.own_json(&format!("hooks.prepare = '/no/such'\n{method}"));
    assert_eq!(
        (code, reason(&json, "a", "skipped")),
        (1, "hook prepare: /no/such is not installed")
    );
    let ran = world.own(&format!("hooks.cleanup = 'false'\n{method}"), &["--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("hook cleanup: false ended with exit status 1"), "{}", ran.stdout);
    let shown = world.run(&["show", "3"]).stdout;
    assert!(shown.contains("hook cleanup: false ended"), "{shown}");
}

/// What is set up before the first samples is not part of the time of the run.
#[test]
fn setting_up_takes_no_time_from_the_run_and_fails_only_its_own_method() {
    let world = World::new();
    let text = "plan.time = '50ms'\nplan.cache = 'as-is'\n\
                [[method]]\nname = 'a'\ncommand = 'true'\nsetup = 'sleep 0.1'\n\
                [[method]]\nname = 'b'\ncommand = 'true'\nsetup = 'false'\n\
                [[method]]\nname = 'c'\ncommand = 'true'\nsetup = 'sleep 0.1'\n";
    let (code, json) = world.own_json(text);
    assert_eq!(code, 1);
    assert_eq!(reason(&json, "b", "failed"), "hook setup: false ended with exit status 1");
    for name in ["a", "c"] {
        let cell = cell(&json, name);
        assert_eq!(cell["status"], "measured", "{cell}");
        assert!(cell["metrics"]["wall_ns"]["n"].as_u64().is_some_and(|n| n > 0), "{cell}");
    }
}

#[test]
fn a_run_in_which_nothing_was_measured_says_why_in_its_last_line() {
    let world = World::new();
    let text = "[[method]]\nname = 'a'\ncommand = '/no/such'\n\
                [[method]]\nname = 'b'\ncommand = '/no/such'\n";
    let ran = world.own(text, &[]);
    let last = "bytelab: nothing was measured: a: /no/such is not installed (and 1 more)";
    assert_eq!((ran.code, ran.stderr.lines().last()), (1, Some(last)), "{}", ran.stderr);
}

#[test]
fn a_failing_command_affects_only_its_own_results() {
    let world = World::new();
    let text = "answer.from = 'stdout'\nplan.sample_limit = '5s'\n\
                [[method]]\nname = 'good'\ncommand = 'echo'\n\
                [[method]]\nname = 'absent'\ncommand = '/no/such/program'\n\
                [[method]]\nname = 'dies'\ncommand = 'echo reason >&2; kill -9 $$'\nshell = true\n\
                [[method]]\nname = 'hangs'\ncommand = 'sleep 1000'\n\
                [[method]]\nname = 'loud'\ncommand = 'yes | head -c 4000000 >&2; echo'\nshell = true\n\
                [[method]]\nname = 'no-input'\ncommand = 'cat'\ninput = '{here}/nothing'\n";
    let (code, json) = world.own_json(text);
    assert_eq!(code, 1);
    assert_eq!(cell(&json, "good")["status"], "measured");
    assert_eq!(cell(&json, "loud")["status"], "measured");
    assert_eq!(reason(&json, "absent", "skipped"), "/no/such/program is not installed");
    assert_eq!(
        reason(&json, "dies", "failed"),
        "/bin/sh was ended by signal 9; stderr of /bin/sh: reason"
    );
    assert!(reason(&json, "hangs", "failed").starts_with("no answer within 5 s, killed"));
    assert!(reason(&json, "no-input", "failed").contains("nothing: No such file"));
}

#[test]
fn thresholds_make_the_exit_status() {
    let world = World::new();
    let method =
        "[[method]]\nname = 'a'\ncommand = 'true'\n[[method]]\nname = 'b'\ncommand = 'true'\n";
    let held = |threshold: &str, rounds: &str| {
        let text = format!("{method}[[threshold]]\n{threshold}\n");
        let ran = world.own(&text, &["--rounds", rounds, "--sessions", rounds, "--json"]);
        let json = ran.json();
        (ran.code, json["thresholds"].clone(), json["id"].as_str().unwrap().to_owned())
    };
    let (code, outcomes, id) = held("max_wall = '1ns'", "6");
    assert_eq!((code, &outcomes[1]["verdict"]), (3, &"exceeded".into()), "{outcomes}");
    assert_eq!((&outcomes[1]["method"], &outcomes[1]["max"]), (&"b".into(), &1.0.into()));
    let shown = world.run(&["show", &id]).stdout;
    assert!(
        shown.contains("threshold exceeded: b, wall_ns ") && shown.contains("allowed 1 ns"),
        "{shown}"
    );
    let (code, outcomes, _) = held("method = 'b'\nmax_wall = '1h'\nmax_ratio = 1e6", "6");
    assert_eq!((code, outcomes.as_array().unwrap().len()), (0, 2), "{outcomes}");
    let (code, outcomes, _) = held("max_wall = '1h'", "2");
    assert_eq!(
        (code, &outcomes[0]["reason"]),
        (4, &"2 sessions are too few, at least 5 are needed".into())
    );
}

#[test]
fn a_run_that_is_stopped_cleans_up_and_is_resumed_with_the_same_file_only() {
    let world = World::new();
    let fifo = world.path("pids");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let text = "hooks.cleanup = { command = 'echo cleanup >>log', shell = true }\n[[method]]\nname = 'a'\n\
                command = '[ -e go ] || { echo $$ >pids; exec sleep 1000; }'\nshell = true\n";
    let file = world.path("my.toml");
    std::fs::write(&file, text).unwrap();
    // If the kernel evicted a page of the shell, a warm run would lose a sample.
    let args = [&["run", file.to_str().unwrap(), "--cache", "as-is"], FEW].concat();
    let mut run = world.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut pids = BufReader::new(std::fs::File::open(&fifo).unwrap()).lines();
    let child: i32 = pids.next().unwrap().unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(world.lines("log"), ["cleanup"]);
    let child = rustix::process::Pid::from_raw(child).unwrap();
    assert!(rustix::process::test_kill_process(child).is_err(), "the command is gone, too");
    assert!(files_below(&world.path(".cache")).is_empty());

    std::fs::write(world.path("go"), "").unwrap();
    std::fs::write(&file, format!("{text}# changed\n")).unwrap();
    world.refused(&["run", "--resume", "1"], "my.toml has changed since run 1 began");
    std::fs::remove_file(&file).unwrap();
    let ran = world.run(&["run", "--resume", "1"]);
    assert!(ran.stderr.contains("declared in a file that cannot be used now"), "{}", ran.stderr);
    std::fs::write(&file, text).unwrap();
    let ran = world.run(&["run", "--resume", "1", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json = ran.json();
    assert_eq!(cell(&json, "a")["metrics"]["wall_ns"]["n"], 2);
    assert_eq!(world.lines("log"), ["cleanup", "cleanup"]);
}

#[test]
fn a_worker_that_dies_late_is_shown_with_what_it_did() {
    let world = World::new();
    let script = on_go("[ $n = $1 ] && exit 3; echo \"done $n wall=5000000\"");
    std::fs::write(world.path("worker.sh"), script).unwrap();
    let text = "[[method]]\nname = 'good'\nworker = 'sh {here}/worker.sh never'\n[[method]]\n\
                name = 'dying'\nworker = 'sh {here}/worker.sh 15'\n";
    let ran = world.own(text, &["--rounds", "20", "--sessions", "1", "--cache", "as-is", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let json = ran.json();
    let n = cell(&json, "dying")["metrics"]["wall_ns"]["n"].as_u64().unwrap();
    assert!((10..20).contains(&n), "{json}");
    let expected = format!("died after {n} rounds: ended with exit status 3");
    assert_eq!(reason(&json, "dying", "failed"), expected);
    let comparison = &json["comparisons"][0];
    assert_eq!((&comparison["method"], comparison["ratio"].as_f64()), (&"dying".into(), Some(1.0)));
    let shown = world.run(&["show", "1"]).stdout;
    let words = shown.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(words.contains("dying 5.00") && words.contains(&expected), "{shown}");
    let exported = world.run(&["export", "1", "--format", "csv"]).stdout;
    assert_eq!(exported.lines().filter(|line| line.contains("dying")).count(), n as usize);
}

#[test]
fn a_worker_competes_with_commands() {
    let world = World::new();
    let script = "echo hello 1 lang=sh; while read -r verb n rest; do case $verb in
        prepare) echo \"$n $rest\" >>prepared; echo ready;;
        go) echo \"done $n wall=2000000 answer=7\";; bye) exit;; esac; done";
    std::fs::write(world.path("worker.sh"), script).unwrap();
    let text = "answer.from = 'stdout'\n[[param]]\nname = 'n'\nkind = 'count'\ndefault = 5\n[[method]]\n\
                name = 'w'\nworker = 'sh {here}/worker.sh'\n[[method]]\nname = 'c'\ncommand = 'expr 2 + {n}'\n";
    let (code, json) = world.own_json(text);
    assert_eq!(code, 0, "{json}");
    assert_eq!(cell(&json, "w")["language"], "sh");
    let prepared = world.lines("prepared");
    assert!(prepared[0].contains("n=5") && prepared[0].contains("dir="), "{prepared:?}");
}

#[test]
fn the_examples_run() {
    let world = World::new();
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let names = ["copy.toml", "decompress.toml"];
    for name in names {
        let path = format!("{dir}/{name}");
        let args = ["run", &path, "--rounds", "1", "--sessions", "1", "--size", "64KiB", "--json"];
        let ran = world.run(&args);
        let json = ran.json();
        let cells = json["cells"].as_array().unwrap();
        for cell in cells {
            let (status, reason) = (&cell["status"], cell["reason"].as_str().unwrap_or_default());
            let fine =
                status == "measured" || status == "skipped" && reason.contains("not installed");
            assert!(fine && cell["wrong_answer"] == false, "{name}: {cell}");
        }
        let all = cells.iter().all(|cell| cell["status"] == "measured");
        assert_eq!(ran.code, i32::from(!all), "{name}: {}", ran.stderr);
    }
    let listed = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut listed: Vec<_> = listed
        .filter(|name| std::path::Path::new(name).extension().is_some_and(|e| e == "toml"))
        .collect();
    listed.sort();
    assert_eq!(listed, names, "all of them are tested");
}

#[test]
fn a_copy_has_the_payload_of_its_data_whatever_copies_it() {
    let world = World::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/copy.toml");
    let small = ["--size", "64KiB", "--buffer", "4KiB", "--sessions", "1"];
    let args = [&["run", file], FEW, &small].concat();
    let ran = world.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = world.run(&["export", "latest", "--format", "json"]);
    let run = ran.json();
    for method in ["cp", "dd", "cat"] {
        let samples = cell(&run, method)["samples"].as_array().unwrap();
        assert!(!samples.is_empty() && samples.iter().all(|s| s["bytes"] == 65536), "{method}");
    }
}

/// The work is the same directly and through a shell. The CPU time includes all processes, and so
/// does the time without their waits, where the kernel reports those.
#[test]
#[cfg(target_os = "linux")]
fn the_work_of_a_child_is_the_work_of_its_command() {
    let text = "[plan]\ncache = \"as-is\"\n\n[data]\nsize = \"1MiB\"\ncontent = \"text\"\n
        [[method]]\nname = \"direct\"\ncommand = \"gzip -c {file}\"\n
        [[method]]\nname = \"shell\"\ncommand = \"gzip -c {file}; true\"\nshell = true\n";
    let (code, json) = World::new().own_json(text);
    assert_eq!(code, 0, "{json}");
    let of = |method: &str, metric: &str| cell(&json, method)["metrics"][metric]["p50"].as_f64();
    let [direct, shell] = ["direct", "shell"].map(|method| of(method, "cpu_ns").unwrap());
    assert!(shell > direct / 2.0, "{shell} {direct}");
    let without_wait = of("shell", "wall_less_wait_ns");
    assert_eq!(without_wait.is_some(), of("shell", "cpu_delay_ns").is_some(), "{json}");
    assert!(without_wait.is_none_or(|ns| ns > direct / 2.0), "{json}");
}

const SIZES: &str = r#"
primary_metrics = ["user_ns", "wall_ns"]
view = "size-sweep"

[[param]]
name = "size"
kind = "bytes"
default = "1,2,4,8,16,32"

[[method]]
name = "a"
command = "true {size}"
"#;

#[test]
fn an_experiment_of_ones_own_has_primary_metrics_and_a_sweep_of_sizes() {
    let world = World::new();
    let ran = world.own(SIZES, &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("by size"), "{}", ran.stdout);
    let wrong = world.own(&SIZES.replace("user_ns", "usr_ns"), &[]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("there is no metric usr_ns; did you mean user_ns"),
        "{}",
        wrong.stderr
    );
}
