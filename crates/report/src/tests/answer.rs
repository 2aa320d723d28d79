//! The answer in one sentence.

use analysis::{Doubt, Verdict};
use model::run::{Design, Sample, Status};

use super::fixture::Fixture;
use super::shown;
use crate::views::answer::*;
use crate::views::rows;

const NAN: f64 = f64::NAN;

/// Compares with `read`, which takes 10 ms: a method per verdict with its ratio and interval.
fn check(others: &[(Verdict, [f64; 3])], best: &[usize], expected: &str) {
    check_with(others, best, &[], expected);
}

fn check_with(others: &[(Verdict, [f64; 3])], best: &[usize], undecided: &[usize], expected: &str) {
    let mut f = Fixture::new();
    f.measured("read", [10.0, 10.0, 2.0]);
    for (i, (verdict, ratio)) in others.iter().enumerate() {
        f.measured(&format!("m{}", i + 1), [10.0 * ratio[0], 10.0, 4.5]);
        f.versus(*verdict, *ratio);
        if *verdict == Verdict::Undecided {
            f.found(3.0 + i as f64, 270);
        }
    }
    f.family().best = best.to_vec();
    f.family().undecided = undecided.to_vec();
    assert_eq!(answer(&f), expected);
}

fn answer(f: &Fixture) -> String {
    of_family(&rows::all(&f.run, &f.analysis)[0])
}

use Verdict::{Faster, Same, Slower, Undecided};

#[test]
fn the_fastest_is_named_with_those_not_shown_slower() {
    check(
        &[(Faster, [0.69, 0.66, 0.72]), (Faster, [0.70, 0.67, 0.73]), (Slower, [2.0, 1.9, 2.1])],
        &[1, 2],
        "Fastest here: m1 — 31 % less time than read (95 % interval 28–34 %), in 4.5 MiB of \
         memory; not shown slower: m2. Less memory: read, 2 MiB.",
    );
    check(
        &[(Faster, [0.000_01, 0.000_009, 0.000_012])],
        &[1],
        "Fastest here: m1 — 99.999 % less time than read (95 % interval 99.999–99.999 %), in \
         4.5 MiB of memory. Less memory: read, 2 MiB.",
    );
}

#[test]
fn what_is_undecided_does_not_win_over_what_is_shown() {
    check(
        &[(Undecided, [0.5, 0.2, 1.3]), (Faster, [0.9, 0.89, 0.91]), (Slower, [1.2, 1.1, 1.3])],
        &[2, 1],
        "Fastest here: m2 — 10.0 % less time than read (95 % interval 9.0–11.0 %), in 4.5 MiB \
         of memory; not shown slower: m1. Less memory: read, 2 MiB.",
    );
}

#[test]
fn what_is_not_known_beside_the_winner_is_not_called_as_fast() {
    check_with(
        &[(Faster, [0.6, 0.59, 0.61]), (Undecided, [19.0, NAN, NAN]), (Slower, [2.0, 1.9, 2.1])],
        &[1],
        &[2],
        "Fastest here: m1 — 40.0 % less time than read (95 % interval 39.0–41.0 %), in 4.5 MiB of \
         memory; undecided beside it: m2. Less memory: read, 2 MiB.",
    );
    check_with(
        &[(Undecided, [19.0, NAN, NAN]), (Slower, [2.0, 1.9, 2.1])],
        &[0],
        &[1],
        "No method is shown faster than read, the reference; undecided beside it: m1; a difference \
         of ≥ 3.0 % would have been found 4 times out of 5; for 1 %: --time 270s, or a quieter \
         machine.",
    );
}

#[test]
fn the_reference_can_be_the_fastest() {
    check(
        &[(Slower, [1.5, 1.4, 1.6]), (Slower, [1.12, 1.10, 1.14])],
        &[0],
        "Fastest here: read, the reference; the next, m2, takes 12.0 % more time (95 % interval \
         10.0–14.0 %).",
    );
    check(
        &[(Slower, [27e6, 26e6, 28e6])],
        &[0],
        "Fastest here: read, the reference; the next, m1, takes 2.70e7 times the time (95 % \
         interval 2.60e7–2.80e7).",
    );
}

#[test]
fn where_nothing_is_shown_the_sentence_says_what_would_have_been() {
    check(
        &[(Undecided, [0.99, 0.9, 1.1]), (Undecided, [1.01, 0.9, 1.1])],
        &[1, 0, 2],
        "No difference to read can be shown; one of ≥ 4.0 % would have been found 4 times out \
         of 5; for 1 %: --time 270s, or a quieter machine.",
    );
    check(&[(Same, [1.0, 0.999, 1.001])], &[0, 1], "m1 takes the same time as read, within 1 %.");
    check(
        &[(Same, [1.0, 0.999, 1.001]), (Same, [1.0, 0.999, 1.001])],
        &[0, 1, 2],
        "All 2 others take the same time as read, within 1 %.",
    );
    check(
        &[(Same, [1.0, 0.999, 1.001]), (Undecided, [1.1, 0.9, 1.2]), (Slower, [2.0, 1.9, 2.1])],
        &[0, 1, 2],
        "No method is shown faster than read, the reference; not shown slower: m1, m2; a \
         difference of ≥ 4.0 % would have been found 4 times out of 5; for 1 %: --time 270s, or a \
         quieter machine.",
    );
}

#[test]
fn unlike_noise_is_reported_for_both_ends() {
    let mut f = Fixture::new();
    f.measured("read", [10.0; 3]);
    f.measured("mmap", [9.9; 3]).versus(Undecided, [0.99, 0.97, 1.01]).found(2.1, 400);
    f.measured("noisy", [10.0; 3]).versus(Undecided, [1.0, 0.6, 1.9]).found(97.0, 200_000);
    let expected = "No difference to read can be shown; one of ≥ 2.1 % (mmap) to ≥ 97 % (noisy) \
                    would have been found 4 times out of 5; for 1 %: a quieter machine.";
    assert_eq!(answer(&f), expected);
}

#[test]
fn too_few_sessions_are_the_reason() {
    let mut f = Fixture::new();
    f.measured("read", [10.0; 3]);
    f.measured("mmap", [5.0; 3]).versus(Undecided, [0.5, NAN, NAN]);
    f.comparison().reason = Some("3 sessions are too few, at least 5 are needed".to_owned());
    let expected = "No verdict: 3 sessions are too few, at least 5 are needed.";
    assert_eq!(answer(&f), expected);
}

/// An interval that excludes 1 is a difference, whatever keeps the verdict back.
#[test]
fn a_difference_without_a_verdict_is_not_denied() {
    let waited = "a method waited for a CPU";
    let mut f = Fixture::new();
    f.measured("read", [10.0; 3]);
    f.measured("sleep", [380.0; 3]).versus(Undecided, [38.0, 28.1, 51.2]).found(49.0, 270);
    f.comparison().reason = Some(waited.to_owned());
    let of_sleep = "In doubt is sleep, 38.0 times the time (95 % interval 28.1–51.2): a method \
                    waited for a CPU.";
    assert_eq!(answer(&f), of_sleep);
    f.measured("mmap", [10.0; 3]).versus(Undecided, [1.0, 0.9, 1.1]).found(4.0, 270);
    let found = "one of ≥ 4.0 % would have been found 4 times out of 5; for 1 %: --time 270s, or a \
                 quieter machine";
    let denied = "No difference of mmap to read can be shown";
    assert_eq!(answer(&f), format!("{denied}; {found}. {of_sleep}"));
    f.measured("slow", [20.0; 3]).versus(Slower, [2.0, 1.9, 2.1]);
    let expected = "No method is shown faster than read, the reference; a difference of ≥ 4.0 % \
                    would have been found 4 times out of 5; for 1 %: --time 270s, or a quieter \
                    machine";
    assert_eq!(answer(&f), format!("{expected}. {of_sleep}"));
}

#[test]
fn what_would_take_over_a_thousand_sessions_is_not_for_this_machine() {
    let takes = |sessions: u64| {
        let mut f = Fixture::new();
        f.measured("read", [10.0; 3]);
        f.measured("mmap", [10.0; 3]).versus(Undecided, [1.0, 0.9, 1.1]).found(4.0, sessions);
        answer(&f).split_once("out of 5; ").unwrap().1.to_owned()
    };
    assert_eq!(takes(1000), "for 1 %: --time 1000s, or a quieter machine.");
    assert_eq!(takes(1001), "for 1 %: a quieter machine.");
}

#[test]
fn what_was_run_once_to_warm_up_is_an_estimate() {
    let mut f = Fixture::new();
    let once = |f: &mut Fixture, name: &str, ms: f64| {
        f.measured(name, [ms; 3]).versus(Verdict::Missing, [NAN; 3]);
        let cell = f.run.cells.last_mut().unwrap();
        (cell.samples, cell.values) = Default::default();
        let sample = Sample { warm_up: true, ops: 1, ..Sample::default() };
        cell.push(sample, &[("wall_ns", ms * 1e6)]);
    };
    once(&mut f, "make", 61_000.0);
    once(&mut f, "ninja", 42_000.0);
    f.family().reference = None;
    f.family().compared.clear();
    assert_eq!(
        answer(&f),
        "There is no verdict: each method was run once, to warm it up, which gives an estimate: \
         ninja took 42 s, make took 61 s."
    );
    let text = shown(&f, 100);
    assert_eq!(text.matches("  estimate ").count(), 2, "{text}");
}

#[test]
fn what_a_wait_may_explain_has_its_reason_and_is_not_called_no_difference() {
    let mut f = Fixture::new();
    f.measured("read", [10.0; 3]);
    f.measured("sleep", [380.0; 3]).versus(Undecided, [38.0, 28.0, 51.0]).found(49.0, 2000);
    f.comparison().doubt = Some(Doubt::Wait);
    f.comparison().reason = Some("the waits".to_owned());
    let expected = "In doubt is sleep, 38.0 times the time (95 % interval 28.0–51.0) beside this \
                    load: the waits for a CPU may be the difference; less load would show it.";
    assert_eq!(answer(&f), expected);
    let text = shown(&f, 100);
    let row = text.lines().find(|line| line.contains(" sleep ")).unwrap();
    assert!(row.contains(" in doubt ") && !text.contains("undecided"), "{text}");
    f.comparison().doubt = Some(Doubt::Missing);
    assert!(answer(&f).contains("28.0–51.0): the time without the wait is missing"));
    // One reason for several methods, beside a verdict on another one.
    f.measured("b", [9.0; 3]).versus(Undecided, [0.9, 0.8, 0.95]).found(5.0, 200);
    f.comparison().doubt = Some(Doubt::UnknownWait);
    f.measured("c", [9.0; 3]).versus(Undecided, [0.9, 0.8, 0.95]).found(5.0, 200);
    f.comparison().doubt = Some(Doubt::UnknownWait);
    f.measured("d", [20.0; 3]).versus(Slower, [2.0, 1.9, 2.1]);
    let answer = answer(&f);
    let expected = " In doubt are b, c: there was a wait for a CPU, and how long is not known.";
    assert!(answer.contains(expected), "{answer}");
}

#[test]
fn what_was_measured_and_could_not_be_compared_says_why() {
    let mut f = Fixture::new();
    f.measured("read", [10.0; 3]);
    f.measured("mmap", [9.0; 3]).versus(Verdict::Missing, [NAN; 3]);
    f.comparison().reason = Some("there is no round in which both were measured".to_owned());
    let expected = " No verdict on mmap: there is no round in which both were measured.";
    assert!(answer(&f).ends_with(expected), "{}", answer(&f));
}

#[test]
fn a_verdict_beside_this_load_reads_so() {
    let mut f = Fixture::new();
    f.measured("read", [10.0; 3]);
    f.measured("slow", [15.0; 3]).versus(Slower, [1.5, 1.4, 1.6]);
    f.comparison().beside_load = true;
    let expected = "Fastest here: read, the reference; the next, slow, takes 50 % more time (95 % \
                    interval 40–60 %, beside this load).";
    assert_eq!(answer(&f), expected);
    assert!(shown(&f, 100).contains("slower beside this load"), "{}", shown(&f, 100));
}

#[test]
fn a_difference_that_does_not_matter_is_called_so() {
    let mut f = Fixture::new();
    f.measured("read", [10.0; 3]);
    f.measured("mmap", [9.96, 10.0, 4.5]).versus(Faster, [0.996, 0.995, 0.997]);
    f.comparison().below_relevance = true;
    assert_eq!(
        answer(&f),
        "Fastest here: mmap — 0.40 % less time than read (95 % interval 0.30–0.50 %), in 4.5 \
         MiB of memory; a difference below 1 %."
    );
}

#[test]
fn without_a_comparison_the_sentence_says_what_there_is() {
    let mut f = Fixture::new();
    assert_eq!(answer(&f), "No method was measured.");
    f.cell("io-uring", Status::Skipped("refused".to_owned()));
    assert_eq!(answer(&f), "No method was measured.");
    f.measured("cheat", [1.0; 3]).wrong(Some("dead"));
    f.family().reference = None;
    let trusted = "No method gave an answer that can be trusted.";
    assert_eq!(answer(&f), format!("{trusted} Out, for a wrong answer: cheat."));
    let mut f = Fixture::new();
    f.measured("read", [9.52; 3]);
    assert_eq!(answer(&f), "read takes 9.52 ms (95 % interval 9.42 ms to 9.63 ms).");
    f.measured("mmap", [8.0; 3]).versus(Verdict::Missing, [NAN; 3]);
    let expected = "No method could be compared; the lowest: mmap takes 8 ms (95 % interval 7.92 ms to \
                    8.1 ms).";
    assert_eq!(answer(&f), expected);
}

/// In a run that ends when all is decided, a method that left early may have the smallest ratio and
/// yet be shown slower than another.
#[test]
fn the_winner_is_the_first_of_the_best() {
    let mut f = Fixture::reading();
    f.family().best = vec![1];
    let text = shown(&f, 100);
    assert!(text.contains("Fastest here: mmap — "), "{text}");
}

#[test]
fn a_run_that_ends_when_all_is_decided_says_what_each_method_was_measured_for() {
    let mut f = Fixture::reading();
    let fixed = shown(&f, 100);
    assert!(
        !fixed.contains("measured: ") && fixed.contains(" · 100 rounds in 1 session, "),
        "{fixed}"
    );
    f.run.plan.design = Design::Sequential;
    for cell in &mut f.analysis.cells[3..5] {
        (cell.metrics[0].n, cell.metrics[0].sessions) = (30, 6);
    }
    let text = shown(&f, 200);
    assert!(text.contains("until all is decided"), "{text}");
    let of_left = "; read-4k, buf-reader in 6 sessions (30 rounds); decided methods are not measured \
                   any more.";
    let line = text.lines().find(|line| line.starts_with("note: measured: read, mmap, "));
    assert!(line.is_some_and(|line| line.ends_with(of_left)), "{text}");
}

/// m1 is faster than the reference and slower than m2, and m2 is not shown faster than the
/// reference: it was compared in other sessions.
#[test]
fn what_another_one_beats_is_not_the_fastest() {
    check(
        &[(Faster, [0.8, 0.75, 0.85]), (Undecided, [0.7, 0.4, 1.2])],
        &[0, 2],
        "No method is shown to be the fastest: m1 is faster than read, the reference, and slower \
         than another one; not shown slower: m2; a difference of ≥ 4.0 % would have been found 4 \
         times out of 5; for 1 %: --time 270s, or a quieter machine.",
    );
}
