//! A check in all its forms.

use analysis::{CheckLine, Checked, Outcome};
use model::param::Point;

use crate::PageLayout;
use crate::check::{CheckBaseline, Sides, json, markdown, text};

fn line(method: &str, outcome: Outcome) -> CheckLine {
    CheckLine {
        method: method.to_owned(),
        point: Point::default(),
        metric: "wall_ns".to_owned(),
        allowed_percent: 5.0,
        reference: Some("read".to_owned()),
        baseline: Some(6.1e6),
        now: Some(6.2e6),
        ratio: Some(1.012),
        low: Some(0.995),
        high: Some(1.0304),
        level: Some(0.95),
        of_runs: Vec::new(),
        is_unconfirmed: false,
        outcome,
        reason: None,
    }
}

fn sides() -> Sides<'static> {
    Sides {
        against: CheckBaseline::Baseline { name: "main", id: "7" },
        now: vec!["8", "9"],
        busy: Vec::new(),
    }
}

#[test]
fn a_line_per_metric_and_the_outcome_last() {
    let mut hostile = line("a|<b>\u{1b}", Outcome::Undecided);
    hostile.level = Some(0.9975);
    hostile.reason = Some("a\nreason".to_owned());
    let lines = vec![line("mmap", Outcome::Ok), hostile];
    let checked = Checked { outcome: Outcome::Undecided, lines };
    let layout = PageLayout { width: 80, colour: false };
    insta::assert_snapshot!(text(&sides(), &checked, &layout), @r"
    ok        mmap wall_ns: 6.1 ms → 6.2 ms, 1.012 beside read (0.995–1.030 at 95 %; allowed 5 %)
    undecided a|<b>\u{1b} wall_ns: 6.1 ms → 6.2 ms, 1.012 beside read (0.995–1.030 at 99.75 %; allowed 5 %): a reason
    check: undecided (runs 8 and 9 against main, run 7)
    ");
    let markdown = markdown(&sides(), &checked);
    assert!(markdown.contains("| ok | mmap |  | wall&#95;ns | 6.1 ms | 6.2 ms | 1.012 | 0.995–1.030 at 95 % | 5 % | beside read |"), "{markdown}");
    assert!(markdown.contains("a&#124;&lt;b&gt;&#92;u{1b}"), "{markdown}");
    assert!(!markdown.contains("<b>") && !markdown.contains('\u{1b}'));
    let json: serde_json::Value = serde_json::from_str(&json(&sides(), &checked).unwrap()).unwrap();
    assert_eq!(json["outcome"], "undecided");
    assert_eq!(json["lines"][0]["ratio"], 1.012);
}

#[test]
fn what_is_slower_in_both_runs_has_the_change_of_each() {
    let (ratio, low, high) = (Some(1.4), Some(1.366), Some(1.435));
    let slower = CheckLine { ratio, low, high, level: Some(0.975), ..line("a", Outcome::Slower) };
    let slower = CheckLine { of_runs: vec![1.61, 1.4], ..slower };
    let ok = CheckLine { of_runs: vec![1.042, 0.98], ..line("b", Outcome::Ok) };
    let checked = Checked { outcome: Outcome::Slower, lines: vec![slower, ok] };
    let layout = PageLayout { width: 80, colour: false };
    insta::assert_snapshot!(text(&sides(), &checked, &layout), @r"
    slower    a wall_ns: 6.1 ms → 6.2 ms over all runs, slower by 40 % or more beside read (run 8: +61 %, run 9: +40 %; 1.366–1.435 at 97.5 %; allowed 5 %)
    ok        b wall_ns: 6.1 ms → 6.2 ms over all runs, 1.012 beside read (run 8: +4.2 %, run 9: -2.0 %; 0.995–1.030 at 95 %; allowed 5 %)
    check: slower (runs 8 and 9 against main, run 7)
    ");
    let markdown = markdown(&sides(), &checked);
    assert!(markdown.contains("beside read; run 8: +61 %, run 9: +40 %"), "{markdown}");
    let json: serde_json::Value = serde_json::from_str(&json(&sides(), &checked).unwrap()).unwrap();
    assert_eq!(json["lines"][0].get("of_runs"), None);
}
