//! How records are chosen and fetched.

use std::sync::Arc;

use super::{Sampler, Weight};
use crate::fetch::Method;
use crate::input::Column;
use crate::watch::Watch;

impl Sampler {
    /// Sets the seed, which is 0 by default.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let draw = |seed| {
    ///     let mut population = Population::open(["Cargo.toml"], Format::Lines).unwrap();
    ///     Sampler::exactly(5).seed(seed).records(&mut population).unwrap()
    /// };
    /// assert_eq!(draw(1), draw(1));
    /// assert_ne!(draw(1), draw(2));
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Sampler {
        self.seed = seed;
        self
    }

    /// Returns the records in random order instead of that of the population.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"abcdefghij"[..], Format::Fixed(1));
    /// let records = Sampler::exactly(10).shuffled().records(&mut population)?;
    /// assert!(!records.is_sorted());
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn shuffled(mut self) -> Sampler {
        self.is_shuffled = true;
        self
    }

    /// Sets the memory for records in random order, in bytes, instead of 256 MiB. What it does not
    /// hold is kept in a temporary file without a name, in the directory that `TMPDIR` names. The
    /// order does not depend on it.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let draw = |memory| {
    ///     let mut population = Population::open(["Cargo.toml"], Format::Lines).unwrap();
    ///     let sampler = Sampler::probability(1.0).shuffled().with_memory(memory);
    ///     sampler.records(&mut population).unwrap()
    /// };
    /// assert_eq!(draw(100), draw(1 << 20));
    /// ```
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Sampler {
        self.memory = bytes;
        self
    }

    /// Draws `n` records at equal distances, as nearly as whole numbers allow, from a random start.
    /// Each record has the same probability, but neighbours are never drawn together. The records
    /// must be counted, which is impossible for a stream.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// # let path = std::env::temp_dir().join(format!("systematic-{}", std::process::id()));
    /// std::fs::write(&path, b"0123456789").unwrap();
    /// let mut population = Population::open([&path], Format::Fixed(1))?;
    /// let drawn = Sampler::exactly(5).seed(2).systematic().records(&mut population)?.concat();
    /// assert!(drawn == b"02468" || drawn == b"13579");
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn systematic(mut self) -> Sampler {
        self.is_systematic = true;
        self
    }

    /// Returns the records that would not have been chosen.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let draw = |sampler: Sampler| {
    ///     let mut population = Population::open(["Cargo.toml"], Format::Lines).unwrap();
    ///     sampler.records(&mut population).unwrap().len()
    /// };
    /// let all = draw(Sampler::at_most(u64::MAX));
    /// assert_eq!(draw(Sampler::exactly(3).inverted()), all - 3);
    /// ```
    #[must_use]
    pub fn inverted(mut self) -> Sampler {
        self.is_inverted = true;
        self
    }

    /// Draws each of the `n` records from all of them.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"a\n"[..], Format::Lines);
    /// let records = Sampler::exactly(3).with_replacement().records(&mut population)?;
    /// assert_eq!(records, [b"a\n"; 3]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_replacement(mut self) -> Sampler {
        self.with_replacement = true;
        self
    }

    /// Chooses records as if one after the other, with probabilities proportional to the numbers in
    /// this column.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let text = "{\"w\": 0}\n{\"w\": 2.5}\n";
    /// let mut population = Population::stream(text.as_bytes(), Format::JsonLines);
    /// let records = Sampler::exactly(1).weighted_by("w").records(&mut population)?;
    /// assert_eq!(records, [b"{\"w\": 2.5}\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn weighted_by(mut self, column: impl Into<Column>) -> Sampler {
        self.weight = Some(Weight::Column(column.into()));
        self
    }

    /// As `weighted_by`, with weights that a function computes.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"short\n\nlonger\n"[..], Format::Lines);
    /// let weight = |line: &[u8]| line.len() as f64 - 1.0;
    /// let records = Sampler::exactly(2).weighted_with(weight).records(&mut population)?;
    /// assert_eq!(records, [&b"short\n"[..], b"longer\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn weighted_with(
        mut self,
        weight: impl Fn(&[u8]) -> f64 + Send + Sync + 'static,
    ) -> Sampler {
        self.weight = Some(Weight::Function(Arc::new(weight)));
        self
    }

    /// Draws this many records of each stratum: of the records with the same text in this column.
    /// With `probability`, that share of each stratum in whole records.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let text = "kind,n\na,1\na,2\nb,3\n";
    /// let population = Population::stream(text.as_bytes(), Format::Csv { delimiter: b',' });
    /// let sampler = Sampler::exactly(1).per("kind");
    /// assert_eq!(sampler.records(&mut population.with_header())?.len(), 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn per(mut self, column: impl Into<Column>) -> Sampler {
        self.key = Some(column.into());
        self
    }

    /// As [`per`](Self::per), with the number of records of all strata together: each stratum has
    /// its share of them in whole records, by the largest remainders. With
    /// [`split`](Self::split), each stratum is divided by the shares, and what is left of it at
    /// random.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// # let path = std::env::temp_dir().join(format!("stratified-{}", std::process::id()));
    /// std::fs::write(&path, "a,1\na,2\na,3\na,4\nb,5\nb,6\n").unwrap();
    /// let mut population = Population::open([&path], Format::Csv { delimiter: b',' })?;
    /// let sampler = Sampler::exactly(3).stratified_by(record_sampler::Column::Number(1));
    /// let records = sampler.records(&mut population)?;
    /// assert_eq!(records.iter().filter(|record| record.starts_with(b"a")).count(), 2);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn stratified_by(mut self, column: impl Into<Column>) -> Sampler {
        self.is_proportional = true;
        self.per(column)
    }

    /// Draws whole groups, each with all its records: of the records with the same text in this
    /// column. The number or probability is that of groups.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let text = "{\"user\": 1}\n{\"user\": 2}\n{\"user\": 1}\n";
    /// let mut population = Population::stream(text.as_bytes(), Format::JsonLines);
    /// let records = Sampler::probability(0.5).groups("user").records(&mut population)?;
    /// let of_the_first = records.iter().filter(|record| *record == b"{\"user\": 1}\n").count();
    /// assert!(of_the_first == 0 || of_the_first == 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn groups(mut self, column: impl Into<Column>) -> Sampler {
        self.groups = Some(column.into());
        self
    }

    /// Adds to each record the probability with which it is in the sample: to CSV as a last column,
    /// to JSON Lines as a last member, to lines behind a tab, named `inclusion_probability`. The
    /// sum of a value divided by it is an estimate of its total over all records without bias
    /// (Horvitz and Thompson, 1952). It is that of its stratum, or of its group. Records drawn by
    /// weight have probabilities without a closed form, and those drawn with replacement are not in
    /// a sample once: both are errors.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"{\"n\":1}\n{}\n"[..], Format::JsonLines);
    /// let records = Sampler::exactly(2).with_probability().records(&mut population)?;
    /// assert_eq!(records[0], b"{\"n\":1,\"inclusion_probability\":1}\n");
    /// assert_eq!(records[1], b"{\"inclusion_probability\":1}\n");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_probability(mut self) -> Sampler {
        self.adds_probability = true;
        self
    }

    /// Fetches the records by this method instead of the one with the least expected cost.
    ///
    /// ```
    /// use record_sampler::{Format, Method, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let sampler = Sampler::exactly(2).by(Method::Probe { min_len: 1 });
    /// assert_eq!(sampler.records(&mut population)?.len(), 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn by(mut self, method: Method) -> Sampler {
        self.method = method;
        self
    }

    /// Allows [`Method::Auto`] to map a file: faster for many records of a fixed size in a cached
    /// file. If another process truncates the file meanwhile, this one gets SIGBUS, which ends it
    /// unless it handles the signal.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Fixed(1))?;
    /// let sampler = Sampler::exactly(3).with_mapping();
    /// assert_eq!(sampler.records(&mut population)?.len(), 3);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_mapping(mut self) -> Sampler {
        self.may_map = true;
        self
    }

    /// Uses the index of a file of lines, `FILE.nlx`, and creates it if there is none that matches.
    ///
    /// ```
    /// # let dir = std::env::temp_dir().join(format!("index-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let file = dir.join("lines");
    /// use record_sampler::{Format, Population, Sampler};
    /// std::fs::write(&file, "a\nb\n".repeat(100_000)).unwrap();
    /// for expected in ["made", "used"] {
    ///     let mut population = Population::open([&file], Format::Lines)?;
    ///     let stats = Sampler::exactly(1).with_index().write(&mut population, &mut Vec::new())?;
    ///     assert!(stats.reason.contains(expected), "{}", stats.reason);
    /// }
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_index(mut self) -> Sampler {
        self.keeps_index = true;
        self
    }

    /// Calls this now and then with the number of further bytes processed; `false` ends the work
    /// with an error of the kind `Stopped`. Several threads may call it.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let error = Sampler::exactly(1).watched(|_| false).records(&mut population).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Stopped);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn watched(mut self, on_progress: impl Fn(u64) -> bool + Send + Sync + 'static) -> Sampler {
        self.watch = Watch(Some(Arc::new(on_progress)));
        self
    }
}
