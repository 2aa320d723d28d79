//! The settings of HTTP.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use super::connections::Connections;
use super::proxy::Proxy;
use super::tls::Pem;
use crate::{Error, ErrorKind, Result};

/// Large enough to make the cost of a request negligible, small enough to hold several in memory.
const PART_BYTES: usize = 1 << 20;
const PART_LIMIT_BYTES: usize = 16 << 20;
const CONNECTIONS_LIMIT: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) headers: Vec<(String, String)>,
    /// The whole value of `Authorization`.
    pub(crate) authorization: Option<String>,
    /// The text of a netrc file.
    pub(crate) netrc: Option<String>,
    /// The largest number of bytes in a second.
    pub(crate) rate: Option<u64>,
    pub(crate) redirects: u32,
    pub(crate) connect_limit: Duration,
    pub(crate) idle_limit: Duration,
    pub(crate) total_limit: Option<Duration>,
    pub(crate) retries: u32,
    pub(crate) back_off: Duration,
    pub(crate) decode: bool,
    pub(crate) expansion: u64,
    pub(crate) proxy: Proxy,
    pub(crate) pem: Pem,
    /// The configuration of `pem`.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) unframed: bool,
    /// An invalid setting, reported when the stream is opened.
    pub(crate) wrong: Option<&'static str>,
    /// Where idle connections are kept.
    pub(crate) connections: Option<Connections>,
    /// The number of parts in flight, and their size.
    pub(crate) parallel: usize,
    pub(crate) part_bytes: usize,
    /// What exists already: its length and its strong validator.
    pub(crate) from: Option<(u64, String)>,
    /// The requested part: its first byte, and the byte behind it.
    pub(crate) range: Option<(u64, Option<u64>)>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            headers: Vec::new(),
            authorization: None,
            netrc: None,
            rate: None,
            redirects: 10,
            connect_limit: Duration::from_secs(10),
            idle_limit: Duration::from_secs(30),
            total_limit: None,
            retries: 3,
            back_off: Duration::from_millis(200),
            decode: false,
            expansion: 200,
            proxy: Proxy::Environment,
            pem: Pem::default(),
            tls: None,
            unframed: false,
            wrong: None,
            connections: None,
            parallel: 1,
            part_bytes: PART_BYTES,
            from: None,
            range: None,
        }
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<()> {
        let Settings { parallel, part_bytes, decode, ref from, range, .. } = *self;
        let wrong = match self.wrong {
            Some(wrong) => wrong,
            None if !(1..=CONNECTIONS_LIMIT).contains(&parallel) => {
                "the number of parallel parts must be from 1 to 16"
            }
            None if !(1..=PART_LIMIT_BYTES).contains(&part_bytes) => {
                "the size of a part must be from 1 byte to 16 MiB"
            }
            None if self.rate == Some(0) => "the rate must be at least 1 byte per second",
            None if self.rate.is_some() && parallel > 1 => {
                "a rate limit cannot be combined with parallel parts"
            }
            None if from.is_some() && decode => "decoding cannot be combined with resuming",
            None if parallel > 1 && decode => "decoding cannot be combined with parallel parts",
            None if range.is_some() && (decode || parallel > 1 || from.is_some()) => {
                "a range cannot be combined with decoding, parallel parts or resuming"
            }
            None => return Ok(()),
        };
        Err(Error::new(ErrorKind::InvalidUse, wrong))
    }
}
