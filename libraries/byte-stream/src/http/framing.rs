//! Finds the bytes of a body and its end in the received bytes (RFC 9112). It does no I/O.

use crate::{Error, ErrorKind, Result};

/// The limit for a chunk-size line with its extensions, and for all trailers together.
const CONTROL_LIMIT: usize = 8 << 10;
const TRAILERS: usize = 64;
/// The length of CR LF.
const LINE_END: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Bytes left of a body with `Content-Length`.
    Length(u64),
    Chunked(ChunkPosition),
    /// The body ends with the connection.
    Close,
}

/// The position within a chunked body (RFC 9112, 7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChunkPosition {
    Size,
    Data(u64),
    /// The line end behind the data.
    DataEnd,
    Trailers,
    End,
}

/// The meaning of the next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FramingStep {
    /// This many bytes of the body.
    Data(usize),
    /// This many bytes that are not part of the body.
    Control(usize),
    /// More bytes are needed.
    More,
    /// The body ended before these bytes.
    End,
}

impl Frame {
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Result<FramingStep> {
        match self {
            Frame::Length(0) | Frame::Chunked(ChunkPosition::End) => Ok(FramingStep::End),
            _ if bytes.is_empty() => Ok(FramingStep::More),
            Frame::Length(left) => Ok(FramingStep::Data(take(left, bytes.len()))),
            Frame::Close => Ok(FramingStep::Data(bytes.len())),
            Frame::Chunked(part) => chunked(part, bytes),
        }
    }
}

fn take(left: &mut u64, available: usize) -> usize {
    let n = (*left).min(available as u64);
    *left -= n;
    n as usize
}

fn chunked(part: &mut ChunkPosition, bytes: &[u8]) -> Result<FramingStep> {
    match part {
        // httparse takes a chunk size without digits for 0, which would end the body too early.
        ChunkPosition::Size if !bytes[0].is_ascii_hexdigit() => {
            Err(wrong("the size of a chunk is malformed"))
        }
        ChunkPosition::Size => match httparse::parse_chunk_size(bytes) {
            Ok(httparse::Status::Complete((n, _))) if n > CONTROL_LIMIT => Err(too_long()),
            // httparse takes any byte for one of an extension. Others end the line at a line feed,
            // and begin the data there.
            Ok(httparse::Status::Complete((n, _))) if has_controls(&bytes[..n - LINE_END]) => {
                Err(wrong("a control character stands behind the size of a chunk"))
            }
            Ok(httparse::Status::Complete((n, size))) => {
                *part = if size == 0 { ChunkPosition::Trailers } else { ChunkPosition::Data(size) };
                Ok(FramingStep::Control(n))
            }
            Ok(httparse::Status::Partial) => more(bytes),
            Err(_) => Err(wrong("the size of a chunk is malformed")),
        },
        ChunkPosition::Data(left) => {
            let n = take(left, bytes.len());
            if *left == 0 {
                *part = ChunkPosition::DataEnd;
            }
            Ok(FramingStep::Data(n))
        }
        ChunkPosition::DataEnd => match bytes {
            [b'\r', b'\n', ..] => {
                *part = ChunkPosition::Size;
                Ok(FramingStep::Control(2))
            }
            b"\r" => Ok(FramingStep::More),
            _ => Err(wrong("a chunk is longer than its size says")),
        },
        ChunkPosition::Trailers => {
            let mut headers = [httparse::EMPTY_HEADER; TRAILERS];
            match httparse::parse_headers(bytes, &mut headers) {
                Ok(httparse::Status::Complete((n, _))) if n > CONTROL_LIMIT => Err(too_long()),
                Ok(httparse::Status::Complete((n, _))) => {
                    *part = ChunkPosition::End;
                    Ok(FramingStep::Control(n))
                }
                Ok(httparse::Status::Partial) => more(bytes),
                Err(_) => Err(wrong("the trailers are malformed")),
            }
        }
        ChunkPosition::End => Ok(FramingStep::End),
    }
}

fn has_controls(line: &[u8]) -> bool {
    line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t')
}

fn more(bytes: &[u8]) -> Result<FramingStep> {
    if bytes.len() > CONTROL_LIMIT {
        return Err(too_long());
    }
    Ok(FramingStep::More)
}

fn too_long() -> Error {
    wrong("the lines between chunks are too long")
}

fn wrong(text: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The body in `wire`, received in pieces of these lengths; and the number of bytes behind it.
    fn decode(wire: &[u8], pieces: &[usize]) -> Result<(Vec<u8>, usize)> {
        let (mut frame, mut body) = (Frame::Chunked(ChunkPosition::Size), Vec::new());
        let (mut start, mut end) = (0, 0);
        let mut pieces = pieces.iter().cycle();
        loop {
            match frame.step(&wire[start..end])? {
                FramingStep::Data(n) => {
                    body.extend_from_slice(&wire[start..start + n]);
                    start += n;
                }
                FramingStep::Control(n) => start += n,
                FramingStep::End => return Ok((body, wire.len() - start)),
                FramingStep::More if end == wire.len() => return Err(wrong("cut")),
                FramingStep::More => {
                    end = wire.len().min(end + pieces.next().copied().unwrap_or(1).max(1));
                }
            }
        }
    }

    fn check(wire: &str, expected: &str) {
        let got = match decode(wire.as_bytes(), &[1]) {
            Ok((body, left)) => format!("{} +{left}", String::from_utf8(body).unwrap()),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{wire:?}");
    }

    #[test]
    fn chunks_are_taken_apart_and_wrong_ones_refused() {
        check("3\r\nabc\r\n0\r\n\r\n", "abc +0");
        check("3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nrest", "abc0123456789 +4");
        check("0\r\n\r\n", " +0");
        check("3\r\nabcd\r\n0\r\n\r\n", "a chunk is longer than its size says");
        check("4\r\nabc\r\n0\r\n\r\n", "a chunk is longer than its size says");
        check("x\r\n", "the size of a chunk is malformed");
        check("3\r\nabc\r\n\r\n\r\n", "the size of a chunk is malformed");
        check(" 3\r\nabc\r\n0\r\n\r\n", "the size of a chunk is malformed");
        check("-1\r\n", "the size of a chunk is malformed");
        check("fffffffffffffffff\r\n", "the size of a chunk is malformed");
        let control = "a control character stands behind the size of a chunk";
        for byte in ['\0', '\n', '\u{8}', '\u{1b}', '\u{7f}'] {
            check(&format!("3;x{byte}\r\nabc\r\n0\r\n\r\n"), control);
            check(&format!("3;x=\"{byte}\"\r\nabc\r\n0\r\n\r\n"), control);
            check(&format!("3\r\nabc\r\n0;x{byte}\r\n\r\n"), control);
        }
        check("3;x=\"\t\"\r\nabc\r\n0\r\n\r\n", "abc +0");
        check("3\r\nabc\r\n0\r\n", "cut");
        check(&format!("3;{}", "x".repeat(10_000)), "the lines between chunks are too long");
    }

    #[test]
    fn a_line_is_too_long_however_much_of_it_comes_at_once() {
        for piece in [1, 100_000] {
            for wire in [
                format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(9000)),
                format!("3\r\nabc\r\n0\r\nX: {}\r\n\r\n", "x".repeat(9000)),
            ] {
                let error = decode(wire.as_bytes(), &[piece]).unwrap_err();
                assert_eq!(error.to_string(), "the lines between chunks are too long", "{piece}");
            }
        }
    }

    proptest! {
        #[test]
        fn chunks_are_decoded_whatever_the_read_sizes(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..50), 0..10),
            pieces in proptest::collection::vec(1usize..40, 1..5),
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(decode(&wire, &pieces).unwrap(), (chunks.concat(), 0));
            // No part of the body is taken for the whole.
            for len in 0..wire.len() {
                prop_assert!(decode(&wire[..len], &pieces).is_err());
            }
        }

        #[test]
        fn hostile_bytes_never_panic(wire in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&wire, &[7]);
        }
    }
}
