//! The text of `go test -bench`, or its events (`go test -json`): lines of one benchmark are its
//! samples, and each further block of its package is a session. A line `key: value` is
//! configuration of the lines after it. Lines of other kinds are the output of tests.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use model::param::Point;
use model::run::Run;
use serde::Deserialize;

use super::draft::{
    CELLS_MAX, Draft, ImportFormat, ImportedFile, ImportedSample, own_metric, param_value,
};
use super::read;

pub(super) fn run(text: &str, source: &ImportedFile<'_>) -> Result<Run> {
    let mut draft = Draft::new(ImportFormat::Go, "go");
    let streams = streams(&mut draft, text)?;
    let mut reader = GoReader::default();
    for stream in &streams {
        reader.stream(&mut draft, stream)?;
    }
    reader.notes(&mut draft);
    Points::new(&reader)?.add_all(&mut draft, &reader)?;
    draft.finish(source)
}

/// Whether a result is in the text; other lines may have the same beginning.
pub(super) fn has_result(text: &str) -> bool {
    let mut pending = PendingBenchmark::default();
    text.lines().any(|line| pending.result(line).is_some())
}

/// The values by their keys.
type Configuration<'a> = BTreeMap<&'a str, &'a str>;

/// The state that the earlier lines define for the next one, and the results so far.
#[derive(Default)]
struct GoReader<'a> {
    package: &'a str,
    /// The number of lines `pkg:` so far: each begins the output of one test program.
    block: usize,
    /// The configuration of the next result.
    now: Configuration<'a>,
    /// Its index; `None` after a change.
    now_at: Option<usize>,
    /// Those of the results so far, each of them once.
    configurations: Vec<Rc<Configuration<'a>>>,
    /// Their indices.
    known: HashMap<Rc<Configuration<'a>>, usize>,
    pending: PendingBenchmark<'a>,
    /// The facts that all blocks must agree on, with the values of the first block.
    machine: HashMap<&'a str, &'a str>,
    found: Vec<LocatedResult<'a>>,
    has_units: bool,
}

struct LocatedResult<'a> {
    /// The name of the stream, and the line in it.
    stream: &'a str,
    line: usize,
    result: ResultLine<'a>,
    package: &'a str,
    block: usize,
    /// Its index.
    configuration: usize,
}

impl<'a> GoReader<'a> {
    fn stream(&mut self, draft: &mut Draft, stream: &'a GoStream<'_>) -> Result<()> {
        self.package = &stream.package;
        self.block += 1;
        self.now.clear();
        self.now_at = None;
        for (at, line) in stream.text.lines().enumerate() {
            self.line(draft, stream, line, at + 1)
                .with_context(|| location(&stream.package, at + 1))?;
        }
        self.pending.end();
        Ok(())
    }

    fn line(
        &mut self,
        draft: &mut Draft,
        stream: &'a GoStream<'_>,
        line: &'a str,
        number: usize,
    ) -> Result<()> {
        if let Some(result) = self.pending.result(line) {
            let configuration = self.configuration()?;
            self.found.push(LocatedResult {
                stream: &stream.package,
                line: number,
                result,
                package: self.package,
                block: self.block,
                configuration,
            });
            return Ok(());
        }
        if line == "FAIL" || line.contains("--- FAIL: Benchmark") {
            draft.note(None, format!("go test reports a failure: {}", line.trim()));
        }
        let package = line.strip_prefix("ok  \t").or_else(|| line.strip_prefix("FAIL\t"));
        if package.is_some() || line == "PASS" || line == "FAIL" {
            self.pending.end();
        }
        if let Some(package) = package.filter(|_| self.package.is_empty()) {
            self.end_block(package.split('\t').next().unwrap_or_default());
        }
        self.has_units |= line.starts_with("Unit ");
        match configuration(line) {
            Some((key, value)) => self.configure(draft, key, value),
            None => Ok(()),
        }
    }

    /// Before go 1.9, only the line behind the results names their package.
    fn end_block(&mut self, package: &'a str) {
        let of_block = |found: &&mut LocatedResult<'_>| found.block == self.block;
        for found in self.found.iter_mut().rev().take_while(of_block) {
            found.package = package;
        }
        self.block += 1;
    }

    fn configure(&mut self, draft: &mut Draft, key: &'a str, value: &'a str) -> Result<()> {
        let fact = match key {
            // A benchmark that runs prints what it likes.
            _ if self.pending.is_open() => return Ok(()),
            "pkg" => {
                self.package = value;
                self.block += 1;
                return Ok(());
            }
            "cpu" => "cpu_model",
            "goos" => "goos",
            "goarch" => "goarch",
            _ => return self.set(key, value),
        };
        let first = *self.machine.entry(fact).or_insert(value);
        ensure!(
            first == value,
            "{key} is {value:?}, and was {first:?} before: results of several machines are several runs"
        );
        draft.fact(fact, value);
        Ok(())
    }

    fn set(&mut self, key: &'a str, value: &'a str) -> Result<()> {
        self.now_at = None;
        if value.is_empty() {
            self.now.remove(key);
        } else {
            self.now.insert(key, value);
        }
        ensure!(self.now.len() <= KEYS_MAX, "more than {KEYS_MAX} keys of configuration");
        Ok(())
    }

    /// The index of the configuration that holds now. Each of them becomes a point.
    fn configuration(&mut self) -> Result<usize> {
        if let Some(at) = self.now_at {
            return Ok(at);
        }
        let at = if let Some(at) = self.known.get(&self.now) {
            *at
        } else {
            let at = self.configurations.len();
            ensure!(at < CELLS_MAX, "more than {CELLS_MAX} configurations: import a part of them");
            let configuration = Rc::new(self.now.clone());
            self.configurations.push(Rc::clone(&configuration));
            self.known.insert(configuration, at);
            at
        };
        self.now_at = Some(at);
        Ok(at)
    }

    fn notes(&self, draft: &mut Draft) {
        if self.has_units {
            draft.note(None, "lines that begin with Unit are not read".to_owned());
        }
        if !self.pending.lost.is_empty() {
            let (n, first) = (self.pending.lost.len(), self.pending.lost[0]);
            let words = if n > 1 { format!("and {} more have", n - 1) } else { "has".to_owned() };
            draft.note(None, format!("{first:?} {words} no result in this file"));
        }
    }
}

/// Each key may become a param.
const KEYS_MAX: usize = 64;

fn location(stream: &str, line: usize) -> String {
    if stream.is_empty() {
        format!("line {line}")
    } else {
        format!("output of {stream:?}, line {line}")
    }
}

/// The params of the results, and the facts that decide which keys become params.
struct Points<'a> {
    /// The keys of the configuration whose values differ between results.
    differing: BTreeSet<&'a str>,
    /// Whether any name ends in a number as that of processors does.
    has_processors: bool,
    /// The blocks that ran on one processor: their names have no such number added.
    on_one: HashSet<usize>,
    /// The names of each block.
    names: HashSet<(usize, &'a str)>,
}

/// The keys that are not in all configurations with the same value.
fn differing<'a>(configurations: &[Rc<Configuration<'a>>]) -> BTreeSet<&'a str> {
    // The first value of each key, and in how many configurations the key has it.
    let mut keys: BTreeMap<&'a str, (&'a str, usize)> = BTreeMap::new();
    for (key, value) in configurations.iter().flat_map(|configuration| configuration.iter()) {
        let (first, n) = keys.entry(*key).or_insert((*value, 0));
        *n += usize::from(*first == *value);
    }
    let all = configurations.len();
    keys.into_iter().filter(|(_, (_, n))| *n < all).map(|(key, _)| key).collect()
}

/// The value where a result lacks a key that others have.
const NONE: &str = "none";

impl<'a> Points<'a> {
    fn new(reader: &GoReader<'a>) -> Result<Points<'a>> {
        let differing = differing(&reader.configurations);
        ensure!(
            differing.len() <= KEYS_MAX,
            "more than {KEYS_MAX} keys of configuration differ between results"
        );
        let has_number = |found: &LocatedResult<'_>| processors(found.result.name).1.is_some();
        Ok(Points {
            differing,
            has_processors: reader.found.iter().any(has_number),
            on_one: (reader.found.iter().filter(|found| !has_number(found)))
                .map(|found| found.block)
                .collect(),
            names: reader.found.iter().map(|found| (found.block, found.result.name)).collect(),
        })
    }

    fn add_all(&self, draft: &mut Draft, reader: &GoReader<'a>) -> Result<()> {
        self.notes(draft, reader);
        let mut blocks: HashMap<Point, (usize, u32)> = HashMap::new();
        for found in &reader.found {
            let mut point = Point::default();
            if !found.package.is_empty() {
                point.set("package", found.package);
            }
            let configuration = &reader.configurations[found.configuration];
            for key in &self.differing {
                point.set(param(key), param_value(configuration.get(key).unwrap_or(&NONE)));
            }
            // Blocks are counted for each configuration: the last one, and its number.
            let last = blocks.entry(point.clone()).or_insert((found.block, 0));
            if last.0 != found.block {
                *last = (found.block, last.1 + 1);
            }
            let session = last.1;
            let (method, processors) = self.processors(found);
            if let Some(processors) = processors {
                point.set("gomaxprocs", processors);
            }
            add(draft, &found.result, method, point, session)
                .with_context(|| location(found.stream, found.line))?;
        }
        Ok(())
    }

    /// The method, and on how many processors it ran. Where that is 1, its name has no number, and
    /// a number at its end is part of its name, unless the same name is there without it.
    fn processors(&self, found: &LocatedResult<'a>) -> (&'a str, Option<u64>) {
        match processors(found.result.name) {
            (method, Some(number)) if !self.is_part_of_name(found, method) => {
                (method, Some(number))
            }
            _ => (named(found.result.name), self.has_processors.then_some(1)),
        }
    }

    fn is_part_of_name(&self, found: &LocatedResult<'a>, method: &'a str) -> bool {
        self.on_one.contains(&found.block) && !self.names.contains(&(found.block, method))
    }

    fn notes(&self, draft: &mut Draft, reader: &GoReader<'a>) {
        // A key that does not differ is in the first configuration as in all others.
        let constant: Vec<String> = (reader.configurations.first().into_iter())
            .flat_map(|first| first.iter())
            .filter(|(key, _)| !self.differing.contains(*key))
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        if !constant.is_empty() {
            draft.fact("go_configuration", constant.join(" "));
        }
        if !self.differing.is_empty() {
            let keys = self.differing.iter().copied().collect::<Vec<_>>().join(", ");
            draft.note(
                None,
                format!("configuration that differs between results is a param: {keys}"),
            );
        }
        let part = reader.found.iter().find(|found| {
            let (method, number) = processors(found.result.name);
            number.is_some() && self.is_part_of_name(found, method)
        });
        if let Some(found) = part {
            let text = format!(
                "the number at the end of {:?} is taken for a part of the name: another benchmark beside it \
                 has none, and so ran on one processor",
                found.result.name
            );
            draft.note(None, text);
        }
    }
}

/// The name of a param, which must not be mistaken for one of those that every result has.
fn param(key: &str) -> String {
    if ["package", "gomaxprocs"].contains(&key) {
        format!("{key} (its own)")
    } else {
        key.to_owned()
    }
}

fn add(
    draft: &mut Draft,
    result: &ResultLine<'_>,
    method: &str,
    point: Point,
    session: u32,
) -> Result<()> {
    let ops = read::operations(result.iterations as f64, || "iterations".to_owned())?;
    let values = values(result.rest)?;
    let cell = draft.cell(method, point)?;
    draft.push(cell, ImportedSample { session, ops, bytes: 0 }, &values)
}

fn named(name: &str) -> &str {
    if name.is_empty() { "Benchmark" } else { name }
}

/// The last part of a name is the number of processors if that is above 1.
fn processors(name: &str) -> (&str, Option<u64>) {
    let split = name.rsplit_once('-').and_then(|(method, number)| {
        let canonical = !number.starts_with(['0', '+']);
        Some((method, number.parse().ok().filter(|_| canonical && !method.is_empty())?))
    });
    split.map_or((named(name), None), |(method, number)| (method, Some(number)))
}

fn values(rest: &str) -> Result<Vec<(String, f64)>> {
    let mut words = rest.split_whitespace();
    let mut values: Vec<(String, f64)> = Vec::new();
    while let Some(number) = words.next() {
        let unit = words.next().with_context(|| format!("{number:?} has no unit"))?;
        let Ok(value) = number.parse::<f64>() else {
            bail!("{number:?} before {unit:?} is not a number");
        };
        let key = || format!("{unit:?}");
        let (name, value) = match unit {
            "ns/op" => ("wall_ns".to_owned(), read::amount(value, key)?),
            "B/op" => ("allocated_bytes".to_owned(), read::amount(value, key)?),
            "allocs/op" => ("allocations".to_owned(), read::amount(value, key)?),
            "MB/s" => ("throughput_bytes_per_s".to_owned(), read::amount(value * 1e6, key)?),
            own => (own_metric(own), read::finite(value, key)?),
        };
        ensure!(values.iter().all(|(known, _)| *known != name), "{unit:?} is there twice");
        values.push((name, value));
    }
    ensure!(!values.is_empty(), "no value behind the number of iterations");
    Ok(values)
}

// The kinds of lines: a result, the name of a benchmark whose result comes later, and
// configuration.

/// `BenchmarkCopy/size=4096-2  2000  44.11 ns/op  92860.87 MB/s`.
#[derive(Clone, Copy)]
struct ResultLine<'a> {
    /// The name without `Benchmark`.
    name: &'a str,
    iterations: u64,
    /// Values, each with its unit.
    rest: &'a str,
}

/// The benchmark that runs: its name is printed before it starts, and its result when it has ended,
/// and what it prints itself is between them.
#[derive(Default)]
struct PendingBenchmark<'a> {
    name: Option<&'a str>,
    /// Whether a result must follow: `-v` prints names of which none has to.
    is_due: bool,
    /// The names whose result did not come.
    lost: Vec<&'a str>,
}

impl<'a> PendingBenchmark<'a> {
    /// The result that the line is, or with which it ends.
    fn result(&mut self, line: &'a str) -> Option<ResultLine<'a>> {
        if let Some(whole) = whole(line) {
            if self.name != Some(whole.name) {
                self.end();
            }
            self.name = None;
            return Some(whole);
        }
        let printed = match self.announced(line) {
            Some((name, printed)) => {
                self.end();
                (self.name, self.is_due) = (Some(name), !printed.is_empty());
                printed
            }
            None => line,
        };
        self.name?;
        let (iterations, rest) = at_the_end(printed)?;
        Some(ResultLine { name: self.name.take()?, iterations, rest })
    }

    /// The name that go prints at the start of a benchmark, with a tab behind it; `-v` also prints
    /// names alone on a line.
    fn announced(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        let (name, printed) = name(line)?;
        let is_alone = printed.is_empty() && !name.is_empty() && !(self.is_open() && self.is_due);
        (is_alone || printed.trim_start_matches(' ').starts_with('\t')).then_some((name, printed))
    }

    fn is_open(&self) -> bool {
        self.name.is_some()
    }

    /// No result of this benchmark will come.
    fn end(&mut self) {
        if let Some(name) = self.name.take().filter(|name| self.is_due && !name.is_empty()) {
            self.lost.push(name);
        }
    }
}

/// The name at the beginning of a line, without `Benchmark`, and what is behind it.
fn name(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("Benchmark")?;
    let (name, rest) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    (!name.starts_with(char::is_lowercase)).then_some((name, rest))
}

fn whole(line: &str) -> Option<ResultLine<'_>> {
    let (name, rest) = name(line)?;
    let (iterations, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    Some(ResultLine { name, iterations: iterations.parse().ok()?, rest })
}

/// The number of iterations and the values behind it.
fn at_the_end(printed: &str) -> Option<(u64, &str)> {
    let mut rest = printed.trim_start();
    loop {
        let (word, behind) = rest.split_at(rest.find(char::is_whitespace)?);
        let mut next = behind.split_whitespace();
        let value = next.next().is_some_and(|word| word.parse::<f64>().is_ok());
        let unit = next.next().filter(|_| value).unwrap_or_default();
        // go prints a tab there, but who copies text may lose it.
        let is_result = unit == "ns/op" || unit.contains('/') && behind.starts_with('\t');
        if let (Ok(iterations), true) = (word.parse(), is_result) {
            return Some((iterations, behind));
        }
        rest = behind.trim_start();
    }
}

/// Words with a colon that the go command, its tools and its tests print: they are no keys.
const REPORTED: [&str; 8] =
    ["coverage", "go", "ld", "panic", "signal", "testing", "vet", "warning"];

/// A line `key: value`, as `golang.org/x/perf/benchfmt` defines it: the key begins with a lowercase
/// letter, and has neither spaces nor uppercase letters. A key without a value is removed.
fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(char::is_lowercase)
        && key.chars().all(|c| (c.is_alphanumeric() && !c.is_uppercase()) || "-_./".contains(c));
    let is_key = is_key && !REPORTED.contains(&key);
    let is_apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_key && is_apart).then(|| (key, value.trim()))
}

// The events of `go test -json` (`test2json`): one JSON document on each line. The output of a
// package is split over many events, between which are those of other packages.

/// The output of the tests of one package.
struct GoStream<'a> {
    /// Empty: the file is the output.
    package: Cow<'a, str>,
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    output: String,
}

/// Whether the lines are events. A benchmark may print a line that looks like one, but that is of
/// no package. Those of `go tool test2json` are of none either, but the text begins with them.
pub(super) fn is_test2json(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
    let Some((at, line)) = lines.find(|(_, line)| line.starts_with('{')) else { return false };
    let is_event = |event: Event| {
        let has_package = !event.package.is_empty() || !event.import_path.is_empty();
        has_package || at == 0 && ["start", "run", "output"].contains(&event.action.as_str())
    };
    serde_json::from_str::<Event>(line).is_ok_and(is_event)
}

/// The output of each package, in the order in which they begin.
fn streams<'a>(draft: &mut Draft, text: &'a str) -> Result<Vec<GoStream<'a>>> {
    if !is_test2json(text) {
        return Ok(vec![GoStream { package: Cow::Borrowed(""), text: Cow::Borrowed(text) }]);
    }
    let mut streams: Vec<GoStream<'_>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let (mut others, mut started) = (0, None);
    for (at, line) in text.lines().enumerate() {
        if !line.starts_with('{') {
            others += usize::from(!line.trim().is_empty());
            continue;
        }
        let event: Event = read::json(line).with_context(|| format!("event on line {}", at + 1))?;
        started = started.or(event.time);
        if event.action == "output" {
            let at = *known.entry(event.package.clone()).or_insert(streams.len());
            if at == streams.len() {
                let package = Cow::Owned(event.package);
                streams.push(GoStream { package, text: Cow::Owned(event.output) });
            } else {
                streams[at].text.to_mut().push_str(&event.output);
            }
        } else if event.action == "build-fail" {
            let package = event.import_path;
            draft.note(None, format!("go test reports a failure: build of {package:?}"));
        }
    }
    draft.started(started.as_deref().and_then(read::utc));
    if others > 0 {
        draft.note(None, format!("lines that are no events are not read: {others}"));
    }
    Ok(streams)
}

#[cfg(test)]
mod tests;
