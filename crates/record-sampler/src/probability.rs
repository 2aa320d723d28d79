//! Adds to each record the probability with which it was in the sample, by whose inverse the
//! records are weighted in an estimate of a total (Horvitz and Thompson, 1952).

use std::io::Write;

use crate::sink::{Place, Probabilities, Sink};
use crate::{Error, ErrorKind, Format, Result};

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
        self.sink.piece(record)?;
        self.record.clear();
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
        })
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
        self.sink.end(place, is_after_crlf)
    }

    fn set_probabilities(&mut self, probabilities: Probabilities) {
        self.probabilities = probabilities;
    }
}

/// What is between the last field or member and the next one.
fn separate(record: &mut Vec<u8>, format: Format) {
    match format {
        Format::Csv { delimiter } => record.push(delimiter),
        Format::JsonLines if record.ends_with(b"{") => {}
        Format::JsonLines => record.push(b','),
        _ => record.push(b'\t'),
    }
}
