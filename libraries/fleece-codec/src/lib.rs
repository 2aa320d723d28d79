#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]
#![warn(missing_docs)]
#![expect(
    clippy::inline_always,
    reason = "what the hot paths return is larger than two registers: in a call it goes through memory, which took twice the time"
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(doc)]
#[doc = include_str!("../docs/c-api.md")]
pub mod c_api {}
#[cfg(all(any(doc, doctest), feature = "serde", feature = "std"))]
#[doc = include_str!("../docs/how-to.md")]
pub mod how_to {}

mod array;
mod check;
mod dict;
mod doc;
mod encoder;
mod equal;
mod error;
pub mod json;
mod key;
pub mod limits;
mod macros;
mod number;
mod path;
mod search;
#[cfg(feature = "serde")]
mod serde;
mod shared_keys;
mod timestamp;
mod value;
mod wire;

pub use array::{Array, ArrayIter};
pub use check::CheckOptions;
pub use check::proof::StableBytes;
pub use dict::{Dict, DictIter, DictKey, DictRange};
pub use doc::Doc;
pub use encoder::{DuplicateKeys, Edit, Encoder, WrittenValue};
pub use error::{Error, ErrorKind};
pub use key::Key;
pub use macros::WriteFleece;
pub use path::{DeepIter, Path, PathStep, Step, Visit};
#[cfg(all(feature = "serde", feature = "std"))]
pub use serde::{from_reader, to_writer};
#[cfg(feature = "serde")]
pub use serde::{from_slice, from_value, to_vec};
pub use shared_keys::SharedKeys;
pub use value::{Kind, Value};

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = core::result::Result<T, E>;
