use lab::run::{Pass, Sample, Status};

use super::super::fixture::Fixture;
use super::*;

/// A run of `numbers` of one row, with these walls in sessions of ten, and the waits for a CPU.
fn run(row: &str, ns: &[f64], wait_ns: f64) -> Run {
    let mut f = Fixture::new();
    f.cell("row", Status::Measured);
    let mut run = f.run.clone();
    run.experiment = crate::numbers::EXPERIMENT.to_owned();
    let cell = &mut run.cells[0];
    cell.point.set("row", row);
    cell.samples.clear();
    cell.values.clear();
    for (i, ns) in ns.iter().enumerate() {
        let sample = Sample {
            pass: Pass::Timing,
            session: i as u32 / 10,
            round: i as u32 % 10,
            slot: 0,
            warm_up: false,
            not_counted: None,
            ops: 2,
            bytes: 4 << 20,
            answer: None,
        };
        // Every third one has waited.
        let wait_ns = if i % 3 == 0 { wait_ns } else { 0.0 };
        cell.push(sample, &[("wall_ns", *ns), ("run_queue_wait_ns", wait_ns)]);
    }
    run
}

fn figures(run: &Run) -> row::Figures {
    numbers(run)[0].figures.clone().unwrap()
}

fn layout(width: usize) -> Layout {
    Layout { width, colour: false }
}

#[test]
fn samples_that_waited_for_a_cpu_are_left_out_where_enough_are_left() {
    let all: Vec<f64> = (1..=30).map(f64::from).collect();
    let f = figures(&run("l1-load", &all, 5.0));
    assert_eq!((f.n, f.disturbed, f.p10, f.p50, f.p90), (20, 10, 3.0, 15.0, 27.0));
    let f = figures(&run("l1-load", &all, 0.0));
    assert_eq!((f.n, f.disturbed, f.p10, f.p50, f.p90), (30, 0, 3.0, 15.0, 27.0));
    let f = figures(&run("l1-load", &all[..9], 5.0));
    assert_eq!((f.n, f.disturbed), (9, 3));
}

#[test]
fn bandwidth_is_told_as_the_time_of_1_mib() {
    // Two operations of 100 ns move 4 MiB.
    let p50 = figures(&run("read-memory", &[100.0; 12], 0.0)).p50;
    assert!((p50 - 50.0).abs() < 1e-9, "{p50}");
}

#[test]
fn the_grade_is_that_of_the_sessions_and_of_the_samples() {
    let grade = |ns: &[f64]| figures(&run("l1-load", ns, 0.0)).grade;
    assert_eq!(grade(&[[1.0; 10], [1.04; 10], [1.5; 10]].concat()), 'A');
    assert_eq!(grade(&[[1.0; 10], [1.15; 10], [1.5; 10]].concat()), 'B');
    assert_eq!(grade(&[[1.0; 10], [1.4; 10], [1.5; 10]].concat()), 'C');
}

#[test]
fn the_table_fits_the_page_and_stands_beside_what_was_published() {
    let run = run("l1-load", &[1.25; 30], 0.0);
    let lines = |width: usize| text(&run, &[], &layout(width));
    for width in [60, 80, 100, 120] {
        assert!(lines(width).lines().all(|line| line.width() <= width), "{}", lines(width));
    }
    let wide = lines(120);
    let row = wide.lines().find(|line| line.starts_with("load from L1")).unwrap();
    let words: Vec<&str> = row.split_whitespace().skip(3).collect();
    let expected = [
        "1.25",
        "ns",
        "1.25–1.25",
        "A",
        "13.3",
        "M",
        "1",
        "ns",
        "7",
        "ns",
        "5",
        "ns",
        "2",
        "ns",
        "█",
    ];
    assert_eq!(words, expected);
}

#[test]
fn a_row_that_was_refused_says_why() {
    let mut run = run("l1-load", &[1.25; 30], 0.0);
    run.cells[0].status = Status::Skipped("no \u{1b}[31mpages".to_owned());
    let text = text(&run, &[Column::P50], &layout(80));
    assert!(text.contains("load from L1: skipped: no "), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let json = serde_json::to_value(json(&run).unwrap()).unwrap();
    assert_eq!(json[0]["p50"], serde_json::Value::Null);
}

#[test]
fn markdown_has_a_line_per_row() {
    let run = run("l1-load", &[1.25; 30], 0.0);
    assert_eq!(
        markdown(&run, &[Column::P50, Column::Grade]),
        "| operation | p50 |  |\n| --- | ---: | --- |\n| load from L1 | 1.25 ns | A |\n"
    );
}
