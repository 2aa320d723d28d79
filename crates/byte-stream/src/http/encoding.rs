//! `Content-Encoding`: how the bytes of a body are encoded.

use crate::decode::Encoding;

/// The value of `Content-Encoding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    #[default]
    Identity,
    Known(Encoding),
    /// An unknown encoding, or several.
    Unknown,
}

impl ContentEncoding {
    pub(crate) fn from_values(values: &[&[u8]]) -> ContentEncoding {
        let [value] = values else {
            return if values.is_empty() { Self::Identity } else { Self::Unknown };
        };
        match value.to_ascii_lowercase().as_slice() {
            b"" | b"identity" => Self::Identity,
            b"gzip" | b"x-gzip" => Self::Known(Encoding::Gzip),
            b"br" => Self::Known(Encoding::Brotli),
            b"zstd" => Self::Known(Encoding::Zstd),
            _ => Self::Unknown,
        }
    }
}
