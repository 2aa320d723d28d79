//! Which methods are compared with each other, round by round, and with what result.

use model::run::MetricColumn;

use super::*;

#[test]
fn contenders_are_compared_with_the_first_and_yardsticks_are_not() {
    let mut yardstick = cell("limit", noisy(1, 0.01));
    yardstick.role = Role::Yardstick;
    let analysis = analyze(&run(vec![
        yardstick,
        cell("a", noisy(2, 0.01)),
        cell("b", times(&noisy(3, 0.01), 0.8)),
        cell("c", times(&noisy(4, 0.01), 1.2)),
        cell("d", noisy(5, 0.001)),
    ]));
    assert_eq!(
        verdicts(&analysis),
        [
            "b wall_ns Faster",
            "b cpu_ns Faster",
            "c wall_ns Slower",
            "c cpu_ns Slower",
            "d wall_ns Same",
            "d cpu_ns Same"
        ]
    );
    let b = &analysis.comparisons[0];
    assert_eq!((b.reference.as_str(), b.n, b.sessions), ("a", 100, 10));
    close(b.ratio, 0.8, 0.005);
    close(Some(b.level), 1.0 - 0.05 / 3.0, 1e-12);
    assert!(b.low.unwrap() < 0.8 && 0.8 < b.high.unwrap(), "{b:?}");
    assert_eq!(analysis.families[0].best, [2]);
    assert_eq!(analysis.families[0].cells, [0, 1, 2, 3, 4]);
    assert_eq!(analysis.families[0].compared, [1, 2, 3, 4]);
    assert_eq!(analysis.decision(&analysis.families[0], 3).unwrap().method, "c");
    assert!(analysis.decision(&analysis.families[0], 0).is_none());
    assert!(analysis.decision(&analysis.families[0], 1).is_none());
}

/// The speed of the machine changes by a factor from round to round; only the same rounds show that
/// one method takes 3 % more. Rounds that one of them lacks must not shift the others.
#[test]
fn only_samples_of_the_same_round_are_compared() {
    let level: Vec<f64> = (0..60).map(|i| 1e6 * f64::from(1 + i * 7919 % 13)).collect();
    let mut a = cell("a", level.clone());
    let mut b = cell("b", times(&level, 1.03));
    for round in [0, 1, 17, 18, 40] {
        b.samples[round].not_counted = Some("not warm".into());
    }
    a.samples[5].warm_up = true;
    // Samples may be stored in a different order from that in which they were taken.
    b.samples.swap(30, 50);
    for column in b.values.values_mut().map(MetricColumn::to_mut) {
        column.swap(30, 50);
    }
    let analysis = analyze(&run(vec![a, b]));
    let c = &analysis.comparisons[0];
    assert_eq!((c.n, c.verdict), (54, Verdict::Slower));
    for end in [c.ratio, c.low, c.high] {
        close(end, 1.03, 1e-9);
    }
    assert_eq!(analysis.cells[1].not_counted, 5);
    assert_eq!(analysis.cells[0].not_counted, 0);
}

#[test]
fn an_undecided_comparison_says_what_it_would_have_found() {
    let analysis = analyze(&run(vec![cell("a", noisy(1, 0.05)), cell("b", noisy(4, 0.05))]));
    let c = &analysis.comparisons[0];
    assert_eq!(c.verdict, Verdict::Undecided);
    let half = (c.high.unwrap().ln() - c.low.unwrap().ln()) / 2.0;
    close(c.found_percent, 100.0 * (half * 1.4294).exp_m1(), 1e-3);
    let sessions = 10.0 * c.found_percent.unwrap().powi(2);
    assert_eq!(c.sessions_for_1_percent, Some(sessions.ceil() as u64));
    assert!(c.p.unwrap() > 0.05 && c.p_holm == c.p);
}

#[test]
fn a_difference_below_the_relevance_limit_is_marked() {
    let level = noisy(1, 0.05);
    let analysis = analyze(&run(vec![cell("a", level.clone()), cell("b", times(&level, 0.995))]));
    let c = &analysis.comparisons[0];
    assert_eq!((c.verdict, c.below_relevance), (Verdict::Faster, true));
}

#[test]
fn the_majority_is_right_and_the_reference_between_equals() {
    let [a, b, c] = ["a", "b", "c"].map(|name| cell(name, noisy(1, 0.01)));
    let wrong = |cells: Vec<Cell>| analyze(&run(cells)).wrong_answers().collect::<Vec<_>>();
    assert_eq!(wrong(vec![a.clone(), b.clone(), c.clone()]), [0; 0]);
    assert_eq!(wrong(vec![a.clone(), answering(b.clone(), "2")]), [1]);
    assert_eq!(wrong(vec![answering(a.clone(), "2"), b.clone(), c.clone()]), [0]);
    let (b2, c3) = (answering(b.clone(), "2"), answering(c.clone(), "3"));
    assert_eq!(wrong(vec![a.clone(), b2, c3]), [1, 2]);
    let mut silent = b.clone();
    silent.samples.iter_mut().for_each(|sample| sample.answer = None);
    assert_eq!(wrong(vec![silent.clone(), silent.clone()]), [0; 0], "a job without an answer");
    assert_eq!(wrong(vec![silent, a.clone(), answering(c.clone(), "2")]), [0, 2]);
    // The answers of its own samples differ; it has no vote, and neither has a yardstick.
    let mut fickle = b.clone();
    fickle.samples[7].answer = Some("2".into());
    let mut yardstick = answering(c.clone(), "2");
    yardstick.role = Role::Yardstick;
    let other = answering(c.clone(), "2");
    assert_eq!(wrong(vec![a.clone(), fickle, yardstick, other]), [1, 2, 3]);
    let mut digests = vec![a, b, c];
    digests[0].digest = Some("d".to_owned());
    digests[1].digest = Some("e".to_owned());
    assert_eq!(wrong(digests), [1]);
}

#[test]
fn a_wrong_answer_has_no_ratio_and_is_no_reference() {
    let fast = |name| cell(name, times(&noisy(2, 0.01), 0.5));
    let analysis = analyze(&run(vec![
        answering(fast("wrong"), "2"),
        cell("a", noisy(1, 0.01)),
        cell("b", times(&noisy(3, 0.01), 0.9)),
    ]));
    assert_eq!(
        verdicts(&analysis),
        ["wrong wall_ns WrongAnswer", "b wall_ns Faster", "b cpu_ns Faster"]
    );
    let wrong = &analysis.comparisons[0];
    assert_eq!((wrong.ratio, wrong.reference.as_str()), (None, "a"));
    assert_eq!(wrong.reason.as_deref(), Some("answer 2 instead of 1"));
    assert!(!analysis.cells[0].pareto);
    assert_eq!(analysis.families[0].best, [2]);
    assert!(analysis.notes.iter().any(|note| note.to_string().contains("a takes its place")));
}

#[test]
fn what_was_not_measured_is_missing_and_costs_no_level() {
    let mut skipped = cell("s", []);
    skipped.status = Status::Skipped("no io_uring".to_owned());
    let mut failed = cell("f", noisy(3, 0.01));
    failed.status = Status::Failed("died".to_owned());
    let analysis = analyze(&run(vec![
        cell("a", noisy(1, 0.01)),
        skipped,
        failed,
        cell("empty", []),
        cell("b", noisy(2, 0.01)),
        with(cell("zero", noisy(2, 0.01)), "wall_ns", |wall_ns| (wall_ns - 1e6).max(0.0)),
    ]));
    let reasons: Vec<String> = analysis
        .comparisons
        .iter()
        .filter(|c| c.verdict == Verdict::Missing)
        .map(|c| format!("{}: {}", c.method, c.reason.as_deref().unwrap()))
        .collect();
    assert_eq!(reasons.len(), 4);
    assert_eq!(
        reasons[..3],
        ["s: skipped: no io_uring", "f: failed: died", "empty: it has no sample that counts"]
    );
    assert!(reasons[3].starts_with("zero: wall_ns is 0 and "), "{}", reasons[3]);
    let b = analysis.comparisons.iter().find(|c| c.method == "b").unwrap();
    close(Some(b.level), 1.0 - 0.05 / 2.0, 1e-12);
}

#[test]
fn fewer_than_five_sessions_give_a_ratio_and_no_verdict() {
    let of = |n| {
        let few = |seed| noisy(seed, 0.01).into_iter().take(n);
        let cells = (0..4).map(|i| cell(&format!("m{i}"), few(i)));
        analyze(&run(cells.collect())).comparisons.remove(0)
    };
    // 40 rounds in four sets of processes.
    let c = of(40);
    assert_eq!((c.verdict, c.low, c.n, c.sessions), (Verdict::Undecided, None, 40, 4));
    assert_eq!(c.reason.as_deref(), Some("4 sessions are too few, at least 5 are needed"));
    close(c.ratio, 1.0, 0.05);
    let c = of(10);
    assert_eq!(c.reason.as_deref(), Some("1 session is too few, at least 5 are needed"));
    assert!(of(41).low.is_some());
}

/// `b` is faster in six of ten sessions of 10 rounds and slower in four: with the 100 rounds as the
/// unit, the difference would be significant.
#[test]
fn the_rounds_of_a_session_are_one_value() {
    let process = [0.9, 1.1, 0.92, 1.08, 0.9, 0.91, 1.07, 0.95, 0.9, 1.05];
    let own = noisy(1, 0.001);
    let b: Vec<f64> = (own.iter().enumerate()).map(|(i, ns)| ns * process[i / 10]).collect();
    let analysis = analyze(&run(vec![cell("a", noisy(2, 0.001)), cell("b", b)]));
    let c = &analysis.comparisons[0];
    assert_eq!((c.verdict, c.n, c.sessions), (Verdict::Undecided, 100, 10));
    assert!(c.low.unwrap() < 0.95 && 1.02 < c.high.unwrap(), "{c:?}");
}

/// Three methods share one load that drifts. At first the time of `c` without the wait is not
/// known.
#[test]
fn the_wait_is_taken_out_of_the_methods_of_a_table_that_have_the_time_without_it() {
    let waited = |seed, factor: f64| {
        let own = times(&noisy(seed, 0.005), factor);
        let wait = noisy(seed + 100, 0.5);
        let wall: Vec<f64> = own.iter().zip(&wait).map(|(own, wait)| own + wait).collect();
        let mut cell = cell("", wall);
        cell.values.insert("wall_less_wait_ns".to_owned(), own.into());
        cell.values.insert("run_queue_wait_ns".to_owned(), wait.into());
        cell
    };
    let mut cells = vec![waited(1, 1.0), waited(2, 0.97), waited(3, 1.0)];
    for (cell, name) in cells.iter_mut().zip(["a", "b", "c"]) {
        name.clone_into(&mut cell.method);
    }
    let deciding = |analysis: &Analysis| -> Vec<String> {
        let decisions = analysis.comparisons.iter().filter(|c| c.decides);
        decisions.map(|c| format!("{} {} {:?}", c.method, c.metric, c.verdict)).collect()
    };
    // Half of the samples lack it: the method has several threads, or starts processes.
    let lacking = |cell: &Cell| {
        let mut cell = cell.clone();
        let column = cell.values.get_mut("wall_less_wait_ns").unwrap().to_mut().iter_mut();
        column.step_by(2).for_each(|value| *value = f64::NAN);
        cell
    };
    let [a, b, c] = [0, 1, 2].map(|i| (cells[i].clone(), lacking(&cells[i])));
    let analysis = analyze(&run(vec![a.0.clone(), b.0.clone(), c.1.clone()]));
    let family = &analysis.families[0];
    assert_eq!((family.metric, &family.by_wall[..]), ("wall_less_wait_ns", &[2][..]));
    assert_eq!(deciding(&analysis), ["b wall_less_wait_ns Faster", "c wall_ns Undecided"]);
    // What is not judged well enough may be the best.
    assert_eq!((&family.best[..], &family.undecided[..]), (&[1, 2][..], &[][..]));
    // Nothing is compared without the wait if the reference, or most methods, lack that time.
    for cells in [vec![a.1.clone(), b.0, c.0], vec![a.0, b.1, c.1]] {
        let analysis = analyze(&run(cells));
        let family = &analysis.families[0];
        assert_eq!((family.metric, &family.by_wall[..]), ("wall_ns", &[][..]));
        assert_eq!(deciding(&analysis), ["b wall_ns Undecided", "c wall_ns Undecided"]);
    }
    let analysis = analyze(&run(cells.clone()));
    assert_eq!(analysis.families[0].metric, "wall_less_wait_ns");
    let expected = ["b wall_less_wait_ns Faster", "c wall_less_wait_ns Same"];
    assert_eq!(deciding(&analysis), expected);
    assert_eq!(analysis.families[0].best, [1]);
    // The measure follows from the kind of the methods, and not from how busy the machine was.
    for cell in &mut cells {
        cell.values.get_mut("run_queue_wait_ns").unwrap().to_mut().fill(10.0);
    }
    assert_eq!(analyze(&run(cells.clone())).families[0].metric, "wall_less_wait_ns");
    // A method that waits for something else for a tenth of its time is compared by wall.
    let blocked = with(cells[1].clone(), "cpu_ns", |_| 0.85e6);
    let analysis = analyze(&run(vec![cells[0].clone(), blocked, cells[2].clone()]));
    let family = &analysis.families[0];
    assert_eq!((family.metric, &family.by_wall[..]), ("wall_less_wait_ns", &[1][..]));
}

/// The choice of the deciding measure depends on no ratio, and on no later sample.
#[test]
fn what_decides_is_what_the_run_has_kept() {
    let kept = |metric: &str| {
        let (metric, why) = (metric.to_owned(), "so it was".to_owned());
        vec![Measure { metric, why, ..Measure::default() }]
    };
    let check = |cells: &[Cell], measures: Vec<Measure>, metric: &str, why: &str| {
        let mut run = run(cells.to_vec());
        run.plan.measures = measures;
        let analysis = analyze(&run);
        let family = &analysis.families[0];
        assert_eq!((family.metric, family.why.as_str()), (metric, why));
        assert!(analysis.comparisons.iter().all(|c| c.decides == (c.metric == metric)));
    };
    let [a, b] = [cell("a", noisy(1, 0.01)), cell("b", noisy(2, 0.01))];
    let [waited_a, waited_b] = [&a, &b].map(|cell| waited(cell.clone()));
    let all = [waited_a.clone(), waited_b.clone()];
    let why = "the waits for a CPU are known and taken out";
    check(&all, vec![], "wall_less_wait_ns", why);
    check(&all, kept("wall_ns"), "wall_ns", "so it was");
    let rested = all.clone().map(|cell| with(cell, "run_queue_wait_ns", |_| 0.0));
    check(&rested, vec![], "wall_less_wait_ns", why);
    check(&rested, kept("wall_less_wait_ns"), "wall_less_wait_ns", "so it was");
    // A measure that the reference lacks cannot decide, whatever was chosen.
    let why = "a has no known time without its waits for a CPU";
    check(&[a, waited_b], kept("wall_less_wait_ns"), "wall_ns", why);
    let lacking = [waited_a, b];
    let why = "b has no known time without its waits for a CPU";
    check(&lacking, vec![], "wall_ns", why);
    // A method that turned out to lack it is compared by wall time.
    let mut run = run(lacking.to_vec());
    run.plan.measures = kept("wall_less_wait_ns");
    let analysis = analyze(&run);
    let family = &analysis.families[0];
    assert_eq!((family.metric, &family.by_wall[..]), ("wall_less_wait_ns", &[1][..]));
    assert_eq!(analysis.decision(family, 1).unwrap().metric, "wall_ns");
}

#[test]
fn a_pair_that_is_in_several_families_is_compared_once() {
    let at = |name: &str, seed, values: &[(&str, u64)]| {
        let mut cell = cell(name, noisy(seed, 0.01));
        cell.point = point(values);
        cell
    };
    let mut run = run(vec![
        at("map", 1, &[("size", 1)]),
        at("read", 2, &[("size", 1), ("buffer", 4)]),
        at("read", 3, &[("size", 1), ("buffer", 8)]),
        at("vec", 4, &[("size", 1)]),
    ]);
    run.points = vec![point(&[("size", 1), ("buffer", 4)]), point(&[("size", 1), ("buffer", 8)])];
    let analysis = analyze(&run);
    let pairs: Vec<(usize, usize, &str)> = analysis
        .comparisons
        .iter()
        .map(|c| (c.cell, c.reference_cell, c.metric.as_str()))
        .filter(|(_, _, metric)| *metric == "wall_ns")
        .collect();
    assert_eq!(pairs, [(1, 0, "wall_ns"), (3, 0, "wall_ns"), (2, 0, "wall_ns")]);
    assert_eq!(analysis.families[1].cells, [0, 2, 3]);
    assert_eq!(analysis.decision(&analysis.families[1], 3).unwrap().point, run.points[0]);
}

#[test]
fn tables_that_share_a_method_are_compared_by_one_measure() {
    let at = |name: &str, buffer: &[(&str, u64)], wait: f64| {
        let cell = Cell { point: point(buffer), ..cell(name, [10.0; 20]) };
        let cell = with(cell, "wall_less_wait_ns", move |wall_ns| wall_ns - wait);
        with(cell, "run_queue_wait_ns", move |_| wait)
    };
    let buffers = [[("buffer", 1)], [("buffer", 2)]];
    let cells = vec![
        at("cat", &[], 0.0),
        at("cp", &[], 0.0),
        at("dd", &buffers[0], 0.0),
        at("dd", &buffers[1], 5.0),
    ];
    let points = buffers.iter().map(|buffer| point(buffer)).collect();
    let run = Run { points, ..run(cells) };
    let analysis = analyze(&run);
    let measures: Vec<&str> = analysis.families.iter().map(|family| family.metric).collect();
    assert_eq!(measures, ["wall_less_wait_ns", "wall_less_wait_ns"]);
    assert!(analysis.comparisons.iter().all(|c| c.decides == (c.metric == "wall_less_wait_ns")));
}

#[test]
fn summaries_are_of_the_samples_that_count() {
    let mut a = cell("a", (1..=100).map(f64::from));
    a = with(with(a, "z_count", |_| 3.0), "phase_ns", |wall_ns| 2.0 * wall_ns);
    a.samples[99].not_counted = Some("not warm".into());
    a.samples[0].warm_up = true;
    a.samples[7].ops = 84;
    let analysis = analyze(&run(vec![a]));
    let metrics = &analysis.cells[0].metrics;
    let names: Vec<&str> = metrics.iter().map(|s| s.metric.as_str()).collect();
    assert_eq!(names, ["wall_ns", "cpu_ns", "phase_ns", "z_count"]);
    let wall = &metrics[0];
    assert_eq!((wall.n, wall.unit, wall.constant), (98, "ns", false));
    let values: Vec<f64> = wall.percentiles.iter().map(|p| p.value).collect();
    assert_eq!(values, [2.0, 26.0, 50.0, 75.0, 90.0, 99.0, 99.0]);
    assert_eq!(wall.percentiles[0].low, None);
    assert!(wall.percentiles[2].low.unwrap() < 50.0 && wall.percentiles[2].high.unwrap() > 50.0);
    // Ten sessions show nothing about events that occur in one sample of a hundred.
    assert_eq!((wall.percentiles[5].low, wall.percentiles[5].high), (None, None));
    assert_eq!((wall.sessions, wall.ops), (10, 84));
    assert!(metrics[3].constant);
    assert_eq!(analysis.cells[0].answer.as_deref(), Some("1"));
}
