//! `bytelab import` of files as tools, shells and terminals write them: the values that come out,
//! and what is said of what was not read.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::import::{history, id_of, import, json_of, refused};
use crate::program::{World, cell};

/// Imports the text, whose format is recognized, and returns the run as it is shown.
fn shown(world: &World, name: &str, bytes: impl AsRef<[u8]>) -> Value {
    let file = world.write(name, bytes);
    let id = import(world, &[&file]);
    json_of(world, &["show", &id, "--json"])
}

fn wall(run: &Value, method: &str) -> Value {
    cell(run, method)["metrics"]["wall_ns"]["p50"].clone()
}

fn points(run: &Value) -> Vec<String> {
    let cells = run["cells"].as_array().unwrap();
    cells.iter().map(|cell| format!("{} {}", cell["method"], cell["point"])).collect()
}

#[test]
fn text_of_a_shell_in_utf_16_is_read() {
    let world = World::new();
    let text = "goos: windows\r\nBenchmarkA-4 1000 100 ns/op\r\nPASS\r\n";
    for (mark, unit) in
        [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)]
    {
        let units = text.encode_utf16().flat_map(unit);
        let bytes: Vec<u8> = mark.into_iter().chain(units).collect();
        assert_eq!(wall(&shown(&world, "bench.txt", bytes), "A"), 100.0);
    }
    refused(&world, &[&world.write("cut", b"\xff\xfeB")], "an odd number of bytes");
}

#[test]
fn configuration_and_processors_of_go_are_points_that_are_not_compared() {
    let world = World::new();
    let text = "pkg: p\ntoolchain: old\nBenchmarkA 9 100 ns/op\nBenchmarkA-2 9 50 ns/op\n\
                toolchain: new\nBenchmarkA 9 200 ns/op\nBenchmarkA-2 9 60 ns/op\n";
    let run = shown(&world, "bench.txt", text);
    let at = |toolchain: &str, processors: u32| {
        format!(
            "\"A\" {{\"gomaxprocs\":{processors},\"package\":\"p\",\"toolchain\":\"{toolchain}\"}}"
        )
    };
    assert_eq!(points(&run), [at("old", 1), at("old", 2), at("new", 1), at("new", 2)]);
    assert!(run["comparisons"].as_array().unwrap().is_empty(), "{}", run["comparisons"]);
}

#[test]
fn events_of_go_are_recognized() {
    let world = World::new();
    let text = r#"{"Time":"2026-01-02T03:04:05Z","Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":"BenchmarkA-4 \t"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":"    1000\t       100 ns/op\n"}
"#;
    let run = shown(&world, "bench.json", text);
    assert_eq!(wall(&run, "A"), 100.0);
    assert_eq!(run["started"], "2026-01-02T03:04:05Z");
}

#[test]
fn documents_are_found_in_what_a_terminal_showed() {
    let world = World::new();
    let fio = "a: (g=0): rw=read\nfio-3.33\n{\"fio version\":\"fio-3.33\",\"jobs\":[{\"jobname\":\"a\",\
               \"read\":{\"total_ios\":4,\"runtime\":2}}]}\n\na: (groupid=0)\n";
    let run = shown(&world, "fio.txt", fio);
    assert_eq!(wall(&run, "a"), 500_000.0);
    let notes = run["notes"].to_string();
    for words in
        ["text before the document is not read: 2 lines", "text behind the document is not"]
    {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    let google = "***WARNING*** CPU scaling is enabled\n{\"context\":{},\"benchmarks\":[\
                  {\"name\":\"b\",\"iterations\":1,\"real_time\":5},\
                  {\"name\":\"b_BigO\",\"cpu_coefficient\":-nan,\"big_o\":\"N\"}]}\n";
    let run = shown(&world, "google.txt", google);
    assert_eq!(wall(&run, "b"), 5.0);
    assert_eq!(run["cells"].as_array().unwrap().len(), 1);
    let notes = run["notes"].to_string();
    assert!(notes.contains("WARNING") && notes.contains("cpu_coefficient"), "{notes}");
    let twice = world.write("twice.txt", format!("{fio}{fio}"));
    refused(&world, &[&twice], "line 8: a second document begins");
}

#[test]
fn directories_of_other_layouts_are_named() {
    let world = World::new();
    let write = |path: &str, text: &str| {
        let path = world.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let sample = "{\"iters\":[1.0],\"times\":[100.0]}";
    write("criterion/g/old/new/sample.json", sample);
    let dir = world.path("criterion");
    let dir = dir.to_str().unwrap();
    refused(&world, &[dir], "an old version of criterion wrote");
    write("criterion/g/f/new/sample.json", sample);
    let benchmark = "{\"group_id\":\"g\",\"function_id\":\"f\",\"value_str\":null}";
    write("criterion/g/f/new/benchmark.json", benchmark);
    write("criterion/g/f/new/raw.csv", "sample_measured_value,unit\n100.0,cycles\n");
    write("criterion/data/main/benchmark.cbor", "x");
    let id = import(&world, &[dir]);
    let run = json_of(&world, &["show", &id, "--json"]);
    let metrics = &cell(&run, "f")["metrics"];
    assert_eq!(metrics["cycles (its own)"]["p50"], 100.0);
    assert!(metrics["wall_ns"].is_null(), "{metrics}");
    let notes = run["notes"].to_string();
    for words in ["g/old/new", "data/main", "criterion measured"] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    assert_eq!(history(&world).len(), 1);
}

/// What each tool writes, by version and situation: the name of the tool, and its table. Before the
/// first case of a table is prose. A case is:
///
/// ```text
/// === its name
/// --- new/sample.json     the path of a file in a directory, or utf-16le; of one file nothing
/// the content
/// >>>
/// METHOD | k=v,k=v | METRIC | the p50        the params are sorted, and - is none
/// missing: METHOD | - | METRIC
/// note: words of a note
/// refused: words of the error
/// ```
const TABLES: [(&str, &str); 5] = [
    ("hyperfine", include_str!("../imports/hyperfine.txt")),
    ("google-benchmark", include_str!("../imports/google-benchmark.txt")),
    ("go", include_str!("../imports/go.txt")),
    ("criterion", include_str!("../imports/criterion.txt")),
    ("fio", include_str!("../imports/fio.txt")),
];

const LEAST_CASES: usize = 12;

struct Case<'a> {
    name: &'a str,
    /// The path or the encoding, and the content.
    files: Vec<(&'a str, String)>,
    expected: Vec<Expected<'a>>,
}

enum Expected<'a> {
    Refused(&'a str),
    Note(&'a str),
    /// The method and its params, a metric, and its p50; `None`: the run lacks it.
    Figure((&'a str, &'a str), &'a str, Option<f64>),
}

impl<'a> Expected<'a> {
    fn new(line: &'a str) -> Expected<'a> {
        if let Some(words) = line.strip_prefix("refused: ") {
            return Expected::Refused(words);
        }
        if let Some(words) = line.strip_prefix("note: ") {
            return Expected::Note(words);
        }
        let missing = line.strip_prefix("missing: ");
        let fields: Vec<&str> = missing.unwrap_or(line).split(" | ").collect();
        match (missing, fields.as_slice()) {
            (Some(_), &[method, params, metric]) => {
                Expected::Figure((method, params), metric, None)
            }
            (None, &[method, params, metric, value]) => {
                let value = value.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
                Expected::Figure((method, params), metric, Some(value))
            }
            _ => panic!("not of the form of the table: {line}"),
        }
    }
}

/// Content may have lines that begin like those of the table: only where the content has ended does
/// a case begin, and only a directory has several files.
fn cases<'a>(tool: &str, table: &'a str) -> Vec<Case<'a>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut is_content = false;
    for line in table.lines() {
        if let Some(name) = line.strip_prefix("=== ").filter(|_| !is_content) {
            cases.push(Case { name, files: Vec::new(), expected: Vec::new() });
            is_content = true;
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        let begins = case.files.is_empty() || tool == "criterion";
        if !is_content {
            case.expected.extend((!line.is_empty()).then(|| Expected::new(line)));
        } else if line == ">>>" {
            is_content = false;
        } else if let Some(path) = line.strip_prefix("--- ").filter(|_| begins) {
            case.files.push((path, String::new()));
        } else {
            if case.files.is_empty() {
                case.files.push(("", String::new()));
            }
            let (_, content) = case.files.last_mut().unwrap();
            content.push_str(line);
            content.push('\n');
        }
    }
    assert!(!is_content, "{tool}: the last case does not end");
    cases
}

/// Writes the files of a case, and returns the path that is imported.
fn written(world: &World, tool: &str, name: &str, files: &[(&str, String)]) -> String {
    if tool == "criterion" {
        for (path, content) in files {
            let path = world.path(name).join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        return world.path(name).to_str().unwrap().to_owned();
    }
    match files {
        [("utf-16le", content)] => {
            let text = format!("\u{feff}{content}").replace('\n', "\r\n");
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            world.write(name, bytes)
        }
        [("", content)] => world.write(name, content),
        _ => panic!("{name}: one file, whose encoding is known"),
    }
}

/// The params of a cell as the table has them.
fn params(cell: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let point = cell["point"].as_object().unwrap();
    let mut all: Vec<String> =
        point.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
    all.sort();
    if all.is_empty() { "-".to_owned() } else { all.join(",") }
}

/// What is found, where it is not what the case expects.
fn mismatches(world: &World, tool: &str, at: usize, case: &Case<'_>) -> Vec<String> {
    let path = written(world, tool, &format!("{tool}-{at}"), &case.files);
    let ran = world.run(&["import", &path]);
    let refusal = case.expected.iter().find_map(|expected| match expected {
        Expected::Refused(words) => Some(*words),
        _ => None,
    });
    let found = format!("exit status {}: {}{}", ran.code, ran.stdout, ran.stderr);
    match refusal {
        Some(words) if ran.code == 2 && ran.stdout.is_empty() && ran.stderr.contains(words) => {
            Vec::new()
        }
        Some(words) => vec![format!("expected to be refused: {words}; found {found}")],
        None if ran.code != 0 => vec![format!("expected a run; found {found}")],
        None => {
            let run = json_of(world, &["show", &id_of(&ran), "--json"]);
            let mut wrong = wrong_figures(&run, &case.expected);
            if run["experiment"] != tool {
                wrong.push(format!("taken for {}", run["experiment"]));
            }
            wrong
        }
    }
}

fn wrong_figures(run: &Value, expected: &[Expected<'_>]) -> Vec<String> {
    let cells = run["cells"].as_array().unwrap();
    let notes = run["notes"].as_array().unwrap().iter().filter_map(|note| note["text"].as_str());
    let notes: Vec<&str> = notes.collect();
    let place = |cell: &Value| (cell["method"].as_str().unwrap().to_owned(), params(cell));
    let all: BTreeSet<(String, String)> = cells.iter().map(place).collect();
    let (mut wrong, mut named) = (Vec::new(), BTreeSet::new());
    for one in expected {
        match *one {
            Expected::Refused(_) => {}
            Expected::Note(words) => {
                if !notes.iter().any(|note| note.contains(words)) {
                    wrong.push(format!("expected a note: {words}; found {notes:?}"));
                }
            }
            Expected::Figure((method, of), metric, value) => {
                let key = (method.to_owned(), of.to_owned());
                let cell = cells.iter().find(|cell| place(cell) == key);
                let found = cell.and_then(|cell| cell["metrics"][metric]["p50"].as_f64());
                let is_near = match (found, value) {
                    (Some(found), Some(value)) => (found - value).abs() <= value.abs() * 1e-9,
                    (found, value) => found.is_none() && value.is_none(),
                };
                if !is_near {
                    wrong.push(format!(
                        "{method} | {of} | {metric}: expected {value:?}; found {found:?}"
                    ));
                }
                named.insert(key);
            }
        }
    }
    if named != all {
        wrong.push(format!("expected the methods {named:?}; found {all:?}"));
    }
    wrong
}

#[test]
fn each_version_of_each_tool_has_its_figures() {
    let mut wrong = Vec::new();
    for (tool, table) in TABLES {
        let world = World::new();
        let cases = cases(tool, table);
        assert!(cases.len() >= LEAST_CASES, "{tool}: only {} cases", cases.len());
        for (at, case) in cases.iter().enumerate() {
            assert!(!case.expected.is_empty(), "{tool}: {}: nothing is expected", case.name);
            let found = mismatches(&world, tool, at, case);
            wrong.extend(found.iter().map(|text| format!("{tool}: {}: {text}", case.name)));
        }
    }
    assert!(wrong.is_empty(), "{} mismatches:\n{}", wrong.len(), wrong.join("\n"));
}
