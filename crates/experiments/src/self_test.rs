//! Jobs of known cost, with which `bytelab self-test` checks the measurement: single ones; those
//! that allocate a known number of times; and pairs of methods that cost the same.

use std::hint::black_box;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Duration;

use anyhow::{Context, Result};
use measure::experiment::{Build, Command, Data, Execution, Experiment, Method, Task, Work};
use model::param::Point;

pub const TOUCHED_BYTES: usize = 64 << 20;
pub const COLD_BYTES: usize = 1 << 20;
pub const SWITCHES: u32 = 1000;
pub const CALLS: u32 = 1_000_000;
pub const CALLS_PER_THREAD: u32 = 10_000;

pub const NAME: &str = "self-test";

pub fn experiment() -> Experiment {
    Experiment {
        name: NAME,
        question: "Does the lab measure what is known beforehand?",
        readme: "",
        params: Vec::new(),
        methods: [
            method("same", "a fixed number of dependent operations", |_| Ok(burn(ITERATIONS))),
            method("same-again", "the same under another name", |_| Ok(burn(ITERATIONS))),
            method("empty", "nothing, once per sample", |_| Ok(task(|| ()))),
            method("touch", "touches 64 MiB of fresh memory", |_| Ok(task(touch))),
            method("switch", "gives the CPU away 1000 times", |_| Ok(task(switch))),
            method("calls", "asks for its parent a million times", |_| Ok(task(|| ask(CALLS)))),
            method("threads", "asks for its parent in three threads", |_| Ok(task(threads))),
            method("cold-read", "reads 1 MiB from a file", cold_read),
        ]
        .into_iter()
        .chain(allocating())
        .chain(pairs())
        .collect(),
        dir: None,
        data: Box::new(|_, dir, _| {
            let path = dir.join("self-test.bin");
            let old = std::fs::metadata(&path).map(|file| file.len());
            if old.ok() != Some(COLD_BYTES as u64) {
                std::fs::write(&path, vec![1u8; COLD_BYTES])
                    .with_context(|| format!("writing {}", path.display()))?;
            }
            let mut arguments = Point::default();
            arguments.set("file", path.clone());
            Ok(Data { arguments, files: vec![path], ..Data::default() })
        }),
    }
}

fn touch() {
    let mut memory = vec![0u8; TOUCHED_BYTES];
    for page in memory.chunks_mut(4096) {
        page[0] = 1;
    }
    black_box(memory);
}

/// Each sleep yields the CPU once.
fn switch() {
    for _ in 0..SWITCHES {
        std::thread::sleep(Duration::from_nanos(1));
    }
}

/// Each call is a system call, as getppid is not cached.
fn ask(times: u32) {
    for _ in 0..times {
        black_box(rustix::process::getppid());
    }
}

fn threads() {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| ask(CALLS_PER_THREAD));
        }
    });
}

fn cold_read(point: &Point) -> Result<Box<dyn Task>> {
    let path = point.path("file")?;
    let mut buffer = vec![0u8; COLD_BYTES];
    Ok(Box::new(OncePerSample(move || {
        let mut file = std::fs::File::open(&path)?;
        file.read_exact(&mut buffer).with_context(|| format!("reading {}", path.display()))
    })))
}

/// The iterations of about one millisecond.
const ITERATIONS: u64 = 600_000;

fn method(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build)
}

/// A job done once per sample, whatever the number of operations.
struct OncePerSample<F>(F);

impl<F: FnMut() -> Result<()>> Task for OncePerSample<F> {
    fn run(&mut self, _: u64) -> Result<Work> {
        (self.0)()?;
        Ok(Work { ops: 1, bytes: 0, answer: Some(1) })
    }
}

fn task(mut job: impl FnMut() + 'static) -> Box<dyn Task> {
    Box::new(OncePerSample(move || {
        job();
        Ok(())
    }))
}

/// Steps of xorshift64, each of which depends on the previous one.
fn burn(iterations: u64) -> Box<dyn Task> {
    task(move || burn_for(iterations))
}

fn burn_for(iterations: u64) {
    let mut x: u64 = black_box(0x9e37_79b9_7f4a_7c15);
    for _ in 0..black_box(iterations) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

pub const THREADS: u32 = 3;
pub const ALLOCATIONS: u32 = 1000;
pub const ALLOCATED_BYTES: usize = 100;

/// The argument that makes the program stand for an external one; the number of threads and that
/// of allocations follow it.
pub const COMMAND: &str = "__allocate";

/// Jobs that allocate a known number of times: as built-in methods, and as a separate program whose
/// allocator does not count, so that it stands for an external program. Each is paired with a
/// method that does the same but does not allocate.
fn allocating() -> Vec<Method> {
    vec![
        method("allocate", "allocates 100 bytes 1000 times", |_| Ok(once(0, ALLOCATIONS))),
        method("allocate-in-threads", "the same in each of three threads", |_| {
            Ok(once(THREADS, ALLOCATIONS))
        }),
        method("idle-threads", "three threads that do nothing", |_| Ok(once(THREADS, 0))),
        external_program("foreign", 0, ALLOCATIONS),
        external_program("foreign-idle", 0, 0),
        external_program("foreign-in-threads", THREADS, ALLOCATIONS),
        external_program("foreign-idle-threads", THREADS, 0),
    ]
}

fn external_program(name: &str, threads: u32, times: u32) -> Method {
    let program = std::env::current_exe().unwrap_or_default();
    // The arguments have the same length for both, as they are allocated, too.
    let numbers = [format!("{threads:04}"), format!("{times:04}")];
    let words = [program.to_string_lossy().into_owned(), COMMAND.to_owned()];
    let execution = Execution::Command(Command::plain(words.into_iter().chain(numbers)));
    Method::contender(name, "a program that allocates, or does not", execution).as_yardstick()
}

fn once(threads: u32, times: u32) -> Box<dyn Task> {
    let mut kept = Vec::with_capacity(times as usize);
    task(move || match threads {
        0 => allocate_into(times, &mut kept),
        _ => allocate_in_threads(threads, times),
    })
}

/// Allocates in threads that all exist at the same time, or in the only thread.
pub fn allocate(threads: u32, times: u32) {
    match threads {
        0 => allocate_into(times, &mut Vec::with_capacity(ALLOCATIONS as usize)),
        _ => allocate_in_threads(threads, times),
    }
}

fn allocate_in_threads(threads: u32, times: u32) {
    let together = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut kept = Vec::with_capacity(ALLOCATIONS as usize);
                together.wait();
                allocate_into(times, &mut kept);
            });
        }
    });
}

/// All allocations exist at the same time, then none.
fn allocate_into(times: u32, kept: &mut Vec<Vec<u8>>) {
    for _ in 0..times {
        kept.push(Vec::with_capacity(ALLOCATED_BYTES));
    }
    black_box(&kept);
    kept.clear();
}

/// The argument that makes the program spend a number of operations, or run until it is ended if
/// that is 0.
pub const BURN: &str = "__burn";
/// The number of other methods that a pair may be measured with.
pub const OTHERS: u32 = 25;
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

/// Pairs of methods that cost the same: both start the same processes and threads, and they differ
/// only in which of these does the work.
fn pairs() -> Vec<Method> {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.to_string_lossy();
    let work = format!("'{program}' {BURN} {OF_A_TASK} 1");
    let as_worker = Execution::worker([&*program, "__worker", "self-test", "same"]);
    let mut all = vec![
        shell("shell", "it becomes what works", &format!("/bin/true; exec {work}")),
        shell("shell-again", "the same once more", &format!("/bin/true; exec {work}")),
        shell("child-of-shell", "it waits for what works", &format!("{work}; exec /bin/true")),
        shell("before-pipeline", "works, then a pipeline", &format!("{work}; /bin/true | cat")),
        shell("in-pipeline", "works in a pipeline", &format!("{work} | cat; /bin/true")),
        method("first-thread", "works, then waits for a thread", |_| {
            Ok(task(|| burn_in_threads(OF_A_TASK, 0)))
        }),
        method("second-thread", "waits for a thread that works", |_| {
            Ok(task(|| burn_in_threads(0, OF_A_TASK)))
        }),
        Method::contender("as-worker", "the same as a worker", as_worker),
    ];
    all.extend(SHARES.map(|(percent, build)| {
        method(&method_with_more(percent), "the same and a known share more", build)
    }));
    all.extend(
        (1..=OTHERS)
            .map(|n| method(&format!("other-{n}"), "the same once more", |_| Ok(burn(ITERATIONS)))),
    );
    all
}

/// The method that does this percentage more work than `same`.
pub fn method_with_more(percent: u32) -> String {
    format!("more-{percent}")
}

/// The percentages for which there is such a method.
pub fn percents() -> impl Iterator<Item = u32> {
    SHARES.into_iter().map(|(percent, _)| percent)
}

#[expect(clippy::unnecessary_wraps, reason = "it is a `Build`")]
fn doing_more<const PERCENT: u64>(_: &Point) -> Result<Box<dyn Task>> {
    Ok(burn(ITERATIONS / 100 * (100 + PERCENT)))
}

fn shell(name: &str, about: &str, script: &str) -> Method {
    Method::contender(name, about, Execution::Command(Command::plain(["/bin/sh", "-c", script])))
}

/// Each thread waits once for the other, however the work is divided: to wake a thread whose CPU
/// sleeps takes several hundred microseconds in a virtual machine.
fn burn_in_threads(first: u64, second: u64) {
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
pub fn burn_process(iterations: &str) -> Result<ExitCode> {
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
