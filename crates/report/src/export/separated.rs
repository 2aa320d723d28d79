//! CSV and TSV: a line of names, then a line per sample. A missing value is an empty field.

use std::io::{self, Write};

use super::format::{Exported, FieldValue, PortableNumber, SampleTable, append_number};
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
    let mut of_cell = 0;
    columns.rows(|row| {
        if row.is_first {
            line.clear();
            for (at, value) in row.of_cell.iter().enumerate() {
                field(value, at > 0, dialect, &mut line);
            }
            of_cell = line.len();
        }
        line.truncate(of_cell);
        row.of_sample.iter().for_each(|value| field(value, true, dialect, &mut line));
        line.push(b'\n');
        out.write_all(&line)
    })?;
    Ok(columns.left_out())
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
