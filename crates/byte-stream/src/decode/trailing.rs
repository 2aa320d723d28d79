//! The error for bytes behind the end of the encoded data, which all decoders share.

use std::io;

pub(super) fn trailing() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "bytes behind the end of what is encoded")
}
