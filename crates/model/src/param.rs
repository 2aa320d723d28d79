//! The params of an experiment: a `Param`, a typed `ParamValue` of it, and a `Point`, which is one
//! combination of values. The same text form is used by the flags, the store and the line protocol.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use byte_stream::parse_bytes;
use serde::{Deserialize, Serialize};

use crate::path_text;

/// One param of an experiment. Its declaration defines the flag, the sweep axis, the table column,
/// the stored key and the child's argument.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: &'static str,
    pub kind: ParamKind,
    /// The default in the syntax of the flag; empty where the param has no value unless one is
    /// given.
    pub default: &'static str,
    pub help: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A number of bytes between the two limits, written `65536`, `64KiB` or `1.5MiB`.
    Bytes(u64, u64),
    /// A whole number between the two limits.
    Count(u64, u64),
    Path,
    /// One of these words.
    Word(&'static [&'static str]),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// A number of bytes or a count; the kind of the param decides which.
    Number(u64),
    /// A path or a word.
    Text(String),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Number(n) => n.fmt(f),
            ParamValue::Text(t) => t.fmt(f),
        }
    }
}

impl Param {
    pub const fn new(name: &'static str, kind: ParamKind, default: &'static str) -> Param {
        Param { name, kind, default, help: "" }
    }

    #[must_use]
    pub const fn help(self, help: &'static str) -> Param {
        Param { help, ..self }
    }

    /// The values that a flag's text stands for: `64KiB`, `4KiB,1MiB`, or `4KiB..4MiB` (doubling;
    /// the suffix `*4` sets another factor, the suffix `+4KiB` a step).
    pub fn parse(&self, text: &str) -> Result<Vec<ParamValue>> {
        let mut values = Vec::new();
        for item in text.split(',') {
            match item.split_once("..") {
                Some((from, rest)) if self.is_number() => {
                    values.extend(self.sweep(from, rest).with_context(|| self.wrong(item))?);
                }
                _ => values.push(self.parse_one(item).with_context(|| self.wrong(item))?),
            }
        }
        Ok(values)
    }

    fn wrong(&self, item: &str) -> String {
        format!("--{} {item}", self.name)
    }

    fn is_number(&self) -> bool {
        matches!(self.kind, ParamKind::Bytes(..) | ParamKind::Count(..))
    }

    fn parse_one(&self, item: &str) -> Result<ParamValue> {
        match self.kind {
            ParamKind::Bytes(min, max) => {
                let n = parse_bytes(item)?;
                ensure!(
                    (min..=max).contains(&n),
                    "{n} is out of range, allowed is {} to {}",
                    bytes(min),
                    bytes(max)
                );
                Ok(ParamValue::Number(n))
            }
            ParamKind::Count(min, max) => {
                let n: u64 = item.parse().ok().context("not a whole number")?;
                ensure!((min..=max).contains(&n), "{n} is out of range, allowed is {min} to {max}");
                Ok(ParamValue::Number(n))
            }
            ParamKind::Path => {
                ensure!(!item.is_empty(), "an empty path");
                Ok(ParamValue::Text(item.to_owned()))
            }
            ParamKind::Word(allowed) => {
                ensure!(allowed.contains(&item), "unknown word, allowed is {}", allowed.join(", "));
                Ok(ParamValue::Text(item.to_owned()))
            }
        }
    }

    fn sweep(&self, from: &str, rest: &str) -> Result<Vec<ParamValue>> {
        let number = |text: &str| match self.parse_one(text)? {
            ParamValue::Number(n) => Ok(n),
            ParamValue::Text(_) => bail!("not a number"),
        };
        let whole = |text: &str| text.parse::<u64>().ok().context("not a whole number");
        let (to, factor, step) = if let Some((to, factor)) = rest.split_once('*') {
            (to, whole(factor)?, 0)
        } else if let Some((to, step)) = rest.split_once('+') {
            (to, 1, parse_bytes(step)?)
        } else {
            (rest, 2, 0)
        };
        ensure!(factor > 1 || step > 0, "the factor must be 2 or more, the step 1 or more");
        let (first, last) = (number(from)?, number(to)?);
        ensure!(first <= last, "the range runs backwards");
        ensure!(first > 0 || step > 0, "a range by a factor cannot start at 0");
        let mut values = Vec::new();
        let mut next = Some(first);
        while let Some(n) = next.filter(|n| *n <= last) {
            ensure!(values.len() < 10_000, "more than 10000 values");
            values.push(ParamValue::Number(n));
            next = n.checked_mul(factor).and_then(|n| n.checked_add(step));
        }
        Ok(values)
    }
}

/// The shortest exact notation of a number of bytes: `64KiB`, `1000`.
pub fn bytes(n: u64) -> String {
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if n >= 1 << shift && n.trailing_zeros() >= shift {
            return format!("{}{unit}", n >> shift);
        }
    }
    n.to_string()
}

/// One combination of values, in the order in which the experiment declares its params.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Point(Vec<(String, ParamValue)>);

impl Point {
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    pub fn number(&self, name: &str) -> Result<u64> {
        match self.get(name) {
            Some(ParamValue::Number(n)) => Ok(*n),
            Some(ParamValue::Text(t)) => bail!("param {name}: {t} is not a number"),
            None => bail!("param {name} is missing"),
        }
    }

    pub fn text(&self, name: &str) -> Result<&str> {
        match self.get(name) {
            Some(ParamValue::Text(t)) => Ok(t),
            Some(ParamValue::Number(n)) => bail!("param {name}: {n} is not a text"),
            None => bail!("param {name} is missing"),
        }
    }

    pub fn path(&self, name: &str) -> Result<PathBuf> {
        self.text(name).map(path_text::to_path)
    }

    /// Sets or replaces a value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<ParamValue>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name, value)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParamValue)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// This point reduced to the values that `keep` accepts.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&str) -> bool) -> Point {
        Point(self.0.iter().filter(|(n, _)| keep(n)).cloned().collect())
    }

    /// Whether every value of this point is also in `other`.
    pub fn is_part_of(&self, other: &Point) -> bool {
        self.0.iter().all(|(n, v)| other.get(n) == Some(v))
    }

    /// All combinations of the values of each param, the last one varying fastest.
    pub fn product(axes: &[(&str, Vec<ParamValue>)]) -> Vec<Point> {
        let mut points = vec![Point::default()];
        for (name, values) in axes {
            points = points
                .iter()
                .flat_map(|point| {
                    values.iter().map(|value| {
                        let mut point = point.clone();
                        point.set(*name, value.clone());
                        point
                    })
                })
                .collect();
        }
        points
    }
}

impl From<u64> for ParamValue {
    fn from(n: u64) -> ParamValue {
        ParamValue::Number(n)
    }
}

impl From<&str> for ParamValue {
    fn from(text: &str) -> ParamValue {
        ParamValue::Text(text.to_owned())
    }
}

impl From<PathBuf> for ParamValue {
    fn from(path: PathBuf) -> ParamValue {
        ParamValue::Text(path_text::from_path(&path).into_owned())
    }
}

/// `size=1048576 buffer=65536`; empty for a point without values.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={value}", if i > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl Serialize for Point {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Point, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Point;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of param names to values")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Point, A::Error> {
                let mut point = Point::default();
                while let Some((name, value)) = map.next_entry::<String, ParamValue>()? {
                    point.set(name, value);
                }
                Ok(point)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFER: Param =
        Param::new("buffer", ParamKind::Bytes(1, 1 << 30), "64KiB").help("size of the buffer");

    fn check(text: &str, expected: &str) {
        let got = match BUFFER.parse(text) {
            Ok(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn a_flag_is_a_value_a_list_or_a_range() {
        check("64KiB", "65536");
        check("1.5K,2MB", "1536 2000000");
        // As tables show them.
        check("64Ki,1Mi,1Gi", "65536 1048576 1073741824");
        check("4K..16K", "4096 8192 16384");
        check("4K..100K*4", "4096 16384 65536");
        check("1..7+3", "1 4 7");
    }

    #[test]
    fn a_wrong_flag_says_what_is_allowed() {
        check("", "--buffer : not a whole number of bytes (examples: 65536, 64KiB, 1.5MiB)");
        check("6x", "--buffer 6x: not a number of bytes (examples: 65536, 64KiB, 1.5MiB)");
        check("0", "--buffer 0: 0 is out of range, allowed is 1 to 1GiB");
        check("8..4", "--buffer 8..4: the range runs backwards");
        check("1..4*1", "--buffer 1..4*1: the factor must be 2 or more, the step 1 or more");
        check("1..1G+1", "--buffer 1..1G+1: more than 10000 values");
        check(
            "99999999999999999999",
            "--buffer 99999999999999999999: not a whole number of bytes (examples: 65536, 64KiB, 1.5MiB)",
        );
    }

    #[test]
    fn bytes_are_written_as_they_are_read() {
        for n in [0, 1, 1000, 1024, 65_536, 1 << 20, (1 << 20) + 1, 5 << 30] {
            assert_eq!(parse_bytes(&bytes(n)).unwrap(), n);
        }
    }

    #[test]
    fn a_product_has_every_combination_once() {
        let axes = [("a", vec![1.into(), 2.into()]), ("b", vec!["x".into(), "y".into()])];
        let points: Vec<String> = Point::product(&axes).iter().map(ToString::to_string).collect();
        assert_eq!(points, ["a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y"]);
    }

    #[test]
    fn a_point_survives_json_in_order() {
        let mut point = Point::default();
        point.set("size", 5u64);
        point.set("file", "a b");
        let json = serde_json::to_string(&point).unwrap();
        assert_eq!(json, r#"{"size":5,"file":"a b"}"#);
        assert_eq!(serde_json::from_str::<Point>(&json).unwrap(), point);
        assert_eq!(point.path("file").unwrap(), PathBuf::from("a b"));
        assert_eq!(point.path("size").unwrap_err().to_string(), "param size: 5 is not a text");
    }

    #[test]
    fn two_dots_in_a_path_are_no_range() {
        let values = Param::new("file", ParamKind::Path, "").parse("../a..b").unwrap();
        assert_eq!(values, [ParamValue::Text("../a..b".to_owned())]);
    }
}
