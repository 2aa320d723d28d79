//! A copy that is under way: its two ends, the methods that fit them, its state, and `read` and
//! `write`, the method that always works.

use std::fmt;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::PollFlags;
use rustix::fs::{FileType, OFlags, SeekFrom, Stat, fcntl_getfl, fstat, seek, tell};
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;

use crate::buffer::Buffer;
use crate::cancel::{self, Cancel};
use crate::choice::{BUFFER_BYTES, SourceKind, is_on_disk, kind};
use crate::options::{OnProgress, Progress};
use crate::{Error, ErrorKind, Result};

/// The system calls by which bytes are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CopyMethod {
    /// `copy_file_range`: the file system may share the bytes instead of copying them.
    CopyFileRange,
    /// `splice` from or to a pipe.
    Splice,
    /// `splice` into a pipe that is created for the copy, and out of it.
    SpliceThroughPipe,
    /// `sendfile`.
    Sendfile,
    /// `read` and `write` with one buffer, which always works.
    ReadWrite,
}

// The methods that fit two descriptors, the best first; and the copies that would never end.

/// Files of less than this are read and written, where no blocks can be shared.
const SMALL_BYTES: u64 = 64 << 10;

pub(super) struct CopyPlan {
    methods: &'static [CopyMethod],
    /// Both are regular files and the output is not in append mode, in which it could not seek over
    /// a hole.
    pub(super) can_keep_holes: bool,
    /// The input has ended when as many bytes are read as its size says.
    pub(super) ends_at_size: bool,
    /// Reading the input can block.
    pub(super) waits: bool,
}

impl CopyPlan {
    pub(super) fn new(input: &Input<'_>, output: &Output<'_>) -> Result<CopyPlan> {
        refuse_endless(input.fd, &input.stat, output)?;
        let to_regular = FileType::from_raw_mode(output.stat.st_mode) == FileType::RegularFile;
        Ok(CopyPlan {
            methods: methods(input, output),
            can_keep_holes: input.kind.is_file() && to_regular && !output.appends,
            ends_at_size: input.kind == SourceKind::InMemory || is_on_disk(&input.stat),
            waits: matches!(
                input.kind,
                SourceKind::Pipe | SourceKind::Socket | SourceKind::Character
            ),
        })
    }

    pub(super) fn methods(&self) -> &'static [CopyMethod] {
        self.methods
    }
}

/// The order follows the results of the experiment `copying`.
fn methods(input: &Input<'_>, output: &Output<'_>) -> &'static [CopyMethod] {
    let (from, to) = (input.kind, output.kind);
    // The kernel refuses to splice to a file in append mode (EINVAL), and would split packets
    // anywhere.
    if output.appends && to != SourceKind::Pipe || to == SourceKind::Socket && !is_stream(output.fd)
    {
        return &[CopyMethod::ReadWrite];
    }
    let from_file = matches!(from, SourceKind::Regular | SourceKind::InMemory | SourceKind::Block);
    match to {
        // Terminals and similar devices only accept writes; /dev/null takes pages without reading
        // them.
        SourceKind::Character if !is_null(&output.stat) => &[CopyMethod::ReadWrite],
        // One read and one write cost less than a pipe.
        SourceKind::Pipe | SourceKind::Socket | SourceKind::Character
            if input.size_bytes.is_some_and(|n| n < SMALL_BYTES) =>
        {
            &[CopyMethod::ReadWrite]
        }
        _ if from == SourceKind::Virtual || from == SourceKind::Character => {
            &[CopyMethod::ReadWrite]
        }
        // A direct splice holds the lock of the pipe while the kernel looks for pages, and its
        // reader would wait.
        SourceKind::Pipe if from_file || from == SourceKind::Socket => {
            &[CopyMethod::SpliceThroughPipe, CopyMethod::Splice]
        }
        _ if from == SourceKind::Pipe || to == SourceKind::Pipe => &[CopyMethod::Splice],
        SourceKind::Regular | SourceKind::InMemory if from.is_file() => {
            &[CopyMethod::CopyFileRange, CopyMethod::Sendfile]
        }
        SourceKind::Character => &[CopyMethod::SpliceThroughPipe],
        SourceKind::Socket if from_file => &[CopyMethod::SpliceThroughPipe, CopyMethod::Sendfile],
        _ if from_file => &[CopyMethod::Sendfile],
        _ => &[CopyMethod::SpliceThroughPipe],
    }
}

fn is_stream(socket: BorrowedFd<'_>) -> bool {
    socket_type(socket) == Ok(SocketType::STREAM)
}

/// The device 1:3 (admin-guide/devices.txt).
fn is_null(to: &Stat) -> bool {
    (rustix::fs::major(to.st_rdev), rustix::fs::minor(to.st_rdev)) == (1, 3)
}

/// Copying a file onto its own end never ends, whether it is appended to or written behind the read
/// position. The rule is that of GNU cat since 9.5.
pub(super) fn refuse_endless(
    input: BorrowedFd<'_>,
    from: &Stat,
    output: &Output<'_>,
) -> Result<()> {
    let is_same = (from.st_dev, from.st_ino) == (output.stat.st_dev, output.stat.st_ino);
    if !is_same || FileType::from_raw_mode(from.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    let reads_at = tell(input).map_err(Error::io)?;
    // Earlier copies may have changed the size.
    let writes_at =
        if output.appends { fstat(output.fd).map(|to| to.st_size as u64) } else { tell(output.fd) };
    if reads_at < writes_at.map_err(|errno| Error::io(errno).of_output())? {
        return Err(Error::new(ErrorKind::SameFile, "input file is output file"));
    }
    Ok(())
}

// The two ends of a copy: what is known about each is looked up once.

/// The input of a copy.
pub(crate) struct Input<'fd> {
    pub(crate) fd: BorrowedFd<'fd>,
    pub(crate) stat: Stat,
    pub(crate) kind: SourceKind,
    /// Bytes left of a regular file.
    pub(crate) size_bytes: Option<u64>,
}

impl<'fd> Input<'fd> {
    pub(crate) fn new(fd: BorrowedFd<'fd>) -> Result<Input<'fd>> {
        let stat = fstat(fd).map_err(Error::io)?;
        let kind = kind(fd, &stat);
        let size =
            kind.is_file().then(|| (stat.st_size as u64).saturating_sub(tell(fd).unwrap_or(0)));
        Ok(Input { fd, stat, kind, size_bytes: size })
    }
}

/// The output of several copies. Its kind is looked up once, and one pipe and one buffer serve all
/// copies that need them; so copies of many small files need fewer system calls. The descriptor
/// must not be switched to append mode meanwhile.
///
/// ```
/// use byte_stream::{Output, Stream};
/// let file = tempfile::tempfile()?;
/// let mut output = Output::new(&file)?;
/// let mut bytes = 0;
/// for path in ["/proc/self/comm", "/proc/self/exe"] {
///     bytes += Stream::open(path)?.copy_into(&mut output)?;
/// }
/// assert_eq!(file.metadata()?.len(), bytes);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Output<'fd> {
    pub(super) fd: BorrowedFd<'fd>,
    pub(super) stat: Stat,
    pub(super) kind: SourceKind,
    /// Whether it is in append mode.
    pub(super) appends: bool,
    /// The empty pipe of an earlier copy.
    #[cfg(target_os = "linux")]
    pub(super) pipe: Option<Pipe>,
    /// The buffer of an earlier copy.
    pub(super) buffer: Option<Buffer>,
}

/// A pipe that we splice through.
#[cfg(target_os = "linux")]
pub(super) struct Pipe {
    pub(super) reader: OwnedFd,
    pub(super) writer: OwnedFd,
    pub(super) size_bytes: usize,
}

impl<'fd> Output<'fd> {
    /// Looks up the kind of the descriptor.
    ///
    /// ```
    /// let output = byte_stream::Output::new(&std::io::stdout())?;
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn new<Fd: AsFd + ?Sized>(fd: &'fd Fd) -> Result<Output<'fd>> {
        let fd = fd.as_fd();
        let failed = |errno| Error::io(errno).of_output();
        let stat = fstat(fd).map_err(failed)?;
        let flags = fcntl_getfl(fd).map_err(failed)?;
        Ok(Output {
            fd,
            stat,
            kind: kind(fd, &stat),
            appends: flags.contains(OFlags::APPEND),
            #[cfg(target_os = "linux")]
            pipe: None,
            buffer: None,
        })
    }
}

impl AsFd for Output<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The largest step if there is a progress callback or a cancel handle.
pub(super) const STEP: usize = 16 << 20;
/// The largest step otherwise: the kernel's own limit, in whole pages (`MAX_RW_COUNT`).
pub(super) const STEP_MAX: usize = 0x7fff_f000;

/// A copy under way.
pub(super) struct RunningCopy<'a> {
    pub(super) input: BorrowedFd<'a>,
    pub(super) output: BorrowedFd<'a>,
    /// An empty pipe to splice through, if there is one.
    #[cfg(target_os = "linux")]
    pub(super) pipe: &'a mut Option<Pipe>,
    /// The buffer of an earlier copy, if there is one.
    pub(super) buffer: &'a mut Option<Buffer>,
    /// Bytes that have reached the output.
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    /// Bytes still to be copied, if not all.
    pub(super) left: u64,
    pub(super) step: usize,
    pub(super) ends_at_size: bool,
    pub(super) waits: bool,
    #[cfg(target_os = "linux")]
    pub(super) from_socket: bool,
    pub(super) on_progress: Option<&'a mut OnProgress>,
    pub(super) cancel: Option<&'a Cancel>,
}

/// The outcome of an attempt that did not fail.
#[derive(Debug, PartialEq)]
pub(super) enum AttemptOutcome {
    /// The end of the input, or of the requested bytes, was reached.
    Finished,
    /// The kernel does not support the method here; all bytes taken from the input have reached the
    /// output.
    Refused,
}

impl RunningCopy<'_> {
    /// The size of the next call; 0 when all requested bytes are copied.
    pub(super) fn next_step(&mut self) -> Result<usize> {
        cancel::check(self.cancel)?;
        let step = self.left.min(self.step as u64) as usize;
        if self.waits && step > 0 {
            self.wait_input()?;
        }
        Ok(step)
    }

    pub(super) fn advanced(&mut self, n: usize) {
        self.done += n as u64;
        self.left -= n as u64;
        if let Some(on_progress) = &mut self.on_progress {
            on_progress(Progress { done_bytes: self.done, total_bytes: self.total });
        }
    }

    pub(super) fn wait_input(&self) -> Result<()> {
        cancel::wait(Some(self.input), PollFlags::IN, self.cancel, None).map(drop)
    }

    pub(super) fn wait_output(&self) -> Result<()> {
        let waited = cancel::wait(Some(self.output), PollFlags::OUT, self.cancel, None);
        waited.map(drop).map_err(Error::of_output)
    }
}

// `read` and `write` with one buffer show which side an error belongs to.

/// Copies to the end of the input, or of the requested bytes.
pub(super) fn read_and_write(job: &mut RunningCopy<'_>, method: CopyMethod) -> Result<()> {
    // One byte more than a small file, so that one read returns all of it.
    let size = job.total.map_or(BUFFER_BYTES as u64, |total| total.saturating_add(1));
    let size = size.clamp(512, BUFFER_BYTES as u64) as usize;
    let mut buffer = job.buffer.take().filter(|buffer| buffer.len() >= size);
    if method == CopyMethod::ReadWrite {
        buffer.get_or_insert_with(|| Buffer::new(size));
    }
    let copied = copy_by(job, &mut buffer);
    *job.buffer = buffer;
    copied
}

fn copy_by(job: &mut RunningCopy<'_>, buffer: &mut Option<Buffer>) -> Result<()> {
    // After another method, usually only the end of the input is left to be read, which needs no
    // large buffer.
    let mut first = [0; 512];
    loop {
        let memory: &mut [u8] = match buffer {
            Some(buffer) => buffer,
            None => &mut first,
        };
        let step = job.next_step()?.min(memory.len());
        if step == 0 {
            return Ok(());
        }
        match rustix::io::read(job.input, &mut memory[..step]) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                write(job, &memory[..n])?;
                // The read was short and all expected bytes have arrived, so another read would
                // only return the end.
                if n < step && job.ends_at_size && Some(job.done) == job.total {
                    return Ok(());
                }
            }
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => {
                job.wait_input()?;
                continue;
            }
            Err(errno) => return Err(Error::io(errno)),
        }
        buffer.get_or_insert_with(|| Buffer::new(BUFFER_BYTES));
    }
}

/// Writes all bytes. If that fails, an input that can seek is set back to the first byte that was
/// not written.
fn write(job: &mut RunningCopy<'_>, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let error = match rustix::io::write(job.output, bytes) {
            Ok(n) if n > 0 => {
                job.advanced(n);
                bytes = &bytes[n..];
                continue;
            }
            Ok(_) => Error::io(Errno::IO).of_output(),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => match job.wait_output() {
                Ok(()) => continue,
                Err(error) => error,
            },
            Err(errno) => Error::io(errno).of_output(),
        };
        step_back(job.input, bytes.len());
        return Err(error);
    }
    Ok(())
}

/// Writes the `held` bytes of our pipe.
#[cfg(target_os = "linux")]
pub(super) fn drain(
    job: &mut RunningCopy<'_>,
    pipe: BorrowedFd<'_>,
    mut held: usize,
) -> Result<()> {
    let mut buffer = Buffer::new(BUFFER_BYTES.min(held));
    while held > 0 {
        let len = held.min(buffer.len());
        match rustix::io::read(pipe, &mut buffer[..len]) {
            Ok(n) if n > 0 => {
                held -= n;
                write(job, &buffer[..n]).inspect_err(|_| step_back(job.input, held))?;
            }
            Err(Errno::INTR) => {}
            Ok(_) => return Err(Error::io(Errno::IO)),
            Err(errno) => return Err(Error::io(errno)),
        }
    }
    Ok(())
}

/// Sets an input that can seek back by `bytes`.
pub(super) fn step_back(input: BorrowedFd<'_>, bytes: usize) {
    let _ = seek(input, SeekFrom::Current(-(bytes as i64)));
}
