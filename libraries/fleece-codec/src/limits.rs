//! All limits of the crate, and why each is what it is.
//!
//! What the options of a function set is its default here.

/// The greatest number of collections within each other in a document that
/// [`Doc::check`](crate::Doc::check) accepts, unless
/// [`CheckOptions::depth_limit`](crate::CheckOptions::depth_limit) says otherwise. More than people
/// and programs write; the check itself needs no stack.
///
/// ```
/// use fleece_codec::{limits, Doc, Encoder};
/// let mut encoder = Encoder::new();
/// (0..limits::CHECKED_DEPTH).for_each(|_| encoder.begin_array());
/// (0..limits::CHECKED_DEPTH).for_each(|_| encoder.end_array());
/// assert!(Doc::check(encoder.finish()?).is_ok());
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub const CHECKED_DEPTH: u16 = 512;

/// The greatest number of collections within each other in JSON text, unless
/// [`ParseOptions::depth_limit`](crate::json::ParseOptions::depth_limit) says otherwise: what is
/// parsed also passes the check.
///
/// ```
/// use fleece_codec::{json, limits, Doc};
/// let text = "[".repeat(limits::PARSED_DEPTH) + &"]".repeat(limits::PARSED_DEPTH);
/// assert!(Doc::check(json::to_fleece(text.as_bytes())?).is_ok());
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub const PARSED_DEPTH: usize = CHECKED_DEPTH as usize;

/// The greatest number of collections within each other in copies, edits and JSON text. They take
/// memory for each level but no stack; deeper values are mostly in unchecked data, where they may
/// have no end.
///
/// ```
/// assert_eq!(fleece_codec::limits::WRITTEN_DEPTH, 10_000);
/// ```
pub const WRITTEN_DEPTH: usize = 10_000;

/// The greatest number of collections within each other that Rust values are made of. The visitors
/// of `serde` recurse, and this depth fits the stack of any thread.
///
/// ```
/// assert_eq!(fleece_codec::limits::SERDE_DEPTH, 200);
/// ```
pub const SERDE_DEPTH: usize = 200;

/// Rust values are made of at most this many values for each byte of the document, and
/// [`SERDE_VALUES_MIN`] more. Without collections that are shared, a document holds less than one
/// value for each byte; where they are, a hundred bytes may hold more than fits any memory.
///
/// ```
/// assert_eq!(fleece_codec::limits::SERDE_VALUES_PER_BYTE, 16);
/// ```
pub const SERDE_VALUES_PER_BYTE: usize = 16;

/// See [`SERDE_VALUES_PER_BYTE`].
///
/// ```
/// assert_eq!(fleece_codec::limits::SERDE_VALUES_MIN, 65_536);
/// ```
pub const SERDE_VALUES_MIN: usize = 65_536;

/// The longest chain of a dict, its parent, the parent of that and so on: reading follows no
/// more, and the check refuses more. The encoder makes at most three; this bounds the cost of
/// foreign data.
///
/// ```
/// assert_eq!(fleece_codec::limits::GENERATIONS, 64);
/// ```
pub const GENERATIONS: usize = 64;

/// The longest JSON text that a value is displayed as, in bytes: a small document in which
/// collections are shared may have far more.
///
/// ```
/// assert_eq!(fleece_codec::limits::DISPLAYED_BYTES, 16 << 20);
/// ```
pub const DISPLAYED_BYTES: usize = 16 << 20;

/// Documents are shorter than this, because the encoder keeps positions in 31 bits.
///
/// ```
/// assert_eq!(fleece_codec::limits::DOCUMENT_BYTES, 1 << 31);
/// ```
pub const DOCUMENT_BYTES: usize = 1 << 31;
