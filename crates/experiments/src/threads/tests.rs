//! Every method at every point that needs little work; a refusal of the machine must be a skip.

use measure::experiment::{Execution, Skip, Task, Work};
use model::param::{ParamValue, Point};

use super::experiment;

/// Small values for each param, so that an unoptimised test is fast.
fn small(name: &str) -> Vec<ParamValue> {
    match name {
        "placement" => ["unpinned", "same", "other", "awake"].map(ParamValue::from).to_vec(),
        "busy" => [1, 3, 20].map(ParamValue::from).to_vec(),
        "steps" => vec![100.into()],
        "set" => [0, 5, 4096].map(ParamValue::from).to_vec(),
        _ => panic!("a new param {name}"),
    }
}

/// Each method at each of its points, in the calling thread, which is pinned with it.
fn each(job: &str, mut check: impl FnMut(&str, &Point, &mut dyn Task)) -> usize {
    let experiment = experiment();
    let mut n = 0;
    for method in experiment.methods.iter().filter(|method| method.job == Some(job)) {
        let Execution::BuiltIn(build) = method.execution else {
            panic!("{} is not built in", method.name)
        };
        let names = method.reads.iter().filter(|name| **name != "job");
        let axes: Vec<(&str, Vec<ParamValue>)> = names.map(|name| (*name, small(name))).collect();
        for point in Point::product(&axes) {
            // Each test has its own thread, so that pinning it does not affect the other tests.
            let task = build(&point);
            match task {
                Ok(mut task) => check(&method.name, &point, task.as_mut()),
                Err(error) => assert!(error.is::<Skip>(), "{} {point}: {error:#}", method.name),
            }
            n += 1;
        }
    }
    n
}

/// Runs the job in its own thread, whose CPU affinity affects nothing else.
fn apart(job: &'static str, expected: usize, check: fn(&str, &Point, &mut dyn Task)) {
    let n = std::thread::spawn(move || each(job, check)).join().unwrap();
    assert_eq!(n, expected, "{job}");
}

#[test]
fn a_life_has_four_phases_that_fit_into_it() {
    apart("life", 16, |name, point, task| {
        let Work { ops, .. } = task.run(1).unwrap();
        assert!(ops >= 20);
        let metrics = task.metrics();
        let get = |name| metrics.iter().find(|(n, _)| *n == name).unwrap().1;
        assert!(get("start_ns") > 0.0 && get("end_ns") > 0.0, "{name} {point} {metrics:?}");
        assert!(get("create_ns") > 0.0 && get("join_ns") > 0.0, "{name} {point} {metrics:?}");
    });
}

#[test]
fn every_hand_over_is_counted_and_none_is_lost() {
    // The yardstick does not read `placement`.
    apart("handover", 10 * 4 + 1, |name, point, task| {
        for ops in [1, 300] {
            let work = task.run(ops).unwrap();
            assert!(work.ops >= ops && work.ops % 2 == 0, "{name} {point}: {work:?}");
        }
    });
}

#[test]
fn alone_the_operations_are_no_fewer_than_requested() {
    apart("uncontended", 8, |name, _, task| {
        let least = task.run(1).unwrap().ops;
        for ops in [least, 2 * least + 1] {
            assert_eq!(task.run(ops).unwrap(), Work { ops, bytes: 0, answer: None }, "{name}");
        }
    });
}

#[test]
fn a_round_of_the_pool_does_every_procedure_once() {
    let mut expected = Vec::new();
    let answers = std::thread::spawn(|| {
        let mut answers = Vec::new();
        let n = each("pool", |_, point, task| {
            let busy = point.number("busy").unwrap();
            for ops in [1, 7] {
                let work = task.run(ops).unwrap();
                assert_eq!(work.ops, ops);
                answers.push((busy, work.answer.unwrap()));
            }
            assert!(task.metrics().iter().all(|(_, ns)| *ns > 0.0), "{point}");
        });
        assert_eq!(n, 6);
        answers
    });
    let one = answers.join().unwrap();
    let first = one.iter().find(|(busy, _)| *busy == 1).unwrap().1;
    for (busy, answer) in one {
        assert_eq!(answer, first.wrapping_mul(busy), "{busy} procedures");
        expected.push(busy);
    }
    assert_eq!(expected.len(), 12);
}

#[test]
fn a_switch_is_what_is_left_without_the_overhead() {
    apart("switch", 6, |name, point, task| {
        let work = task.run(1).unwrap();
        assert!(work.ops >= 200, "{name} {point}");
        let metrics = task.metrics();
        let names: Vec<&str> = metrics.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["overhead_ns", "switch_ns"], "{name} {point}");
    });
}

#[test]
fn a_method_that_does_not_wait_is_found_out() {
    use super::signal::{Signal, Wait, between_threads};

    struct Nothing;
    impl Signal for Nothing {
        fn signal(&mut self) -> anyhow::Result<()> {
            Ok(())
        }
    }
    impl Wait for Nothing {
        fn wait(&mut self) -> anyhow::Result<()> {
            Ok(())
        }
    }
    let mut point = Point::default();
    point.set("placement", "unpinned");
    let mut task = between_threads(&point, || Ok((Nothing, Nothing))).unwrap();
    let error = loop {
        // The partner's count may be equal by chance.
        if let Err(error) = task.run(1) {
            break error.to_string();
        }
    };
    assert!(error.ends_with("were taken: it does not wait"), "{error}");
}
