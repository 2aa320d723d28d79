//! A walk over a value and all values within it.

use crate::array::ArrayIter;
use crate::dict::{DictIter, DictKey};
use crate::value::Value;
use alloc::vec::Vec;

/// All values within a value, itself included, parents before children; see [`Value::deep_iter`].
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!([1, [2, 3]]))?;
/// let sum: i64 = doc.root().deep_iter().filter_map(|visit| visit.value.as_i64()).sum();
/// assert_eq!(sum, 6);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone)]
pub struct DeepIter<'a> {
    root: Option<Value<'a>>,
    /// The value that was visited last and whose children come next.
    last: Option<Value<'a>>,
    open: Vec<Open<'a>>,
    /// Each collection within another one begins at another place, so deeper values are only in
    /// collections that contain themselves.
    depth_max: usize,
}

#[derive(Clone)]
enum Open<'a> {
    Array(ArrayIter<'a>, usize),
    Dict(DictIter<'a>),
}

/// Where a visited value is in its parent.
///
/// ```
/// use fleece_codec::{fleece, Doc, PathStep};
/// let doc = Doc::open(fleece!([7]))?;
/// let steps: Vec<PathStep> = doc.root().deep_iter().map(|visit| visit.step).collect();
/// assert!(matches!(steps[..], [PathStep::Root, PathStep::Item(0)]));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PathStep<'a> {
    /// It is where the walk began.
    Root,
    /// It is the item of an array, counted from 0.
    Item(usize),
    /// It is the value of a key.
    Key(DictKey<'a>),
}

/// One step of a [`DeepIter`].
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!({"a": 1}))?;
/// let visit = doc.root().deep_iter().nth(1).unwrap();
/// assert_eq!((visit.depth, visit.value.as_i64()), (1, Some(1)));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Visit<'a> {
    /// The value.
    pub value: Value<'a>,
    /// Where it is in its parent.
    pub step: PathStep<'a>,
    /// How many collections are around it.
    pub depth: usize,
}

impl<'a> Value<'a> {
    /// This value and all values within it, parents before children, in the order of storage. Needs
    /// no recursion.
    ///
    /// A value that is referred to several times is visited as often, so the walk over foreign
    /// data, checked or not, may be without end: `take` bounds it. Nothing is left out, however
    /// deep it is, but in collections that contain themselves, which no checked document has: these
    /// are not entered once more than there are bytes.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!({"a": [1, 2]}))?.root().deep_iter().count(), 4);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn deep_iter(self) -> DeepIter<'a> {
        DeepIter {
            root: Some(self),
            last: None,
            open: Vec::new(),
            depth_max: self.source.size_bytes() / 2 + 1,
        }
    }
}

impl DeepIter<'_> {
    /// Leaves out what is within the value that was visited last.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!([[1, 2], 3]))?;
    /// let mut walk = doc.root().deep_iter();
    /// walk.nth(1);
    /// walk.skip_children();
    /// assert_eq!(walk.next().unwrap().value.as_i64(), Some(3));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn skip_children(&mut self) {
        self.last = None;
    }
}

impl<'a> Iterator for DeepIter<'a> {
    type Item = Visit<'a>;

    fn next(&mut self) -> Option<Visit<'a>> {
        if let Some(root) = self.root.take() {
            self.last = Some(root);
            return Some(Visit { value: root, step: PathStep::Root, depth: 0 });
        }
        if let Some(last) = self.last.take().filter(|_| self.open.len() < self.depth_max) {
            if let Some(array) = last.as_array() {
                self.open.push(Open::Array(array.iter(), 0));
            } else if let Some(dict) = last.as_dict() {
                self.open.push(Open::Dict(dict.iter()));
            }
        }
        loop {
            let depth = self.open.len();
            let next = match self.open.last_mut()? {
                Open::Array(items, index) => items.next().map(|value| {
                    *index += 1;
                    (PathStep::Item(*index - 1), value)
                }),
                Open::Dict(pairs) => pairs.next().map(|(key, value)| (PathStep::Key(key), value)),
            };
            if let Some((step, value)) = next {
                self.last = Some(value);
                return Some(Visit { value, step, depth });
            }
            self.open.pop();
        }
    }
}

impl core::iter::FusedIterator for DeepIter<'_> {}
