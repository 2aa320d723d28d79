//! The run that grows while a file is read, and the formats of files. No two cells have a round in
//! common, as their methods did not take turns: so nothing can be concluded from a pairing that did
//! not exist.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use model::facts::digest;
use model::metric;
use model::param::{self, Point};
use model::run::{Cell, Environment, Imported, Plan, Run, SCHEMA, Sample, Status, Warning};
use serde_json::Value;

/// More cells make pages that are too long to read.
pub(super) const CELLS_MAX: usize = 10_000;

/// A store cannot write more samples in a reasonable time.
const SAMPLES_MAX: u32 = 50_000_000;

/// A column of a metric is as long as its cell. fio may have 78 for the three kinds of latency.
const METRICS_MAX: usize = 128;

pub(super) struct Draft {
    format: ImportFormat,
    tool: String,
    cells: Vec<Cell>,
    known: HashMap<(String, Point), usize>,
    /// The last number that was appended to a repeated name.
    numbers: HashMap<String, u32>,
    facts: Vec<(&'static str, Value)>,
    notes: Vec<Warning>,
    started: Option<String>,
    /// Samples so far, each of which is its own round.
    taken: u32,
}

/// One timed execution.
#[derive(Clone, Copy)]
pub(super) struct ImportedSample {
    pub(super) session: u32,
    pub(super) ops: u64,
    pub(super) bytes: u64,
}

/// One operation, in an unknown process.
pub(super) const ONE: ImportedSample = ImportedSample { session: 0, ops: 1, bytes: 0 };

impl Draft {
    pub(super) fn new(format: ImportFormat, tool: impl Into<String>) -> Draft {
        Draft {
            format,
            tool: tool.into(),
            cells: Vec::new(),
            known: HashMap::new(),
            numbers: HashMap::new(),
            facts: Vec::new(),
            notes: Vec::new(),
            started: None,
            taken: 0,
        }
    }

    /// The cell of a method at a point, which may already exist.
    pub(super) fn cell(&mut self, method: &str, point: Point) -> Result<usize> {
        if let Some(known) = self.known.get(&(method.to_owned(), point.clone())) {
            return Ok(*known);
        }
        self.add(method, point)
    }

    /// A separate cell; if the name is taken, a number is appended.
    pub(super) fn new_cell(&mut self, method: &str, point: Point) -> Result<usize> {
        let mut name = method.to_owned();
        let mut key = (name.clone(), point.clone());
        while self.known.contains_key(&key) {
            let n = self.numbers.entry(method.to_owned()).or_insert(1);
            *n += 1;
            name = format!("{method} #{n}");
            key.0.clone_from(&name);
        }
        if name != method {
            self.note(Some(&name), format!("the name {method:?} is there more than once"));
        }
        self.add(&name, point)
    }

    fn add(&mut self, method: &str, point: Point) -> Result<usize> {
        ensure!(!method.trim().is_empty(), "a method without a name, after {}", self.cells.len());
        ensure!(self.cells.len() < CELLS_MAX, "{}", too_many(method));
        let at = self.cells.len();
        self.known.insert((method.to_owned(), point.clone()), at);
        self.cells.push(Cell::new(method, point));
        Ok(at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The name of the cell's method, to which a number may have been appended.
    pub(super) fn method(&self, cell: usize) -> &str {
        &self.cells[cell].method
    }

    /// Sets the cell's one-line description.
    pub(super) fn about(&mut self, cell: usize, about: String) {
        self.cells[cell].about = about;
    }

    pub(super) fn status(&mut self, cell: usize, status: Status) {
        self.cells[cell].status = status;
    }

    /// Adds a sample; the values are per operation.
    pub(super) fn push<N: AsRef<str>>(
        &mut self,
        cell: usize,
        imported: ImportedSample,
        values: &[(N, f64)],
    ) -> Result<()> {
        ensure!(self.taken < SAMPLES_MAX, "more than {SAMPLES_MAX} samples");
        let ImportedSample { session, ops, bytes } = imported;
        let sample = Sample { session, round: self.taken, ops, bytes, ..Sample::default() };
        self.cells[cell].push(sample, values);
        let Cell { method, values, .. } = &self.cells[cell];
        ensure!(values.len() <= METRICS_MAX, "{method:?} has more than {METRICS_MAX} metrics");
        self.taken += 1;
        Ok(())
    }

    /// Adds a fact about the environment; the first value is kept.
    pub(super) fn fact(&mut self, name: &'static str, value: impl Into<Value>) {
        let value = value.into();
        if !value.is_null() && self.facts.iter().all(|(known, _)| *known != name) {
            self.facts.push((name, value));
        }
    }

    pub(super) fn note(&mut self, method: Option<&str>, text: String) {
        self.notes.push(Warning { method: method.map(str::to_owned), ..Warning::noted(text) });
    }

    /// Sets the start time: RFC 3339, UTC.
    pub(super) fn started(&mut self, started: Option<String>) {
        self.started = started.or(self.started.take());
    }

    pub(super) fn finish(mut self, source: &ImportedFile<'_>) -> Result<Run> {
        ensure!(!self.cells.is_empty(), "no result is in it: nothing to import");
        let named = self.name().to_owned();
        if self.started.is_none() {
            let text = format!("{} stores no date: the date of the file is used", self.tool);
            self.note(None, text);
        }
        self.note_what_is_missing();
        let fingerprint = self.fingerprint();
        let mut points: Vec<Point> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for cell in &self.cells {
            if known.insert(&cell.point) {
                points.push(cell.point.clone());
            }
        }
        let facts = self.facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let samples = || self.cells.iter().flat_map(|cell| &cell.samples);
        let rounds = self.cells.iter().map(|cell| cell.samples.len()).max().unwrap_or_default();
        let plan = Plan {
            rounds: u32::try_from(rounds).context("too many samples")?,
            sessions: samples().map(|sample| sample.session).max().unwrap_or_default() + 1,
            imported: Some(Imported { tool: self.tool, file: source.file.to_owned() }),
            ..Plan::default()
        };
        Ok(Run {
            schema: SCHEMA,
            id: String::new(),
            uuid: String::new(),
            experiment: self.format.name().to_owned(),
            question: format!("What did {named} measure?"),
            label: None,
            started: self.started.unwrap_or_else(|| source.written.to_owned()),
            complete: true,
            environment: Environment { fingerprint, facts },
            plan,
            points,
            cells: self.cells,
            notes: self.notes,
        })
    }

    fn name(&self) -> &str {
        self.tool.split(' ').next().unwrap_or_default()
    }

    /// Notes why columns of the table are empty.
    fn note_what_is_missing(&mut self) {
        for metric in ["cpu_ns", "peak_rss_bytes"] {
            let known = self.cells.iter().any(|cell| cell.values.contains_key(metric))
                || self.notes.iter().any(|note| note.to_string().starts_with(metric));
            if !known {
                let why = format!("{} does not tell", self.name());
                self.notes.push(Warning::missing(metric, why));
            }
        }
    }

    /// The fingerprint of the machine, as far as the file identifies it; empty if the file has
    /// neither its name nor its processor.
    fn fingerprint(&self) -> String {
        const LASTING: [&str; 7] = [
            "host_name",
            "cpu_model",
            "cpu_threads",
            "cpu_caches",
            "goos",
            "goarch",
            "cpu_scaling_enabled",
        ];
        let lasting = LASTING
            .iter()
            .filter_map(|name| self.facts.iter().find(|(known, _)| known == name))
            .map(|(name, value)| format!("{name}={value}\n"));
        let lines: String = lasting.collect();
        let known = self.facts.iter().any(|(name, _)| ["host_name", "cpu_model"].contains(name));
        if known { digest(&format!("imported\n{lines}")) } else { String::new() }
    }
}

/// The value of a param: a number if the text is written as one.
pub(super) fn param_value(text: &str) -> param::ParamValue {
    match text.parse::<u64>().ok().filter(|number| number.to_string() == text) {
        Some(number) => number.into(),
        None => text.into(),
    }
}

/// The name of another program's metric, changed so that it is not mistaken for one of bytelab's.
pub(super) fn own_metric(name: &str) -> String {
    if metric::is_known(name) { format!("{name} (its own)") } else { name.to_owned() }
}

fn too_many(method: &str) -> String {
    format!("{method:?}: more than {CELLS_MAX} methods are too many: import a part of them")
}

// The formats, and where the text of a file comes from.

/// The program that wrote the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    Hyperfine,
    GoogleBenchmark,
    Go,
    Criterion,
    Fio,
    PytestBenchmark,
    Jmh,
    /// Our own format, from `bytelab export --format json`.
    Json,
}

/// All formats: the word of the flag, the format, and its description.
pub const FORMATS: [(&str, ImportFormat, &str); 8] = [
    ("hyperfine", ImportFormat::Hyperfine, "hyperfine --export-json"),
    (
        "google-benchmark",
        ImportFormat::GoogleBenchmark,
        "Google Benchmark's --benchmark_format=json",
    ),
    ("go", ImportFormat::Go, "the text of go test -bench"),
    ("criterion", ImportFormat::Criterion, "criterion's directory target/criterion"),
    ("fio", ImportFormat::Fio, "fio --output-format=json or json+"),
    ("pytest-benchmark", ImportFormat::PytestBenchmark, "pytest-benchmark's --benchmark-json"),
    ("jmh", ImportFormat::Jmh, "JMH's -rf json"),
    ("json", ImportFormat::Json, "bytelab export --format json"),
];

impl ImportFormat {
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format, _)| *format == self).map_or("", |(name, ..)| name)
    }

    pub fn about(self) -> &'static str {
        FORMATS.iter().find(|(_, format, _)| *format == self).map_or("", |(.., about)| about)
    }
}

/// The facts about the file besides its content.
#[derive(Clone, Copy, Debug)]
pub struct ImportedFile<'a> {
    /// The path as the user gave it.
    pub file: &'a str,
    /// The modification time: RFC 3339, UTC.
    pub written: &'a str,
}

/// The files of a directory: the relative path and the content of each.
pub type FolderFiles = Vec<(String, Vec<u8>)>;
