//! A method that reads from the server, and the server's address.

use anyhow::{Context, Result, ensure};
use byte_stream::{Options, Stream};
use lab::experiment::{How, Method};
use lab::param::Point;

use super::super::source::{method, numbered};
use super::super::stream::BUFFER_LIMIT;

/// A method that reads the resource that corresponds to the file of `size` or `file`.
pub(super) fn contender(name: &str, about: &str, reads: &[&'static str], how: How) -> Method {
    method(name, about, &["server"], how).reads(reads).job("http|https")
}

/// The resource that one source reads.
#[derive(Clone)]
pub(super) struct Remote {
    pub(super) url: String,
    /// The certificates to trust; `None` for plain HTTP.
    pub(super) certificates: Option<Vec<u8>>,
    pub(super) size: u64,
    pub(super) buffer: usize,
}

impl Remote {
    /// The resource with this index, from 0, of the point's `parallel` ones.
    pub(super) fn from_point(point: &Point, index: u64) -> Result<Remote> {
        let certificates = if point.text("source")? == "https" {
            let path = point.path("certificates")?;
            let pem = std::fs::read(&path);
            Some(pem.with_context(|| format!("reading {}", path.display()))?)
        } else {
            None
        };
        Ok(Remote {
            url: point.text(&numbered("url", index))?.to_owned(),
            certificates,
            size: point.number("size")?,
            buffer: point.number("buffer")?.min(BUFFER_LIMIT) as usize,
        })
    }

    /// Options for a stream that fails at the first error, without retries.
    pub(super) fn options(&self) -> Result<Options> {
        let options = Stream::options()
            .proxy(None)
            .retries(0, std::time::Duration::ZERO)
            .buffer_bytes(self.buffer);
        match &self.certificates {
            Some(pem) => Ok(options.certificates(pem)?),
            None => Ok(options),
        }
    }

    /// Called by a method that has reached the end at this offset; checks the size.
    pub(super) fn ended(&self, offset: u64) -> Result<()> {
        let Remote { url, size, .. } = self;
        ensure!(offset == *size, "{url} ended at offset {offset} of {size}: it has changed");
        Ok(())
    }
}
