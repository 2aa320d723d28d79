//! How a local descriptor is read: chosen from what it is, its size and whether it is cached. Reads no data.

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, Stat, fstat, fstatfs};

use crate::{Error, Result};

/// The best buffer for one sequential reader: large enough that the calls do not count, small enough to
/// stay in the second cache (measured: 64 to 256 KiB; 4 KiB takes 1.6 × the time, 4 MiB 1.25 ×).
pub(crate) const BUFFER_BYTES: usize = 128 << 10;
/// The size of a huge page: the kernel can map such a window with one entry.
pub(crate) const WINDOW_BYTES: usize = 2 << 20;
/// A mapping of less costs more to make than it saves.
const MAP_FROM_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;

/// The way in which bytes reach the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// `read` into one buffer that is used again.
    Read {
        /// Its size.
        buffer_bytes: usize,
    },
    /// A mapped window that moves over the file; nothing is copied. Needs
    /// [`Options::allow_map`](crate::Options::allow_map).
    Map {
        /// Its size.
        window_bytes: usize,
    },
    /// Received from a server into one buffer that is used again.
    Receive {
        /// Its size.
        buffer_bytes: usize,
    },
    /// Received from a server in parts, by several connections at once.
    Ranges {
        /// Size of a part.
        part_bytes: usize,
        /// How many.
        connections: usize,
    },
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A file on a device or in a network.
    Regular,
    /// A file of tmpfs or ramfs: always in memory.
    InMemory,
    /// A file that the kernel makes up, such as those of `/proc`: its size is not known.
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

/// Whether a file's bytes are in the page cache; looked at in three places, the first, the middle and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cached {
    /// In all three.
    Yes,
    /// Not in all three.
    No,
    /// There is no page cache here, or the kernel does not tell.
    Unknown,
}

/// How a stream is read and why; [`Stream::choice`](crate::Stream::choice) tells it.
///
/// ```
/// use byte_stream::{Kind, Strategy, Stream};
/// let stream = Stream::open("/proc/self/status")?;
/// assert_eq!(stream.choice().kind, Kind::Virtual);
/// assert!(matches!(stream.choice().strategy, Strategy::Read { .. }));
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The way.
    pub strategy: Strategy,
    /// What it is.
    pub kind: Kind,
    /// From where the stream began to the end; `None` if that is not known beforehand.
    pub size_bytes: Option<u64>,
    /// Whether it is in memory already.
    pub cached: Cached,
}

/// What the caller wants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preferences {
    pub(crate) buffer_bytes: Option<usize>,
    pub(crate) window_bytes: Option<usize>,
    pub(crate) may_map: bool,
}

/// Chooses for a descriptor that stands at `position`.
pub(crate) fn choose(
    fd: BorrowedFd<'_>,
    position: u64,
    preferences: Preferences,
) -> Result<Choice> {
    let stat = fstat(fd).map_err(Error::io)?;
    let kind = kind(fd, &stat);
    let is_file = matches!(kind, Kind::Regular | Kind::InMemory);
    let size_bytes = is_file.then(|| (stat.st_size as u64).saturating_sub(position));
    let cached = match (kind, size_bytes) {
        (Kind::InMemory, _) => Cached::Yes,
        (Kind::Regular, Some(size)) if size > 0 => cached(fd, position, size),
        _ => Cached::Unknown,
    };
    // Cold, what counts is read-ahead, which a mapping asks for page by page.
    let good_to_map = cached == Cached::Yes && size_bytes >= Some(MAP_FROM_BYTES);
    let must_map = preferences.window_bytes.is_some() && size_bytes.is_some_and(|size| size > 0);
    let maps =
        preferences.may_map && (must_map || preferences.buffer_bytes.is_none() && good_to_map);
    let strategy = if maps {
        Strategy::Map { window_bytes: preferences.window_bytes.unwrap_or(WINDOW_BYTES) }
    } else {
        let enough = size_bytes.map_or(BUFFER_BYTES, buffer_for);
        Strategy::Read { buffer_bytes: preferences.buffer_bytes.unwrap_or(enough) }
    };
    Ok(Choice { strategy, kind, size_bytes, cached })
}

/// One byte more than the file, so that one call finds all of it, in whole pages.
fn buffer_for(size: u64) -> usize {
    (size.saturating_add(1).next_multiple_of(PAGE_BYTES)).min(BUFFER_BYTES as u64) as usize
}

pub(crate) fn kind(fd: BorrowedFd<'_>, stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::Character,
        FileType::BlockDevice => Kind::Block,
        FileType::RegularFile => match fstatfs(fd).map(|fs| fs.f_type as u64) {
            // linux/magic.h: TMPFS_MAGIC, RAMFS_MAGIC.
            Ok(0x0102_1994 | 0x8584_58f6) => Kind::InMemory,
            // PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, CGROUP2_SUPER_MAGIC,
            // CGROUP_SUPER_MAGIC: the size that they show is not that of what can be read.
            Ok(0x9fa0 | 0x6265_6572 | 0x6462_6720 | 0x7472_6163 | 0x6367_7270 | 0x27_e0eb) => {
                Kind::Virtual
            }
            _ => Kind::Regular,
        },
        // A directory or what we do not know: the first read will tell.
        _ => Kind::Virtual,
    }
}

/// Asks for a byte without waiting for the device: the kernel refuses if it is not in memory. The refused
/// look starts the reading of that page, which is wanted anyway.
#[cfg(target_os = "linux")]
fn cached(fd: BorrowedFd<'_>, position: u64, size: u64) -> Cached {
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
fn cached(_fd: BorrowedFd<'_>, _position: u64, _size: u64) -> Cached {
    Cached::Unknown
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    fn check(size: u64, preferences: Preferences, expected: Strategy) {
        let file = tempfile::tempfile().unwrap();
        std::io::copy(&mut std::io::Read::take(std::io::repeat(7), size), &mut &file).unwrap();
        let choice = choose(file.as_fd(), 0, preferences).unwrap();
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
        check(3 << 20, map, Strategy::Map { window_bytes: WINDOW_BYTES });
        check(3000, map, read(4096));
        let window = Preferences { window_bytes: Some(4096), ..map };
        check(3000, window, Strategy::Map { window_bytes: 4096 });
        check(0, window, read(4096));
    }

    #[test]
    fn what_a_descriptor_is_is_seen() {
        let kind_of = |path: &str| {
            let file = File::open(path).unwrap();
            choose(file.as_fd(), 0, Preferences::default()).unwrap().kind
        };
        assert_eq!(kind_of("/proc/self/status"), Kind::Virtual);
        assert_eq!(kind_of("/dev/null"), Kind::Character);
        assert_eq!(kind_of("/proc/self/exe"), Kind::Regular);
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(choose(reader.as_fd(), 0, Preferences::default()).unwrap().kind, Kind::Pipe);
    }
}
