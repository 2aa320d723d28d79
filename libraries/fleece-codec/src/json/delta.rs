//! Differences of two values as JSON, in the form that the original describes in its `Deltas.md`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Zip;

use super::{parse, to_string};
use crate::array::ArrayIter;
use crate::dict::DictIter;
use crate::encoder::{Edit, Encoder};
use crate::error::{Error, ErrorKind};
use crate::limits::PARSED_DEPTH;
use crate::value::{Kind, Value};
use crate::{Array, Dict, Doc, Result};

/// Texts shorter than this are written whole.
const PATCHED_TEXT_BYTES: usize = 60;

/// The difference that turns `old` into `new`, as JSON text; `{}` if they are equal.
///
/// The original's `FLApplyJSONDelta` reads this text. Of an array the items that changed are
/// written, and all from the first one on that only one of both has, as the original does. Of a
/// long text a part is replaced, where the original may replace several. Data becomes base64, as in
/// all JSON. Values that are nested more than [`PARSED_DEPTH`] levels deep are an error.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// let old = Doc::open(fleece!({"age": 8, "grade": 3, "name": {"first": "Bobby", "last": "Briggs"}}))?;
/// let new = Doc::open(fleece!({"age": 18, "name": {"first": "Robert", "last": "Briggs"}}))?;
/// let delta = json::create_delta(old.root(), new.root())?;
/// assert_eq!(delta, r#"{"age":18,"grade":[],"name":{"first":"Robert"}}"#);
/// assert_eq!(Doc::open(json::apply_delta(old.root(), delta.as_bytes())?)?.root(), new.root());
/// let (old, new) = (Doc::open(fleece!([1, 2, 3]))?, Doc::open(fleece!([1, 9, 3, 4]))?);
/// assert_eq!(json::create_delta(old.root(), new.root())?, r#"{"1":9,"3-":[4]}"#);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn create_delta(old: Value<'_>, new: Value<'_>) -> Result<String> {
    let delta = match difference(old, new)? {
        None => Edit::new_dict(),
        Some(change) if matches!(change.kind(), Kind::Array | Kind::Dict) => change,
        // The original reads no delta that is neither an array nor a dict.
        Some(change) => array([change]),
    };
    to_string(Doc::open(delta.to_document()?)?.root())
}

/// Applies a delta that [`create_delta`] or the original made to `old`, and returns the new
/// document.
///
/// Fails if the delta does not fit `old`. If the delta deletes the whole value, the document is
/// `undefined`.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// let old = Doc::open(fleece!("The fog comes in on little cat feet"))?;
/// let new = json::apply_delta(old.root(), br#"["4=1-1+d|30=",0,2]"#)?;
/// assert_eq!(Doc::open(new)?.root().as_str(), Some("The dog comes in on little cat feet"));
/// assert!(json::apply_delta(old.root(), br#"["3=",0,2]"#).is_err());
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn apply_delta(old: Value<'_>, delta: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new();
    // What is inserted is within one array more.
    let options = parse::ParseOptions::new().depth_limit(PARSED_DEPTH + 1);
    parse::encode(delta, &mut encoder, &options)?;
    let delta = Doc::open(encoder.finish()?)?;
    let new = patched(old, delta.root())?;
    new.unwrap_or_else(|| Edit::from(Value::undefined())).to_document()
}

/// The place of a value in the collection around it.
#[derive(Clone, Copy)]
enum DeltaKey<'v> {
    Name(&'v str),
    Index(usize),
}

/// `None` if both are equal. Instead of recursion there is a list of the collections that are
/// compared, each within the one before, so that the depth takes no stack of the thread.
fn difference<'v>(old: Value<'v>, new: Value<'v>) -> Result<Option<Edit<'v>>> {
    let outermost = DeltaKey::Index(0);
    let Some(level) = ComparedLevel::new(outermost, old, new) else { return Ok(whole(old, new)) };
    let mut levels = Vec::from([level]);
    while let Some(level) = levels.last_mut() {
        let Some((key, old, new)) = level.next_values()? else {
            let Some(ended) = levels.pop() else { break };
            let (key, changes) = ended.finish()?;
            match (levels.last_mut(), changes) {
                (None, changes) => return Ok(changes),
                (Some(around), Some(changes)) => around.set(key, changes),
                (Some(_), None) => {}
            }
            continue;
        };
        match old.map(|old| (ComparedLevel::new(key, old, new), old)) {
            None => level.set(key, inserted(new)),
            Some((None, old)) => {
                if let Some(change) = whole(old, new) {
                    level.set(key, change);
                }
            }
            Some((Some(inner), _)) => {
                check_depth(levels.len())?;
                levels.push(inner);
            }
        }
    }
    Ok(None)
}

/// Two collections of which the parts are compared, and their changes so far.
struct ComparedLevel<'v> {
    key: DeltaKey<'v>,
    pair: ComparedPair<'v>,
    changes: Edit<'v>,
}

enum ComparedPair<'v> {
    /// With the pairs of the new one that are left.
    Dicts(Dict<'v>, Dict<'v>, DictIter<'v>),
    /// With the items that are left, and the index of the next ones.
    Arrays(Array<'v>, Array<'v>, Zip<ArrayIter<'v>, ArrayIter<'v>>, usize),
}

/// A key, the old value if there is one, and the new value or that of the delta.
type KeyedValues<'v> = (DeltaKey<'v>, Option<Value<'v>>, Value<'v>);

impl<'v> ComparedLevel<'v> {
    /// `None` for values of which a change is written whole: those that are no dicts and no arrays,
    /// and an array of which nothing stays, or in which nothing was.
    fn new(key: DeltaKey<'v>, old: Value<'v>, new: Value<'v>) -> Option<Self> {
        let pair = match (old.as_dict().zip(new.as_dict()), old.as_array().zip(new.as_array())) {
            (Some((from, to)), _) => ComparedPair::Dicts(from, to, to.iter()),
            (_, Some((from, to))) if !from.is_empty() && !to.is_empty() => {
                ComparedPair::Arrays(from, to, from.iter().zip(to.iter()), 0)
            }
            _ => return None,
        };
        Some(Self { key, pair, changes: Edit::new_dict() })
    }

    /// The next values that both have, or only the new one.
    fn next_values(&mut self) -> Result<Option<KeyedValues<'v>>> {
        match &mut self.pair {
            ComparedPair::Dicts(from, _, pairs) => {
                let Some((key, new)) = pairs.next() else { return Ok(None) };
                let key = name(key)?;
                Ok(Some((DeltaKey::Name(key), from.get(key), new)))
            }
            ComparedPair::Arrays(.., items, index) => {
                let Some((old, new)) = items.next() else { return Ok(None) };
                *index += 1;
                Ok(Some((DeltaKey::Index(*index - 1), Some(old), new)))
            }
        }
    }

    fn set(&mut self, key: DeltaKey<'v>, change: Edit<'v>) {
        match key {
            DeltaKey::Name(name) => self.changes.set(name, change),
            DeltaKey::Index(index) => self.changes.set(&index.to_string(), change),
        }
    }

    /// All changes, if there are any: also the pairs that only the old dict has, and by `n-` all
    /// items from `n` on.
    fn finish(mut self) -> Result<(DeltaKey<'v>, Option<Edit<'v>>)> {
        match self.pair {
            ComparedPair::Dicts(from, to, _) => {
                for (key, _) in from {
                    let key = name(key)?;
                    if to.get(key).is_none() {
                        self.changes.set(key, Edit::new_array());
                    }
                }
            }
            ComparedPair::Arrays(from, to, _, common) if from.len() != to.len() => {
                let mut rest = Edit::new_array();
                rest.items().extend(to.iter().skip(common).map(Edit::from));
                self.changes.set(&format!("{common}-"), rest);
            }
            ComparedPair::Arrays(..) => {}
        }
        Ok((self.key, Some(self.changes).filter(|changes| !changes.is_empty())))
    }
}

fn whole<'v>(old: Value<'v>, new: Value<'v>) -> Option<Edit<'v>> {
    (old != new).then(|| replacement(old, new))
}

fn replacement<'v>(old: Value<'v>, new: Value<'v>) -> Edit<'v> {
    let (Some(from), Some(to)) = (old.as_str(), new.as_str()) else { return inserted(new) };
    let patch = text_patch(from, to).filter(|patch| patch.len() + 8 < to.len());
    match patch {
        None => inserted(new),
        Some(patch) => array([Edit::from(patch), Edit::from(0), Edit::from(2)]),
    }
}

/// Arrays and dicts are wrapped in an array, so that they are not taken for deltas.
fn inserted(new: Value<'_>) -> Edit<'_> {
    match new.kind() {
        Kind::Array | Kind::Dict => array([Edit::from(new)]),
        _ => Edit::from(new),
    }
}

fn array<const N: usize>(items: [Edit<'_>; N]) -> Edit<'_> {
    let mut array = Edit::new_array();
    array.items().extend(items);
    array
}

/// A patch that keeps the common beginning and end of both texts, cut between characters.
fn text_patch(from: &str, to: &str) -> Option<String> {
    if from.len() < PATCHED_TEXT_BYTES {
        return None;
    }
    let equal = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    let start =
        (0..=equal).rev().find(|&at| from.is_char_boundary(at) && to.is_char_boundary(at))?;
    let (old, new) = (&from[start..], &to[start..]);
    let ends = old.bytes().rev().zip(new.bytes().rev());
    let equal = ends.take_while(|(a, b)| a == b).count();
    let is_boundary = |len: &usize| {
        old.is_char_boundary(old.len() - len) && new.is_char_boundary(new.len() - len)
    };
    let end = (0..=equal).rev().find(is_boundary)?;
    let inserted = &new[..new.len() - end];
    let operation = |n: usize, text: &str| if n > 0 { format!("{n}{text}") } else { String::new() };
    Some(
        [
            operation(start, "="),
            operation(old.len() - end, "-"),
            operation(inserted.len(), &format!("+{inserted}|")),
            operation(end, "="),
        ]
        .concat(),
    )
}

/// `None` if the value is deleted. As for differences, there is a list instead of recursion.
fn patched<'v>(old: Value<'v>, delta: Value<'v>) -> Result<Option<Edit<'v>>> {
    let mut levels: Vec<PatchedLevel<'v>> = Vec::new();
    let mut step = PatchStep::new(DeltaKey::Index(0), Some(old), delta)?;
    loop {
        match step {
            PatchStep::Inside(level) => {
                check_depth(levels.len())?;
                levels.push(level);
            }
            PatchStep::Made(key, new) => match levels.last_mut() {
                Some(around) => around.set(key, new),
                None => return Ok(new),
            },
        }
        let Some(level) = levels.last_mut() else { return Ok(None) };
        step = match level.next_change()? {
            Some((key, old, delta)) => PatchStep::new(key, old, delta)?,
            None => match levels.pop() {
                Some(ended) => ended.finish()?,
                None => return Ok(None),
            },
        };
    }
}

/// What a delta makes of a value.
enum PatchStep<'v> {
    /// The new value, or `None` if it is deleted.
    Made(DeltaKey<'v>, Option<Edit<'v>>),
    /// The parts of the value change.
    Inside(PatchedLevel<'v>),
}

impl<'v> PatchStep<'v> {
    fn new(key: DeltaKey<'v>, old: Option<Value<'v>>, delta: Value<'v>) -> Result<Self> {
        if let Some(array) = delta.as_array() {
            return Ok(Self::Made(key, replaced(old, array)?));
        }
        let Some(changes) = delta.as_dict() else {
            return Ok(Self::Made(key, Some(Edit::from(delta))));
        };
        if let (Some(old), true) = (old, changes.is_empty()) {
            return Ok(Self::Made(key, Some(Edit::from(old))));
        }
        let (new, old) = match old.map(|old| (old.as_dict(), old.as_array())) {
            Some((Some(dict), _)) => (Edit::from_dict(dict), PatchedCollection::Dict(dict)),
            Some((_, Some(array))) => {
                let old = PatchedCollection::Array { old: array, changed_end: 0, rest: None };
                (Edit::from_array(array), old)
            }
            _ => return Err(misfit("a delta changes pairs of what is no dict and no array")),
        };
        Ok(Self::Inside(PatchedLevel { key, old, changes: changes.iter(), new }))
    }
}

/// The new value by an array of a delta; `None` if it is deleted.
fn replaced<'v>(old: Option<Value<'v>>, delta: Array<'v>) -> Result<Option<Edit<'v>>> {
    match (delta.len(), delta.get(0)) {
        (0, _) => Ok(None),
        (1, Some(new)) => Ok(Some(Edit::from(new))),
        (3, Some(patch)) if delta.get(2).and_then(Value::as_i64) == Some(2) => {
            let (old, patch) = (old.and_then(Value::as_str), patch.as_str());
            let text = old.zip(patch).and_then(|(old, patch)| patched_text(old, patch));
            let text = text.ok_or_else(|| misfit("a patch does not fit its text"))?;
            Ok(Some(Edit::from(text)))
        }
        _ => Err(misfit("an array of a delta has no or one item, or is a patch of a text")),
    }
}

/// A collection whose parts change, with the changes that are left.
struct PatchedLevel<'v> {
    key: DeltaKey<'v>,
    old: PatchedCollection<'v>,
    changes: DictIter<'v>,
    new: Edit<'v>,
}

enum PatchedCollection<'v> {
    Dict(Dict<'v>),
    Array {
        old: Array<'v>,
        /// The end of the items that are changed.
        changed_end: usize,
        /// What comes behind the items before an index.
        rest: Option<(usize, Array<'v>)>,
    },
}

impl<'v> PatchedLevel<'v> {
    /// The next key with its old value and its delta. Those of an array are indices, and perhaps
    /// `n-`, whose items replace all from `n` on.
    fn next_change(&mut self) -> Result<Option<KeyedValues<'v>>> {
        for (key, delta) in self.changes.by_ref() {
            let key = name(key)?;
            let (from, rest) = match &mut self.old {
                PatchedCollection::Dict(from) => {
                    return Ok(Some((DeltaKey::Name(key), from.get(key), delta)));
                }
                PatchedCollection::Array { old, rest, .. } => (*old, rest),
            };
            let (digits, is_rest) =
                key.strip_suffix('-').map_or((key, false), |digits| (digits, true));
            let index = digits.parse::<usize>().ok().filter(|index| index.to_string() == digits);
            match index {
                Some(index) if !is_rest && index < from.len() => {
                    return Ok(Some((DeltaKey::Index(index), from.get(index), delta)));
                }
                Some(index) if is_rest && index <= from.len() && rest.is_none() => {
                    let new = delta.as_array();
                    let new = new.ok_or_else(|| misfit("the rest of an array is no array"))?;
                    *rest = Some((index, new));
                }
                _ => return Err(misfit("a key of a delta is no index of its array")),
            }
        }
        Ok(None)
    }

    fn set(&mut self, key: DeltaKey<'v>, new: Option<Edit<'v>>) {
        match (key, new) {
            (DeltaKey::Name(name), Some(new)) => self.new.set(name, new),
            (DeltaKey::Name(name), None) => self.new.remove(name),
            (DeltaKey::Index(index), new) => {
                // The original, too, leaves a place for an item that is deleted.
                let new = new.unwrap_or_else(|| Edit::from(Value::undefined()));
                if let Some(item) = self.new.items().get_mut(index) {
                    *item = new;
                }
                if let PatchedCollection::Array { changed_end, .. } = &mut self.old {
                    *changed_end = (*changed_end).max(index + 1);
                }
            }
        }
    }

    fn finish(self) -> Result<PatchStep<'v>> {
        let Self { key, old, mut new, .. } = self;
        if let PatchedCollection::Array { changed_end, rest: Some((index, rest)), .. } = old {
            if changed_end > index {
                return Err(misfit("a delta changes an item that it removes"));
            }
            new.items().truncate(index);
            new.items().extend(rest.iter().map(Edit::from));
        }
        Ok(PatchStep::Made(key, Some(new)))
    }
}

fn patched_text(old: &str, patch: &str) -> Option<String> {
    let (mut old, mut patch) = (old, patch);
    let mut new = String::new();
    while !patch.is_empty() {
        let digits = patch.bytes().take_while(u8::is_ascii_digit).count();
        let n: usize = patch[..digits].parse().ok()?;
        let operation = *patch.as_bytes().get(digits)?;
        patch = patch.get(digits + 1..)?;
        if operation == b'+' {
            new += patch.get(..n)?;
            patch = patch.get(n..)?.strip_prefix('|')?;
            continue;
        }
        let (part, rest) = old.split_at_checked(n)?;
        old = rest;
        match operation {
            b'=' => new += part,
            b'-' => {}
            _ => return None,
        }
    }
    old.is_empty().then_some(new)
}

fn name(key: crate::DictKey<'_>) -> Result<&str> {
    let message = "a key is not UTF-8, or a shared key has no name in the table";
    key.as_str().ok_or_else(|| Error::new(ErrorKind::UnknownSharedKey, message))
}

/// A level may be added to so many.
fn check_depth(depth: usize) -> Result<()> {
    if depth < PARSED_DEPTH {
        return Ok(());
    }
    Err(Error::new(ErrorKind::TooDeep, "collections are nested too deeply for a delta"))
}

fn misfit(message: &'static str) -> Error {
    Error::new(ErrorKind::WrongType, message)
}
