//! All ranks but those of a sample.

use std::iter::Peekable;
use std::ops::Range;

pub(crate) struct Rest<I: Iterator<Item = u64>> {
    all: Range<u64>,
    without: Peekable<I>,
}

impl<I: Iterator<Item = u64>> Rest<I> {
    /// `without` must be ascending; it may hold a rank several times.
    pub(crate) fn new(total: u64, without: I) -> Rest<I> {
        Rest { all: 0..total, without: without.peekable() }
    }
}

impl<I: Iterator<Item = u64>> Iterator for Rest<I> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let rank = self.all.next()?;
            let mut is_chosen = false;
            while self.without.next_if_eq(&rank).is_some() {
                is_chosen = true;
            }
            if !is_chosen {
                return Some(rank);
            }
        }
    }
}
