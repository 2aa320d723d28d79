use analysis::Verdict;
use insta::assert_snapshot;
use model::run::{MetricColumn, Status, Uncounted, Warning};
use serde_json::Value;

use super::write;
use crate::tests::fixture::{self, Fixture};

fn document(f: &Fixture) -> Value {
    let mut out = Vec::new();
    write(&f.run, &f.analysis, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn small() -> Fixture {
    let mut f = Fixture::new();
    f.cell("read", Status::Measured).metric("wall_ns", 9.5e6, 3);
    f.cell("python", Status::Failed("died".to_owned()));
    f.last().0.language = Some("python".to_owned());
    f.versus(Verdict::Missing, [f64::NAN; 3]);
    f.note(Some("read"), Some(0), "drift");
    f.note(None, None, "load");
    f
}

/// The keys of each object; those of the elements of an array are merged.
fn keys(value: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(object) = value.as_object().filter(|object| !object.is_empty()) {
        let names: Vec<&str> = object.keys().map(String::as_str).collect();
        found.push(format!("{path}: {}", names.join(" ")));
        for (name, value) in object {
            keys(value, &format!("{path}.{name}"), found);
        }
    }
    for value in value.as_array().into_iter().flatten() {
        keys(value, &format!("{path}[]"), found);
    }
}

#[test]
fn the_document_has_these_keys() {
    let mut found = Vec::new();
    keys(&document(&small()), "", &mut found);
    assert_snapshot!(found.join("\n"), @r"
: across cells comparisons complete environment experiment families id label notes overall plan points question schema started
.cells[]: about answer counting digest method metrics not_counted ops pareto point role rounds samples sessions status syscalls_by_name warm_up wrong_answer
.cells[].counting: ops reasons rounds samples sessions
.cells[].metrics: wall_ns
.cells[].metrics.wall_ns: constant intervals n ops p0 p100 p25 p50 p75 p90 p99 sessions unit
.cells[].metrics.wall_ns.intervals: p25 p50 p75 p90 p99
.cells[].not_counted: ops reasons rounds samples sessions
.cells[].point: size
.cells[].samples: wall_ns
.cells[].warm_up: ops reasons rounds samples sessions
.cells[]: about answer counting digest language method metrics not_counted ops pareto point reason role rounds samples sessions status syscalls_by_name warm_up wrong_answer
.cells[].counting: ops reasons rounds samples sessions
.cells[].not_counted: ops reasons rounds samples sessions
.cells[].point: size
.cells[].warm_up: ops reasons rounds samples sessions
.comparisons[]: below_relevance beside_load cell decides doubt found_percent high level low method metric n p p_holm point ratio reason reference reference_cell sessions sessions_for_1_percent verdict
.comparisons[].point: size
.environment: fingerprint
.families[]: best metric pareto point reference undecided why
.families[].point: size
.notes[]: method point text
.notes[].point: size
.notes[]: text
.plan: cache counting fresh rounds sample_limit_ns seed sessions time_limit_ns warm_up
.points[]: size
");
}

#[test]
fn only_counted_samples_stand_among_the_samples() {
    let mut f = small();
    let cell = f.cell_mut(0).0;
    cell.samples = (0..5).map(fixture::sample).collect();
    cell.samples[0].warm_up = true;
    cell.samples[2].not_counted = Some("not cached".into());
    cell.samples[3].session = 1;
    let columns =
        [("wall_ns", vec![1.0, 2.5, 3.0, 4.0, 5.0]), ("cpu_ns", vec![1.0, f64::NAN, 3.0, 4.0])];
    cell.values =
        columns.map(|(name, values)| (name.to_owned(), MetricColumn::from(values))).into();
    cell.values.insert("major_faults".to_owned(), vec![7.0].into());
    let cell = &document(&f)["cells"][0];
    assert_snapshot!(cell["samples"], @r#"{"cpu_ns":[null,4,null],"wall_ns":[2.5,4,5]}"#);
    assert_snapshot!(format!("{} {}", cell["sessions"], cell["rounds"]), @r"[0,1,0] [1,3,4]");
    assert_snapshot!(cell["warm_up"], @r#"{"ops":[1],"reasons":[null],"rounds":[0],"samples":{"cpu_ns":[1],"major_faults":[7],"wall_ns":[1]},"sessions":[0]}"#);
    assert_snapshot!(cell["not_counted"], @r#"{"ops":[1],"reasons":["not cached"],"rounds":[2],"samples":{"cpu_ns":[3],"wall_ns":[3]},"sessions":[0]}"#);
}

#[test]
fn the_reason_why_a_method_was_not_counted_is_data() {
    let mut f = small();
    let no_time = Uncounted::NoTime { enough_ns: Some(12_000_000_000) };
    f.analysis.notes = vec![Warning::uncounted("syscalls", no_time).of_method("read")];
    let note = &document(&f)["notes"][0];
    assert_snapshot!(note, @r#"{"method":"read","text":"syscalls: the time limit left no time to count; --time 12s would do","uncounted":{"enough_ns":12000000000,"reason":"no-time"}}"#);
}

#[test]
fn what_is_no_number_is_null() {
    let mut f = small();
    f.cell_mut(0).1.metrics[0].percentiles[2].value = f64::INFINITY;
    f.comparison().ratio = Some(f64::NAN);
    let document = document(&f);
    assert_eq!(document["cells"][0]["metrics"]["wall_ns"]["p50"], Value::Null);
    assert_eq!(document["comparisons"][0]["ratio"], Value::Null);
}

#[test]
fn no_control_character_leaves_as_it_is() {
    let mut f = small();
    let hostile = "\u{1b}[31m \u{7f}\u{9b}2J \"\n";
    f.run.id = hostile.to_owned();
    f.run.cells[0].point.set(hostile, hostile);
    let mut out = Vec::new();
    write(&f.run, &f.analysis, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains(char::is_control), "{text:?}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["id"], hostile);
    assert_eq!(document["cells"][0]["point"][hostile], hostile);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let f = Fixture::reading();
    let error = write(&f.run, &f.analysis, Full).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}
