//! Samples of parts that other processes read: sketches that are merged, or ranks of counted
//! records.

use std::io::Read;

use super::{Amount, Sampler, Stats, Weight};
use crate::draw::check_weight;
use crate::fetch::FetchMethod;
use crate::input::{HeaderLine, Picker, Population, Scan, Scanned};
use crate::part::{Part, PartScan, completed};
use crate::random_access;
use crate::shuffle::random_order;
use crate::sink::{Place, Sink};
use crate::sketch::{FileKeys, Sketch, SketchRequest};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

impl Sampler {
    /// Draws the sample that sketches of parts give when they are merged. It differs from the
    /// sample without this option. See [`sketch`](Self::sketch).
    ///
    /// ```
    /// use record_sampler::{Format, Part, Population, Sampler};
    /// let sampler = Sampler::exactly(5).seed(1);
    /// let sketch = sampler.sketch(&Part::new(0, "Cargo.toml", Format::Lines))?;
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// assert_eq!(sampler.mergeable().records(&mut population)?, sketch.records()?);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn mergeable(mut self) -> Sampler {
        self.is_mergeable = true;
        self
    }

    /// The sample of a part, which can be merged with those of the other parts: on one machine or
    /// many, in any order. There are `n` records of each stratum, if there are strata; with
    /// [`stratified_by`](Self::stratified_by) as well until all sketches are merged, as the shares
    /// of strata follow from the number of all records.
    ///
    /// ```
    /// use record_sampler::{Format, Part, Sampler};
    /// let sampler = Sampler::exactly(5).seed(1);
    /// let part = |from, to| Part::new(0, "Cargo.toml", Format::Lines).range(from, to);
    /// let halves = sampler.sketch(&part(0, 500))?.merge(sampler.sketch(&part(500, u64::MAX))?)?;
    /// let whole = sampler.sketch(&part(0, u64::MAX))?;
    /// assert_eq!(halves.records()?, whole.records()?);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn sketch(&self, part: &Part) -> Result<Sketch> {
        let request = self.request_of_part(part)?;
        let mut population = part.open()?;
        let sketched = self.sketch_part(request, part, &mut population);
        let sketched = sketched.map_err(|error| error.with_path(&part.path));
        population.unless_changed(sketched).map(|(sketch, _)| sketch)
    }

    /// The same for a file whose bytes come from this reader, such as an object of a bucket, as for
    /// [`Part::count_stream`]: the sample of many objects needs a reader for each, and nothing in
    /// common but sketches.
    ///
    /// ```
    /// use record_sampler::{Format, Part, Sampler};
    /// let sampler = Sampler::exactly(5).seed(1);
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// let by_reader = Part::new(0, "s3://bucket/Cargo.toml", Format::Lines);
    /// let by_path = Part::new(0, "Cargo.toml", Format::Lines);
    /// let sketch = sampler.sketch_stream(&by_reader, file)?;
    /// assert_eq!(sketch.to_bytes(), sampler.sketch(&by_path)?.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sketch_stream(&self, part: &Part, reader: impl Read + Send + 'static) -> Result<Sketch> {
        let request = self.request_of_part(part)?;
        let sketched = self.sketch_part(request, part, &mut part.stream(reader)?);
        sketched.map_err(|error| error.with_path(&part.path))
    }

    fn request_of_part(&self, part: &Part) -> Result<SketchRequest> {
        if self.adds_probability {
            let text = "parts do not know all records, and so no probability of one";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        self.request(part.format, &part.header)
    }

    fn sketch_part(
        &self,
        request: SketchRequest,
        part: &Part,
        population: &mut Population,
    ) -> Result<Sketch> {
        let mut scan = PartScan::new(part, population, self.watch.clone())?;
        let mut sketcher = Sketcher::new(self, request, scan.names());
        sketcher.sketch.set_header(part.file, scan.header());
        let mut seen = 0;
        while let Some(record) = scan.next()? {
            sketcher.offer(&record, part.file)?;
            seen += 1;
        }
        sketcher.sketch.set_seen(seen);
        Ok(sketcher.sketch)
    }

    /// Draws the sample of the sketch of all inputs.
    pub(super) fn write_mergeable(
        &self,
        population: &mut Population,
        sink: &mut dyn Sink,
    ) -> Result<Stats> {
        let request = self.request(population.format, &population.header)?;
        let mut scan = Scan::new(population, self.watch.clone())?;
        sink.header(scan.header())?;
        let mut sketcher = Sketcher::new(self, request, scan.names());
        while let Some(record) = scan.next()? {
            let input = record.input;
            let offered = sketcher.offer(&record, input as u64);
            offered.map_err(|error| scan.named_by(input, error))?;
        }
        let (seen, bytes_read) = (scan.rank(), scan.bytes_read());
        sketcher.sketch.set_seen(seen);
        sink.set_probabilities(sketcher.sketch.probabilities());
        let mut records = sketcher.sketch.records()?;
        if self.is_shuffled {
            let order = random_order(records.len(), self.seed);
            records = order.map(|number| records[number]).collect();
        }
        for record in records {
            sink.piece(record)?;
            sink.end(Place { at: 0, len: record.len() as u64 }, false)?;
        }
        let reason = if self.is_mergeable {
            "each record has a number of its own, by which samples can be merged"
        } else {
            "a stream passes by once: the shares of its strata are known at its end"
        };
        let (method, reason) = (FetchMethod::Stream, reason.to_owned());
        Ok(Stats { seen: Some(seen), taken: 0, bytes_read, method, reason, note: None })
    }

    /// The ranks to fetch from each part, as `Sampler::write` draws them from all parts in this
    /// order: the records of all parts, fetched by them, are the same sample. `counts` are the
    /// numbers of records of the parts.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let sampler = Sampler::exactly(5).seed(1);
    /// let parts = population.parts(300)?;
    /// let counts: Vec<u64> = parts.iter().map(|part| part.count()).collect::<Result<_, _>>()?;
    /// let ranks = sampler.ranks(&counts)?;
    /// let fetched = parts.iter().zip(&ranks).map(|(part, ranks)| part.fetch(ranks));
    /// let fetched = fetched.collect::<Result<Vec<_>, _>>()?.concat();
    /// assert_eq!(fetched, sampler.records(&mut population)?);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn ranks(&self, counts: &[u64]) -> Result<Vec<Vec<u64>>> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        self.check_amount()?;
        self.check_choices()?;
        let is_by_column = self.weight.is_some() || self.key.is_some() || self.groups.is_some();
        if is_by_column || self.is_mergeable {
            return bad(
                "ranks are drawn without columns; weights and strata are drawn by sketches",
            );
        }
        if self.is_shuffled {
            return bad("ranks are in the order of the files: shuffle the records");
        }
        if self.adds_probability {
            return bad("parts do not know all records, and so no probability of one");
        }
        if matches!(self.method, FetchMethod::Stream | FetchMethod::Probe { .. }) {
            return bad("a stream and probing draw without counting, and so without ranks");
        }
        let total = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        let Some(total) = total else { return bad("the counts exceed 64 bits") };
        let (ranks, _) = random_access::ranks(self, total)?;
        let mut parts = vec![Vec::new(); counts.len()];
        let (mut part, mut base) = (0, 0);
        for rank in ranks {
            while rank - base >= counts[part] {
                base += counts[part];
                part += 1;
            }
            parts[part].push(rank - base);
        }
        Ok(parts)
    }

    /// It is an error if a sketch cannot be made of this request.
    pub(crate) fn request(&self, format: Format, header: &HeaderRule) -> Result<SketchRequest> {
        self.check_mergeable()?;
        let (n, is_exact) = match self.amount {
            Amount::Exactly(n) => (n, true),
            Amount::AtMost(n) => (n, false),
            Amount::Share(_) => unreachable!("checked before"),
        };
        let weight = match &self.weight {
            Some(Weight::Column(column)) => Some(column.clone()),
            _ => None,
        };
        let Sampler { seed, is_proportional, .. } = *self;
        let (key, header) = (self.key.clone(), header.clone());
        Ok(SketchRequest { n, is_exact, is_proportional, seed, weight, key, format, header })
    }

    pub(super) fn check_mergeable(&self) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        self.check_amount()?;
        if matches!(self.amount, Amount::Share(_)) {
            return bad("a sample that can be merged has a number of records, not a probability");
        }
        if self.is_proportional {
            self.check_choices()?;
        }
        let is_in_groups = self.groups.is_some() || self.share.is_some();
        if self.with_replacement || self.is_inverted || self.is_systematic || is_in_groups {
            return bad("a sample that can be merged is drawn plainly, by weight or per stratum");
        }
        if let Some(Weight::Function(_)) = self.weight {
            return bad("samples can be merged only if their weights are a column");
        }
        if !matches!(self.method, FetchMethod::Auto | FetchMethod::Stream) || self.keeps_index {
            return bad("a sample that can be merged is drawn in one pass, without an index");
        }
        Ok(())
    }
}

/// Makes a sketch of records.
struct Sketcher<'a> {
    sampler: &'a Sampler,
    sketch: Sketch,
    format: Format,
    /// The line that names the columns.
    names: Option<Vec<u8>>,
    /// Looked up at the first record: a file without records has no columns.
    pickers: Option<Pickers>,
    /// Those of the file that is being read.
    keys: Option<(u64, FileKeys)>,
}

#[derive(Default)]
struct Pickers {
    weight: Option<Picker>,
    key: Option<Picker>,
}

impl<'a> Sketcher<'a> {
    fn new(
        sampler: &'a Sampler,
        request: SketchRequest,
        names: Option<HeaderLine<'_>>,
    ) -> Sketcher<'a> {
        let format = request.format;
        let names = names.map(|HeaderLine(line)| line.to_vec());
        let sketch = Sketch::new(request);
        Sketcher { sampler, sketch, format, names, pickers: None, keys: None }
    }

    fn offer(&mut self, record: &Scanned<'_>, file: u64) -> Result<()> {
        if self.pickers.is_none() {
            self.pickers = Some(self.find_columns()?);
        }
        let Some(Pickers { weight, key }) = &self.pickers else { return Ok(()) };
        let here = |error: Error| error.in_record_at(record.offset);
        let weight = weight.as_ref().map_or(Ok(1.0), |picker| picker.weight(record.bytes));
        let weight = weight.and_then(|weight| check_weight(weight).map(|()| weight));
        let weight = weight.map_err(here)?;
        let key = key.as_ref().map(|picker| picker.key(record.bytes)).transpose().map_err(here)?;
        let keys = match &mut self.keys {
            Some((of, keys)) if *of == file => &*keys,
            keys => &keys.insert((file, FileKeys::new(self.sampler.seed, file))).1,
        };
        let format = self.format;
        let copy = || completed(record.bytes, record.is_after_crlf, format);
        self.sketch.offer(
            key.as_deref().unwrap_or_default(),
            weight,
            keys,
            (file, record.offset),
            copy,
        );
        Ok(())
    }

    fn find_columns(&self) -> Result<Pickers> {
        let names = self.names.as_deref().map(HeaderLine);
        let picker = |column| Picker::new(column, self.format, names);
        let weight = match &self.sampler.weight {
            Some(Weight::Column(column)) => Some(picker(column)?),
            _ => None,
        };
        let key = self.sampler.key.as_ref().map(picker).transpose()?;
        Ok(Pickers { weight, key })
    }
}
