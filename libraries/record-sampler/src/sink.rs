//! Destinations of chosen records: a writer, one of several writers, or a list of places. Records
//! may get their probabilities on the way.

use std::io::Write;

use crate::{Error, ErrorKind, Format, Result};

/// The offset and length of a record, as if all files were one. Only these 16 bytes are kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// The probabilities with which records were drawn.
pub(crate) enum Probabilities {
    /// The same probability for all records.
    Same(f64),
    /// The probability of each record, in the order of the records.
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
    /// Takes the header, which precedes all records and may be empty.
    fn header(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Whether it takes the bytes of records, and not their places only.
    fn needs_bytes(&self) -> bool {
        true
    }

    fn piece(&mut self, bytes: &[u8]) -> Result<()>;

    /// Sets the probabilities of the following records, for a sink that adds them.
    fn set_probabilities(&mut self, _: Probabilities) {}

    /// Completes the record whose pieces were passed. `is_after_crlf`: the line before it ended in
    /// CRLF, and so should this one if it has no end.
    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()>;

    /// Takes whole records at once.
    fn run(&mut self, run: &RecordRun<'_>) -> Result<()> {
        run.each(self)
    }
}

/// Whole records, one after the other.
pub(crate) struct RecordRun<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) lens: &'a [u32],
    /// One of them does not end as records of the format do.
    pub(crate) has_open: bool,
}

impl RecordRun<'_> {
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
    /// The byte that ends each record of text.
    record_end: Option<u8>,
    buffer: Vec<u8>,
    last: u8,
    pub(crate) written: u64,
}

const BUFFER: usize = 128 << 10;
/// The buffer of a small sample; it is doubled as needed.
const FIRST_BUFFER: usize = 4 << 10;

impl<'a> Output<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, format: Format) -> Output<'a> {
        let (buffer, record_end) = (Vec::with_capacity(FIRST_BUFFER), format.end());
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

    fn run(&mut self, run: &RecordRun<'_>) -> Result<()> {
        if run.has_open {
            return run.each(self);
        }
        self.written += run.lens.len() as u64;
        self.piece(run.bytes)
    }
}

/// Writes each record to the next output of a sequence.
pub(crate) struct PartSink<'a, 'b> {
    pub(crate) outputs: &'b mut [Output<'a>],
    pub(crate) turns: Box<dyn Iterator<Item = usize> + 'b>,
    pub(crate) current: usize,
}

impl<'a, 'b> PartSink<'a, 'b> {
    pub(crate) fn new(
        outputs: &'b mut [Output<'a>],
        parts: impl Iterator<Item = usize> + 'b,
    ) -> PartSink<'a, 'b> {
        let mut turns: Box<dyn Iterator<Item = usize> + 'b> = Box::new(parts);
        let current = turns.next().unwrap_or(0);
        PartSink { outputs, turns, current }
    }
}

impl Sink for PartSink<'_, '_> {
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
pub(crate) struct PlaceSink(pub(crate) Vec<Place>);

impl Sink for PlaceSink {
    fn piece(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, place: Place, _: bool) -> Result<()> {
        self.0.push(place);
        Ok(())
    }
}

/// Keeps the records themselves, and the header.
#[derive(Default)]
pub(crate) struct RecordSink {
    pub(crate) header: Vec<u8>,
    pub(crate) records: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Sink for RecordSink {
    fn header(&mut self, bytes: &[u8]) -> Result<()> {
        self.header.extend_from_slice(bytes);
        Ok(())
    }

    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        self.open.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self, _: Place, _: bool) -> Result<()> {
        self.records.push(std::mem::take(&mut self.open));
        Ok(())
    }
}

// Each record gets the probability with which it was in the sample, by whose inverse the records
// are weighted in an estimate of a total (Horvitz and Thompson, 1952).

/// The name of the column or member.
const NAME: &str = "inclusion_probability";

/// Passes on records with their probabilities.
pub(crate) struct WithProbability<'a> {
    sink: &'a mut dyn Sink,
    format: Format,
    probabilities: Probabilities,
    record: Vec<u8>,
}

impl<'a> WithProbability<'a> {
    /// It is an error if records of this format have no place for a probability.
    pub(crate) fn new(sink: &'a mut dyn Sink, format: Format) -> Result<WithProbability<'a>> {
        if !matches!(format, Format::Csv { .. } | Format::JsonLines | Format::Lines) {
            let text = "probabilities are added to CSV, JSON Lines and lines";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        let probabilities = Probabilities::default();
        Ok(WithProbability { sink, format, probabilities, record: Vec::new() })
    }

    /// Inserts what `write` writes before the line end, or before the end of the JSON object.
    fn insert(&mut self, write: impl FnOnce(&mut Vec<u8>, Format)) -> Result<()> {
        let record = &mut self.record;
        let mut end = Vec::new();
        let is_json = self.format == Format::JsonLines;
        while record.last().is_some_and(|byte| {
            matches!(byte, b'\n' | b'\r') || is_json && matches!(byte, b' ' | b'\t')
        }) {
            end.extend(record.pop());
        }
        if is_json && record.last() != Some(&b'}') {
            let text = "a probability is a member of an object of JSON, and a drawn line has none";
            return Err(Error::new(ErrorKind::Malformed, text));
        }
        if is_json {
            end.extend(record.pop());
            record.truncate(record.trim_ascii_end().len());
        }
        write(record, self.format);
        record.extend(end.into_iter().rev());
        Ok(())
    }
}

impl Sink for WithProbability<'_> {
    fn header(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.record.extend_from_slice(bytes);
        // A header of JSON Lines is no object.
        if self.format == Format::JsonLines {
            self.record.clear();
            return self.sink.header(bytes);
        }
        self.insert(|record, format| {
            separate(record, format);
            record.extend_from_slice(NAME.as_bytes());
        })?;
        self.sink.header(&self.record)?;
        self.record.clear();
        Ok(())
    }

    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        self.record.extend_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()> {
        let probability = self.probabilities.next();
        self.insert(|record, format| {
            separate(record, format);
            if format == Format::JsonLines {
                let _ = write!(record, "\"{NAME}\":");
            }
            let _ = write!(record, "{probability}");
        })?;
        self.sink.piece(&self.record)?;
        self.record.clear();
        self.sink.end(place, is_after_crlf)
    }

    fn set_probabilities(&mut self, probabilities: Probabilities) {
        self.probabilities = probabilities;
    }
}

/// Appends the separator between the last field or member and the added one.
fn separate(record: &mut Vec<u8>, format: Format) {
    match format {
        Format::Csv { delimiter } => record.push(delimiter),
        Format::JsonLines if record.ends_with(b"{") => {}
        Format::JsonLines => record.push(b','),
        _ => record.push(b'\t'),
    }
}
