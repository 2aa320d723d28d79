//! What is parsed of an answer, for the fuzz targets: not an interface, and not there without the feature `fuzz`.

use crate::http::{Frame, Part, Step, Url, content_range, has_empty_line, parse_head};

/// The body in `wire`, received in pieces of this length, and what is left behind it; none if it is refused or
/// cut.
pub fn chunked(wire: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
    let (mut frame, mut body) = (Frame::Chunked(Part::Size), Vec::new());
    let (mut start, mut end) = (0, 0);
    loop {
        match frame.step(&wire[start..end]).ok()? {
            Step::Data(n) => {
                body.extend_from_slice(&wire[start..start + n]);
                start += n;
            }
            Step::Control(n) => start += n,
            Step::End => return Some((body, wire.len() - start)),
            Step::More if end == wire.len() => return None,
            Step::More => end = wire.len().min(end.saturating_add(piece.max(1))),
        }
    }
}

/// What a head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes of it.
    pub len: usize,
    /// Its status.
    pub status: u16,
    /// The length of the body, if it is told.
    pub length: Option<u64>,
    /// Whether the body is in chunks.
    pub is_chunked: bool,
}

/// The head at the start of `bytes`, if a whole one is there that is accepted.
pub fn head(bytes: &[u8]) -> Option<Head> {
    let (head, len) = parse_head(bytes).ok()??;
    let length = if let Frame::Length(length) = head.frame { Some(length) } else { None };
    let is_chunked = matches!(head.frame, Frame::Chunked(_));
    Some(Head { len, status: head.status, length, is_chunked })
}

/// Whether a head is looked for at all.
pub fn may_hold_a_head(bytes: &[u8]) -> bool {
    has_empty_line(bytes)
}

/// First byte, last byte and size of a `Content-Range`; only the size, where there is no such range.
pub fn range(value: &str) -> Option<(Option<(u64, u64)>, Option<u64>)> {
    use crate::http::ContentRange;
    Some(match content_range(value)? {
        ContentRange::Part(first, last, size) => (Some((first, last)), size),
        ContentRange::None(size) => (None, Some(size)),
    })
}

/// Where a request for a URL goes, and what it says: whether by TLS, the host, `Host`, and path with query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// By TLS.
    pub secure: bool,
    /// Whose address is looked up.
    pub host: String,
    /// The value of `Host`.
    pub authority: String,
    /// What stands behind `GET`.
    pub target: String,
}

/// Where a URL leads, and then a redirect from there.
pub fn url(text: &str, location: &str) -> Option<(Target, Option<Target>)> {
    let target = |url: &Url| Target {
        secure: url.secure,
        host: url.host.clone(),
        authority: url.authority(),
        target: url.target.clone(),
    };
    let url = Url::parse(text).ok()?;
    let next = url.redirect(location).ok();
    Some((target(&url), next.as_ref().map(target)))
}
