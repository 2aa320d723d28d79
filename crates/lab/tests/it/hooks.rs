//! Commands around the samples, and the answer of a plain command.

use lab::experiment::{Answer, Command, Hooks, How, Method};
use lab::run::{Plan, Status};

use crate::script::{GOOD, cell, method, plan, run};

fn script(text: impl Into<String>) -> Command {
    Command { argv: vec![text.into()], shell: true, ..Command::default() }
}

fn hooked(name: &str, how: How, hooks: Hooks) -> Method {
    method(name, How::Hooked { how: Box::new(how), hooks })
}

#[test]
fn each_sample_of_both_passes_is_prepared_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("used up").to_str().unwrap().to_owned();
    let hooks = Hooks {
        setup: Some(script(format!("touch '{file}.set'"))),
        prepare: Some(script(format!("[ -e '{file}.set' ] && touch '{file}.{{method}}'"))),
    };
    // The file that it needs is gone after each sample.
    let uses_up = How::Command(Command::plain(["rm".to_owned(), format!("{file}.command")]));
    let argv = ["/bin/sh", "-c", &GOOD.replace("go)", &format!("go) rm '{file}.worker';"))];
    let worker = How::Worker { argv: argv.map(str::to_owned).to_vec() };
    let methods = vec![hooked("command", uses_up, hooks.clone()), hooked("worker", worker, hooks)];
    for fresh in [false, true] {
        let run = run(methods.clone(), Plan { counting: 2, sessions: 2, fresh, ..plan(2) });
        for name in ["command", "worker"] {
            let cell = cell(&run, name);
            assert_eq!(cell.status, Status::Measured, "{:?}", run.notes);
            let counting = cell.samples.iter().filter(|s| s.counts_in(lab::run::Pass::Counting));
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
    let methods = methods.map(|(name, command)| method(name, How::Command(command))).to_vec();
    let run = run(methods, plan(3));
    let answers = |name: &str| -> Vec<String> {
        cell(&run, name).samples.iter().filter_map(|sample| sample.answer.clone()).collect()
    };
    for name in ["prints", "writes"] {
        assert!(answers(name).len() >= 4 && answers(name).iter().all(|answer| answer == "7"));
        assert!(cell(&run, name).counted("noop_ns").all(|(_, ns)| ns > 0.0));
    }
    let many = answers("many");
    assert!(many.iter().all(|answer| answer.starts_with("588895 bytes, SHA-256 ")), "{many:?}");
}
