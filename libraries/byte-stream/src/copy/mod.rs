//! Copies one descriptor to another by the cheapest method that their kinds allow. If the kernel
//! refuses a method, the next one continues at the same byte.

#[cfg_attr(not(target_os = "linux"), path = "fallback.rs")]
mod fast;
mod job;

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::event::PollFlags;
use rustix::fs::{SeekFrom, fstat, ftruncate, seek, tell};
use rustix::io::Errno;

use self::job::{
    AttemptOutcome, CopyPlan, Input, RunningCopy, STEP, STEP_MAX, read_and_write, refuse_endless,
};
pub use self::job::{CopyMethod, Output};
use crate::cancel::{self, Cancel};
#[cfg(target_os = "linux")]
use crate::choice::SourceKind;
use crate::choice::{BUFFER_BYTES, kind};
use crate::options::{OnProgress, Progress};
use crate::source::Source;
use crate::stream::{StreamState, too_large};
use crate::{Error, Result, Stream};

/// The result of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Bytes copied, holes included.
    pub bytes: u64,
    /// The method that was chosen.
    pub chosen: CopyMethod,
    /// The method that reached the end: another one if the kernel refused the chosen one.
    pub finished: CopyMethod,
}

/// Copies the rest of `input` to `output`, both from their current positions.
///
/// No byte is lost or repeated if the kernel refuses a method in the middle and another one
/// continues. After an error, an input that can seek stands behind the last byte that was written.
/// With `splice` and `sendfile` a pipe or socket holds the file's own pages: if the file changes
/// before they are read, the reader gets the new bytes, as with any program that uses these calls.
///
/// ```
/// use std::fs::File;
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("copy");
/// let copied = byte_stream::copy(File::open("/proc/self/exe")?, File::create(&path)?)?;
/// assert_eq!(copied.bytes, path.metadata()?.len());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn copy(input: impl AsFd, output: impl AsFd) -> Result<Copied> {
    CopyOptions::new().copy(input, output)
}

/// Options of a copy. The last call is [`copy`](CopyOptions::copy), which can be repeated.
///
/// ```
/// use std::fs::{File, OpenOptions};
/// let mut options = byte_stream::CopyOptions::new().sparse(true);
/// let null = OpenOptions::new().write(true).open("/dev/null")?;
/// options.copy(File::open("/proc/self/exe")?, &null)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
#[must_use = "copy with it"]
pub struct CopyOptions {
    sparse: bool,
    method: Option<CopyMethod>,
    on_progress: Option<OnProgress>,
    cancel: Option<Cancel>,
    /// The largest number of bytes to copy.
    most_bytes: Option<u64>,
}

impl CopyOptions {
    /// The defaults: holes become zeros, and the method is chosen.
    ///
    /// ```
    /// let options = byte_stream::CopyOptions::new();
    /// ```
    pub fn new() -> CopyOptions {
        CopyOptions::default()
    }

    /// Preserves the holes of a regular file in a regular file, unless that is open for appending.
    ///
    /// ```
    /// let input = tempfile::tempfile()?;
    /// input.set_len(1 << 30)?;
    /// let output = tempfile::tempfile()?;
    /// byte_stream::CopyOptions::new().sparse(true).copy(&input, &output)?;
    /// assert_eq!(output.metadata()?.len(), 1 << 30);
    /// assert_eq!(std::os::unix::fs::MetadataExt::blocks(&output.metadata()?), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sparse(mut self, sparse: bool) -> CopyOptions {
        self.sparse = sparse;
        self
    }

    /// Tries this method first instead of the one that would be chosen.
    ///
    /// ```
    /// use byte_stream::{CopyOptions, CopyMethod};
    /// let (reader, writer) = std::io::pipe()?;
    /// let input = std::fs::File::open("/proc/self/comm")?;
    /// let copied = CopyOptions::new().method(CopyMethod::ReadWrite).copy(input, writer)?;
    /// assert_eq!(copied.finished, CopyMethod::ReadWrite);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn method(mut self, method: CopyMethod) -> CopyOptions {
        self.method = Some(method);
        self
    }

    /// Calls this after each step of at most 16 MiB. The total is known for regular files.
    ///
    /// ```
    /// let options =
    ///     byte_stream::CopyOptions::new().on_progress(|p| eprintln!("{}", p.done_bytes));
    /// ```
    pub fn on_progress(mut self, call: impl FnMut(Progress) + Send + 'static) -> CopyOptions {
        self.on_progress = Some(Box::new(call));
        self
    }

    /// Makes the copy cancellable from another thread: at once while it waits for a pipe or a
    /// socket, else after a step.
    ///
    /// ```
    /// let cancel = byte_stream::Cancel::new()?;
    /// cancel.cancel();
    /// let options = byte_stream::CopyOptions::new().cancel(&cancel).copy(
    ///     std::fs::File::open("/dev/zero")?,
    ///     std::fs::OpenOptions::new().write(true).open("/dev/null")?,
    /// );
    /// assert_eq!(options.unwrap_err().kind(), byte_stream::ErrorKind::Cancelled);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(mut self, cancel: &Cancel) -> CopyOptions {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Copies the rest of `input` to `output`; see [`copy`](crate::copy).
    ///
    /// ```
    /// let (reader, writer) = std::io::pipe()?;
    /// drop(writer);
    /// let copied = byte_stream::CopyOptions::new().copy(reader, tempfile::tempfile()?)?;
    /// assert_eq!(copied.bytes, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn copy(&mut self, input: impl AsFd, output: impl AsFd) -> Result<Copied> {
        let input = Input::new(input.as_fd())?;
        self.copy_input(&input, &mut Output::new(&output)?)
    }

    fn copy_input(&mut self, input: &Input<'_>, output: &mut Output<'_>) -> Result<Copied> {
        let plan = CopyPlan::new(input, output)?;
        let mut job = RunningCopy {
            input: input.fd,
            output: output.fd,
            #[cfg(target_os = "linux")]
            pipe: &mut output.pipe,
            buffer: &mut output.buffer,
            done: 0,
            total: input.size_bytes,
            left: self.most_bytes.unwrap_or(u64::MAX),
            step: if self.on_progress.is_some() || self.cancel.is_some() { STEP } else { STEP_MAX },
            ends_at_size: plan.ends_at_size,
            // A descriptor that can block is polled before each step.
            waits: plan.waits && self.cancel.is_some(),
            #[cfg(target_os = "linux")]
            from_socket: input.kind == SourceKind::Socket,
            on_progress: self.on_progress.as_mut(),
            cancel: self.cancel.as_ref(),
        };
        let chosen = self.method.unwrap_or(plan.methods()[0]);
        let result = if self.sparse && plan.can_keep_holes && self.most_bytes.is_none() {
            copy_with_holes(&mut job, chosen, &plan)
        } else {
            job.all(chosen, plan.methods())
        };
        let done = job.done;
        let finished = result.map_err(|error| error.at(done))?;
        Ok(Copied { bytes: done, chosen, finished })
    }
}

impl fmt::Debug for CopyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyOptions")
            .field("sparse", &self.sparse)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl RunningCopy<'_> {
    /// Tries the chosen method, then the others, then `read` and `write`. Returns the method that
    /// finished.
    fn all(&mut self, chosen: CopyMethod, methods: &[CopyMethod]) -> Result<CopyMethod> {
        let others = methods.iter().copied().filter(|method| *method != chosen);
        let mut finished = chosen;
        for method in std::iter::once(chosen).chain(others) {
            finished = method;
            if method == CopyMethod::ReadWrite || self.attempt(method)? == AttemptOutcome::Finished
            {
                break;
            }
        }
        // This is needed after success as well: `copy_file_range` sees the end of a file of /proc
        // at its beginning.
        let done = self.done;
        read_and_write(self, finished)?;
        Ok(if self.done > done { CopyMethod::ReadWrite } else { finished })
    }

    fn attempt(&mut self, method: CopyMethod) -> Result<AttemptOutcome> {
        match method {
            CopyMethod::CopyFileRange => fast::copy_file_range(self),
            CopyMethod::Splice => fast::splice(self),
            CopyMethod::SpliceThroughPipe => fast::splice_through_pipe(self),
            CopyMethod::Sendfile => fast::sendfile(self),
            CopyMethod::ReadWrite => Ok(AttemptOutcome::Refused),
        }
    }
}

/// Copies the holes of a regular file as holes; the data between them is copied as usual.
fn copy_with_holes(
    job: &mut RunningCopy<'_>,
    chosen: CopyMethod,
    plan: &CopyPlan,
) -> Result<CopyMethod> {
    let mut finished = chosen;
    let mut at = tell(job.input).map_err(Error::io)?;
    loop {
        let data = match seek(job.input, SeekFrom::Data(at)) {
            Ok(data) => data,
            // No data follows: a hole up to the end.
            Err(Errno::NXIO) => fstat(job.input).map_err(Error::io)?.st_size as u64,
            Err(_) => {
                // The file system does not support SEEK_DATA.
                seek(job.input, SeekFrom::Start(at)).map_err(Error::io)?;
                return job.all(chosen, plan.methods());
            }
        };
        if data > at {
            hole(job.output, data - at).map_err(|errno| Error::io(errno).of_output())?;
            job.left = u64::MAX;
            skipped(job, data - at);
        }
        let Ok(end) = seek(job.input, SeekFrom::Hole(data)) else {
            // At or behind the end. Data that was appended meanwhile is copied as well.
            seek(job.input, SeekFrom::Start(data)).map_err(Error::io)?;
            job.left = u64::MAX;
            let done = job.done;
            let last = job.all(chosen, plan.methods())?;
            return Ok(if job.done > done { last } else { finished });
        };
        seek(job.input, SeekFrom::Start(data)).map_err(Error::io)?;
        job.left = end - data;
        finished = job.all(chosen, plan.methods())?;
        at = tell(job.input).map_err(Error::io)?;
        if at < end {
            // The file was truncated meanwhile.
            return Ok(finished);
        }
    }
}

fn skipped(job: &mut RunningCopy<'_>, mut bytes: u64) {
    while bytes > 0 {
        let step = bytes.min(usize::MAX as u64 >> 1);
        job.advanced(step as usize);
        bytes -= step;
    }
}

/// Creates a hole of this length in the output and seeks behind it.
fn hole(output: BorrowedFd<'_>, bytes: u64) -> rustix::io::Result<()> {
    let start = tell(output)?;
    let end = start + bytes;
    let size = fstat(output)?.st_size as u64;
    if start < size {
        // Existing data in the range must become zeros.
        let old = bytes.min(size - start);
        if !punched(output, start, old) {
            zeros(output, old)?;
        }
    }
    if end > size {
        ftruncate(output, end)?;
    }
    seek(output, SeekFrom::Start(end)).map(drop)
}

#[cfg(target_os = "linux")]
fn punched(output: BorrowedFd<'_>, start: u64, bytes: u64) -> bool {
    use rustix::fs::{FallocateFlags, fallocate};

    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(output, punch, start, bytes).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn punched(_output: BorrowedFd<'_>, _start: u64, _bytes: u64) -> bool {
    false
}

fn zeros(output: BorrowedFd<'_>, mut bytes: u64) -> rustix::io::Result<()> {
    let block = [0; 16 << 10];
    while bytes > 0 {
        let n = rustix::io::write(output, &block[..bytes.min(block.len() as u64) as usize])?;
        bytes -= n as u64;
    }
    Ok(())
}

impl Output<'_> {
    /// Copies the file, FIFO or device with this path, from its start to its end, and returns the
    /// number of bytes. A stream without options does the same, but this takes less time for a
    /// small file, for which nothing is allocated.
    ///
    /// ```
    /// let copy = tempfile::tempfile()?;
    /// let mut output = byte_stream::Output::new(&copy)?;
    /// let bytes = output.copy_path("/proc/self/exe")? + output.copy_path("/proc/self/comm")?;
    /// assert_eq!(copy.metadata()?.len(), bytes);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn copy_path(&mut self, path: impl AsRef<Path>) -> Result<u64> {
        let path = path.as_ref();
        let opened = File::open(path).map_err(Error::io);
        let copied = opened.and_then(|file| self.copy_new_file(file, path));
        copied.map_err(|error| error.named(&path.to_string_lossy()))
    }

    /// Copies a file that was just opened.
    fn copy_new_file(&mut self, file: File, path: &Path) -> Result<u64> {
        // Elsewhere `/dev/fd/3` has the position of descriptor 3.
        if cfg!(not(target_os = "linux")) {
            return Stream::open(path)?.copy_into(self);
        }
        let stat = fstat(&file).map_err(Error::io)?;
        let (kind, size) = (kind(file.as_fd(), &stat), stat.st_size as u64);
        if !kind.is_file() || size > BUFFER_BYTES as u64 {
            return Stream::of_new_file(file, path, Stream::options())?.copy_into(self);
        }
        let input = Input { fd: file.as_fd(), stat, kind, size_bytes: Some(size) };
        Ok(CopyOptions::default().copy_input(&input, self)?.bytes)
    }
}

// A stream is copied by the kernel if no digest needs the bytes, else chunk by chunk.

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
        self.state = StreamState::Failed;
        Err(error.at(self.offset()).named(&self.name))
    }

    fn copy_all(&mut self, output: &mut Output<'_>) -> Result<()> {
        let has_chunk = self.taken < self.source.chunk().len();
        let is_unseen = matches!(self.source, Source::Read(_))
            && self.check.is_none()
            && self.state == StreamState::Open;
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
        self.state = StreamState::Ended;
        Ok(())
    }
}
