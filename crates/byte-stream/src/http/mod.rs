//! An HTTP/1.1 client. Each stream has its own connection, and received bytes are lent from its
//! buffer.

mod base64;
mod client;
mod connection;
mod connections;
mod date;
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
mod response;
mod settings;
mod socket;
mod socks;
mod timeouts;
mod tls;
mod url;

use crate::choice::Choice;
use crate::wait::Mode;
use crate::{Cancel, Result};

pub use self::connections::Connections;
use self::decoded::Decoded;
use self::encoding::ContentEncoding;
#[cfg(feature = "async")]
use self::ranges::TaskRanges;
use self::ranges::{Opened, Ranges};
use self::raw::Raw;
pub use self::response::Response;
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
pub(crate) async fn open(
    url: &str,
    settings: &mut Settings,
    buffer_bytes: Option<usize>,
    cancel: Option<&Cancel>,
    mode: Mode,
) -> Result<Body> {
    let decode = settings.decode;
    if settings.parallel > 1 {
        return Ok(match ranges::open(url, settings, cancel, mode).await? {
            Opened::Threads(ranges) => Body::Ranges(ranges),
            #[cfg(feature = "async")]
            Opened::Task(ranges) => Body::TaskRanges(ranges),
            Opened::Whole(raw) => Body::Raw(raw),
        });
    }
    let raw = Raw::open(url, settings, buffer_bytes, cancel, mode).await?;
    if decode && raw.version().encoding != ContentEncoding::Identity {
        return Ok(Body::Decoded(Decoded::new(raw).await?));
    }
    Ok(Body::Raw(raw))
}

#[expect(clippy::large_enum_variant, reason = "it is in a box")]
pub(crate) enum Body {
    Raw(Raw),
    Decoded(Decoded),
    Ranges(Ranges),
    #[cfg(feature = "async")]
    TaskRanges(TaskRanges),
}

impl Body {
    pub(crate) async fn advance(&mut self) -> Result<bool> {
        match self {
            Body::Raw(raw) => raw.advance().await,
            Body::Decoded(decoded) => decoded.advance().await,
            Body::Ranges(ranges) => ranges.advance(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.advance().await,
        }
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        match self {
            Body::Raw(raw) => raw.chunk(),
            Body::Decoded(decoded) => decoded.chunk(),
            Body::Ranges(ranges) => ranges.chunk(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.chunk(),
        }
    }

    #[cfg(feature = "async")]
    pub(crate) fn share(&self, from: usize) -> bytes::Bytes {
        match self {
            Body::Raw(raw) => raw.share(from),
            Body::Decoded(decoded) => decoded.share(from),
            Body::Ranges(_) | Body::TaskRanges(_) => {
                bytes::Bytes::copy_from_slice(&self.chunk()[from..])
            }
        }
    }

    pub(crate) fn choice(&self) -> Choice {
        match self {
            Body::Raw(raw) => raw.choice(),
            Body::Ranges(ranges) => ranges.choice(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.choice(),
            // The decoded size is not known in advance.
            Body::Decoded(decoded) => Choice { size_bytes: None, ..decoded.raw().choice() },
        }
    }

    pub(crate) fn response(&self) -> Option<&Response> {
        match self {
            Body::Raw(raw) => raw.response(),
            Body::Decoded(decoded) => decoded.raw().response(),
            Body::Ranges(ranges) => Some(ranges.response()),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => Some(ranges.response()),
        }
    }

    pub(crate) fn etag(&self) -> Option<&str> {
        let version = match self {
            Body::Raw(raw) => raw.version(),
            Body::Ranges(ranges) => ranges.version(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.version(),
            Body::Decoded(_) => return None,
        };
        version.validator.as_deref().filter(|validator| head::is_strong(validator))
    }
}
