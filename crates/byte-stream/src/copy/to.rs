//! Copies a stream to a descriptor: by the kernel if no digest needs the bytes, else chunk by
//! chunk.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::PollFlags;
use rustix::fs::fstat;
use rustix::io::Errno;

use super::plan::refuse_endless;
use super::{CopyOptions, Input, Output};
use crate::source::Source;
use crate::stream::{State, too_large};
use crate::{Error, Result, Stream, cancel};

impl Stream {
    /// Copies the rest of the stream to a descriptor by the cheapest method, and returns the number
    /// of bytes.
    ///
    /// ```
    /// use byte_stream::Stream;
    /// let output = tempfile::tempfile()?;
    /// let bytes = Stream::open("/proc/self/exe")?.copy_to(&output)?;
    /// assert_eq!(output.metadata()?.len(), bytes);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn copy_to(&mut self, output: impl AsFd) -> Result<u64> {
        match Output::new(&output) {
            Ok(mut output) => self.copy_into(&mut output),
            Err(error) => self.failed(error),
        }
    }

    /// The same with an output that several streams are copied to.
    ///
    /// ```
    /// use byte_stream::{Output, Stream};
    /// let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    /// let mut output = Output::new(&null)?;
    /// Stream::open("/proc/self/exe")?.copy_into(&mut output)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn copy_into(&mut self, output: &mut Output<'_>) -> Result<u64> {
        let before = self.offset();
        match self.copy_all(output) {
            Ok(()) => Ok(self.offset() - before),
            Err(error) => self.failed(error),
        }
    }

    fn failed(&mut self, error: Error) -> Result<u64> {
        self.state = State::Failed;
        Err(error.at(self.offset()).named(&self.name))
    }

    fn copy_all(&mut self, output: &mut Output<'_>) -> Result<()> {
        let has_chunk = self.taken < self.source.chunk().len();
        let is_unseen = matches!(self.source, Source::Read(_))
            && self.check.is_none()
            && self.state == State::Open;
        // `copy_unseen` checks it itself.
        if (has_chunk || !is_unseen)
            && let Some(input) = self.source.fd()
        {
            refuse_endless(input, &fstat(input).map_err(Error::io)?, output)?;
        }
        // Bytes that were read already come first.
        if has_chunk {
            self.write_chunk(output.fd)?;
        }
        if is_unseen {
            return self.copy_unseen(output);
        }
        while self.next_chunk_to(output.fd)? {}
        Ok(())
    }

    fn next_chunk_to(&mut self, output: BorrowedFd<'_>) -> Result<bool> {
        if self.next_chunk()?.is_none() {
            return Ok(false);
        }
        self.taken = 0;
        self.write_chunk(output)?;
        Ok(true)
    }

    fn write_chunk(&mut self, output: BorrowedFd<'_>) -> Result<()> {
        while let Some(bytes) = self.source.chunk().get(self.taken..).filter(|b| !b.is_empty()) {
            match rustix::io::write(output, bytes) {
                Ok(n) => self.taken += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let cancel = self.cancel.as_ref();
                    let waited = cancel::wait(Some(output), PollFlags::OUT, cancel, None);
                    waited.map_err(Error::of_output)?;
                }
                Err(errno) => return Err(Error::io(errno).of_output()),
            }
        }
        Ok(())
    }

    fn copy_unseen(&mut self, output: &mut Output<'_>) -> Result<()> {
        let Source::Read(source) = &self.source else { return Ok(()) };
        let produced = self.produced;
        let most = self.limit_bytes.saturating_sub(produced);
        let mut options = CopyOptions {
            on_progress: self.on_progress.take(),
            cancel: self.cancel.clone(),
            most_bytes: (self.limit_bytes < u64::MAX).then_some(most),
            ..CopyOptions::default()
        };
        let input = Input {
            fd: source.fd(),
            stat: source.stat(),
            kind: self.choice.kind,
            size_bytes: self.choice.size_bytes.map(|size| size.saturating_sub(produced)),
        };
        let copied = options.copy_input(&input, output);
        let done = copied.as_ref().map_or_else(|e| e.offset().unwrap_or(0), |copied| copied.bytes);
        self.on_progress = options.on_progress.take();
        (self.produced, self.taken) = (produced + done, self.source.chunk().len());
        copied.map_err(|error| error.moved(produced))?;
        if done == most && self.source.advance()? {
            self.taken = self.source.chunk().len();
            self.produced += self.taken as u64;
            return Err(too_large(self.limit_bytes, "there are").at(produced + done));
        }
        self.taken = self.source.chunk().len();
        self.state = State::Ended;
        Ok(())
    }
}
