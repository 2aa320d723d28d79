//! Methods in other languages, as real processes. A language whose tools are not installed is
//! omitted, and the output reports that.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Ran, World, cell};

/// A language, the commands that it needs, and the number of its methods in `reading`.
const LANGUAGES: &[(&str, &[&str], usize)] = &[
    ("c", &["cc"], 4),
    ("cpp", &["c++"], 3),
    ("go", &["go"], 4),
    ("java", &["javac", "java"], 6),
    ("python", &["python3"], 6),
    ("node", &["node"], 5),
    ("haskell", &["ghc"], 7),
    ("swift", &["swiftc"], 14),
];

pub(crate) const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn is_here(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(command).is_file())
}

#[expect(clippy::print_stdout, reason = "a test says what it leaves out")]
pub(crate) fn have(language: &str, commands: &[&str]) -> bool {
    let missing: Vec<_> = commands.iter().filter(|command| !is_here(command)).collect();
    if !missing.is_empty() {
        println!("skipped: {language}, as {missing:?} is not installed");
    }
    missing.is_empty()
}

pub(crate) fn installed() -> Vec<&'static str> {
    let here = LANGUAGES.iter().filter(|(language, commands, _)| have(language, commands));
    here.map(|(language, _, _)| *language).collect()
}

/// Workers are built once for all tests, and kept.
pub(crate) fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("languages")
}

pub(crate) fn measure(world: &World, args: &[&str]) -> (Ran, Value) {
    measure_in(&kept(), world, args)
}

/// Builds the workers into this directory, unless they are there. Each method is one process unless
/// the arguments say otherwise: to start those of some languages takes most of the time.
fn measure_in(kept: &Path, world: &World, args: &[&str]) -> (Ran, Value) {
    let fixed = ["--json", "--data-dir", kept.to_str().unwrap()];
    let has = |flag: &str| args.contains(&flag);
    let rounds: &[&str] = if has("--rounds") { &[] } else { &["--rounds", "2", "--sessions", "1"] };
    let counting: &[&str] = if has("--counting") { &[] } else { &["--counting", "0"] };
    let mut command = world.command(&["run"]);
    command.args(args).args(rounds).args(counting).args(fixed);
    command.env("GOCACHE", kept.join("go-cache"));
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let ran = Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    };
    let json = ran.json();
    (ran, json)
}

pub(crate) fn cells(json: &Value) -> impl Iterator<Item = &Value> {
    json["cells"].as_array().unwrap().iter()
}

fn verdicts<'a>(json: &'a Value, method: &str) -> Vec<&'a str> {
    let all = json["comparisons"].as_array().unwrap().iter();
    all.filter(|c| c["method"] == method).filter_map(|c| c["verdict"].as_str()).collect()
}

pub(crate) fn assert_answers_agree(json: &Value) {
    for cell in cells(json) {
        let method = cell["method"].as_str().unwrap();
        assert!(!verdicts(json, method).contains(&"wrong-answer"), "{method}: {json}");
    }
}

#[test]
fn the_other_methods_have_figures_before_the_first_worker_is_built() {
    if !have("c", &["cc"]) {
        return;
    }
    let (world, kept) = (World::new(), tempfile::tempdir().unwrap());
    let words = ["reading", "--size", "64KiB", "--method", "read,mmap,c-read", "--rounds", "2"];
    let (ran, json) = measure_in(kept.path(), &world, &words);
    let (before, after) = ran.stderr.split_once("building workers/").expect(&ran.stderr);
    assert!(before.contains("one run of each method that needs no build"), "{before}");
    let names =
        |text: &str| text.lines().filter(|l| l.contains("mmap") || l.contains("read ")).count();
    assert!(names(before) >= 2 && !before.contains("c-read"), "{before}");
    assert!(before.contains("bytelab: builds first") && !after.contains("builds first"));
    assert!(!after.contains("one run of each"), "{after}");
    let read = cells(&json).find(|cell| cell["method"] == "read").unwrap();
    assert_eq!(read["metrics"]["wall_ns"]["n"], 2, "the first figures are no part of the run");
    let (again, _) = measure_in(kept.path(), &world, &words);
    for said in ["one run of each", "builds first"] {
        assert!(!again.stderr.contains(said), "{said}: {}", again.stderr);
    }
}

#[test]
fn the_best_of_each_language_that_is_installed_competes_by_default() {
    let world = World::new();
    let (_, json) = measure(&world, &["reading", "--size", "64KiB"]);
    let mut expected = BTreeSet::from(["rust"]);
    expected.extend(installed());
    let measured = cells(&json).filter(|cell| cell["status"] == "measured");
    let languages: BTreeSet<&str> = measured.filter_map(|cell| cell["language"].as_str()).collect();
    assert!(expected.is_subset(&languages), "{expected:?} {languages:?}");
    assert_answers_agree(&json);
    for language in installed() {
        let of_language = cells(&json).filter(|cell| cell["language"] == language);
        assert_eq!(of_language.count(), 1, "{language}");
        let version = json["environment"][format!("toolchain_{language}")].as_str().unwrap();
        assert!(version.contains(|c: char| c.is_ascii_digit()), "{version}");
        let command = json["environment"][format!("worker_{language}_command")].as_str().unwrap();
        let flag = match language {
            "c" | "cpp" => " -O3 ",
            "go" => " build ",
            "java" => "javac -d ",
            "haskell" => " -O2 ",
            "swift" => " -O ",
            _ => "/worker.",
        };
        assert!(command.contains(flag), "{language}: {command}");
    }
}

/// Whether a method of an installed language may be skipped: numpy may be missing.
fn is_rightly_skipped(cell: &Value) -> bool {
    cell["method"] == "python-numpy" && cell["status"] == "skipped"
}

/// Several files, several operations in a sample, and a path that must be escaped.
#[test]
fn every_method_of_every_language_reads_every_byte() {
    let world = World::new();
    let file = &world.write("50 % ä+.bin", (0..=255).cycle().take(300_001).collect::<Vec<u8>>());
    let languages = format!("{},rust", installed().join(","));
    let odd = ["--file", file.as_str(), "--parallel", "2", "--buffer", "4KiB", "--counting", "1"];
    for args in [&["--size", "1MiB"][..], &odd[..]] {
        let named = ["reading", "-m", "read,*-*", "--language", languages.as_str()];
        let (ran, json) = measure(&world, &[&named[..], args].concat());
        assert_answers_agree(&json);
        for (language, _, n) in LANGUAGES {
            if !installed().contains(language) {
                continue;
            }
            let of_language: Vec<_> =
                cells(&json).filter(|c| c["language"] == **language).collect();
            assert_eq!(of_language.len(), *n, "{language}: {}", ran.stderr);
            for cell in of_language {
                assert!(cell["status"] == "measured" || is_rightly_skipped(cell), "{cell}");
            }
        }
        if installed().contains(&"go") && args == odd {
            let metrics = &cell(&json, "go-readfile")["metrics"];
            assert!(metrics["allocated_bytes"]["p50"].as_f64().unwrap() >= 300_001.0, "{metrics}");
        }
    }
}

#[test]
fn programs_in_every_language_copy_every_byte() {
    let world = World::new();
    let languages = installed();
    if languages.is_empty() {
        return;
    }
    let args =
        ["copying", "--size", "1000001", "--output", "pipe", "--language", &languages.join(",")];
    let (ran, json) = measure(&world, &args);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    for language in languages {
        let of_language: Vec<&Value> =
            cells(&json).filter(|cell| cell["language"] == language).collect();
        let n = of_language.len();
        assert_eq!(
            n,
            [("haskell", 7), ("swift", 2)]
                .iter()
                .find(|(l, _)| *l == language)
                .map_or(1, |(_, n)| *n)
        );
        for cell in of_language {
            assert_eq!(cell["status"], "measured", "{cell}");
            assert!(cell["metrics"]["cpu_ns"]["p50"].as_f64().unwrap() > 0.0);
        }
    }
}

#[test]
fn the_study_in_cpp_draws_samples() {
    if !have("cpp", &["c++"]) {
        return;
    }
    let world = World::new();
    for (kind, method) in [("text", "cpp-getline"), ("binary", "cpp-read")] {
        let few = ["sampling", "--kind", kind, "--records", "20000", "-m"];
        let both = format!("scan,{method}");
        let (ran, json) = measure(&world, &[&few[..], &[&*both, "--samples", "20000"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stdout);
        assert_answers_agree(&json);
        // A probability of 1 keeps all records: the output has as many bytes as the file.
        let rate = |name| cell(&json, name)["metrics"]["throughput_bytes_per_s"]["p50"].as_f64();
        assert!(rate(method).unwrap() > 0.0 && rate("scan").unwrap() > 0.0);
        let (ran, _) = measure(&world, &[&few[..], &[method, "--samples", "100"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stdout);
    }
}

/// The command of a worker that was built into this directory.
fn worker(kept: &Path, language: &str) -> Option<String> {
    let entries = std::fs::read_dir(kept.join("workers")).ok()?;
    let mut places: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    places.retain(|path| {
        path.file_name().unwrap().to_string_lossy().starts_with(&format!("{language}-"))
    });
    // The newest of several versions.
    let place =
        places.into_iter().max_by_key(|path| path.metadata().unwrap().modified().unwrap())?;
    let place = place.display();
    Some(match language {
        "java" => format!("java -cp {place} Worker"),
        "python" => format!("python3 {place}/src/workers/python/worker.py"),
        _ => format!("{place}/worker"),
    })
}

#[test]
fn a_worker_under_two_names_is_not_said_to_differ() {
    if !have("c", &["cc"]) {
        return;
    }
    // Other tests build it for other levels of the optimiser.
    let world = World::new();
    let own = world.path("own");
    measure_in(&own, &world, &["reading", "--size", "64KiB", "-m", "c-read"]);
    let command = format!("{} reading read", worker(&own, "c").unwrap());
    let twin = format!("twin={command}");
    let args = ["reading", "--size", "256KiB", "-m", "c-read", "--worker", &twin, "--rounds", "30"];
    // One run in twenty may give another verdict; three in a row do not.
    let decided: Vec<String> = (0..3)
        .map(|_| verdicts(&measure_in(&own, &world, &args).1, "twin").concat())
        .take_while(|verdicts| verdicts.contains("faster") || verdicts.contains("slower"))
        .collect();
    assert!(decided.len() < 3, "{decided:?}");
}

#[test]
fn a_jvm_that_is_killed_takes_only_its_own_cell_with_it() {
    if !have("java", &["javac", "java"]) {
        return;
    }
    let world = World::new();
    measure(&world, &["reading", "--size", "64KiB", "-m", "java-file-input-stream"]);
    let pid = world.path("pid");
    let jvm = format!(
        "echo $$ > {}; exec {} reading file-input-stream",
        pid.display(),
        worker(&kept(), "java").unwrap()
    );
    let jvm = world.worker("jvm", &jvm);
    let (reporting, fifo) = world.reporting_worker(64 << 10);
    let kept = kept();
    let mut command = world.command(&["run", "reading", "--size", "64KiB", "-m", "read", "--json"]);
    command.args(["--worker", &jvm, "--worker", &reporting, "--rounds", "8", "--counting", "0"]);
    // Every sample counts, even if the kernel evicts a page of the file.
    command.args(["--sessions", "1", "--data-dir", kept.to_str().unwrap(), "--cache", "as-is"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut samples = BufReader::new(std::fs::File::open(fifo).unwrap()).lines();
    // The worker reports each sample before it takes it. In its sixth sample, the JVM has taken
    // several and has more to take.
    let mut lines = samples.by_ref().map(Result::unwrap);
    lines.find(|line| line.ends_with(" 6")).unwrap();
    let pid: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    for line in samples {
        line.unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{json}");
    let jvm = cell(&json, "jvm");
    assert_eq!(jvm["status"], "failed");
    let taken = jvm["samples"]["wall_ns"].as_array().unwrap().len();
    assert!(taken > 0, "{jvm}");
    assert_eq!(jvm["reason"], format!("died after {taken} rounds: was ended by signal 9"));
    for method in ["read", "reporting"] {
        let cell = cell(&json, method);
        assert_eq!(cell["status"], "measured");
        assert_eq!(cell["samples"]["wall_ns"].as_array().unwrap().len(), 8, "{cell}");
    }
    assert_eq!(json["complete"], true);
}

#[test]
fn a_worker_that_lies_is_out() {
    if !have("python", &["python3"]) {
        return;
    }
    let world = World::new();
    let honest =
        std::fs::read_to_string(Path::new(REPOSITORY).join("workers/python/worker.py")).unwrap();
    for (truth, lie, outcome) in [
        ("answer={total:016x}", "answer={total + 1:016x}", "wrong-answer"),
        ("bytes={size * ops}", "bytes={size * ops - 1}", "failed"),
        ("wall={wall_ns}", "wall={wall_ns + 10**10}", "failed"),
    ] {
        assert!(honest.contains(truth));
        let liar = world.path("liar.py");
        std::fs::write(&liar, honest.replace(truth, lie)).unwrap();
        let liar = format!("liar=python3 {} reading read", liar.display());
        let few = ["reading", "--size", "64KiB", "-m", "read,mmap", "--rounds", "3"];
        let (ran, json) = measure(&world, &[&few[..], &["--worker", &liar]].concat());
        assert_eq!(ran.code, 1, "{lie}: {json}");
        let found = if cell(&json, "liar")["status"] == "failed" {
            vec!["failed"]
        } else {
            verdicts(&json, "liar")
        };
        assert!(found.contains(&outcome), "{lie}: {found:?}");
        assert!(!verdicts(&json, "mmap").contains(&"wrong-answer"), "{lie}: {json}");
    }
}

#[test]
fn what_is_not_installed_is_left_out_by_default_and_skipped_where_it_is_named() {
    let world = World::new();
    let nowhere = world.path("empty");
    std::fs::create_dir(&nowhere).unwrap();
    let run = |args: &[&str]| {
        let few =
            ["run", "reading", "--size", "64KiB", "--rounds", "2", "--counting", "0", "--json"];
        let mut command = world.command(&few);
        let output = command.args(args).env("PATH", &nowhere).output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), json, String::from_utf8(output.stderr).unwrap())
    };
    let (_, json, stderr) = run(&[]);
    assert!(cells(&json).all(|cell| cell["language"] != "go"), "{json}");
    assert!(stderr.contains("left out, as not installed here: c, cpp, go, java"), "{stderr}");
    assert!(stderr.contains("; `bytelab list reading` says what to install"), "{stderr}");
    let (code, json, _) = run(&["--language", "go,java"]);
    assert_eq!(code, 1);
    for (method, install) in [("go-read", "install Go"), ("java-file-channel", "install a JDK")] {
        let cell = cell(&json, method);
        assert_eq!(cell["status"], "skipped");
        assert_eq!(cell["language"], method.split('-').next().unwrap());
        assert!(cell["reason"].as_str().unwrap().contains(install), "{cell}");
    }
    let mut list = world.command(&["list", "reading"]);
    let listed = String::from_utf8(list.env("PATH", &nowhere).output().unwrap().stdout).unwrap();
    let listed = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        listed.contains("go not here: go is not installed; to have it, install Go"),
        "{listed}"
    );
}

#[test]
fn an_unknown_language_is_refused() {
    let world = World::new();
    let args = ["run", "reading", "--language", "cobol"];
    world.refused(&args, "--language cobol: there are methods in c, cpp, go");
}
