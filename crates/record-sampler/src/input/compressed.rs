//! Compressed files, recognised by their names, as streams of the decoded bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The decoder for a file with this name, if the name is that of a compressed one. It verifies
/// checksums.
#[cfg(feature = "decode")]
pub(crate) fn decoder(path: &Path, file: &File) -> io::Result<Option<Box<dyn Read + Send>>> {
    use byte_stream::decode::{Decoder, Encoding};

    let Some(encoding) = Encoding::from_path(path) else { return Ok(None) };
    let file = io::BufReader::with_capacity(1 << 17, file.try_clone()?);
    Ok(Some(Box::new(Decoder::new(encoding, file)?)))
}

/// Without the feature `decode`, every file is read as it is.
#[cfg(not(feature = "decode"))]
#[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
pub(crate) fn decoder(_: &Path, _: &File) -> io::Result<Option<Box<dyn Read + Send>>> {
    Ok(None)
}
