//! The headers of several inputs: the first one is kept, and the others must be equal to it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::column::fields;
use super::without_bom;
use crate::{Error, ErrorKind, Format, Result};

/// The header of the first input that has one.
#[derive(Default)]
pub(crate) struct Header {
    pub(crate) bytes: Vec<u8>,
    path: PathBuf,
}

impl Header {
    /// Takes the header of the next input. An input without any record has none.
    pub(crate) fn add(&mut self, path: &Path, header: &[u8], format: Format) -> Result<()> {
        if self.bytes.is_empty() {
            (self.bytes, self.path) = (header.to_vec(), path.to_owned());
            return Ok(());
        }
        let Some((column, names)) = difference(&self.bytes, header, format) else {
            return Ok(());
        };
        let column = column.map(|number| format!(" in column {number}")).unwrap_or_default();
        let [first, other] = names.map(|name| name.map_or("nothing".to_owned(), |n| quoted(&n)));
        let path = self.path.display();
        let text =
            format!("its header differs{column} from that of {path}: {other} instead of {first}");
        Err(Error::new(ErrorKind::MixedHeaders, text))
    }
}

type Names = [Option<Vec<u8>>; 2];

/// The first column whose names differ, counted from 1, if the format has columns.
fn difference(first: &[u8], other: &[u8], format: Format) -> Option<(Option<usize>, Names)> {
    let Format::Csv { delimiter } = format else {
        let lines = [first, other].map(|line| {
            let line = without_bom(line);
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            Some(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        });
        return (lines[0] != lines[1]).then_some((None, lines));
    };
    let (mut first, mut other) = (fields(first, delimiter), fields(other, delimiter));
    for number in 1.. {
        let names = [first.next(), other.next()];
        if names == [None, None] {
            break;
        }
        if names[0] != names[1] {
            return Some((Some(number), names.map(|name| name.map(Cow::into_owned))));
        }
    }
    None
}

/// The beginning of a name, on one line.
fn quoted(name: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(name);
    let start: String = text.chars().take(MOST).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{rest}")
}
