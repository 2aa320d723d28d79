//! The part of `Options` that concerns HTTP.

use std::ops::{Bound, RangeBounds};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::connection::Connections;
use super::head::is_validator;
use super::proxy::Proxy;
use super::settings::tls_with;
use crate::{Options, Result};

/// Options of HTTP, which have no effect on local inputs.
impl Options {
    /// Adds a header to requests to the origin of the URL; other servers that it redirects to do
    /// not get it.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().header("Accept", "text/csv");
    /// ```
    pub fn header(mut self, name: &str, value: &str) -> Options {
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let ours = ["host", "range", "if-range", "connection", "accept-encoding", "content-length"];
        if name.is_empty() || !name.bytes().all(is_token) {
            self.http.wrong = Some("the header name is not a token");
        } else if value.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f) {
            self.http.wrong = Some("the header value contains a control character");
        } else if ours.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            self.http.wrong = Some("the stream itself sends this header");
        } else if name.eq_ignore_ascii_case("authorization") {
            self.http.authorization = Some(value.to_owned());
        } else {
            self.http.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Uses basic authentication, as `user:password@` in the URL does.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().basic_auth("user", "password");
    /// ```
    pub fn basic_auth(mut self, user: &str, password: &str) -> Options {
        let credentials = STANDARD.encode(format!("{user}:{password}"));
        self.http.authorization = Some(format!("Basic {credentials}"));
        self
    }

    /// Uses the user and the password that this text of a netrc file has for the host of the URL,
    /// if neither the URL nor another option has any. Servers that it redirects to do not get
    /// them.
    ///
    /// ```
    /// let text = "machine example.org login user password secret";
    /// let options = byte_stream::Stream::options().netrc(text);
    /// ```
    pub fn netrc(mut self, text: &str) -> Options {
        self.http.netrc = Some(text.to_owned());
        self
    }

    /// Receives at most this many bytes per second, apart from those of the first buffer. Not
    /// together with [`parallel`](Options::parallel).
    ///
    /// ```
    /// let options = byte_stream::Stream::options().rate_limit(100 << 10);
    /// ```
    pub fn rate_limit(mut self, bytes_per_s: u64) -> Options {
        self.http.rate = Some(bytes_per_s);
        self
    }

    /// Uses a bearer token.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().bearer_auth("token");
    /// ```
    pub fn bearer_auth(self, token: &str) -> Options {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Follows at most this many redirects [10]; 0 for none.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().redirects(0);
    /// ```
    pub fn redirects(mut self, limit: u32) -> Options {
        self.http.redirects = limit;
        self
    }

    /// The time limit for resolving the name and connecting, TLS included [10 s].
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().connect_limit(Duration::from_secs(3));
    /// ```
    pub fn connect_limit(mut self, time: Duration) -> Options {
        self.http.connect_limit = time;
        self
    }

    /// The time limit without a byte, and for the whole head of a response [30 s].
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().idle_limit(Duration::from_secs(3));
    /// ```
    pub fn idle_limit(mut self, time: Duration) -> Options {
        self.http.idle_limit = time;
        self
    }

    /// The time limit from opening to the last byte, retries included [none].
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().total_limit(Duration::from_secs(60));
    /// ```
    pub fn total_limit(mut self, time: Duration) -> Options {
        self.http.total_limit = Some(time);
        self
    }

    /// Retries this often [3] after a failure of the network or a busy server, each time after
    /// twice the pause [200 ms]. Received bytes are kept: the rest is requested as a range if a
    /// strong `ETag`, or without one an old enough `Last-Modified`, shows that it is the same
    /// version. Each further mebibyte resets the count.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let options = byte_stream::Stream::options().retries(5, Duration::from_secs(1));
    /// ```
    pub fn retries(mut self, times: u32, pause: Duration) -> Options {
        (self.http.retries, self.http.back_off) = (times, pause);
        self
    }

    /// Accepts gzip, br and zstd, and decodes them. Without this the bytes are returned as they are
    /// sent.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().decode(true);
    /// ```
    pub fn decode(mut self, decode: bool) -> Options {
        self.http.decode = decode;
        self
    }

    /// Limits the ratio of decoded to received bytes [200] beyond the first mebibyte.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().decode(true).expansion_limit(20);
    /// ```
    pub fn expansion_limit(mut self, times: u64) -> Options {
        self.http.expansion = times;
        self
    }

    /// Connects through this proxy, or directly with `None`: `http://`, `socks5://`, or
    /// `socks5h://`, which looks up the name of the host as well. By default the environment
    /// variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` decide.
    ///
    /// ```
    /// let direct = byte_stream::Stream::options().proxy(None);
    /// let other = byte_stream::Stream::options().proxy(Some("http://proxy:3128"));
    /// ```
    pub fn proxy(mut self, url: Option<&str>) -> Options {
        self.http.proxy = url.map_or(Proxy::None, |url| Proxy::Url(url.to_owned()));
        self
    }

    /// Trusts the certificates in this PEM text in addition to those of the system: those of
    /// authorities, and those of servers, which may be self-signed.
    ///
    /// ```
    /// let error = byte_stream::Stream::options().certificates(b"nothing").unwrap_err();
    /// assert_eq!(error.kind(), byte_stream::ErrorKind::Tls);
    /// ```
    pub fn certificates(mut self, pem: &[u8]) -> Result<Options> {
        self.http.pem.trusted = Some(pem.to_owned());
        self.http.tls = Some(tls_with(&self.http.pem)?);
        Ok(self)
    }

    /// Identifies the caller to servers that require it: by the certificate in this PEM text, with
    /// those that lead to its authority and its private key.
    ///
    /// ```
    /// let error = byte_stream::Stream::options().client_certificate(b"nothing").unwrap_err();
    /// assert_eq!(error.kind(), byte_stream::ErrorKind::Tls);
    /// ```
    pub fn client_certificate(mut self, pem: &[u8]) -> Result<Options> {
        self.http.pem.identity = Some(pem.to_owned());
        self.http.tls = Some(tls_with(&self.http.pem)?);
        Ok(self)
    }

    /// Accepts a body that ends with the TCP connection, whose truncation cannot be detected.
    /// [`expect_sha256`](Options::expect_sha256) implies this.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().accept_unframed(true);
    /// ```
    pub fn accept_unframed(mut self, accept: bool) -> Options {
        self.http.unframed = accept;
        self
    }

    /// Keeps connections for later streams from the same server, and uses those that are kept, so
    /// that many small resources need one connection. Without this, each stream has its own.
    ///
    /// ```
    /// let connections = byte_stream::Connections::new();
    /// let options = byte_stream::Stream::options().connections(&connections);
    /// ```
    pub fn connections(mut self, connections: &Connections) -> Options {
        self.http.connections = Some(connections.clone());
        self
    }

    /// Resumes behind bytes that exist already: requests the bytes from `offset` on, if the
    /// resource still has this [`validator`](crate::Stream::validator); otherwise opening fails
    /// with [`Changed`](crate::ErrorKind::Changed). Offsets count from there.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().resume_from(1000, "\"version-1\"");
    /// let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    /// let options = byte_stream::Stream::options().resume_from(1000, date);
    /// ```
    pub fn resume_from(mut self, offset: u64, validator: &str) -> Options {
        if !is_validator(validator) {
            self.http.wrong = Some("resuming needs a strong ETag in quotes, or a date");
        }
        self.http.from = Some((offset, validator.to_owned()));
        self
    }

    /// Requests the resource only if it no longer has this
    /// [`validator`](crate::Stream::validator): if it has, opening fails with
    /// [`Unchanged`](crate::ErrorKind::Unchanged). A server that does not know such requests sends
    /// the resource. Not together with [`range`](Options::range) or
    /// [`resume_from`](Options::resume_from).
    ///
    /// ```
    /// let options = byte_stream::Stream::options().unless_version("\"version-1\"");
    /// ```
    pub fn unless_version(mut self, validator: &str) -> Options {
        if !is_validator(validator) {
            self.http.wrong = Some("a version is a strong ETag in quotes, or a date");
        }
        self.http.unless = Some(validator.to_owned());
        self
    }

    /// Requests a part of the resource: the stream has the bytes of this range, as far as the
    /// resource has them. A range that begins behind its end is an error. Offsets count from the
    /// start of the range. If the server ignores the range, the bytes in front of it are discarded.
    /// Not together with [`decode`](Options::decode), [`parallel`](Options::parallel) or
    /// [`resume_from`](Options::resume_from).
    ///
    /// ```
    /// let first_kilobyte = byte_stream::Stream::options().range(..1024);
    /// let rest = byte_stream::Stream::options().range(1024..);
    /// ```
    pub fn range(mut self, range: impl RangeBounds<u64>) -> Options {
        let first = match range.start_bound() {
            Bound::Included(first) => Some(*first),
            Bound::Excluded(before) => before.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let until = match range.end_bound() {
            Bound::Included(last) => last.checked_add(1),
            Bound::Excluded(until) => Some(*until),
            Bound::Unbounded => None,
        };
        match first {
            Some(first) if until.is_none_or(|until| first < until) => {
                self.http.range = Some((first, until));
            }
            _ => self.http.wrong = Some("the range is empty"),
        }
        self
    }

    /// Requests a large resource in parts, this many at once [1], each by its own connection, for
    /// servers or networks that limit the rate of a connection. The memory needed is that of one
    /// part more than there are connections. Parts are returned in order, and all are of one
    /// version, identified as for [`retries`](Options::retries). A server without ranges, or
    /// without that, is read as one stream. At most 16; not together with
    /// [`decode`](Options::decode).
    ///
    /// ```
    /// let options = byte_stream::Stream::options().parallel(4);
    /// ```
    pub fn parallel(mut self, connections: usize) -> Options {
        self.http.parallel = connections;
        self
    }

    /// The size of the parts of [`parallel`](Options::parallel) [1 MiB], at most 16 MiB. A smaller
    /// resource is read as one stream.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().parallel(4).part_bytes(4 << 20);
    /// ```
    pub fn part_bytes(mut self, bytes: usize) -> Options {
        self.http.part_bytes = bytes;
        self
    }
}
