//! A client of the few lines that many programs have: it finds the end of the head, the length or
//! the chunks, and checks nothing. What it makes of an answer shows what the checks are for.

use super::table::{Answer, End};

/// How reading went on that no connection of a machine takes part in.
#[derive(Debug, PartialEq)]
pub(super) enum Failed {
    Error,
    /// It waits, or reads, for ever.
    NoEnd,
}

struct Reader<'a> {
    answer: &'a Answer,
    bytes: Vec<u8>,
    at: usize,
}

impl Reader<'_> {
    /// As many of the next `len` bytes as come before the end.
    fn take(&mut self, len: usize) -> Result<Vec<u8>, Failed> {
        let available = self.bytes.len() - self.at;
        if available < len {
            match self.answer.end {
                End::Close => {}
                End::Reset => return Err(Failed::Error),
                End::Hang | End::Endless(_) => return Err(Failed::NoEnd),
            }
        }
        let taken = self.bytes[self.at..][..len.min(available)].to_vec();
        self.at += taken.len();
        Ok(taken)
    }

    fn take_all(&mut self, len: usize) -> Result<Vec<u8>, Failed> {
        let taken = self.take(len)?;
        if taken.len() == len { Ok(taken) } else { Err(Failed::Error) }
    }

    /// The text before the next `end`.
    fn until(&mut self, end: &str) -> Result<String, Failed> {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.extend(self.take_all(1)?);
        }
        Ok(String::from_utf8_lossy(&text[..text.len() - end.len()]).into_owned())
    }
}

/// The body of an answer.
pub(super) fn get(answer: &Answer) -> Result<Vec<u8>, Failed> {
    let mut bytes = answer.bytes.clone();
    if let End::Endless(more) = &answer.end {
        bytes.extend(more.repeat(32));
    }
    let mut reader = Reader { answer, bytes, at: 0 };
    let head = reader.until("\r\n\r\n")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    if !status.is_some_and(|status| (200..300).contains(&status)) {
        return Err(Failed::Error);
    }
    let field = |name: &str| {
        let fields = head.lines().filter_map(|line| line.split_once(':'));
        fields
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim().to_owned())
            .next()
    };
    if field("Transfer-Encoding").is_some_and(|coding| coding.contains("chunked")) {
        return chunks(&mut reader);
    }
    let len = field("Content-Length").and_then(|length| length.parse().ok());
    reader.take(len.unwrap_or(usize::MAX))
}

fn chunks(reader: &mut Reader<'_>) -> Result<Vec<u8>, Failed> {
    let mut body = Vec::new();
    loop {
        let line = reader.until("\r\n")?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| Failed::Error)?;
        if size == 0 {
            return Ok(body);
        }
        body.extend(reader.take_all(size)?);
        reader.take_all(2)?;
    }
}
