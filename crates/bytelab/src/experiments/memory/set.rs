//! The memory that a thread passes over.

use std::hint::black_box;

use anyhow::Result;
use lab::clock::now_ns;

use super::chain::WINDOW_NS;
use super::kernel::Kernel;
use super::pages::{Pages, fits};

/// The set of one thread: one part, or two of the same size.
pub(super) struct Set {
    parts: Vec<Pages>,
}

impl Set {
    pub(super) fn new<K: Kernel>(size: u64, pages: &str) -> Result<Set> {
        let parts = if K::TWO_PARTS { 2 } else { 1 };
        fits(size * parts)?;
        let parts = (0..parts).map(|_| Pages::new(size, pages)).collect::<Result<_>>()?;
        Ok(Set { parts })
    }

    pub(super) fn pass<K: Kernel>(&mut self) {
        let pass = |from: &mut [u32], to: &mut [u32]| black_box(K::pass(from, to));
        match self.parts.as_mut_slice() {
            [from, to] => pass(black_box(from.elements_mut()), black_box(to.elements_mut())),
            [only] => pass(black_box(only.elements_mut()), &mut []),
            _ => 0,
        };
    }

    /// The number of passes that fill about one window.
    pub(super) fn passes<K: Kernel>(&mut self) -> u64 {
        let mut shortest_ns = u64::MAX;
        for _ in 0..3 {
            let start_ns = now_ns();
            self.pass::<K>();
            shortest_ns = shortest_ns.min(now_ns() - start_ns);
        }
        WINDOW_NS.div_ceil(shortest_ns.max(1))
    }

    /// The length of one part.
    pub(super) fn len(&self) -> u64 {
        self.parts.first().map_or(0, Pages::len) as u64
    }
}
