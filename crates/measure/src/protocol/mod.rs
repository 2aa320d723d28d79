//! The text of the line protocol: the messages between the lab and a method's process, one ASCII
//! line each. This module is pure: it parses and formats lines, and does no I/O.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::param::Point;
use model::path_text;

/// The metric by which a built-in method reports when its job began.
pub(crate) const JOB_START: &str = "job_start_ns";

/// Set for a process of a method whose digest an earlier process has provided: the process may omit
/// the digest, so that a new session costs little.
pub(crate) const DIGEST_VARIABLE: &str = "BYTELAB_DIGEST";

/// Set for a process that takes one sample only. A method that provides a digest then omits it,
/// because the sample must be the first access to the data.
pub(crate) const FRESH_VARIABLE: &str = "BYTELAB_FRESH";

/// Set for the children of the counting pass. Its value describes to a built-in method how to count
/// its own system calls; a worker may use it as the sign to count what costs time.
pub(crate) const COUNTING_VARIABLE: &str = "BYTELAB_COUNTING";

/// The version that a child sends in its `hello`.
pub const VERSION: &str = "1";

/// A longer line is invalid.
pub(crate) const LINE_LIMIT_BYTES: usize = 64 << 10;

/// A message from the lab.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Names and values of the point, as text.
    Prepare(Vec<(String, String)>),
    Go {
        n: u64,
        ops: u64,
        /// A built-in method sets marks at the beginning and the end of its job; a method may
        /// report the phases of its job; others ignore this.
        marked: bool,
    },
    Bye,
}

/// A message from a child.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Hello {
        name: String,
        language: Option<String>,
    },
    Ready {
        digest: Option<String>,
    },
    /// Before `done`: a phase of the job begins, which ends with the next one or with the job.
    Mark(PhaseMark),
    Done(Done),
    Skip(String),
    Fail(String),
}

/// The beginning of a phase of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseMark {
    pub name: String,
    /// On the monotonic clock; none: when the line was received.
    pub at_ns: Option<u64>,
}

/// One finished sample, as the child reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    pub n: u64,
    pub wall_ns: u64,
    pub ops: u64,
    pub bytes: u64,
    pub answer: Option<String>,
    /// The method's own metrics.
    pub metrics: Vec<(String, f64)>,
    /// Only of a built-in method.
    pub totals: Option<Totals>,
}

/// The counters that a built-in method's process has read around the job, so that the lab need not:
/// totals of the sample, not values per operation. In a line, `process-totals` cannot be the name
/// of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub cpu_ns: u64,
    pub main_thread_cpu_ns: u64,
    pub device_read_bytes: u64,
    pub device_write_bytes: u64,
    pub minor_faults_of_children: u64,
}

impl Totals {
    fn parse(text: &str) -> Option<Totals> {
        let mut numbers = text.split(',').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        let totals = Totals {
            cpu_ns: next()?,
            main_thread_cpu_ns: next()?,
            device_read_bytes: next()?,
            device_write_bytes: next()?,
            minor_faults_of_children: next()?,
        };
        numbers.next().is_none().then_some(totals)
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Totals { cpu_ns, main_thread_cpu_ns, .. } = self;
        let Totals { device_read_bytes, device_write_bytes, minor_faults_of_children, .. } = self;
        write!(f, "{cpu_ns},{main_thread_cpu_ns},{device_read_bytes},{device_write_bytes},")?;
        write!(f, "{minor_faults_of_children}")
    }
}

impl Order {
    pub fn prepare(arguments: &Point) -> Order {
        Order::Prepare(arguments.iter().map(|(n, v)| (n.to_owned(), v.to_string())).collect())
    }

    pub fn parse(line: &str) -> Result<Order, String> {
        let (verb, rest) = split_word(line);
        match verb {
            "prepare" => escaped_pairs(rest)
                .map(|pair| {
                    let (name, value) = pair?;
                    Ok((name.to_owned(), path_text::from_bytes(&unescaped(value))))
                })
                .collect::<Result<_, _>>()
                .map(Order::Prepare),
            "go" => {
                let (n, rest) = split_word(rest);
                let (mut ops, mut marked) = (1, false);
                for pair in pairs(rest) {
                    match pair? {
                        ("ops", value) => ops = whole("ops", &value)?,
                        ("marks", value) => marked = value == "yes",
                        _ => {}
                    }
                }
                Ok(Order::Go { n: whole("go", n)?, ops, marked })
            }
            "bye" => Ok(Order::Bye),
            _ => Err(format!("unknown order {}", quote(line.trim_end()))),
        }
    }
}

/// Includes the newline.
impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Order::Prepare(arguments) => {
                f.write_str("prepare")?;
                for (name, value) in arguments {
                    write!(f, " {name}={}", escape_value(value))?;
                }
                f.write_char('\n')
            }
            Order::Go { n, ops, marked } => {
                write!(f, "go {n}")?;
                if *ops != 1 {
                    write!(f, " ops={ops}")?;
                }
                f.write_str(if *marked { " marks=yes\n" } else { "\n" })
            }
            Order::Bye => f.write_str("bye\n"),
        }
    }
}

impl Reply {
    /// The error describes in a few words what is wrong with the line.
    pub(crate) fn parse(line: &str) -> Result<Reply, String> {
        let (verb, rest) = split_word(line);
        match verb {
            "hello" => hello(rest),
            "ready" => {
                let mut digest = None;
                for pair in pairs(rest) {
                    if let ("digest", value) = pair? {
                        digest = Some(value);
                    }
                }
                Ok(Reply::Ready { digest })
            }
            "mark" => mark(rest).map(Reply::Mark),
            "done" => done(rest).map(Reply::Done),
            "skip" => Ok(Reply::Skip(unescape(rest)?)),
            "fail" => Ok(Reply::Fail(unescape(rest)?)),
            _ => Err(format!("unknown line {}", quote(line.trim_end()))),
        }
    }
}

/// Includes the newline.
impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reply::Hello { name, language } => {
                write!(f, "hello {VERSION} name={}", escape(name))?;
                optional(f, "lang", language.as_deref())
            }
            Reply::Ready { digest } => {
                f.write_str("ready")?;
                optional(f, "digest", digest.as_deref())
            }
            Reply::Mark(PhaseMark { name, at_ns }) => {
                write!(f, "mark {}", escape(name))?;
                at_ns.map_or(Ok(()), |at_ns| write!(f, " at={at_ns}"))
            }
            Reply::Done(done) => {
                write!(f, "done {} wall={} ops={}", done.n, done.wall_ns, done.ops)?;
                write!(f, " bytes={}", done.bytes)?;
                if let Some(answer) = &done.answer {
                    write!(f, " answer={}", escape(answer))?;
                }
                if let Some(totals) = done.totals {
                    write!(f, " process-totals={totals}")?;
                }
                for (name, value) in &done.metrics {
                    write!(f, " {name}={value}")?;
                }
                Ok(())
            }
            Reply::Skip(reason) => write!(f, "skip {}", escape_text(reason)),
            Reply::Fail(reason) => write!(f, "fail {}", escape_text(reason)),
        }?;
        f.write_char('\n')
    }
}

fn optional(f: &mut std::fmt::Formatter<'_>, name: &str, value: Option<&str>) -> std::fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " {name}={}", escape(value)))
}

fn hello(rest: &str) -> Result<Reply, String> {
    let (version, rest) = split_word(rest);
    if version != VERSION {
        return Err(format!("speaks protocol {}, not {VERSION}", quote(version)));
    }
    let (mut name, mut language) = (String::new(), None);
    for pair in pairs(rest) {
        match pair? {
            ("name", value) => name = value,
            ("lang", value) => language = Some(value),
            _ => {}
        }
    }
    Ok(Reply::Hello { name, language })
}

fn mark(rest: &str) -> Result<PhaseMark, String> {
    let (name, rest) = split_word(rest);
    if name.is_empty() {
        return Err("a mark line without a name".to_owned());
    }
    let mut mark = PhaseMark { name: unescape(name)?, at_ns: None };
    for pair in pairs(rest) {
        if let ("at", value) = pair? {
            mark.at_ns = Some(whole("at", &value)?);
        }
    }
    Ok(mark)
}

fn done(rest: &str) -> Result<Done, String> {
    let (n, rest) = split_word(rest);
    let mut done = Done { n: whole("done", n)?, ops: 1, ..Done::default() };
    let mut wall_ns = None;
    let mut names = BTreeSet::new();
    for pair in pairs(rest) {
        let (name, value) = pair?;
        if !names.insert(name) {
            return Err(format!("{name}= twice in a done line"));
        }
        match name {
            "wall" => wall_ns = Some(whole(name, &value)?),
            "ops" => done.ops = whole(name, &value)?,
            "bytes" => done.bytes = whole(name, &value)?,
            "answer" => done.answer = Some(value),
            "process-totals" => {
                let totals = Totals::parse(&value);
                let wrong =
                    || format!("process-totals={} is not five whole numbers", quote(&value));
                done.totals = Some(totals.ok_or_else(wrong)?);
            }
            _ => done.metrics.push((metric_name(name)?, finite(name, &value)?)),
        }
    }
    done.wall_ns = wall_ns.ok_or("a done line without wall=")?;
    if done.ops == 0 {
        return Err("ops=0 in a done line".to_owned());
    }
    Ok(done)
}

fn metric_name(name: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(good) {
        return Ok(name.to_owned());
    }
    Err(format!("the metric name {} is not of a-z, 0-9 and _", quote(name)))
}

fn whole(name: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{name} {} is not a whole number", quote(text)))
}

fn finite(name: &str, text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|x: &f64| x.is_finite())
        .ok_or_else(|| format!("{name}={} is not a number", quote(text)))
}

fn split_word(line: &str) -> (&str, &str) {
    let line = line.trim_matches([' ', '\r', '\n']);
    line.split_once(' ').unwrap_or((line, ""))
}

fn pairs(rest: &str) -> impl Iterator<Item = Result<(&str, String), String>> {
    escaped_pairs(rest).map(|pair| {
        let (name, value) = pair?;
        Ok((name, unescape(value)?))
    })
}

fn escaped_pairs(rest: &str) -> impl Iterator<Item = Result<(&str, &str), String>> {
    rest.split(' ').filter(|word| !word.is_empty()).map(|word| {
        word.split_once('=').ok_or_else(|| format!("{} is not name=value", quote(word)))
    })
}

// Values and reasons in a line of the protocol: bytes that a line may not have are `%XX`.

/// A path may have bytes that are no text: a worker gets them as they are.
fn escape_value(value: &str) -> String {
    let bytes = path_text::to_bytes(value);
    escape_where(&bytes, is_special).unwrap_or_else(|| value.to_owned())
}

/// A value as one word of ASCII: every character except printable ASCII other than the space and
/// `%` becomes `%XX`.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_where(text.as_bytes(), is_special).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn is_special(byte: u8) -> bool {
    !byte.is_ascii_graphic() || byte == b'%'
}

/// A reason as one line: like [`escape`], but spaces are kept.
fn escape_text(text: &str) -> Cow<'_, str> {
    let special = |byte| is_special(byte) && byte != b' ';
    escape_where(text.as_bytes(), special).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// None if there is nothing to escape.
fn escape_where(text: &[u8], special: impl Fn(u8) -> bool) -> Option<String> {
    if !text.iter().copied().any(&special) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for b in text.iter().copied() {
        if special(b) {
            let _ = write!(out, "%{b:02X}");
        } else {
            out.push(char::from(b));
        }
    }
    Some(out)
}

/// Reverses [`escape`]. A `%` without two hex digits after it stands for itself, so that a
/// hand-written worker may send `fail 50 % is too much`.
pub(crate) fn unescape(text: &str) -> Result<String, String> {
    String::from_utf8(unescaped(text)).map_err(|_| format!("{} is not UTF-8", quote(text)))
}

fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digits = (bytes[i] == b'%').then(|| text.get(i + 1..i + 3)).flatten();
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some(byte) = digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
            out.push(byte);
            i += 3;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    out
}

/// Text from outside for an error message: short, on one line, without control characters.
pub fn quote(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests;
