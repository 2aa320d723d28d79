//! The tables of a run that is being measured.

use analysis::{StoppingDecision, Verdict};
use insta::assert_snapshot;
use model::run::Status;

use super::fixture::Fixture;
use super::{NAN, PageLayout};
use crate::live::{LiveRun, look, text};

fn drawn(f: &Fixture, left: &[bool], width: usize, height: usize) -> String {
    let below = ["round 3 of at most 100, 14 s left".to_owned()];
    let live = LiveRun { run: &f.run, analysis: &f.analysis, left, below: &below };
    text(&live, &PageLayout { width, colour: false }, height)
}

/// The methods of a typical run after a look at which one of them left.
fn looked() -> (Fixture, Vec<bool>) {
    let f = Fixture::reading();
    let left = f.run.cells.iter().map(|cell| cell.method == "read-4k").collect();
    (f, left)
}

#[test]
fn it_has_the_verdicts_of_the_last_look_and_says_who_is_done() {
    let (f, left) = looked();
    assert_snapshot!(drawn(&f, &left, 80, 23), @r"
                     time p50  × the time of read                 CPU  memory
      method               ms  by round, 95 %      verdict         ms     MiB
    ─────────────────────────────────────────────────────────────────────────
      mmap-window        9.52  0.690 0.664–0.716   faster        9.51    4.50
      mmap               9.71  0.704 0.689–0.718   faster        9.68     133
      pread-threads      13.2  0.970 0.900–1.040   undecided     25.0    2.30
      read               13.8  1.000               reference     13.7    2.10
      buf-reader         13.9  1.002 0.995–1.008   same          13.8    2.10
      read-4k            16.2  1.174 1.160–1.188   slower, done  16.1    2.10
    ─────────────────────────────────────────────────────────────────────────
      memory             9.23                      yardstick     9.20     130
    round 3 of at most 100, 14 s left
    ");
}

#[test]
fn before_the_first_look_there_are_figures_and_no_verdict() {
    let mut f = Fixture::new();
    f.measured("read", [13.8, 13.7, 2.1]);
    f.measured("mmap", [9.7, 9.7, 130.0]).versus(Verdict::Undecided, [0.70, NAN, NAN]);
    assert_snapshot!(drawn(&f, &[false, false], 80, 23), @r"
              time p50  × the time of read              CPU  memory  throughput
      method        ms  by round, 95 %      verdict      ms     MiB        GB/s
    ───────────────────────────────────────────────────────────────────────────
      mmap        9.70  0.70                           9.70     130        13.8
      read        13.8  1.00                reference  13.7    2.10        9.73
    round 3 of at most 100, 14 s left
    ");
}

#[test]
fn what_does_not_fit_is_counted() {
    let (f, left) = looked();
    assert_snapshot!(drawn(&f, &left, 40, 9), @r"
              time p50  ratio
      method        ms         verdict
    ────────────────────────────────────
      mma…ow      9.52  0.690  faster
      mmap        9.71  0.704  faster
      pre…ds      13.2  0.970  undecided
      read        13.8  1.000  reference
    … 3 more
    round 3 of at most 100, 14 s left
    ");
    for height in 1..20 {
        for width in [20, 40, 80, 200] {
            let lines = drawn(&f, &left, width, height).lines().count();
            assert!(lines <= height, "{lines} lines of {height}, {width} columns");
        }
    }
}

#[test]
fn a_sweep_is_cut_like_a_table() {
    let mut f = Fixture::new();
    for buffer in [4096, 65536, 1 << 20] {
        f.point(&[("size", 128 << 20), ("buffer", buffer)]);
        f.measured("read", [13.8, 13.7, 2.1]);
        f.measured("mmap", [9.0, 9.0, 133.0]).versus(Verdict::Faster, [0.65, 0.64, 0.66]);
    }
    let left = vec![false; f.run.cells.len()];
    assert_snapshot!(drawn(&f, &left, 80, 23), @r"
             mmap    read
    buffer     ms      ms
    ───────────────────────
    4Ki     *9.00 <  13.8
    64Ki    *9.00 <  13.8
    1Mi     *9.00 <  13.8
    round 3 of at most 100, 14 s left
    ");
    let cut = drawn(&f, &left, 80, 6);
    assert!(cut.contains("… 2 more\n") && cut.lines().count() == 6, "{cut}");
}

#[test]
fn a_look_is_one_line() {
    let (f, left) = looked();
    let decided = StoppingDecision {
        families: f.analysis.families.clone(),
        comparisons: f.analysis.comparisons.clone(),
        ..StoppingDecision::default()
    };
    assert_eq!(
        look(&f.run, &decided, &left),
        "4 of 5 decided (apart from the reference, 1 yardstick); done: read-4k; best so far: \
         mmap-window, mmap"
    );
    let (mut f, left) = looked();
    f.cell("direct", Status::Skipped("no O_DIRECT here".to_owned()));
    let text = look(&f.run, &decided, &left);
    assert!(text.contains(" (apart from the reference, 1 yardstick, 1 not compared); "), "{text}");
    let alone = StoppingDecision { comparisons: Vec::new(), ..decided };
    assert_eq!(look(&f.run, &alone, &left), "no two methods can be compared until now");
}
