//! A resource of a server as a file that is read at any offset: each read is a request for a range,
//! unless an earlier one has brought the bytes already. All bytes are of one version.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use byte_stream::Stream;
use record_sampler::ReadAt;

use super::source::{RemoteAccess, nameless};
use crate::remote::with_ending;

/// The least that is requested, as much as a block of an index has. A request that goes on where
/// another one has ended is for twice as much, up to the most.
const LEAST_BYTES: u64 = 16 << 10;
const MOST_BYTES: u64 = 4 << 20;
/// What is kept of all files.
const KEPT_BYTES: usize = 32 << 20;
/// The largest index: 4 bytes for each of 2^20 blocks, with its head.
const INDEX_BYTES: u64 = 5 << 20;

/// Bytes of files that were received and may be read again.
#[derive(Default)]
pub(super) struct RemoteBlocks(Mutex<VecDeque<RemoteBlock>>);

struct RemoteBlock {
    /// The number of the file.
    file: usize,
    start: u64,
    bytes: Vec<u8>,
}

impl RemoteBlocks {
    /// Copies what is kept from this offset on; or else how much to request.
    fn take(&self, file: usize, offset: u64, buffer: &mut [u8]) -> Result<usize, u64> {
        let blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted = LEAST_BYTES;
        for block in blocks.iter().rev().filter(|block| block.file == file) {
            let len = block.bytes.len() as u64;
            match offset.checked_sub(block.start) {
                Some(at) if at < len => {
                    let held = &block.bytes[at as usize..];
                    let n = held.len().min(buffer.len());
                    buffer[..n].copy_from_slice(&held[..n]);
                    return Ok(n);
                }
                Some(at) if at == len => wanted = wanted.max(2 * len).min(MOST_BYTES),
                _ => {}
            }
        }
        Err(wanted.max(buffer.len() as u64))
    }

    fn keep(&self, block: RemoteBlock) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept =
            block.bytes.len() + blocks.iter().map(|kept| kept.bytes.len()).sum::<usize>();
        while kept > KEPT_BYTES
            && let Some(oldest) = blocks.pop_front()
        {
            kept -= oldest.bytes.len();
        }
        blocks.push_back(block);
    }
}

pub(super) struct RemoteFile {
    access: RemoteAccess,
    url: String,
    /// Its number among the files that share the blocks.
    number: usize,
    blocks: Arc<RemoteBlocks>,
    size: u64,
    version: String,
}

impl RemoteFile {
    /// Requests the first bytes, which shows the size and the version.
    pub(super) fn open(
        access: &RemoteAccess,
        url: &str,
        number: usize,
        blocks: &Arc<RemoteBlocks>,
    ) -> io::Result<RemoteFile> {
        let mut file = RemoteFile {
            access: access.clone(),
            url: url.to_owned(),
            number,
            blocks: blocks.clone(),
            size: 0,
            version: String::new(),
        };
        let mut stream = match access.options().range(..LEAST_BYTES).open(url) {
            // There is no first byte.
            Err(error) if error.status() == Some(416) => return Ok(file),
            opened => opened.map_err(|error| nameless(&error))?,
        };
        let range = stream.response().and_then(|response| response.header("Content-Range"));
        let size = range.and_then(|range| range.rsplit_once('/')?.1.parse().ok());
        let (Some(size), Some(version)) = (size, stream.validator()) else {
            let text = "its server does not support ranges, or sends neither a strong ETag nor \
                        an older Last-Modified: such a resource is only read from start to end";
            return Err(io::Error::other(text));
        };
        (file.size, file.version) = (size, version.to_owned());
        let bytes = all(&mut stream)?;
        blocks.keep(RemoteBlock { file: number, start: 0, bytes });
        Ok(file)
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let len = range.end - range.start;
        let opened = self.access.options().range(range).open(self.url.as_str());
        let mut stream = opened.map_err(|error| nameless(&error))?;
        let is_same = stream.validator() == Some(self.version.as_str());
        let bytes = if is_same { all(&mut stream)? } else { Vec::new() };
        if bytes.len() as u64 != len {
            return Err(io::Error::other("it has changed while it was read"));
        }
        Ok(bytes)
    }
}

fn all(stream: &mut Stream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next_chunk().map_err(|error| nameless(&error))? {
        bytes.extend_from_slice(chunk);
    }
    Ok(bytes)
}

impl ReadAt for RemoteFile {
    fn size_bytes(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.size.saturating_sub(offset);
        let len = left.min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..len];
        if buffer.is_empty() {
            return Ok(0);
        }
        let wanted = match self.blocks.take(self.number, offset, buffer) {
            Ok(n) => return Ok(n),
            Err(wanted) => wanted.min(left),
        };
        let bytes = self.fetch(offset..offset + wanted)?;
        buffer.copy_from_slice(&bytes[..len]);
        if wanted <= MOST_BYTES {
            self.blocks.keep(RemoteBlock { file: self.number, start: offset, bytes });
        }
        Ok(len)
    }

    fn index(&self) -> io::Result<Option<Vec<u8>>> {
        let url = with_ending(&self.url, ".nlx");
        match self.access.options().limit_bytes(INDEX_BYTES).open(url.as_str()) {
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(nameless(&error)),
            Ok(mut stream) => all(&mut stream).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_and_the_oldest_are_dropped() {
        let blocks = RemoteBlocks::default();
        let (mut buffer, first) = ([0; 4], vec![7; 10]);
        assert_eq!(blocks.take(0, 100, &mut buffer), Err(LEAST_BYTES));
        blocks.keep(RemoteBlock { file: 0, start: 100, bytes: first });
        assert_eq!(blocks.take(0, 100, &mut buffer), Ok(4));
        assert_eq!(blocks.take(0, 108, &mut buffer), Ok(2));
        assert_eq!((buffer, blocks.take(1, 100, &mut buffer)), ([7; 4], Err(LEAST_BYTES)));
        assert_eq!(blocks.take(0, 110, &mut vec![0; 1 << 20]), Err(1 << 20));
        blocks.keep(RemoteBlock { file: 0, start: 0, bytes: vec![0; 100_000] });
        assert_eq!(blocks.take(0, 100_000, &mut buffer), Err(200_000));
        blocks.keep(RemoteBlock { file: 1, start: 0, bytes: vec![0; KEPT_BYTES] });
        assert_eq!(blocks.take(0, 100, &mut buffer), Err(LEAST_BYTES));
        assert_eq!(blocks.take(1, KEPT_BYTES as u64, &mut buffer), Err(MOST_BYTES));
    }
}
