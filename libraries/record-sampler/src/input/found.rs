//! The layout of inputs: what the caller chooses, and what their names and first bytes show.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::compressed::{FailedReader, decoded};
use super::{FileReader, Population, ReadAt, Source, without_bom};
use crate::format::{
    START_BYTES, header_delimiter, kind_of_name, kind_of_start, parquet_refusal, separator_name,
};
use crate::{Error, ErrorKind, Format, FoundBy, HeaderRule, Layout, Result};

/// The layout of inputs as far as the caller chooses it. The rest is found out:
///
/// * The format by the endings of the names, also behind `.gz`, `.zst` and `.br`: `.csv`, `.tsv`,
///   `.jsonl`, `.ndjson`, `.vcf`, `.sam`, `.tped`, `.hmp.txt`, `.hapmap`, `.fastq`, `.fq`,
///   `.fasta`, `.fa`, `.fna`, `.faa`, `.gff`, `.gff3`, `.gtf`, and `.bed`. A file of the last one
///   is PLINK if it begins as PLINK does, and else text.
/// * The format of a file with another name by its first bytes, where they are those of VCF, GFF,
///   SAM, `HapMap` or PLINK. All others, and streams without such a name, are lines.
/// * The header, by the format: see [`Layout`].
/// * The delimiter of CSV with a header, if that has semicolons, tabs or vertical bars, and neither
///   a comma nor another one of these.
///
/// What is not text, such as UTF-16, Arrow or an archive, is an error, which names the command that
/// makes text of it.
///
/// ```
/// use record_sampler::{Format, HeaderRule, LayoutChoice, Sampler};
/// # let dir = std::env::temp_dir().join(format!("found-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("people.csv");
/// std::fs::write(&path, "name;motto\nAda;\"two\nlines\"\n").unwrap();
/// let (mut population, layout) = LayoutChoice::default().open([&path])?;
/// assert_eq!(layout.format, Format::Csv { delimiter: b';' });
/// assert_eq!(layout.header, HeaderRule::Record);
/// assert!(layout.note.unwrap().ends_with("are separated by a semicolon, as its header shows"));
/// assert_eq!(Sampler::exactly(1).records(&mut population)?, [b"Ada;\"two\nlines\"\n"]);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutChoice {
    name: Option<String>,
    records: Option<Format>,
    delimiter: Option<u8>,
    header: Option<HeaderRule>,
}

impl LayoutChoice {
    /// The format of this name: see [`Layout`].
    ///
    /// ```
    /// use record_sampler::{Format, LayoutChoice};
    /// let layout = LayoutChoice::named("lines").find(["people.csv"])?;
    /// assert_eq!(layout.format, Format::Lines);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn named(name: impl Into<String>) -> LayoutChoice {
        LayoutChoice { name: Some(name.into()), ..LayoutChoice::default() }
    }

    /// These records, without a header.
    ///
    /// ```
    /// use record_sampler::{Format, LayoutChoice};
    /// let zero = Format::Separated { separator: 0 };
    /// assert_eq!(LayoutChoice::from_format(zero).find(["people.csv"])?.format, zero);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn from_format(format: Format) -> LayoutChoice {
        LayoutChoice { records: Some(format), ..LayoutChoice::default() }
    }

    /// The fields of CSV have this separator. Files whose names and first bytes say nothing are
    /// CSV then.
    ///
    /// ```
    /// use record_sampler::{Format, LayoutChoice};
    /// let choice = LayoutChoice::default().with_delimiter(b'|');
    /// assert_eq!(choice.find(["Cargo.toml"])?.format, Format::Csv { delimiter: b'|' });
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_delimiter(mut self, delimiter: u8) -> LayoutChoice {
        self.delimiter = Some(delimiter);
        self
    }

    /// The header is this one, whatever the format is.
    ///
    /// ```
    /// use record_sampler::{HeaderRule, LayoutChoice};
    /// let choice = LayoutChoice::named("csv").with_header_rule(HeaderRule::None);
    /// assert_eq!(choice.find(["people.csv"])?.header, HeaderRule::None);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_header_rule(mut self, rule: HeaderRule) -> LayoutChoice {
        self.header = Some(rule);
        self
    }

    /// The layout of these files. They are opened only if something is to be found out.
    ///
    /// ```
    /// use record_sampler::LayoutChoice;
    /// assert_eq!(LayoutChoice::default().find(["Cargo.toml"])?.name, "lines");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn find<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<Layout> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        if let Some(layout) = self.chosen(paths.first().map(PathBuf::as_path))? {
            let layout = self.applied(layout)?;
            if !self.is_guessed(&layout) {
                return Ok(layout);
            }
        }
        self.open(&paths).map(|(_, layout)| layout)
    }

    /// Opens files, as [`Population::open`] does, with their layout.
    ///
    /// ```
    /// use record_sampler::{LayoutChoice, Sampler};
    /// let (mut population, _) = LayoutChoice::default().open(["Cargo.toml"])?;
    /// assert_eq!(Sampler::exactly(2).records(&mut population)?.len(), 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn open<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<(Population, Layout)> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        let chosen = self.chosen(paths.first().map(PathBuf::as_path))?;
        let format = chosen.as_ref().map_or(Format::Lines, |layout| layout.format);
        self.settled(Population::open(&paths, format)?, chosen)
    }

    /// Files of other machines, as in [`Population::open_remote`], with their layout.
    ///
    /// ```
    /// use record_sampler::{LayoutChoice, ReadAt};
    /// let files: [(&str, Box<dyn ReadAt>); 0] = [];
    /// let (_, layout) = LayoutChoice::default().open_remote(files)?;
    /// assert_eq!(layout.name, "lines");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn open_remote(
        &self,
        files: impl IntoIterator<Item = (impl Into<PathBuf>, Box<dyn ReadAt>)>,
    ) -> Result<(Population, Layout)> {
        let files = files.into_iter().map(|(name, file)| (name.into(), file));
        let files: Vec<(PathBuf, Box<dyn ReadAt>)> = files.collect();
        let chosen = self.chosen(files.first().map(|(name, _)| name.as_path()))?;
        let format = chosen.as_ref().map_or(Format::Lines, |layout| layout.format);
        self.settled(Population::open_remote(files, format)?, chosen)
    }

    /// A file that is open already, as in [`Population::from_file`], with its layout. Its name says
    /// nothing, nor do its first bytes: it is lines, unless a format is chosen.
    ///
    /// ```
    /// use record_sampler::LayoutChoice;
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// let (_, layout) = LayoutChoice::default().open_file("standard input", file)?;
    /// assert_eq!(layout.name, "lines");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_file(&self, name: impl Into<PathBuf>, file: File) -> Result<(Population, Layout)> {
        let layout = match self.chosen(None)? {
            Some(layout) => layout,
            None => Layout::named(self.unknown(), None)?,
        };
        self.settled(Population::from_file(name, file, layout.format)?, Some(layout))
    }

    /// Inputs that can be read only once, with their names, and their layout. Of a URL the query is
    /// no part of the name.
    ///
    /// ```
    /// use std::io::Read;
    ///
    /// use record_sampler::{LayoutChoice, Sampler};
    /// let reader: Box<dyn Read + Send> = Box::new(&b"id|note\n1|\"two\nlines\"\n"[..]);
    /// let inputs = [("https://host/a.csv?x=1".into(), reader)];
    /// let (mut population, layout) = LayoutChoice::default().open_streams(inputs)?;
    /// assert_eq!(layout.name, "csv");
    /// assert_eq!(Sampler::exactly(1).records(&mut population)?, [b"1|\"two\nlines\"\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn open_streams(
        &self,
        inputs: impl IntoIterator<Item = (PathBuf, Box<dyn Read + Send>)>,
    ) -> Result<(Population, Layout)> {
        let inputs: Vec<(PathBuf, Box<dyn Read + Send>)> = inputs.into_iter().collect();
        let chosen = self.chosen(inputs.first().map(|(name, _)| name.as_path()))?;
        let format = chosen.as_ref().map_or(Format::Lines, |layout| layout.format);
        let mut population = Population::open([""; 0], format)?;
        for (name, reader) in inputs {
            population.push_stream(name, reader);
        }
        self.settled(population, chosen)
    }
}

impl LayoutChoice {
    /// The layout, if the caller has chosen the format.
    fn chosen(&self, first: Option<&Path>) -> Result<Option<Layout>> {
        match (self.records, &self.name) {
            (Some(format), _) => {
                let (name, header) = (String::new(), HeaderRule::None);
                Ok(Some(Layout { name, format, header, note: None }))
            }
            (None, Some(name)) => Layout::named(name, first).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The format of a file of which nothing is known.
    fn unknown(&self) -> &'static str {
        if self.delimiter.is_some() { "csv" } else { "lines" }
    }

    /// The layout with the chosen delimiter and header.
    fn applied(&self, mut layout: Layout) -> Result<Layout> {
        if let Some(delimiter) = self.delimiter {
            let Format::Csv { .. } = layout.format else {
                let text = "only csv and tsv have a delimiter";
                return Err(Error::new(ErrorKind::BadRequest, text));
            };
            layout.format = Format::Csv { delimiter };
        }
        if let Some(header) = &self.header {
            layout.header = header.clone();
        }
        Ok(layout)
    }

    /// Whether the header shows the delimiter.
    fn is_guessed(&self, layout: &Layout) -> bool {
        self.delimiter.is_none() && layout.name == "csv" && layout.header == HeaderRule::Record
    }

    fn settled(
        &self,
        mut population: Population,
        chosen: Option<Layout>,
    ) -> Result<(Population, Layout)> {
        let layout = match chosen {
            Some(layout) => layout,
            None => self.found(&mut population)?,
        };
        let mut layout = self.applied(layout)?;
        if self.is_guessed(&layout) {
            guess(&mut population, &mut layout)?;
        }
        layout.format.check()?;
        population.format = layout.format;
        population.header = layout.header.clone();
        Ok((population, layout))
    }

    /// The layout of all inputs, whose formats must be the same.
    fn found(&self, population: &mut Population) -> Result<Layout> {
        let mut all: Option<(&str, FoundBy, PathBuf)> = None;
        for number in 0..population.inputs.len() {
            let Some((kind, by)) = self.kind(population, number)? else { continue };
            let path = &population.inputs[number].path;
            match &all {
                Some((other, ..)) if *other == kind => {}
                Some((other, _, first)) => {
                    let first = first.display();
                    let text =
                        format!("is {kind}, and {first} is {other}: name the format of both");
                    return Err(Error::new(ErrorKind::BadRequest, text).with_path(path));
                }
                None => all = Some((kind, by, path.clone())),
            }
        }
        let Some((kind, by, path)) = all else { return Layout::named(self.unknown(), None) };
        if kind == "parquet" {
            return Err(parquet_refusal().with_path(&path));
        }
        let mut layout = Layout::named(kind, Some(&path))?;
        layout.note = by.note(&path, kind);
        Ok(layout)
    }

    /// The format of an input, and what showed it; none, if it is empty and its name says nothing.
    fn kind(
        &self,
        population: &mut Population,
        number: usize,
    ) -> Result<Option<(&'static str, FoundBy)>> {
        let input = &population.inputs[number];
        let named = kind_of_name(&input.path);
        let is_stream = matches!(input.source, Source::Stream(_));
        if !is_stream && matches!(named, None | Some("bed")) {
            let (found, is_empty) = if let Source::File(file) = &input.source {
                (file.start_kind, file.size == 0)
            } else {
                let start = population.peek(number, &|start| start.len() >= START_BYTES)?;
                (kind_of_start(&start), start.is_empty())
            };
            if let Some(found) = found.filter(|found| named.is_none() || *found == "plink-bed") {
                return Ok(Some((found, FoundBy::Content)));
            }
            if named.is_none() && is_empty {
                return Ok(None);
            }
        }
        Ok(Some((named.unwrap_or(self.unknown()), FoundBy::Name)))
    }
}

/// Sets the delimiter that the first header shows.
fn guess(population: &mut Population, layout: &mut Layout) -> Result<()> {
    const MOST_BYTES: usize = 64 << 10;
    for number in 0..population.inputs.len() {
        let is_enough = |start: &[u8]| start.contains(&b'\n') || start.len() >= MOST_BYTES;
        let start = population.peek(number, &is_enough)?;
        if start.is_empty() {
            continue;
        }
        let found = header_delimiter(without_bom(&start)).filter(|found| *found != b',');
        if let Some(delimiter) = found {
            layout.format = Format::Csv { delimiter };
            let path = population.inputs[number].path.display();
            let name = separator_name(delimiter);
            let text =
                format!("the fields of {path} are separated by a {name}, as its header shows");
            layout.note = Some(text);
        }
        break;
    }
    Ok(())
}

impl Population {
    /// The first bytes of an input, decoded, until they are enough, or all that it has. What cannot
    /// be read is an error when the records are.
    fn peek(&mut self, number: usize, is_enough: &dyn Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
        let format = self.format;
        let input = &mut self.inputs[number];
        let (start, next) = match &mut input.source {
            Source::File(file) => start_of(&mut FileReader::new(file), is_enough),
            Source::Compressed(file, encoding) => {
                match decoded(*encoding, FileReader::new(file), format) {
                    Ok(mut reader) => start_of(&mut *reader, is_enough),
                    Err(error) => (Vec::new(), Err(error)),
                }
            }
            Source::Stream(stream) => {
                let Some(mut reader) = stream.take() else { return Ok(Vec::new()) };
                let (start, next) = start_of(&mut *reader, is_enough);
                let whole = io::Cursor::new(start.clone());
                let again: Box<dyn Read + Send> = match next {
                    Ok(true) => Box::new(whole.chain(reader)),
                    Ok(false) => Box::new(whole),
                    Err(error) => Box::new(whole.chain(FailedReader(Some(error)))),
                };
                *stream = Some(again);
                return Ok(start);
            }
        };
        match next.map_err(io::Error::downcast::<Error>) {
            Err(Ok(own)) => Err(own.with_path(&input.path)),
            _ => Ok(start),
        }
    }
}

/// The first bytes of a reader, until they are enough; and whether there may be more.
fn start_of(
    reader: &mut dyn Read,
    is_enough: &dyn Fn(&[u8]) -> bool,
) -> (Vec<u8>, io::Result<bool>) {
    const AT_ONCE: usize = 4096;
    let mut start = Vec::new();
    while !is_enough(&start) {
        let from = start.len();
        start.resize(from + AT_ONCE, 0);
        let read = reader.read(&mut start[from..]);
        start.truncate(from + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return (start, Ok(false)),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return (start, Err(error)),
            _ => {}
        }
    }
    (start, Ok(true))
}
