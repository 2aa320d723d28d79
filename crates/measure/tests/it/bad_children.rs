//! A child that misbehaves ends its own cell with a reason, and has no other effect.

use analysis::{Analysis, analyze};
use measure::experiment::{Command, Execution, Method};
use measure::launch::{Launch, RunError};
use model::param::Point;
use model::run::{Pass, Plan, Run, Status};

use crate::script::{GOOD, HANG_LIMIT_NS, cell, job, launcher, method, plan, run, script};

/// Measures the method beside a good one, which must not be affected.
fn status_with(method: Method, plan: Plan) -> (Status, usize) {
    let rounds = plan.rounds as usize;
    let run = run(vec![script("good", GOOD), method], plan);
    assert!(run.complete);
    let good = cell(&run, "good");
    assert_eq!((&good.status, good.counted("wall_ns").count()), (&Status::Measured, rounds));
    let bad = &run.cells[1];
    (bad.status.clone(), bad.samples.len())
}

fn check(text: &str, expected: &str) {
    let (status, _) = status_with(script("bad", text), plan(3));
    let (Status::Failed(reason) | Status::Skipped(reason)) = status else {
        panic!("{text}: measured")
    };
    assert_eq!(reason, expected, "{text}");
}

#[test]
fn a_child_that_prints_rubbish_is_quoted() {
    check("echo bonjour", r#"protocol: unknown line "bonjour""#);
    check("printf '\\377\\0\\n'", "protocol: unknown line \"\u{fffd}\\0\"");
    check("echo hello 9", r#"protocol: speaks protocol "9", not 1"#);
    check("echo ready", r#"protocol: said "ready" instead of hello"#);
    check("head -c 100000 /dev/zero; sleep 60", &{
        let zeros = "\\0".repeat(60);
        format!("a line over 64KiB: \"{zeros}…\"")
    });
}

/// The kernel stops a process in the background that uses the terminal; it would not go on.
#[test]
fn a_child_that_is_stopped_for_the_terminal_is_ended_at_once() {
    let cannot = "the terminal or changes its settings, which a command that is measured cannot do; \
                  killed";
    check("kill -TTOU $$", &format!("stopped by SIGTTOU: it writes to {cannot}"));
    check("kill -TTIN $$", &format!("stopped by SIGTTIN: it reads from {cannot}"));
}

#[test]
fn a_child_that_dies_is_quoted_with_its_last_words() {
    check("exit 3", "ended with exit status 3");
    check(
        "echo first >&2; echo 'no data' >&2; exit 1",
        "ended with exit status 1; stderr of /bin/sh: first | no data",
    );
    check("kill -9 $$", "was ended by signal 9");
    let late = GOOD.replace("go)", "go) [ $n = 3 ] && { echo tired >&2; kill -11 $$; };");
    let (status, samples) = status_with(script("bad", &late), plan(5));
    assert_eq!(
        status,
        Status::Failed("was ended by signal 11; stderr of /bin/sh: tired".to_owned())
    );
    assert_eq!(samples, 2, "the samples before are kept");
}

/// Fails after this number of counted rounds, beside a reference that does not fail.
fn figures_after(text: &str, rounds: u32) -> (Run, Analysis) {
    let run = run(vec![script("good", GOOD), script("bad", text)], plan(rounds));
    let analysis = analyze(&run);
    (run, analysis)
}

#[test]
fn a_worker_that_dies_late_keeps_its_figures_and_is_compared_by_what_it_shares() {
    // The first samples determine the number of operations, and one warms up.
    let late = GOOD.replace("go)", "go) [ $n = 44 ] && kill -9 $$;");
    let (run, analysis) = figures_after(&late, 60);
    let bad = cell(&run, "bad");
    let n = bad.n(Pass::Timing);
    assert!((35..60).contains(&n), "{n}");
    let reason = format!("died after {n} rounds: was ended by signal 9");
    assert_eq!(bad.status, Status::Failed(reason.clone()));
    let wall = analysis.cells[1].metrics.iter().find(|m| m.metric == "wall_ns").unwrap();
    assert_eq!(wall.n, n);
    let family = &analysis.families[0];
    assert_eq!((&family.compared, family.reference), (&vec![0, 1], Some(0)));
    let decision = analysis.decision(family, 1).unwrap();
    assert_eq!(decision.ratio, Some(1.0), "{decision:?}");
    let note = analysis.notes.iter().find(|note| note.to_string().contains(&reason)).unwrap();
    assert!(note.to_string().ends_with("its samples until then count"), "{}", note.to_string());
}

#[test]
fn a_reference_that_dies_late_is_compared_with_the_next() {
    let late = GOOD.replace("go)", "go) [ $n = 44 ] && exit 1;");
    let run = run(vec![script("bad", &late), script("good", GOOD)], plan(60));
    let family = &analyze(&run).families[0];
    assert_eq!((&family.compared, family.reference), (&vec![0, 1], Some(1)));
}

#[test]
fn a_worker_that_lies_late_has_no_figures() {
    for lie in ["wall=2000000 bytes=7", "wall=9000000000000 bytes=8", "wall=2000000 ops=9"] {
        let late = format!("go) [ $n = 44 ] && echo \"done $n {lie} answer=2a\" && continue;");
        let (run, analysis) = figures_after(&GOOD.replace("go)", &late), 60);
        assert!(cell(&run, "bad").n(Pass::Timing) >= 35);
        assert_eq!(analysis.families[0].compared, [0], "{lie}");
    }
}

#[test]
fn a_child_that_closes_its_output_and_stays_is_killed() {
    check("exec >&-; sleep 60", "closed its output without ending; killed");
}

#[test]
fn a_child_that_hangs_is_killed_at_the_limit() {
    let short = Plan { sample_limit_ns: HANG_LIMIT_NS, ..plan(2) };
    let hang = "echo hello 1; read -r x; echo ready; read -r x; echo stuck >&2; sleep 60";
    let (status, samples) = status_with(script("bad", hang), short);
    let expected = "no answer within 3 s, killed; stderr of /bin/sh: stuck";
    assert_eq!((status, samples), (Status::Failed(expected.to_owned()), 0));
}

#[test]
fn a_child_that_floods_stderr_is_measured_all_the_same() {
    let flood = GOOD.replace("go)", "go) head -c 1000000 /dev/zero >&2;");
    let (status, samples) = status_with(script("loud", &flood), plan(3));
    assert_eq!((status, samples), (Status::Measured, 2 + 1 + 3));
}

#[test]
fn a_child_that_floods_stderr_without_end_is_killed_at_the_limit() {
    let short = Plan { sample_limit_ns: HANG_LIMIT_NS, ..plan(2) };
    let (status, _) = status_with(script("bad", "while :; do echo spam; done >&2"), short);
    let Status::Failed(reason) = status else { panic!("measured") };
    assert!(
        reason.starts_with("no answer within 3 s, killed; stderr of /bin/sh: spam"),
        "{reason}"
    );
}

#[test]
fn a_child_that_answers_another_sample_is_out() {
    check(&GOOD.replace("done $n", "done 4$n"), "answered sample 41 when asked for 1");
}

#[test]
fn a_child_that_reports_what_only_the_lab_can_know_is_out() {
    check(&GOOD.replace("own_ns=7", "wall_ns=1"), "protocol: a method may not report wall_ns");
    let (status, _) =
        status_with(script("bad", &GOOD.replace("wall=2000000", "wall=9000000000000")), plan(1));
    let Status::Failed(reason) = status else { panic!("measured") };
    assert!(
        reason.starts_with("says that it took 9000000000000 ns, but answered after"),
        "{reason}"
    );
}

#[test]
fn a_child_that_reports_what_cannot_be_is_out() {
    check(
        &GOOD.replace("bytes=8", "bytes=8 ops=18446744073709551615"),
        "protocol: says that it did 18446744073709551615 operations when asked for 1",
    );
    check(
        &GOOD.replace("bytes=8", "bytes=16 ops=2"),
        "protocol: says that it did 2 operations when asked for 1",
    );
    for name in ["allocations", "cpu_ns", "run_queue_wait_ns", "syscalls"] {
        check(
            &GOOD.replace("own_ns=7", &format!("{name}=-1")),
            &format!("protocol: {name}=-1 is below 0"),
        );
    }
    for (name, value) in [("allocations", "1e300"), ("syscalls", "9007199254740994")] {
        let field = format!("{name}={value}");
        let expected = format!("protocol: {field} is more than can be counted exactly (2^53)");
        let value: f64 = value.parse().unwrap();
        let expected = expected.replace(&field, &format!("{name}={value}"));
        check(&GOOD.replace("own_ns=7", &field), &expected);
    }
    let most = script("most", &GOOD.replace("own_ns=7", "syscalls=9007199254740992"));
    assert_eq!(status_with(most, plan(1)).0, Status::Measured);
    // A metric of the method's own may be negative, for example if it is a difference.
    let (status, _) = status_with(script("own", &GOOD.replace("own_ns=7", "own_ns=-7")), plan(1));
    assert_eq!(status, Status::Measured);
    check(&GOOD.replace("own_ns=7", "own_ns=inf"), "protocol: own_ns=\"inf\" is not a number");
    check(&GOOD.replace("bytes=8", "bytes=-8"), "protocol: bytes \"-8\" is not a whole number");
    check(
        &GOOD.replace("bytes=8", "bytes=18446744073709551615"),
        "handed over 18446744073709551615 bytes instead of 8",
    );
}

#[test]
fn a_child_that_answers_before_its_order_is_out() {
    let eager = GOOD.replace("prepare) echo ready;;", "prepare) echo ready; echo done 1 wall=1;;");
    let (status, _) = status_with(script("bad", &eager), plan(1));
    // It is read together with `ready`, or found in place of the answer.
    assert!(matches!(status, Status::Failed(_)), "{status:?}");
}

#[test]
fn a_child_that_hands_over_less_is_out() {
    check(&GOOD.replace("bytes=8", "bytes=7"), "handed over 7 bytes instead of 8");
}

#[test]
fn a_recorded_sample_has_the_answer_and_the_marks_of_the_child_unless_they_are_too_many() {
    let recorded = |text: &str| {
        let mut runner = launcher().start_traced("", &script("x", &job(text))).unwrap();
        runner.prepare(&Point::default()).unwrap();
        let is_there = |pid: u32| std::fs::exists(format!("/proc/{pid}")).unwrap();
        assert!(runner.pid().is_some_and(|pid| pid > 1 && is_there(pid)));
        runner.go(1, 1, &mut |_| {})
    };
    let taken = recorded("echo mark one at=5; echo mark two").unwrap();
    let done = &taken.done;
    assert_eq!((done.n, done.ops, done.bytes, done.wall_ns), (1, 1, 8, 2_000_000));
    let marks: Vec<_> = taken.marks.iter().map(|mark| (mark.name.as_str(), mark.at_ns)).collect();
    // Without a time it is that of the line.
    assert!(matches!(marks[..], [("one", Some(5)), ("two", Some(6..))]), "{marks:?}");
    let many = |n: u32| recorded(&format!("yes mark x | head -n {n}"));
    assert_eq!(many(10_000).unwrap().marks.len(), 10_000);
    let reason = "protocol: more than 10000 marks in a sample".to_owned();
    assert_eq!(many(10_001), Err(RunError::Failed(reason)));
}

#[test]
fn a_child_that_skips_or_fails_says_why() {
    check("echo hello 1; read -r x; echo 'skip no ring%0Ahere'", "no ring\nhere");
    let (status, _) = status_with(script("x", "echo hello 1; read -r x; echo skip no"), plan(1));
    assert_eq!(status, Status::Skipped("no".to_owned()));
    let (status, _) = status_with(script("x", "echo hello 1; read -r x; echo fail 50 %"), plan(1));
    assert_eq!(status, Status::Failed("50 %".to_owned()));
}

#[test]
fn a_program_that_is_not_installed_is_skipped() {
    let absent = || vec!["no-such-program-here".to_owned()];
    for execution in
        [Execution::Worker { argv: absent() }, Execution::Command(Command::plain(absent()))]
    {
        let (status, _) = status_with(method("absent", execution), plan(1));
        let expected = "no-such-program-here is not installed";
        assert_eq!(status, Status::Skipped(expected.to_owned()));
    }
}

#[test]
fn a_command_that_fails_is_quoted() {
    let argv = ["/bin/sh", "-c", "echo broken >&2; exit 4"].map(str::to_owned).to_vec();
    let (status, _) = status_with(method("sh", Execution::Command(Command::plain(argv))), plan(1));
    let expected = "/bin/sh ended with exit status 4; stderr of /bin/sh: broken";
    assert_eq!(status, Status::Failed(expected.to_owned()));
}
