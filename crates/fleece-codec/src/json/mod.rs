//! JSON text to Fleece and back, without a tree in between.
//!
//! ```
//! use fleece_codec::{json, Doc};
//! let doc = Doc::open(json::to_fleece(br#"{"b": 1.50, "a": [true, null]}"#)?)?;
//! assert_eq!(json::to_string(doc.root())?, r#"{"a":[true,null],"b":1.5}"#);
//! # Ok::<(), fleece_codec::Error>(())
//! ```

mod base64;
mod delta;
mod lines;
mod number;
mod parse;
mod print;
mod scan;
mod string;
mod text;

pub use delta::{apply_delta, create_delta};
pub use lines::{Lines, to_lines};
pub use parse::{ParseOptions, encode, to_fleece};
pub use print::{NonFinite, PrintOptions};
#[cfg(feature = "std")]
pub use text::to_writer;
pub use text::{to_string, to_vec};
