//! Chooses the way in which a file is loaded, from facts that `facts` finds.

use std::fmt;
use std::fs::File;
use std::time::Duration;

use super::{LoadOptions, PartLayout, facts};
use crate::choice::SourceKind;
use crate::{Error, ErrorKind, Result};

/// A smaller file is read before the facts would be known.
pub(super) const SMALL_BYTES: u64 = 1 << 20;
/// From here on the probes of the medium cost little beside the reading.
const PROBE_FROM_BYTES: u64 = 8 << 20;
/// A thread that reads less than this costs more than it saves.
const THREAD_BYTES: u64 = 2 << 20;
/// More threads only wait for the same memory.
const MOST_COPYING: usize = 8;
/// If nearly all bytes are cached, a mapping does not wait for the medium.
const MAPPED_SHARE: f64 = 0.9;
/// From here on a thread in front of a mapping costs little, and saves a twentieth.
const READ_AHEAD_FROM_BYTES: u64 = 32 << 20;
/// The most requests that are kept in flight for a medium that answers late.
const MOST_WAITING: u64 = 16;

/// A way to load a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadWay {
    /// Chooses one of the others. No [`LoadChoice`] has it.
    #[default]
    Auto,
    /// One thread reads all, by as few calls as there can be.
    Read,
    /// Several threads read steps of 1 MiB by `pread`, through the page cache.
    Pread,
    /// The file is mapped. If this way is requested, and the bytes fit into the memory that is
    /// left, they are read at once. Otherwise those that are not cached are read when they are used
    /// (Linux: about 2 MiB at a time). If this way is chosen for 32 MiB or more that fit, a thread
    /// also reads them in the background, from the first to the last, or four if the medium is
    /// slow; they end with the last byte, or when the [`Loaded`](super::Loaded) is dropped.
    /// Needs [`LoadOptions::allow_map`], and one range.
    Map,
    /// Several threads read steps of 1 MiB past the page cache, by `O_DIRECT` (Linux). Where the
    /// file system refuses that, it is [`LoadWay::Pread`].
    Direct,
}

impl fmt::Display for LoadWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LoadWay::Auto => "auto",
            LoadWay::Read => "read",
            LoadWay::Pread => "pread",
            LoadWay::Map => "map",
            LoadWay::Direct => "direct",
        })
    }
}

/// Why a way was chosen. The first that is true decides, in this order. Where a mapping is allowed,
/// [`LoadWay::Map`] is chosen for all of them but the first three, because it does not copy. The
/// memory that is left is then looked up only for 32 MiB and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadReason {
    /// The size is not known before the end: [`LoadWay::Read`].
    UnknownSize,
    /// [`LoadOptions::way`] says so.
    Requested,
    /// There is less than 1 MiB to load: [`LoadWay::Read`].
    Small,
    /// The bytes do not fit into the memory that is left, which is an error without a mapping.
    LargerThanMemory,
    /// At least half of the bytes are in the page cache, or nine tenths where a mapping is allowed:
    /// [`LoadWay::Pread`].
    Cached,
    /// The bytes fit into the memory that is left, but not together with a copy in the page cache:
    /// [`LoadWay::Direct`].
    NoRoomForCache,
    /// Less than half is cached, and memory is left for both: [`LoadWay::Pread`], by as many
    /// threads as the medium needs.
    NotCached,
    /// It cannot be found out what is cached: [`LoadWay::Pread`].
    CacheUnknown,
    /// `O_DIRECT` was chosen or requested, and the file system refuses it: [`LoadWay::Pread`].
    DirectRefused,
}

/// How long a medium takes to answer, measured by a few reads of bytes that are not cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediumTimes {
    /// The median of the time of a few reads of 4 KiB at places that lie apart.
    pub read_4k: Duration,
    /// The time of one read of 1 MiB.
    pub read_1m: Duration,
}

impl MediumTimes {
    /// The number of requests of 1 MiB that keep the medium busy, while each of them also waits for
    /// the first byte (Little's law).
    fn requests(self) -> usize {
        let (whole, wait) = (self.read_1m.as_nanos() as u64, self.read_4k.as_nanos() as u64);
        let transfer = whole.saturating_sub(wait).max(whole / MOST_WAITING).max(1);
        whole.div_ceil(transfer).clamp(1, MOST_WAITING) as usize
    }
}

/// The way in which a file was loaded, and the facts behind it. Facts that were not needed are
/// `None`.
///
/// ```
/// use byte_stream::{LoadOptions, LoadReason, LoadWay};
/// let options = LoadOptions::new().parts([0..100]);
/// let choice = byte_stream::load("/proc/self/exe", &options)?.choice();
/// assert_eq!((choice.way, choice.why), (LoadWay::Read, LoadReason::Small));
/// assert_eq!(choice.to_string(), "read: 100 bytes are few");
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoadChoice {
    /// The way; never [`LoadWay::Auto`].
    pub way: LoadWay,
    /// Why it was chosen.
    pub why: LoadReason,
    /// The number of threads that read at once.
    pub threads: usize,
    /// The number of bytes of all parts.
    pub size_bytes: u64,
    /// The memory that could be used before: of the machine and of the control groups.
    pub memory_left_bytes: Option<u64>,
    /// The share of the bytes that was in the page cache before, 0 to 1.
    pub cached_share: Option<f64>,
    /// How long the medium took to answer.
    pub medium: Option<MediumTimes>,
}

impl LoadChoice {
    pub(super) fn new(way: LoadWay, why: LoadReason, size_bytes: u64) -> LoadChoice {
        LoadChoice {
            way,
            why,
            threads: 1,
            size_bytes,
            memory_left_bytes: None,
            cached_share: None,
            medium: None,
        }
    }

    /// Whether the bytes fit so many times into the memory that is left, of which a sixteenth stays
    /// free.
    pub(super) fn fits(&self, times: u64) -> bool {
        let usable = self.memory_left_bytes.map_or(u64::MAX, |left| left - left / 16);
        self.size_bytes.saturating_mul(times) <= usable
    }

    /// Whether a thread reads the pages of a mapping before they are used.
    pub(super) fn is_read_in_background(&self) -> bool {
        let may_wait = matches!(self.why, LoadReason::NotCached | LoadReason::CacheUnknown);
        self.way == LoadWay::Map && may_wait && self.size_bytes >= READ_AHEAD_FROM_BYTES
    }

    /// Whether so much is cached that a mapping does not wait.
    fn is_mostly_cached(&self) -> bool {
        self.cached_share.is_some_and(|share| share >= MAPPED_SHARE)
    }

    /// The way and the reason that follow from the facts.
    fn by_facts(&self, may_map: bool) -> Result<(LoadWay, LoadReason)> {
        match (self.memory_left_bytes, self.cached_share) {
            _ if may_map && self.is_mostly_cached() => Ok((LoadWay::Map, LoadReason::Cached)),
            _ if may_map && !self.fits(1) => Ok((LoadWay::Map, LoadReason::LargerThanMemory)),
            (_, None) if may_map => Ok((LoadWay::Map, LoadReason::CacheUnknown)),
            _ if may_map => Ok((LoadWay::Map, LoadReason::NotCached)),
            (Some(left), _) if !self.fits(1) => Err(larger_than_memory(self.size_bytes, left)),
            (_, Some(share)) if share >= 0.5 => Ok((LoadWay::Pread, LoadReason::Cached)),
            _ if !self.fits(2) => Ok((LoadWay::Direct, LoadReason::NoRoomForCache)),
            (_, None) => Ok((LoadWay::Pread, LoadReason::CacheUnknown)),
            _ => Ok((LoadWay::Pread, LoadReason::NotCached)),
        }
    }

    /// As many threads as there are CPUs, because they also copy and take new pages, or as many as
    /// the medium needs.
    fn threads(&self, n: Option<usize>) -> usize {
        if !matches!(self.way, LoadWay::Pread | LoadWay::Direct) {
            return 1;
        }
        let chosen = || {
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            let requests = self.medium.map_or(1, MediumTimes::requests);
            let useful = (self.size_bytes / THREAD_BYTES).max(1);
            cpus.min(MOST_COPYING).max(requests).min(useful as usize)
        };
        n.unwrap_or_else(chosen)
    }
}

/// Finds the facts that are needed, and chooses.
pub(super) fn decide(
    file: &File,
    kind: SourceKind,
    layout: &PartLayout,
    options: &LoadOptions,
) -> Result<LoadChoice> {
    let size = layout.total_bytes() as u64;
    let invalid = |text: &'static str| Err(Error::new(ErrorKind::InvalidUse, text));
    let mut choice = LoadChoice::new(LoadWay::Read, LoadReason::Small, size);
    match options.way {
        LoadWay::Auto if size < SMALL_BYTES => return Ok(choice),
        LoadWay::Auto => {
            let may_map = options.may_map && layout.one_range().is_some();
            choice.cached_share = facts::cached_share(file, kind, layout);
            // A small mapping needs no memory that cannot be taken back.
            let needs_memory = !choice.is_mostly_cached() && size >= READ_AHEAD_FROM_BYTES;
            if !may_map || needs_memory {
                choice.memory_left_bytes = facts::memory_left_bytes();
            }
            (choice.way, choice.why) = choice.by_facts(may_map)?;
            let waits = matches!(choice.why, LoadReason::NotCached | LoadReason::NoRoomForCache);
            if waits && choice.way != LoadWay::Map && size >= PROBE_FROM_BYTES {
                choice.medium = facts::medium_times(file, layout);
            }
        }
        LoadWay::Map if !options.may_map => {
            return invalid("a mapping needs LoadOptions::allow_map");
        }
        LoadWay::Map if size > 0 && layout.one_range().is_none() => {
            return invalid("a mapping needs parts that follow one another, or no parts");
        }
        way => {
            (choice.way, choice.why) = (way, LoadReason::Requested);
            if way == LoadWay::Map {
                choice.memory_left_bytes = facts::memory_left_bytes();
            }
        }
    }
    choice.threads = choice.threads(options.threads);
    Ok(choice)
}

pub(super) fn larger_than_memory(size: u64, left: u64) -> Error {
    let (size, left) = (ReadableSize(size), ReadableSize(left));
    let text = format!(
        "{size} do not fit into the {left} of memory that are left; load parts, allow a mapping, \
         or name a way"
    );
    Error::new(ErrorKind::TooLarge, text)
}

impl fmt::Display for LoadChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.way)?;
        if self.threads > 1 {
            write!(f, " by {} threads", self.threads)?;
        }
        let size = ReadableSize(self.size_bytes);
        let left = ReadableSize(self.memory_left_bytes.unwrap_or(u64::MAX));
        let cached = 100.0 * self.cached_share.unwrap_or(0.0);
        match self.why {
            LoadReason::UnknownSize => write!(f, ": the size is not known before the end"),
            LoadReason::Requested => write!(f, ": it was requested"),
            LoadReason::Small => write!(f, ": {size} are few"),
            LoadReason::LargerThanMemory => {
                write!(f, ": {size} do not fit into the {left} of memory that are left")
            }
            LoadReason::NoRoomForCache => {
                write!(f, ": {size} fit only once into the {left} of memory that are left")
            }
            LoadReason::Cached | LoadReason::NotCached => {
                write!(f, ": {cached:.0} % of {size} are cached")
            }
            LoadReason::CacheUnknown => write!(f, ": what is cached cannot be found out"),
            LoadReason::DirectRefused => write!(f, ": the file system refuses O_DIRECT"),
        }?;
        match self.medium {
            Some(MediumTimes { read_4k, read_1m }) => {
                write!(f, ", the medium takes {read_4k:.1?} for 4 KiB and {read_1m:.1?} for 1 MiB")
            }
            None => Ok(()),
        }
    }
}

/// A number of bytes as people read it.
struct ReadableSize(u64);

impl fmt::Display for ReadableSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        match self.0 {
            0..0x400 => write!(f, "{} bytes", self.0),
            0x400..0x10_0000 => write!(f, "{:.1} KiB", n / f64::from(1 << 10)),
            0x10_0000..0x4000_0000 => write!(f, "{:.1} MiB", n / f64::from(1 << 20)),
            _ => write!(f, "{:.1} GiB", n / f64::from(1 << 30)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn check(left: Option<u64>, cached: Option<f64>, may_map: bool, expected: &str) {
        let mut choice = LoadChoice {
            memory_left_bytes: left.map(|mib| mib * MIB),
            cached_share: cached,
            ..LoadChoice::new(LoadWay::Read, LoadReason::Small, 512 * MIB)
        };
        let text = match choice.by_facts(may_map) {
            Ok((way, why)) => {
                (choice.way, choice.why) = (way, why);
                choice.to_string()
            }
            Err(error) => format!("{:?}: {error}", error.kind()),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn the_way_follows_from_the_facts() {
        check(Some(4096), Some(0.97), true, "map: 97 % of 512.0 MiB are cached");
        check(None, Some(0.97), true, "map: 97 % of 512.0 MiB are cached");
        check(Some(4096), Some(0.6), true, "map: 60 % of 512.0 MiB are cached");
        check(Some(4096), Some(0.6), false, "pread: 60 % of 512.0 MiB are cached");
        check(Some(4096), Some(0.97), false, "pread: 97 % of 512.0 MiB are cached");
        check(Some(600), Some(0.97), false, "pread: 97 % of 512.0 MiB are cached");
        check(Some(4096), Some(0.2), true, "map: 20 % of 512.0 MiB are cached");
        check(None, Some(0.2), false, "pread: 20 % of 512.0 MiB are cached");
        let text = "direct: 512.0 MiB fit only once into the 1.0 GiB of memory that are left";
        check(Some(1024), Some(0.2), false, text);
        check(Some(1024), None, false, text);
        check(Some(4096), None, false, "pread: what is cached cannot be found out");
        check(Some(1024), None, true, "map: what is cached cannot be found out");
        let text = "map: 512.0 MiB do not fit into the 512.0 MiB of memory that are left";
        check(Some(512), Some(0.5), true, text);
        let text = "TooLarge: 512.0 MiB do not fit into the 256.0 MiB of memory that are left; load \
                    parts, allow a mapping, or name a way";
        check(Some(256), Some(0.0), false, text);
    }

    #[test]
    fn a_late_medium_gets_more_requests_at_once() {
        let requests = |read_4k, read_1m| {
            let times = [read_4k, read_1m].map(Duration::from_micros);
            MediumTimes { read_4k: times[0], read_1m: times[1] }.requests()
        };
        assert_eq!(requests(0, 0), 1);
        assert_eq!(requests(56, 1056), 2);
        // 20 ms and 200 MB/s.
        assert_eq!(requests(20_000, 25_243), 5);
        assert_eq!(requests(20_000, 20_000), 16);
        assert_eq!(requests(30_000, 20_000), 16);
    }

    #[test]
    fn small_loads_have_one_thread_and_a_request_is_kept() {
        let mut choice = LoadChoice::new(LoadWay::Pread, LoadReason::Cached, 3 * MIB);
        assert_eq!((choice.threads(None), choice.threads(Some(7))), (1, 7));
        choice.size_bytes = 64 * MIB;
        let second = Duration::from_secs(1);
        choice.medium = Some(MediumTimes { read_4k: second, read_1m: second });
        assert_eq!(choice.threads(None), 16);
        choice.way = LoadWay::Read;
        assert_eq!(choice.threads(Some(7)), 1);
    }
}
