//! `bytelab import` of files as tools, shells and terminals write them: the values that come out,
//! and what is said of what was not read.

use serde_json::Value;

use crate::import::{history, import, json_of, refused};
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
    assert_eq!((wall(&run, "A"), &run["started"]), (100.0.into(), &"2026-01-02T03:04:05Z".into()));
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
    assert_eq!((wall(&run, "b"), run["cells"].as_array().unwrap().len()), (5.0.into(), 1));
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
