use model::run::MetricColumn;

use super::super::*;
use crate::tests::{answering, cell, facts_of, noisy, point, run, times, with};

/// 10 sessions of 5 rounds on a machine whose speed drifts, with `mmap` and `read`; `mmap` takes
/// `factor` of the time of its old side.
fn measured(seed: u64, factor: f64) -> Run {
    let speed = noisy(seed, 0.3);
    let in_sessions = |mut cell: Cell| {
        cell.samples.truncate(50);
        for column in cell.values.values_mut().map(MetricColumn::to_mut) {
            column.truncate(50);
        }
        for (i, sample) in (0..).zip(&mut cell.samples) {
            (sample.session, sample.round) = (i / 5, i % 5);
        }
        cell
    };
    let own = |name: &str, i: u64, factor: f64| {
        let noise = noisy(seed + i, 0.01);
        let walls: Vec<f64> =
            noise.iter().zip(&speed).map(|(own, common)| own * common / 1e6).collect();
        in_sessions(cell(name, times(&walls, factor)))
    };
    run(vec![
        own("mmap", 1, 0.2 * factor),
        own("mmap@old", 2, 0.2),
        own("read", 3, 1.0),
        own("read@old", 4, 1.0),
    ])
}

fn wall(percent: f64) -> [Allowed; 1] {
    [Allowed { metric: "wall_ns".to_owned(), percent }]
}

fn outcomes(checked: &Checked) -> Vec<(&str, &str, Outcome)> {
    let lines = checked.lines.iter();
    lines.map(|l| (l.method.as_str(), l.reference.as_deref().unwrap(), l.outcome)).collect()
}

#[test]
fn each_method_is_compared_with_its_own_old_side() {
    let same = check_pairs(&[measured(1, 1.0)], &wall(5.0));
    assert_eq!(
        outcomes(&same),
        [("mmap", "mmap@old", Outcome::Ok), ("read", "read@old", Outcome::Ok)]
    );
    assert_eq!(same.outcome, Outcome::Ok);
    let line = &same.lines[0];
    assert!(line.low.unwrap() < 1.0 && 1.0 < line.high.unwrap(), "{line:?}");
    assert_eq!(line.level, Some(0.95));

    let faster = check_pairs(&[measured(2, 0.8)], &wall(5.0));
    assert_eq!(faster.lines[0].outcome, Outcome::Faster);
    assert!(faster.lines[0].level.unwrap() > 0.97, "{faster:?}");
}

#[test]
fn slower_takes_both_runs() {
    let slow = [measured(1, 1.2), measured(2, 1.2)];
    let once = check_pairs(&slow[..1], &wall(5.0));
    assert_eq!(once.outcome, Outcome::Undecided);
    assert_eq!(
        once.lines[0].reason.as_deref(),
        Some("slower in one run; a second must confirm it"),
        "{once:?}"
    );
    let twice = check_pairs(&slow, &wall(5.0));
    assert_eq!(twice.outcome, Outcome::Slower);
    assert_eq!(
        outcomes(&twice),
        [("mmap", "mmap@old", Outcome::Slower), ("read", "read@old", Outcome::Ok)]
    );
    let line = &twice.lines[0];
    assert!(line.low.unwrap() > 1.05 && (line.level.unwrap() - 0.975).abs() < 1e-9, "{line:?}");
    // The second run does not confirm it.
    assert_eq!(
        check_pairs(&[slow[0].clone(), measured(3, 1.0)], &wall(5.0)).outcome,
        Outcome::Undecided
    );
    assert_eq!(check_pairs(&slow, &wall(30.0)).outcome, Outcome::Ok);
}

#[test]
fn a_side_that_did_not_run_or_answers_otherwise_is_missing() {
    let why = |change: fn(&mut Run)| {
        let mut run = measured(1, 1.0);
        change(&mut run);
        let found = check_pairs(&[run], &wall(5.0));
        assert_eq!(found.outcome, Outcome::Missing, "{found:?}");
        found.lines[0].reason.clone().unwrap()
    };
    assert_eq!(why(|r| r.cells[0].status = Status::Failed("died".to_owned())), "failed: died");
    assert_eq!(why(|r| r.cells[1].status = Status::Skipped("no".to_owned())), "old: skipped: no");
    assert!(why(|r| r.cells[1] = answering(r.cells[1].clone(), "7")).contains("old one 7"));
    let digests = |r: &mut Run| {
        for (cell, digest) in r.cells.iter_mut().zip(["d", "e"]) {
            cell.digest = Some(digest.to_owned());
        }
    };
    assert_eq!(why(digests), "it hands over other bytes than the old one");
}

#[test]
fn what_both_sides_refuse_is_left_out_and_nothing_at_all_is_not_ok() {
    let mut run = measured(1, 1.0);
    for cell in &mut run.cells[..2] {
        cell.status = Status::Skipped("no io_uring".to_owned());
    }
    let found = check_pairs(&[run.clone()], &wall(5.0));
    assert_eq!(outcomes(&found), [("read", "read@old", Outcome::Ok)]);
    run.cells.truncate(1);
    assert_eq!(check_pairs(&[run], &wall(5.0)).outcome, Outcome::Missing);
    assert_eq!(check_pairs(&[], &wall(5.0)).outcome, Outcome::Missing);
}

#[test]
fn counts_are_exact_and_those_of_the_counting_pass_have_no_rounds() {
    let calls = [Allowed { metric: "syscalls".to_owned(), percent: 0.0 }];
    let counted = |new: f64, old: f64| {
        let mut run = measured(1, 1.0);
        run.cells.truncate(2);
        let mut values = [new, old].into_iter();
        run.cells = run
            .cells
            .into_iter()
            .map(|cell| {
                let calls = values.next().unwrap();
                with(cell, "syscalls", |_| calls)
            })
            .collect();
        run
    };
    let of = |new, old| check_pairs(&[counted(new, old), counted(new, old)], &calls).outcome;
    assert_eq!(of(100.0, 100.0), Outcome::Ok);
    assert_eq!(of(101.0, 100.0), Outcome::Slower);
    assert_eq!(of(99.0, 100.0), Outcome::Faster);
}

#[test]
fn the_level_is_shared_by_all_pairs_and_metrics() {
    let mut allowed = wall(5.0).to_vec();
    allowed.push(Allowed { metric: "cpu_ns".to_owned(), percent: 5.0 });
    let found = check_pairs(&[measured(2, 0.8)], &allowed);
    let line = &found.lines[0];
    assert_eq!((line.metric.as_str(), line.outcome), ("wall_ns", Outcome::Faster));
    assert!((line.level.unwrap() - (1.0 - 0.05 / 4.0)).abs() < 1e-12, "{line:?}");
}

#[test]
fn a_side_must_be_in_each_run_and_have_samples_that_count() {
    let measured = cell("a", [1.0; 3]);
    let few = "it was not measured in each run";
    let facts = facts_of(&measured);
    let (one, two) = (&[&facts][..], &[&facts, &facts][..]);
    assert_eq!(wrong(two, two, 2), None);
    assert_eq!(wrong(one, two, 2).as_deref(), Some(few));
    assert_eq!(wrong(two, one, 2).as_deref(), Some(few));
    let mut warm_up = measured.clone();
    warm_up.samples.iter_mut().for_each(|sample| sample.warm_up = true);
    let facts = facts_of(&warm_up);
    let warm_up = &[&facts][..];
    let reason = "it has no sample that counts";
    assert_eq!(wrong(warm_up, one, 1).as_deref(), Some(reason));
    assert_eq!(wrong(one, warm_up, 1), Some(format!("old: {reason}")));
}

#[test]
fn bytes_are_compared_where_the_old_side_has_a_digest() {
    let of = |new: Option<&str>, old: Option<&str>| {
        let side = |digest: Option<&str>| Cell {
            digest: digest.map(str::to_owned),
            ..cell("a", [1.0; 3])
        };
        wrong(&[&facts_of(&side(new))], &[&facts_of(&side(old))], 1).is_none()
    };
    assert!(of(Some("d"), Some("d")) && of(Some("d"), None) && of(None, None));
    assert!(!of(Some("d"), Some("e")) && !of(None, Some("d")));
}

#[test]
fn a_pair_is_of_one_point() {
    let mut run = measured(1, 1.0);
    run.cells.truncate(2);
    run.cells.extend(run.cells.clone());
    run.points = [1, 2].map(|size| point(&[("size", size)])).to_vec();
    for (cell, at) in run.cells.iter_mut().zip([0, 0, 1, 1]) {
        cell.point = run.points[at].clone();
    }
    let found = check_pairs(std::slice::from_ref(&run), &wall(5.0));
    let at: Vec<_> = found.lines.iter().map(|line| line.point.clone()).collect();
    assert_eq!(at, run.points);
    let both = ("mmap", "mmap@old", Outcome::Ok);
    assert_eq!(outcomes(&found), [both, both]);
}
