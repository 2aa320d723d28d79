//! The kinds of lines: a result, the name of a benchmark whose result comes later, and
//! configuration.

/// `BenchmarkCopy/size=4096-2  2000  44.11 ns/op  92860.87 MB/s`.
#[derive(Clone, Copy)]
pub(super) struct ResultLine<'a> {
    /// The name without `Benchmark`.
    pub(super) name: &'a str,
    pub(super) iterations: u64,
    /// Values, each with its unit.
    pub(super) rest: &'a str,
}

/// The benchmark that runs: its name is printed before it starts, and its result when it has ended,
/// and what it prints itself is between them.
#[derive(Default)]
pub(super) struct Pending<'a> {
    name: Option<&'a str>,
    /// Whether a result must follow: `-v` prints names of which none has to.
    is_due: bool,
    /// The names whose result did not come.
    pub(super) lost: Vec<&'a str>,
}

impl<'a> Pending<'a> {
    /// The result that the line is, or with which it ends.
    pub(super) fn result(&mut self, line: &'a str) -> Option<ResultLine<'a>> {
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

    pub(super) fn is_open(&self) -> bool {
        self.name.is_some()
    }

    /// No result of this benchmark will come.
    pub(super) fn end(&mut self) {
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

pub(super) fn whole(line: &str) -> Option<ResultLine<'_>> {
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

/// What the go command, its tools and its tests report with a colon behind it: no keys.
const REPORTED: [&str; 8] =
    ["coverage", "go", "ld", "panic", "signal", "testing", "vet", "warning"];

/// A line `key: value`, as `golang.org/x/perf/benchfmt` defines it: the key begins with a lowercase
/// letter, and has neither spaces nor uppercase letters. A key without a value is removed.
pub(super) fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(char::is_lowercase)
        && key.chars().all(|c| (c.is_alphanumeric() && !c.is_uppercase()) || "-_./".contains(c));
    let is_key = is_key && !REPORTED.contains(&key);
    let is_apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_key && is_apart).then(|| (key, value.trim()))
}
