//! From samples through the analysis to the page: tests that the two work together.

use analysis::{Verdict, analyze};
use model::run::{Design, Status};

use super::fixture::{self, Fixture};
use super::{ALL_NOTES, shown, text};
use crate::views::rows;
use crate::{PageLayout, json, percentiles};

/// Thirty rounds in six sessions of a reference and of methods that take this share of its time.
fn measured(shares: &[(&str, f64)]) -> Fixture {
    let mut f = Fixture::new();
    for (method, share) in shares {
        f.cell(method, Status::Measured);
        for round in 0..30 {
            let noise = 1.0 + f64::from(round * 7 % 11) / 1000.0;
            let wall_ns = (1e7 * share * noise).round();
            let values = [("wall_ns", wall_ns), ("cpu_ns", wall_ns), ("peak_rss_bytes", 1e6)];
            let mut sample = fixture::sample(round);
            sample.session = round / 5;
            f.last().0.push(sample, &values);
        }
    }
    f
}

#[test]
fn a_method_that_takes_half_the_time_wins() {
    let mut f = measured(&[("read", 1.0), ("mmap", 0.5), ("slow", 2.0)]);
    f.analysis = analyze(&f.run);
    let text = shown(&f, 80);
    let answer = "Fastest here: mmap — 50";
    assert!(text.contains(answer) && text.contains("% less time than read"), "{text}");
    let order: Vec<usize> =
        ["mmap", "read", "slow"].map(|name| text.rfind(&format!(" {name}  ")).unwrap()).to_vec();
    assert!(order.is_sorted(), "{text}");
}

/// Figures on a machine on which others compute say so above the table.
#[test]
fn what_else_the_machine_did_stands_above_the_table() {
    let mut f = measured(&[("read", 1.0), ("mmap", 0.5)]);
    f.analysis = analyze(&f.run);
    let mut of = |others: f64, throttled: Option<f64>| {
        let facts = &mut f.run.environment.facts;
        facts.insert("busy_share_of_others".to_owned(), others.into());
        facts.insert("cgroup_throttled_share".to_owned(), throttled.into());
        shown(&f, 200)
    };
    assert!(!of(0.1, Some(0.05)).contains("busy: "));
    let busy = of(0.66, None);
    let at = |words: &str| busy.find(words).unwrap_or_else(|| panic!("no {words}: {busy}"));
    let advice = "; quote only the ratio, or repeat\n";
    let line = format!("busy: other programs used 66 % of the CPU time{advice}");
    assert!(at(&line) < at("Verdicts are by the "));
    assert_eq!(busy.matches("66 %").count(), 1, "{busy}");
    assert!(of(0.2, None).contains("busy: other programs used 20 % of the CPU time\n"));
    let quota =
        "busy: the quota of its control group stopped this run in 91 % of the quota's periods\n";
    assert!(of(0.0, Some(21.0 / 23.0)).contains(quota));
}

#[test]
fn every_reason_is_reported_once() {
    let mut f = measured(&[("read", 1.0), ("mmap", 0.5), ("cheat", 0.1)]);
    for sample in &mut f.last().0.samples {
        sample.answer = Some("dead".into());
    }
    for i in 0..5 {
        f.cell(&format!("refused{i}"), Status::Skipped("the kernel refuses it".to_owned()));
    }
    f.cell("broken", Status::Failed("died of signal 11".to_owned()));
    f.analysis = analyze(&f.run);
    let text = shown(&f, 80);
    let count = |words: &str| text.matches(words).count();
    assert_eq!(count("the kernel refuses it"), 5, "a line per method: {text}");
    assert_eq!(count("died of signal 11"), 1, "{text}");
    assert_eq!(count("dead"), 1, "{text}");
}

#[test]
fn all_metrics_of_all_cells_are_shown() {
    let mut f = measured(&[("read", 1.0), ("mmap", 0.5)]);
    f.analysis = analyze(&f.run);
    let layout = PageLayout { width: 80, colour: false };
    let shown = percentiles(&f.run, &f.analysis, &layout);
    for metric in ["wall [ms]", "cpu [ms]", "peak_rss [KiB]"] {
        assert_eq!(shown.matches(metric).count(), 2, "{metric}: {shown}");
    }
    let mut out = Vec::new();
    json(&f.run, &f.analysis, &mut out).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["cells"][1]["samples"]["wall_ns"].as_array().unwrap().len(), 30);
    assert_eq!(document["families"][0]["best"][0], "mmap");
    assert!(!text(&f.run, &f.analysis, ALL_NOTES, &layout).is_empty());
}

/// The p50 of what left early is of other sessions than the rest: the ratio orders the rows.
#[test]
fn the_rows_of_a_run_that_ends_when_all_is_decided_are_ordered_by_what_they_were_compared_in() {
    let mut f = Fixture::new();
    f.measured("read", [20.0, 20.0, 2.0]);
    f.measured("left", [11.0, 11.0, 2.0]).versus(Verdict::Slower, [1.1, 1.05, 1.15]);
    f.measured("stays", [18.0, 18.0, 2.0]).versus(Verdict::Faster, [0.9, 0.85, 0.95]);
    f.measured("bare", [12.0, 12.0, 2.0]).yardstick();
    let order = |f: &Fixture| {
        let all = rows::all(&f.run, &f.analysis);
        all[0].iter().map(|row| row.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(order(&f), ["left", "stays", "read", "bare"]);
    f.run.plan.design = Design::Sequential;
    assert_eq!(order(&f), ["stays", "read", "left", "bare"]);
}
