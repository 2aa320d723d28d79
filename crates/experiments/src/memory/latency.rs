//! The latency of dependent loads: by the size of the set, the kind of its pages, and the order of
//! its lines; while other CPUs use the bandwidth of memory; and by the reach of the TLB.

#![expect(unsafe_code, reason = "a chain is walked by its addresses, without a check in between")]

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use measure::clock::now_ns;
use measure::experiment::{Build, Method, Task, Work, skip};
use model::param::{Param, ParamKind, Point};
use model::random::XorShift64;

use super::bandwidth::{Kernel, Read};
use super::pages::{Pages, WINDOW_NS, last_bytes, line_bytes};
use crate::shared::{allowed_cpus, pin, start_on};

/// More than the distance that line prefetchers cover, and not a multiple of a page.
const STRIDE_LINES: usize = 67;

pub(super) fn methods() -> Vec<Method> {
    let latency = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("latency").reads(&["job", "size", "pages"])
    };
    vec![
        latency("random", "each load leads to another line, in random order", |point| {
            chase(point, LineOrder::Random)
        }),
        latency("sequential", "each load leads to the next line", |point| {
            chase(point, LineOrder::Sequential)
        }),
        latency("strided", "each load leads 67 lines further", |point| {
            chase(point, LineOrder::Strided(STRIDE_LINES))
        }),
    ]
}

/// Without it, 256 MiB in huge pages took half as long again after other processes ran. The cause
/// was not examined; a page walk at the first load of each page would explain it.
const WALK: u64 = 1 << 15;

struct Chase {
    chain: Chain,
    warm: CacheWarming,
}

/// How a set is brought back into the caches after other processes have run.
enum CacheWarming {
    /// It fits into the caches of the core: the cycle is walked twice.
    Rounds,
    /// It fits, or nearly fits, into the last-level cache: its lines are read in order.
    Sweep,
    /// It does not fit, but its page tables and TLB entries do.
    Walk,
}

fn chase(point: &Point, order: LineOrder) -> Result<Box<dyn Task>> {
    let size = point.number("size")?;
    let line = line_bytes() as usize;
    let pages = Pages::new(size, point.text("pages")?)?;
    let lines = pages.len() / line;
    let place = if line == 128 { |i| i * 128 } else { |i| i * 64 };
    let chain = Chain::new(pages, lines.max(1), place, order)?;
    let mut chase = Chase { chain, warm: CacheWarming::from_size(size) };
    chase.before()?;
    chase.chain.find_loads();
    Ok(Box::new(chase))
}

impl CacheWarming {
    fn from_size(size: u64) -> CacheWarming {
        match size {
            size if size <= 1 << 20 => CacheWarming::Rounds,
            size if size <= last_bytes() * 3 / 2 => CacheWarming::Sweep,
            _ => CacheWarming::Walk,
        }
    }
}

impl Task for Chase {
    fn before(&mut self) -> Result<()> {
        match self.warm {
            CacheWarming::Rounds => self.chain.rounds(),
            CacheWarming::Sweep => self.chain.pages.sweep(),
            CacheWarming::Walk => _ = self.chain.walk(WALK),
        }
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = self.chain.walk(ops.max(self.chain.loads));
        Ok(Work { ops, bytes: 0, answer: None })
    }
}

/// The order in which the lines follow each other.
#[derive(Clone, Copy, PartialEq, Debug)]
enum LineOrder {
    Random,
    /// One after the other, in the order of addresses.
    Sequential,
    /// Each step skips a fixed number of lines; further turns visit the lines between.
    Strided(usize),
}

/// The position of line `i`.
type LinePosition = fn(i: usize) -> usize;

#[repr(transparent)]
#[derive(Clone, Copy)]
struct Link(*const Link);

/// A chain of dependent loads: each line of the set holds the address of the next one, all of them
/// in one cycle. The processor cannot begin a load before the one before it has ended.
struct Chain {
    pages: Pages,
    /// The link at which the last walk ended: the head of the chain would already be cached.
    at: Link,
    lines: usize,
    /// The number of loads that fill about one window.
    loads: u64,
}

/// The number of loads in one iteration of the loop.
const TURN: u64 = 64;

impl Chain {
    fn new(mut pages: Pages, lines: usize, place: LinePosition, order: LineOrder) -> Result<Chain> {
        let last = place(lines.saturating_sub(1)) + size_of::<Link>();
        ensure!(lines > 0 && last <= pages.len(), "{lines} lines do not fit into the set");
        let base = pages.bytes_mut().as_mut_ptr();
        let at = |i: usize| -> *mut Link {
            // SAFETY: the last line ends inside the set.
            unsafe { base.add(place(i)) }.cast()
        };
        let mut links = Links { at: &at };
        match order {
            LineOrder::Random => links.random(lines)?,
            LineOrder::Sequential => links.strided(lines, 1),
            LineOrder::Strided(step) => links.strided(lines, step),
        }
        Ok(Chain { at: Link(at(0)), pages, lines, loads: TURN })
    }

    /// Follows this many links, rounded up to whole iterations; returns the number.
    fn walk(&mut self, loads: u64) -> u64 {
        let turns = loads.div_ceil(TURN);
        // SAFETY: each link of the cycle leads to another one, and `pages` keeps them alive.
        self.at = unsafe { walk(self.at, turns) };
        turns * TURN
    }

    /// Walks the whole cycle twice.
    fn rounds(&mut self) {
        self.walk(2 * self.lines as u64);
    }

    /// Finds the number of loads that fill a window; the fastest of several attempts counts.
    fn find_loads(&mut self) {
        let mut loads = 4 * TURN;
        loop {
            let mut shortest_ns = u64::MAX;
            for _ in 0..3 {
                let start_ns = now_ns();
                self.walk(loads);
                shortest_ns = shortest_ns.min(now_ns() - start_ns);
            }
            if shortest_ns > WINDOW_NS / 8 {
                let window = loads * WINDOW_NS / shortest_ns.max(1);
                self.loads = window.next_multiple_of(TURN);
                return;
            }
            loads *= 4;
        }
    }
}

/// # Safety
/// `at` is part of a cycle of links that stays alive and unchanged during the walk.
#[inline(never)]
unsafe fn walk(mut at: Link, turns: u64) -> Link {
    for _ in 0..turns {
        // A constant number, so that the compiler unrolls the loop.
        for _ in 0..TURN {
            // SAFETY: the caller guarantees that each link refers to a link.
            at = unsafe { *at.0 };
        }
    }
    black_box(at)
}

/// Lines by their number.
struct Links<'a> {
    at: &'a dyn Fn(usize) -> *mut Link,
}

impl Links<'_> {
    fn set(&mut self, line: usize, next: usize) {
        let next = Link((self.at)(next));
        // SAFETY: `at` gives positions inside the set, aligned as lines are.
        unsafe { (self.at)(line).write(next) };
    }

    /// Inserts each line after one of the lines before it, all of which are equally likely. This
    /// makes every cycle of all lines equally likely: it is Sattolo's algorithm in the form of an
    /// insertion. The numbers of the lines are ordered first, because they take an eighth of the
    /// memory or less, so that most accesses hit the caches.
    fn random(&mut self, lines: usize) -> Result<()> {
        let mut next: Vec<usize> = Vec::new();
        next.try_reserve_exact(lines).context("the order of the lines does not fit into memory")?;
        let mut random = XorShift64(0x9e37_79b9_7f4a_7c15 ^ lines as u64);
        next.push(0);
        for line in 1..lines {
            let before = ((u128::from(random.draw()) * line as u128) >> 64) as usize;
            next.push(next[before]);
            next[before] = line;
        }
        for (line, next) in next.into_iter().enumerate() {
            self.set(line, next);
        }
        Ok(())
    }

    /// 0, step, 2 step …, then 1, 1 + step …
    fn strided(&mut self, lines: usize, step: usize) {
        let step = step.clamp(1, lines);
        for line in 0..lines {
            let next = match line + step {
                next if next < lines => next,
                // At the end of a row, the next row begins one line further; the last line links to
                // the first.
                _ if line % step + 1 < step => line % step + 1,
                _ => 0,
            };
            self.set(line, next);
        }
    }
}

pub(super) const PAUSE: Param =
    Param::new("pause", ParamKind::Count(0, 1_000_000), "0,100,1000,10000")
        .help("how long the readers pause after each 4 KiB, in turns of an empty loop (loaded)");

/// The latency of memory while other CPUs use its bandwidth: random dependent loads on one CPU, and
/// readers with pauses on all others.
pub(super) fn under_load() -> Vec<Method> {
    let about = "a random chase while all other CPUs read";
    let loaded = Method::built_in("under-load", about, build);
    vec![loaded.job("loaded").reads(&["job", "pages", "pause"])]
}

struct LoadedLatency {
    chain: Chain,
    shared: Arc<ReaderState>,
    readers: Vec<JoinHandle<Option<()>>>,
    load_bytes_per_s: f64,
}

#[derive(Default)]
struct ReaderState {
    running: AtomicBool,
    ended: AtomicBool,
    /// The bytes read, in units of 4 KiB.
    read: AtomicU64,
}

const BLOCK: usize = 1024;

fn build(point: &Point) -> Result<Box<dyn Task>> {
    let mut cpus = allowed_cpus()?;
    let own = cpus.pop().filter(|_| !cpus.is_empty());
    let own = own.ok_or_else(|| skip("needs two CPUs, and this process may use one only"))?;
    pin(own)?;
    let size = (4 * last_bytes()).clamp(64 << 20, 256 << 20);
    let pages = Pages::new(size, point.text("pages")?)?;
    let lines = pages.len() / 128;
    let mut chain = Chain::new(pages, lines, |i| 128 * i, LineOrder::Random)?;
    chain.find_loads();
    let shared = Arc::new(ReaderState::default());
    let pause = point.number("pause")?;
    let mut loaded = LoadedLatency { chain, shared, readers: Vec::new(), load_bytes_per_s: 0.0 };
    for cpu in cpus {
        let mut pages = Pages::new(size / 2, point.text("pages")?)?;
        let shared = Arc::clone(&loaded.shared);
        loaded.readers.push(start_on(Some(cpu), move || reader(&shared, &mut pages, pause))?);
    }
    Ok(Box::new(loaded))
}

fn reader(shared: &ReaderState, pages: &mut Pages, pause: u64) {
    loop {
        for block in pages.elements_mut().chunks_mut(BLOCK) {
            while !shared.running.load(Acquire) {
                if shared.ended.load(Acquire) {
                    return;
                }
                std::thread::park();
            }
            black_box(Read::pass(block, &mut []));
            shared.read.fetch_add(1, Relaxed);
            (0..pause).for_each(|_| spin_loop());
        }
    }
}

impl Task for LoadedLatency {
    fn before(&mut self) -> Result<()> {
        self.shared.running.store(true, Release);
        for reader in &self.readers {
            reader.thread().unpark();
        }
        // The load must be active before the timing begins: wait until all readers have certainly
        // read.
        let enough = self.shared.read.load(Relaxed) + 64 * self.readers.len() as u64;
        while self.shared.read.load(Relaxed) < enough {
            std::thread::yield_now();
            if self.readers.iter().any(JoinHandle::is_finished) {
                return Err(anyhow::anyhow!("a reader has ended"));
            }
        }
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        let (start_ns, before) = (now_ns(), self.shared.read.load(Relaxed));
        let ops = self.chain.walk(ops.max(self.chain.loads));
        let blocks = self.shared.read.load(Relaxed) - before;
        let wall_ns = (now_ns() - start_ns).max(1);
        self.load_bytes_per_s = (4 * BLOCK as u64 * blocks) as f64 * 1e9 / wall_ns as f64;
        Ok(Work { ops, bytes: 0, answer: None })
    }

    fn between(&mut self) -> Result<()> {
        self.shared.running.store(false, Release);
        Ok(())
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        vec![("load_bytes_per_s", self.load_bytes_per_s)]
    }
}

impl Drop for LoadedLatency {
    fn drop(&mut self) {
        self.shared.ended.store(true, Release);
        self.shared.running.store(false, Release);
        for reader in self.readers.drain(..) {
            reader.thread().unpark();
            let _ = reader.join().ok().context("a reader ended wrongly");
        }
    }
}

const PAGE: usize = 4096;
const LINE: usize = 64;

/// The reach of the TLB: the same number of lines, one in each page, or adjacent. If the first case
/// takes longer, the caches are not the reason.
pub(super) fn tlb_reach() -> Vec<Method> {
    let tlb = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("tlb").reads(&["job", "span", "pages"])
    };
    vec![
        tlb("packed", "as many lines as the span has pages of 4 KiB, side by side", |point| {
            pair(point, |i| i * LINE)
        }),
        tlb("spread", "the same number of lines, one in each page", |point| {
            // Not at the same offset in each page: such lines would share a few cache sets.
            pair(point, |i| i * PAGE + i % (PAGE / LINE) * LINE)
        }),
    ]
}

struct PageWalk(Chain);

fn pair(point: &Point, place: fn(usize) -> usize) -> Result<Box<dyn Task>> {
    let pages = Pages::new(point.number("span")?, point.text("pages")?)?;
    let lines = pages.len() / PAGE;
    let mut chain = Chain::new(pages, lines.max(1), place, LineOrder::Random)?;
    chain.rounds();
    chain.find_loads();
    Ok(Box::new(PageWalk(chain)))
}

impl Task for PageWalk {
    fn before(&mut self) -> Result<()> {
        self.0.rounds();
        Ok(())
    }

    fn run(&mut self, ops: u64) -> Result<Work> {
        Ok(Work { ops: self.0.walk(ops.max(self.0.loads)), bytes: 0, answer: None })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const LINE: LinePosition = |i| 64 * i;

    fn chain(lines: usize, order: LineOrder) -> Chain {
        let pages = Pages::new(64 * lines.max(1) as u64, "small").unwrap();
        Chain::new(pages, lines, LINE, order).unwrap()
    }

    /// The numbers of the lines in the order of the cycle.
    fn visited(chain: &mut Chain) -> Vec<usize> {
        let base = chain.pages.bytes_mut().as_ptr() as usize;
        let mut at = chain.at;
        let mut lines = Vec::new();
        for _ in 0..chain.lines {
            lines.push((at.0 as usize - base) / 64);
            // SAFETY: what `new` made is a cycle of links.
            at = unsafe { *at.0 };
        }
        assert_eq!(at.0, chain.at.0, "after all lines it is where it began");
        lines
    }

    #[test]
    fn every_order_is_one_cycle_of_all_lines() {
        for lines in [1, 2, 3, 7, 64, 100, 1000] {
            for order in [
                LineOrder::Random,
                LineOrder::Sequential,
                LineOrder::Strided(3),
                LineOrder::Strided(67),
            ] {
                let seen: HashSet<usize> = visited(&mut chain(lines, order)).into_iter().collect();
                assert_eq!(seen.len(), lines, "{order:?} of {lines}");
            }
        }
    }

    #[test]
    fn the_orders_match_their_names() {
        assert_eq!(visited(&mut chain(5, LineOrder::Sequential)), [0, 1, 2, 3, 4]);
        assert_eq!(visited(&mut chain(7, LineOrder::Strided(3))), [0, 3, 6, 1, 4, 2, 5]);
        let random = visited(&mut chain(1000, LineOrder::Random));
        let follows = random.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(follows < 20, "{follows} of 1000 lines follow each other");
    }

    #[test]
    fn a_walk_does_at_least_what_is_requested_and_stays_in_the_cycle() {
        let mut chain = chain(100, LineOrder::Random);
        assert_eq!(chain.walk(1), 64);
        assert_eq!(chain.walk(64), 64);
        assert_eq!(chain.walk(65), 128);
        assert_eq!(visited(&mut chain).len(), 100);
    }

    #[test]
    fn lines_that_do_not_fit_are_refused() {
        let pages = Pages::new(640, "small").unwrap();
        assert!(Chain::new(pages, 11, LINE, LineOrder::Random).is_err());
    }
}
