//! The times of the processors themselves, as a scale for loads: the transfer of a cache line from
//! one CPU to another, and single operations.

#![expect(unsafe_code, reason = "an empty assembly hides a sum from the optimiser, at no cost")]

use std::hint::black_box;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use measure::experiment::{Build, Method, Task, Work, skip};
use model::param::{Param, ParamKind, Point};

use crate::shared::{allowed_cpus, pin, start_on};

/// The number of hand-overs that fill about one window.
const HOPS: u64 = 4000;
/// The number of polls after which a thread yields its CPU: the other thread may have none.
const LOOKS: u32 = 100_000;

/// Two threads, each on its CPU, that wait for each other by spinning.
pub(super) fn core_to_core() -> Vec<Method> {
    let core = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("core-to-core").reads(&["job", "pair"])
    };
    vec![
        core("compare-exchange", "both change one line by compare-and-swap", |point| {
            between(point, true)
        }),
        core("store-load", "each stores to a line of its own and reads the other's", |point| {
            between(point, false)
        }),
    ]
}

pub(super) fn pair_param() -> Param {
    Param::new("pair", ParamKind::Word(&PAIRS), &DEFAULT)
        .help("the two CPUs (core-to-core); by default all pairs of up to 8 CPUs")
}

/// All pairs of the CPUs that this process may use.
static PAIRS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let cpus = allowed_cpus().unwrap_or_default();
    let mut pairs = Vec::new();
    for (i, one) in cpus.iter().enumerate() {
        for other in &cpus[i + 1..] {
            let pair = format!("{one}-{other}");
            pairs.push(&*Box::leak(pair.into_boxed_str()));
        }
    }
    if pairs.is_empty() {
        pairs.push(ALONE);
    }
    pairs
});

const ALONE: &str = "none";

static DEFAULT: LazyLock<String> = LazyLock::new(|| {
    let cpus = allowed_cpus().unwrap_or_default();
    let first: Vec<String> = cpus.iter().take(8).map(ToString::to_string).collect();
    let of_first = |pair: &&&str| match pair.split_once('-') {
        Some((a, b)) => first.iter().any(|cpu| cpu == a) && first.iter().any(|cpu| cpu == b),
        None => true,
    };
    PAIRS.iter().filter(of_first).copied().collect::<Vec<_>>().join(",")
});

/// Alone in its cache lines, as adjacent lines are prefetched in pairs.
#[derive(Default)]
#[repr(align(256))]
struct TransferredLine(AtomicU64);

#[derive(Default)]
struct PairState {
    ours: TransferredLine,
    theirs: TransferredLine,
    gone: AtomicBool,
}

struct LineTransfer {
    shared: Arc<PairState>,
    swap: bool,
    /// Sends the partner the number of hand-overs; dropped before the partner is joined.
    orders: Option<mpsc::Sender<u64>>,
    partner: Option<JoinHandle<Option<()>>>,
}

fn between(point: &Point, swap: bool) -> Result<Box<dyn Task>> {
    let pair = point.text("pair")?;
    let cpus = pair.split_once('-').map(|(a, b)| (a.parse(), b.parse()));
    let Some((Ok(own), Ok(other))) = cpus else {
        return Err(skip("needs two CPUs, and this process may use one only"));
    };
    pin(own)?;
    // Both lines are in pages that only this pair uses.
    let shared = Arc::new(PairState::default());
    let (orders, taken) = mpsc::channel();
    let theirs = Arc::clone(&shared);
    let partner = start_on(Some(other), move || {
        for trips in taken {
            answer(&theirs, swap, trips);
        }
    })?;
    Ok(Box::new(LineTransfer { shared, swap, orders: Some(orders), partner: Some(partner) }))
}

fn wait_until(shared: &PairState, mut met: impl FnMut() -> bool) {
    let mut looks = 0;
    while !met() && !shared.gone.load(Relaxed) {
        looks += 1;
        if looks % LOOKS == 0 {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

fn swapped(line: &TransferredLine, from: u64, to: u64) -> bool {
    line.0.compare_exchange_weak(from, to, AcqRel, Relaxed).is_ok()
}

fn answer(shared: &PairState, swap: bool, trips: u64) {
    for trip in 1..=trips {
        if swap {
            wait_until(shared, || swapped(&shared.ours, 1, 0));
        } else {
            wait_until(shared, || shared.ours.0.load(Acquire) == trip);
            shared.theirs.0.store(trip, Release);
        }
    }
    if swap {
        shared.theirs.0.store(trips, Release);
    }
}

fn ask(shared: &PairState, swap: bool, trips: u64) {
    for trip in 1..=trips {
        if swap {
            wait_until(shared, || swapped(&shared.ours, 0, 1));
        } else {
            shared.ours.0.store(trip, Release);
            wait_until(shared, || shared.theirs.0.load(Acquire) == trip);
        }
    }
    wait_until(shared, || shared.theirs.0.load(Acquire) == trips);
}

impl Task for LineTransfer {
    fn before(&mut self) -> Result<()> {
        self.shared.ours.0.store(0, Release);
        self.shared.theirs.0.store(0, Release);
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let trips = ops.max(HOPS).div_ceil(2);
        let orders = self.orders.as_ref().context("it has ended")?;
        orders.send(trips).context("the other thread has ended")?;
        ask(&self.shared, self.swap, trips);
        Ok(Work { ops: 2 * trips, bytes: 0, answer: None })
    }
}

impl Drop for LineTransfer {
    fn drop(&mut self) {
        self.shared.gone.store(true, Relaxed);
        self.orders = None;
        if let Some(partner) = self.partner.take() {
            let _ = partner.join();
        }
    }
}

/// How many operations fill about one window.
const STEPS: u64 = 200_000;

pub(super) const NUMBER: Param =
    Param::new("number", ParamKind::Word(&["integer", "double"]), "integer,double")
        .help("the kind of number, of 64 bits (arithmetic)");

/// Operations of the processor: a chain in which each operation needs the result of the one before.
pub(super) fn arithmetic() -> Vec<Method> {
    let operation = |name: &str, build: measure::experiment::Build| {
        let about = format!("{name} two numbers, the first of which is the result before");
        let method = Method::built_in(name, about, build);
        method.job("arithmetic").reads(&["job", "number"])
    };
    vec![
        operation("add", |point| build(point, Operation::Add)),
        operation("multiply", |point| build(point, Operation::Multiply)),
        operation("divide", |point| build(point, Operation::Divide)),
    ]
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Multiply,
    Divide,
}

/// A loop of this many operations of one kind.
type OperationLoop = fn(u64) -> u64;

struct Arithmetic(OperationLoop);

fn build(point: &Point, operation: Operation) -> Result<Box<dyn Task>> {
    use Operation::{Add, Divide, Multiply};
    let chain: OperationLoop = match (point.text("number")?, operation) {
        ("double", Add) => |steps| doubles(steps, |x, by| x + by),
        ("double", Multiply) => |steps| doubles(steps, |x, by| x * by),
        ("double", Divide) => |steps| doubles(steps, |x, by| by / x),
        (_, Add) => |steps| integers(steps, u64::wrapping_add),
        (_, Multiply) => |steps| integers(steps, u64::wrapping_mul),
        (_, Divide) => |steps| integers(steps, |x, by| by / x.max(1)),
    };
    Ok(Box::new(Arithmetic(chain)))
}

/// The operand is large, and odd: a quotient of it is large as well, and no product becomes 0.
#[inline]
fn integers(steps: u64, operation: impl Fn(u64, u64) -> u64) -> u64 {
    let by = black_box(0x7fff_ffff_ffff);
    let mut x = black_box(11_863_283);
    for _ in 0..steps {
        x = hidden(operation(x, by));
    }
    x
}

/// The same value, of which the optimiser knows nothing: it would make one multiplication of many
/// additions.
#[inline]
fn hidden(mut x: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: it has no instruction.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        x = black_box(x);
    }
    x
}

/// Operations of doubles are done one after the other without help: another order rounds otherwise.
#[inline]
fn doubles(steps: u64, operation: impl Fn(f64, f64) -> f64) -> u64 {
    let by = black_box(1.000_000_01);
    let mut x = black_box(1.7);
    for _ in 0..steps {
        x = operation(x, by);
    }
    x.to_bits()
}

impl Task for Arithmetic {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = ops.max(STEPS);
        black_box((self.0)(ops));
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_needs_each_result() {
        let by: u64 = 0x7fff_ffff_ffff;
        let sum = 11_863_283 + 3 * by;
        assert_eq!(integers(3, u64::wrapping_add), sum);
        assert_eq!(integers(2, u64::wrapping_mul), by.wrapping_mul(by).wrapping_mul(11_863_283));
        let quotient = by / 11_863_283;
        assert_eq!(integers(2, |x, by| by / x), by / quotient);
        // A chain of doubles neither overflows nor ends at 0.
        for operation in [|x: f64, by: f64| x + by, |x, by| x * by, |x, by| by / x] {
            let last = f64::from_bits(doubles(1_000_000, operation));
            assert!(last.is_normal() && last > 0.5, "{last}");
        }
    }
}
