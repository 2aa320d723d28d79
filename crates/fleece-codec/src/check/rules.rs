//! Rules beyond soundness, which the options may ask for: order and uniqueness of keys, collections
//! that nothing else refers to.

use super::scan::Scan;
use crate::Result;
use crate::error::{Error, ErrorKind};
use crate::key::compare_keys;
use crate::value::Value;
use crate::wire::Source;
use alloc::vec::Vec;
use core::cmp::Ordering;

impl Scan<'_> {
    /// Looks at the keys of the dict at `at`, the slots of which were followed before.
    pub(super) fn key_rules(
        &mut self,
        at: usize,
        slots: impl Iterator<Item = usize>,
        wide: bool,
    ) -> Result<()> {
        let mut keys = Vec::new();
        for slot in slots {
            let followed = if wide { self.follow_wide(slot)? } else { self.follow_narrow(slot)? };
            let source = Source::new(self.bytes);
            keys.push(Value { source, at: followed.target });
        }
        if !keys.is_sorted_by(|a, b| compare_keys(*a, *b) != Ordering::Greater) {
            if self.rules.sorted_keys {
                let message = "the keys of a dict are out of order";
                return Err(Error::at(ErrorKind::UnsortedKeys, at, message));
            }
            keys.sort_by(|a, b| compare_keys(*a, *b));
        }
        let is_twice = |pair: &[Value<'_>]| compare_keys(pair[0], pair[1]) == Ordering::Equal;
        if self.rules.unique_keys && keys.windows(2).any(is_twice) {
            return Err(Error::at(ErrorKind::DuplicateKey, at, "a dict has a key twice"));
        }
        Ok(())
    }

    /// Nothing else led to the collection before: what the scan has passed was led to, and what it
    /// has not is pending.
    pub(super) fn unshared(&self, slot: usize, target: usize) -> Result<()> {
        let is_pending = self.pending[target / 128] & 1 << (target / 2 % 64) != 0;
        if is_pending || target >= self.reached {
            let message = "two pointers lead to the same collection, or one into another";
            return Err(Error::at(ErrorKind::SharedCollection, slot, message));
        }
        Ok(())
    }
}
