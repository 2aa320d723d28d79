//! Loads a file, or parts of it, into memory, in the way that fits what is found: the memory that
//! is left, what is cached, and how fast the medium answers.

mod choose;
mod facts;
mod transfer;

use std::fmt;
use std::fs::File;
use std::ops::{Deref, Range};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Mutex;

use memmap2::MmapMut;
use rustix::fs::fstat;

pub use self::choose::{LoadChoice, LoadReason, LoadWay, MediumTimes};
use self::choose::{SMALL_BYTES, decide, larger_than_memory};
use self::transfer::{LoadedMap, Transfer, lock};
use crate::cancel;
use crate::choice::kind;
use crate::options::OnProgress;
use crate::{Cancel, Error, ErrorKind, Options, Progress, Result, Stream};

/// More threads than this are taken for a mistake.
const MOST_THREADS: usize = 256;

/// Loads a file, or the parts of it that the options name, into memory.
///
/// The way is chosen: see [`LoadReason`] for the rules, and [`Loaded::choice`] for what was chosen
/// and why. What is no regular file, and a file whose size the system does not tell, such as those
/// of `/proc`, is read to its end.
///
/// No way evicts pages that are in the page cache already, but bytes that are read through the page
/// cache may, when memory is short, replace others. After [`LoadWay::Direct`] nothing more is
/// cached than before, so that the next reader waits for the medium again.
///
/// A file that is truncated while it is loaded is an error, [`ErrorKind::Truncated`]; bytes that
/// are appended meanwhile are not loaded. The [offset](Error::offset) of an error is one in the
/// file.
///
/// ```
/// let loaded = byte_stream::load("/proc/self/exe", &byte_stream::LoadOptions::new())?;
/// assert_eq!(&loaded[1..4], b"ELF");
/// println!("{}", loaded.choice()); // "pread by 2 threads: 100 % of 30.1 MiB are cached"
/// # Ok::<(), byte_stream::Error>(())
/// ```
pub fn load(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Loaded> {
    let path = path.as_ref();
    let loaded = load_path(path, options).and_then(|loaded| {
        // It may have been cancelled while the last step was reported.
        cancel::check(options.cancel.as_ref())?;
        Ok(loaded)
    });
    loaded.map_err(|error| error.named(&path.to_string_lossy()))
}

fn load_path(path: &Path, options: &LoadOptions) -> Result<Loaded> {
    options.check()?;
    let file = File::open(path).map_err(Error::io)?;
    let stat = fstat(&file).map_err(Error::io)?;
    let (kind, size) = (kind(file.as_fd(), &stat), stat.st_size as u64);
    if !kind.is_file() || size == 0 && options.parts.is_none() {
        return load_stream(file, path, options);
    }
    let whole = 0..size;
    let parts = options.parts.as_deref().unwrap_or(std::slice::from_ref(&whole));
    let layout = PartLayout::new(parts, size)?;
    let mut choice = decide(&file, kind, &layout, options)?;
    let mut transfer = Transfer::new(&file, &layout, options, choice);
    let bytes = transfer.run()?;
    if transfer.was_refused() {
        choice.way = LoadWay::Pread;
        choice.why = LoadReason::DirectRefused;
    }
    Ok(Loaded { bytes, ends: layout.ends, choice })
}

/// Reads to the end what has no known size.
fn load_stream(file: File, path: &Path, options: &LoadOptions) -> Result<Loaded> {
    if options.parts.is_some() {
        return Err(Error::new(ErrorKind::InvalidUse, "parts can be loaded of regular files only"));
    }
    let mut stream_options = Options::new();
    stream_options.cancel.clone_from(&options.cancel);
    let mut stream = Stream::of_new_file(file, path, stream_options)?;
    let memory_left_bytes = facts::memory_left_bytes();
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next_chunk()? {
        let size = (bytes.len() + chunk.len()) as u64;
        // Little is read whatever is left, as it is of files.
        if let Some(left) = memory_left_bytes.filter(|left| size > SMALL_BYTES.max(*left)) {
            return Err(larger_than_memory(size, left).at(bytes.len() as u64));
        }
        bytes.try_reserve(chunk.len()).map_err(out_of_memory)?;
        bytes.extend_from_slice(chunk);
        options.report(|| Progress { done_bytes: size, total_bytes: None });
    }
    let choice = LoadChoice {
        memory_left_bytes,
        ..LoadChoice::new(LoadWay::Read, LoadReason::UnknownSize, bytes.len() as u64)
    };
    Ok(Loaded { ends: vec![bytes.len()], bytes: LoadedBytes::Heap(bytes), choice })
}

fn out_of_memory(error: std::collections::TryReserveError) -> Error {
    Error::io(std::io::Error::new(std::io::ErrorKind::OutOfMemory, error))
}

/// How to load a file.
///
/// ```
/// use byte_stream::LoadOptions;
/// let options = LoadOptions::new().parts([0..4, 16..20]);
/// let loaded = byte_stream::load("/proc/self/exe", &options)?;
/// assert_eq!((loaded.len(), &loaded[..4]), (8, &b"\x7fELF"[..]));
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Default)]
#[must_use = "load with them"]
pub struct LoadOptions {
    parts: Option<Vec<Range<u64>>>,
    way: LoadWay,
    threads: Option<usize>,
    may_map: bool,
    on_progress: Option<Mutex<OnProgress>>,
    cancel: Option<Cancel>,
}

impl LoadOptions {
    /// The whole file, in the way that is chosen.
    ///
    /// ```
    /// let loaded = byte_stream::load("/dev/null", &byte_stream::LoadOptions::new())?;
    /// assert!(loaded.is_empty());
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn new() -> LoadOptions {
        LoadOptions::default()
    }

    /// Loads these ranges of bytes, one behind the other, in this order. They may overlap and be
    /// empty; one that is not inside the file is an error.
    ///
    /// ```
    /// use byte_stream::{ErrorKind, LoadOptions};
    /// let options = LoadOptions::new().parts([0..u64::MAX]);
    /// let error = byte_stream::load("/proc/self/exe", &options).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidUse);
    /// ```
    pub fn parts(mut self, parts: impl IntoIterator<Item = Range<u64>>) -> LoadOptions {
        self.parts = Some(parts.into_iter().collect());
        self
    }

    /// Loads in this way, whatever would be chosen, and however little memory is left.
    ///
    /// ```
    /// use byte_stream::{LoadOptions, LoadWay};
    /// let options = LoadOptions::new().way(LoadWay::Read);
    /// let loaded = byte_stream::load("/proc/self/exe", &options)?;
    /// assert_eq!(loaded.choice().way, LoadWay::Read);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn way(mut self, way: LoadWay) -> LoadOptions {
        self.way = way;
        self
    }

    /// Reads by so many threads, from 1 to 256, where several read at once.
    ///
    /// ```
    /// use byte_stream::{LoadOptions, LoadWay};
    /// let options = LoadOptions::new().way(LoadWay::Pread).threads(3);
    /// let loaded = byte_stream::load("/proc/self/exe", &options)?;
    /// assert_eq!(loaded.choice().threads, 3);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn threads(mut self, n: usize) -> LoadOptions {
        self.threads = Some(n);
        self
    }

    /// Allows [`LoadWay::Map`], which is then chosen for 1 MiB and more, because it does not copy:
    /// also if the bytes do not fit into the memory that is left, which is an error without this.
    ///
    /// # Safety
    ///
    /// While the [`Loaded`] lives, no process may change the file, because the bytes would change,
    /// too; and none may truncate it, because this process would be killed with `SIGBUS`. So it
    /// would be if the medium fails.
    ///
    /// ```
    /// use byte_stream::{LoadOptions, LoadWay};
    /// // SAFETY: the kernel does not let a running program be changed.
    /// let options = unsafe { LoadOptions::new().allow_map() }.way(LoadWay::Map);
    /// let loaded = byte_stream::load("/proc/self/exe", &options)?;
    /// assert_eq!(&loaded[1..4], b"ELF");
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    #[expect(unsafe_code, reason = "a promise that only the caller can give")]
    pub unsafe fn allow_map(mut self) -> LoadOptions {
        self.may_map = true;
        self
    }

    /// Calls this after each step, mostly of 1 MiB, in one thread at a time.
    ///
    /// ```
    /// let options = byte_stream::LoadOptions::new().on_progress(|progress| {
    ///     eprintln!("{} bytes", progress.done_bytes);
    /// });
    /// ```
    pub fn on_progress(mut self, call: impl FnMut(Progress) + Send + 'static) -> LoadOptions {
        self.on_progress = Some(Mutex::new(Box::new(call)));
        self
    }

    /// Makes it possible to cancel the loading from another thread, or while progress is reported.
    ///
    /// ```
    /// use byte_stream::{Cancel, ErrorKind, LoadOptions};
    /// let cancel = Cancel::new()?;
    /// cancel.cancel();
    /// let options = LoadOptions::new().cancel(&cancel);
    /// let error = byte_stream::load("/proc/self/exe", &options).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Cancelled);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(mut self, cancel: &Cancel) -> LoadOptions {
        self.cancel = Some(cancel.clone());
        self
    }

    fn check(&self) -> Result<()> {
        if self.threads.is_some_and(|n| n == 0 || n > MOST_THREADS) {
            let text = format!("the number of threads is from 1 to {MOST_THREADS}");
            return Err(Error::new(ErrorKind::InvalidUse, text));
        }
        cancel::check(self.cancel.as_ref())
    }

    /// Reports what is found out while no other thread reports, so that it never decreases.
    fn report(&self, progress: impl FnOnce() -> Progress) {
        if let Some(call) = &self.on_progress {
            let mut call = lock(call);
            (*call)(progress());
        }
    }

    /// Whether somebody wants to hear or to stop between the steps.
    fn needs_steps(&self) -> bool {
        self.on_progress.is_some() || self.cancel.is_some()
    }
}

impl fmt::Debug for LoadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadOptions")
            .field("parts", &self.parts)
            .field("way", &self.way)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// The parts of a file that are loaded, and where they are in memory: one behind the other.
pub(crate) struct PartLayout {
    parts: Vec<Range<u64>>,
    /// The end of each part in memory.
    ends: Vec<usize>,
    file_bytes: u64,
}

impl PartLayout {
    fn new(parts: &[Range<u64>], file_bytes: u64) -> Result<PartLayout> {
        let mut ends = Vec::with_capacity(parts.len());
        let mut total = 0usize;
        for (index, part) in parts.iter().enumerate() {
            if part.start > part.end || part.end > file_bytes {
                let Range { start, end } = part;
                let text =
                    format!("part {index}, {start}..{end}, is not inside the {file_bytes} bytes");
                return Err(Error::new(ErrorKind::InvalidUse, text).at(*start));
            }
            let len = usize::try_from(part.end - part.start).ok();
            let end = len.and_then(|len| total.checked_add(len));
            total = end.filter(|end| isize::try_from(*end).is_ok()).ok_or_else(|| {
                let text = "the parts have more bytes than the address space";
                Error::new(ErrorKind::TooLarge, text).at(part.start)
            })?;
            ends.push(total);
        }
        Ok(PartLayout { parts: parts.to_vec(), ends, file_bytes })
    }

    fn total_bytes(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The part and the offset in the file of a byte in memory, which must be one of the bytes.
    fn place(&self, at: usize) -> (&Range<u64>, u64) {
        let index = self.ends.partition_point(|end| *end <= at);
        let part = &self.parts[index];
        (part, part.end - (self.ends[index] - at) as u64)
    }

    /// The range of the file, if each part begins where the one before it ends.
    fn one_range(&self) -> Option<Range<u64>> {
        let (first, last) = (self.parts.first()?, self.parts.last()?);
        let follows = |pair: &[Range<u64>]| pair[0].end == pair[1].start;
        self.parts.windows(2).all(follows).then_some(first.start..last.end)
    }
}

/// The loaded bytes: all parts, one behind the other.
///
/// ```
/// use byte_stream::{LoadOptions, load};
/// let loaded = load("/proc/self/comm", &LoadOptions::new())?;
/// assert_eq!(loaded.last(), Some(&b'\n'));
/// # Ok::<(), byte_stream::Error>(())
/// ```
pub struct Loaded {
    bytes: LoadedBytes,
    ends: Vec<usize>,
    choice: LoadChoice,
}

enum LoadedBytes {
    Heap(Vec<u8>),
    /// Memory of its own, whose first `lead` bytes are not used: so that the rest lies to a page as
    /// it does in the file.
    Anonymous {
        map: MmapMut,
        lead: usize,
    },
    Mapped(LoadedMap),
}

impl Loaded {
    /// The way in which the bytes were loaded, and the facts behind it.
    ///
    /// ```
    /// use byte_stream::{LoadOptions, LoadReason};
    /// let loaded = byte_stream::load("/proc/self/comm", &LoadOptions::new())?;
    /// assert_eq!(loaded.choice().why, LoadReason::UnknownSize);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn choice(&self) -> LoadChoice {
        self.choice
    }

    /// The bytes of one part of [`LoadOptions::parts`]; a whole file is the part 0.
    ///
    /// ```
    /// let options = byte_stream::LoadOptions::new().parts([0..1, 1..4]);
    /// let loaded = byte_stream::load("/proc/self/exe", &options)?;
    /// assert_eq!((loaded.part(1), loaded.part(2)), (Some(&b"ELF"[..]), None));
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn part(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.get(start..end)
    }
}

impl Deref for Loaded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            LoadedBytes::Heap(bytes) => bytes,
            LoadedBytes::Anonymous { map, lead } => &map[*lead..],
            LoadedBytes::Mapped(map) => map.bytes(),
        }
    }
}

impl AsRef<[u8]> for Loaded {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("len", &self.len())
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_lie_one_behind_the_other() {
        let layout = PartLayout::new(&[10..14, 5..5, 0..3, 3..20], 20).unwrap();
        assert_eq!(layout.ends, [4, 4, 7, 24]);
        let offsets = [0, 3, 4, 6, 7, 23].map(|at| layout.place(at).1);
        assert_eq!(offsets, [10, 13, 0, 2, 3, 19]);
        assert_eq!(layout.one_range(), None);
        assert_eq!(PartLayout::new(&[1..4, 4..4, 4..9], 9).unwrap().one_range(), Some(1..9));
    }

    #[test]
    fn a_part_outside_the_file_is_an_error_with_its_place() {
        let check = |parts: &[Range<u64>], expected: &str| {
            let error = PartLayout::new(parts, 20).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(expected));
        };
        check(&[0..20, 19..21], "part 1, 19..21, is not inside the 20 bytes at byte 19");
        let reversed = Range { start: 4, end: 3 };
        check(&[0..1, reversed], "part 1, 4..3, is not inside the 20 bytes at byte 4");
        let all = vec![0..u64::MAX >> 1; 3];
        let error = PartLayout::new(&all, u64::MAX >> 1).err().map(|error| error.kind());
        assert_eq!(error, Some(ErrorKind::TooLarge));
    }
}
