//! The proof that the strings of a document are UTF-8, which only a complete check makes, and all
//! `unsafe` code of the crate, which relies on it.
//!
//! Validating each text again after the check makes the traversal of 1000 people take 1.5 times as
//! many instructions; the figures are in the README. What the proof says, and why it holds:
//!
//! * **What it says**: each string that is reached from the root of a document by slots alone is
//!   UTF-8. The [`Context`] of a [`Source`](crate::wire::Source) carries it from the root to each
//!   value, key and item that is reached like this; a value that is reached otherwise
//!   ([`Doc::value_at`](crate::Doc::value_at), or in the base of a delta) has a context without it.
//! * **The check looks at all of them**: either all values are looked at in the order of the bytes,
//!   and each slot of each collection leads to one of them
//!   ([`OrderedPass`](super::in_order::OrderedPass)); or each slot of each collection that a slot
//!   leads to is followed, and each string that a slot leads to is looked at
//!   ([`Scan`](super::scan::Scan)). It follows pointers as reading does: a slot with the top bit
//!   clear is the value, else the distance counts from the slot, and with the extern bit and
//!   without a base it has 15 bits. The tests and the fuzz target `structure` hold the check
//!   against plainly written rules and against what reading reaches, and builds with debug
//!   assertions look at each text again.
//! * **Other texts** are validated when they are read. ASCII texts, which a few instructions
//!   recognise, need no further validation.
//! * **The bytes stay the same**: only buffers that are [`StableBytes`] are checked, and a document
//!   does not lend its buffer mutably.

#![expect(unsafe_code, reason = "a text is handed over that is known to be UTF-8")]

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::str::{from_utf8, from_utf8_unchecked};

use super::fast_path::{HIGH_BITS, is_ascii};
use super::scan::{Finished, Scan};
use crate::value::Value;
use crate::wire::Context;

/// Whether all strings that are reached from the root are UTF-8.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Proof(bool);

impl Proof {
    /// Nothing was checked.
    pub(crate) const NONE: Self = Self(false);

    /// The proof that a finished scan gives. There is none if strings were not checked or there is
    /// a base.
    pub(super) fn from_scan(scan: &Scan<'_>, _finished: Finished) -> Self {
        Self(scan.looks_at_strings() && scan.start == 0)
    }

    /// The context of a document that has neither shared keys nor a base.
    #[inline(always)]
    pub(crate) fn context(self) -> Option<&'static Context> {
        static PROVED: Context =
            Context { keys: None, base: None, proof: Proof(true), unproved: None };
        self.0.then_some(&PROVED)
    }
}

impl<'a> Value<'a> {
    /// The text, if this is a string of valid UTF-8.
    ///
    /// This takes constant time in a document that [`Doc::check`](crate::Doc::check) accepted;
    /// otherwise every byte is validated.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::check(fleece!("hé"))?.root().as_str(), Some("hé"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_str(self) -> Option<&'a str> {
        let is_proved = self.source.context.is_some_and(|context| context.proof != Proof::NONE);
        if !is_proved && let Some(text) = self.short_ascii() {
            return Some(text);
        }
        let bytes = self.as_str_bytes()?;
        if !is_proved {
            return look_at(bytes);
        }
        debug_assert!(
            from_utf8(bytes).is_ok(),
            "the check has let a string pass that is not UTF-8"
        );
        // SAFETY: the source has the proof, so a check of these very bytes found that this string,
        // which was reached by slots from the root, is UTF-8.
        Some(unsafe { from_utf8_unchecked(bytes) })
    }
}

impl<'a> Value<'a> {
    /// The text, if it is short and ASCII, as most strings are: one test of 16 bytes is enough.
    #[inline(always)]
    fn short_ascii(self) -> Option<&'a str> {
        let start: &[u8; 16] = self.source.bytes.get(self.at..)?.first_chunk()?;
        let [header, text @ ..] = start;
        let len = usize::from(header.wrapping_sub(0x40));
        if len >= 15 || u128::from_le_bytes(*start) & HIGH_BITS[len] != 0 {
            return None;
        }
        // SAFETY: none of the bytes after the header has its highest bit set, so they are ASCII,
        // which is UTF-8.
        Some(unsafe { from_utf8_unchecked(&text[..len]) })
    }
}

/// The text, if the bytes are UTF-8. ASCII, which nearly all texts are, is faster to recognise.
#[inline]
fn look_at(bytes: &[u8]) -> Option<&str> {
    if !is_ascii(bytes) {
        return from_utf8(bytes).ok();
    }
    // SAFETY: bytes that are ASCII are UTF-8.
    Some(unsafe { from_utf8_unchecked(bytes) })
}

/// A buffer whose `as_ref` returns the same bytes each time, whatever happens in between, as long
/// as it is not lent mutably.
///
/// Only such buffers can be checked, because texts of a checked document are not validated again.
/// All owned and borrowed buffers of the standard library are stable; of another one, such as a
/// memory map, pass the slice: `Doc::check(&map[..])`.
///
/// # Safety
///
/// `as_ref` must return equal bytes in all calls that have no mutable borrow of the buffer in
/// between; also after the buffer was moved.
///
/// ```
/// use fleece_codec::{fleece, Doc, StableBytes};
/// fn first_text(bytes: impl StableBytes) -> fleece_codec::Result<String> {
///     let doc = Doc::check(bytes)?;
///     let item = doc.root().at(0).and_then(|item| item.as_str());
///     Ok(item.unwrap_or_default().to_owned())
/// }
/// assert_eq!(first_text(fleece!(["a"]))?, "a");
/// assert_eq!(first_text(&fleece!(["a"])[..])?, "a");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub unsafe trait StableBytes: AsRef<[u8]> {}

macro_rules! stable {
    ($($buffer:ty),*) => {
        // SAFETY: the bytes are owned or borrowed by the buffer, and without interior mutability.
        $(unsafe impl StableBytes for $buffer {})*
    };
}

stable! { [u8], Vec<u8>, Box<[u8]>, Rc<[u8]>, Arc<[u8]>, Cow<'_, [u8]>, str, String }

// SAFETY: an array owns its bytes; they move with it.
unsafe impl<const N: usize> StableBytes for [u8; N] {}

// SAFETY: while a buffer is borrowed, it is not lent mutably.
unsafe impl<T: StableBytes + ?Sized> StableBytes for &T {}

#[cfg(test)]
mod tests {
    use crate::{Doc, Encoder, Key, SharedKeys, fleece};
    use alloc::string::String;
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    /// Reads the texts and keys of a document that stores strings in every form, by every function.
    #[test]
    fn texts_of_checked_documents_are_what_was_written() {
        let long = "é".repeat(100);
        let texts = ["", "a", "ab", "é", "fifteen letters", "sixteen letters!", &long];
        for keys in [None, Some(SharedKeys::new())] {
            let mut encoder = Encoder::new();
            if let Some(keys) = keys {
                encoder.set_shared_keys(keys);
            }
            encoder.begin_dict();
            for text in texts {
                encoder.write_key(text);
                encoder.write_str(text);
            }
            encoder.end_dict();
            let doc = Doc::check(encoder.finish().unwrap()).unwrap();
            let doc = match encoder.take_shared_keys() {
                Some(keys) => doc.with_shared_keys(Arc::new(keys)),
                None => doc,
            };
            let dict = doc.root().as_dict().unwrap();
            for (key, value) in dict {
                assert_eq!(key.as_str(), value.as_str());
            }
            for text in texts {
                assert_eq!(dict.get(text).unwrap().as_str(), Some(text));
                let key = Key::new(text);
                for _ in 0..2 {
                    assert_eq!(dict.get_key(&key).unwrap().as_str(), Some(text));
                }
            }
        }
    }

    /// A buffer of each kind may move after the check.
    #[test]
    fn a_checked_buffer_may_move() {
        fn text(doc: Doc<impl super::StableBytes>) -> String {
            let moved = alloc::boxed::Box::new(doc);
            moved.root().at(0).and_then(crate::Value::as_str).unwrap_or_default().into()
        }
        let bytes = fleece!(["a text of some letters"]);
        let array: [u8; 30] = bytes.clone().try_into().unwrap();
        let checked: [String; 5] = [
            text(Doc::check(array).unwrap()),
            text(Doc::check(&array).unwrap()),
            text(Doc::check(&bytes[..]).unwrap()),
            text(Doc::check(Arc::<[u8]>::from(&bytes[..])).unwrap()),
            text(Doc::check(bytes).unwrap()),
        ];
        assert!(checked.iter().all(|text| text == "a text of some letters"));
    }

    /// A value that is not reached by slots is validated: here bytes within a string that look like
    /// the start of a string.
    #[test]
    fn a_value_at_any_offset_is_looked_at() {
        let checked = || Doc::check(fleece!(["xA\u{80}B\u{fff}abc"])).unwrap();
        let with_keys = checked().with_shared_keys(Arc::new(SharedKeys::new()));
        for doc in [checked(), with_keys] {
            let texts: Vec<Option<&str>> = (0..doc.as_bytes().len())
                .filter_map(|offset| doc.value_at(offset))
                .map(crate::Value::as_str)
                .collect();
            assert!(texts.contains(&None), "{texts:?}");
        }
    }

    /// Values are copied by the million, so the proof is in their context and adds no field.
    #[test]
    fn a_value_takes_four_words() {
        assert_eq!(size_of::<crate::Value<'_>>(), 4 * size_of::<usize>());
    }
}
