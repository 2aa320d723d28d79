//! The part of `Options` that concerns HTTP.

use std::time::Duration;

use super::base64::base64;
use super::head::is_strong;
use super::settings::Proxy;
use super::tls;
use crate::{Options, Result};

/// HTTP; without effect on what is local.
impl Options {
    /// Sends this header, too; only to the server of the URL itself, not to others that it redirects to.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().header("Accept", "text/csv");
    /// ```
    pub fn header(mut self, name: &str, value: &str) -> Options {
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let ours = ["host", "range", "if-range", "connection", "accept-encoding", "content-length"];
        if name.is_empty() || !name.bytes().all(is_token) {
            self.http.wrong = Some("a header name that is no word");
        } else if value.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f) {
            self.http.wrong = Some("a header value with a control character");
        } else if ours.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            self.http.wrong = Some("a header that the stream sends itself");
        } else if name.eq_ignore_ascii_case("authorization") {
            self.http.authorization = Some(value.to_owned());
        } else {
            self.http.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Basic authentication, as a `user:password@` in the URL does it.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().basic_auth("user", "password");
    /// ```
    pub fn basic_auth(mut self, user: &str, password: &str) -> Options {
        let credentials = base64(format!("{user}:{password}").as_bytes());
        self.http.authorization = Some(format!("Basic {credentials}"));
        self
    }

    /// Authentication with a bearer token.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().bearer_auth("token");
    /// ```
    pub fn bearer_auth(self, token: &str) -> Options {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Follows so many redirects [10]; 0 for none.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().redirects(0);
    /// ```
    pub fn redirects(mut self, limit: u32) -> Options {
        self.http.redirects = limit;
        self
    }

    /// Time to resolve the name and to connect, with TLS [10 s].
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().connect_limit(Duration::from_secs(3));
    /// ```
    pub fn connect_limit(mut self, time: Duration) -> Options {
        self.http.connect_limit = time;
        self
    }

    /// Time without a single byte, and for the whole head of an answer [30 s].
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().idle_limit(Duration::from_secs(3));
    /// ```
    pub fn idle_limit(mut self, time: Duration) -> Options {
        self.http.idle_limit = time;
        self
    }

    /// Time for everything, from opening to the last byte, retries included [none].
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().total_limit(Duration::from_secs(60));
    /// ```
    pub fn total_limit(mut self, time: Duration) -> Options {
        self.http.total_limit = Some(time);
        self
    }

    /// Tries again so often [3] when the network or a busy server fails, each time after twice the pause
    /// [200 ms]. What has arrived is kept: the rest is asked for by its range, if the server tells by a
    /// strong `ETag` that it is the same version. Each further mebibyte that arrives starts the count anew.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().retries(5, Duration::from_secs(1));
    /// ```
    pub fn retries(mut self, times: u32, pause: Duration) -> Options {
        (self.http.retries, self.http.back_off) = (times, pause);
        self
    }

    /// Asks for gzip, br or zstd, and decodes it. Without this the bytes are handed over as they are sent.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().decode(true);
    /// ```
    pub fn decode(mut self, decode: bool) -> Options {
        self.http.decode = decode;
        self
    }

    /// Decoded bytes may be so many times those received [200], beyond the first mebibyte.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().decode(true).expansion_limit(20);
    /// ```
    pub fn expansion_limit(mut self, times: u64) -> Options {
        self.http.expansion = times;
        self
    }

    /// Connects through this `http://` proxy, or through none at all; else the variables `http_proxy`,
    /// `https_proxy`, `all_proxy` and `no_proxy` say.
    ///
    /// ```
    /// let direct = byte_stream::Stream::options().proxy(None);
    /// let other = byte_stream::Stream::options().proxy(Some("http://proxy:3128"));
    /// ```
    pub fn proxy(mut self, url: Option<&str>) -> Options {
        self.http.proxy = url.map_or(Proxy::None, |url| Proxy::Url(url.to_owned()));
        self
    }

    /// Trusts the certificates in this PEM text, besides those of the system.
    ///
    /// ```
    /// let error = byte_stream::Stream::options().certificates(b"nothing").unwrap_err();
    /// assert_eq!(error.kind(), byte_stream::ErrorKind::Tls);
    /// ```
    pub fn certificates(mut self, pem: &[u8]) -> Result<Options> {
        self.http.tls = Some(tls::trusting(pem)?);
        Ok(self)
    }

    /// Accepts a body whose end is only that of a TCP connection, which looks the same as one that is cut.
    /// [`expect_sha256`](Options::expect_sha256) accepts it, too.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().accept_unframed(true);
    /// ```
    pub fn accept_unframed(mut self, accept: bool) -> Options {
        self.http.unframed = accept;
        self
    }

    /// Goes on behind what is there already: asks for the bytes from `offset` on, if the resource still has
    /// this strong `ETag`; else opening it is an [`ErrorKind::Changed`] error. Offsets count from there.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().resume_from(1000, "\"version-1\"");
    /// ```
    pub fn resume_from(mut self, offset: u64, etag: &str) -> Options {
        if !is_strong(etag) {
            self.http.wrong = Some("resuming needs a strong ETag, in quotes");
        }
        self.http.from = Some((offset, etag.to_owned()));
        self
    }

    /// Asks for a large resource in parts, so many at once [1], each by a connection of its own: for servers or
    /// networks that give one connection less than there is. It takes the memory of one part more than there are
    /// connections. Parts are handed over in order, and all are of one version, which a strong `ETag` tells; a server
    /// that does not give parts, or tells no version, is read as one stream. At most 16; not together with
    /// [`decode`](Options::decode).
    ///
    /// ```
    /// let options = byte_stream::Stream::options().parallel(4);
    /// ```
    pub fn parallel(mut self, connections: usize) -> Options {
        self.http.parallel = connections;
        self
    }

    /// How large the parts of [`parallel`](Options::parallel) are [1 MiB]: at most 16 MiB. A smaller resource is read
    /// as one stream.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().parallel(4).part_bytes(4 << 20);
    /// ```
    pub fn part_bytes(mut self, bytes: usize) -> Options {
        self.http.part_bytes = bytes;
        self
    }
}
