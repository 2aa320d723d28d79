//! Pairs of methods that cost the same: both start the same processes and threads, and they differ
//! only in which of these does the work.

use std::process::ExitCode;
use std::sync::Barrier;

use anyhow::{Context, Result};
use lab::experiment::{Build, Command, How, Method, Task};
use lab::param::Point;

use super::method::{ITERATIONS, burn, burn_for, method, task};

/// The argument that makes the program spend a number of operations, or run until it is ended if
/// that is 0.
pub(crate) const BURN: &str = "__burn";
/// The number of other methods that a pair may be measured with.
pub(crate) const OTHERS: u32 = 25;
/// The percentages by which a method does more work than `same`, and that method.
const SHARES: [(u32, Build); 7] = [
    (1, doing_more::<1>),
    (2, doing_more::<2>),
    (3, doing_more::<3>),
    (5, doing_more::<5>),
    (10, doing_more::<10>),
    (20, doing_more::<20>),
    (50, doing_more::<50>),
];

/// A scheduler runs a new process or thread sooner, or later, than one that has waited: with about
/// 50 ms of work that effect is small.
const OF_A_TASK: u64 = 50 * ITERATIONS;

pub(super) fn methods() -> Vec<Method> {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.to_string_lossy();
    let work = format!("'{program}' {BURN} {OF_A_TASK} 1");
    let as_worker = How::worker([&*program, "__worker", "self-test", "same"]);
    let mut all = vec![
        shell("shell", "it becomes what works", &format!("/bin/true; exec {work}")),
        shell("shell-again", "the same once more", &format!("/bin/true; exec {work}")),
        shell("child-of-shell", "it waits for what works", &format!("{work}; exec /bin/true")),
        shell("before-pipeline", "works, then a pipeline", &format!("{work}; /bin/true | cat")),
        shell("in-pipeline", "works in a pipeline", &format!("{work} | cat; /bin/true")),
        method("first-thread", "works, then waits for a thread", |_| {
            Ok(task(|| in_threads(OF_A_TASK, 0)))
        }),
        method("second-thread", "waits for a thread that works", |_| {
            Ok(task(|| in_threads(0, OF_A_TASK)))
        }),
        Method::contender("as-worker", "the same as a worker", as_worker),
    ];
    all.extend(
        SHARES.map(|(percent, build)| {
            method(&more(percent), "the same and a known share more", build)
        }),
    );
    all.extend(
        (1..=OTHERS)
            .map(|n| method(&format!("other-{n}"), "the same once more", |_| Ok(burn(ITERATIONS)))),
    );
    all
}

/// The method that does this percentage more work than `same`.
pub(crate) fn more(percent: u32) -> String {
    format!("more-{percent}")
}

/// The percentages for which there is such a method.
pub(crate) fn percents() -> impl Iterator<Item = u32> {
    SHARES.into_iter().map(|(percent, _)| percent)
}

#[expect(clippy::unnecessary_wraps, reason = "it is a `Build`")]
fn doing_more<const PERCENT: u64>(_: &Point) -> Result<Box<dyn Task>> {
    Ok(burn(ITERATIONS / 100 * (100 + PERCENT)))
}

fn shell(name: &str, about: &str, script: &str) -> Method {
    Method::contender(name, about, How::Command(Command::plain(["/bin/sh", "-c", script])))
}

/// Each thread waits once for the other, however the work is divided: to wake a thread whose CPU
/// sleeps takes several hundred microseconds in a virtual machine.
fn in_threads(first: u64, second: u64) {
    let (started, turn) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            started.wait();
            turn.wait();
            burn_for(second);
        });
        started.wait();
        burn_for(first);
        turn.wait();
    });
}

/// The main function of the working process; one without a limit ends with the process that started
/// it.
pub(crate) fn run(iterations: &str) -> Result<ExitCode> {
    let iterations: u64 = iterations.parse().context("the number of operations")?;
    if iterations > 0 {
        burn_for(iterations);
        return Ok(ExitCode::SUCCESS);
    }
    std::thread::spawn(|| {
        loop {
            burn_for(ITERATIONS);
        }
    });
    // Its standard input is closed when that process has ended.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    Ok(ExitCode::SUCCESS)
}
