//! CSV and TSV: a line of names, then a line per sample. A missing value is an empty field.

use std::convert::Infallible;
use std::io::{self, Write};

use analysis::map_each;

use super::format::{Exported, FieldValue, PortableNumber, SampleRows, SampleTable, append_number};
use super::{ExportFormat, FormatKind};

pub(super) const CSV_FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    about: "a line per sample",
    extensions: &["csv"],
    kind: FormatKind::Text,
    is_of_samples: true,
    write: |exported, out| Ok(write(exported, CSV, out)?),
};

pub(super) const TSV_FORMAT: ExportFormat = ExportFormat {
    name: "tsv",
    about: "a line per sample; \\t, \\n, \\r and \\\\ stand for these",
    extensions: &["tsv"],
    kind: FormatKind::Text,
    is_of_samples: true,
    write: |exported, out| Ok(write(exported, TSV, out)?),
};

#[derive(Clone, Copy)]
pub(super) struct Dialect {
    separator: u8,
    /// Appends a text to a line.
    text: fn(&str, &mut Vec<u8>),
}

/// RFC 4180, except that a line ends with a line feed.
pub(super) const CSV: Dialect = Dialect { separator: b',', text: quoted };
/// Linear TSV: each record is one line, whatever its content.
pub(super) const TSV: Dialect = Dialect { separator: b'\t', text: escaped };

pub(super) fn write(
    exported: &Exported<'_>,
    dialect: Dialect,
    mut out: impl Write,
) -> io::Result<Vec<String>> {
    let columns = SampleTable::new(exported);
    let mut line = Vec::new();
    for (at, name) in columns.names.iter().enumerate() {
        field(&FieldValue::Text(name), at > 0, dialect, &mut line);
    }
    line.push(b'\n');
    out.write_all(&line)?;
    let samples = exported.cells.iter().map(|entry| entry.cell.samples.len()).sum();
    for parts in columns.parts().chunks(PARTS) {
        for text in map_each(parts, samples, |part| lines(&columns, part, dialect)) {
            out.write_all(&text)?;
        }
    }
    Ok(columns.left_out())
}

/// The number of parts whose text is in memory at the same time.
const PARTS: usize = 4;

fn lines(columns: &SampleTable<'_>, part: &SampleRows<'_>, dialect: Dialect) -> Vec<u8> {
    let (mut of_cell, mut text) = (Vec::new(), Vec::new());
    let Ok(()) = columns.rows(part, |row| -> Result<(), Infallible> {
        if row.is_first {
            for (at, value) in row.of_cell.iter().enumerate() {
                field(value, at > 0, dialect, &mut of_cell);
            }
        }
        text.extend_from_slice(&of_cell);
        row.of_sample.iter().for_each(|value| field(value, true, dialect, &mut text));
        text.push(b'\n');
        Ok(())
    });
    text
}

fn field(value: &FieldValue<'_>, follows: bool, dialect: Dialect, line: &mut Vec<u8>) {
    if follows {
        line.push(dialect.separator);
    }
    match value {
        FieldValue::None => {}
        FieldValue::Text(text) => (dialect.text)(text, line),
        FieldValue::Owned(text) => (dialect.text)(text, line),
        FieldValue::Whole(n) => append_number(n, line),
        FieldValue::Number(value) => PortableNumber(*value).append_to(line),
        FieldValue::Flag(true) => line.extend_from_slice(b"true"),
        FieldValue::Flag(false) => line.extend_from_slice(b"false"),
    }
}

/// An empty text is quoted, too, because an unquoted empty field means no text.
fn quoted(text: &str, line: &mut Vec<u8>) {
    let plain = !text.is_empty()
        && !text.contains(['"', ',', '\r', '\n'])
        && !text.starts_with(' ')
        && !text.ends_with(' ');
    if plain {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}

fn escaped(text: &str, line: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.find(['\t', '\n', '\r', '\\']) {
        line.extend_from_slice(&rest.as_bytes()[..at]);
        line.extend_from_slice(match rest.as_bytes()[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\\\",
        });
        rest = &rest[at + 1..];
    }
    line.extend_from_slice(rest.as_bytes());
}

#[cfg(test)]
mod tests {
    use analysis::Analysis;
    use model::run::Status;

    use super::*;
    use crate::tests::fixture::{Fixture, sample};

    #[test]
    fn the_rows_of_many_samples_are_in_their_order() {
        const ROUNDS: u32 = 51_000;
        let mut f = Fixture::new();
        for method in ["a", "b"] {
            f.cell(method, Status::Measured);
            let cell = f.last().0;
            for round in 0..ROUNDS {
                cell.push(sample(round), &[("wall_ns", f64::from(round) + 0.5)]);
            }
        }
        let mut out = Vec::new();
        let analysis = Analysis::default();
        write(&Exported::new(&f.run, &analysis), TSV, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
        let places = ["method", "round", "wall_ns"].map(|one| names.iter().position(|n| *n == one));
        for method in ["a", "b"] {
            for round in 0..ROUNDS {
                let fields: Vec<&str> = lines.next().unwrap().split('\t').collect();
                let found = places.map(|place| fields[place.unwrap()]);
                let expected = [method.to_owned(), round.to_string(), format!("{round}.5")];
                assert_eq!(found, expected);
            }
        }
        assert_eq!(lines.next(), None);
    }
}
