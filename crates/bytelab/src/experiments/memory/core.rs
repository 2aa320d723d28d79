//! The time to transfer a cache line from one CPU to another: two threads, each on its CPU, that
//! wait for each other by spinning.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, LazyLock, mpsc};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use lab::experiment::{Build, Method, Task, Work, skip};
use lab::param::{Kind, Param, Point};

use crate::experiments::shared::cpus::{allowed, pin, start_on};

/// The number of hand-overs that fill about one window.
const HOPS: u64 = 4000;
/// The number of polls after which a thread yields its CPU: the other thread may have none.
const LOOKS: u32 = 100_000;

pub(super) fn methods() -> Vec<Method> {
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

pub(super) fn param() -> Param {
    Param::new("pair", Kind::Word(&PAIRS), &DEFAULT)
        .help("the two CPUs (core-to-core); by default all pairs of up to 8 CPUs")
}

/// All pairs of the CPUs that this process may use.
static PAIRS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let cpus = allowed().unwrap_or_default();
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
    let cpus = allowed().unwrap_or_default();
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
struct CacheLine(AtomicU64);

#[derive(Default)]
struct PairState {
    ours: CacheLine,
    theirs: CacheLine,
    gone: AtomicBool,
}

struct Pair {
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
    Ok(Box::new(Pair { shared, swap, orders: Some(orders), partner: Some(partner) }))
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

fn swapped(line: &CacheLine, from: u64, to: u64) -> bool {
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

impl Task for Pair {
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

impl Drop for Pair {
    fn drop(&mut self) {
        self.shared.gone.store(true, Relaxed);
        self.orders = None;
        if let Some(partner) = self.partner.take() {
            let _ = partner.join();
        }
    }
}
