//! Differences of two values as JSON, in the form that the original describes in its `Deltas.md`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{parse, to_string};
use crate::encoder::Edit;
use crate::error::{Error, ErrorKind};
use crate::limits::SERDE_DEPTH;
use crate::value::{Kind, Value};
use crate::{Array, Dict, Doc, Result};

/// Texts shorter than this are written whole.
const PATCHED_TEXT_BYTES: usize = 60;

/// The difference that turns `old` into `new`, as JSON text; `{}` if they are equal.
///
/// The original's `FLApplyJSONDelta` reads this text. Of an array the items that changed are
/// written, and all from the first one on that only one of both has, as the original does. Data
/// becomes base64, as in all JSON.
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
    let delta = difference(old, new, 0)?.unwrap_or_else(Edit::new_dict);
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
    let delta = Doc::open(parse::to_fleece(delta)?)?;
    let new = patched(Some(old), delta.root(), 0)?;
    new.unwrap_or_else(|| Edit::from(Value::undefined())).to_document()
}

/// `None` if both are equal.
fn difference<'v>(old: Value<'v>, new: Value<'v>, depth: usize) -> Result<Option<Edit<'v>>> {
    if let (Some(from), Some(to)) = (old.as_dict(), new.as_dict()) {
        return changed_pairs(from, to, depth);
    }
    // An array of which nothing stays is written whole, and so is one around what is nested too
    // deeply for a delta.
    if let (Some(from), Some(to)) = (old.as_array(), new.as_array())
        && !from.is_empty()
        && !to.is_empty()
    {
        match changed_items(from, to, depth) {
            Err(error) if error.kind() == ErrorKind::TooDeep => {}
            changed => return changed,
        }
    }
    Ok(if old == new { None } else { Some(replacement(old, new)) })
}

fn changed_pairs<'v>(from: Dict<'v>, to: Dict<'v>, depth: usize) -> Result<Option<Edit<'v>>> {
    check_depth(depth, SERDE_DEPTH)?;
    let mut changes = Edit::new_dict();
    for (key, new) in to {
        let key = name(key)?;
        let change = match from.get(key) {
            Some(old) => difference(old, new, depth + 1)?,
            None => Some(inserted(new)),
        };
        if let Some(change) = change {
            changes.set(key, change);
        }
    }
    for (key, _) in from {
        let key = name(key)?;
        if to.get(key).is_none() {
            changes.set(key, Edit::new_array());
        }
    }
    Ok(Some(changes).filter(|changes| !changes.is_empty()))
}

/// The changed items by their indices, and by `n-` all items from `n` on.
fn changed_items<'v>(from: Array<'v>, to: Array<'v>, depth: usize) -> Result<Option<Edit<'v>>> {
    check_depth(depth, ARRAY_DEPTH)?;
    let mut changes = Edit::new_dict();
    for (index, (old, new)) in from.iter().zip(to.iter()).enumerate() {
        if let Some(change) = difference(old, new, depth + 1)? {
            changes.set(&index.to_string(), change);
        }
    }
    if from.len() != to.len() {
        let common = from.len().min(to.len());
        let mut rest = Edit::new_array();
        rest.items().extend(to.iter().skip(common).map(Edit::from));
        changes.set(&format!("{common}-"), rest);
    }
    Ok(Some(changes).filter(|changes| !changes.is_empty()))
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

/// `None` if the value is deleted.
fn patched<'v>(old: Option<Value<'v>>, delta: Value<'v>, depth: usize) -> Result<Option<Edit<'v>>> {
    if let Some(array) = delta.as_array() {
        return match (array.len(), array.get(0)) {
            (0, _) => Ok(None),
            (1, Some(new)) => Ok(Some(Edit::from(new))),
            (3, Some(patch)) if array.get(2).and_then(Value::as_i64) == Some(2) => {
                let (old, patch) = (old.and_then(Value::as_str), patch.as_str());
                let text = old.zip(patch).and_then(|(old, patch)| patched_text(old, patch));
                let text = text.ok_or_else(|| misfit("a patch does not fit its text"))?;
                Ok(Some(Edit::from(text)))
            }
            _ => Err(misfit("an array of a delta has no or one item, or is a patch of a text")),
        };
    }
    let Some(changes) = delta.as_dict() else { return Ok(Some(Edit::from(delta))) };
    check_depth(depth, SERDE_DEPTH)?;
    if let (Some(old), true) = (old, changes.is_empty()) {
        return Ok(Some(Edit::from(old)));
    }
    if let Some(from) = old.and_then(Value::as_array) {
        return patched_items(from, changes, depth).map(Some);
    }
    let Some(from) = old.and_then(Value::as_dict) else {
        return Err(misfit("a delta changes pairs of what is no dict and no array"));
    };
    let mut edit = Edit::from_dict(from);
    for (key, delta) in changes {
        let key = name(key)?;
        match patched(from.get(key), delta, depth + 1)? {
            Some(new) => edit.set(key, new),
            None => edit.remove(key),
        }
    }
    Ok(Some(edit))
}

/// The keys are indices of the old array, and perhaps `n-`, whose items replace all from `n` on.
fn patched_items<'v>(from: Array<'v>, changes: Dict<'v>, depth: usize) -> Result<Edit<'v>> {
    check_depth(depth, ARRAY_DEPTH)?;
    let mut edit = Edit::from_array(from);
    let items = edit.items();
    // The end of the items that are changed, and what comes behind others.
    let (mut changed_end, mut rest) = (0, None);
    for (key, delta) in changes {
        let key = name(key)?;
        let (digits, is_rest) = key.strip_suffix('-').map_or((key, false), |digits| (digits, true));
        let index = digits.parse::<usize>().ok().filter(|index| index.to_string() == digits);
        match (index, items.get_mut(index.unwrap_or(usize::MAX))) {
            (Some(index), Some(item)) if !is_rest => {
                let new = patched(from.get(index), delta, depth + 1)?;
                // The original, too, leaves a place for an item that is deleted.
                *item = new.unwrap_or_else(|| Edit::from(Value::undefined()));
                changed_end = changed_end.max(index + 1);
            }
            (Some(index), _) if is_rest && index <= from.len() && rest.is_none() => {
                let new = delta.as_array();
                let new = new.ok_or_else(|| misfit("the rest of an array is no array"))?;
                rest = Some((index, new));
            }
            _ => return Err(misfit("a key of a delta is no index of its array")),
        }
    }
    if let Some((index, new)) = rest {
        if changed_end > index {
            return Err(misfit("a delta changes an item that it removes"));
        }
        items.truncate(index);
        items.extend(new.iter().map(Edit::from));
    }
    Ok(edit)
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

/// An array within so many collections is written whole: its recursion needs more stack than that
/// of dicts, and a thread may have 2 MiB.
const ARRAY_DEPTH: usize = 64;

fn check_depth(depth: usize, limit: usize) -> Result<()> {
    if depth < limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::TooDeep, "collections are nested too deeply for a delta"))
}

fn misfit(message: &'static str) -> Error {
    Error::new(ErrorKind::WrongType, message)
}
