//! Access to nested values: paths such as `people[123].name`, JSON Pointers, and an iterator over
//! all values.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::Result;
use crate::array::ArrayIter;
use crate::dict::{DictIter, DictKey};
use crate::error::{Error, ErrorKind};
use crate::key::Key;
use crate::value::Value;

/// A path that is parsed once and followed in many documents.
///
/// Keys are separated by `.`, items are `[index]`, and an index below 0 counts from the end:
/// `people[-1].name`. A path may begin with `$` or `.`. In keys, `\` makes the next character an
/// ordinary one, such as `.`, `[`, `$` or `\`.
///
/// ```
/// use fleece_codec::{fleece, Doc, Path};
/// let path: Path = "people[-1].first\\.name".parse()?;
/// let doc = Doc::open(fleece!({"people": [null, {"first.name": "Ada"}]}))?;
/// assert_eq!(path.find(doc.root()).unwrap().as_str(), Some("Ada"));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Path {
    steps: Vec<StoredStep>,
}

/// One step of a [`Path`].
///
/// ```
/// use fleece_codec::{Path, Step};
/// let path = Path::new("people[-1]")?;
/// assert!(path.steps().eq([Step::Key("people"), Step::Index(-1)]));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step<'p> {
    /// To the value of a key.
    Key(&'p str),
    /// To an item of an array; counted from the end if below 0.
    Index(i64),
}

#[derive(Clone, Debug)]
enum StoredStep {
    Key(Key),
    Index(i64),
}

impl StoredStep {
    fn step(&self) -> Step<'_> {
        match self {
            Self::Key(key) => Step::Key(key.name()),
            Self::Index(index) => Step::Index(*index),
        }
    }
}

/// Building, comparing and taking apart.
impl Path {
    /// The path to the root itself.
    ///
    /// ```
    /// # use fleece_codec::Path;
    /// assert_eq!(Path::root().key("people").index(0).to_string(), "$.people[0]");
    /// ```
    pub fn root() -> Self {
        Self { steps: Vec::new() }
    }

    /// This path with a step to the value of a key, which may have any characters.
    ///
    /// ```
    /// # use fleece_codec::Path;
    /// assert_eq!(Path::root().key("a.b"), Path::new("a\\.b")?);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[must_use]
    pub fn key(mut self, name: &str) -> Self {
        self.steps.push(StoredStep::Key(Key::new(name)));
        self
    }

    /// This path with a step to an item; counted from the end if below 0.
    ///
    /// ```
    /// # use fleece_codec::Path;
    /// assert_eq!(Path::root().index(-1), Path::new("[-1]")?);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[must_use]
    pub fn index(mut self, index: i64) -> Self {
        self.steps.push(StoredStep::Index(index));
        self
    }

    /// Removes the last step; false if there was none.
    ///
    /// ```
    /// # use fleece_codec::Path;
    /// let mut path = Path::new("a.b")?;
    /// assert!(path.pop());
    /// assert_eq!(path, Path::new("a")?);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn pop(&mut self) -> bool {
        self.steps.pop().is_some()
    }

    /// The steps in order.
    ///
    /// ```
    /// # use fleece_codec::{Path, Step};
    /// assert_eq!(Path::new("a[0]")?.steps().last(), Some(Step::Index(0)));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_>> + DoubleEndedIterator {
        self.steps.iter().map(StoredStep::step)
    }
}

/// Paths are equal if they have the same steps.
impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.steps().eq(other.steps())
    }
}

impl Eq for Path {}

impl core::hash::Hash for Path {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.steps.len().hash(state);
        self.steps().for_each(|step| step.hash(state));
    }
}

impl Path {
    /// Parses a path.
    ///
    /// ```
    /// # use fleece_codec::{ErrorKind, Path};
    /// assert!(Path::new("a.b[0]").is_ok());
    /// assert_eq!(Path::new("a[x]").unwrap_err().kind(), ErrorKind::BadPath);
    /// ```
    pub fn new(text: &str) -> Result<Self> {
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let is_wrong =
            |rest: &str, message| Error::at(ErrorKind::BadPath, text.len() - rest.len(), message);
        while !rest.is_empty() {
            if let Some(index) = rest.strip_prefix('[') {
                let Some((digits, after)) = index.split_once(']') else {
                    return Err(is_wrong(rest, "an index has no `]`"));
                };
                let index = digits.parse();
                steps.push(StoredStep::Index(
                    index.map_err(|_| is_wrong(rest, "an index is no number"))?,
                ));
                rest = after;
                continue;
            }
            let is_start = rest.len() == text.len();
            let Some(key) = rest.strip_prefix('.').or(is_start.then_some(rest)) else {
                return Err(is_wrong(rest, "expected `.` or `[`"));
            };
            let (name, after) = split_key(key);
            if name.is_empty() {
                return Err(is_wrong(rest, "a key is empty"));
            }
            steps.push(StoredStep::Key(Key::new(&name)));
            rest = after;
        }
        Ok(Self { steps })
    }

    /// The value that the path leads to from `root`.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Path};
    /// let doc = Doc::open(fleece!({"a": [1, 2]}))?;
    /// assert_eq!(Path::new("a[1]")?.find(doc.root()).unwrap().as_i64(), Some(2));
    /// assert!(Path::new("a[2]")?.find(doc.root()).is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn find<'a>(&self, root: Value<'a>) -> Option<Value<'a>> {
        self.steps.iter().try_fold(root, |value, step| match step {
            StoredStep::Key(key) => value.as_dict()?.get_key(key),
            StoredStep::Index(index) => {
                let array = value.as_array()?;
                let index = if *index < 0 { index + array.len() as i64 } else { *index };
                array.get(usize::try_from(index).ok()?)
            }
        })
    }
}

/// The key at the start of a path, without its escapes, and the rest of the path.
fn split_key(path: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = path.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return (name, &path[at..]),
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => name.push(character),
        }
    }
    (name, "")
}

/// Appends a key with the escapes of a path.
pub(crate) fn escape(name: &str, out: &mut String) {
    for character in name.chars() {
        if matches!(character, '.' | '[' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
}

impl FromStr for Path {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

/// Prints the path in a form that parses as the same path.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.steps {
            match step {
                StoredStep::Index(index) => write!(f, "[{index}]")?,
                StoredStep::Key(key) => {
                    let mut name = String::from(".");
                    escape(key.name(), &mut name);
                    f.write_str(&name)?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> Value<'a> {
    /// The value at the end of a [`Path`], which each call parses; `None` also if it is malformed.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"people": [{"name": "Ada"}]}))?;
    /// assert_eq!(doc.root().path("people[0].name").unwrap().as_str(), Some("Ada"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn path(self, path: &str) -> Option<Value<'a>> {
        Path::new(path).ok()?.find(self)
    }

    /// The value at the end of a JSON Pointer (RFC 6901); `None` also if it is malformed.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a/b": [10, 20], "": 0}))?;
    /// assert_eq!(doc.root().pointer("/a~1b/1").unwrap().as_i64(), Some(20));
    /// assert_eq!(doc.root().pointer("/").unwrap().as_i64(), Some(0));
    /// assert!(doc.root().pointer("/a~1b/01").is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn pointer(self, pointer: &str) -> Option<Value<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        let tokens = pointer.strip_prefix('/')?.split('/');
        tokens.into_iter().try_fold(self, |value, token| match value.as_array() {
            Some(array) => array.get(array_index(token)?),
            None if token.contains('~') => value.get(&token.replace("~1", "/").replace("~0", "~")),
            None => value.get(token),
        })
    }
}

/// RFC 6901: digits without a leading zero.
fn array_index(token: &str) -> Option<usize> {
    let is_plain = token.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = token.len() > 1 && token.starts_with('0');
    if is_plain && !has_leading_zero { token.parse().ok() } else { None }
}

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
    open: Vec<WalkFrame<'a>>,
    /// The greatest depth. Nested collections begin at different offsets, so deeper values are only
    /// in collections that contain themselves.
    depth_max: usize,
}

#[derive(Clone)]
enum WalkFrame<'a> {
    Array(ArrayIter<'a>, usize),
    Dict(DictIter<'a>),
}

/// The position of a visited value in its parent.
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
    /// The value is the one where the iteration began.
    Root,
    /// The value is an item of an array, counted from 0.
    Item(usize),
    /// The value is that of a key.
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
    /// Its position in its parent.
    pub step: PathStep<'a>,
    /// The number of collections around it.
    pub depth: usize,
}

impl<'a> Value<'a> {
    /// This value and all values within it, parents before children, in the order of storage. Needs
    /// no recursion.
    ///
    /// A value is visited once for each reference to it, so the iteration over untrusted data,
    /// checked or not, may practically never end: bound it with `take`. Values of any depth are
    /// visited; only collections that contain themselves, which no checked document has, are
    /// entered at most as often as there are bytes.
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
    /// Skips the children of the value that was visited last.
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
                self.open.push(WalkFrame::Array(array.iter(), 0));
            } else if let Some(dict) = last.as_dict() {
                self.open.push(WalkFrame::Dict(dict.iter()));
            }
        }
        loop {
            let depth = self.open.len();
            let next = match self.open.last_mut()? {
                WalkFrame::Array(items, index) => items.next().map(|value| {
                    *index += 1;
                    (PathStep::Item(*index - 1), value)
                }),
                WalkFrame::Dict(pairs) => {
                    pairs.next().map(|(key, value)| (PathStep::Key(key), value))
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_path_prints_as_it_parses() {
        for text in ["$", "$.a", "$[0][-1]", "$.a\\.b\\[0][7].c\\\\d"] {
            assert_eq!(Path::new(text).unwrap().to_string(), text);
        }
        assert_eq!(Path::new("a.b").unwrap().to_string(), "$.a.b");
        for text in ["a..b", "a[", "a[]", "a[1]b", ".", "a.", "$a"] {
            assert_eq!(Path::new(text).unwrap_err().kind(), ErrorKind::BadPath, "{text}");
        }
    }

    #[test]
    fn the_examples_of_rfc_6901_hold() {
        let bytes = crate::fleece!({"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8});
        let doc = crate::Doc::open(bytes).unwrap();
        let check = |pointer: &str, expected| {
            assert_eq!(doc.root().pointer(pointer).and_then(Value::as_i64), expected, "{pointer}");
        };
        check("/", Some(0));
        check("/a~1b", Some(1));
        check("/c%d", Some(2));
        check("/e^f", Some(3));
        check("/g|h", Some(4));
        check("/i\\j", Some(5));
        check("/k\"l", Some(6));
        check("/ ", Some(7));
        check("/m~0n", Some(8));
        check("a", None);
        assert_eq!(doc.root().pointer("/foo/0").and_then(Value::as_str), Some("bar"));
        assert!(doc.root().pointer("/foo/-").is_none());
        assert!(doc.root().pointer("").unwrap().as_dict().is_some());
    }
}
