//! Inputs: files that can be read at any offset, and streams that can be read only once.

mod column;
mod compressed;
mod found;
#[cfg(any(feature = "json", feature = "parquet"))]
mod key;
mod plain_file;
mod records;
mod remote;
mod scan;
mod window;

use std::fmt::Write;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::FileExt;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::format::{START_BYTES, kind_of_start};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};
pub use column::Column;
#[cfg(feature = "parquet")]
pub(crate) use column::weight;
pub(crate) use column::{HeaderLine, Picker};
use compressed::Encoding;
pub use found::LayoutChoice;
#[cfg(feature = "parquet")]
pub(crate) use key::{number_key, text_key};
use plain_file::Descriptors;
#[cfg(all(feature = "uring", target_os = "linux"))]
pub(crate) use plain_file::OpenFile;
#[cfg(all(feature = "uring", target_os = "linux"))]
pub(crate) use plain_file::read_exactly;
pub(crate) use plain_file::{
    Advice, BOM, Handle, PlainFile, advise, cached_share, digest, without_bom,
};
pub(crate) use records::{BufferedRecord, Header, Records};
pub use remote::ReadAt;
pub(crate) use scan::{Checkpoint, FileReader, Scan, Scanned};
pub(crate) use window::{
    AlignedBuffer, Density, FileAccess, FileWindow, PAGE_BYTES, fault_bytes, map, map_bytes,
};

/// The records to choose from: those of all inputs, in order.
///
/// ```
/// # let dir = std::env::temp_dir().join(format!("population-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let (a, b) = (dir.join("a"), dir.join("b"));
/// std::fs::write(&a, "1\n2\n").unwrap();
/// std::fs::write(&b, "3").unwrap();
/// use record_sampler::{Format, Population, Sampler};
/// let mut population = Population::open([&a, &b], Format::Lines)?;
/// let records = Sampler::exactly(3).records(&mut population)?;
/// assert_eq!(records, [&b"1\n"[..], b"2\n", b"3"]);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), record_sampler::Error>(())
/// ```
pub struct Population {
    pub(crate) format: Format,
    pub(crate) header: HeaderRule,
    /// Whether the headers may differ.
    pub(crate) mixed_headers: bool,
    /// The largest record that is held in memory.
    pub(crate) max_record: u64,
    pub(crate) inputs: Vec<Input>,
    descriptors: Descriptors,
}

/// A longer record is more often the result of a missing quote.
pub(crate) const MAX_RECORD: u64 = 64 << 20;

/// One file or stream.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) source: Source,
}

pub(crate) enum Source {
    File(PlainFile),
    /// A compressed file, which is read from start to end, and can be read again.
    Compressed(PlainFile, Encoding),
    /// Taken when it is read.
    Stream(Option<Box<dyn Read + Send>>),
}

impl std::fmt::Debug for Population {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths: Vec<&PathBuf> = self.inputs.iter().map(|input| &input.path).collect();
        f.debug_struct("Population")
            .field("format", &self.format)
            .field("header", &self.header)
            .field("mixed_headers", &self.mixed_headers)
            .field("max_record", &self.max_record)
            .field("inputs", &paths)
            .finish_non_exhaustive()
    }
}

impl Population {
    fn new(format: Format) -> Population {
        Population {
            format,
            header: HeaderRule::None,
            mixed_headers: false,
            max_record: MAX_RECORD,
            inputs: Vec::new(),
            descriptors: Descriptors::new(),
        }
    }

    /// Opens files. A regular file is read at any offset; one whose name ends in `.gz`, `.zst` or
    /// `.br` from start to end, and again if needed; a pipe, a device, or a file whose size is not
    /// that of its content, as in `/proc` and `/sys`, once from start to end. There may be more
    /// files than this process may have open.
    ///
    /// ```
    /// use record_sampler::{Format, Population};
    /// assert!(Population::open(["Cargo.toml"], Format::Lines).is_ok());
    /// assert!(Population::open(["/"], Format::Lines).is_err());
    /// ```
    pub fn open<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        format: Format,
    ) -> Result<Population> {
        let mut population = Population::new(format);
        format.check()?;
        for path in paths {
            let path = path.as_ref();
            let input = population.open_input(path).map_err(|error| error.with_path(path))?;
            population.inputs.push(input);
        }
        Ok(population)
    }

    /// A file that is open already, such as a redirected standard input, from its start; the name
    /// is used in error messages. A file that is not regular is a stream.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// let mut population = Population::from_file("standard input", file, Format::Lines)?;
    /// let mut by_name = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let sampler = Sampler::exactly(3);
    /// assert_eq!(sampler.records(&mut population)?, sampler.records(&mut by_name)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_file(name: impl Into<PathBuf>, file: File, format: Format) -> Result<Population> {
        let mut population = Population::new(format);
        let path = name.into();
        let input = format.check().and_then(|()| population.input(&path, file, true));
        population.inputs.push(input.map_err(|error| error.with_path(&path))?);
        Ok(population)
    }

    fn open_input(&self, path: &Path) -> Result<Input> {
        let file = File::open(path).map_err(|error| Error::caused(ErrorKind::Io, "", error))?;
        self.input(path, file, false)
    }

    /// A file without a path can be opened neither again nor beside an index.
    fn input(&self, path: &Path, file: File, has_no_path: bool) -> Result<Input> {
        let io = |error| Error::caused(ErrorKind::Io, "", error);
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            return Err(Error::new(ErrorKind::BadRequest, "is a directory"));
        }
        let format = self.format;
        let named = Encoding::from_path(path);
        let source = if metadata.is_file() && !has_no_size(&file, &metadata) {
            let held = self.descriptors.hold(&file, metadata.len());
            // Records of a fixed size may begin with any bytes.
            let is_examined = named.is_some() || format.is_text();
            let mut buffer = [0; START_BYTES];
            let start: &[u8] = match &held {
                _ if !is_examined => &[],
                Some(held) => &held[..held.len().min(START_BYTES)],
                None => first_bytes(&file, &mut buffer),
            };
            let encoding = match named {
                Some(encoding) => {
                    compressed::check_name(encoding, start, format)?;
                    named
                }
                None if is_examined => compressed::encoding(start, format)?,
                None => None,
            };
            let start_kind = kind_of_start(start);
            let path = (!has_no_path).then_some(path);
            let mut file = PlainFile::new(file, path, &metadata, held, &self.descriptors);
            file.start_kind = start_kind;
            match encoding {
                Some(encoding) => Source::Compressed(file, encoding),
                None => Source::File(file),
            }
        } else {
            Source::Stream(Some(match named {
                Some(encoding) => compressed::decoded(encoding, file, format).map_err(io)?,
                None => stream_reader(file, format),
            }))
        };
        Ok(Input { path: path.to_owned(), source })
    }

    /// Files of other machines, with their names for messages, which are read at any offset. Lines
    /// are fetched by few reads only if each file has an index ([`ReadAt::index`]); without
    /// [`Sampler::with_index`](crate::Sampler::with_index) all bytes are counted first. They cannot
    /// be compressed or mapped, and have no parts.
    ///
    /// ```
    /// use record_sampler::{Format, Population, ReadAt};
    /// let files: [(&str, Box<dyn ReadAt>); 0] = [];
    /// assert!(Population::open_remote(files, Format::Lines).is_ok());
    /// ```
    pub fn open_remote(
        files: impl IntoIterator<Item = (impl Into<PathBuf>, Box<dyn ReadAt>)>,
        format: Format,
    ) -> Result<Population> {
        let mut population = Population::new(format);
        format.check()?;
        for (name, file) in files {
            let path = name.into();
            if Encoding::from_path(&path).is_some() {
                let text = "is compressed, and is read from its start";
                return Err(Error::new(ErrorKind::BadRequest, text).with_path(&path));
            }
            let source = Source::File(PlainFile::remote(file));
            population.inputs.push(Input { path, source });
        }
        Ok(population)
    }

    /// A population that can be read only once.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"abcdef"[..], Format::Fixed(2));
    /// assert_eq!(Sampler::exactly(3).records(&mut population)?, [b"ab", b"cd", b"ef"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn stream(reader: impl Read + Send + 'static, format: Format) -> Population {
        let mut population = Population::new(format);
        population.push_stream("-", reader);
        population
    }

    /// Adds an input that can be read only once; the name is used in error messages.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"a\n"[..], Format::Lines);
    /// population.push_stream("second", &b"b\n"[..]);
    /// assert_eq!(Sampler::exactly(2).records(&mut population)?, [b"a\n", b"b\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn push_stream(&mut self, name: impl Into<PathBuf>, reader: impl Read + Send + 'static) {
        let source = Source::Stream(Some(stream_reader(reader, self.format)));
        self.inputs.push(Input { path: name.into(), source });
    }

    /// The first record of each input is a header, not part of the population. The header of the
    /// first input is written before the records. Different headers are an error of the kind
    /// `MixedHeaders`; an input without any record has no header.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let population = Population::stream(&b"name\nAda\n"[..], Format::Lines);
    /// let mut out = Vec::new();
    /// Sampler::exactly(1).write(&mut population.with_header(), &mut out)?;
    /// assert_eq!(out, b"name\nAda\n");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_header(self) -> Population {
        self.with_header_rule(HeaderRule::Record)
    }

    /// Like [`with_header`](Self::with_header), for a header that is not the first record. If the
    /// format cannot have it, drawing a sample is an error.
    ///
    /// ```
    /// use record_sampler::{Format, HeaderRule, Population, Sampler};
    /// let population = Population::stream(&b"made by me\nname\nAda\n"[..], Format::Lines);
    /// let mut population = population.with_header_rule(HeaderRule::Lines(2));
    /// assert_eq!(Sampler::exactly(1).records(&mut population)?, [b"Ada\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_header_rule(mut self, rule: HeaderRule) -> Population {
        self.header = rule;
        self
    }

    /// Like [`with_header`](Self::with_header), unless there is another rule, but the headers may
    /// differ: columns are found in the first one.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let population = || {
    ///     let mut population = Population::stream(&b"a,b\n1,2\n"[..], Format::Csv { delimiter: b',' });
    ///     population.push_stream("second", &b"a,c\n3,4\n"[..]);
    ///     population
    /// };
    /// let all = Sampler::at_most(9);
    /// let error = all.records(&mut population().with_header()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::MixedHeaders);
    /// assert_eq!(all.records(&mut population().with_mixed_headers())?, [b"1,2\n", b"3,4\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_mixed_headers(mut self) -> Population {
        self.mixed_headers = true;
        if self.header.is_none() { self.with_header() } else { self }
    }

    /// Sets the largest record that is held in memory, in bytes, instead of 64 MiB: a larger one is
    /// an error of the kind `TooLarge`. It applies to every record of CSV, as a stray quote turns
    /// all that follows into one record; and to those of lines and JSON Lines that are chosen from
    /// a stream, or examined for a key or a weight: otherwise lines of a file are copied in pieces,
    /// unless it is of JSON Lines and has blank ones.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let text = "1,a stray\n2,\"quote\n3,b\n4,c\n";
    /// let population = Population::stream(text.as_bytes(), Format::Csv { delimiter: b',' });
    /// let error = Sampler::at_most(9).records(&mut population.with_max_record(10)).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TooLarge);
    /// ```
    #[must_use]
    pub fn with_max_record(mut self, bytes: u64) -> Population {
        self.max_record = bytes;
        self
    }

    /// The files, if each input is one that can be read at any offset.
    pub(crate) fn files(&self) -> Option<Vec<&PlainFile>> {
        let files = self.inputs.iter().map(|input| match &input.source {
            Source::File(file) => Some(file),
            Source::Compressed(..) | Source::Stream(_) => None,
        });
        files.collect()
    }

    /// Whether some of the files are of another machine.
    pub(crate) fn has_remote_files(&self) -> bool {
        let files = self.files().unwrap_or_default();
        files.iter().any(|file| file.handle.remote().is_some())
    }

    /// Whether each input is a plain file that has a path, or is of another machine.
    pub(crate) fn may_have_indexes(&self) -> bool {
        let may = |file: &&PlainFile| file.handle.has_path() || file.handle.remote().is_some();
        self.files().is_some_and(|files| files.iter().all(may))
    }

    /// Whether all records can be read more than once.
    pub(crate) fn can_be_reread(&self) -> bool {
        self.inputs.iter().all(|input| !matches!(input.source, Source::Stream(_)))
    }

    /// Results from a file that has changed meanwhile are meaningless, whether a sample or an
    /// error. Returns a note as well, if a file has grown.
    pub(crate) fn unless_changed<T>(&self, result: Result<T>) -> Result<(T, Option<String>)> {
        let is_finding = |error: &Error| {
            !matches!(error.kind(), ErrorKind::Io | ErrorKind::Write | ErrorKind::Stopped)
        };
        let result = match result {
            Err(error) if !is_finding(&error) => return Err(error),
            result => result,
        };
        let note = self.check_unchanged()?;
        result.map(|value| (value, Some(note).filter(|note| !note.is_empty())))
    }

    /// Verifies that no file has changed since it was opened, except by bytes that were appended:
    /// they are not part of the population. Returns a note about them.
    pub(crate) fn check_unchanged(&self) -> Result<String> {
        let mut note = String::new();
        for input in &self.inputs {
            if let Source::File(file) | Source::Compressed(file, _) = &input.source {
                let growth = file.growth().map_err(|error| error.with_path(&input.path))?;
                if growth > 0 {
                    let name = input.path.display();
                    let comma = if note.is_empty() { "" } else { "; " };
                    let _ = write!(
                        note,
                        "{comma}{name} has grown by {growth} bytes, which are left out"
                    );
                }
            }
        }
        Ok(note)
    }
}

/// The first bytes of a file. One that cannot be read is an error when its records are read.
fn first_bytes<'a>(file: &File, buffer: &'a mut [u8]) -> &'a [u8] {
    let len = file.read_at(buffer, 0).unwrap_or(0);
    &buffer[..len]
}

/// Records of a fixed size may begin with any bytes; text may be compressed.
fn stream_reader(reader: impl Read + Send + 'static, format: Format) -> Box<dyn Read + Send> {
    if format.is_text() { compressed::sniffed(reader, format) } else { Box::new(reader) }
}

/// Whether the size of a file says nothing about its content, as in `/proc`, where it is 0, and in
/// `/sys`, where it is that of a page. File systems of the kernel have no device, nor have those in
/// memory or in a network, whose sizes are right: so the last byte is read. Some files of the size
/// 0 lose what is read.
#[cfg(target_os = "linux")]
fn has_no_size(file: &File, metadata: &Metadata) -> bool {
    if rustix::fs::major(metadata.dev()) != 0 {
        return false;
    }
    let last = metadata.len().checked_sub(1);
    // A file that cannot be read is an error when its records are read.
    last.is_none_or(|last| file.read_at(&mut [0], last).is_ok_and(|read| read == 0))
}

/// Other systems have no such files.
#[cfg(not(target_os = "linux"))]
fn has_no_size(_: &File, _: &Metadata) -> bool {
    false
}
