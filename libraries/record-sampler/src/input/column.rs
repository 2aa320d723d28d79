//! One column of a record: the key of its stratum, or its weight. Its name is found in a line of
//! the header.

use std::borrow::Cow;
#[cfg(feature = "json")]
use std::collections::HashMap;

#[cfg(feature = "json")]
use serde_json::{Value, value::RawValue};

#[cfg(feature = "json")]
use super::key::{number_key, text_key, value_key};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

/// A column of CSV, of lines with fields or of Parquet, or a member of the objects of JSON Lines.
///
/// ```
/// use record_sampler::Column;
/// assert_eq!(Column::from("price"), Column::Name("price".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// The name in the header, or of the JSON member. A number that is no name in the header is a
    /// position; a name that several columns have is an error.
    Name(String),
    /// The position, counted from 1.
    Number(usize),
    /// Several columns, whose values together are a key.
    Several(Vec<Column>),
}

impl From<&str> for Column {
    fn from(name: &str) -> Column {
        Column::Name(name.to_owned())
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Column::Name(name) => f.write_str(name),
            Column::Number(number) => write!(f, "number {number}"),
            Column::Several(columns) => {
                for (number, column) in columns.iter().enumerate() {
                    let and = if number > 0 { " and " } else { "" };
                    write!(f, "{and}{column}")?;
                }
                Ok(())
            }
        }
    }
}

/// A column whose position is known.
#[derive(Debug)]
pub(crate) enum Picker {
    /// A field of CSV.
    Field {
        index: usize,
        delimiter: u8,
        column: Column,
    },
    /// A field without quotes.
    PlainField {
        index: usize,
        delimiter: u8,
        column: Column,
    },
    #[cfg(feature = "json")]
    Member(String),
    Several(Vec<Picker>),
}

impl Picker {
    pub(crate) fn new(
        column: &Column,
        format: Format,
        names: Option<HeaderLine<'_>>,
    ) -> Result<Picker> {
        let bad = |text: String| Err(Error::new(ErrorKind::BadRequest, text));
        match (format, column) {
            (_, Column::Several(columns)) => {
                let is_nested = |column: &Column| matches!(column, Column::Several(_));
                if columns.is_empty() || columns.iter().any(is_nested) {
                    return bad("a key of several columns is a list of columns".to_owned());
                }
                let pickers = columns.iter().map(|column| Picker::new(column, format, names));
                Ok(Picker::Several(pickers.collect::<Result<_>>()?))
            }
            (Format::Csv { delimiter }, Column::Number(number @ 1..)) => {
                Ok(Picker::Field { index: number - 1, delimiter, column: column.clone() })
            }
            (Format::Fields { delimiter }, Column::Number(number @ 1..)) => {
                Ok(Picker::PlainField { index: number - 1, delimiter, column: column.clone() })
            }
            (Format::Csv { delimiter }, Column::Name(name)) => {
                let index = index_of(name, names, |line| {
                    positions(fields(line, delimiter), |field| **field == *name.as_bytes())
                })?;
                Ok(Picker::Field { index, delimiter, column: column.clone() })
            }
            (Format::Fields { delimiter }, Column::Name(name)) => {
                let index = index_of(name, names, |line| {
                    // The names of VCF begin with a number sign.
                    let is_name = |field: &&[u8]| {
                        *field == name.as_bytes()
                            || field.strip_prefix(b"#") == Some(name.as_bytes())
                    };
                    positions(plain_fields(line, delimiter), is_name)
                })?;
                Ok(Picker::PlainField { index, delimiter, column: column.clone() })
            }
            #[cfg(feature = "json")]
            (Format::JsonLines, Column::Name(name)) => Ok(Picker::Member(name.clone())),
            _ => bad(format!(
                "column {column}: only CSV, lines with fields and JSON Lines have columns, the \
                 first two also by number from 1"
            )),
        }
    }

    /// The key of this record: the column as text. Of JSON Lines, values of different types have
    /// different keys.
    pub(crate) fn key<'r>(&self, record: &'r [u8]) -> Result<Cow<'r, [u8]>> {
        #[cfg(feature = "json")]
        if let Picker::Member(name) = self {
            return member_key(record, name).map(Cow::Owned);
        }
        self.pick(record)
    }

    /// The column of this record as text; a JSON string without its quotes.
    fn pick<'r>(&self, record: &'r [u8]) -> Result<Cow<'r, [u8]>> {
        match self {
            Picker::Field { index, delimiter, column } => {
                fields(record, *delimiter).nth(*index).ok_or_else(|| missing(column))
            }
            Picker::PlainField { index, delimiter, column } => {
                let field = plain_fields(record, *delimiter).nth(*index);
                field.map(Cow::Borrowed).ok_or_else(|| missing(column))
            }
            #[cfg(feature = "json")]
            Picker::Member(name) => member(record, name, |value| {
                Cow::Owned(match value {
                    Value::String(text) => text.as_bytes().to_vec(),
                    value => value.to_string().into_bytes(),
                })
            }),
            Picker::Several(pickers) => together(pickers, record).map(Cow::Owned),
        }
    }

    /// The column as a weight.
    pub(crate) fn weight(&self, record: &[u8]) -> Result<f64> {
        weight(&self.pick(record)?)
    }
}

/// The position of a column in the line of names, in which `find` finds those of a name. A number
/// that is no name is a position, counted from 1.
fn index_of(
    name: &str,
    names: Option<HeaderLine<'_>>,
    find: impl Fn(&[u8]) -> Vec<usize>,
) -> Result<usize> {
    let Some(HeaderLine(line)) = names else {
        let text = format!("column {name}: there is no header to find it in");
        return Err(Error::new(ErrorKind::BadRequest, text));
    };
    let text = match (find(line).as_slice(), name.parse::<usize>()) {
        ([index], _) => return Ok(*index),
        ([], Ok(number @ 1..)) => return Ok(number - 1),
        ([], _) => format!("there is no column {name} in the header"),
        ([first, second, ..], _) => format!(
            "the columns {} and {} of the header are both named {name}: give a number",
            first + 1,
            second + 1
        ),
    };
    Err(Error::new(ErrorKind::BadColumn, text))
}

/// The positions of the items that `is_one` accepts, from 0 on.
fn positions<T>(items: impl Iterator<Item = T>, is_one: impl Fn(&T) -> bool) -> Vec<usize> {
    items.enumerate().filter(|(_, item)| is_one(item)).map(|(index, _)| index).collect()
}

fn missing(column: &Column) -> Error {
    Error::new(ErrorKind::BadColumn, format!("has no column {column}"))
}

/// Several values as one key, like an array of JSON: other values never give the same key.
fn together(pickers: &[Picker], record: &[u8]) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    for picker in pickers {
        key.extend_from_slice(if key.is_empty() { b"[\"" } else { b",\"" });
        for byte in picker.key(record)?.iter() {
            if matches!(byte, b'"' | b'\\') {
                key.push(b'\\');
            }
            key.push(*byte);
        }
        key.push(b'"');
    }
    key.push(b']');
    Ok(key)
}

/// Parses a weight.
pub(crate) fn weight(text: &[u8]) -> Result<f64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| {
        let text = format!("a weight of {:?}: not a number", String::from_utf8_lossy(text));
        Error::new(ErrorKind::BadWeight, text)
    })
}

/// A member of the object in this record, in another form.
#[cfg(feature = "json")]
fn member<T>(record: &[u8], name: &str, form: impl FnOnce(&Value) -> T) -> Result<T> {
    let value: Value = serde_json::from_slice(record)
        .map_err(|error| Error::new(ErrorKind::Malformed, format!("is not JSON: {error}")))?;
    value.get(name).map(form).ok_or_else(|| {
        let text = format!("has no member {name}");
        Error::new(ErrorKind::BadColumn, text)
    })
}

#[cfg(feature = "json")]
fn member_key(record: &[u8], name: &str) -> Result<Vec<u8>> {
    member(record, name, |value| match value {
        Value::String(text) => text_key(text.as_bytes()).into_owned(),
        // As a floating point number it would be equal to others.
        Value::Number(number) if number.is_f64() => {
            let key = number_text(record, name).and_then(|text| number_key(&text));
            key.unwrap_or_else(|| value_key(value)).into_bytes()
        }
        value => value_key(value).into_bytes(),
    })
}

/// A number as it is written.
#[cfg(feature = "json")]
fn number_text(record: &[u8], name: &str) -> Option<String> {
    let members: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(record).ok()?;
    members.get(name).map(|text| text.get().to_owned())
}

impl Format {
    /// The fields of a record without its line end: of CSV without their quotes, of lines with
    /// fields as they are. A record of another format is one field.
    ///
    /// ```
    /// use record_sampler::Format;
    /// let csv = Format::Csv { delimiter: b',' };
    /// assert_eq!(csv.fields(b"1,\"a \"\"b\"\"\nc\",\r\n"), [&b"1"[..], b"a \"b\"\nc", b""]);
    /// assert_eq!(Format::Lines.fields(b"1,\"a\"\r\n"), [&b"1,\"a\""[..]]);
    /// ```
    pub fn fields(self, record: &[u8]) -> Vec<Cow<'_, [u8]>> {
        match (self, self.end()) {
            (Format::Csv { delimiter }, _) => fields(record, delimiter).collect(),
            (Format::Fields { delimiter }, _) => {
                plain_fields(record, delimiter).map(Cow::Borrowed).collect()
            }
            (_, None) => vec![Cow::Borrowed(record)],
            (_, Some(end)) => {
                let line = record.strip_suffix(&[end]);
                let line = line.map(|line| match line {
                    [line @ .., b'\r'] if end == b'\n' => line,
                    line => line,
                });
                vec![Cow::Borrowed(line.unwrap_or(record))]
            }
        }
    }
}

/// The fields of a CSV record without their quotes.
pub(super) fn fields(record: &[u8], delimiter: u8) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    let record = record.strip_suffix(b"\r").unwrap_or(record);
    let mut rest = Some(record);
    std::iter::from_fn(move || {
        let text = rest?;
        if text.first() == Some(&b'"') {
            let (field, more) = quoted(&text[1..], delimiter);
            rest = more;
            return Some(Cow::Owned(field));
        }
        let end = memchr::memchr(delimiter, text);
        rest = end.map(|end| &text[end + 1..]);
        Some(Cow::Borrowed(&text[..end.unwrap_or(text.len())]))
    })
}

/// The fields of a record without quotes.
fn plain_fields(record: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    let record = record.strip_suffix(b"\r").unwrap_or(record);
    let are_blanks = delimiter == b' ';
    let is_end = move |byte: &u8| *byte == delimiter || are_blanks && *byte == b'\t';
    record.split(is_end).filter(move |field| !(are_blanks && field.is_empty()))
}

/// A field in quotes, and the text after its delimiter.
fn quoted(text: &[u8], delimiter: u8) -> (Vec<u8>, Option<&[u8]>) {
    let mut field = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'"', &text[at..]) {
        field.extend_from_slice(&text[at..at + found]);
        at += found + 1;
        if text.get(at) != Some(&b'"') {
            // Text behind a closing quote is kept as it is.
            let end = memchr::memchr(delimiter, &text[at..]);
            field.extend_from_slice(&text[at..end.map_or(text.len(), |end| at + end)]);
            return (field, end.map(|end| &text[at + end + 1..]));
        }
        field.push(b'"');
        at += 1;
    }
    field.extend_from_slice(&text[at..]);
    (field, None)
}

/// The line of a header that names the columns.
#[derive(Clone, Copy)]
pub(crate) struct HeaderLine<'a>(pub(crate) &'a [u8]);

impl<'a> HeaderLine<'a> {
    /// The whole header if it is a record, else its last line; `None` without a header of text.
    pub(crate) fn new(header: &'a [u8], rule: &HeaderRule) -> Option<HeaderLine<'a>> {
        match rule {
            HeaderRule::None | HeaderRule::Bytes(_) | HeaderRule::Magic(_) => None,
            HeaderRule::Record => Some(HeaderLine(header)),
            HeaderRule::Lines(_) | HeaderRule::Prefix(_) | HeaderRule::Prefixes(_) => {
                let mut lines = header.split_inclusive(|byte| *byte == b'\n');
                Some(HeaderLine(lines.next_back().unwrap_or_default()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: &str, expected: &[&str]) {
        let fields: Vec<String> =
            fields(record.as_bytes(), b',').map(|f| String::from_utf8_lossy(&f).into()).collect();
        assert_eq!(fields, expected, "{record}");
    }

    #[test]
    fn a_record_has_fields() {
        check("a,b\r\n", &["a", "b"]);
        check("", &[""]);
        check(",\n", &["", ""]);
        check("\"a,\"\"b\"\"\nc\",d", &["a,\"b\"\nc", "d"]);
        check("\"a\"b,c", &["ab", "c"]);
        check("\"open", &["open"]);
    }

    #[test]
    fn a_record_of_each_format_has_fields_without_its_end() {
        let check = |format: Format, record: &str, expected: &[&str]| {
            let text = |field: &Cow<'_, [u8]>| String::from_utf8_lossy(field).into_owned();
            let fields: Vec<String> = format.fields(record.as_bytes()).iter().map(text).collect();
            assert_eq!(fields, expected, "{format:?} {record:?}");
        };
        check(Format::Csv { delimiter: b';' }, "1;\"a\n;b\";\r\n", &["1", "a\n;b", ""]);
        check(Format::Fields { delimiter: b' ' }, " a \t\"b\n", &["a", "\"b"]);
        check(Format::Lines, "a,b\r\n", &["a,b"]);
        check(Format::Lines, "a\r", &["a\r"]);
        check(Format::Lines, "\n", &[""]);
        check(Format::JsonLines, "{}", &["{}"]);
        check(Format::Separated { separator: 0 }, "a\r\0", &["a\r"]);
        check(Format::LineGroups { lines: 2 }, "a\r\nb\r\n", &["a\r\nb"]);
        check(Format::Fixed(2), "a\n", &["a\n"]);
    }

    #[test]
    fn a_column_is_found_by_name_or_number_or_refused() {
        let csv = Format::Csv { delimiter: b',' };
        let pick = |column: Column, format, record: &str| {
            let picked = Picker::new(&column, format, Some(HeaderLine(b"id,\"the price\"\n")));
            picked.and_then(|picker| {
                picker.pick(record.as_bytes()).map(|c| String::from_utf8_lossy(&c).into_owned())
            })
        };
        assert_eq!(pick("the price".into(), csv, "1,2.5\n").unwrap(), "2.5");
        assert_eq!(pick(Column::Number(1), csv, "1,2.5\n").unwrap(), "1");
        assert_eq!(pick("a".into(), Format::JsonLines, r#"{"a":"x\"y"}"#).unwrap(), "x\"y");
        assert_eq!(pick("a".into(), Format::JsonLines, r#"{"a":[1]}"#).unwrap(), "[1]");
        for (column, format, record, expected) in [
            ("no".into(), csv, "1\n", "there is no column no in the header"),
            (Column::Number(2), csv, "1\n", "has no column number 2"),
            ("a".into(), Format::JsonLines, "{}", "has no member a"),
            (
                "a".into(),
                Format::Lines,
                "x",
                "column a: only CSV, lines with fields and JSON Lines have columns, the first two \
                 also by number from 1",
            ),
        ] {
            assert_eq!(pick(column, format, record).unwrap_err().to_string(), expected);
        }
    }

    #[cfg(feature = "json")]
    #[test]
    fn members_of_different_types_are_different_keys() {
        let key = |text: &str| {
            let picker = Picker::new(&"k".into(), Format::JsonLines, None).unwrap();
            let record = format!("{{\"k\":{text}}}\n");
            String::from_utf8(picker.key(record.as_bytes()).unwrap().into_owned()).unwrap()
        };
        for (text, expected) in [
            ("1", "1"),
            ("1.0", "1"),
            ("-0", "0"),
            ("\"1\"", "\"1\""),
            ("null", "null"),
            ("\"null\"", "\"null\""),
            ("\"a b\"", "a b"),
            ("18446744073709551616", "18446744073709551616"),
            ("18446744073709551616.0", "18446744073709551616"),
            ("[1.0,\"1\"]", "[1,\"1\"]"),
        ] {
            assert_eq!(key(text), expected);
        }
        let both = Column::Several(vec!["a".into(), "b".into()]);
        let picker = Picker::new(&both, Format::JsonLines, None).unwrap();
        let [number, text] = [&b"{\"a\":1,\"b\":2}"[..], b"{\"a\":\"1\",\"b\":2}"]
            .map(|record| picker.key(record).unwrap().into_owned());
        assert_ne!(number, text);
    }

    #[test]
    fn a_number_that_is_no_name_is_a_position() {
        let pick = |name: &str, format, header: &'static [u8], record: &str| {
            let picked = Picker::new(&name.into(), format, Some(HeaderLine(header)));
            let text = |field: Cow<'_, [u8]>| String::from_utf8_lossy(&field).into_owned();
            picked
                .and_then(|picker| picker.pick(record.as_bytes()).map(text))
                .unwrap_or_else(|error| error.to_string())
        };
        let csv = Format::Csv { delimiter: b',' };
        assert_eq!(pick("2", csv, b"w,w,id\n", "0,1,a\n"), "1");
        assert_eq!(pick("3", csv, b"3,2,1\n", "a,b,c\n"), "a");
        assert_eq!(pick("4", csv, b"w,w,id\n", "0,1,a\n"), "has no column 4");
        assert_eq!(pick("0", csv, b"w\n", "1\n"), "there is no column 0 in the header");
        let twice = "the columns 1 and 2 of the header are both named w: give a number";
        assert_eq!(pick("w", csv, b"w,w,id\n", "0,1,a\n"), twice);
        let vcf = Format::Fields { delimiter: b'\t' };
        assert_eq!(pick("2", vcf, b"#CHROM\tPOS\n", "1\t7\n"), "7");
        assert_eq!(pick("x", vcf, b"#x\tx\n", "1\t7\n"), twice.replace("named w", "named x"));
    }

    #[test]
    fn fields_have_no_quotes_and_blanks_are_one_separator() {
        let pick = |column: Column, delimiter, names: Option<&[u8]>, record: &str| {
            let picker = Picker::new(&column, Format::Fields { delimiter }, names.map(HeaderLine));
            let picked = picker.unwrap().pick(record.as_bytes()).map(Cow::into_owned);
            String::from_utf8(picked.unwrap()).unwrap()
        };
        let vcf = Some(&b"#CHROM\tPOS\n"[..]);
        assert_eq!(pick("CHROM".into(), b'\t', vcf, "\"a\t1\r\n"), "\"a");
        assert_eq!(pick("#CHROM".into(), b'\t', vcf, "b\t1\n"), "b");
        assert_eq!(pick("POS".into(), b'\t', vcf, "b\t\n"), "");
        assert_eq!(pick(Column::Number(2), b' ', None, " a \t  b c\n"), "b");
    }
}
