use std::collections::BTreeMap;

use analysis::compare_sides;
use model::run::{Design, Sample};
use serde_json::json;

use super::*;
use crate::json::compare::json;
use crate::tests::fixture::Fixture;
use crate::views::compare::notes;

/// A run of `read` and `mmap`, with their times in ms; 20 samples each, with little variation.
fn run(id: u32, read: f64, mmap: f64) -> Run {
    let mut fixture = Fixture::new();
    fixture.measured("read", [read, read, 2.0]).measured("mmap", [mmap, mmap, 4.0]);
    let mut run = fixture.run;
    run.id = id.to_string();
    run.environment.facts.insert("cpu_model".to_owned(), json!("model of both"));
    run.environment.facts.insert("load_1_min".to_owned(), json!(id));
    run.started = format!("2026-01-{:02}T10:00:00Z", id % 28 + 1);
    for (cell, ms) in run.cells.iter_mut().zip([read, mmap]) {
        (cell.samples, cell.values) = (Vec::new(), BTreeMap::new());
        for round in 0..20 {
            let wall_ns = ms * 1e6 * (1.0 + f64::from((round * 7 + id) % 11) * 1e-3);
            let sample = Sample {
                session: round / 4,
                round: round % 4,
                ops: 1,
                bytes: 1,
                answer: Some("9".into()),
                ..Sample::default()
            };
            cell.push(sample, &[("wall_ns", wall_ns), ("cpu_ns", wall_ns), ("syscalls", 9.0)]);
        }
    }
    run
}

fn side(name: &str, runs: Vec<Run>) -> Side {
    Side { name: name.to_owned(), runs }
}

fn rendered(a: &Side, b: &Side) -> String {
    let sides = compare_sides(&a.runs, &b.runs, &[]);
    text(a, b, &sides, None, &PageLayout { width: 80, colour: false })
}

#[test]
fn one_run_a_side_shows_all_but_a_verdict_and_says_what_to_run() {
    let a = side("run 1", vec![run(1, 10.0, 8.0)]);
    let mut b = side("run 2", vec![run(2, 15.0, 6.0)]);
    b.runs[0].environment.facts.insert("kernel_release".to_owned(), json!("6.18\u{1b}[31m"));
    insta::assert_snapshot!(rendered(&a, &b), @r"
    reading: What is the fastest way to hand every byte of a file to the program?
    A: run 1 · 2026-01-02 10:00 UTC · model of both
    B: run 2 · 2026-01-03 10:00 UTC · model of both

    Differences of the environments
    fact            A  B
    ─────────────────────────────────
    kernel_release  —  6.18\u{1b}[31m
    Facts of the moment that differ (load, free memory …): 1, in --json

              A p50  B p50    B/A         relative
                               by           to the
    method       ms     ms   mean  95 %  reference  95 %  verdict
    ────────────────────────────────────────────────────────────────
    read       10.0   15.1  1.500                1        no verdict
    mmap       8.03   6.02  0.750            0.500        no verdict

    samples, ms       p0   p25   p50   p75   p90   p99  p100   n
    ────────────────────────────────────────────────────────────
    read         A  10.0  10.0  10.0  10.1  10.1  10.1  10.1  20
                 B  15.0  15.0  15.1  15.1  15.1  15.2  15.2  20
    mmap         A  8.00  8.02  8.03  8.06  8.07  8.08  8.08  20
                 B  6.00  6.01  6.02  6.04  6.05  6.06  6.06  20

    B/A by metric (* shown to differ)
    method      wall     CPU   calls
    ────────────────────────────────
    read      1.500   1.500   1.000
    mmap      0.750   0.750   1.000

    note: no verdict: a difference between two runs at different times may come from
      the state of the machine at those times, so a verdict takes 5 runs a side; run
      4 more of A and 4 more of B, minutes or days apart, each side with its
      --label, and compare the labels
    p50: of all samples of a side. B/A: the mean of B's sessions divided by that of
    A's, not the quotient of the p50s. Relative to the reference: the same of the
    ratio to the reference, which ran in the same rounds, so that the speed of the
    machine cancels.
    ");
}

#[test]
fn times_without_the_wait_are_named_so() {
    let less_wait = |mut run: Run| {
        for cell in &mut run.cells {
            let values: Vec<f64> = cell.values["wall_ns"].iter().map(|ns| 0.8 * ns).collect();
            for metric in ["wall_less_wait_ns", "cpu_ns"] {
                cell.values.insert(metric.to_owned(), values.clone().into());
            }
        }
        run
    };
    let a = side("run 1", vec![less_wait(run(1, 10.0, 8.0))]);
    let b = side("run 2", vec![less_wait(run(2, 15.0, 6.0))]);
    let text = rendered(&a, &b);
    for part in ["− wait  − wait", "8.03    12.0", "samples − wait, ms", "− wait: the times are"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Whole times"), "{text}");
}

#[test]
fn a_share_is_shown_in_percent() {
    assert_eq!(fact_value("busy_share_of_others", &json!(0.588_563_917)), "59 %");
    assert_eq!(fact_value("cpu_threads", &json!(2)), "2");
    assert_eq!(fact_value("share", &json!(null)), "—");
}

#[test]
fn five_runs_a_side_have_a_verdict() {
    let a = side("label ext4", (1..=5).map(|id| run(id, 10.0, 8.0)).collect());
    let b = side("label btrfs", (6..=10).map(|id| run(id, 10.0, 6.0)).collect());
    let text = rendered(&a, &b);
    let mmap = text.lines().find(|line| line.starts_with("mmap")).unwrap();
    assert!(mmap.ends_with("faster"), "{text}");
    assert!(text.contains("all of one side was measured before all of the other"), "{text}");
    assert!(!text.contains("no verdict"), "{text}");
}

#[test]
fn several_points_have_one_figure() {
    let at_two_sizes = |mut run: Run| {
        for mut cell in run.cells.clone() {
            cell.point.set("size", 1u64 << 30);
            run.cells.push(cell);
        }
        run.points.push(run.cells[2].point.clone());
        run
    };
    let side = |name, ids: std::ops::Range<u32>, mmap: f64| {
        side(name, ids.map(|id| at_two_sizes(run(id, 10.0, mmap))).collect())
    };
    let (a, b) = (side("label ext4", 1..6, 8.0), side("label btrfs", 6..11, 6.0));
    let text = rendered(&a, &b);
    let (_, over) = text.split_once("Over all 2 points, the geometric mean\n").unwrap();
    let line = over.lines().find(|line| line.starts_with("mmap")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words[1], words[3]), ("0.750", "0.750"), "{line}");
    let sides = compare_sides(&a.runs, &b.runs, &[]);
    let json: serde_json::Value =
        serde_json::from_str(&json(&a, &b, &sides, None).unwrap()).unwrap();
    assert!((json["overall"][1]["relative"]["ratio"].as_f64().unwrap() - 0.75).abs() < 0.01);
}

#[test]
fn the_document_has_what_the_text_has() {
    let a = side("run 1", vec![run(1, 10.0, 8.0)]);
    let b = side("run 2", vec![run(2, 15.0, 6.0)]);
    let sides = compare_sides(&a.runs, &b.runs, &[]);
    let json: serde_json::Value =
        serde_json::from_str(&json(&a, &b, &sides, None).unwrap()).unwrap();
    assert_eq!(json["a"]["runs"], json!(["1"]));
    assert_eq!(json["comparisons"][0]["absolute"]["verdict"], "undecided");
    let ratio = json["comparisons"][0]["absolute"]["ratio"].as_f64().unwrap();
    assert!((ratio - 1.5).abs() < 0.01);
    assert!(json["notes"][0].as_str().unwrap().starts_with("no verdict"));
}

#[test]
fn runs_that_ended_when_all_was_decided_are_named_once() {
    let mut a = side("label ext4", (1..=5).map(|id| run(id, 10.0, 8.0)).collect());
    let mut b = side("label btrfs", (6..=10).map(|id| run(id, 10.0, 6.0)).collect());
    let of_them = |a: &Side, b: &Side| -> Vec<String> {
        notes(a, b).into_iter().filter(|note| note.contains("all was decided")).collect()
    };
    assert_eq!(of_them(&a, &b), [""; 0]);
    for run in a.runs[2..3].iter_mut().chain(&mut b.runs[1..3]) {
        run.plan.design = Design::Sequential;
    }
    let expected = "runs 3, 7, 8 ended when all was decided, where a small difference that is found \
                    early is shown larger than it is: measure the runs of both sides with --rounds";
    assert_eq!(of_them(&a, &b), [expected]);
}
