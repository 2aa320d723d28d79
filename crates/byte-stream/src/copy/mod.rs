//! Copies one descriptor to another by the cheapest method that their kinds allow. If the kernel
//! refuses a method, the next one continues at the same byte.

mod attempts;
#[cfg(target_os = "linux")]
mod capacity;
#[cfg_attr(not(target_os = "linux"), path = "fallback.rs")]
mod fast;
mod job;
mod method;
mod output;
mod plain;
mod plan;
mod sparse;
mod to;

use std::fmt;
use std::os::fd::AsFd;

use crate::Result;
use crate::cancel::Cancel;
#[cfg(target_os = "linux")]
use crate::choice::Kind;
use crate::progress::{OnProgress, Progress};

use self::job::{Job, STEP, STEP_MAX};
pub use self::method::CopyMethod;
use self::output::Input;
pub use self::output::Output;
use self::plan::Plan;

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
/// Nothing is lost and nothing repeated when the kernel refuses one way in the middle and another
/// goes on. After an error, an input that can seek stands behind the last byte that was written.
/// With `splice` and `sendfile` a pipe or socket holds the file's own pages: if the file changes
/// before they are read, its reader gets the new bytes, as with any program that copies so.
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
        let plan = Plan::new(input, output)?;
        let mut job = Job {
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
            from_socket: input.kind == Kind::Socket,
            on_progress: self.on_progress.as_mut(),
            cancel: self.cancel.as_ref(),
        };
        let chosen = self.method.unwrap_or(plan.methods()[0]);
        let result = if self.sparse && plan.can_keep_holes && self.most_bytes.is_none() {
            sparse::copy(&mut job, chosen, &plan)
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
