//! Requests a resource for the first time and again after a failure. The response must be of the
//! same version and begin at the right byte.

use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use crate::clock::Deadline;
use crate::wait;
use crate::{Error, ErrorKind, Result};

use super::super::client::{Answer, RequestedRange};
use super::super::encoding::ContentEncoding;
use super::super::framing::Frame;
use super::super::head::ContentRange;
use super::super::response::Response;
use super::{Raw, Version, changed};

/// Received bytes after which the count of retries is reset.
const GOOD_PROGRESS: u64 = 1 << 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Raw {
    /// Requests the missing bytes after a pause, up to the limit of retries.
    pub(super) async fn try_again(&mut self, mut error: Error) -> Result<()> {
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

    pub(super) async fn connect(&mut self) -> Result<()> {
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
                if start != self.next || !ends || !fits {
                    let text = "the server sent another part than requested";
                    return Err(Error::new(ErrorKind::Protocol, text));
                }
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
        let new = Version { validator: head.validator.clone(), size, encoding: head.encoding };
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
    fn is_whole(&self, size: u64, etag: Option<&str>) -> bool {
        let same = etag.is_none() || etag == self.version.validator.as_deref();
        size == self.next && self.next == self.first && self.version.size.is_none() && same
    }

    /// Without a length and without chunks, a truncated connection looks like the end of the body,
    /// except with TLS.
    fn check_frame(&self, answer: &Answer) -> Result<()> {
        let settings = &self.client.settings;
        if answer.head.frame == Frame::Close && !answer.connection.is_secure() && !settings.unframed
        {
            let text = "the server sends neither a length nor chunks, so that truncation would not \
                        be detected; allow it with accept_unframed or expect_sha256";
            return Err(Error::new(ErrorKind::Protocol, text));
        }
        Ok(())
    }

    /// Nothing has been received, nor is there anything from before.
    fn is_unknown(&self) -> bool {
        self.version.validator.is_none() && self.version.size.is_none() && self.next == self.first
    }

    fn check_version(&mut self, new: Version, status: u16) -> Result<()> {
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
