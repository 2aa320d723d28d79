//! The text of the line protocol: the messages between the lab and a method's process, one ASCII
//! line each. This module is pure: it parses and formats lines, and does no I/O.

mod escape;

use std::fmt::Write as _;

pub use self::escape::{escape, quote, unescape};
use self::escape::{escape_text, escape_value, unescaped};
use crate::param::Point;
use crate::path_text;

/// The metric by which a built-in method reports when its job began.
pub const JOB_START: &str = "job_start_ns";

/// Set for a process of a method whose digest an earlier process has provided: the process may omit
/// the digest, so that a new session costs little.
pub const DIGEST_VARIABLE: &str = "BYTELAB_DIGEST";

/// Set for a process that takes one sample only. A method that provides a digest then omits it,
/// because the sample must be the first access to the data.
pub const FRESH_VARIABLE: &str = "BYTELAB_FRESH";

/// Set for the children of the counting pass. Its value describes to a built-in method how to count
/// its own system calls; a worker may use it as the sign to count what costs time.
pub const COUNTING_VARIABLE: &str = "BYTELAB_COUNTING";

/// The version that a child sends in its `hello`.
pub const VERSION: &str = "1";

/// A longer line is invalid.
pub const LINE_LIMIT_BYTES: usize = 64 << 10;

/// A message from the lab.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Names and values of the point, as text.
    Prepare(Vec<(String, String)>),
    Go {
        n: u64,
        ops: u64,
        /// A built-in method sets marks at the beginning and the end of its job; other methods may
        /// ignore this.
        marked: bool,
    },
    Bye,
}

/// A message from a child.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Hello { name: String, language: Option<String> },
    Ready { digest: Option<String> },
    Done(Done),
    Skip(String),
    Fail(String),
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
    pub fn parse(line: &str) -> Result<Reply, String> {
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
            Reply::Done(done) => {
                write!(f, "done {} wall={} ops={}", done.n, done.wall_ns, done.ops)?;
                write!(f, " bytes={}", done.bytes)?;
                if let Some(answer) = &done.answer {
                    write!(f, " answer={}", escape(answer))?;
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

fn done(rest: &str) -> Result<Done, String> {
    let (n, rest) = split_word(rest);
    let mut done = Done { n: whole("done", n)?, ops: 1, ..Done::default() };
    let mut wall_ns = None;
    for pair in pairs(rest) {
        let (name, value) = pair?;
        match name {
            "wall" => wall_ns = Some(whole(name, &value)?),
            "ops" => done.ops = whole(name, &value)?,
            "bytes" => done.bytes = whole(name, &value)?,
            "answer" => done.answer = Some(value),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(line: &str, expected: Result<Reply, &str>) {
        assert_eq!(Reply::parse(line), expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn the_lines_of_the_design_are_understood() {
        check(
            "hello 1 name=mmap lang=rust\n",
            Ok(Reply::Hello { name: "mmap".into(), language: Some("rust".into()) }),
        );
        check("ready", Ok(Reply::Ready { digest: None }));
        let done = Done {
            n: 17,
            wall_ns: 123_456,
            ops: 1,
            bytes: 134_217_728,
            answer: Some("9f1c".into()),
            metrics: vec![("create_ns".into(), 1.5)],
        };
        check(
            "done 17 wall=123456 ops=1 bytes=134217728 answer=9f1c create_ns=1.5\r\n",
            Ok(Reply::Done(done)),
        );
        check("skip no io_uring here", Ok(Reply::Skip("no io_uring here".into())));
        check("fail 50 % is too much%0Atwo", Ok(Reply::Fail("50 % is too much\ntwo".into())));
        assert_eq!(
            Order::parse("prepare size=134217728 file=/path/with%20escapes").unwrap(),
            Order::Prepare(vec![
                ("size".into(), "134217728".into()),
                ("file".into(), "/path/with escapes".into())
            ])
        );
        let go = |ops: u64, marked: bool| Order::Go { n: 17, ops, marked };
        for (line, order) in [
            ("go 17\n", go(1, false)),
            ("go 17 ops=5\n", go(5, false)),
            ("go 17 marks=yes\n", go(1, true)),
            ("go 17 ops=5 marks=yes\n", go(5, true)),
        ] {
            assert_eq!(Order::parse(line), Ok(order.clone()));
            assert_eq!(order.to_string(), line);
        }
    }

    #[test]
    fn rubbish_is_named() {
        check("", Err("unknown line \"\""));
        check("hello 2 name=x", Err("speaks protocol \"2\", not 1"));
        check("done 1", Err("a done line without wall="));
        check("done x wall=1", Err("done \"x\" is not a whole number"));
        check("done 1 wall=-5", Err("wall \"-5\" is not a whole number"));
        check("done 1 wall=1 ops=0", Err("ops=0 in a done line"));
        check("done 1 wall=1 x=nan", Err("x=\"nan\" is not a number"));
        check("done 1 wall=1 Bad=1", Err("the metric name \"Bad\" is not of a-z, 0-9 and _"));
        check("done 1 wall=1 word", Err("\"word\" is not name=value"));
        check("ready digest=%FF", Err("\"%FF\" is not UTF-8"));
    }

    #[test]
    fn a_path_that_is_not_utf_8_reaches_the_worker_as_it_is() {
        let mut point = Point::default();
        point.set("file", "/a\u{10ffff} b");
        let order = Order::prepare(&point);
        assert_eq!(order.to_string(), "prepare file=/a%FF%20b\n");
        assert_eq!(Order::parse("prepare file=/a%FF%20b\n"), Ok(order));
    }

    proptest! {
        #[test]
        fn any_value_survives_escaping(text in ".*") {
            let escaped = escape(&text);
            prop_assert!(escaped.bytes().all(|b| b.is_ascii_graphic()));
            prop_assert_eq!(unescape(&escaped).unwrap(), text);
        }

        #[test]
        fn a_reply_is_read_as_it_was_written(n: u64, wall_ns: u64, answer in ".{0,20}", x in -1e18..1e18f64) {
            let done = Done { n, wall_ns, ops: 3, bytes: 4, answer: Some(answer), metrics: vec![("x_ns".into(), x)] };
            prop_assert_eq!(Reply::parse(&Reply::Done(done.clone()).to_string()).unwrap(), Reply::Done(done));
        }

        #[test]
        fn no_line_panics(line in ".*", verb in "(go|done|hello|prepare|ready|skip|fail) ") {
            let _ = Reply::parse(&line);
            let _ = Reply::parse(&format!("{verb}{line}"));
            let _ = Order::parse(&format!("{verb}{line}"));
        }
    }
}
