//! CSV and TSV: a line of names, then a line per sample. A missing value is an empty field.

use std::io::{self, Write};

use super::format::{Exported, FieldValue, PortableNumber, SampleTable};
use super::{ExportFormat, FormatKind};

pub(super) const CSV_FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    about: "a line per sample",
    extensions: &["csv"],
    kind: FormatKind::Text,
    write: |exported, out| Ok(write(exported, CSV, out)?),
};

pub(super) const TSV_FORMAT: ExportFormat = ExportFormat {
    name: "tsv",
    about: "a line per sample; \\t, \\n, \\r and \\\\ stand for these",
    extensions: &["tsv"],
    kind: FormatKind::Text,
    write: |exported, out| Ok(write(exported, TSV, out)?),
};

#[derive(Clone, Copy)]
pub(super) struct Dialect {
    separator: u8,
    text: fn(&str, &mut dyn Write) -> io::Result<()>,
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
    let names: Vec<FieldValue<'_>> =
        columns.names.iter().map(|name| FieldValue::Text(name)).collect();
    line(&names, dialect, &mut out)?;
    columns.rows(|fields| line(fields, dialect, &mut out))?;
    Ok(columns.left_out())
}

fn line(fields: &[FieldValue<'_>], dialect: Dialect, out: &mut dyn Write) -> io::Result<()> {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.write_all(&[dialect.separator])?;
        }
        match field {
            FieldValue::None => {}
            FieldValue::Text(text) => (dialect.text)(text, out)?,
            FieldValue::Owned(text) => (dialect.text)(text, out)?,
            FieldValue::Whole(n) => write!(out, "{n}")?,
            FieldValue::Number(value) => write!(out, "{}", PortableNumber(*value))?,
            FieldValue::Flag(flag) => write!(out, "{flag}")?,
        }
    }
    out.write_all(b"\n")
}

/// An empty text is quoted, too, because an unquoted empty field means no text.
fn quoted(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let plain = !text.is_empty()
        && !text.contains(['"', ',', '\r', '\n'])
        && !text.starts_with(' ')
        && !text.ends_with(' ');
    if plain {
        return out.write_all(text.as_bytes());
    }
    write!(out, "\"{}\"", text.replace('"', "\"\""))
}

fn escaped(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(['\t', '\n', '\r', '\\']) {
        out.write_all(&rest.as_bytes()[..at])?;
        out.write_all(match rest.as_bytes()[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\\\",
        })?;
        rest = &rest[at + 1..];
    }
    out.write_all(rest.as_bytes())
}
