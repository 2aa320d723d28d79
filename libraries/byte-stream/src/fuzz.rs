//! Parsers of HTTP responses for the fuzz targets: not a public interface, and only there with the
//! feature `fuzz`.

use crate::http::{
    ChunkPosition, Frame, FramingStep, Url, content_range, find_credentials, has_empty_line,
    location, parse_head,
};

/// Decodes the chunked body in `wire`, received in pieces of this length. Returns the body and the
/// number of bytes behind it, or `None` if it is refused or truncated.
pub fn chunked(wire: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
    let (mut frame, mut body) = (Frame::Chunked(ChunkPosition::Size), Vec::new());
    let (mut start, mut end) = (0, 0);
    loop {
        match frame.step(&wire[start..end]).ok()? {
            FramingStep::Data(n) => {
                body.extend_from_slice(&wire[start..start + n]);
                start += n;
            }
            FramingStep::Control(n) => start += n,
            FramingStep::End => return Some((body, wire.len() - start)),
            FramingStep::More if end == wire.len() => return None,
            FramingStep::More => end = wire.len().min(end.saturating_add(piece.max(1))),
        }
    }
}

/// The fields of a response head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadFields {
    /// Its length in bytes.
    pub len: usize,
    /// The status.
    pub status: u16,
    /// The length of the body, if it is given.
    pub length: Option<u64>,
    /// Whether the body is chunked.
    pub is_chunked: bool,
}

/// Parses the head at the start of `bytes`, if it is complete and accepted.
pub fn head(bytes: &[u8]) -> Option<HeadFields> {
    let (head, len) = parse_head(bytes).ok()??;
    let length = if let Frame::Length(length) = head.frame { Some(length) } else { None };
    let is_chunked = matches!(head.frame, Frame::Chunked(_));
    Some(HeadFields { len, status: head.status, length, is_chunked })
}

/// Whether the bytes may contain a complete head.
pub fn may_hold_a_head(bytes: &[u8]) -> bool {
    has_empty_line(bytes)
}

/// The first and the last byte of a range, and the length of the whole; unknown ones are `None`.
pub type RangeAndSize = (Option<(u64, u64)>, Option<u64>);

/// First byte, last byte and size of a `Content-Range`; only the size for an unsatisfied range.
pub fn range(value: &str) -> Option<RangeAndSize> {
    use crate::http::ContentRange;
    Some(match content_range(value)? {
        ContentRange::Part(first, last, size) => (Some((first, last)), size),
        ContentRange::None(size) => (None, Some(size)),
    })
}

/// The target of a request: whether it uses TLS, the host, the `Host` field, and path with query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTarget {
    /// Whether TLS is used.
    pub secure: bool,
    /// The host that is connected to.
    pub host: String,
    /// The value of `Host`.
    pub authority: String,
    /// The target in the request line.
    pub target: String,
}

/// The target of a URL, and that of a redirect from it with this value of `Location`.
pub fn url(text: &str, value: &[u8]) -> Option<(RequestTarget, Option<RequestTarget>)> {
    let target = |url: &Url| RequestTarget {
        secure: url.secure,
        host: url.host.clone(),
        authority: url.authority(),
        target: url.target.clone(),
    };
    let url = Url::parse(text).ok()?;
    let next = location(&[value]).ok()??;
    let next = url.redirect(&next).ok();
    Some((target(&url), next.as_ref().map(target)))
}

/// `login:password` for a host in the text of a netrc file; the outer `None` if it is refused.
pub fn credentials(text: &str, host: &str) -> Option<Option<Vec<u8>>> {
    find_credentials(text, host).ok()
}
