//! Compressed files, told by their name, as streams of what they hold.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The decoder for a file of this name, if it is a compressed one.
pub(crate) fn decoder(path: &Path, file: &File) -> io::Result<Option<Box<dyn Read + Send>>> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        #[cfg(feature = "gzip")]
        Some("gz" | "gzip") => {
            let file = io::BufReader::with_capacity(1 << 17, file.try_clone()?);
            Ok(Some(Box::new(flate2::bufread::MultiGzDecoder::new(file))))
        }
        #[cfg(feature = "zstd")]
        Some("zst" | "zstd") => {
            let file = io::BufReader::with_capacity(1 << 17, file.try_clone()?);
            Ok(Some(Box::new(Frames { state: Some(State::Between(file)) })))
        }
        _ => {
            let _ = file;
            Ok(None)
        }
    }
}

/// All frames of a zstd file, one after the other.
#[cfg(feature = "zstd")]
struct Frames<R: io::BufRead> {
    state: Option<State<R>>,
}

#[cfg(feature = "zstd")]
enum State<R: io::BufRead> {
    Between(R),
    Within(Box<ruzstd::decoding::StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
}

#[cfg(feature = "zstd")]
impl<R: io::BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state.take() {
                None => return Ok(0),
                Some(State::Between(mut reader)) => {
                    if reader.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = ruzstd::decoding::StreamingDecoder::new(reader);
                    let decoder = decoder.map_err(|error| {
                        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
                    })?;
                    self.state = Some(State::Within(Box::new(decoder)));
                }
                Some(State::Within(mut decoder)) => match decoder.read(buffer) {
                    Ok(0) => self.state = Some(State::Between(decoder.into_inner())),
                    result => {
                        self.state = Some(State::Within(decoder));
                        return result;
                    }
                },
            }
        }
    }
}
