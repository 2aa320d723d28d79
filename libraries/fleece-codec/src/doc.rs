//! Documents: bytes that are opened in constant time or checked completely, and the positions of
//! values in them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Range;

use crate::Result;
use crate::check::CheckOptions;
use crate::check::proof::{Proof, StableBytes};
use crate::check::scan::{FIXED_SIZE, Layout};
use crate::error::{Error, ErrorKind};
use crate::shared_keys::SharedKeys;
use crate::value::Value;
use crate::wire::{Base, Context, Source, tag, u16_at, varint};

/// A Fleece document in any kind of byte buffer.
///
/// [`open`](Doc::open) is for data that you trust and costs nothing; [`check`](Doc::check) is for
/// all other data. Even on unchecked data no function of this crate panics or reads beyond the
/// bytes; only results may be wrong.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let bytes: Vec<u8> = fleece!({"people": [{"name": "Ada"}]});
/// let doc = Doc::check(&bytes)?;
/// assert_eq!(doc.root().path("people[0].name").unwrap().as_str(), Some("Ada"));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub struct Doc<B> {
    bytes: B,
    /// The offset of the root, if there is no context.
    root: usize,
    context: Option<Box<Context>>,
    proof: Proof,
}

impl<B: AsRef<[u8]>> Doc<B> {
    /// Opens a document in constant time; checks only its length and its root pointer.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(7))?.root().as_i64(), Some(7));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn open(bytes: B) -> Result<Self> {
        match root(Source::new(bytes.as_ref())) {
            Some(root) => Ok(Self { root: root.at, bytes, context: None, proof: Proof::NONE }),
            None => Err(open_error(bytes.as_ref())),
        }
    }

    /// Opens the delta that an [`Encoder`](crate::Encoder) made in extern mode, together with the
    /// document it amends.
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc, Encoder};
    /// use std::sync::Arc;
    /// let base: Arc<[u8]> = fleece!({"name": "Ada", "born": 1815, "died": 1852}).into();
    /// let base_doc = Doc::open(base.clone())?;
    /// let mut edit = fleece_codec::Edit::from_dict(base_doc.root().as_dict().unwrap());
    /// edit.set("born", 1816);
    /// let mut encoder = Encoder::amend_extern(base.clone())?;
    /// encoder.write_edit(&edit)?;
    /// let delta = Doc::open_delta(encoder.finish()?, base.clone())?;
    /// assert_eq!(delta.root().get("born").unwrap().as_i64(), Some(1816));
    /// assert_eq!(delta.root().get("name").unwrap().as_str(), Some("Ada"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn open_delta(bytes: B, base: Arc<[u8]>) -> Result<Self> {
        let mut doc = Self { bytes, root: 0, context: None, proof: Proof::NONE };
        doc.set_base(base);
        match root(doc.source()) {
            Some(_) => Ok(doc),
            None => Err(open_error(doc.bytes.as_ref())),
        }
    }

    /// Opens a document after checking all of it, with the default [`CheckOptions`].
    ///
    /// Takes linear time, whatever the bytes are, and 0.5 bytes of memory for each byte; it does
    /// not recurse.
    ///
    /// ```
    /// # use fleece_codec::{Doc, ErrorKind};
    /// // An array that contains itself.
    /// let error = Doc::check([0x60, 0x01, 0x80, 0x01, 0x80, 0x02]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::BadPointer);
    /// ```
    pub fn check(bytes: B) -> Result<Self>
    where
        B: StableBytes,
    {
        CheckOptions::new().check(bytes)
    }

    /// Gives the document the table of its shared keys.
    ///
    /// ```
    /// use fleece_codec::{Doc, SharedKeys};
    /// use std::sync::Arc;
    /// let mut keys = SharedKeys::new();
    /// keys.add("name");
    /// // A dict with the shared key 0.
    /// let doc = Doc::open([0x70, 0x01, 0x00, 0x00, 0x41, b'x', 0x80, 0x03])?.with_shared_keys(Arc::new(keys));
    /// assert_eq!(doc.root().get("name").unwrap().as_str(), Some("x"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[must_use]
    pub fn with_shared_keys(mut self, keys: Arc<SharedKeys>) -> Self {
        let base = self.context.take().and_then(|context| context.base);
        let unproved = (self.proof != Proof::NONE)
            .then(|| Box::new(Context { keys: Some(keys.clone()), ..Context::default() }));
        let context = Context { keys: Some(keys), base: None, proof: self.proof, unproved };
        self.context = Some(Box::new(context));
        if let Some(base) = base {
            self.set_base(base.bytes.clone());
        }
        self
    }

    /// The outermost value.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!({}))?.root().as_dict().is_some());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn root(&self) -> Value<'_> {
        match &self.context {
            None => Value { source: self.source(), at: self.root },
            Some(_) => self.root_in_context(),
        }
    }

    /// The bytes of the document.
    ///
    /// ```
    /// # use fleece_codec::Doc;
    /// assert_eq!(Doc::open([0x30, 0x00])?.as_bytes(), [0x30, 0x00]);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Gives the buffer back.
    ///
    /// ```
    /// # use fleece_codec::Doc;
    /// assert_eq!(Doc::open(vec![0x30, 0x00])?.into_bytes(), [0x30, 0x00]);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// The root of a delta may lie in the base.
    #[cold]
    fn root_in_context(&self) -> Value<'_> {
        root(self.source()).unwrap_or_else(Value::undefined)
    }

    /// The proof must be one of these bytes, without a base.
    pub(crate) fn with_proof(mut self, proof: Proof) -> Self {
        self.proof = proof;
        self
    }

    fn set_base(&mut self, bytes: Arc<[u8]>) {
        let context = self.context.get_or_insert_default();
        let own = Context { keys: context.keys.clone(), ..Context::default() };
        context.base = Some(Arc::new(Base { bytes, context: own }));
    }

    #[inline(always)]
    pub(crate) fn source(&self) -> Source<'_> {
        let context = self.context.as_deref().or_else(|| self.proof.context());
        Source { bytes: self.bytes.as_ref(), context }
    }
}

#[cfg(feature = "serde")]
impl<'a> Doc<&'a [u8]> {
    /// The root of a document without context; it lives as long as the bytes.
    pub(crate) fn into_root(self) -> Value<'a> {
        let source = Source { bytes: self.bytes, context: self.proof.context() };
        Value { source, at: self.root }
    }
}

impl<B: AsRef<[u8]>> fmt::Debug for Doc<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document of {} bytes: {:?}", self.as_bytes().len(), self.root())
    }
}

/// The root is in the last two bytes of the document, or these point to it.
#[inline(always)]
pub(crate) fn root(source: Source<'_>) -> Option<Value<'_>> {
    let bytes = source.bytes;
    let word = u16::from_be_bytes(*bytes.last_chunk()?);
    if bytes.len() & 1 != 0 || u32::try_from(bytes.len()).is_err() {
        return None;
    }
    let trailer = bytes.len() - 2;
    // In a long document the root is behind a wide pointer, to which the last two bytes point.
    if word == 0x8002
        && let Some(wide) = trailer.checked_sub(4)
        && bytes[wide] >= 0x80
    {
        return source.wide(wide);
    }
    if word < 0x8000 && trailer > 0 {
        return None;
    }
    source.narrow_word(trailer, word)
}

#[cold]
fn open_error(bytes: &[u8]) -> Error {
    let len = bytes.len();
    match u16_at(bytes, len.saturating_sub(2)) {
        None => Error::at(ErrorKind::Truncated, 0, "a document has at least 2 bytes"),
        Some(_) if u32::try_from(len).is_err() => {
            Error::at(ErrorKind::TooLarge, len, "a document is shorter than 4 GiB")
        }
        Some(_) if len & 1 != 0 => {
            Error::at(ErrorKind::Truncated, len, "a document has an even number of bytes")
        }
        Some(_) => Error::at(ErrorKind::BadPointer, len - 2, "no pointer to the root"),
    }
}

// The range of a value's bytes, and the value at an offset, for tools that show a document as it is
// stored.

impl Value<'_> {
    /// The bytes of the document that this value takes by itself: its header, and its payload or
    /// slots, without what the slots point to and without the filler byte after an odd length. The
    /// range is never beyond the end of the data, even if the data is damaged.
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!(["Ada"]))?;
    /// let item = doc.root().at(0).unwrap();
    /// assert_eq!((doc.root().range(), item.range()), (4..8, 0..4));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn range(self) -> Range<usize> {
        let (bytes, at) = (self.source.bytes, self.offset());
        let first = self.first_byte();
        let end = match (usize::from(FIXED_SIZE[usize::from(first)]), first >> 4) {
            (0, tag::STRING | tag::DATA) => {
                varint(bytes, at + 1).map_or(at + 1, |(len, start)| start.saturating_add(len))
            }
            (0, _) => Layout::from_header(bytes, at).map_or(at + 2, |layout| layout.end),
            (size, _) => at + size,
        };
        at.min(bytes.len())..end.min(bytes.len())
    }
}

impl<B: AsRef<[u8]>> Doc<B> {
    /// The value at an offset that [`Value::offset`] returned. At any other even offset, the bytes
    /// there are read as a value; `None` beyond the data, at odd offsets and at pointers.
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!(["Ada"]))?;
    /// let offset = doc.root().at(0).unwrap().offset();
    /// assert_eq!(doc.value_at(offset).unwrap().as_str(), Some("Ada"));
    /// assert!(doc.value_at(1).is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn value_at(&self, offset: usize) -> Option<Value<'_>> {
        // The value is not reached by slots, so no text in it is proved to be UTF-8.
        let source = self.source().unproved();
        let first = source.bytes.get(offset)?;
        let is_value = offset.is_multiple_of(2) && first & 0x80 == 0;
        is_value.then_some(Value { source, at: offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_broken_length_ends_with_the_data() {
        for bytes in [&[0x4F, 0xFF, 0xFF, 0x7F, 0x80, 0x02], &[0x6F, 0xFF, 0xFF, 0x7F, 0x80, 0x02]]
        {
            let doc = Doc::open(bytes).unwrap();
            let values = (0..8).filter_map(|at| doc.value_at(at));
            let ranges: Vec<_> = values.map(Value::range).collect();
            assert!(ranges.iter().all(|range| range.start <= range.end && range.end <= 6));
        }
    }
}
