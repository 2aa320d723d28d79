//! The records with the least keys of one stratum.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::{Error, ErrorKind, Result};

/// The records of one stratum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stratum {
    pub(super) seen: u64,
    /// Those with a weight above 0.
    pub(super) weighed: u64,
    /// The one with the largest key first.
    pub(super) kept: BinaryHeap<Candidate>,
}

/// A record that may be in the sample.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) key: f64,
    /// The number of its file among the inputs, and the offset in it.
    pub(crate) file: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: Box<[u8]>,
}

/// Of equal keys the first record wins.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_place = || (self.file, self.offset).cmp(&(other.file, other.offset));
        self.key.total_cmp(&other.key).then_with(by_place)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl Stratum {
    /// A record with a larger key is not needed.
    #[inline]
    pub(super) fn limit(&self, n: u64) -> f64 {
        if (self.kept.len() as u64) < n {
            return f64::INFINITY;
        }
        // Without any record to draw, no key is small enough.
        self.kept.peek().map_or(f64::NEG_INFINITY, |largest| largest.key)
    }

    /// Takes a record whose key is within the limit.
    pub(super) fn keep(&mut self, n: u64, record: Candidate) {
        if (self.kept.len() as u64) < n {
            self.kept.push(record);
        } else if let Some(mut largest) = self.kept.peek_mut()
            && record < *largest
        {
            *largest = record;
        }
    }

    pub(super) fn merge(&mut self, other: Stratum, n: u64) -> Result<()> {
        self.seen = self.seen.saturating_add(other.seen);
        self.weighed = self.weighed.saturating_add(other.weighed);
        let mut kept = std::mem::take(&mut self.kept).into_vec();
        kept.extend(other.kept);
        kept.sort_unstable();
        if let Some(pair) = kept.windows(2).find(|pair| pair[0] == pair[1]) {
            let Candidate { file, offset, .. } = pair[0];
            let text = format!(
                "the record at offset {offset} of file number {file} is in both sketches: a part \
                 was counted twice"
            );
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        kept.truncate(n.try_into().unwrap_or(usize::MAX));
        self.kept = BinaryHeap::from(kept);
        Ok(())
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = &Candidate> {
        self.kept.iter()
    }
}
