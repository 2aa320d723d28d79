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
