//! Chooses how a local descriptor is read, from its kind, its size and whether it is cached. Reads
//! no data.

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, Stat, fstatfs};

use crate::options::BUFFER_LIMIT_BYTES;

/// The best buffer for one sequential reader: large enough to make the cost of the calls
/// negligible, small enough to stay in the L2 cache (measured: 64 to 256 KiB; 4 KiB takes 1.6 × the
/// time, 4 MiB 1.25 ×).
pub(crate) const BUFFER_BYTES: usize = 128 << 10;
/// The size of a huge page: the kernel can map such a window with one entry.
pub(crate) const WINDOW_BYTES: usize = 2 << 20;
/// Mapping a smaller file costs more than it saves.
const MAP_FROM_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;

/// The way in which bytes reach the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// `read` into one buffer that is used again.
    Read {
        /// Size of the buffer.
        buffer_bytes: usize,
    },
    /// A mapped window that moves over the file; nothing is copied. Needs
    /// [`Options::allow_map`](crate::Options::allow_map).
    Map {
        /// Size of the window.
        window_bytes: usize,
    },
    /// Received from a server into one buffer that is used again.
    Receive {
        /// Size of the buffer at first.
        buffer_bytes: usize,
    },
    /// Received from a server in parts, by several connections at once.
    Ranges {
        /// Size of a part.
        part_bytes: usize,
        /// Number of connections.
        connections: usize,
    },
}

/// The kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceKind {
    /// A file on a device or in a network.
    Regular,
    /// A file on tmpfs or ramfs, which is always in memory.
    InMemory,
    /// A file that the kernel generates, such as those of `/proc`: its size is not known.
    Virtual,
    /// A pipe or a FIFO.
    Pipe,
    /// A socket.
    Socket,
    /// A terminal or another character device.
    Character,
    /// A disk.
    Block,
    /// An HTTP resource.
    Http,
}

impl SourceKind {
    /// Whether it is a file with a known size.
    pub(crate) fn is_file(self) -> bool {
        matches!(self, SourceKind::Regular | SourceKind::InMemory)
    }
}

/// Whether a file's bytes are in the page cache. The first, the middle and the last byte are
/// probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cached {
    /// All three probed bytes are cached.
    Yes,
    /// At least one of the three probed bytes is not cached.
    No,
    /// The input is not in the page cache, the kernel cannot report it, or the file is so small
    /// that it makes no difference.
    Unknown,
}

/// How a stream is read, and the facts the choice was based on; see
/// [`Stream::choice`](crate::Stream::choice).
///
/// ```
/// use byte_stream::{SourceKind, Strategy, Stream};
/// let stream = Stream::open("/proc/self/status")?;
/// assert_eq!(stream.choice().kind, SourceKind::Virtual);
/// assert!(matches!(stream.choice().strategy, Strategy::Read { .. }));
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The strategy.
    pub strategy: Strategy,
    /// The kind of input.
    pub kind: SourceKind,
    /// From the start of the stream to the end; `None` if it is not known in advance.
    pub size_bytes: Option<u64>,
    /// Whether the input is in the page cache.
    pub cached: Cached,
}

/// The caller's options that affect the choice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preferences {
    pub(crate) buffer_bytes: Option<usize>,
    pub(crate) window_bytes: Option<usize>,
    pub(crate) may_map: bool,
}

/// Chooses the strategy for a descriptor whose position is `position`.
pub(crate) fn choose(
    fd: BorrowedFd<'_>,
    stat: &Stat,
    position: u64,
    preferences: Preferences,
) -> Choice {
    let kind = kind(fd, stat);
    let size_bytes = kind.is_file().then(|| (stat.st_size as u64).saturating_sub(position));
    let cached = match (kind, size_bytes) {
        (SourceKind::InMemory, _) => Cached::Yes,
        (SourceKind::Regular, Some(size)) if size > BUFFER_BYTES as u64 => {
            cached(fd, position, size)
        }
        _ => Cached::Unknown,
    };
    // Uncached input depends on read-ahead, which a mapping triggers page by page.
    let good_to_map = cached == Cached::Yes && size_bytes >= Some(MAP_FROM_BYTES);
    let must_map = preferences.window_bytes.is_some() && size_bytes.is_some_and(|size| size > 0);
    let maps =
        preferences.may_map && (must_map || preferences.buffer_bytes.is_none() && good_to_map);
    let strategy = if maps {
        Strategy::Map { window_bytes: preferences.window_bytes.unwrap_or(WINDOW_BYTES) }
    } else {
        let enough = size_bytes.map_or(BUFFER_BYTES, |size| buffer_for(size).min(BUFFER_BYTES));
        Strategy::Read { buffer_bytes: preferences.buffer_bytes.unwrap_or(enough) }
    };
    Choice { strategy, kind, size_bytes, cached }
}

/// One byte more than the file, so that one call reads all of it, rounded up to whole pages; not
/// more than any buffer has.
pub(crate) fn buffer_for(size: u64) -> usize {
    (size.saturating_add(1).next_multiple_of(PAGE_BYTES)).min(BUFFER_LIMIT_BYTES as u64) as usize
}

pub(crate) fn kind(fd: BorrowedFd<'_>, stat: &Stat) -> SourceKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => SourceKind::Pipe,
        FileType::Socket => SourceKind::Socket,
        FileType::CharacterDevice => SourceKind::Character,
        FileType::BlockDevice => SourceKind::Block,
        FileType::RegularFile if is_on_disk(stat) => SourceKind::Regular,
        FileType::RegularFile => match fstatfs(fd).map(|fs| fs.f_type as u64) {
            // linux/magic.h: TMPFS_MAGIC, RAMFS_MAGIC.
            Ok(0x0102_1994 | 0x8584_58f6) => SourceKind::InMemory,
            // PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, CGROUP2_SUPER_MAGIC,
            // CGROUP_SUPER_MAGIC: the size that they report is not that of the content.
            Ok(0x9fa0 | 0x6265_6572 | 0x6462_6720 | 0x7472_6163 | 0x6367_7270 | 0x27_e0eb) => {
                SourceKind::Virtual
            }
            _ => SourceKind::Regular,
        },
        // A directory or an unknown type: the first read reports the error.
        _ => SourceKind::Virtual,
    }
}

/// Whether it is a regular file of a file system on a block device. Such a file ends where its size
/// says, unless it changes meanwhile. File systems in memory, in a network or made by a program,
/// overlays and btrfs have device numbers without a major part (`get_anon_bdev` in Linux).
pub(crate) fn is_on_disk(stat: &Stat) -> bool {
    cfg!(target_os = "linux")
        && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && rustix::fs::major(stat.st_dev as _) != 0
}

/// Reads a byte without waiting for the device; the kernel returns `EAGAIN` if it is not cached. A
/// refused read starts reading that page, which is needed anyway.
#[cfg(target_os = "linux")]
pub(crate) fn cached(fd: BorrowedFd<'_>, position: u64, size: u64) -> Cached {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    for offset in [position, position + size / 2, position + size - 1] {
        let mut byte = [0];
        let mut bytes = [std::io::IoSliceMut::new(&mut byte)];
        match preadv2(fd, &mut bytes, offset, ReadWriteFlags::NOWAIT) {
            Ok(1) => {}
            Err(Errno::AGAIN) => return Cached::No,
            _ => return Cached::Unknown,
        }
    }
    Cached::Yes
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn cached(_fd: BorrowedFd<'_>, _position: u64, _size: u64) -> Cached {
    Cached::Unknown
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    fn choose(fd: impl AsFd, preferences: Preferences) -> Choice {
        let stat = rustix::fs::fstat(&fd).unwrap();
        super::choose(fd.as_fd(), &stat, 0, preferences)
    }

    fn file(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        std::io::copy(&mut std::io::Read::take(std::io::repeat(7), size), &mut &file).unwrap();
        file
    }

    fn check(size: u64, preferences: Preferences, expected: Strategy) {
        let choice = choose(file(size), preferences);
        assert_eq!((choice.strategy, choice.size_bytes), (expected, Some(size)), "{size}");
    }

    #[test]
    fn the_size_and_the_wish_choose_the_strategy() {
        let read = |buffer_bytes| Strategy::Read { buffer_bytes };
        let none = Preferences::default();
        check(0, none, read(4096));
        check(4096, none, read(8192));
        check(3 << 20, none, read(BUFFER_BYTES));
        check(3 << 20, Preferences { buffer_bytes: Some(7), ..none }, read(7));
        let map = Preferences { may_map: true, ..none };
        // An emulator of another processor may not report what is cached.
        if choose(file(3 << 20), map).cached == Cached::Yes {
            check(3 << 20, map, Strategy::Map { window_bytes: WINDOW_BYTES });
        } else {
            check(3 << 20, map, read(BUFFER_BYTES));
        }
        check(3000, map, read(4096));
        let window = Preferences { window_bytes: Some(4096), ..map };
        check(3000, window, Strategy::Map { window_bytes: 4096 });
        check(0, window, read(4096));
    }

    #[test]
    fn the_kind_of_a_descriptor_is_found() {
        let kind_of = |path: &str| choose(File::open(path).unwrap(), Preferences::default()).kind;
        assert_eq!(kind_of("/proc/self/status"), SourceKind::Virtual);
        assert_eq!(kind_of("/dev/null"), SourceKind::Character);
        assert_eq!(kind_of("/proc/self/exe"), SourceKind::Regular);
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(choose(reader, Preferences::default()).kind, SourceKind::Pipe);
    }
}
