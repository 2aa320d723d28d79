// The examples of the README need HTTP.
#![cfg_attr(any(feature = "http", not(doctest)), doc = include_str!("../README.md"))]
#![warn(missing_docs)]

mod error;
mod stream;

mod address;
mod choice;
mod options;

#[cfg(feature = "async")]
mod asynchronous;

mod copy;
#[cfg(feature = "decode")]
pub mod decode;
#[cfg(feature = "http")]
mod http;
mod load;
#[cfg(feature = "http")]
mod s3;

#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;

mod buffer;
mod cancel;
mod size;
mod source;
#[cfg(feature = "async")]
mod task;
#[cfg(feature = "http")]
mod wait;

pub use address::Address;
#[cfg(feature = "async")]
pub use asynchronous::AsyncStream;
pub use cancel::Cancel;
pub use choice::{Cached, Choice, SourceKind, Strategy};
pub use copy::{Copied, CopyMethod, CopyOptions, Output, copy};
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "http")]
pub use http::{Connections, Response};
pub use load::{LoadChoice, LoadOptions, LoadReason, LoadWay, Loaded, MediumTimes, load};
pub use options::{Options, Progress};
#[cfg(feature = "http")]
pub use s3::{S3, S3Object};
pub use size::{InvalidSize, parse_bytes};
pub use stream::Stream;
