use model::run::Run;

use super::*;
use crate::tests::{answering, cell, noisy, run};

fn at(day: u32, level: f64) -> Run {
    let mut run = run(vec![cell("read", noisy(u64::from(day), 0.001).iter().map(|x| x * level))]);
    (run.id, run.started) = (day.to_string(), format!("2026-01-{day:02}T00:00:00Z"));
    run
}

#[test]
fn a_change_is_reported_with_its_run_and_its_ratio() {
    let runs: Vec<Run> = (1..=20).map(|day| at(day, if day <= 12 { 1.0 } else { 1.25 })).collect();
    let all = series(&runs, "read", "wall_ns");
    assert_eq!((all.len(), all[0].values.len()), (1, 20));
    let [step] = &all[0].changes[..] else { panic!("{:?}", all[0].changes) };
    assert_eq!((step.id.as_str(), step.at), ("13", 12));
    assert!((step.ratio.unwrap() - 1.25).abs() < 0.01, "{step:?}");
    assert!(series(&runs, "mmap", "wall_ns").is_empty());
    assert!(series(&runs, "read", "furlongs").is_empty());
}

#[test]
fn runs_are_put_in_the_order_of_time() {
    let runs = [at(3, 1.0), at(1, 1.0), at(2, 1.0)];
    let ids: Vec<_> =
        series(&runs, "read", "wall_ns")[0].values.iter().map(|v| v.id.clone()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[test]
fn another_machine_is_another_series_and_a_wrong_answer_is_none() {
    let mut other = at(2, 1.0);
    other.environment.fingerprint = "other".to_owned();
    let mut wrong = at(3, 1.0);
    let bad = answering(cell("read", noisy(1, 0.01)), "9");
    wrong.cells = vec![cell("a", noisy(1, 0.01)), cell("b", noisy(1, 0.01)), bad];
    let all = series(&[at(1, 1.0), other, wrong], "read", "wall_ns");
    assert_eq!(all.iter().map(|series| series.values.len()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_slowdown_is_reported_with_its_levels_and_the_runs_around_it() {
    let runs: Vec<Run> = (1..=20).map(|day| at(day, if day <= 12 { 1.0 } else { 1.25 })).collect();
    let all = slowdowns(&runs, "2026-01-01");
    assert_eq!((all.series_examined, all.series_too_short), (1, 0));
    let [found] = &all.slowdowns[..] else { panic!("{:?}", all.slowdowns) };
    assert_eq!((found.method.as_str(), found.run.as_str()), ("read", "13"));
    assert_eq!(found.run_before, "12");
    assert_eq!(found.place.machine, runs[12].environment.fingerprint);
    for (ns, expected) in [(found.before_ns, 1e6), (found.after_ns, 1.25e6), (found.now_ns, 1.25e6)]
    {
        assert!((ns / expected - 1.0).abs() < 0.001, "{found:?}");
    }
    assert_eq!(slowdowns(&runs, "2026-01-13").slowdowns.len(), 1);
    assert!(slowdowns(&runs, "2026-01-14").slowdowns.is_empty(), "before that day");
    let short = slowdowns(&runs[..7], "2026-01-01");
    assert_eq!((short.series_examined, short.series_too_short), (0, 1));
}

#[test]
fn what_got_faster_or_is_back_at_its_level_is_no_slowdown() {
    let of = |level: &dyn Fn(u32) -> f64| {
        let runs: Vec<Run> = (1..=30).map(|day| at(day, level(day))).collect();
        slowdowns(&runs, "2026-01-01").slowdowns.len()
    };
    assert_eq!(of(&|day| if day <= 15 { 1.25 } else { 1.0 }), 0);
    assert_eq!(of(&|day| if (11..=20).contains(&day) { 1.25 } else { 0.99 }), 0);
    assert_eq!(of(&|day| [1.0, 1.25, 1.5][(day as usize - 1) / 10]), 2);
}

#[test]
fn the_machine_of_a_slowdown_is_that_of_its_first_run() {
    let of = |day: u32| {
        let mut run = at(day, if day <= 12 { 1.0 } else { 1.25 });
        run.environment.fingerprint = format!("kernel {day}");
        run.environment.facts.insert("hostname_digest".to_owned(), "h".into());
        run
    };
    let runs: Vec<Run> = (1..=20).map(of).collect();
    // The day itself is not before that day.
    let found = slowdowns(&runs, "2026-01-13T00:00:00Z").slowdowns;
    assert_eq!(found.iter().map(|found| &*found.place.machine).collect::<Vec<_>>(), ["kernel 13"]);
}

#[test]
fn eight_runs_are_enough_to_be_examined() {
    let runs: Vec<Run> = (1..=8).map(|day| at(day, 1.0)).collect();
    let examined = |runs: &[Run]| {
        let all = slowdowns(runs, "2026-01-01");
        (all.series_examined, all.series_too_short)
    };
    assert_eq!((examined(&runs), examined(&runs[..7])), ((1, 0), (0, 1)));
}
