//! A chain of dependent loads: each line of the set holds the address of the next one, all of them
//! in one cycle. The processor cannot begin a load before the one before it has ended.
#![expect(unsafe_code, reason = "a chain is walked by its addresses, without a check in between")]

use anyhow::{Context, Result, ensure};
use lab::clock::now_ns;
use lab::random::XorShift64;

use super::pages::Pages;

/// The minimum duration of a sample, so that the clock and the first misses have little influence.
pub(super) const WINDOW_NS: u64 = 300_000;

/// The order in which the lines follow each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Order {
    Random,
    /// One after the other, in the order of addresses.
    Sequential,
    /// Each step skips a fixed number of lines; further turns visit the lines between.
    Strided(usize),
}

/// The position of line `i`.
pub(super) type LinePosition = fn(i: usize) -> usize;

#[repr(transparent)]
#[derive(Clone, Copy)]
struct Link(*const Link);

pub(super) struct Chain {
    pub(super) pages: Pages,
    /// The link at which the last walk ended: the head of the chain would already be cached.
    at: Link,
    lines: usize,
    /// The number of loads that fill about one window.
    pub(super) loads: u64,
}

/// The number of loads in one iteration of the loop.
const TURN: u64 = 64;

impl Chain {
    pub(super) fn new(
        mut pages: Pages,
        lines: usize,
        place: LinePosition,
        order: Order,
    ) -> Result<Chain> {
        let last = place(lines.saturating_sub(1)) + size_of::<Link>();
        ensure!(lines > 0 && last <= pages.len(), "{lines} lines do not fit into the set");
        let base = pages.bytes_mut().as_mut_ptr();
        let at = |i: usize| -> *mut Link {
            // SAFETY: the last line ends inside the set.
            unsafe { base.add(place(i)) }.cast()
        };
        let mut links = Links { at: &at };
        match order {
            Order::Random => links.random(lines)?,
            Order::Sequential => links.strided(lines, 1),
            Order::Strided(step) => links.strided(lines, step),
        }
        Ok(Chain { at: Link(at(0)), pages, lines, loads: TURN })
    }

    /// Follows this many links, rounded up to whole iterations; returns the number.
    pub(super) fn walk(&mut self, loads: u64) -> u64 {
        let turns = loads.div_ceil(TURN);
        // SAFETY: each link of the cycle leads to another one, and `pages` keeps them alive.
        self.at = unsafe { walk(self.at, turns) };
        turns * TURN
    }

    /// Walks the whole cycle twice.
    pub(super) fn rounds(&mut self) {
        self.walk(2 * self.lines as u64);
    }

    /// Finds the number of loads that fill a window; the fastest of several attempts counts.
    pub(super) fn find_loads(&mut self) {
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
    std::hint::black_box(at)
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const LINE: LinePosition = |i| 64 * i;

    fn chain(lines: usize, order: Order) -> Chain {
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
            for order in [Order::Random, Order::Sequential, Order::Strided(3), Order::Strided(67)] {
                let seen: HashSet<usize> = visited(&mut chain(lines, order)).into_iter().collect();
                assert_eq!(seen.len(), lines, "{order:?} of {lines}");
            }
        }
    }

    #[test]
    fn the_orders_match_their_names() {
        assert_eq!(visited(&mut chain(5, Order::Sequential)), [0, 1, 2, 3, 4]);
        assert_eq!(visited(&mut chain(7, Order::Strided(3))), [0, 3, 6, 1, 4, 2, 5]);
        let random = visited(&mut chain(1000, Order::Random));
        let follows = random.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(follows < 20, "{follows} of 1000 lines follow each other");
    }

    #[test]
    fn a_walk_does_at_least_what_is_requested_and_stays_in_the_cycle() {
        let mut chain = chain(100, Order::Random);
        assert_eq!(chain.walk(1), 64);
        assert_eq!(chain.walk(64), 64);
        assert_eq!(chain.walk(65), 128);
        assert_eq!(visited(&mut chain).len(), 100);
    }

    #[test]
    fn lines_that_do_not_fit_are_refused() {
        let pages = Pages::new(640, "small").unwrap();
        assert!(Chain::new(pages, 11, LINE, Order::Random).is_err());
    }
}
