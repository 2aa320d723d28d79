//! Sends a request and follows redirects until there is a final response.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::connection::{
    Connection, Connections, ProxyDestination, Route, connect_by_socks, resolve,
};
use super::framing::{Frame, FramingStep};
use super::head::{self, HEAD_LIMIT, Head, Response};
use super::limits::Timeouts;
use super::proxy::{self, ProxyServer, Socks};
use super::settings::{Settings, system_tls};
use super::url::Url;
use crate::buffer::Buffer;
use crate::cancel::{Cancel, Deadline};
use crate::s3::{self, BucketRequest};
use crate::wait::WaitMode;
use crate::{Error, ErrorKind, Result};

/// The largest number of 1xx responses before the final one.
const INTERIM_LIMIT: u32 = 16;
/// The body of a refusal is read up to this length.
const EXPLANATION_BYTES: usize = 16 << 10;

#[derive(Clone)]
pub(crate) struct Client {
    /// The URL of the caller, whose origin alone gets credentials.
    pub(crate) url: Url,
    /// The object that the URL is that of: it signs the requests.
    pub(crate) bucket: Option<BucketRequest>,
    /// The end of the redirects that were followed before, where further requests begin.
    pub(crate) resolved: Option<Url>,
    pub(crate) settings: Settings,
    pub(crate) mode: WaitMode,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) total: Option<Deadline>,
    /// `Retry-After` of the last refused request.
    pub(crate) retry_after_s: Option<u64>,
    /// Connections are kept here for later requests; without it, each request has its own.
    pub(crate) connections: Option<Connections>,
}

/// A response. The next bytes of the connection are the body; the first of them are in the buffer
/// already.
pub(crate) struct ReceivedResponse {
    /// The final URL, after all redirects.
    pub(crate) url: Url,
    pub(crate) connection: Connection,
    pub(crate) head: Head,
    /// The head as it was received.
    pub(crate) text: Box<[u8]>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The requested range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestedRange<'a> {
    pub(crate) from: u64,
    /// To the end, if `None`.
    pub(crate) last: Option<u64>,
    /// Sent as `If-Range`: the server returns the whole resource if its version is another one.
    pub(crate) validator: Option<&'a str>,
}

impl Client {
    /// Returns a successful response. Received bytes of the body are in the buffer.
    pub(crate) async fn get(
        &mut self,
        wanted: Option<RequestedRange<'_>>,
        buffer: &mut Buffer,
    ) -> Result<ReceivedResponse> {
        self.retry_after_s = None;
        if let Some(url) = self.resolved.clone() {
            match self.follow(url, wanted, buffer).await {
                Ok(answer) => return Ok(answer),
                // The target of a redirect may be valid for a limited time.
                Err(error) if error.kind() == ErrorKind::Status && !error.is_retryable() => {}
                Err(error) => {
                    self.resolved = None;
                    return Err(error);
                }
            }
            self.resolved = None;
        }
        let answer = self.follow(self.url.clone(), wanted, buffer).await?;
        self.resolved = (answer.url != self.url).then(|| answer.url.clone());
        Ok(answer)
    }

    /// Requests a URL, and what it redirects to.
    async fn follow(
        &mut self,
        mut url: Url,
        wanted: Option<RequestedRange<'_>>,
        buffer: &mut Buffer,
    ) -> Result<ReceivedResponse> {
        for _ in 0..=self.settings.redirects {
            let answer = self.request_from(&url, wanted, buffer).await?;
            if self.moves(&url, self.region_of(&answer))? {
                self.keep_if_over(answer);
                url = self.url.clone();
                continue;
            }
            match (answer.head.status, &answer.head.location) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    url = url.redirect(location)?;
                    self.keep_if_over(answer);
                }
                (206 | 416, _) if wanted.is_some() => return Ok(answer),
                (304, _) if self.unless(wanted).is_some() => {
                    let same = answer.head.validator.is_none()
                        || answer.head.validator.as_deref() == self.unless(wanted);
                    self.keep_if_over(answer);
                    return Err(not_sent(same));
                }
                (206, _) => {
                    let text = "the server sent a part (206) of a resource requested whole";
                    return Err(Error::new(ErrorKind::Protocol, text));
                }
                (200..=299, _) => return Ok(answer),
                (status, _) if self.settings.explains_in_xml => {
                    self.retry_after_s = answer.head.retry_after_s;
                    let xml = self.explanation(answer, buffer).await;
                    if !self.moves(&url, s3::named_region(&xml))? {
                        return Err(self.explained(&url, status, &xml));
                    }
                    url = self.url.clone();
                }
                (status, _) => {
                    self.retry_after_s = answer.head.retry_after_s;
                    self.keep_if_over(answer);
                    return Err(refusal(status, None));
                }
            }
        }
        let text = format!("more than {} redirects", self.settings.redirects);
        Err(Error::new(ErrorKind::Redirect, text))
    }

    async fn request_from(
        &mut self,
        url: &Url,
        wanted: Option<RequestedRange<'_>>,
        buffer: &mut Buffer,
    ) -> Result<ReceivedResponse> {
        if let Some(bucket) = &mut self.bucket {
            bucket.identify(&self.settings, self.mode, self.cancel.as_ref()).await?;
        }
        let route = self.route(url)?;
        if let Some(idle) = self.connections.as_ref().and_then(|idle| idle.take(&route)) {
            let connection = Connection::from_idle(idle, self.timeouts(self.settings.idle_limit))?;
            match self.exchange(connection, url, &route, wanted, buffer).await {
                Err(error) if is_final(&error) => return Err(error),
                // A server may close an idle connection at any time.
                Err(_) => {}
                answer => return answer,
            }
        }
        let connection = self.connect(url, &route, buffer).await?;
        self.exchange(connection, url, &route, wanted, buffer).await
    }

    /// The route to the server of this URL.
    fn route(&self, url: &Url) -> Result<Route> {
        let proxy = proxy::for_url(url, &self.settings.proxy)?;
        let tls = || self.settings.tls.clone().map_or_else(system_tls, Ok);
        Ok(Route::new(url, proxy, url.secure.then(tls).transpose()?))
    }

    fn timeouts(&self, idle: Duration) -> Timeouts {
        let stage = Deadline::after(idle);
        Timeouts { mode: self.mode, cancel: self.cancel.clone(), idle, stage, total: self.total }
    }

    async fn connect(&self, url: &Url, route: &Route, buffer: &mut Buffer) -> Result<Connection> {
        // Connecting has its own limit.
        let timeouts = self.timeouts(self.settings.connect_limit);
        let mut connection = match &route.proxy {
            None => Connection::open(&url.host, url.port, timeouts).await?,
            Some(ProxyServer::Socks(proxy)) => through_socks(url, proxy, timeouts).await?,
            Some(ProxyServer::Http(proxy)) => {
                let mut connection = Connection::open(&proxy.host, proxy.port, timeouts).await?;
                if route.tls.is_some() {
                    tunnel(&mut connection, url, proxy, buffer).await?;
                }
                connection
            }
        };
        if let Some(config) = &route.tls {
            connection.secure(&url.host, config.clone()).await?;
        }
        Ok(connection)
    }

    async fn exchange(
        &self,
        mut connection: Connection,
        url: &Url,
        route: &Route,
        wanted: Option<RequestedRange<'_>>,
        buffer: &mut Buffer,
    ) -> Result<ReceivedResponse> {
        *connection.timeouts() = self.timeouts(self.settings.idle_limit);
        let proxy = match &route.proxy {
            Some(ProxyServer::Http(proxy)) => Some(proxy),
            _ => None,
        };
        let request = self.request(url, proxy, wanted);
        connection.write(request.as_bytes()).await?;
        let mut answer = receive(connection, url, buffer).await?;
        answer.connection.timeouts().stage = None;
        Ok(answer)
    }

    /// Keeps the connection of an answer that was received completely.
    pub(crate) fn keep(&self, answer: ReceivedResponse) {
        if let Some(connections) = self.connections.as_ref().filter(|_| !answer.head.closes)
            && let Ok(route) = self.route(&answer.url)
            && let Ok(idle) = answer.connection.into_idle()
        {
            connections.put(route, idle);
        }
    }

    /// The same for an answer whose body is not read, if it came with the head.
    fn keep_if_over(&self, answer: ReceivedResponse) {
        if answer.head.frame == Frame::Length((answer.end - answer.start) as u64) {
            self.keep(answer);
        }
    }

    /// Whether the bucket is in this region, as its server says, and was requested in another one.
    /// Then the URL is that in this region.
    fn moves(&mut self, from: &Url, region: Option<String>) -> Result<bool> {
        let is_own = from.same_origin(&self.url);
        let (Some(bucket), Some(region)) = (&mut self.bucket, region) else { return Ok(false) };
        let moves = is_own && bucket.move_to(&region);
        if moves {
            self.url = bucket.url()?;
        }
        Ok(moves)
    }

    /// The region that the head of a refused request to a bucket names.
    fn region_of(&self, answer: &ReceivedResponse) -> Option<String> {
        let status = answer.head.status;
        if self.bucket.is_none() || matches!(status, 200..=299 | 304 | 416) {
            return None;
        }
        let response = Response { url: String::new(), status, head: answer.text.clone() };
        response.header("x-amz-bucket-region").map(str::to_owned)
    }

    /// The body of a refusal, as far as it comes.
    async fn explanation(&self, mut answer: ReceivedResponse, buffer: &mut Buffer) -> String {
        let mut text = Vec::new();
        while text.len() < EXPLANATION_BYTES {
            let received = &buffer[answer.start..answer.end];
            match answer.head.frame.step(received) {
                Ok(FramingStep::Data(n)) => {
                    text.extend_from_slice(&received[..n]);
                    answer.start += n;
                }
                Ok(FramingStep::Control(n)) => answer.start += n,
                Ok(FramingStep::More) => {
                    buffer.copy_within(answer.start..answer.end, 0);
                    (answer.start, answer.end) = (0, answer.end - answer.start);
                    match answer.connection.read(&mut buffer[answer.end..]).await {
                        Ok(n @ 1..) => answer.end += n,
                        _ => break,
                    }
                }
                Ok(FramingStep::End) if answer.start == answer.end => {
                    self.keep(answer);
                    break;
                }
                Ok(FramingStep::End) | Err(_) => break,
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The error for a status that is not a success, with what the body says.
    fn explained(&self, url: &Url, status: u16, xml: &str) -> Error {
        let (code, message) = s3::code_and_message(xml);
        let said: Vec<&str> = [&code, &message].into_iter().filter_map(Option::as_deref).collect();
        let error = refusal(status, Some(said.join(": ")).filter(|said| !said.is_empty()));
        match self.bucket.as_ref().filter(|_| url.same_origin(&self.url)) {
            Some(bucket) => bucket.refused(error, code.as_deref()),
            None => error,
        }
    }

    /// The version that is not wanted again, if no byte of another one is known yet.
    fn unless(&self, wanted: Option<RequestedRange<'_>>) -> Option<&str> {
        let is_known = wanted.is_some_and(|wanted| wanted.validator.is_some());
        self.settings.unless.as_deref().filter(|_| !is_known)
    }

    fn request(
        &self,
        url: &Url,
        proxy: Option<&Url>,
        wanted: Option<RequestedRange<'_>>,
    ) -> String {
        let authority = url.authority();
        let plain_proxy = proxy.filter(|_| !url.secure);
        let whole = plain_proxy.map(|_| format!("http://{authority}")).unwrap_or_default();
        let codings = if self.settings.decode { "gzip, br, zstd" } else { "identity" };
        let Settings { method, ref body, .. } = self.settings;
        let mut text = format!(
            "{method} {whole}{} HTTP/1.1\r\nHost: {authority}\r\nAccept-Encoding: {codings}\r\n",
            url.target
        );
        let mut header = |name: &str, value: &str| {
            text.extend([name, ": ", value, "\r\n"]);
        };
        if self.connections.is_none() {
            header("Connection", "close");
        }
        if method != "GET" {
            header("Content-Length", &body.len().to_string());
        }
        if let Some(RequestedRange { from, last, validator }) = wanted {
            let last = last.map(|last| last.to_string()).unwrap_or_default();
            header("Range", &format!("bytes={from}-{last}"));
            if let Some(validator) = validator {
                header("If-Range", validator);
            }
        }
        if let Some(version) = self.unless(wanted) {
            let is_etag = head::is_strong(version);
            header(if is_etag { "If-None-Match" } else { "If-Modified-Since" }, version);
        }
        if let Some(credentials) = plain_proxy.and_then(Url::basic) {
            header("Proxy-Authorization", &format!("Basic {credentials}"));
        }
        // The caller's headers may be secret, so they are sent to the origin of the URL only.
        if url.same_origin(&self.url) {
            let basic = self.url.basic().map(|credentials| format!("Basic {credentials}"));
            if let Some(value) = self.settings.authorization.as_ref().or(basic.as_ref()) {
                header("Authorization", value);
            }
            for (name, value) in &self.settings.headers {
                header(name, value);
            }
            if let Some(bucket) = &self.bucket {
                for (name, value) in bucket.signature(url, &self.settings.headers) {
                    header(&name, &value);
                }
            }
        }
        let has =
            |name: &str| self.settings.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        if !has("User-Agent") {
            header("User-Agent", concat!("byte-stream/", env!("CARGO_PKG_VERSION")));
        }
        text + "\r\n" + body
    }
}

/// Whether a request must not be sent again.
fn is_final(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut)
}

/// A connection to the server by a SOCKS proxy.
async fn through_socks(url: &Url, proxy: &Socks, timeouts: Timeouts) -> Result<Connection> {
    let target = if proxy.looks_up && url.host.parse::<IpAddr>().is_err() {
        ProxyDestination::Name(&url.host)
    } else {
        let addresses = resolve(&url.host, url.port, &timeouts).await?;
        let first = addresses.first().map(SocketAddr::ip);
        ProxyDestination::Address(first.ok_or_else(|| {
            Error::new(ErrorKind::Connect, format!("{} has no address", url.host))
        })?)
    };
    let mut connection = Connection::open(&proxy.host, proxy.port, timeouts).await?;
    connect_by_socks(&mut connection, &target, url.port, proxy.user.as_deref()).await?;
    Ok(connection)
}

/// Requests a tunnel to the server from a proxy.
async fn tunnel(
    connection: &mut Connection,
    url: &Url,
    proxy: &Url,
    buffer: &mut Buffer,
) -> Result<()> {
    let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    let to = format!("{host}:{}", url.port);
    let credentials = proxy.basic();
    let credentials = credentials.map(|text| format!("Proxy-Authorization: Basic {text}\r\n"));
    let credentials = credentials.unwrap_or_default();
    let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{credentials}\r\n");
    connection.write(request.as_bytes()).await?;
    let mut end = 0;
    let (head, n) = read_head(connection, buffer, &mut 0, &mut end).await?;
    if head.status != 200 {
        return Err(refusal(head.status, None).and(" (the proxy)"));
    }
    if n != end {
        // These bytes cannot come from the server, as the TLS handshake has not started.
        return Err(Error::new(ErrorKind::Protocol, "the proxy sent more than an answer"));
    }
    Ok(())
}

async fn receive(
    mut connection: Connection,
    url: &Url,
    buffer: &mut Buffer,
) -> Result<ReceivedResponse> {
    let (mut start, mut end) = (0, 0);
    for _ in 0..=INTERIM_LIMIT {
        let (head, n) = read_head(&mut connection, buffer, &mut start, &mut end).await?;
        let text = start..start + n;
        start += n;
        match head.status {
            101 => return Err(Error::new(ErrorKind::Protocol, "the server changed the protocol")),
            100..=199 => {}
            _ => {
                let (url, text) = (url.clone(), buffer[text].into());
                return Ok(ReceivedResponse { url, connection, head, text, start, end });
            }
        }
    }
    Err(Error::new(ErrorKind::Protocol, "the server sent more than 16 interim responses"))
}

/// Reads the head that begins at `start`, and returns it with its length.
async fn read_head(
    connection: &mut Connection,
    buffer: &mut Buffer,
    start: &mut usize,
    end: &mut usize,
) -> Result<(Head, usize)> {
    let limit = HEAD_LIMIT.min(buffer.len() / 2);
    let too_long = || Error::new(ErrorKind::Protocol, "the head of the answer is too long");
    let mut seen = *start;
    loop {
        head::check_start(&buffer[*start..*end])?;
        // The head is parsed only after an empty line, so that a slow head is not parsed for every
        // byte.
        let from = seen.saturating_sub(3).max(*start);
        if has_empty_line(&buffer[from..*end])
            && let Some(found) = head::parse(&buffer[*start..*end])?
        {
            // The limit also holds for a complete head, however many bytes came at once.
            return if found.1 > limit { Err(too_long()) } else { Ok(found) };
        }
        seen = *end;
        if *end - *start >= limit {
            return Err(too_long());
        }
        if *end == buffer.len() {
            buffer.copy_within(*start..*end, 0);
            (seen, *end, *start) = (seen - *start, *end - *start, 0);
        }
        match connection.read(&mut buffer[*end..]).await? {
            0 => {
                let text = if *start == *end {
                    "the server closed the connection without an answer"
                } else {
                    "the connection ended within the head of the answer"
                };
                return Err(Error::new(ErrorKind::Truncated, text).retryable(true));
            }
            n => *end += n,
        }
    }
}

pub(crate) fn has_empty_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|two| two == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

/// The error for an answer that says that the resource has not changed.
fn not_sent(same: bool) -> Error {
    if same {
        let text = "the resource still has the version that is there";
        Error::new(ErrorKind::Unchanged, text).with_status(304)
    } else {
        let text = "the server says of another version than the requested one that it is unchanged";
        Error::new(ErrorKind::Changed, text).with_status(304)
    }
}

/// The error for a status that is not a success, with what the server says of it.
fn refusal(status: u16, said: Option<String>) -> Error {
    let meaning = match status {
        401 => "credentials required",
        403 => "forbidden",
        404 => "not found",
        407 => "proxy credentials required",
        410 => "gone",
        429 => "too many requests",
        503 => "unavailable",
        _ => "",
    };
    let mut text = format!("the server answered {status}");
    let meaning = said.unwrap_or_else(|| meaning.to_owned());
    if !meaning.is_empty() {
        text.extend([" (", meaning.as_str(), ")"]);
    }
    let error = Error::new(ErrorKind::Status, text);
    let again = matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504);
    error.with_status(status).retryable(again)
}
