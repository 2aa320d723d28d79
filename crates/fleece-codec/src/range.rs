//! Pairs of a dict whose names are within a range, or begin alike.

use crate::dict::{Dict, DictIter, DictKey};
use crate::value::Value;
use core::ops::Bound;

impl<'a> Dict<'a> {
    /// The pairs whose names are within these bounds, compared byte by byte, in order of storage.
    /// The first is found by binary search; where the dict has a parent or shared keys, all pairs
    /// are looked at.
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc};
    /// use std::ops::Bound::{Excluded, Included, Unbounded};
    /// let doc = Doc::open(fleece!({"a": 1, "b": 2, "c": 3, "d": 4}))?;
    /// let dict = doc.root().as_dict().unwrap();
    /// let sum = |from, to| dict.range(from, to).filter_map(|(_, value)| value.as_i64()).sum::<i64>();
    /// assert_eq!(sum(Included("b"), Excluded("d")), 5);
    /// assert_eq!(sum(Excluded("b"), Unbounded), 7);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn range<'r>(self, from: Bound<&'r str>, to: Bound<&'r str>) -> DictRange<'a, 'r> {
        let from = match from {
            Bound::Included(name) => Bound::Included(name.as_bytes()),
            Bound::Excluded(name) => Bound::Excluded(name.as_bytes()),
            Bound::Unbounded => Bound::Unbounded,
        };
        let end = match to {
            Bound::Included(name) => End::Included(name.as_bytes()),
            Bound::Excluded(name) => End::Excluded(name.as_bytes()),
            Bound::Unbounded => End::None,
        };
        self.pairs_from(from, end)
    }

    /// The pairs whose names begin with `prefix`, in order of storage.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a": 1, "b.x": 2, "b.y": 3, "c": 4}))?;
    /// let sum: i64 = doc.root().as_dict().unwrap().prefix("b.").filter_map(|(_, v)| v.as_i64()).sum();
    /// assert_eq!(sum, 5);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn prefix(self, prefix: &str) -> DictRange<'a, '_> {
        self.pairs_from(Bound::Included(prefix.as_bytes()), End::Prefix(prefix.as_bytes()))
    }

    fn pairs_from<'r>(self, from: Bound<&'r [u8]>, end: End<'r>) -> DictRange<'a, 'r> {
        let is_before = |name: &[u8]| match from {
            Bound::Included(from) => name < from,
            Bound::Excluded(from) => name <= from,
            Bound::Unbounded => false,
        };
        let mut pairs = self.iter();
        // Numbers come before all names, so a dict has shared keys if its first key is one.
        let is_plain = self.slots.get(0).is_some_and(|key| key.as_str_bytes().is_some());
        if is_plain && !self.has_parent() {
            let (mut low, mut high) = (0, pairs.len());
            while low < high {
                let middle = low.midpoint(high);
                let name = self.slots.get(2 * middle).and_then(Value::as_str_bytes);
                if is_before(name.unwrap_or_default()) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            pairs.skip_stored(low);
        }
        DictRange { pairs, from, end, is_plain }
    }
}

/// The pairs of a [`Dict`] whose names are within a range; see [`Dict::range`].
///
/// ```
/// # use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!({"a": 1, "b": 2}))?;
/// assert_eq!(doc.root().as_dict().unwrap().prefix("b").count(), 1);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone)]
pub struct DictRange<'a, 'r> {
    pairs: DictIter<'a>,
    from: Bound<&'r [u8]>,
    end: End<'r>,
    /// The names are in order, so the first that is beyond the range ends it.
    is_plain: bool,
}

#[derive(Clone, Copy)]
enum End<'r> {
    Included(&'r [u8]),
    Excluded(&'r [u8]),
    Prefix(&'r [u8]),
    None,
}

impl End<'_> {
    fn has(self, name: &[u8]) -> bool {
        match self {
            Self::Included(end) => name <= end,
            Self::Excluded(end) => name < end,
            Self::Prefix(prefix) => name.starts_with(prefix),
            Self::None => true,
        }
    }
}

impl<'a> Iterator for DictRange<'a, '_> {
    type Item = (DictKey<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (key, value) = self.pairs.next()?;
            let name = key.as_bytes().unwrap_or_default();
            let is_after = match self.from {
                Bound::Included(from) => name >= from,
                Bound::Excluded(from) => name > from,
                Bound::Unbounded => true,
            };
            if is_after && self.end.has(name) {
                return Some((key, value));
            }
            if is_after && self.is_plain {
                self.pairs = DictIter::stored(crate::array::Slots { count: 0, ..self.pairs.slots });
            }
        }
    }
}
