//! Dicts: lookup by binary search, iteration in the order of storage, and the pairs within a range
//! of names.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::ops::Bound;

use crate::array::Slots;
use crate::key::{Key, Needle, compare_keys};
use crate::limits::GENERATIONS;
use crate::shared_keys::SharedKeys;
use crate::value::{Kind, Value};
use crate::wire::{self, Context, PARENT_KEY, Source, tag, u16_at};

/// A dict inside a document. Pairs are sorted by key: shared keys by number, then strings by bytes.
///
/// A dict may have a *parent*, whose pairs it inherits; all functions but [`parent`](Dict::parent)
/// include the inherited pairs. At most 63 parents of a chain are read;
/// [`Doc::check`](crate::Doc::check) refuses more.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!({"b": 2, "a": 1}))?;
/// let dict = doc.root().as_dict().unwrap();
/// let keys: Vec<&str> = dict.iter().filter_map(|(key, _)| key.as_str()).collect();
/// assert_eq!(keys, ["a", "b"]);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Dict<'a> {
    pub(crate) slots: Slots<'a>,
    pub(crate) at: usize,
}

impl<'a> Dict<'a> {
    #[inline(always)]
    pub(crate) fn from_value(value: Value<'a>) -> Option<Self> {
        let slots = Slots::new(value, tag::DICT)?;
        Some(Self { slots, at: value.at })
    }

    /// The number of pairs: in constant time, or in linear time if the dict has a parent.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!({"a": 1}))?.root().as_dict().unwrap().len(), 1);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn len(self) -> usize {
        if self.has_parent() { self.iter().count() } else { self.slots.clamped(2).count }
    }

    /// Whether there are no pairs.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!({}))?.root().as_dict().unwrap().is_empty());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_empty(self) -> bool {
        self.iter().next().is_none()
    }

    /// The value of `key`, by binary search.
    ///
    /// If a key is duplicated, any of its values may be found. [`get_key`](Self::get_key) is faster
    /// for one key in many dicts.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// assert_eq!(doc.root().as_dict().unwrap().get("a").unwrap().as_i64(), Some(1));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let source = self.slots.source;
        if let Some(keys) = source.keys() {
            return get_shared(source.bytes, source.context, keys, self.at, key);
        }
        match self.slots.search_name(key.as_bytes()) {
            Some(index) => self.own_value(index),
            None => self.inherited(&Needle::new(key.as_bytes())),
        }
    }

    /// The value of a reusable [`Key`], which remembers where it was found last.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Key};
    /// let doc = Doc::open(fleece!([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]))?;
    /// let name = Key::new("name");
    /// for person in doc.root().as_array().unwrap().iter() {
    ///     assert!(person.as_dict().unwrap().get_key(&name).is_some());
    /// }
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn get_key(self, key: &Key) -> Option<Value<'a>> {
        if let Some(value) = self.value_at_hint(key) {
            return Some(value);
        }
        let Source { bytes, context } = self.slots.source;
        get_rare_key(bytes, context, self.at, key)
    }

    /// The value at the place that the key remembers, if this dict has the key there.
    #[inline(always)]
    pub(crate) fn value_at_hint(self, key: &Key) -> Option<Value<'a>> {
        let source = self.slots.source;
        // Shared keys are numbers, so a name that is found here is right in any context.
        let at = match self.slots.value_if_key_at(key.hint(), key) {
            Some(at) => at,
            None => self.value_if_number_at_hint(key)?,
        };
        let value = Value { source, at };
        (value.first_byte() != UNDEFINED).then_some(value)
    }

    #[inline(always)]
    fn value_if_number_at_hint(self, key: &Key) -> Option<usize> {
        let keys = self.slots.source.keys()?;
        self.slots.value_if_number_at(key.hint(), key.number_in(keys)?)
    }

    /// The pairs in order of storage, inherited ones included.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// for (key, value) in doc.root().as_dict().unwrap().iter() {
    ///     assert_eq!((key.as_str(), value.as_i64()), (Some("a"), Some(1)));
    /// }
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn iter(self) -> DictIter<'a> {
        let merge = if self.has_parent() { Some(Box::new(Merge::new(self))) } else { None };
        DictIter { slots: self.slots.clamped(2), merge }
    }

    /// The dict whose pairs this one inherits, if any.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!({"a": 1}))?.root().as_dict().unwrap().parent().is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn parent(self) -> Option<Dict<'a>> {
        if !self.has_parent() {
            return None;
        }
        let parent = self.slots.get(1)?.as_dict()?;
        // Parents lie before their children or in the base: on unchecked data this rules out loops.
        let same_source = core::ptr::eq(parent.slots.source.bytes, self.slots.source.bytes);
        (!same_source || parent.at < self.at).then_some(parent)
    }

    /// This dict, its parent, the parent of that, and so on, up to the limit.
    pub(crate) fn generations(self) -> impl Iterator<Item = Self> {
        core::iter::successors(Some(self), |dict| dict.parent()).take(GENERATIONS)
    }

    #[inline(always)]
    pub(crate) fn has_parent(self) -> bool {
        self.slots.count > 0
            && u16_at(self.slots.source.bytes, self.slots.first) == Some(PARENT_KEY)
    }

    pub(crate) fn find(self, needle: &Needle<'_>) -> Option<Value<'a>> {
        match self.slots.search(needle) {
            Some(index) => self.own_value(index),
            None => self.inherited(needle),
        }
    }

    /// The value of one of this dict's own pairs; `undefined` in a dict with a parent means that
    /// the pair was deleted.
    #[inline(always)]
    fn own_value(self, index: usize) -> Option<Value<'a>> {
        let value = self.slots.get(2 * index + 1)?;
        if value.first_byte() == UNDEFINED && self.has_parent() {
            return None;
        }
        Some(value)
    }

    #[inline(always)]
    fn inherited(self, needle: &Needle<'_>) -> Option<Value<'a>> {
        if self.has_parent() { self.inherited_from(needle) } else { None }
    }

    #[cold]
    fn inherited_from(self, needle: &Needle<'_>) -> Option<Value<'a>> {
        let mut parents = self.generations().skip(1);
        let found = parents.find_map(|parent| Some((parent, parent.slots.search(needle)?)));
        found.and_then(|(parent, index)| parent.own_value(index))
    }
}

/// The first byte of `undefined`, which in a dict with a parent means that the pair was deleted.
const UNDEFINED: u8 = (wire::UNDEFINED >> 8) as u8;

/// Makes the dict at `at` again: its callers take plain arguments, which are passed in registers.
fn dict_at<'a>(bytes: &'a [u8], context: Option<&'a Context>, at: usize) -> Option<Dict<'a>> {
    Dict::from_value(Value { source: Source { bytes, context }, at })
}

#[inline(never)]
fn get_shared<'a>(
    bytes: &'a [u8],
    context: Option<&'a Context>,
    keys: &SharedKeys,
    at: usize,
    key: &str,
) -> Option<Value<'a>> {
    let needle = match keys.index_of(key) {
        Some(index) => Needle::shared(index),
        None => Needle::new(key.as_bytes()),
    };
    dict_at(bytes, context, at)?.find(&needle)
}

#[inline(never)]
fn get_rare_key<'a>(
    bytes: &'a [u8],
    context: Option<&'a Context>,
    at: usize,
    key: &Key,
) -> Option<Value<'a>> {
    let dict = dict_at(bytes, context, at)?;
    let keys = dict.slots.source.keys();
    let needle = match keys.and_then(|keys| key.number_in(keys)) {
        None => key.needle(),
        Some(number) => Needle::shared(number),
    };
    match dict.slots.search(&needle) {
        Some(index) => {
            key.set_hint(index);
            dict.own_value(index)
        }
        None => dict.inherited(&needle),
    }
}

impl<'a> IntoIterator for Dict<'a> {
    type Item = (DictKey<'a>, Value<'a>);
    type IntoIter = DictIter<'a>;

    #[inline(always)]
    fn into_iter(self) -> DictIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Dict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dict of {} pairs", self.len())
    }
}

/// The key of a pair: a string, or the number of a shared key.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!({"a": 1}))?;
/// let (key, _) = doc.root().as_dict().unwrap().iter().next().unwrap();
/// assert_eq!(key.as_str(), Some("a"));
/// assert_eq!(key.shared_index(), None);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DictKey<'a> {
    pub(crate) value: Value<'a>,
}

impl<'a> DictKey<'a> {
    /// The name; `None` if it is not UTF-8, or a shared key that the table does not know.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// assert_eq!(doc.root().as_dict().unwrap().iter().next().unwrap().0.as_str(), Some("a"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_str(self) -> Option<&'a str> {
        match self.value.first_byte() >> 4 {
            tag::STRING => self.value.as_str(),
            _ => self.shared_name(),
        }
    }

    /// The bytes of the name, UTF-8 or not, in constant time.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// assert_eq!(doc.root().as_dict().unwrap().iter().next().unwrap().0.as_bytes(), Some(&b"a"[..]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self.value.first_byte() >> 4 {
            tag::STRING => self.value.payload(),
            _ => self.shared_name().map(str::as_bytes),
        }
    }

    /// The number, if this is a shared key.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// assert_eq!(doc.root().as_dict().unwrap().iter().next().unwrap().0.shared_index(), None);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn shared_index(self) -> Option<u16> {
        match self.value.first_byte() >> 4 {
            tag::SHORT_INT => self.value.as_u64()?.try_into().ok(),
            _ => None,
        }
    }

    #[inline(never)]
    fn shared_name(self) -> Option<&'a str> {
        let keys = self.value.source.keys()?;
        keys.name(self.shared_index()?)
    }
}

/// The pairs of a [`Dict`] in order of storage.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!({"a": 1, "b": 2}))?;
/// assert_eq!(doc.root().as_dict().unwrap().iter().count(), 2);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone)]
pub struct DictIter<'a> {
    pub(crate) slots: Slots<'a>,
    merge: Option<Box<Merge<'a>>>,
}

impl<'a> DictIter<'a> {
    /// The pairs of one dict as they are stored.
    pub(crate) fn stored(slots: Slots<'a>) -> Self {
        Self { slots: slots.clamped(2), merge: None }
    }

    /// Skips pairs of a dict without a parent.
    fn skip_stored(&mut self, pairs: usize) {
        self.slots.count -= pairs;
        self.slots.first += pairs * if self.slots.wide { 8 } else { 4 };
    }

    /// The number of this dict's own pairs that are left.
    pub(crate) fn len(&self) -> usize {
        self.slots.count
    }
}

impl<'a> Iterator for DictIter<'a> {
    type Item = (DictKey<'a>, Value<'a>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(merge) = &mut self.merge {
            return merge.next();
        }
        if self.slots.count == 0 {
            return None;
        }
        self.slots.count -= 1;
        let key = self.slots.take_slot();
        let value = self.slots.take_slot();
        Some((DictKey { value: key }, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.merge.is_some() { (0, None) } else { (self.slots.count, Some(self.slots.count)) }
    }

    // Adapters such as `map` and `sum` call this; the slots stay in registers.
    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut fold: F) -> B {
        let Self { mut slots, merge } = self;
        if let Some(mut merge) = merge {
            return core::iter::from_fn(|| merge.next()).fold(init, fold);
        }
        let mut folded = init;
        while slots.count > 0 {
            slots.count -= 1;
            let key = slots.take_slot();
            folded = fold(folded, (DictKey { value: key }, slots.take_slot()));
        }
        folded
    }
}

impl core::iter::FusedIterator for DictIter<'_> {}

/// Iteration over a dict that has a parent: all generations merged in key order, the youngest wins.
#[derive(Clone)]
pub(crate) struct Merge<'a> {
    /// Youngest first; each with its next pair.
    generations: Vec<Generation<'a>>,
    /// The pair that `advance` has found.
    pair: Option<(DictKey<'a>, Value<'a>)>,
}

#[derive(Clone)]
struct Generation<'a> {
    next: Option<(DictKey<'a>, Value<'a>)>,
    rest: DictIter<'a>,
    has_parent: bool,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(dict: Dict<'a>) -> Self {
        let generations = dict.generations().map(|dict| {
            let mut rest = DictIter::stored(dict.slots);
            let has_parent = dict.has_parent();
            if has_parent {
                rest.next();
            }
            Generation { next: rest.next(), rest, has_parent }
        });
        Self { generations: generations.collect(), pair: None }
    }

    /// The next pair, read from a field by an inlined function. If it were returned in memory, the
    /// pairs of plain dicts would go through memory, too.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(DictKey<'a>, Value<'a>)> {
        self.advance();
        self.pair
    }

    #[cold]
    fn advance(&mut self) {
        self.pair = self.find();
    }

    fn find(&mut self) -> Option<(DictKey<'a>, Value<'a>)> {
        loop {
            let mut least: Option<(usize, DictKey<'a>)> = None;
            for (i, generation) in self.generations.iter().enumerate() {
                let Some((key, _)) = generation.next else { continue };
                if least.is_none_or(|(_, k)| compare_keys(key.value, k.value) == Ordering::Less) {
                    least = Some((i, key));
                }
            }
            let (youngest, key) = least?;
            let pair = self.generations[youngest].next;
            let deletes = self.generations[youngest].has_parent;
            self.skip(youngest, key);
            match pair {
                Some((_, value)) if deletes && value.kind() == Kind::Undefined => {}
                _ => return pair,
            }
        }
    }

    /// Advances the generation whose pair was taken, and all older ones that have the same key.
    fn skip(&mut self, youngest: usize, key: DictKey<'a>) {
        for generation in &mut self.generations[youngest..] {
            let Some((own, _)) = generation.next else { continue };
            if compare_keys(own.value, key.value) == Ordering::Equal {
                generation.next = generation.rest.next();
            }
        }
    }
}

impl<'a> Dict<'a> {
    /// The pairs whose names are within these bounds, compared byte by byte, in order of storage.
    /// The first is found by binary search; if the dict has a parent or shared keys, all pairs are
    /// visited.
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
            Bound::Included(name) => RangeEnd::Included(name.as_bytes()),
            Bound::Excluded(name) => RangeEnd::Excluded(name.as_bytes()),
            Bound::Unbounded => RangeEnd::None,
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
        self.pairs_from(Bound::Included(prefix.as_bytes()), RangeEnd::Prefix(prefix.as_bytes()))
    }

    fn pairs_from<'r>(self, from: Bound<&'r [u8]>, end: RangeEnd<'r>) -> DictRange<'a, 'r> {
        let is_before = |name: &[u8]| match from {
            Bound::Included(from) => name < from,
            Bound::Excluded(from) => name <= from,
            Bound::Unbounded => false,
        };
        let mut pairs = self.iter();
        // Numbers come before all names, so a dict has shared keys if its first key is a number.
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
    end: RangeEnd<'r>,
    /// The names are in order, so the first name beyond the range ends it.
    is_plain: bool,
}

#[derive(Clone, Copy)]
enum RangeEnd<'r> {
    Included(&'r [u8]),
    Excluded(&'r [u8]),
    Prefix(&'r [u8]),
    None,
}

impl RangeEnd<'_> {
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
