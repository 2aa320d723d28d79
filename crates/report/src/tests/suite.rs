//! The result of a check of a suite in each kind of text.

use analysis::{Outcome, SessionsEstimate};

use crate::suite::{SuiteLine, SuiteReport, bmf, json, junit, markdown, text};
use crate::text::PageLayout;

fn line(name: &str, outcome: Outcome, ratio: f64) -> SuiteLine {
    let estimate =
        SessionsEstimate { sessions: 8, ratio, low: Some(ratio - 0.02), high: Some(ratio + 0.02) };
    SuiteLine {
        program: "bench".to_owned(),
        name: name.to_owned(),
        outcome,
        estimate: Some(estimate),
        confirmed: Some(estimate).filter(|_| outcome == Outcome::Slower),
        old_ns: Some(1e6),
        new_ns: Some(1e6 * ratio),
        new_range_ns: Some((0.9e6, 2e6)),
        seconds: 1.5,
        reason: None,
    }
}

fn report() -> SuiteReport {
    let failed = SuiteLine {
        estimate: None,
        new_ns: None,
        reason: Some("new: it ended".to_owned()),
        ..line("gone wrong", Outcome::Missing, 1.0)
    };
    SuiteReport {
        outcome: Outcome::Slower,
        old: "main 1234567".to_owned(),
        new: "HEAD 89abcde".to_owned(),
        run: Some("12".to_owned()),
        allowed_percent: 2.0,
        benchmarks: vec![
            line("a<b>", Outcome::Slower, 1.08),
            line("most", Outcome::Slower, 1.5),
            line("quick", Outcome::Faster, 0.8),
            line("noisy", Outcome::Undecided, 1.01),
            line("fine", Outcome::Ok, 1.0),
            failed,
        ],
        geometric_mean: None,
        confirmed_mean: None,
        same_programs: vec!["other".to_owned()],
        added: vec!["bench: fresh".to_owned()],
        gone: Vec::new(),
        why: Vec::new(),
    }
}

#[test]
fn what_changed_is_named_and_the_rest_is_a_line() {
    let shown = text(&report(), &PageLayout { width: 120, colour: false });
    let expected = "\
slower    bench: most: 1 ms → 1.5 ms, +50 % (+48 % to +52 %, 8 sessions, confirmed by +50 % of 8)
slower    bench: a<b>: 1 ms → 1.08 ms, +8.0 % (+6.0 % to +10 %, 8 sessions, confirmed by +8.0 % of 8)
faster    bench: quick: 1 ms → 800 µs, -20 % (-22 % to -18 %, 8 sessions)
failed    bench: gone wrong: new: it ended
undecided bench: noisy: 1 ms → 1.01 ms, +1.0 %: not above +3.0 % (-1.0 % to +3.0 %, 8 sessions)
ok        1 benchmark: not above +2.0 %
the same program on both sides, not run: other
new, and not compared: bench: fresh
check: slower — HEAD 89abcde against main 1234567 (2 % allowed; run 12)
";
    assert_eq!(shown, expected);
}

#[test]
fn many_undecided_benchmarks_are_counted() {
    let mut many = report();
    many.benchmarks =
        (0..12).map(|i| line("x", Outcome::Undecided, 1.0 + f64::from(i) / 100.0)).collect();
    let shown = text(&many, &PageLayout { width: 120, colour: false });
    assert!(shown.contains("undecided 2 more: not above +3.0 %\n"), "{shown}");
    many.benchmarks[0].estimate = None;
    let shown = markdown(&many);
    assert!(shown.contains("2 more: too few sessions for a limit"), "{shown}");
}

#[test]
fn files_for_other_programs_have_every_benchmark() {
    let report = report();
    let xml = junit(&report);
    assert!(xml.contains("tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"1\""), "{xml}");
    assert!(xml.contains("name=\"a&lt;b&gt;\" time=\"1.500\""), "{xml}");
    assert!(xml.contains("<error message=\"new: it ended\"/>"), "{xml}");
    let bencher: serde_json::Value = serde_json::from_str(&bmf(&report).unwrap()).unwrap();
    assert_eq!(bencher.as_object().unwrap().len(), 5);
    assert_eq!(bencher["bench: most"]["latency"]["value"], 1.5e6);
    assert_eq!(bencher["bench: most"]["latency"]["lower_value"], 0.9e6);
    let json: serde_json::Value = serde_json::from_str(&json(&report).unwrap()).unwrap();
    assert_eq!(
        (&json["outcome"], &json["benchmarks"][1]["outcome"]),
        (&"slower".into(), &"slower".into())
    );
    let markdown = markdown(&report);
    assert!(markdown.starts_with("### bytelab check: slower"), "{markdown}");
    assert!(markdown.contains("| slower | bench: most |"), "{markdown}");
}
