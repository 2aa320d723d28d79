//! The encoder: makes a document of values, byte for byte as the original does.

mod base;
mod collection;
mod edit;
mod scalar;
mod strings;

use alloc::vec::Vec;
use core::fmt;

use crate::Result;
use crate::error::{Error, ErrorKind};
use crate::limits::DOCUMENT_BYTES;
use crate::shared_keys::SharedKeys;
use crate::wire::NARROW_MAX_BYTES;
use base::Amended;
pub(crate) use collection::Expects;
use collection::{Frame, Shapes};
pub use edit::Edit;
pub use scalar::WrittenValue;
use strings::StringTable;
pub(crate) use strings::{Packed, SHARED_LEN_MAX, random};

/// What to do with two pairs of a dict that have the same key.
///
/// ```
/// use fleece_codec::{json, DuplicateKeys, Encoder, ErrorKind};
/// let mut encoder = Encoder::new();
/// encoder.set_duplicate_keys(DuplicateKeys::Reject);
/// let error = json::encode(br#"{"a": 1, "a": 2}"#, &mut encoder, &json::ParseOptions::new()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DuplicateKeys {
    /// The pair that was written last stays. The default.
    #[default]
    KeepLast,
    /// An error.
    Reject,
    /// All stay, as in the original; which one a lookup finds is undefined.
    KeepAll,
}

/// Writes a document. Calls follow the order of JSON text; the encoder does not allocate for each
/// value.
///
/// A wrong call, such as a value where a key is due, is recorded and makes
/// [`finish`](Encoder::finish) fail. All output is kept in memory until then.
///
/// ```
/// use fleece_codec::{Doc, Encoder};
/// let mut encoder = Encoder::new();
/// encoder.begin_dict();
/// encoder.write_key("name");
/// encoder.write_str("Ada");
/// encoder.write_key("born");
/// encoder.write_i64(1815);
/// encoder.end_dict();
/// let doc = Doc::open(encoder.finish()?)?;
/// assert_eq!(doc.root().get("born").unwrap().as_i64(), Some(1815));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub struct Encoder {
    out: Vec<u8>,
    /// The slots of all open collections: a pointer (top bit set, then the absolute position) or an
    /// inline value of up to 4 bytes, first byte on top.
    slots: Vec<u32>,
    /// The sort keys of all open dicts.
    keys: Vec<u128>,
    /// The innermost open collection; those around it are in `outer`.
    frame: Frame,
    outer: Vec<Frame>,
    strings: StringTable,
    shapes: Shapes,
    failure: Option<Error>,
    /// The position at which `out` begins: the length of the amended document.
    start: usize,
    /// Pointers to positions before this one are extern.
    extern_before: usize,
    base: Option<Amended>,
    shared_keys: Option<SharedKeys>,
    share_strings: bool,
    reuse_base_strings: bool,
    /// The strings of the base are to be found before the next string is shared.
    must_load_base: bool,
    duplicate_keys: DuplicateKeys,
    /// The number of the document, so that a `WrittenValue` of an earlier one is detected.
    document: u32,
    /// The size of the previous document; as much is reserved for the next one.
    expected_bytes: usize,
    size_limit_bytes: usize,
}

impl Encoder {
    /// An encoder of new documents.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// let mut encoder = Encoder::new();
    /// encoder.write_null();
    /// assert_eq!(encoder.finish()?, [0x30, 0x00]);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn new() -> Self {
        Self {
            out: Vec::new(),
            slots: Vec::new(),
            keys: Vec::new(),
            frame: Frame::top(),
            outer: Vec::new(),
            strings: StringTable::new(),
            shapes: Shapes::default(),
            failure: None,
            start: 0,
            extern_before: 0,
            base: None,
            shared_keys: None,
            share_strings: true,
            reuse_base_strings: true,
            must_load_base: false,
            duplicate_keys: DuplicateKeys::default(),
            document: 0,
            expected_bytes: 0,
            size_limit_bytes: DOCUMENT_BYTES,
        }
    }

    /// Reserves memory for a document of about this many bytes.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// let mut encoder = Encoder::new();
    /// encoder.reserve(1 << 20);
    /// ```
    pub fn reserve(&mut self, bytes: usize) {
        self.out.reserve(bytes);
    }

    /// Reserves memory for a document of about this many bytes, unless some is reserved already.
    pub(crate) fn make_room(&mut self, bytes: usize) {
        if self.out.capacity() == 0 {
            self.out.reserve(bytes);
        }
    }

    /// Whether equal short strings are written only once, as they are by default.
    ///
    /// ```
    /// # use fleece_codec::{Encoder, fleece};
    /// let mut encoder = Encoder::new();
    /// encoder.set_share_strings(false);
    /// encoder.begin_array();
    /// encoder.write_str("twice");
    /// encoder.write_str("twice");
    /// encoder.end_array();
    /// assert!(encoder.finish()?.len() > fleece!(["twice", "twice"]).len());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn set_share_strings(&mut self, share: bool) {
        self.share_strings = share;
    }

    /// The greatest size of a document, at most and by default 2 GiB; of an amendment, that of the
    /// added part.
    ///
    /// A small document with shared collections may expand to very many values. To copy a value of
    /// untrusted data, set a limit, or check that no collection is shared:
    /// [`CheckOptions::unshared_collections`](crate::CheckOptions::unshared_collections).
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Encoder, ErrorKind};
    /// let mut encoder = Encoder::new();
    /// encoder.set_size_limit_bytes(1000);
    /// let doc = Doc::open(fleece!(["a".repeat(1000)]))?;
    /// encoder.write_value(doc.root());
    /// assert_eq!(encoder.finish().unwrap_err().kind(), ErrorKind::TooLarge);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn set_size_limit_bytes(&mut self, bytes: usize) {
        self.size_limit_bytes = bytes;
    }

    /// What to do with two pairs of a dict that have the same key.
    ///
    /// ```
    /// # use fleece_codec::{DuplicateKeys, Encoder};
    /// Encoder::new().set_duplicate_keys(DuplicateKeys::Reject);
    /// ```
    pub fn set_duplicate_keys(&mut self, duplicates: DuplicateKeys) {
        self.duplicate_keys = duplicates;
    }

    /// From now on, eligible dict keys are written as numbers of this table, which grows as needed.
    ///
    /// ```
    /// # use fleece_codec::{Encoder, SharedKeys};
    /// let mut encoder = Encoder::new();
    /// encoder.set_shared_keys(SharedKeys::new());
    /// encoder.begin_dict();
    /// encoder.write_key("id");
    /// encoder.write_i64(7);
    /// encoder.end_dict();
    /// assert_eq!(encoder.finish()?, [0x70, 1, 0, 0, 0, 7, 0x80, 3]);
    /// assert_eq!(encoder.take_shared_keys().unwrap().name(0), Some("id"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn set_shared_keys(&mut self, keys: SharedKeys) {
        self.shared_keys = Some(keys);
        self.forget_mismatch();
    }

    /// Takes the table back.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// assert!(Encoder::new().take_shared_keys().is_none());
    /// ```
    pub fn take_shared_keys(&mut self) -> Option<SharedKeys> {
        let keys = self.shared_keys.take();
        self.forget_mismatch();
        keys
    }

    /// Ends the document and returns its bytes. The encoder is then ready for the next one.
    ///
    /// Fails if a call was wrong, a collection is open, or not exactly one value was written.
    ///
    /// ```
    /// # use fleece_codec::{Encoder, ErrorKind};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array();
    /// assert_eq!(encoder.finish().unwrap_err().kind(), ErrorKind::State);
    /// encoder.write_bool(true);
    /// assert_eq!(encoder.finish()?, [0x38, 0x00]);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        let result = self.end_document();
        let out = core::mem::take(&mut self.out);
        self.expected_bytes = out.len();
        self.reset();
        result.map(|()| out)
    }

    /// Ends the document, as [`finish`](Self::finish), and writes its bytes to `writer`.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// let mut file = Vec::new();
    /// let mut encoder = Encoder::new();
    /// encoder.write_null();
    /// encoder.finish_to(&mut file)?;
    /// assert_eq!(file, [0x30, 0x00]);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn finish_to(&mut self, mut writer: impl std::io::Write) -> Result<()> {
        let result = self.end_document();
        let written = result.and_then(|()| Ok(writer.write_all(&self.out)?));
        self.out.clear();
        self.reset();
        written
    }

    fn end_document(&mut self) -> Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if !self.outer.is_empty() {
            return Err(Error::new(ErrorKind::State, "a collection is not ended"));
        }
        let &[root] = &self.slots[..] else {
            let message = "a document is exactly one value";
            return Err(Error::new(ErrorKind::State, message));
        };
        let at = self.position();
        let is_pointer = root & POINTER != 0;
        let distance = if is_pointer { at - (root & !POINTER) as usize } else { 0 };
        if distance > NARROW_MAX_BYTES || self.frame.wide {
            self.out.extend(self.wide(root, at).to_be_bytes());
            self.out.extend(0x8002_u16.to_be_bytes());
        } else {
            self.out.extend(self.narrow(root, at).to_be_bytes());
        }
        self.check_size()
    }

    fn check_size(&self) -> Result<()> {
        if self.is_too_large() {
            return Err(Error::new(ErrorKind::TooLarge, TOO_LARGE));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn is_too_large(&self) -> bool {
        self.position() >= DOCUMENT_BYTES || self.out.len() > self.size_limit_bytes
    }

    fn reset(&mut self) {
        self.slots.clear();
        self.keys.clear();
        self.outer.clear();
        self.frame = Frame::top();
        self.strings.clear();
        self.failure = None;
        self.document = self.document.wrapping_add(1);
        self.must_load_base = self.reuse_base_strings && self.base.is_some();
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, open) = (self.out.len(), self.outer.len());
        write!(f, "encoder that wrote {bytes} bytes, with {open} open collections")
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) const TOO_LARGE: &str = "the document is longer than 2 GiB, or than the encoder's limit";

/// The top bit of a slot, which is set if the slot is a pointer.
const POINTER: u32 = 1 << 31;
