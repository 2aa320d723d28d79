//! The body of a resource as it is sent. A connection that breaks is replaced by one that continues
//! at the same byte of the same version; bytes of another version are never returned.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::time::Duration;

use super::client::{Client, ReceivedResponse, RequestedRange};
use super::framing::{Frame, FramingStep};
use super::head::{ContentEncoding, ContentRange, Response};
use super::limits::RateLimit;
use super::settings::Settings;
use super::url::{Url, find_credentials};
use crate::buffer::Buffer;
use crate::cancel::{Cancel, Deadline};
use crate::choice::{BUFFER_BYTES, Cached, Choice, SourceKind, Strategy};
use crate::s3::BucketRequest;
use crate::wait::{self, WaitMode};
use crate::{Error, ErrorKind, Result};

/// The smallest buffer, as a head must fit.
const SMALLEST_BUFFER: usize = 16 << 10;
/// The buffer when bytes arrive faster than they are read: each read of a socket also sends an
/// acknowledgement, and larger ones take half of the CPU time (measured: 128 KiB 81 ms, 512 KiB
/// 46 ms for 256 MiB).
const LARGE_BUFFER: usize = 512 << 10;
/// The longest wait for the close of a connection that the server announced after a complete body.
const END_LIMIT: Duration = Duration::from_secs(1);

pub(crate) struct Raw {
    client: Client,
    buffer: Buffer,
    /// Whether a larger buffer may replace it, which the last read has filled.
    may_grow: bool,
    is_full: bool,
    /// Received bytes that are not processed yet.
    rest: Range<usize>,
    /// The bytes that are lent.
    chunk: Range<usize>,
    answer: Option<ReceivedResponse>,
    version: ResourceVersion,
    /// The first answer.
    response: Option<Response>,
    /// The offset in the resource at which the stream began, and that of its next byte.
    first: u64,
    next: u64,
    /// The end of the requested part, if it is a part.
    until: Option<u64>,
    /// Bytes of the response to discard, because they were received before.
    skip: u64,
    retries: u32,
    /// The offset at which the retries were last reset.
    mark: u64,
    ended: bool,
    rate: Option<RateLimit>,
}

/// The version of a resource, which must be equal in all responses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResourceVersion {
    /// A strong `ETag`, or a date that counts as one.
    pub(crate) validator: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) encoding: ContentEncoding,
}

impl Raw {
    pub(crate) async fn open(
        url: &str,
        settings: &mut Settings,
        buffer_bytes: Option<usize>,
        cancel: Option<&Cancel>,
        mode: WaitMode,
    ) -> Result<Raw> {
        let (client, first, validator) = Raw::client_for(url, settings, cancel, mode)?;
        let (first, until) = client.settings.range.unwrap_or((first, None));
        let size = buffer_bytes.unwrap_or(BUFFER_BYTES).max(SMALLEST_BUFFER);
        let mut raw = Raw::new(client, Buffer::new(size), first, until);
        raw.may_grow = buffer_bytes.is_none();
        raw.version.validator = validator;
        raw.begin().await?;
        Ok(raw)
    }

    /// The client for these settings, the first byte to request, and the expected version.
    pub(crate) fn client_for(
        url: &str,
        settings: &mut Settings,
        cancel: Option<&Cancel>,
        mode: WaitMode,
    ) -> Result<(Client, u64, Option<String>)> {
        settings.check()?;
        let mut settings = std::mem::take(settings);
        let connections = settings.connections.take();
        let total = settings.total_limit.and_then(Deadline::after);
        let (first, validator) = match settings.from.clone() {
            Some((first, validator)) => (first, Some(validator)),
            None => (0, None),
        };
        let bucket = BucketRequest::new(url, &mut settings)?;
        let url = if let Some(bucket) = &bucket {
            bucket.url()?
        } else {
            let mut url = Url::parse(url)?;
            if let Some(text) = settings.netrc.as_ref().filter(|_| url.user.is_none()) {
                url.user = find_credentials(text, &url.host)?;
            }
            url
        };
        let client = Client {
            url,
            bucket,
            resolved: None,
            settings,
            mode,
            cancel: cancel.cloned(),
            total,
            retry_after_s: None,
            connections,
        };
        Ok((client, first, validator))
    }

    /// A stream without a connection.
    fn new(client: Client, buffer: Buffer, first: u64, until: Option<u64>) -> Raw {
        let rate = client.settings.rate.map(RateLimit::new);
        Raw {
            client,
            buffer,
            may_grow: false,
            is_full: false,
            rate,
            rest: 0..0,
            chunk: 0..0,
            answer: None,
            version: ResourceVersion::default(),
            response: None,
            first,
            next: first,
            until,
            skip: 0,
            retries: 0,
            mark: first,
            ended: false,
        }
    }

    async fn begin(&mut self) -> Result<()> {
        match self.connect().await {
            Ok(()) => Ok(()),
            Err(error) => self.try_again(error).await,
        }
    }

    /// The part from `first` to `until` of this version, as far as that is known; or the whole
    /// resource from there on, if the server does not support ranges.
    pub(crate) async fn part(
        client: Client,
        first: u64,
        until: u64,
        version: ResourceVersion,
    ) -> Result<Raw> {
        let mut raw = Raw::new(client, Buffer::new(BUFFER_BYTES), first, Some(until));
        raw.version = version;
        raw.begin().await?;
        Ok(raw)
    }

    /// From `first` to the end.
    pub(crate) async fn whole(client: Client, first: u64) -> Result<Raw> {
        let mut raw = Raw::new(client, Buffer::new(BUFFER_BYTES), first, None);
        raw.begin().await?;
        Ok(raw)
    }

    /// Requests another part of the same resource, with the same buffer and connection.
    pub(crate) async fn go_on_with(&mut self, first: u64, until: u64) -> Result<()> {
        (self.first, self.next, self.mark, self.until) = (first, first, first, Some(until));
        (self.retries, self.ended, self.chunk) = (0, false, 0..0);
        self.begin().await
    }

    /// Whether the response is partial (206).
    pub(crate) fn is_part(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.head.status == 206)
    }

    /// Continues to the end of the resource.
    pub(crate) fn unbounded(&mut self) {
        self.until = None;
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Replaces the cancel handle.
    pub(crate) fn obey(&mut self, cancel: &Cancel) {
        self.client.cancel = Some(cancel.clone());
        if let Some(answer) = &mut self.answer {
            answer.connection.timeouts().cancel = Some(cancel.clone());
        }
    }

    pub(crate) fn response(&self) -> Option<&Response> {
        self.response.as_ref()
    }

    pub(crate) fn version(&self) -> &ResourceVersion {
        &self.version
    }

    pub(crate) fn choice(&self) -> Choice {
        Choice {
            strategy: Strategy::Receive { buffer_bytes: self.buffer.len() },
            kind: SourceKind::Http,
            size_bytes: self.version.size.map(|size| {
                self.until.map_or(size, |until| size.min(until)).saturating_sub(self.first)
            }),
            cached: Cached::Unknown,
        }
    }

    pub(crate) fn expansion(&self) -> u64 {
        self.client.settings.expansion
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        &self.buffer[self.chunk.clone()]
    }

    #[cfg(feature = "async")]
    pub(crate) fn share(&self, from: usize) -> bytes::Bytes {
        self.buffer.share(self.chunk.start + from..self.chunk.end)
    }

    pub(crate) async fn advance(&mut self) -> Result<bool> {
        self.chunk = 0..0;
        loop {
            match self.try_advance().await {
                Ok(advanced) => return Ok(advanced),
                Err(error) if error.is_retryable() => self.try_again(error).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_advance(&mut self) -> Result<bool> {
        while !self.ended {
            let Some(answer) = &mut self.answer else { return Err(cut(self.next)) };
            match answer.head.frame.step(&self.buffer[self.rest.clone()])? {
                FramingStep::Control(n) => self.rest.start += n,
                FramingStep::Data(n) => {
                    let skipped = self.skip.min(n as u64);
                    self.skip -= skipped;
                    let start = self.rest.start + skipped as usize;
                    self.rest.start += n;
                    self.chunk = start..self.rest.start;
                    self.next += self.chunk.len() as u64;
                    self.cut_behind_the_part();
                    if self.version.size.is_some_and(|size| self.next > size) {
                        self.chunk = 0..0;
                        return Err(too_long());
                    }
                    if !self.chunk.is_empty() {
                        return Ok(true);
                    }
                }
                FramingStep::More => self.receive().await?,
                FramingStep::End => self.end().await?,
            }
        }
        Ok(false)
    }

    /// The end of the requested part, or of the resource if that comes first.
    fn last_end(&self) -> Option<u64> {
        match (self.until, self.version.size) {
            // Chunks of unknown size have their own end, which may come first.
            (Some(_), None) if self.client.settings.range.is_some() => None,
            (until, size) => [until, size].into_iter().flatten().min(),
        }
    }

    /// A server that ignores the range sends more than was requested.
    fn cut_behind_the_part(&mut self) {
        if let Some(until) = self.until.filter(|until| self.next > *until) {
            let behind = (self.next - until).min(self.chunk.len() as u64);
            self.chunk.end -= behind as usize;
            self.next = until;
            self.ended = true;
            self.answer = None;
        }
    }

    async fn receive(&mut self) -> Result<()> {
        self.make_room();
        let Some(answer) = &mut self.answer else { return Err(cut(self.next)) };
        answer.connection.expect_body(match answer.head.frame {
            Frame::Length(left) if self.rate.is_none() => left,
            _ => 0,
        });
        let mut end = self.buffer.len();
        if let Some(rate) = &self.rate {
            let Client { mode, ref cancel, total, .. } = self.client;
            rate.wait(mode, cancel.as_ref(), total).await?;
            end = end.min(self.rest.end + rate.step());
        }
        match answer.connection.read(&mut self.buffer[self.rest.end..end]).await? {
            0 if answer.head.frame == Frame::Close => answer.head.frame = Frame::Length(0),
            0 => return Err(cut(self.next)),
            n => {
                self.rest.end += n;
                self.is_full = self.rest.end == self.buffer.len();
                self.rate.iter_mut().for_each(|rate| rate.took(n));
            }
        }
        Ok(())
    }

    /// Moves the remaining bytes, less than a line, to the start of the buffer, or of a larger one.
    fn make_room(&mut self) {
        // With TLS no more than the buffer of what was received is decrypted at once.
        let is_secure = self.answer.as_ref().is_none_or(|answer| answer.connection.is_secure());
        if self.is_full && self.may_grow && !is_secure {
            let mut larger = Buffer::new(LARGE_BUFFER);
            larger[..self.rest.len()].copy_from_slice(&self.buffer[self.rest.clone()]);
            (self.buffer, self.may_grow) = (larger, false);
        } else if self.rest.start > 0 {
            self.buffer.copy_within(self.rest.clone(), 0);
        }
        self.rest = 0..self.rest.len();
    }

    /// Ends the response. The resource must end with it, and the connection too, if its close was
    /// announced.
    async fn end(&mut self) -> Result<()> {
        if !self.rest.is_empty() {
            return Err(too_long());
        }
        if self.skip > 0 || self.last_end().is_some_and(|end| self.next < end) {
            self.answer = None;
            return Err(cut(self.next));
        }
        self.ended = true;
        let Some(mut answer) = self.answer.take() else { return Ok(()) };
        if answer.head.closes {
            answer.connection.timeouts().stage = Deadline::after(END_LIMIT);
            if let Ok(1..) = answer.connection.read(&mut self.buffer).await {
                return Err(too_long());
            }
        }
        self.client.keep(answer);
        Ok(())
    }
}

fn cut(offset: u64) -> Error {
    let text = format!("the connection ended before the body, at its byte {offset}");
    Error::new(ErrorKind::Truncated, text).retryable(true)
}

fn too_long() -> Error {
    Error::new(ErrorKind::TooLong, "the server sent more bytes than it announced")
}

pub(crate) fn changed() -> Error {
    let text = "the resource has changed since the stream was opened; download it again";
    Error::new(ErrorKind::Changed, text)
}

// The resource is requested for the first time, and again after a failure. The response must be of
// the same version and begin at the right byte.

/// Received bytes after which the count of retries is reset.
const GOOD_PROGRESS: u64 = 1 << 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Raw {
    /// Requests the missing bytes after a pause, up to the limit of retries.
    async fn try_again(&mut self, mut error: Error) -> Result<()> {
        loop {
            self.answer = None;
            if !error.is_retryable() {
                return Err(error);
            }
            // Behind a wrong chunk size, the size line of the next chunk would be taken for data.
            if self.next > self.first && self.version.size.is_none() {
                return Err(error.and("; without a known length it cannot be resumed"));
            }
            if self.next > self.first && self.version.validator.is_none() {
                return Err(error.and("; without a strong ETag or date it cannot be resumed"));
            }
            if self.next - self.mark >= GOOD_PROGRESS {
                (self.retries, self.mark) = (0, self.next);
            }
            if self.retries >= self.client.settings.retries {
                return Err(error);
            }
            self.pause().await?;
            self.retries += 1;
            match self.connect().await {
                Ok(()) => return Ok(()),
                Err(new) => error = new,
            }
        }
    }

    /// Doubles each time, plus up to half at random, so that many clients do not retry at once.
    async fn pause(&self) -> Result<()> {
        let doubled = self.client.settings.back_off.saturating_mul(1 << self.retries.min(20));
        let random = std::hash::RandomState::new().build_hasher().finish() % 128;
        let mut pause = doubled.min(LONGEST_PAUSE) * (256 + random as u32) / 256;
        if let Some(seconds) = self.client.retry_after_s {
            pause = pause.max(Duration::from_secs(seconds.min(60)));
        }
        let mut until = Deadline::after(pause);
        if let Some(total) = self.client.total {
            until = until.map(|until| until.min(total));
        }
        wait::until(self.client.mode, self.client.cancel.as_ref(), until).await
    }

    async fn connect(&mut self) -> Result<()> {
        self.rest = 0..0;
        let validator = self.version.validator.clone();
        let is_part = self.until.is_some() || self.next > 0;
        let last = self.until.map(|until| until.saturating_sub(1));
        let wanted = is_part.then_some(RequestedRange {
            from: self.next,
            last,
            validator: validator.as_deref(),
        });
        let answer = self.client.get(wanted, &mut self.buffer).await?;
        self.rest = answer.start..answer.end;
        self.rate.iter_mut().for_each(|rate| rate.took(answer.end - answer.start));
        let head = &answer.head;
        self.skip = 0;
        let length = if let Frame::Length(length) = head.frame { Some(length) } else { None };
        let size = match (head.status, head.range) {
            (206, Some(ContentRange::Part(start, last, size))) => {
                let ends = self.until.is_none_or(|until| ends_right(last + 1, until, size));
                let fits = length.is_none_or(|length| length == last - start + 1);
                // A server may begin earlier, at a block of its own: those bytes are there already.
                if start > self.next || last < self.next || !ends || !fits {
                    let text = "the server sent another part than requested";
                    return Err(Error::new(ErrorKind::Protocol, text));
                }
                self.skip = self.next - start;
                size
            }
            (416, Some(ContentRange::None(size)))
                if self.is_whole(size, head.validator.as_deref()) =>
            {
                self.version.size = Some(size);
                self.ended = true;
                return Ok(());
            }
            (416, _) if self.client.settings.range.is_some() && self.is_unknown() => {
                let text = "the requested range begins behind the end of the resource";
                return Err(Error::new(ErrorKind::InvalidUse, text).with_status(416));
            }
            (416, _) => return Err(changed()),
            (206, _) => {
                let text = "the server sent a part without Content-Range";
                return Err(Error::new(ErrorKind::Protocol, text));
            }
            _ => {
                self.skip = self.next;
                length
            }
        };
        let new =
            ResourceVersion { validator: head.validator.clone(), size, encoding: head.encoding };
        let status = head.status;
        self.check_frame(&answer)?;
        self.check_version(new, status)?;
        if self.response.is_none() {
            let (url, head) = (answer.url.shown(), answer.text.clone());
            self.response = Some(Response { url, status, head });
        }
        self.answer = Some(answer);
        Ok(())
    }

    /// The range began at the end: everything was there before the stream was opened.
    fn is_whole(&self, size: u64, validator: Option<&str>) -> bool {
        let same = validator.is_none() || validator == self.version.validator.as_deref();
        size == self.next && self.next == self.first && self.version.size.is_none() && same
    }

    /// Without a length and without chunks, a truncated connection looks like the end of the body,
    /// except with TLS.
    fn check_frame(&self, answer: &ReceivedResponse) -> Result<()> {
        let settings = &self.client.settings;
        if answer.head.frame == Frame::Close && !answer.connection.is_secure() && !settings.unframed
        {
            let text = "the server sends neither a length nor chunks, so that a truncated body \
                        would look like a whole one";
            return Err(Error::new(ErrorKind::Unframed, text));
        }
        Ok(())
    }

    /// Whether no byte and no version is known yet.
    fn is_unknown(&self) -> bool {
        self.version.validator.is_none() && self.version.size.is_none() && self.next == self.first
    }

    fn check_version(&mut self, new: ResourceVersion, status: u16) -> Result<()> {
        let known = &self.version;
        let size_differs = known.size.is_some() && new.size.is_some() && known.size != new.size;
        // A partial response may omit the encoding; if it is given, it must be the same.
        let encoding_differs = self.next > self.first
            && new.encoding != known.encoding
            && !(status == 206 && new.encoding == ContentEncoding::Identity);
        if !self.is_unknown()
            && (new.validator != known.validator || size_differs || encoding_differs)
        {
            return Err(changed());
        }
        if self.next == self.first {
            self.version.encoding = new.encoding;
        }
        self.version.validator = new.validator;
        self.version.size = self.version.size.or(new.size);
        Ok(())
    }
}

/// A part ends where it was requested to, or at the end of the resource.
fn ends_right(end: u64, until: u64, size: Option<u64>) -> bool {
    end == until || end < until && size == Some(end)
}
