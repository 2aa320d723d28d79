//! No name, reason or number can cause harm.

use analysis::Verdict;
use insta::assert_snapshot;

use super::fixture::Fixture;
use super::*;
use crate::{PageLayout, json, percentiles, text};

const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx\r\n\u{202e}y\u{8}\u{7f}";

fn hostile() -> Fixture {
    let mut f = Fixture::new();
    f.measured(HOSTILE, [13.8, 13.7, 2.1]);
    f.measured("b\u{1b}[31m", [9.5, 13.7, 2.1]).versus(Verdict::Faster, [0.69, 0.66, 0.72]);
    f.measured("\u{1b}c", [9.5, 13.7, 2.1]).wrong(Some(HOSTILE));
    f.named(HOSTILE, "other");
    f
}

#[test]
fn hostile_names_cannot_steer_the_terminal() {
    let f = hostile();
    for width in [0, 40, 80, 200] {
        for colour in [false, true] {
            let layout = PageLayout { width, colour };
            let mut both = text(&f.run, &f.analysis, ALL_NOTES, &layout);
            both += &percentiles(&f.run, &f.analysis, &layout);
            if colour {
                for code in [0, 1, 2, 31, 32] {
                    both = both.replace(&format!("\u{1b}[{code}m"), "");
                }
            }
            let is_control = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!both.contains(is_control), "{both:?}");
        }
    }
    assert_snapshot!(shown(&f, 80), @r"
    \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx  \u{202e}y\u{8}\u{7f}: \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx
      \u{202e}y\u{8}\u{7f}
    run \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f} ·
    \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f} · 2026-01-02 03:04
    UTC · warm cache · 100 rounds in 1 session, 3.28 s of samples · size=128Mi

    1: \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f}
    2: b\u{1b}[31m
    3: \u{1b}c
              time p50        × the time of 1                 CPU  memory
      method    ms 95 %       by round, 95 %   verdict         ms     MiB
    ─────────────────────────────────────────────────────────────────────
    * 2       9.50 9.40–9.61  0.69 0.66–0.72   faster        13.7    2.10
      1       13.8 13.7–14.0  1.00             reference     13.7    2.10
      3       9.50 9.40–9.61                   wrong answer  13.7    2.10

    Fastest here: b\u{1b}[31m — 31 % less time than
    \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f} (95 % interval 28–34
    %), in 2.1 MiB of memory. Out, for a wrong answer: \u{1b}c.

    wrong answer: \u{1b}c: its answer is \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx
      \u{202e}y\u{8}\u{7f}, that of \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx
      \u{202e}y\u{8}\u{7f} is 9f1c
    skipped: \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f} —
      \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f}
    failed: \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f} —
      \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f}
    note: \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx \u{202e}y\u{8}\u{7f}
      (\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx
      \u{202e}y\u{8}\u{7f}=\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx
      \u{202e}y\u{8}\u{7f}): \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31mx
      \u{202e}y\u{8}\u{7f}
    ");
}

#[test]
fn every_table_fits_its_page() {
    use unicode_width::UnicodeWidthStr;
    for f in [Fixture::reading(), hostile()] {
        for width in 40..=160 {
            for line in shown(&f, width).lines().filter(|line| !line.contains("\\u{")) {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let mut f = Fixture::new();
    for (i, value) in [NAN, f64::INFINITY, 0.0, -1.0, 1e300, 1e-300].into_iter().enumerate() {
        f.measured(&format!("m{i}"), [value; 3])
            .versus(Verdict::Undecided, [value; 3])
            .found(value, 0);
    }
    f.analysis.families[0].best = vec![99];
    f.analysis.families[0].cells.push(99);
    f.analysis.cells.truncate(4);
    for width in [0, 1, 80] {
        let layout = PageLayout { width, colour: true };
        assert!(!text(&f.run, &f.analysis, ALL_NOTES, &layout).contains("NaN"));
        assert!(!percentiles(&f.run, &f.analysis, &layout).contains("NaN"));
    }
    json(&f.run, &f.analysis, std::io::sink()).unwrap();
}
