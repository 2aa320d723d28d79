use measure::experiment::{Execution, Skip};
use model::param::Point;

use super::*;

fn point(values: &[(&str, model::param::ParamValue)]) -> Point {
    let mut point = Point::default();
    for (name, value) in values {
        point.set(*name, value.clone());
    }
    point
}

fn small() -> Point {
    let pair = params().into_iter().find(|param| param.name == "pair").unwrap();
    point(&[
        ("size", 65536.into()),
        ("span", 65536.into()),
        ("pages", "small".into()),
        ("threads", 1.into()),
        ("pause", 0.into()),
        ("number", "integer".into()),
        ("pair", pair.default.split(',').next().unwrap().into()),
    ])
}

/// Runs a method at a point; `None` if this machine refuses it.
fn run(method: &Method, point: &Point) -> Option<measure::experiment::Work> {
    let Execution::BuiltIn(build) = method.execution else { panic!("{} is built in", method.name) };
    let mut task = match build(point) {
        Ok(task) => task,
        Err(error) if error.is::<Skip>() => return None,
        Err(error) => panic!("{}: {error:#}", method.name),
    };
    let mut work = None;
    for _ in 0..2 {
        task.before().unwrap();
        work = Some(task.run(1).unwrap());
        assert!(task.metrics().iter().all(|(_, value)| value.is_finite()));
        task.between().unwrap();
    }
    work
}

#[test]
fn every_method_works_at_a_small_point() {
    // A pinned thread stays pinned, so the test's own thread must not be pinned.
    std::thread::spawn(|| {
        for method in methods() {
            if let Some(work) = run(&method, &small()) {
                assert!(work.ops > 0, "{}", method.name);
            }
        }
    })
    .join()
    .unwrap();
}

#[test]
fn two_threads_pass_over_two_sets() {
    let mut point = small();
    point.set("threads", 2);
    for method in bandwidth::methods() {
        if let Some(work) = run(&method, &point) {
            let share = if method.name.ends_with("4th") { 4 } else { 1 };
            assert_eq!(work.bytes, work.ops * 2 * 65536 / share, "{}", method.name);
        }
    }
}

#[test]
fn more_threads_than_cpus_are_skipped() {
    let mut point = small();
    point.set("threads", 1024);
    for method in bandwidth::methods() {
        let Execution::BuiltIn(build) = method.execution else {
            panic!("{} is built in", method.name)
        };
        let error = build(&point).err().unwrap();
        assert!(error.is::<Skip>(), "{error:#}");
    }
}

#[test]
fn sizes_that_hold_no_line_are_no_panic() {
    for size in [256, 257, 4095] {
        let mut point = small();
        point.set("size", size);
        point.set("span", 8192);
        for method in methods().iter().filter(|method| method.reads.contains(&"size")) {
            run(method, &point);
        }
    }
}
