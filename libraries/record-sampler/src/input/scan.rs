//! All records of a population in one pass, input after input.

use std::io::{self, Read};
use std::mem;
use std::path::Path;
use std::sync::Arc;

use super::compressed::decoded;
use super::{BufferedRecord, Handle, Header, HeaderLine, PlainFile, Population, Records, Source};
use crate::work::{ProgressGate, ProgressReader};
use crate::{Error, ErrorKind, Format, Result};

/// Iterates over the records from first to last.
pub(crate) struct Scan<'a> {
    population: &'a mut Population,
    watch: ProgressGate,
    /// The input that is being read, and the index of the next one.
    current: Option<Records<Box<dyn Read + Send>>>,
    next_input: usize,
    /// The buffer of the input before it.
    buffer: Vec<u8>,
    /// The position of the current input among all, if all are files.
    base: u64,
    /// The rank of the next record.
    rank: u64,
    header: Header,
    bytes_before: u64,
    /// The bytes that were left out by jumps.
    jumped: u64,
}

/// The start of a record.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoint {
    input: usize,
    position: (u64, [u8; 2]),
    pub(crate) rank: u64,
}

/// A record of the population.
pub(crate) struct Scanned<'a> {
    pub(crate) rank: u64,
    pub(crate) bytes: &'a [u8],
    /// Its offset, as if all inputs were one.
    pub(crate) at: u64,
    /// The number and the path of its input, and its offset in it.
    pub(crate) input: usize,
    path: &'a Path,
    pub(crate) offset: u64,
    pub(crate) is_after_crlf: bool,
}

impl Scanned<'_> {
    /// An error that concerns this record, with its place.
    #[cold]
    pub(crate) fn named(&self, error: Error) -> Error {
        error.in_record_at(self.offset).with_path(self.path)
    }
}

impl<'a> Scan<'a> {
    /// Opens the first input that has one, so that the header is known.
    pub(crate) fn new(population: &'a mut Population, watch: ProgressGate) -> Result<Scan<'a>> {
        let mut scan = Scan {
            population,
            watch,
            current: None,
            next_input: 0,
            buffer: Vec::new(),
            base: 0,
            rank: 0,
            header: Header::default(),
            bytes_before: 0,
            jumped: 0,
        };
        scan.open_next()?;
        Ok(scan)
    }

    pub(crate) fn header(&self) -> &[u8] {
        &self.header.bytes
    }

    /// The line with the names of the columns.
    pub(crate) fn names(&self) -> Option<HeaderLine<'_>> {
        HeaderLine::new(&self.header.bytes, &self.population.header)
    }

    pub(crate) fn format(&self) -> Format {
        self.population.format
    }

    pub(crate) fn rank(&self) -> u64 {
        self.rank
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        let bytes = self.bytes_before + self.current.as_ref().map_or(0, Records::bytes_read);
        bytes - self.jumped
    }

    /// The start of the next record, if it is in a file that can be read at any offset.
    pub(crate) fn checkpoint(&self) -> Option<Checkpoint> {
        let input = self.next_input.checked_sub(1)?;
        let Source::File(_) = &self.population.inputs.get(input)?.source else { return None };
        let position = self.current.as_ref()?.position();
        Some(Checkpoint { input, position, rank: self.rank })
    }

    /// The number of bytes of the current input up to the next record.
    pub(crate) fn offset(&self) -> u64 {
        self.current.as_ref().map_or(0, |records| records.position().0)
    }

    /// Moves forward to a checkpoint, from which `piece` bytes are read at once, unless the bytes
    /// before it were read already.
    pub(crate) fn jump(&mut self, to: &Checkpoint, piece: usize) -> Result<()> {
        let from = self.next_input;
        while self.next_input <= to.input && self.current.is_some() {
            self.open_next()?;
        }
        let (Some(records), Some(input)) =
            (&mut self.current, self.population.inputs.get(to.input))
        else {
            return Ok(());
        };
        let (offset, read) = (to.position.0, records.bytes_read());
        let Source::File(file) = &input.source else { return Ok(()) };
        if self.next_input == from && offset <= read {
            return Ok(());
        }
        let reader = FileReader { offset, piece, ..FileReader::new(file) };
        let watch = self.watch.clone();
        watch.advance(offset.saturating_sub(read))?;
        records.continue_at(to.position, Box::new(ProgressReader { reader, watch }));
        self.jumped += offset.saturating_sub(read);
        self.bytes_before += read.saturating_sub(offset);
        self.rank = to.rank;
        Ok(())
    }

    /// Continues in the current input, if it is a file that can be read at any offset, behind a
    /// record that ends there with these two bytes.
    pub(crate) fn continue_at(&mut self, offset: u64, last_two: [u8; 2]) {
        let input = self.next_input.checked_sub(1).and_then(|at| self.population.inputs.get(at));
        let (Some(records), Some(Source::File(file))) =
            (&self.current, input.map(|input| &input.source))
        else {
            return;
        };
        self.bytes_before += records.bytes_read();
        let reader = FileReader { offset, ..FileReader::new(file) };
        self.continue_with(offset, last_two, Box::new(reader));
    }

    /// Continues in the current input, of which this is the rest behind a record that ends there
    /// with these two bytes.
    pub(crate) fn continue_with(
        &mut self,
        offset: u64,
        last_two: [u8; 2],
        reader: Box<dyn Read + Send>,
    ) {
        let Some(records) = &mut self.current else { return };
        self.jumped += offset;
        let watch = self.watch.clone();
        records.continue_at((offset, last_two), Box::new(ProgressReader { reader, watch }));
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<Scanned<'_>>> {
        let found = loop {
            let Some(records) = &mut self.current else { return Ok(None) };
            match records.find() {
                Ok(Some(found)) => break found,
                Ok(None) => self.open_next()?,
                Err(error) => return Err(self.named(error)),
            }
        };
        let rank = self.rank;
        self.rank += 1;
        let input = self.next_input - 1;
        let path = &self.population.inputs[input].path;
        Ok(self.current.as_ref().map(|records| {
            let BufferedRecord { offset, is_after_crlf, .. } = found;
            let bytes = records.bytes(&found);
            Scanned { rank, bytes, at: self.base + offset, input, path, offset, is_after_crlf }
        }))
    }

    /// Skips this many records; false if there are not as many.
    pub(crate) fn skip(&mut self, n: u64) -> Result<bool> {
        let mut left = n;
        while left > 0 {
            let Some(records) = &mut self.current else { return Ok(false) };
            let skipped = match records.skip(left) {
                Ok(skipped) => skipped,
                Err(error) => return Err(self.named(error)),
            };
            left -= skipped;
            self.rank += skipped;
            if left > 0 {
                self.open_next()?;
            }
        }
        Ok(true)
    }

    /// Moves forward to the record with this rank; false if there is none.
    pub(crate) fn go_to(&mut self, rank: u64) -> Result<bool> {
        self.skip(rank - self.rank)
    }

    fn named(&self, error: Error) -> Error {
        match self.next_input.checked_sub(1) {
            Some(input) => self.named_by(input, error),
            None => error,
        }
    }

    /// The error with the path of this input.
    pub(crate) fn named_by(&self, input: usize, error: Error) -> Error {
        match self.population.inputs.get(input) {
            Some(input) => error.with_path(&input.path),
            None => error,
        }
    }

    /// Continues with the next input that has more than a header, or with none.
    fn open_next(&mut self) -> Result<()> {
        loop {
            self.close();
            let Some(mut records) = self.open()? else { return Ok(()) };
            let is_begun = self.read_header(&mut records)?;
            self.current = Some(records);
            if is_begun {
                return Ok(());
            }
        }
    }

    fn close(&mut self) {
        if let Some(records) = self.current.take() {
            self.bytes_before += records.bytes_read();
            self.buffer = records.into_buffer();
        }
        let before = self.next_input.checked_sub(1).map(|i| &self.population.inputs[i].source);
        if let Some(Source::File(file)) = before {
            self.base += file.size;
        }
    }

    fn open(&mut self) -> Result<Option<Records<Box<dyn Read + Send>>>> {
        let Some(input) = self.population.inputs.get_mut(self.next_input) else { return Ok(None) };
        self.next_input += 1;
        let reader: Box<dyn Read + Send> = match &mut input.source {
            Source::File(file) => Box::new(FileReader::new(file)),
            Source::Compressed(file, encoding) => {
                let reader = decoded(*encoding, FileReader::new(file), self.population.format);
                reader.map_err(|e| Error::caused(ErrorKind::Io, "", e).with_path(&input.path))?
            }
            Source::Stream(stream) => stream.take().ok_or_else(|| {
                Error::new(ErrorKind::BadRequest, "passes by only once, and has been read")
                    .with_path(&input.path)
            })?,
        };
        let reader: Box<dyn Read + Send> =
            Box::new(ProgressReader { reader, watch: self.watch.clone() });
        let Population { format, max_record, .. } = *self.population;
        Ok(Some(Records::new(reader, format, max_record, mem::take(&mut self.buffer))))
    }

    /// Whether the input may have records: one that requires a header and has none is empty.
    fn read_header(&mut self, records: &mut Records<Box<dyn Read + Send>>) -> Result<bool> {
        let Population { format, mixed_headers, ref header, ref inputs, .. } = *self.population;
        let header = records.header(header).map_err(|error| self.named(error))?;
        let Some(header) = header else { return Ok(false) };
        let path = &inputs[self.next_input - 1].path;
        if self.header.bytes.is_empty() || !mixed_headers {
            let added = self.header.add(path, &header, format);
            added.map_err(|error| error.with_path(path))?;
        }
        Ok(true)
    }
}

/// A file from its start to where it ended when it was opened, independent of other readers.
pub(crate) struct FileReader {
    file: Arc<Handle>,
    offset: u64,
    end: u64,
    /// The most bytes that are read at once.
    piece: usize,
}

impl FileReader {
    pub(crate) fn new(file: &PlainFile) -> FileReader {
        FileReader { file: Arc::clone(&file.handle), offset: 0, end: file.size, piece: usize::MAX }
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = buffer.len().min(self.piece).min((self.end - self.offset) as usize);
        let n = self.file.read_at(&mut buffer[..left], self.offset)?;
        self.offset += n as u64;
        Ok(n)
    }
}
