//! A run of sequential design: who leaves, who stays, and when it ends.

use std::collections::BTreeSet;
use std::path::Path;

use analysis::{Verdict, analyze};
use measure::experiment::Method;
use measure::launch::Stop;
use measure::{MeasureJob, new_run};
use model::param::Point;
use model::run::{Design, Plan, Run};

use crate::script::{cell, experiment, go, go_on, on_go, plan, run_with, script};

/// A worker whose times follow from how many samples it has taken in all of its processes:
/// `base_us` and up to `spread_us` more. It reports its CPU time, so that a busy machine changes
/// nothing.
fn counting(name: &str, dir: &Path, [base_us, spread_us, step]: [u32; 3]) -> Method {
    let file = dir.join(name);
    std::fs::write(&file, "0\n").unwrap();
    let text = format!(
        r#"read -r i < '{file}'; echo $((i + 1)) > '{file}'
           ns=$(({base_us}000 + i * {step} % 101 * {spread_us}000 / 100))
           echo "done $n wall=$ns bytes=8 answer=1 cpu_ns=$ns run_queue_wait_ns=0""#,
        file = file.display()
    );
    script(name, &on_go(&text))
}

/// The fast ones do not differ, the slow one takes three times the time of the reference.
fn methods(dir: &Path) -> Vec<Method> {
    vec![
        counting("reference", dir, [4000, 40, 37]),
        counting("slow", dir, [12_000, 40, 41]),
        counting("fast", dir, [2000, 400, 29]),
        counting("as-fast", dir, [2000, 400, 53]),
    ]
}

fn sequential(sessions: u32) -> Plan {
    Plan { design: Design::Sequential, sessions, ..plan(1) }
}

fn sessions(run: &Run, method: &str) -> usize {
    let counted = cell(run, method).samples.iter().filter(|sample| sample.counts());
    counted.map(|sample| sample.session).collect::<BTreeSet<u32>>().len()
}

fn all_sessions(run: &Run) -> [usize; 4] {
    ["reference", "slow", "fast", "as-fast"].map(|method| sessions(run, method))
}

#[test]
fn what_is_decided_and_not_the_best_leaves_at_a_look() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_with(methods(dir.path()), sequential(11), &Stop::default(), |_, _| {});
    assert!(run.complete);
    // The reference stays although it is decided, and the best are open to the end.
    assert_eq!(all_sessions(&run), [11, 6, 11, 11]);
    let analysis = analyze(&run);
    let words: Vec<_> = analysis.comparisons.iter().filter(|c| c.decides).collect();
    let found = |method: &str| words.iter().find(|c| c.method == method).unwrap();
    assert_eq!((found("slow").verdict, found("slow").sessions), (Verdict::Slower, 6));
    assert_eq!((found("fast").verdict, found("fast").sessions), (Verdict::Faster, 11));
    let mut best = analysis.families[0].best.clone();
    best.sort_unstable();
    assert_eq!(best, [2, 3]);
    // The measure was chosen before the first look.
    assert_eq!(run.plan.measures.len(), 1);
}

#[test]
fn a_run_ends_when_all_is_decided() {
    let dir = tempfile::tempdir().unwrap();
    let mut methods = methods(dir.path());
    methods.pop();
    let run = run_with(methods, sequential(240), &Stop::default(), |_, _| {});
    assert!(run.complete);
    assert_eq!(["reference", "slow", "fast"].map(|method| sessions(&run, method)), [6; 3]);
}

#[test]
fn before_its_least_number_of_sessions_neither_a_decision_nor_the_time_ends_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment();
    let at_least = |least_sessions, plan| {
        let mut methods = methods(dir.path());
        methods.pop();
        let job = MeasureJob { experiment: &experiment, methods, least_sessions };
        let mut run = new_run(&job, vec![Point::default()], plan, None);
        go(&job, &mut run, &Stop::default(), |_, _| {});
        assert!(run.complete);
        ["reference", "slow", "fast"].map(|method| sessions(&run, method))
    };
    // All is decided at the first look, after six; the next one after nine is that after eleven.
    assert_eq!(at_least(9, sequential(240)), [11; 3]);
    let short = Plan { time_limit_ns: 1, limits_all: true, ..sequential(240) };
    assert_eq!(at_least(4, short.clone()), [4; 3]);
    assert_eq!(at_least(4, Plan { design: Design::Fixed, ..short }), [4; 3]);
}

#[test]
fn in_a_fixed_design_no_method_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan { design: Design::Fixed, ..sequential(9) };
    let run = run_with(methods(dir.path()), plan, &Stop::default(), |_, _| {});
    assert_eq!(all_sessions(&run), [9; 4]);
}

#[test]
fn a_method_without_another_beside_it_is_measured_in_as_many_sessions_as_a_usual_run_has() {
    let dir = tempfile::tempdir().unwrap();
    let alone = vec![counting("alone", dir.path(), [1000, 10, 7])];
    let run = run_with(alone, sequential(240), &Stop::default(), |_, _| {});
    assert_eq!(sessions(&run, "alone"), 22);
}

/// The run is stopped in its ninth session, when the slow method has left.
#[test]
fn a_method_that_has_left_does_not_return_when_the_run_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment();
    let stop = Stop::default();
    let run = run_with(methods(dir.path()), sequential(11), &stop, |run, _| {
        if cell(run, "fast").samples.iter().any(|sample| sample.session == 8) {
            stop.raise(2);
        }
    });
    assert!(!run.complete);
    assert_eq!(sessions(&run, "slow"), 6);
    // What a store would give back.
    let mut run: Run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
    let resumed = methods(dir.path());
    go_on(&experiment, &mut run, resumed);
    assert!(run.complete);
    assert_eq!(all_sessions(&run), [11, 6, 11, 11]);
    let aside = cell(&run, "fast").samples.iter().filter(|sample| sample.session == 8);
    assert!(aside.clone().count() > 0 && aside.clone().all(|sample| sample.not_counted.is_some()));
    assert!(cell(&run, "fast").samples.iter().any(|sample| sample.session == 19));
}

/// The run is stopped right after the look at its sixth session. That look is not taken again with
/// other samples.
#[test]
fn a_look_is_taken_once_also_where_the_run_is_resumed_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment();
    let stop = Stop::default();
    let of_sixth = |run: &Run, n: u32| {
        let has_it =
            |cell: &model::run::Cell| cell.samples.iter().any(|s| s.counts() && s.session == n);
        run.cells.iter().filter(|cell| has_it(cell)).count()
    };
    let run = run_with(methods(dir.path()), sequential(11), &stop, |run, _| {
        if of_sixth(run, 5) == 4 {
            stop.raise(2);
        }
    });
    assert!(!run.complete);
    let mut run: Run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
    go_on(&experiment, &mut run, methods(dir.path()));
    assert!(run.complete);
    assert_eq!((of_sixth(&run, 5), of_sixth(&run, 5 + 11)), (4, 0));
    assert_eq!(all_sessions(&run), [11, 6, 11, 11]);
}
