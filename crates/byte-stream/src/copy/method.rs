//! The system calls that can copy.

/// How bytes are copied.
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
