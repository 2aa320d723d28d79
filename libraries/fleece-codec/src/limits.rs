//! All limits of the crate, with the reason for each.
//!
//! If a function has an option for a limit, the default is here.

/// The greatest nesting depth of collections in a document that [`Doc::check`](crate::Doc::check)
/// accepts, unless [`CheckOptions::depth_limit`](crate::CheckOptions::depth_limit) says otherwise.
/// People and programs write fewer levels; the check itself needs no stack.
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

/// The greatest nesting depth of collections in JSON text, unless
/// [`ParseOptions::depth_limit`](crate::json::ParseOptions::depth_limit) says otherwise. A parsed
/// document also passes the check.
///
/// ```
/// use fleece_codec::{json, limits, Doc};
/// let text = "[".repeat(limits::PARSED_DEPTH) + &"]".repeat(limits::PARSED_DEPTH);
/// assert!(Doc::check(json::to_fleece(text.as_bytes())?).is_ok());
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub const PARSED_DEPTH: usize = CHECKED_DEPTH as usize;

/// The greatest nesting depth of collections in copies, edits and printed JSON text. Each level
/// takes memory but no stack; deeper values are mostly in unchecked data, where nesting may be
/// endless.
///
/// ```
/// assert_eq!(fleece_codec::limits::WRITTEN_DEPTH, 10_000);
/// ```
pub const WRITTEN_DEPTH: usize = 10_000;

/// The greatest nesting depth of collections for `serde`. Its visitors recurse, and this depth fits
/// the stack of any thread.
///
/// ```
/// assert_eq!(fleece_codec::limits::SERDE_DEPTH, 200);
/// ```
pub const SERDE_DEPTH: usize = 200;

/// Deserialization visits at most this many values for each byte of the document, and
/// [`SERDE_VALUES_MIN`] more. Without shared collections, a document holds less than one value for
/// each byte; with them, a hundred bytes may hold more than fits any memory.
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

/// The longest chain of a dict and its parents: reading follows no more, and the check refuses
/// more. The encoder makes at most three; this bounds the cost of untrusted data.
///
/// ```
/// assert_eq!(fleece_codec::limits::GENERATIONS, 64);
/// ```
pub const GENERATIONS: usize = 64;

/// The longest JSON text that `Display` prints, in bytes: a small document with shared collections
/// may have a far longer one.
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
