//! A doubt is noted where there is a reason, and only there.

use model::run::{Design, INTERRUPTED, MetricColumn, Warning, WarningKind};

use super::*;

/// The doubts: that a method is undecided is none.
fn notes(run: &Run) -> Vec<String> {
    let line = |note: Warning| match &note.method {
        Some(method) => format!("{method}: {note}"),
        None => note.to_string(),
    };
    let all = analyze(run).notes.into_iter();
    all.filter(|note| note.kind != WarningKind::Undecided).map(line).collect()
}

/// The notes are exactly those with these prefixes.
fn check(run: &Run, beginnings: &[&str]) {
    let notes = notes(run);
    let all = notes.len() == beginnings.len()
        && notes.iter().zip(beginnings).all(|(note, beginning)| note.starts_with(beginning));
    assert!(all, "{notes:#?}, not {beginnings:#?}");
}

fn calm() -> Vec<Cell> {
    (0..4).map(|seed| cell(&format!("m{seed}"), noisy(seed, 0.02))).collect()
}

#[test]
fn a_calm_run_has_no_notes_but_its_own() {
    check(&run(calm()), &[]);
    let mut own = run(calm());
    own.notes.push(Warning::noted("its own"));
    check(&own, &["its own"]);
    check(&run(Vec::new()), &[]);
}

#[test]
fn a_drift_is_noted_and_said_to_leave_the_ratios() {
    let mut cells = calm();
    let drift: Vec<f64> = (0..100).map(|i| 1.0 + f64::from(i) / 200.0).collect();
    for column in cells[1].values.values_mut().map(MetricColumn::to_mut) {
        column.iter_mut().zip(&drift).for_each(|(y, drift)| *y *= drift);
    }
    let notes = notes(&run(cells));
    assert!(notes[0].starts_with("m1: drift: it gets slower (τ 1.00)"), "{notes:#?}");
    assert!(notes[0].contains("not steady to the end; ratios are taken within rounds"));
    assert_eq!(notes.len(), 1, "{notes:#?}");
}

#[test]
fn runs_that_failed_and_count_are_noted() {
    let mut run = run(calm());
    run.cells[0].values.insert("exit_code".to_owned(), vec![0.0; 100].into());
    let codes = (0..100).map(|i| if i % 4 == 0 { 1.0 } else { 0.0 }).collect();
    run.cells[1].values.insert("exit_code".to_owned(), codes);
    check(&run, &["m1: runs that failed: 25 of 100, exit code 1; they count"]);
    run.cells[1].values.insert("exit_code".to_owned(), (0..100).map(f64::from).collect());
    check(&run, &["m1: runs that failed: 99 of 100, exit code 1 and others; they"]);
}

#[test]
fn a_doubt_about_many_methods_is_one_note() {
    let mut run = run((0..9).map(|i| cell(&format!("m{i}"), noisy(i, 0.02))).collect());
    for cell in &mut run.cells[1..] {
        cell.samples[3].not_counted = Some("not warm: 4096 bytes came from the device".into());
    }
    check(&run, &["samples that do not count in 8 methods (m1, m2, m3, m4, m5, m6 …): they"]);
    run.cells.truncate(3);
    let one =
        "samples that do not count: 1 of 100, not warm: 4096 bytes came from the device; they";
    check(&run, &[&format!("m1: {one}"), &format!("m2: {one}")]);
}

#[test]
fn what_an_interruption_left_is_no_doubt() {
    let mut run = run(calm());
    for cell in &mut run.cells {
        cell.samples[99].not_counted = Some(INTERRUPTED.into());
    }
    check(&run, &[]);
    // The advice is for the requested state of the cache.
    run.plan.cache = CacheState::AsIs;
    run.cells[0].samples[3].not_counted = Some("too short".into());
    let kept = "m0: samples that do not count: 1 of 99, too short; they are stored, but not used in \
                any figure";
    assert_eq!(notes(&run), [kept]);
}

/// Two calm methods in two sessions, by a plan that is changed.
fn advised(change: impl Fn(&mut Run)) -> String {
    let cells = calm().into_iter().take(2).map(|mut cell| {
        cell.samples.truncate(20);
        cell.values.values_mut().for_each(|column| column.to_mut().truncate(20));
        cell
    });
    let mut run = run(cells.collect());
    change(&mut run);
    let notes = notes(&run);
    let note = notes.iter().find(|note| note.contains("too few")).unwrap();
    note.rsplit("; ").next().unwrap().to_owned()
}

#[test]
fn the_advice_for_a_verdict_is_what_limited_the_sessions() {
    let of = |sessions: u32, rounds: u32, design, experiment: &str| {
        advised(|run| {
            run.plan = Plan { rounds, sessions, design, ..run.plan.clone() };
            run.experiment = experiment.to_owned();
        })
    };
    assert_eq!(of(10, 10, Design::Fixed, "test"), "give more --time");
    assert_eq!(of(3, 1, Design::Fixed, "bench"), "give -r 5");
    assert_eq!(of(3, 1, Design::Fixed, "test"), "give --rounds 5");
    assert_eq!(of(2, 10, Design::Fixed, "test"), "give --sessions 5");
    assert_eq!(of(4, 1, Design::Sequential, "bench"), "give --max-runs 6");
    assert_eq!(of(4, 5, Design::Sequential, "test"), "give --max-sessions 6");
    assert_eq!(advised(|run| run.complete = false), "the run was stopped: resume it");
}

#[test]
fn a_start_that_is_slow_is_noted() {
    let mut cells = calm();
    for column in cells[2].values.values_mut().map(MetricColumn::to_mut) {
        column.iter_mut().step_by(10).for_each(|y| *y *= 1.1);
    }
    let text = "m2: warm-up not finished: the first samples of its processes take ";
    let mut slow = run(cells);
    check(&slow, &[text]);
    // Each command has the flag under its own name.
    assert!(
        notes(&slow)[0].ends_with("leave out more of them with --warm-up"),
        "{:?}",
        notes(&slow)
    );
    slow.experiment = "bench".to_owned();
    assert!(
        notes(&slow)[0].ends_with("leave out more of them with --warmup"),
        "{:?}",
        notes(&slow)
    );
    // One slow sample is not a slow start.
    let mut cells = calm();
    for column in cells[2].values.values_mut().map(MetricColumn::to_mut) {
        column[0] *= 1.5;
    }
    check(&run(cells), &[]);
}

#[test]
fn two_modes_are_noted() {
    let mut cells = calm();
    for column in cells[2].values.values_mut().map(MetricColumn::to_mut) {
        (0..100).filter(|i| (i * i * 17 + 5 * i) % 101 < 30).for_each(|i: usize| column[i] *= 1.4);
    }
    let mut run = run(cells);
    check(&run, &["m2: two modes: 28 % of the samples take 1.40 times as long"]);
    run.id = "7".to_owned();
    let end = "; bytelab show 7 --percentiles shows both";
    assert!(notes(&run)[0].ends_with(end), "{:?}", notes(&run));
}

#[test]
fn a_slot_effect_is_noted() {
    let mut cells = calm();
    for (place, cell) in (0..).zip(&mut cells) {
        for (round, sample) in (0..).zip(&mut cell.samples) {
            sample.slot = (place + round * 7 / 3) % 4;
        }
        let late: Vec<bool> = cell.samples.iter().map(|sample| sample.slot >= 2).collect();
        for column in cell.values.values_mut().map(MetricColumn::to_mut) {
            let slow = column.iter_mut().zip(&late).filter(|(_, late)| **late);
            slow.for_each(|(y, _)| *y *= 1.04);
        }
    }
    let notes = notes(&run(cells));
    let note = notes.iter().find(|note| note.starts_with("slot effect")).unwrap();
    assert!(note.contains("samples take +3.") || note.contains("samples take +4."), "{note}");
}

fn less_wait(cell: Cell) -> Cell {
    with(cell, "wall_less_wait_ns", |wall_ns| 0.8 * wall_ns)
}

#[test]
fn waiting_and_steal_are_noted() {
    let mut run = run(calm());
    run.cells = run
        .cells
        .into_iter()
        .map(|cell| with(cell, "run_queue_wait_ns", |wall_ns| 0.2 * wall_ns))
        .collect();
    run.cells.truncate(3);
    run.cells[0] = less_wait(run.cells[0].clone());
    run.environment.facts.insert("steal_share".to_owned(), 0.034.into());
    check(
        &run,
        &[
            "m0: waited for a CPU: 20 % of its wall time; the wait is in the wall time",
            "m1: waited for a CPU: 20 % of its wall time; the wait is in the wall time",
            "m2: waited for a CPU: 20 % of its wall time; the wait is in the wall time",
            "the hypervisor took 3.4 % of the CPU time (steal)",
        ],
    );
    run.cells = run.cells.into_iter().map(less_wait).collect();
    check(
        &run,
        &[
            "m0: waited for a CPU: 20 % of its wall time; verdicts leave this wait out",
            "m1: waited for a CPU: 20 % of its wall time; verdicts leave this wait out",
            "m2: waited for a CPU: 20 % of its wall time; verdicts leave this wait out",
            "the hypervisor took 3.4 % of the CPU time (steal)",
        ],
    );
    run.environment.facts.insert("steal_share".to_owned(), 0.009.into());
    run.cells.clear();
    check(&run, &[]);
}

#[test]
fn a_wait_of_several_threads_is_no_share_of_the_time() {
    let mut run = run(calm());
    run.cells[1] = with(run.cells[1].clone(), "run_queue_wait_ns", |wall_ns| 8.67 * wall_ns);
    check(
        &run,
        &["m1: waited for a CPU: 8.7 times its wall time, in several threads or also before and"],
    );
}

#[test]
fn a_counting_pass_of_another_speed_is_noted() {
    let counted = |factor: f64| {
        let mut cells = calm();
        for round in 0..5 {
            let mut sample = cells[3].samples[0].clone();
            (sample.pass, sample.round) = (Pass::Counting, round);
            cells[3].push(sample, &[("counting_wall_ns", 1e6 * factor)]);
        }
        run(cells)
    };
    check(&counted(1.01), &[]);
    check(
        &counted(1.3),
        &["m3: the counting pass ran at another speed: +30 % wall time; its counts are used"],
    );
}

#[test]
fn what_was_not_measured_is_noted_by_reason() {
    let mut run = run((0..7).map(|i| cell(&format!("m{i}"), noisy(i, 0.02))).collect());
    for cell in &mut run.cells[2..6] {
        cell.status = Status::Skipped("no io_uring".to_owned());
    }
    run.cells[6].status = Status::Failed("it died".to_owned());
    run.cells[1] = answering(run.cells[1].clone(), "2");
    check(
        &run,
        &[
            "m1: wrong answer: answer 2 instead of 1; ",
            "m6: failed (it died); it has no verdict",
            "skipped (no io_uring) in 4 methods (m2, m3, m4, m5): it has no verdict",
        ],
    );
}

#[test]
fn too_few_rounds_and_many_points_are_noted() {
    let few = |name, seed: u64| cell(name, noisy(seed, 0.02).into_iter().take(4));
    check(
        &run(vec![few("a", 1), few("b", 2)]),
        &["b: no verdict: 1 session is too few, at least 5 are needed; give more --time"],
    );
    let mut sweep = run(Vec::new());
    sweep.points = (0..20).map(|size| point(&[("size", size)])).collect();
    for (seed, at) in (0..).zip(sweep.points.clone()) {
        for name in ["a", "b"] {
            let mut cell = cell(name, noisy(seed * 2 + u64::from(name == "b"), 0.02));
            cell.point = at.clone();
            sweep.cells.push(cell);
        }
    }
    let notes = notes(&sweep);
    let last = notes.last().unwrap();
    assert!(last.starts_with("20 points were compared: chance alone"), "{notes:#?}");
}

#[test]
fn what_an_undecided_method_takes_is_said_in_one_note() {
    let method = |name, seed| cell(name, noisy(seed, 0.03).into_iter().take(80));
    let mut run = run(vec![method("a", 1), method("b", 2), method("c", 3)]);
    let note = |run: &Run| {
        let analysis = analyze(run);
        let found = |cell| {
            let mut own = analysis.comparisons.iter().filter(|c| c.cell == cell && c.decides);
            let own = own.next().unwrap();
            assert_eq!(own.verdict, Verdict::Undecided);
            (own.found_percent.unwrap(), own.sessions_for_1_percent.unwrap())
        };
        let mut open = [("b", found(1)), ("c", found(2))];
        open.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let all = analysis.notes.iter().filter(|note| note.kind == WarningKind::Undecided);
        let all: Vec<String> = all.map(ToString::to_string).collect();
        let [text] = &all[..] else { panic!("{all:?}") };
        let (_, said) = text.split_once(" what 1 % takes: ").unwrap();
        (said.to_owned(), open)
    };
    // Three methods take 30 ms in a session.
    let takes = |sessions: u64| ((sessions * 30).div_ceil(1000), sessions);
    let (said, open) = note(&run);
    let of = |(name, (percent, sessions)): (&str, (f64, u64))| {
        let (seconds, sessions) = takes(sessions);
        format!("{name} {percent:.1} % ({sessions} sessions, about {seconds}s)")
    };
    assert_eq!(said, open.map(of).join(", "));
    // Verdicts change at looks.
    run.plan.design = Design::Sequential;
    run.plan.sessions = 240;
    let (said, open) = note(&run);
    let of = |(name, (percent, sessions)): (&str, (f64, u64))| {
        let look = crate::stats::LOOKS.into_iter().find(|look| *look as u64 >= sessions).unwrap();
        format!("{name} {percent:.1} % (about --time {}s)", takes(look as u64).0)
    };
    assert_eq!(said, open.map(of).join(", "));
    // What has a verdict is not named.
    run.cells[1] = cell("b", times(&noisy(2, 0.03), 2.0).into_iter().take(80));
    let notes = analyze(&run).notes;
    let text = notes.iter().find(|n| n.kind == WarningKind::Undecided).unwrap().to_string();
    assert!(text.contains(": c ") && !text.contains(" b "), "{text}");
}

#[test]
fn what_is_at_a_limit_is_not_noted() {
    // 5 % of the wall time, and 1 % of the CPU time.
    let mut run = run(vec![with(cell("a", [100.0; 100]), "run_queue_wait_ns", |_| 5.0)]);
    run.environment.facts.insert("steal_share".to_owned(), 0.01.into());
    check(&run, &[]);
}

#[test]
fn a_warm_up_that_does_not_count_either_is_not_noted() {
    let mut run = run(calm());
    for sample in &mut run.cells[0].samples[..3] {
        sample.warm_up = true;
        sample.not_counted = Some("not warm".into());
    }
    check(&run, &[]);
    run.cells[0].samples[3].not_counted = Some("not warm".into());
    check(&run, &["m0: samples that do not count: 1 of 97, not warm; they"]);
    // It was taken again.
    let (session, round) = (run.cells[0].samples[3].session, run.cells[0].samples[3].round);
    (run.cells[0].samples[4].session, run.cells[0].samples[4].round) = (session, round);
    check(&run, &[]);
}

#[test]
fn a_replaced_reference_is_reported_with_its_point_where_there_are_several() {
    let points = |sizes: &[u64]| {
        let mut run = run(Vec::new());
        run.points = sizes.iter().map(|size| point(&[("size", *size)])).collect();
        for at in run.points.clone() {
            let mut cells = calm();
            cells[0].status = Status::Failed("died".to_owned());
            for cell in &mut cells {
                cell.point = at.clone();
            }
            run.cells.extend(cells);
        }
        let notes = analyze(&run).notes.into_iter();
        let replaced = notes.filter(|note| note.kind == WarningKind::Reference);
        replaced.map(|note| note.point).collect::<Vec<_>>()
    };
    assert_eq!(points(&[1]), [None]);
    assert_eq!(points(&[1, 2]), [1, 2].map(|size| Some(point(&[("size", size)]))));
}

#[test]
fn a_point_of_one_method_is_no_comparison() {
    let mut sweep = run(Vec::new());
    sweep.points = (0..12).map(|size| point(&[("size", size)])).collect();
    for (seed, at) in (0..).zip(sweep.points.clone()) {
        sweep.cells.push(Cell { point: at, ..cell("a", noisy(seed, 0.02)) });
    }
    assert!(notes(&sweep).iter().all(|note| !note.contains("were compared")));
}
