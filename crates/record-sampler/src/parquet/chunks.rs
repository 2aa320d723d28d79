//! Passes the bytes of a file to the Parquet library: counted, checked, and only those it requests.

use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::failure::unsound;
use crate::input::{Handle, PlainFile};
use crate::watch::Watch;
use crate::{Error, ErrorKind, Result};

/// The size of a page header, with statistics.
const HEADER_BYTES: usize = 256;

#[derive(Clone)]
pub(super) struct Chunks(Arc<Inner>);

struct Inner {
    file: Arc<Handle>,
    size: u64,
    watch: Watch,
    bytes_read: AtomicU64,
    /// The library converts errors to text, so the original is kept here.
    error: Mutex<Option<Error>>,
}

impl Chunks {
    pub(super) fn new(file: &PlainFile, watch: Watch) -> Chunks {
        let (bytes_read, error) = (AtomicU64::new(0), Mutex::new(None));
        let (file, size) = (Arc::clone(&file.handle), file.size);
        Chunks(Arc::new(Inner { file, size, watch, bytes_read, error }))
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.0.bytes_read.load(Ordering::Relaxed)
    }

    /// The cause of an error of the library: a read error, or an invalid file.
    pub(super) fn explain(&self, error: &ParquetError) -> Error {
        let kept = self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.unwrap_or_else(|| unsound(error))
    }
}

impl Inner {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = loop {
            match self.file.get().and_then(|open| open.read_at(buffer, offset)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let kind = read.as_ref().map_or_else(io::Error::kind, |_| io::ErrorKind::Other);
        let text = format!("reading at offset {offset}");
        let checked =
            read.map_err(|error| Error::caused(ErrorKind::Io, &text, error)).and_then(|n| {
                self.bytes_read.fetch_add(n as u64, Ordering::Relaxed);
                self.watch.advance(n as u64)?;
                Ok(n)
            });
        checked.map_err(|error| {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            kind.into()
        })
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.size
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<At>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::with_capacity(HEADER_BYTES, At { chunks: self.clone(), offset: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.0.size);
        if end.is_none() {
            let text = format!("{length} bytes at offset {start} of {}", self.0.size);
            return Err(ParquetError::EOF(text));
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(length).map_err(|_| {
            ParquetError::General(format!("no memory for {length} bytes at offset {start}"))
        })?;
        buffer.resize(length, 0);
        At { chunks: self.clone(), offset: start }.read_exact(&mut buffer)?;
        Ok(buffer.into())
    }
}

/// A position to continue reading from.
pub(super) struct At {
    chunks: Chunks,
    offset: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.chunks.0.read_at(buffer, self.offset)?;
        self.offset += n as u64;
        Ok(n)
    }
}
