//! HTTP/1.1: one connection a stream, its bytes lent as they are received.

mod client;
mod connection;
mod decoded;
mod framing;
mod head;
mod proxy;
mod ranges;
mod raw;
mod settings;
mod tls;
mod url;

use crate::choice::Choice;
use crate::{Options, Result};

use self::decoded::{ContentEncoding, Decoded};
use self::ranges::Ranges;
use self::raw::Raw;
pub(crate) use self::settings::Settings;

#[cfg(feature = "fuzz")]
pub(crate) use self::{
    client::has_empty_line,
    framing::{Frame, Part, Step},
    head::{ContentRange, content_range, parse as parse_head},
    url::Url,
};

/// Asks for a resource; its body is what comes next.
pub(crate) fn open(url: &str, options: &mut Options) -> Result<Body> {
    let decode = options.http.decode;
    // What is verified at the end may be cut anywhere.
    options.http.unframed |= options.sha256.is_some();
    if options.http.parallel > 1 {
        return ranges::open(url, options);
    }
    let raw = Raw::open(url, options)?;
    if decode && raw.version().encoding != ContentEncoding::Identity {
        return Ok(Body::Decoded(Decoded::new(raw)?));
    }
    Ok(Body::Raw(raw))
}

#[expect(clippy::large_enum_variant, reason = "it is in a box")]
pub(crate) enum Body {
    Raw(Raw),
    Decoded(Decoded),
    Ranges(Ranges),
}

impl Body {
    pub(crate) fn advance(&mut self) -> Result<bool> {
        match self {
            Body::Raw(raw) => raw.advance(),
            Body::Decoded(decoded) => decoded.advance(),
            Body::Ranges(ranges) => ranges.advance(),
        }
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        match self {
            Body::Raw(raw) => raw.chunk(),
            Body::Decoded(decoded) => decoded.chunk(),
            Body::Ranges(ranges) => ranges.chunk(),
        }
    }

    pub(crate) fn choice(&self) -> Choice {
        match self {
            Body::Raw(raw) => raw.choice(),
            Body::Ranges(ranges) => ranges.choice(),
            // What comes out is not known beforehand.
            Body::Decoded(decoded) => Choice { size_bytes: None, ..decoded.raw().choice() },
        }
    }

    pub(crate) fn etag(&self) -> Option<&str> {
        match self {
            Body::Raw(raw) => raw.version().etag.as_deref(),
            Body::Ranges(ranges) => ranges.version().etag.as_deref(),
            Body::Decoded(_) => None,
        }
    }
}

/// RFC 4648, with padding: for credentials, so a few bytes.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let known = i <= three.len();
            let letter = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if known { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
    }
}
