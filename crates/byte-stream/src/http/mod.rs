//! An HTTP/1.1 client. Each stream has its own connection, and received bytes are lent from its
//! buffer.

mod base64;
mod client;
mod connection;
mod connections;
mod decoded;
mod dial;
mod encoding;
mod framing;
mod head;
mod netrc;
mod options;
mod proxy;
mod ranges;
mod rate;
mod raw;
mod settings;
mod timeouts;
mod tls;
mod url;

use crate::choice::Choice;
use crate::{Cancel, Result};

pub use self::connections::Connections;
use self::decoded::Decoded;
use self::encoding::ContentEncoding;
use self::ranges::{Opened, Ranges};
use self::raw::Raw;
pub(crate) use self::settings::Settings;

#[cfg(feature = "fuzz")]
pub(crate) use self::{
    client::has_empty_line,
    framing::{Frame, Part, Step},
    head::{ContentRange, content_range, location, parse as parse_head},
    netrc::find as find_credentials,
    url::Url,
};

/// Requests a resource and returns its body.
pub(crate) fn open(
    url: &str,
    settings: &mut Settings,
    buffer_bytes: Option<usize>,
    cancel: Option<&Cancel>,
) -> Result<Body> {
    let decode = settings.decode;
    if settings.parallel > 1 {
        return Ok(match ranges::open(url, settings, cancel)? {
            Opened::Parts(ranges) => Body::Ranges(ranges),
            Opened::Whole(raw) => Body::Raw(raw),
        });
    }
    let raw = Raw::open(url, settings, buffer_bytes, cancel)?;
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
            // The decoded size is not known in advance.
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
