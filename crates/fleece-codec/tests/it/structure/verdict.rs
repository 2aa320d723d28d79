//! The check of a document that was laid out, held against the rules. The fuzzer has this file, too.

use super::generator::Laid;
use super::oracle::Oracle;
use fleece_codec::{CheckOptions, Doc, ErrorKind};
use std::collections::BTreeSet;

#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Sound,
    Broken,
    /// Sound, but refused for the cost of values that overlap.
    Refused,
}

fn checked(laid: &Laid) -> Result<Doc<&[u8]>, ErrorKind> {
    let (base, delta) = laid.bytes.split_at(laid.start);
    let mut options = CheckOptions::new().depth_limit(laid.depth_limit);
    if laid.start > 0 {
        options = options.base(base.into());
    }
    options.check(delta).map_err(|error| error.kind())
}

/// Panics if the check does not say what the rules say.
pub(crate) fn compare(laid: &Laid) -> Verdict {
    if let (Ok(doc), Ok(copy)) = (Doc::open(&laid.bytes), Doc::open(laid.bytes.clone())) {
        // Whatever is in it, and even if not all of it is sound, there is an answer, the same from both sides.
        assert_eq!(doc.root() == copy.root(), copy.root() == doc.root(), "{laid:02x?}");
    }
    let mut oracle = Oracle::new(laid);
    match (oracle.document(), checked(laid)) {
        (Err(_), Err(_)) => Verdict::Broken,
        (Ok(()), Ok(doc)) => {
            if laid.start == 0 {
                read(&doc, &oracle);
            }
            Verdict::Sound
        }
        (Ok(()), Err(ErrorKind::Overlap)) if oracle.size_bytes > laid.bytes.len() => {
            Verdict::Refused
        }
        (Ok(()), Err(ErrorKind::TooDeep)) if oracle.shares_depth() => Verdict::Refused,
        (expected, ours) => {
            panic!("the rules say {expected:?}, the check says {ours:?}: {laid:02x?}")
        }
    }
}

/// Reads all that the root leads to: each string is text, each key has a name or a number, and nothing is met that the rules
/// did not come to.
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
