//! The check of a document that was laid out, held against the rules. The fuzzer has this file,
//! too.

use super::generator::Laid;
use super::oracle::Oracle;
use fleece_codec::{CheckOptions, Doc, ErrorKind, from_slice};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;

#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Sound,
    /// These rules are broken.
    Broken(BTreeSet<&'static str>),
    /// Sound, but refused for the cost of values that overlap.
    Refused,
}

fn checked(laid: &Laid, options: CheckOptions) -> Result<Doc<&[u8]>, ErrorKind> {
    let (base, delta) = laid.bytes.split_at(laid.start);
    let mut options = options.depth_limit(laid.depth_limit);
    if laid.start > 0 {
        options = options.base(base.into());
    }
    options.check(delta).map_err(|error| error.kind())
}

/// With a further rule the scan alone decides, and decides the same, unless that rule is broken.
fn compare_scan(laid: &Laid, oracle: &Oracle<'_>, error: Option<ErrorKind>) {
    let scanned = checked(laid, CheckOptions::new().unique_keys(true)).err();
    let is_refused = scanned == Some(ErrorKind::TooDeep) && oracle.shares_depth();
    if scanned != Some(ErrorKind::DuplicateKey) && !is_refused {
        assert_eq!(scanned, error, "{laid:02x?}");
    }
}

/// Panics if the check does not say what the rules say.
pub(crate) fn compare(laid: &Laid) -> Verdict {
    if let (Ok(doc), Ok(copy)) = (Doc::open(&laid.bytes), Doc::open(laid.bytes.clone())) {
        // Whatever is in it, and even if not all of it is sound, there is an answer, the same from
        // both sides.
        assert_eq!(doc.root() == copy.root(), copy.root() == doc.root(), "{laid:02x?}");
    }
    if laid.start == 0 {
        compare_typed(&laid.bytes);
    }
    let mut oracle = Oracle::new(laid);
    oracle.document();
    let checked = checked(laid, CheckOptions::new());
    compare_scan(laid, &oracle, checked.as_ref().err().copied());
    match (oracle.broken.is_empty(), checked) {
        (false, Err(_)) => Verdict::Broken(oracle.broken),
        (true, Ok(doc)) => {
            if laid.start == 0 {
                read(&doc, &oracle);
            }
            Verdict::Sound
        }
        (true, Err(ErrorKind::Overlap)) if oracle.size_bytes > laid.bytes.len() => Verdict::Refused,
        (true, Err(ErrorKind::TooDeep)) if oracle.shares_depth() => Verdict::Refused,
        (_, ours) => {
            panic!("broken are {:?}, the check says {ours:?}: {laid:02x?}", oracle.broken)
        }
    }
}

/// A document is read as a Rust type if it is sound, whether the type takes all of it or nothing.
fn compare_typed(bytes: &[u8]) {
    let checked = Doc::check(bytes).map(drop).map_err(|error| error.kind());
    let ignored = from_slice::<IgnoredAny>(bytes).map(drop).map_err(|error| error.kind());
    assert_eq!(ignored.is_ok(), checked.is_ok(), "{ignored:?} {checked:?} {bytes:02x?}");
    let limits = [ErrorKind::TooDeep, ErrorKind::TooLarge, ErrorKind::UnknownSharedKey];
    match (from_slice::<Everything>(bytes), &checked) {
        // Some documents are refused only for the cost of values that overlap.
        (Ok(_), Ok(()) | Err(ErrorKind::Overlap | ErrorKind::TooDeep)) | (Err(_), Err(_)) => {}
        (Err(error), Ok(())) if limits.contains(&error.kind()) => {}
        (typed, _) => panic!("{checked:?}, as a type {:?}: {bytes:02x?}", typed.map(drop)),
    }
}

/// Takes each value there is.
struct Everything;

impl<'de> Deserialize<'de> for Everything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Everything {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, text: &str) -> Result<Self, E> {
        assert!(std::str::from_utf8(text.as_bytes()).is_ok(), "{text:?}");
        Ok(self)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Self, A::Error> {
        while pairs.next_entry::<String, Self>()?.is_some() {}
        Ok(self)
    }
}

/// Reads all that the root leads to: each string is text, each key has a name or a number, and
/// nothing is met that the rules did not come to.
fn read(doc: &Doc<&[u8]>, oracle: &Oracle<'_>) {
    let mut met = BTreeSet::new();
    let mut open = vec![doc.root()];
    while let Some(value) = open.pop() {
        assert!(oracle.followed.contains_key(&value.offset()), "{value:?}");
        if !met.insert(value.offset()) {
            continue;
        }
        if let Some(bytes) = value.as_str_bytes() {
            // The document hands its texts over without looking at them again.
            assert!(std::str::from_utf8(bytes).is_ok(), "{bytes:02x?}");
        }
        open.extend(value.as_array().into_iter().flatten());
        for (key, value) in value.as_dict().into_iter().flatten() {
            let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
            assert!(key.as_bytes().is_some_and(is_text) || key.shared_index().is_some());
            open.push(value);
        }
    }
}
