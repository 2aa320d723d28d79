//! A run whose results decide when it ends: verdicts change only at looks.

use model::run::Design;

use super::*;
use crate::stats::last_look;

/// A run of two methods that has these numbers of sessions of ten rounds.
fn sequential(sessions: usize, factor: f64) -> Run {
    let slow = times(&noisy(2, 0.01), factor);
    let n = 10 * sessions;
    let mut run = run(vec![
        cell("a", noisy(1, 0.01).into_iter().take(n)),
        cell("b", slow.into_iter().take(n)),
    ]);
    run.plan.design = Design::Sequential;
    run.plan.sessions = 240;
    run
}

fn wall(run: &Run) -> Comparison {
    analyze(run).comparisons.swap_remove(0)
}

#[test]
fn between_two_looks_nothing_changes() {
    let shown = |sessions| {
        let found = wall(&sequential(sessions, 1.02));
        (found.sessions, found.n, found.ratio, found.low, found.high)
    };
    assert_eq!(shown(7), shown(6));
    assert_eq!(shown(10), shown(8));
    assert_ne!(shown(8), shown(7));
    assert_eq!((shown(10).0, shown(10).1), (8, 80));
}

#[test]
fn before_the_first_look_there_is_no_verdict_however_large_the_difference() {
    let found = wall(&sequential(5, 3.0));
    assert_eq!((found.verdict, found.low, found.p), (Verdict::Undecided, None, None));
    assert_eq!(found.reason.as_deref(), Some("5 sessions are too few, at least 6 are needed"));
    close(found.ratio, 3.0, 0.1);
    assert_eq!(wall(&sequential(6, 3.0)).verdict, Verdict::Slower);
}

#[test]
fn the_interval_is_that_of_its_look() {
    let found = wall(&sequential(10, 1.02));
    let level = last_look(8, 0.05).unwrap().alpha;
    assert!((found.level - (1.0 - level)).abs() < 1e-12, "{}", found.level);
    // The same eight sessions in a run of fixed design have a narrower interval.
    let mut fixed = sequential(8, 1.02);
    fixed.plan.design = Design::Fixed;
    let fixed = wall(&fixed);
    assert_eq!((found.ratio, found.sessions), (fixed.ratio, fixed.sessions));
    assert!(found.low < fixed.low && found.high > fixed.high);
    // The p is that of all looks together.
    assert!(found.p > fixed.p);
    let differs = found.p.is_some_and(|p| p <= 0.05);
    assert_eq!(differs, matches!(found.verdict, Verdict::Faster | Verdict::Slower));
}

/// Session 2 was interrupted and taken again as session 242: it is the third one, and the run has
/// the same first six sessions as one that nothing interrupted.
#[test]
fn a_session_that_was_taken_again_keeps_its_place() {
    let whole = sequential(7, 1.02);
    let mut resumed = whole.clone();
    for sample in resumed.cells.iter_mut().flat_map(|cell| &mut cell.samples) {
        sample.session = if sample.session == 2 { 242 } else { sample.session };
    }
    let [whole, resumed] = [wall(&whole), wall(&resumed)];
    assert_eq!((whole.ratio, whole.low), (resumed.ratio, resumed.low));
    assert_eq!(resumed.sessions, 6);
}

/// A method that left is compared in the sessions that it has, and the wait of a method counts
/// until then.
#[test]
fn what_comes_after_a_look_does_not_change_its_verdict() {
    let mut run = sequential(10, 1.5);
    let left = run.cells[1].samples.len() - 40;
    let keep = |cell: &mut Cell| {
        cell.samples.truncate(left);
        cell.values.values_mut().for_each(|column| column.to_mut().truncate(left));
    };
    keep(&mut run.cells[1]);
    let before = wall(&run);
    assert_eq!((before.verdict, before.sessions), (Verdict::Slower, 6));
    // The reference waits for a CPU afterwards, and its CPU time no longer shows the same.
    let late = |cell: Cell, metric: &str, early: f64, late: f64| {
        let mut cell = cell;
        let column = (0..cell.samples.len()).map(|n| if n < left { early } else { late });
        cell.values.insert(metric.to_owned(), column.collect());
        cell
    };
    run.cells[0] = late(run.cells[0].clone(), "run_queue_wait_ns", 0.0, 1e6);
    let after = wall(&run);
    assert_eq!((after.verdict, after.low), (before.verdict, before.low));
    // The same wait before the look takes the verdict away: the time without it is not known.
    run.cells[0] = late(run.cells[0].clone(), "run_queue_wait_ns", 1e6, 0.0);
    let column = run.cells[1].values["wall_ns"].iter().map(|_| 1e6).collect();
    run.cells[1].values.insert("cpu_ns".to_owned(), column);
    assert_eq!(wall(&run).verdict, Verdict::Undecided);
}

#[test]
fn a_run_that_has_stored_no_design_has_a_fixed_one() {
    let mut run = sequential(10, 1.02);
    run.plan.design = Design::Fixed;
    let mut document = serde_json::to_value(&run).unwrap();
    assert_eq!(document["plan"].get("design"), None);
    let old: Run = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(old.plan.design, Design::Fixed);
    assert_eq!((wall(&old).level, wall(&old).sessions), (0.95, 10));
    document["plan"]["design"] = "sequential".into();
    let new: Run = serde_json::from_value(document).unwrap();
    assert_eq!(wall(&new).sessions, 8);
}

/// `early` left after six sessions, in which `late` was faster. That `late` became slower
/// afterwards, so that its ratio is the larger one, does not bring `early` back.
fn left_early() -> Run {
    let of = |seed, factor: &dyn Fn(usize) -> f64, n| {
        let noise = noisy(seed, 0.001).into_iter().take(n).enumerate();
        noise.map(|(i, ns)| ns * factor(i)).collect::<Vec<f64>>()
    };
    let mut run = run(vec![
        cell("read", of(1, &|_| 1.0, 80)),
        cell("early", of(2, &|_| 0.5, 60)),
        cell("late", of(3, &|i| if i < 60 { 0.48 } else { 0.9 }, 80)),
    ]);
    run.plan.design = Design::Sequential;
    run.plan.sessions = 240;
    run
}

#[test]
fn what_is_shown_slower_than_any_other_is_not_the_best() {
    let run = left_early();
    let analysis = analyze(&run);
    let ratio = |cell| analysis.comparisons.iter().find(|c| c.cell == cell).unwrap().ratio;
    assert!(ratio(1) < ratio(2), "{:?} {:?}", ratio(1), ratio(2));
    assert_eq!(analysis.families[0].best, [2]);
    assert_eq!(analysis.families[0].undecided, [0; 0]);
}

#[test]
fn what_is_decided_and_slower_than_another_leaves_but_for_the_reference() {
    let decided = stopping_decision(&left_early());
    assert_eq!(decided.leaves, [false, true, false]);
    assert!(decided.all, "each has a verdict, and one is the best");
}

/// The time goes to the methods that are compared.
#[test]
fn a_yardstick_leaves_at_the_first_look() {
    let with_yardstick = |sessions: usize| {
        let mut run = sequential(sessions, 1.0);
        let limit = cell("limit", noisy(3, 0.01).into_iter().take(10 * sessions));
        run.cells.push(Cell { role: Role::Yardstick, ..limit });
        stopping_decision(&run).leaves
    };
    assert_eq!(with_yardstick(5), [false; 3]);
    assert_eq!(with_yardstick(6), [false, false, true]);
}

#[test]
fn what_is_open_does_not_leave_and_keeps_the_run_going() {
    // Both of them are as fast as the other, as far as eight sessions can show.
    let mut run = left_early();
    let equal = |seed| cell("equal", times(&noisy(seed, 0.2), 0.1).into_iter().take(80));
    run.cells.extend([equal(4), equal(5)]);
    run.cells[4].method = "as-equal".to_owned();
    let found = stopping_decision(&run);
    assert_eq!(found.leaves, [false, true, true, false, false]);
    assert!(!found.all);
    let mut best = analyze(&run).families[0].best.clone();
    best.sort_unstable();
    assert_eq!(best, [3, 4]);
    // Without a verdict nothing leaves, however slow: five sessions are too few for one.
    let mut few = left_early();
    few.cells[1] = cell("early", noisy(6, 0.01).into_iter().take(50).map(|ns| ns * 9.0));
    let few = stopping_decision(&few);
    assert_eq!(few.leaves, [false; 3]);
    assert!(!few.all);
}

#[test]
fn a_look_is_due_when_a_method_has_its_sessions() {
    let due = |sessions| is_look(&sequential(sessions, 1.0));
    assert_eq!([5, 6, 7, 8, 9].map(due), [false, true, false, true, false]);
    // What has left keeps its six sessions.
    let mut left = sequential(9, 1.0);
    left.cells[1].samples.truncate(60);
    assert!(!is_look(&left));
}

#[test]
fn no_method_that_has_left_becomes_the_reference() {
    let mut run = left_early();
    assert_eq!(analyze(&run).families[0].reference, Some(0));
    run.cells[0].status = Status::died(80, "signal 9");
    assert_eq!(analyze(&run).families[0].reference, Some(2));
    run.plan.design = Design::Fixed;
    assert_eq!(analyze(&run).families[0].reference, Some(1));
}

#[test]
fn a_method_that_died_alone_keeps_no_run_going() {
    let mut run = run(vec![cell("a", noisy(1, 0.2))]);
    run.plan.design = Design::Sequential;
    run.plan.sessions = 240;
    assert!(!stopping_decision(&run).all);
    run.cells[0].status = Status::died(80, "signal 9");
    assert!(stopping_decision(&run).all);
}

#[test]
fn a_method_that_died_keeps_no_run_going() {
    let mut run = run(vec![cell("a", noisy(1, 0.2)), cell("b", noisy(2, 0.2))]);
    run.plan.design = Design::Sequential;
    run.plan.sessions = 240;
    assert_eq!(wall(&run).verdict, Verdict::Undecided);
    assert!(!stopping_decision(&run).all);
    run.cells[1].status = Status::died(80, "signal 9");
    assert_eq!(wall(&run).verdict, Verdict::Undecided);
    assert!(stopping_decision(&run).all);
}

/// Of `b`, which left after six sessions, the time without the wait is half as much again as that
/// of the others; its wall time is the same. `c` took part in all ten sessions.
fn decided_without_the_wait() -> Run {
    let method = |name, seed, n| waited(cell(name, noisy(seed, 0.01).into_iter().take(n)));
    let b = with(method("b", 2, 60), "wall_less_wait_ns", |wall_ns| 1.2 * wall_ns);
    let mut run = run(vec![method("a", 1, 100), b, method("c", 3, 100)]);
    run.plan.design = Design::Sequential;
    run.plan.sessions = 240;
    let (metric, why) = ("wall_less_wait_ns".to_owned(), "so".to_owned());
    run.plan.measures = vec![Measure { metric, why, ..Measure::default() }];
    run
}

fn lack_the_time_without_wait(cell: &mut Cell, lacks: impl Fn(usize) -> bool) {
    let column = cell.values.get_mut("wall_less_wait_ns").unwrap().to_mut().iter_mut().enumerate();
    column.filter(|(n, _)| lacks(*n)).for_each(|(_, value)| *value = f64::NAN);
}

/// By cell: the metric that decides, the verdict, and the sessions in which it was found.
fn deciding(run: &Run) -> Vec<(String, Verdict, usize)> {
    let analysis = analyze(run);
    let all = analysis.comparisons.into_iter().filter(|c| c.decides);
    all.map(|c| (c.metric, c.verdict, c.sessions)).collect()
}

#[test]
fn a_measure_that_later_samples_lack_still_decides() {
    let of = |verdict, sessions| ("wall_less_wait_ns".to_owned(), verdict, sessions);
    let mut run = decided_without_the_wait();
    assert_eq!(deciding(&run), [of(Verdict::Slower, 6), of(Verdict::Undecided, 8)]);
    assert_eq!(stopping_decision(&run).leaves, [false, true, false]);
    // From the seventh session on neither the reference nor `c` has the measure.
    for cell in [0, 2] {
        lack_the_time_without_wait(&mut run.cells[cell], |n| n >= 60);
    }
    assert_eq!(deciding(&run), [of(Verdict::Slower, 6), of(Verdict::Undecided, 6)]);
    assert_eq!(analyze(&run).families[0].metric, "wall_less_wait_ns");
    assert_eq!(stopping_decision(&run).leaves, [false, true, false]);
}

#[test]
fn a_round_that_lacks_the_measure_is_left_out_and_a_method_that_lacks_it_more_often_is_doubted() {
    let mut run = decided_without_the_wait();
    let of_c = |run: &Run| {
        let all = analyze(run).comparisons;
        all.into_iter().find(|c| c.decides && c.cell == 2).unwrap()
    };
    let all = of_c(&run);
    // In each session all lack one round.
    for cell in 0..3 {
        lack_the_time_without_wait(&mut run.cells[cell], |n| n % 10 == cell);
    }
    let fewer = of_c(&run);
    assert_eq!((all.n, fewer.n, fewer.doubt), (80, 64, None));
    assert_eq!(fewer.verdict, all.verdict);
    // `c` lacks more of them.
    lack_the_time_without_wait(&mut run.cells[2], |n| n % 5 == 0);
    let found = of_c(&run);
    assert_eq!(found.metric, "wall_less_wait_ns");
    assert_eq!((found.verdict, found.doubt), (Verdict::Undecided, Some(Doubt::Missing)));
    let why = "the time without the wait for a CPU is missing of c alone in 16 rounds and of a \
               alone in 0: the missing rounds may depend on how long they took";
    assert_eq!(found.reason.as_deref(), Some(why));
    let now = stopping_decision(&run);
    assert_eq!(now.leaves, [false, true, false]);
    assert!(!now.all, "its next samples may have the measure");
}

#[test]
fn a_method_that_lacked_the_measure_when_it_was_chosen_is_compared_by_wall() {
    let mut run = decided_without_the_wait();
    run.plan.measures[0].by_wall = vec!["b".to_owned()];
    // Also where it has the measure later. By wall, `b` takes as long as `a`.
    for lacks in [false, true] {
        if lacks {
            lack_the_time_without_wait(&mut run.cells[1], |n| n % 5 == 0);
        }
        let [b, c] = deciding(&run).try_into().unwrap();
        assert_eq!((b.0.as_str(), b.2), ("wall_ns", 6));
        assert_ne!(b.1, Verdict::Slower);
        assert_eq!((c.0.as_str(), c.2), ("wall_less_wait_ns", 8));
        assert_eq!(stopping_decision(&run).leaves, [false; 3]);
    }
    // Slower by wall too, and in CPU time: it leaves.
    let b = with(run.cells[1].clone(), "cpu_ns", |wall_ns| 2.0 * wall_ns);
    run.cells[1] = with(b, "wall_ns", |wall_ns| 2.0 * wall_ns);
    for other in [0, 2] {
        run.cells[other] = with(run.cells[other].clone(), "cpu_ns", |wall_ns| wall_ns);
    }
    assert_eq!(stopping_decision(&run).leaves, [false, true, false]);
}

/// The ratio, the lower bound and the verdict of the comparison that decides.
fn seen(analysis: &Analysis) -> (Option<f64>, Option<f64>, Verdict) {
    let found = analysis.decision(&analysis.families[0], 1).unwrap();
    (found.ratio, found.low, found.verdict)
}

#[test]
fn before_the_first_look_a_preview_has_the_ratio_of_the_medians_and_no_verdict() {
    let run = sequential(5, 1.5);
    let found = preview(&run, None);
    let p50 = |cell: usize| found.cells[cell].metrics[0].percentiles[0].value;
    let whole = analyze(&run);
    let of_all = |cell: usize| &whole.cells[cell].metrics[0];
    for cell in [0, 1] {
        let middle = of_all(cell).percentiles.iter().find(|found| (found.p - 50.0).abs() < 1e-9);
        assert_eq!(Some(p50(cell)), middle.map(|found| found.value));
        let shown = &found.cells[cell].metrics[0];
        assert_eq!((shown.n, shown.sessions), (of_all(cell).n, of_all(cell).sessions));
    }
    assert_eq!(seen(&found), (Some(p50(1) / p50(0)), None, Verdict::Undecided));
    let run = super::run(vec![cell("a", []), cell("b", [])]);
    assert!(preview(&run, None).comparisons.is_empty(), "nothing was measured yet");
}

#[test]
fn while_no_sample_counts_a_preview_has_those_that_warm_up() {
    let mut run = super::run(vec![cell("a", [4.0, 2.0]), cell("b", [6.0]), cell("c", [])]);
    let warm_up =
        |cell: &mut Cell| cell.samples.iter_mut().for_each(|sample| sample.warm_up = true);
    run.cells.iter_mut().for_each(warm_up);
    // At the end of a run the last one is an estimate, which is not compared.
    let found = analyze(&run);
    let shown = |cell: usize| {
        let wall = found.cells[cell].metrics.iter().find(|summary| summary.metric == "wall_ns");
        wall.map(|wall| (wall.n, wall.percentiles[0].value))
    };
    assert_eq!([0, 1, 2].map(shown), [Some((1, 2.0)), Some((1, 6.0)), None]);
    assert!(found.families[0].compared.is_empty() && found.comparisons.is_empty());
    let p50 = |run: &Run, cell: usize| {
        let found = preview(run, None);
        found.cells[cell].metrics.first().map(|metric| metric.percentiles[0].value)
    };
    assert_eq!([0, 1, 2].map(|cell| p50(&run, cell)), [Some(2.0), Some(6.0), None]);
    assert_eq!(seen(&preview(&run, None)).0, Some(3.0));
    // A warm-up sample does not stand beside one that counts.
    run.cells[0].samples[0].warm_up = false;
    assert_eq!([0, 1].map(|cell| p50(&run, cell)), [Some(4.0), Some(6.0)]);
}

#[test]
fn between_two_looks_a_preview_has_new_medians_and_the_verdicts_of_the_last_look() {
    let look = stopping_decision(&sequential(6, 1.5));
    let run = sequential(7, 1.5);
    let found = preview(&run, Some(&look));
    assert_eq!(seen(&found), seen(&analyze(&run)));
    assert_eq!(seen(&found).2, Verdict::Slower);
    assert_eq!(found.cells[0].metrics[0].n, 70);
    assert_eq!(found.families[0].best, analyze(&run).families[0].best);
}

/// By its eight sessions `fast` takes about 0.4 to 1.5 times the time of `wide`, which may take
/// more than twice its time, and is not shown to differ from the reference.
#[test]
fn what_may_take_twice_the_time_of_the_winner_is_not_called_as_fast() {
    let level = |i: usize| 0.625 * f64::exp(if (i / 10).is_multiple_of(2) { 0.4 } else { -0.4 });
    let wide = noisy(2, 0.01).into_iter().enumerate().map(|(i, ns)| ns * level(i));
    let mut run = run(vec![
        cell("a", noisy(1, 0.01).into_iter().take(80)),
        cell("wide", wide.take(80)),
        cell("fast", times(&noisy(3, 0.01), 0.5).into_iter().take(80)),
    ]);
    run.plan.design = Design::Sequential;
    run.plan.sessions = 240;
    let family = analyze(&run).families.remove(0);
    assert_eq!((&family.best[..], &family.undecided[..]), (&[2][..], &[1][..]));
}
