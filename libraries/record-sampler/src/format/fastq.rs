//! The four lines of a record of FASTQ: what they begin with, and how long two of them are. A
//! record of more lines is not read, as its qualities may begin as a record does.

use crate::{Error, ErrorKind, Result};

/// The lines of each record.
pub(crate) const FASTQ_LINES: u64 = 4;

/// A line without its line feed, in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LineShape {
    first: Option<u8>,
    last: Option<u8>,
    bytes: u64,
}

impl LineShape {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.first = self.first.or(piece.first().copied());
        self.last = piece.last().copied().or(self.last);
        self.bytes += piece.len() as u64;
    }

    /// The bytes before LF or CRLF.
    fn len(self) -> u64 {
        self.bytes - u64::from(self.last == Some(b'\r'))
    }
}

/// Fails if these lines, the first of which has this number, are no record.
pub(crate) fn check_fastq(lines: &[LineShape; FASTQ_LINES as usize], number: u64) -> Result<()> {
    let [name, bases, mark, qualities] = *lines;
    let begins = |line: u64, mark: char| {
        let text = format!(
            "line {line} does not begin with {mark}: a record has four lines, as `seqtk seq FILE` \
             writes them"
        );
        Err(Error::new(ErrorKind::Malformed, text))
    };
    if name.first != Some(b'@') {
        return begins(number, '@');
    }
    if mark.first != Some(b'+') {
        return begins(number + 2, '+');
    }
    let (has, needs) = (qualities.len(), bases.len());
    if has == needs {
        return Ok(());
    }
    let text = format!(
        "line {} has {has} qualities for the {needs} bases of line {}",
        number + 3,
        number + 1
    );
    Err(Error::new(ErrorKind::Malformed, text))
}

/// Fails if these bytes, whose first line has this number, are no record.
pub(crate) fn check_fastq_bytes(record: &[u8], number: u64) -> Result<()> {
    let mut shapes = [LineShape::default(); FASTQ_LINES as usize];
    let lines = record.split_inclusive(|byte| *byte == b'\n');
    for (shape, line) in shapes.iter_mut().zip(lines) {
        shape.add(line.strip_suffix(b"\n").unwrap_or(line));
    }
    check_fastq(&shapes, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: &str, expected: &str) {
        let error = check_fastq_bytes(record.as_bytes(), 9).err().map(|error| error.to_string());
        assert_eq!(error.unwrap_or_default(), expected, "{record:?}");
    }

    #[test]
    fn a_record_has_a_name_bases_a_mark_and_as_many_qualities() {
        const MORE: &str = ": a record has four lines, as `seqtk seq FILE` writes them";
        check("@\nACGT\n+name\n@+>I\n", "");
        check("@a\r\nACGT\r\n+\r\nIIII\r\n", "");
        check("@a\r\nACGT\r\n+\r\nIIII", "");
        check("@a\n\n+\n\n", "");
        check("@r1\nACGT\nTTGC\n+\n", &format!("line 11 does not begin with +{MORE}"));
        check("IIII\n@r2\nAC\n+\n", &format!("line 9 does not begin with @{MORE}"));
        check("\nAC\n+\nII\n", &format!("line 9 does not begin with @{MORE}"));
        check("@a\nACGT\n+\nIII\n", "line 12 has 3 qualities for the 4 bases of line 10");
        check("@a\nAC\n+\nIII\r\n", "line 12 has 3 qualities for the 2 bases of line 10");
    }

    #[test]
    fn a_line_has_the_same_shape_in_pieces() {
        let shape = |pieces: &[&str]| {
            let mut shape = LineShape::default();
            for piece in pieces {
                shape.add(piece.as_bytes());
            }
            shape
        };
        assert_eq!(shape(&["@ab\r"]), shape(&["", "@", "ab", "", "\r", ""]));
        assert_eq!((shape(&["a", "\r"]).len(), shape(&["\r"]).len(), shape(&[]).len()), (1, 0, 0));
    }
}
