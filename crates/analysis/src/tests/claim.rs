use model::run::Design;

use super::*;

const ALPHA: f64 = 0.05;

fn wall(cell: usize) -> CellMetric<'static> {
    CellMetric { cell, metric: "wall_ns" }
}

/// Of a method and one that takes this many times as long, with 2 % of noise in ten sessions.
fn two(factor: f64) -> Run {
    run(vec![cell("a", noisy(1, 0.02)), cell("b", times(&noisy(2, 0.02), factor))])
}

fn check(run: &Run, range: [f64; 2], expected: Claimed) -> Ratio {
    let (verdict, ratio) = judge_claim(run, wall(1), Basis::Of(wall(0)), range, ALPHA);
    assert_eq!(verdict, expected, "{ratio:?} in {range:?}");
    ratio
}

#[test]
fn a_claim_is_confirmed_refuted_or_undecided_by_the_whole_interval() {
    let run = two(3.0);
    let ratio = check(&run, [2.0, f64::INFINITY], Claimed::Confirmed);
    close(ratio.ratio, 3.0, 0.05);
    assert!(ratio.low < ratio.ratio && ratio.ratio < ratio.high, "{ratio:?}");
    check(&run, [2.5, 3.5], Claimed::Confirmed);
    check(&run, [0.0, 2.0], Claimed::Refuted);
    check(&run, [5.0, f64::INFINITY], Claimed::Refuted);
    // A bound inside of the interval.
    let middle = ratio.ratio.unwrap();
    check(&run, [middle, f64::INFINITY], Claimed::Undecided);
    check(&run, [0.0, middle], Claimed::Undecided);
}

#[test]
fn the_interval_is_that_of_the_verdict() {
    let run = two(1.1);
    let ratio = check(&run, [1.0, 2.0], Claimed::Confirmed);
    let comparison = &analyze(&run).comparisons[0];
    assert_eq!((ratio.ratio, ratio.low, ratio.high), {
        (comparison.ratio, comparison.low, comparison.high)
    });
    // In a run that ends when all is decided, of the last look.
    let mut sequential = run;
    sequential.plan.design = Design::Sequential;
    let ratio = check(&sequential, [1.0, 2.0], Claimed::Confirmed);
    let comparison = &analyze(&sequential).comparisons[0];
    assert_eq!((ratio.low, ratio.high), (comparison.low, comparison.high));
}

#[test]
fn two_metrics_of_one_method_have_a_ratio() {
    let mut run = two(1.0);
    run.cells[0] = with(run.cells[0].clone(), "cpu_ns", |wall_ns| 2.0 * wall_ns);
    let cpu = CellMetric { cell: 0, metric: "cpu_ns" };
    let judged = judge_claim(&run, cpu, Basis::Of(wall(0)), [1.5, 2.5], ALPHA);
    assert_eq!(judged.0, Claimed::Confirmed);
    close(judged.1.ratio, 2.0, 1e-9);
}

#[test]
fn counts_that_never_vary_are_exact() {
    let mut run = two(1.0);
    for (cell, n) in run.cells.iter_mut().zip([0.0, 12.0]) {
        *cell = with(cell.clone(), "allocations", |_| n);
    }
    let of = |cell| CellMetric { cell, metric: "allocations" };
    let judged = |a, b, range| judge_claim(&run, of(a), b, range, ALPHA);
    assert_eq!(judged(0, Basis::Value(1.0), [0.0, 0.0]).0, Claimed::Confirmed);
    assert_eq!(judged(1, Basis::Value(1.0), [0.0, 0.0]).0, Claimed::Refuted);
    assert_eq!(judged(0, Basis::Of(of(1)), [0.0, 0.5]).0, Claimed::Confirmed);
    // Nothing can be divided by 0.
    let (verdict, ratio) = judged(1, Basis::Of(of(0)), [0.0, 0.5]);
    assert_eq!((verdict, ratio.ratio), (Claimed::Undecided, None));
    assert!(ratio.reason.unwrap().contains("gives no ratio"));
}

/// The counting pass ends when a sample has the counts of the warm-up before it.
#[test]
fn a_count_is_exact_if_its_warm_up_counted_the_same() {
    let judged = |counts: &[(bool, f64)]| {
        let mut run = two(1.0);
        for (round, (warm_up, n)) in (0..).zip(counts) {
            let mut sample = run.cells[0].samples[0].clone();
            sample = Sample { pass: Pass::Counting, warm_up: *warm_up, round, ..sample };
            run.cells[0].push(sample, &[("allocations", *n)]);
        }
        let of = CellMetric { cell: 0, metric: "allocations" };
        judge_claim(&run, of, Basis::Value(1.0), [0.0, 0.0], ALPHA).0
    };
    assert_eq!(judged(&[(true, 3.0), (false, 3.0)]), Claimed::Refuted);
    assert_eq!(judged(&[(true, 0.0), (false, 0.0)]), Claimed::Confirmed);
    assert_eq!(judged(&[(true, 4.0), (false, 3.0)]), Claimed::Undecided);
    assert_eq!(judged(&[(false, 3.0)]), Claimed::Undecided);
    assert_eq!(judged(&[(true, 9.0), (false, 3.0), (false, 3.0)]), Claimed::Refuted);
}

#[test]
fn a_quantity_is_held_against_a_known_value() {
    let run = two(1.0);
    let (verdict, ratio) = judge_claim(&run, wall(0), Basis::Value(0.5e6), [1.8, 2.2], ALPHA);
    assert_eq!(verdict, Claimed::Confirmed);
    close(ratio.ratio, 2.0, 0.02);
    let mut sequential = run;
    sequential.plan.design = Design::Sequential;
    let judged = judge_claim(&sequential, wall(0), Basis::Value(0.5e6), [1.8, 2.2], ALPHA);
    assert_eq!(judged.0, Claimed::Undecided);
    assert!(judged.1.reason.unwrap().contains("--rounds"));
}

#[test]
fn a_difference_is_held_against_a_known_amount() {
    let mut run = two(1.0);
    for (cell, mean) in run.cells.iter_mut().zip([200e6, 330e6]) {
        *cell = with(cell.clone(), "peak_rss_bytes", |wall_ns| mean + wall_ns);
    }
    let of = |cell| CellMetric { cell, metric: "peak_rss_bytes" };
    let judged = |both, range| judge_difference(&run, both, 130e6, range, ALPHA);
    let (verdict, found) = judged([of(1), of(0)], [0.8, 1.25]);
    assert_eq!(verdict, Claimed::Confirmed, "{found:?}");
    close(found.ratio, 1.0, 0.01);
    assert!(found.low <= found.ratio && found.ratio <= found.high, "{found:?}");
    // It has a sign, as no ratio has.
    assert_eq!(judged([of(0), of(1)], [0.8, 1.25]).0, Claimed::Refuted);
    close(judged([of(0), of(1)], [0.8, 1.25]).1.ratio, -1.0, 0.01);
}

#[test]
fn the_difference_of_exact_counts_is_exact() {
    let mut run = two(1.0);
    for (cell, n) in run.cells.iter_mut().zip([0.0, 12.0]) {
        *cell = with(cell.clone(), "allocations", |_| n);
    }
    let of = |cell| CellMetric { cell, metric: "allocations" };
    let (verdict, found) = judge_difference(&run, [of(1), of(0)], 6.0, [2.0, 2.0], ALPHA);
    assert_eq!((verdict, found.low, found.high), (Claimed::Confirmed, Some(2.0), Some(2.0)));
    let missing = CellMetric { cell: 0, metric: "peak_rss_bytes" };
    let (verdict, found) = judge_difference(&run, [of(1), missing], 6.0, [2.0, 2.0], ALPHA);
    assert_eq!((verdict, found.ratio), (Claimed::Undecided, None));
    assert!(found.reason.unwrap().contains("no round in which both"));
}

#[test]
fn a_wait_for_a_cpu_decides_no_claim() {
    let mut run = two(3.0);
    // All of the difference is a wait.
    run.cells[1] = with(run.cells[1].clone(), "run_queue_wait_ns", |wall_ns| wall_ns * 2.0 / 3.0);
    run.cells[1] = with(run.cells[1].clone(), "wall_less_wait_ns", |wall_ns| wall_ns / 3.0);
    run.cells[1] = with(run.cells[1].clone(), "cpu_ns", |wall_ns| wall_ns / 3.0);
    let ratio = check(&run, [2.0, f64::INFINITY], Claimed::Undecided);
    assert!(ratio.low.is_some() && ratio.reason.unwrap().contains("waited for a CPU"));
}

#[test]
fn what_is_too_little_decides_no_claim() {
    let mut few = two(3.0);
    for cell in &mut few.cells {
        cell.samples.truncate(40);
        cell.values.values_mut().for_each(|column| column.to_mut().truncate(40));
    }
    let ratio = check(&few, [2.0, f64::INFINITY], Claimed::Undecided);
    assert_eq!(ratio.reason.as_deref(), Some("4 sessions are too few, at least 5 are needed"));
    let mut imported = two(3.0);
    imported.plan.imported = Some(Imported { tool: "other".to_owned(), file: String::new() });
    let ratio = check(&imported, [2.0, f64::INFINITY], Claimed::Undecided);
    close(ratio.ratio, 3.0, 0.05);
    assert!(ratio.reason.unwrap().contains("in rounds"));
    let mut missing = two(3.0);
    missing.cells[0].values.clear();
    assert_eq!(check(&missing, [2.0, 4.0], Claimed::Undecided).ratio, None);
}
