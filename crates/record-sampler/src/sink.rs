//! Destinations of chosen records: a writer, one of several writers, or a list of places.

use std::io::Write;

use crate::{Error, ErrorKind, Format, Result};

/// The place of a record, as if all files were one. Only these 16 bytes are kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// The probabilities with which records were drawn.
pub(crate) enum Probabilities {
    /// That of all.
    Same(f64),
    /// That of each, in the order of the records.
    Each(std::vec::IntoIter<f64>),
}

impl Default for Probabilities {
    fn default() -> Probabilities {
        Probabilities::Same(1.0)
    }
}

impl Probabilities {
    pub(crate) fn next(&mut self) -> f64 {
        match self {
            Probabilities::Same(probability) => *probability,
            Probabilities::Each(each) => each.next().unwrap_or(1.0),
        }
    }
}

/// Takes records in pieces.
pub(crate) trait Sink {
    /// Precedes all records; it may be empty.
    fn header(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Whether it takes the bytes of records, and not their places only.
    fn needs_bytes(&self) -> bool {
        true
    }

    fn piece(&mut self, bytes: &[u8]) -> Result<()>;

    /// With which probabilities the records are in the sample that follow: for a sink that adds
    /// them.
    fn set_probabilities(&mut self, _: Probabilities) {}

    /// Completes the record whose pieces were passed. `is_after_crlf`: the line before it ended in
    /// CRLF, and so should this one if it has no end.
    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()>;

    /// Takes whole records at once.
    fn run(&mut self, run: &Run<'_>) -> Result<()> {
        run.each(self)
    }
}

/// Whole records, one after the other.
pub(crate) struct Run<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) lens: &'a [u32],
    /// One of them does not end as records of the format do.
    pub(crate) has_open: bool,
}

impl Run<'_> {
    fn each<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<()> {
        let mut rest = self.bytes;
        for len in self.lens {
            let (record, others) = rest.split_at(*len as usize);
            sink.piece(record)?;
            sink.end(Place { at: 0, len: u64::from(*len) }, false)?;
            rest = others;
        }
        Ok(())
    }
}

/// Writes records one after the other, each with a line end if it is text.
pub(crate) struct Output<'a> {
    out: &'a mut dyn Write,
    /// What ends each record of text.
    record_end: Option<u8>,
    buffer: Vec<u8>,
    last: u8,
    pub(crate) written: u64,
}

const BUFFER: usize = 128 << 10;

impl<'a> Output<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, format: Format) -> Output<'a> {
        let (buffer, record_end) = (Vec::with_capacity(BUFFER), format.end());
        Output { out, record_end, buffer, last: record_end.unwrap_or(0), written: 0 }
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        let result = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.buffer.clear();
        result.map_err(write_error)
    }

    #[cold]
    fn through(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(&self.buffer).map_err(write_error)?;
        self.buffer.clear();
        if bytes.len() >= BUFFER {
            return self.out.write_all(bytes).map_err(write_error);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }
}

fn write_error(error: std::io::Error) -> Error {
    Error::caused(ErrorKind::Write, "writing the sample", error)
}

impl Sink for Output<'_> {
    fn header(&mut self, bytes: &[u8]) -> Result<()> {
        self.piece(bytes)
    }

    #[inline]
    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        self.last = *last;
        if self.buffer.len() + bytes.len() > BUFFER {
            return self.through(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn end(&mut self, _: Place, is_after_crlf: bool) -> Result<()> {
        self.written += 1;
        match self.record_end {
            Some(b'\n') if self.last != b'\n' && is_after_crlf => self.piece(b"\r\n"),
            Some(end) if self.last != end => self.piece(&[end]),
            _ => Ok(()),
        }
    }

    fn run(&mut self, run: &Run<'_>) -> Result<()> {
        if run.has_open {
            return run.each(self);
        }
        self.written += run.lens.len() as u64;
        self.piece(run.bytes)
    }
}

/// Writes each record to the output that is next.
pub(crate) struct Parts<'a, 'b> {
    pub(crate) outputs: &'b mut [Output<'a>],
    pub(crate) turns: Box<dyn Iterator<Item = usize> + 'b>,
    pub(crate) current: usize,
}

impl<'a, 'b> Parts<'a, 'b> {
    pub(crate) fn new(
        outputs: &'b mut [Output<'a>],
        parts: impl Iterator<Item = usize> + 'b,
    ) -> Parts<'a, 'b> {
        let mut turns: Box<dyn Iterator<Item = usize> + 'b> = Box::new(parts);
        let current = turns.next().unwrap_or(0);
        Parts { outputs, turns, current }
    }
}

impl Sink for Parts<'_, '_> {
    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        self.outputs[self.current].piece(bytes)
    }

    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()> {
        self.outputs[self.current].end(place, is_after_crlf)?;
        self.current = self.turns.next().unwrap_or(self.current);
        Ok(())
    }
}

/// Keeps the places only.
#[derive(Default)]
pub(crate) struct Places(pub(crate) Vec<Place>);

impl Sink for Places {
    fn piece(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, place: Place, _: bool) -> Result<()> {
        self.0.push(place);
        Ok(())
    }
}

/// Keeps the records themselves.
#[derive(Default)]
pub(crate) struct List {
    pub(crate) records: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Sink for List {
    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        self.open.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self, _: Place, _: bool) -> Result<()> {
        self.records.push(std::mem::take(&mut self.open));
        Ok(())
    }
}
