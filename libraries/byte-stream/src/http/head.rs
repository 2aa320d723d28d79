//! Parses the head of a response, with its dates and content encoding, and validates the fields
//! about the body. It does no I/O.

use std::time::UNIX_EPOCH;

use percent_encoding::{AsciiSet, percent_encode};

use super::framing::{ChunkPosition, Frame};
use crate::decode::Encoding;
use crate::{Error, ErrorKind, Result};

/// Limits for the length of a head and for its number of fields.
pub(crate) const HEAD_LIMIT: usize = 64 << 10;
const HEADERS: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) frame: Frame,
    /// A strong `ETag`, or a date that counts as one.
    pub(crate) validator: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) encoding: ContentEncoding,
    pub(crate) range: Option<ContentRange>,
    pub(crate) retry_after_s: Option<u64>,
    /// The server will close the connection behind the body.
    pub(crate) closes: bool,
}

/// The value of `Content-Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentRange {
    /// First and last byte, and the size of the whole if it is known.
    Part(u64, u64, Option<u64>),
    /// An unsatisfied range: the size of the resource.
    None(u64),
}

/// Parses a head and its length; `None` if it is incomplete.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(n)) => Ok(Some((Head::from_response(&response)?, n))),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            Err(wrong(format!("the head of the answer has more than {HEADERS} lines")))
        }
        Err(error) => Err(wrong(format!("the answer is not HTTP: {error}"))),
    }
}

/// The first bytes of every answer.
const START: &[u8] = b"HTTP/";
/// Line ends in front of it are looked for, and other bytes shown, up to this length.
const SHOWN_BYTES: usize = 48;

/// Fails as soon as the bytes received so far cannot be the start of an answer, so that the error
/// shows the bytes of another protocol, and its server is not waited for.
pub(crate) fn check_start(received: &[u8]) -> Result<()> {
    let received = &received[..received.len().min(SHOWN_BYTES)];
    // A server may send line ends in front of an answer (RFC 9112, 2.2).
    let first = received.iter().position(|byte| !b"\r\n".contains(byte));
    let Some(bytes) = first.map(|first| &received[first..]) else { return Ok(()) };
    if bytes.iter().zip(START).all(|(byte, expected)| byte == expected) {
        return Ok(());
    }
    // The types of its records are 20 to 24 (RFC 8446, 5.1).
    if matches!(bytes, [20..=24, 3, ..]) {
        return Err(wrong("the answer is not HTTP but TLS, as that of an https:// URL".to_owned()));
    }
    let line = bytes.split(|byte| b"\r\n".contains(byte)).next().unwrap_or_default();
    Err(wrong(format!("the answer is not HTTP: it begins with `{}`", line.escape_ascii())))
}

impl Head {
    fn from_response(response: &httparse::Response<'_, '_>) -> Result<Head> {
        let status = response.code.unwrap_or_default();
        let is_old = response.version == Some(0);
        let values = |name: &str| {
            let headers = response.headers.iter();
            let named = headers.filter(|header| header.name.eq_ignore_ascii_case(name));
            named.map(|header| header.value.trim_ascii()).collect::<Vec<&[u8]>>()
        };
        let one = |name: &str| match values(name).as_slice() {
            [] => Ok(None),
            [value] => Ok(Some(text(value)?)),
            // RFC 9110, 5.3: a field that is not a list must not be repeated.
            _ => Err(wrong(format!("the answer has several {name}"))),
        };
        let range = one("Content-Range")?;
        let range = range.map(|value| {
            content_range(&value)
                .ok_or_else(|| wrong(format!("the answer's Content-Range is malformed: {value}")))
        });
        let date = |name| {
            let text = one(name).ok().flatten()?;
            parse_date(&text).map(|at| (text, at))
        };
        // The server's clock is used, not ours.
        let now = date("Date").map(|(_, at)| at);
        let closes = values("Connection").iter().any(|value| is_in_list(value, b"close"));
        Ok(Head {
            status,
            frame: frame(status, is_old, &values("Transfer-Encoding"), &values("Content-Length"))?,
            validator: match one("ETag")? {
                Some(etag) => Some(etag).filter(|etag| is_strong(etag)),
                None => {
                    date("Last-Modified").filter(|(_, at)| is_old_enough(*at, now)).map(|d| d.0)
                }
            },
            location: location(&values("Location"))?,
            encoding: ContentEncoding::from_values(&values("Content-Encoding")),
            range: range.transpose()?,
            retry_after_s: one("Retry-After").ok().flatten().and_then(|value| {
                let until = || parse_date(&value)?.checked_sub(now?);
                value.parse().ok().or_else(until)
            }),
            closes: closes || is_old,
        })
    }
}

/// RFC 9110, 8.8.2.2: a date is a strong validator if the resource could not change again within
/// its second. A minute allows for a file server with another clock.
fn is_old_enough(modified: u64, now: Option<u64>) -> bool {
    now.and_then(|now| now.checked_sub(modified)).is_some_and(|age| age >= 60)
}

/// A redirect. Many servers send UTF-8 as it is, and some send other bytes.
pub(crate) fn location(values: &[&[u8]]) -> Result<Option<String>> {
    match values {
        [] => Ok(None),
        [value] => Ok(Some(percent_encode(value, &AsciiSet::EMPTY).to_string())),
        _ => Err(wrong("the answer has several Location".to_owned())),
    }
}

/// RFC 9112, 6.3; ambiguous framing is an error here.
fn frame(status: u16, is_old: bool, codings: &[&[u8]], lengths: &[&[u8]]) -> Result<Frame> {
    if matches!(status, 100..=199 | 204 | 304) {
        return Ok(Frame::Length(0));
    }
    match (codings, lengths) {
        ([], []) => Ok(Frame::Close),
        ([], _) => length(lengths).map(Frame::Length),
        ([coding], []) if coding.eq_ignore_ascii_case(b"chunked") && !is_old => {
            Ok(Frame::Chunked(ChunkPosition::Size))
        }
        (_, []) => Err(wrong("the answer's Transfer-Encoding is not known".to_owned())),
        _ => Err(wrong("the answer has both Transfer-Encoding and Content-Length".to_owned())),
    }
}

/// A single number, which may be repeated.
fn length(values: &[&[u8]]) -> Result<u64> {
    let mut found = None;
    for value in values.iter().flat_map(|value| value.split(|b| *b == b',')) {
        let value = value.trim_ascii();
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(value).ok().filter(|_| digits);
        let number = number.and_then(|number| number.parse::<u64>().ok());
        let number = number.ok_or_else(|| wrong("the Content-Length is malformed".to_owned()))?;
        if *found.get_or_insert(number) != number {
            return Err(wrong("the answer has several Content-Length".to_owned()));
        }
    }
    found.ok_or_else(|| wrong("the Content-Length is malformed".to_owned()))
}

/// `bytes 0-9/100`, `bytes 0-9/*`, `bytes */100` (RFC 9110, 14.4).
pub(crate) fn content_range(value: &str) -> Option<ContentRange> {
    let number = |text: &str| {
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
    };
    let (unit, rest) = value.split_once(' ')?;
    let (range, size) = rest.trim().split_once('/')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    if range == "*" {
        return Some(ContentRange::None(number(size)?));
    }
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (number(first)?, number(last)?);
    let size = if size == "*" { None } else { Some(number(size)?) };
    let is_sound = first <= last && last < u64::MAX && size.is_none_or(|size| last < size);
    is_sound.then_some(ContentRange::Part(first, last, size))
}

fn is_in_list(value: &[u8], word: &[u8]) -> bool {
    value.split(|b| *b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

fn text(value: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(value).map(str::to_owned);
    text.map_err(|_| wrong("a header of the answer is not text".to_owned()))
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::Protocol, text)
}

/// RFC 9110, 8.8.3: a strong validator changes with every change of the content.
pub(crate) fn is_strong(etag: &str) -> bool {
    let bytes = etag.as_bytes();
    bytes.len() >= 2
        && bytes[0] == b'"'
        && bytes[bytes.len() - 1] == b'"'
        && bytes[1..bytes.len() - 1]
            .iter()
            .all(|b| *b == 0x21 || (0x23..=0x7e).contains(b) || *b >= 0x80)
}

/// Whether the text can stand for a version: a strong `ETag`, or a date of `Last-Modified`.
pub(crate) fn is_validator(text: &str) -> bool {
    is_strong(text) || parse_date(text).is_some()
}

/// The first answer of a server: its URL, status and headers; see
/// [`Stream::response`](crate::Stream::response).
///
/// ```no_run
/// let stream = byte_stream::Stream::open("https://example.org/")?;
/// if let Some(response) = stream.response() {
///     println!("{} {:?}", response.url(), response.header("Content-Type"));
/// }
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub(super) url: String,
    pub(super) status: u16,
    /// The head as it was received.
    pub(super) head: Box<[u8]>,
}

impl Response {
    /// The final URL, after all redirects, without credentials.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// let url = stream.response().map(|response| response.url());
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The status: 200 to 299.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// let is_part = stream.response().is_some_and(|response| response.status() == 206);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The names and the values of all headers, as they were sent.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// for (name, value) in stream.response().into_iter().flat_map(|response| response.headers()) {
    ///     println!("{name}: {}", String::from_utf8_lossy(value));
    /// }
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        // It was parsed before, so that this cannot fail.
        let _ = response.parse(&self.head);
        let headers: Vec<_> =
            response.headers.iter().map(|header| (header.name, header.value)).collect();
        headers.into_iter()
    }

    /// The value of the first header with this name, if it is text.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// let content_type = stream.response().and_then(|response| response.header("Content-Type"));
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok().map(str::trim_ascii)
    }
}

/// The seconds since 1970 of a date in any of the three formats (RFC 9110, 5.6.7).
fn parse_date(text: &str) -> Option<u64> {
    let seconds = |text: &str| {
        let at = httpdate::parse_http_date(text).ok()?;
        Some(at.duration_since(UNIX_EPOCH).ok()?.as_secs())
    };
    // A minute may have a leap second, which httpdate refuses.
    seconds(text).or_else(|| Some(seconds(&text.replacen(":60 ", ":59 ", 1))? + 1))
}

/// The value of `Content-Encoding`: how the bytes of a body are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    #[default]
    Identity,
    Known(Encoding),
    /// An unknown encoding, or several.
    Unknown,
}

impl ContentEncoding {
    fn from_values(values: &[&[u8]]) -> ContentEncoding {
        let [value] = values else {
            return if values.is_empty() { Self::Identity } else { Self::Unknown };
        };
        match value.to_ascii_lowercase().as_slice() {
            b"" | b"identity" => Self::Identity,
            b"gzip" | b"x-gzip" => Self::Known(Encoding::Gzip),
            b"br" => Self::Known(Encoding::Brotli),
            b"zstd" => Self::Known(Encoding::Zstd),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(headers: &str, expected: &str) {
        let wire = format!("HTTP/1.1 200 OK\r\n{}\r\n\r\n", headers.replace('\n', "\r\n"));
        let got = match parse(wire.as_bytes()) {
            Ok(Some((head, n))) => {
                assert_eq!(n, wire.len());
                format!("{:?} {:?} {:?}", head.frame, head.validator, head.range)
            }
            Ok(None) => "more".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{headers}");
    }

    #[test]
    fn ambiguous_framing_of_the_body_is_refused() {
        check("Content-Length: 5", "Length(5) None None");
        check("Content-Length: 5, 5\ncontent-length: 5", "Length(5) None None");
        check("Content-Length: 5\nContent-Length: 6", "the answer has several Content-Length");
        check("Content-Length: +5", "the Content-Length is malformed");
        check("Content-Length: 99999999999999999999", "the Content-Length is malformed");
        check("Transfer-Encoding: Chunked", "Chunked(Size) None None");
        check("Transfer-Encoding: gzip, chunked", "the answer's Transfer-Encoding is not known");
        let both = "the answer has both Transfer-Encoding and Content-Length";
        check("Transfer-Encoding: chunked\nContent-Length: 3", both);
        check("X: y", "Close None None");
    }

    fn check_first(bytes: &[u8], expected: &str) {
        let got = check_start(bytes).map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert_eq!(got, expected, "{}", bytes.escape_ascii());
    }

    #[test]
    fn the_first_bytes_show_another_protocol() {
        let zeros = format!("the answer is not HTTP: it begins with `{}`", "\\x00".repeat(48));
        for bytes in [&b""[..], b"H", b"HTTP", b"HTTP/1.1 200 OK", b"\r\n\nHTTP/", &[b'\n'; 99]] {
            check_first(bytes, "ok");
        }
        check_first(b"SSH-2.0-x\r\n", "the answer is not HTTP: it begins with `SSH-2.0-x`");
        check_first(b"\r\n220 mail\r\n", "the answer is not HTTP: it begins with `220 mail`");
        check_first(b"HTTPS/1.1", "the answer is not HTTP: it begins with `HTTPS/1.1`");
        check_first(&[0; 99], &zeros);
        let tls = "the answer is not HTTP but TLS, as that of an https:// URL";
        check_first(b"\x15\x03\x01\0\x02\x02\x46", tls);
    }

    #[test]
    fn only_a_strong_etag_counts() {
        check("ETag: \"a\"", "Close Some(\"\\\"a\\\"\") None");
        check("ETag: W/\"a\"", "Close None None");
        check("ETag: a", "Close None None");
        check("ETag: \"a\"\nETag: \"b\"", "the answer has several ETag");
    }

    #[test]
    fn a_date_counts_if_it_is_a_minute_old_and_there_is_no_etag() {
        let modified = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT";
        let at = |date: &str, more: &str, expected: &str| {
            let date = format!("Date: Sun, 06 Nov 1994 {date} GMT");
            check(&format!("{date}\n{modified}{more}"), &format!("Close {expected} None"));
        };
        at("08:50:37", "", "Some(\"Sun, 06 Nov 1994 08:49:37 GMT\")");
        at("08:50:36", "", "None");
        at("08:40:00", "", "None");
        at("08:50:37", "\nETag: W/\"a\"", "None");
        at("08:50:37", "\nETag: \"a\"", "Some(\"\\\"a\\\"\")");
        at("08:50:37", "\nLast-Modified: x", "None");
        check(modified, "Close None None");
    }

    #[test]
    fn a_server_may_say_when_to_come_again_by_its_clock() {
        let after = |lines: &str| {
            let wire = format!("HTTP/1.1 503 X\r\n{}\r\n\r\n", lines.replace('\n', "\r\n"));
            parse(wire.as_bytes()).unwrap().unwrap().0.retry_after_s
        };
        let until = "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(after("Retry-After: 7"), Some(7));
        assert_eq!(after(&format!("{until}\nDate: Sun, 06 Nov 1994 08:49:07 GMT")), Some(30));
        assert_eq!(after(&format!("{until}\nDate: Sun, 06 Nov 1994 09:00:00 GMT")), None);
        assert_eq!(after(until), None);
        assert_eq!(after("Retry-After: soon"), None);
    }

    #[test]
    fn a_range_is_sound_or_refused() {
        check("Content-Range: bytes 1-2/3", "Close None Some(Part(1, 2, Some(3)))");
        check("Content-Range: bytes 1-2/*", "Close None Some(Part(1, 2, None))");
        check("Content-Range: bytes */3", "Close None Some(None(3))");
        for bad in ["bytes 2-1/3", "bytes 1-3/3", "bytes 1-2", "lines 1-2/3", "bytes -2/3", ""] {
            let text = format!("the answer's Content-Range is malformed: {bad}");
            check(&format!("Content-Range: {bad}"), &text);
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = parse(&[b"HTTP/1.1 206 X\r\nContent-Range: bytes ", bytes.as_slice()].concat());
            let _ = content_range(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[cfg(test)]
mod date_tests {
    use super::*;

    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(parse_date(text), expected, "{text}");
    }

    #[test]
    fn all_three_formats_are_read() {
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
        check("Sun Nov  6 08:49:37 1994", Some(784_111_777));
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Thu, 29 Feb 2024 23:59:60 GMT", Some(1_709_251_200));
        check("Thursday, 29-Feb-24 23:59:60 GMT", Some(1_709_251_200));
        check("Thu Feb 29 23:59:60 2024", Some(1_709_251_200));
        check("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "0",
            "soon",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 anF 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Thu, 30 Feb 2023 08:49:37 GMT",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
        ] {
            check(text, None);
        }
    }
}
