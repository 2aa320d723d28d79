//! JSON text of a value in one call.

use super::print::PrintOptions;
use crate::Result;
use crate::value::Value;
use alloc::string::String;
use alloc::vec::Vec;

/// Prints a value without white space.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// assert_eq!(json::to_string(Doc::open(fleece!([1, null]))?.root())?, "[1,null]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn to_string(value: Value<'_>) -> Result<String> {
    PrintOptions::new().print(value)
}

/// Prints a value without white space, as bytes of UTF-8.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// assert_eq!(json::to_vec(Doc::open(fleece!([1, null]))?.root())?, b"[1,null]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn to_vec(value: Value<'_>) -> Result<Vec<u8>> {
    to_string(value).map(String::into_bytes)
}

/// Prints a value to a writer, in one piece.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// let mut out = Vec::new();
/// json::to_writer(Doc::open(fleece!([]))?.root(), &json::PrintOptions::new(), &mut out)?;
/// assert_eq!(out, b"[]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn to_writer(
    value: Value<'_>,
    options: &PrintOptions,
    mut writer: impl std::io::Write,
) -> Result<()> {
    Ok(writer.write_all(options.print(value)?.as_bytes())?)
}
