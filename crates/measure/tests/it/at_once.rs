//! The counting pass where several cells are prepared at the same time.

use measure::experiment::{Data, Experiment, MakeData, Method};
use measure::launch::Stop;
use measure::{MeasureJob, new_run};
use model::param::Point;
use model::run::{Cell, Pass, Plan, Run, Sample, Status, Warning};

use crate::script::{GOOD, cell, experiment, go, go_on, job, plan, script};

/// The same as `run_with`, of methods that only read or that may do anything.
fn run_reading(
    methods: Vec<Method>,
    plan: Plan,
    is_only_read: bool,
    stop: &Stop,
    watch: impl FnMut(&Run, usize),
) -> Run {
    let experiment = reading(is_only_read);
    let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
    let mut run = new_run(&job, vec![Point::default()], plan, None);
    go(&job, &mut run, stop, watch);
    run
}

fn reading(is_only_read: bool) -> Experiment {
    let data: MakeData = Box::new(move |_, _, _| {
        Ok(Data { payload_bytes: Some(8), is_only_read, ..Data::default() })
    });
    Experiment { data, ..experiment() }
}

/// Methods that differ in what they do and in how they end.
fn various() -> Vec<Method> {
    let dies = job("[ -n \"${BYTELAB_COUNTING+x}\" ] && exit 3");
    let later = GOOD.replace("prepare)", "prepare) i=0;").replace(
        "go)",
        "go) i=$((i + 1)); [ -n \"${BYTELAB_COUNTING+x}\" ] && [ $i = 3 ] && exit 4; \
         j=0; while [ $j -lt $i ]; do j=$((j + 1)); true </dev/null; done;",
    );
    let calls =
        (0..4).map(|n| script(&format!("calls-{n}"), &job(&vec!["cd /"; n + 1].join("; "))));
    let others = [script("dies", &dies), script("later", &later), script("empty", GOOD)];
    calls.chain(others).collect()
}

#[test]
fn what_is_counted_at_the_same_time_is_what_is_counted_in_turn() {
    let plan = Plan { counting: 4, ..plan(2) };
    let [in_turn, at_once] = [false, true].map(|is_only_read| {
        run_reading(various(), plan.clone(), is_only_read, &Stop::default(), |_, _| {})
    });
    assert!(in_turn.complete && at_once.complete);
    assert_eq!(at_once.notes, in_turn.notes);
    let counted = |cell: &Cell| -> Vec<(Sample, Vec<(String, f64)>)> {
        let of_pass = (0..cell.samples.len()).filter_map(|n| cell.nth(n));
        let of_pass = of_pass.filter(|(sample, _)| sample.pass == Pass::Counting);
        let owned = |(name, value): (&str, f64)| (name.to_owned(), value);
        of_pass.map(|(s, values)| (s.clone(), values.into_iter().map(owned).collect())).collect()
    };
    for (a, b) in in_turn.cells.iter().zip(&at_once.cells) {
        assert_eq!(counted(b), counted(a), "{}", a.method);
        assert_eq!(b.syscalls_by_name, a.syscalls_by_name, "{}", a.method);
    }
    assert_eq!(at_once.cells.iter().filter(|cell| cell.n(Pass::Counting) == 2).count(), 5);
}

/// Two methods of which none is prepared before the other one is.
#[test]
fn methods_that_only_read_are_prepared_for_counting_at_the_same_time() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        println!("skipped: there is one CPU");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for name in ["there", "back"] {
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, directory.path().join(name), fifo, mode, 0).unwrap();
    }
    let waits = |first: &str, second: &str| {
        // The process whose allocations are counted has no need to wait.
        let is_counted = "[ -n \"${BYTELAB_COUNTING+x}\" ] && [ -z \"$LD_PRELOAD\" ]";
        let dir = directory.path().display();
        let text = format!("prepare) if {is_counted}; then cd {dir}; {first}; {second}; fi;");
        GOOD.replace("prepare)", &text)
    };
    let methods = vec![
        script("first", &waits("echo >there", "read -r x <back")),
        script("second", &waits("read -r x <there", "echo >back")),
    ];
    // The limit only ends a wait that never succeeds.
    let plan = Plan { counting: 2, ..plan(1) };
    let run = run_reading(methods, plan, true, &Stop::default(), |_, _| {});
    let counts = ["first", "second"].map(|name| cell(&run, name).n(Pass::Counting));
    assert_eq!(counts, [2, 2], "{:?}", run.notes);
}

#[test]
fn methods_that_may_do_anything_are_prepared_for_counting_one_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    // Long enough that two that are prepared at the same time meet.
    let alone = format!(
        "prepare) if [ -n \"${{BYTELAB_COUNTING+x}}\" ]; then \
         mkdir {0}/busy || exit 3; sleep 0.2; rmdir {0}/busy; fi;",
        directory.path().display()
    );
    let text = GOOD.replace("prepare)", &alone);
    let methods = vec![script("first", &text), script("second", &text)];
    let plan = Plan { counting: 2, ..plan(1) };
    let run = run_reading(methods, plan, false, &Stop::default(), |_, _| {});
    let counts = ["first", "second"].map(|name| cell(&run, name).n(Pass::Counting));
    assert_eq!(counts, [2, 2], "{:?}", run.notes);
}

#[test]
fn a_stop_while_several_are_counted_keeps_the_run_and_is_resumed() {
    let stop = Stop::default();
    let methods = || (0..5).map(|n| script(&format!("m{n}"), GOOD)).collect::<Vec<_>>();
    let plan = Plan { counting: 3, ..plan(2) };
    let mut run = run_reading(methods(), plan, true, &stop, |run, cell| {
        if run.cells[cell].samples.last().is_some_and(|sample| sample.pass == Pass::Counting) {
            stop.raise(2);
        }
    });
    assert!(!run.complete);
    assert!(run.cells.iter().all(|cell| cell.n(Pass::Timing) == 2));
    go_on(&reading(true), &mut run, methods());
    assert!(run.complete);
    assert!(run.cells.iter().all(|cell| cell.n(Pass::Counting) == 2), "{:?}", run.notes);
}

#[test]
fn a_child_that_hangs_while_it_is_watched_is_killed() {
    let hang = GOOD.replace("go)", "go) [ -n \"${BYTELAB_COUNTING+x}\" ] && sleep 60;");
    // Long enough to trace the calls of the other one on a busy machine.
    let plan = Plan { counting: 2, sample_limit_ns: 10_000_000_000, ..plan(2) };
    let check = |is_only_read| {
        let methods = vec![script("hangs", &hang), script("good", GOOD)];
        let run = run_reading(methods, plan.clone(), is_only_read, &Stop::default(), |_, _| {});
        let cells = ["hangs", "good"].map(|name| cell(&run, name));
        assert_eq!(cells.map(|cell| &cell.status), [&Status::Measured; 2]);
        assert_eq!(cells.map(|cell| cell.n(Pass::Counting)), [0, 2]);
        let about = |note: &Warning| note.to_string().contains("no answer within 10 s, killed");
        assert!(run.notes.iter().any(about), "{:?}", run.notes);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| check(false));
        scope.spawn(|| check(true));
    });
}
