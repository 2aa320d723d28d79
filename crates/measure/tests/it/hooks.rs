//! Commands around the samples, and the answer of a plain command.

use measure::experiment::{Answer, Command, Destination, Execution, ExitCodes, Hooks, Method};
use model::run::{Plan, Status};

use crate::script::{GOOD, cell, method, plan, run};

fn script(text: impl Into<String>) -> Command {
    Command::script(text)
}

fn hooked(name: &str, execution: Execution, hooks: Hooks) -> Method {
    method(name, Execution::Hooked { execution: Box::new(execution), hooks })
}

#[test]
fn each_sample_of_both_passes_is_prepared_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("used up").to_str().unwrap().to_owned();
    let hooks = Hooks {
        setup: Some(script(format!("touch '{file}.set'"))),
        prepare: Some(script(format!("[ -e '{file}.set' ] && touch '{file}.{{method}}'"))),
        conclude: None,
    };
    // The file that it needs is gone after each sample.
    let uses_up = Execution::Command(Command::plain(["rm".to_owned(), format!("{file}.command")]));
    let argv = ["/bin/sh", "-c", &GOOD.replace("go)", &format!("go) rm '{file}.worker';"))];
    let worker = Execution::Worker { argv: argv.map(str::to_owned).to_vec() };
    let methods = vec![hooked("command", uses_up, hooks.clone()), hooked("worker", worker, hooks)];
    for fresh in [false, true] {
        let run = run(methods.clone(), Plan { counting: 2, sessions: 2, fresh, ..plan(2) });
        for name in ["command", "worker"] {
            let cell = cell(&run, name);
            assert_eq!(cell.status, Status::Measured, "{:?}", run.notes);
            let counting = cell.samples.iter().filter(|s| s.counts_in(model::run::Pass::Counting));
            assert_eq!(counting.count(), 2, "{name} {fresh}: {:?}", run.notes);
        }
    }
}

#[test]
fn what_a_command_prints_or_writes_is_its_answer() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out").to_str().unwrap().to_owned();
    let input = dir.path().join("in").to_str().unwrap().to_owned();
    std::fs::write(&input, "7\n").unwrap();
    let output = Answer::Output;
    let prints = Command { answer: output.clone(), input: Some(input), ..Command::plain(["cat"]) };
    let writes =
        Command { answer: Answer::File(file.clone()), ..script(format!("echo 7 >'{file}'")) };
    let many = Command { answer: output, ..script("seq 100000") };
    let methods = [("prints", prints), ("writes", writes), ("many", many)];
    let methods = methods.map(|(name, command)| method(name, Execution::Command(command))).to_vec();
    let run = run(methods, plan(3));
    let answers = |name: &str| -> Vec<String> {
        cell(&run, name)
            .samples
            .iter()
            .filter_map(|sample| sample.answer.as_deref().map(str::to_owned))
            .collect()
    };
    for name in ["prints", "writes"] {
        assert!(answers(name).len() >= 4 && answers(name).iter().all(|answer| answer == "7"));
        assert!(cell(&run, name).counted("noop_ns").all(|(_, ns)| ns > 0.0));
    }
    let many = answers("many");
    assert!(many.iter().all(|answer| answer.starts_with("588895 bytes, SHA-256 ")), "{many:?}");
}

/// The lines of a file, in order.
fn lines(file: &str) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_command_runs_as_often_as_the_plan_says() {
    let dir = tempfile::tempdir().unwrap();
    for (warm_up, expected) in [(0, 3), (1, 4), (2, 5)] {
        let log = dir.path().join(warm_up.to_string()).to_str().unwrap().to_owned();
        let execution = Execution::Command(script(format!("echo $BYTELAB_ITERATION >>'{log}'")));
        let run = run(vec![method("a", execution)], Plan { warm_up, ..plan(3) });
        let numbers: Vec<String> = (0..expected).map(|n: u32| n.to_string()).collect();
        assert_eq!(lines(&log), numbers);
        let cell = cell(&run, "a");
        assert_eq!(cell.n(model::run::Pass::Timing), 3);
        assert_eq!(cell.samples.iter().filter(|s| s.warm_up).count(), warm_up as usize);
    }
}

#[test]
fn a_hook_concludes_each_sample_of_both_passes() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log").to_str().unwrap().to_owned();
    let says = |word: &str| script(format!("echo {word} $BYTELAB_ITERATION {{method}} >>'{log}'"));
    let hooks = Hooks {
        setup: None,
        prepare: Some(says("prepare")),
        conclude: Some(Command {
            env: vec![("OWN".to_owned(), "o w n".to_owned())],
            ..script(format!("echo conclude $BYTELAB_ITERATION $OWN >>'{log}'"))
        }),
    };
    let execution = Execution::Command(Command::plain(["true"]));
    let run = run(vec![hooked("a", execution, hooks)], Plan { warm_up: 0, counting: 1, ..plan(2) });
    assert_eq!(cell(&run, "a").status, Status::Measured, "{:?}", run.notes);
    let lines = lines(&log);
    let first = ["prepare 0 a", "conclude 0 o w n", "prepare 1 a", "conclude 1 o w n"];
    assert_eq!(lines[..4], first);
    let of = |word: &str| lines.iter().filter(|line| line.starts_with(word)).count();
    assert!(of("prepare") > 2 && of("prepare") == of("conclude"), "{lines:?}");
}

#[test]
fn runs_that_fail_count_where_that_is_allowed() {
    let accepting = |accepts| Command { accepts, ..script("exit 3") };
    let methods = [
        ("refused", accepting(ExitCodes::Zero)),
        ("other", accepting(ExitCodes::These(vec![0, 4]))),
        ("known", accepting(ExitCodes::These(vec![0, 3]))),
        ("all", accepting(ExitCodes::All)),
        ("killed", Command { accepts: ExitCodes::All, ..script("kill -9 $$") }),
    ];
    let methods = methods.map(|(name, command)| method(name, Execution::Command(command))).to_vec();
    let run = run(methods, Plan { counting: 1, ..plan(2) });
    for name in ["refused", "other"] {
        let reason = cell(&run, name).status.reason();
        assert_eq!(reason, Some("/bin/sh ended with exit status 3"), "{name}");
    }
    for (name, expected) in [("known", 3.0), ("all", 3.0), ("killed", 137.0)] {
        let codes: Vec<f64> = cell(&run, name).counted("exit_code").map(|(_, code)| code).collect();
        assert_eq!(codes, [expected; 2], "{name}: {:?}", run.notes);
    }
}

#[test]
fn output_that_is_no_answer_goes_to_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out").to_str().unwrap().to_owned();
    let output = Destination::File(file.clone());
    let command = Command { output, ..Command::plain(["echo", "x"]) };
    let run = run(vec![method("a", Execution::Command(command))], Plan { counting: 1, ..plan(2) });
    assert_eq!(cell(&run, "a").status, Status::Measured, "{:?}", run.notes);
    assert_eq!(lines(&file), ["x"], "it holds the output of the last run");
}
