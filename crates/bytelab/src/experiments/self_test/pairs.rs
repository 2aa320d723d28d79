//! Pairs of methods that cost the same: both start the same processes and threads, and only which
//! of them does the work differs.

use std::process::ExitCode;

use anyhow::{Context, Result};
use lab::experiment::{Build, Command, How, Method, Task};
use lab::param::Point;

use super::method::{ITERATIONS, burn, burn_for, method, task};

/// What the program is told to spend so many operations, or, of 0, all its life.
pub(crate) const BURN: &str = "__burn";
/// Methods that a pair may be measured beside.
pub(crate) const OTHERS: u32 = 25;
/// Percents by which a method does more than `same`, and that method.
const SHARES: [(u32, Build); 7] = [
    (1, doing_more::<1>),
    (2, doing_more::<2>),
    (3, doing_more::<3>),
    (5, doing_more::<5>),
    (10, doing_more::<10>),
    (20, doing_more::<20>),
    (50, doing_more::<50>),
];

/// A scheduler gives a new process or thread its first turn sooner, or later, than one that has
/// waited: about 50 ms of work keep that small.
const OF_A_TASK: u64 = 50 * ITERATIONS;

pub(super) fn methods() -> Vec<Method> {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.to_string_lossy();
    let work = format!("'{program}' {BURN} {OF_A_TASK} 1");
    let mut all = vec![
        shell("shell", "it becomes what works", &format!("/bin/true; exec {work}")),
        shell("child-of-shell", "it waits for what works", &format!("{work}; exec /bin/true")),
        shell("before-pipeline", "works, then a pipeline", &format!("{work}; /bin/true | cat")),
        shell("in-pipeline", "works in a pipeline", &format!("{work} | cat; /bin/true")),
        method("first-thread", "works beside a thread that ends", |_| {
            Ok(task(|| in_threads(OF_A_TASK, 0)))
        }),
        method("second-thread", "waits for a thread that works", |_| {
            Ok(task(|| in_threads(0, OF_A_TASK)))
        }),
        Method {
            how: How::Worker {
                argv: [&*program, "__worker", "self-test", "same"].map(str::to_owned).to_vec(),
            },
            ..method("as-worker", "the same as a worker", |_| Ok(task(|| ())))
        },
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

/// The method that does this share more than `same`.
pub(crate) fn more(percent: u32) -> String {
    format!("more-{percent}")
}

/// For which there is such a method.
pub(crate) fn percents() -> impl Iterator<Item = u32> {
    SHARES.into_iter().map(|(percent, _)| percent)
}

#[expect(clippy::unnecessary_wraps, reason = "it is a `Build`")]
fn doing_more<const PERCENT: u64>(_: &Point) -> Result<Box<dyn Task>> {
    Ok(burn(ITERATIONS / 100 * (100 + PERCENT)))
}

fn shell(name: &str, about: &str, script: &str) -> Method {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned);
    Method { how: How::Command(Command::plain(argv)), ..method(name, about, |_| Ok(task(|| ()))) }
}

fn in_threads(first: u64, second: u64) {
    std::thread::scope(|scope| {
        scope.spawn(move || burn_for(second));
        burn_for(first);
    });
}

/// The process that works; one that burns all its life ends with the one that has started it.
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
    // Its standard input is closed when that one is gone.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    Ok(ExitCode::SUCCESS)
}
