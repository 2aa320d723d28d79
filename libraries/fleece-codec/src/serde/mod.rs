//! Conversion of Rust types to documents and back, with `serde`.

mod de;
mod ser;
mod value;

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::encoder::Encoder;
use crate::error::{Error, ErrorKind};
use crate::value::Value;
use crate::{Doc, Result};
use de::{DeserializeState, ValueDeserializer};

/// Serializes a value to a document: the same one as from its JSON text, with bytes as data.
///
/// Fails on NaN, and on maps whose keys are neither strings nor integers.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Person<'a> {
///     name: &'a str,
///     born: u16,
/// }
/// let bytes = fleece_codec::to_vec(&Person { name: "Ada", born: 1815 })?;
/// assert_eq!(bytes, fleece_codec::fleece!({"name": "Ada", "born": 1815}));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new();
    encoder.write_serialize(value)?;
    encoder.finish()
}

/// Deserializes a document; `&str` and `&[u8]` borrow from it.
///
/// Each value is checked when it is reached, and values that the type leaves out are checked, too.
/// A document that [`Doc::check`] refuses is an error here, with two exceptions. Values that
/// overlap, and collections that are nested deeper than a check allows, are accepted if the type
/// reads them one by one. A `Deserialize` that discards an error, or its deserializer, leaves that
/// value unchecked; every text is UTF-8 nevertheless. A document with shared collections may hold
/// far more values than bytes. Collections may be nested 200 deep.
///
/// ```
/// #[derive(serde::Deserialize, PartialEq, Debug)]
/// struct Person<'a> {
///     name: &'a str,
///     born: u16,
/// }
/// let bytes = fleece_codec::fleece!({"name": "Ada", "born": 1815});
/// let person: Person = fleece_codec::from_slice(&bytes)?;
/// assert_eq!(person, Person { name: "Ada", born: 1815 });
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    let value = Doc::open(bytes)?.into_root();
    let state = DeserializeState::strict(value)?;
    let result = T::deserialize(ValueDeserializer { value, depth: 0, state: &state })?;
    state.finish(bytes)?;
    Ok(result)
}

/// Reads a document to its end, checks it and deserializes it to a value that owns its data.
///
/// ```
/// let file = std::io::Cursor::new(fleece_codec::fleece!(["a", "b"]));
/// let texts: Vec<String> = fleece_codec::from_reader(file)?;
/// assert_eq!(texts, ["a", "b"]);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn from_reader<T: serde::de::DeserializeOwned>(mut reader: impl std::io::Read) -> Result<T> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    from_slice(&bytes)
}

/// Serializes a value to a document, and writes it in one piece.
///
/// ```
/// let mut file = Vec::new();
/// fleece_codec::to_writer(&mut file, &["a", "b"])?;
/// assert_eq!(file, fleece_codec::fleece!(["a", "b"]));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn to_writer<T: Serialize + ?Sized>(writer: impl std::io::Write, value: &T) -> Result<()> {
    let mut encoder = Encoder::new();
    encoder.write_serialize(value)?;
    encoder.finish_to(writer)
}

/// Deserializes a Fleece value, which may be part of a document and need not be checked.
///
/// ```
/// use fleece_codec::{fleece, from_value, Doc};
/// let doc = Doc::open(fleece!({"tags": ["a", "b"]}))?;
/// let tags: Vec<&str> = from_value(doc.root().get("tags").unwrap())?;
/// assert_eq!(tags, ["a", "b"]);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn from_value<'de, T: Deserialize<'de>>(value: Value<'de>) -> Result<T> {
    T::deserialize(value)
}

impl Encoder {
    /// Serializes a value to the encoder.
    ///
    /// ```
    /// use fleece_codec::{fleece, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array();
    /// encoder.write_serialize(&(1, "two", Some(3.5)))?;
    /// encoder.end_array();
    /// assert_eq!(encoder.finish()?, fleece!([[1, "two", 3.5]]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn write_serialize<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(ser::Serializer { encoder: self })?;
        self.take_failure()
    }
}

impl serde::ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(ErrorKind::Custom, message.to_string())
    }
}

impl serde::de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(ErrorKind::Custom, message.to_string())
    }
}
