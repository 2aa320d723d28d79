//! The memory that the methods work in: sets in pages of the requested kind, which is verified; the
//! data caches that the system reports; and the cost of the first access to a page.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use measure::cache::available_bytes;
use measure::experiment::{Build, Method, Task, Work, skip};
use memmap2::MmapMut;
use model::param::{Param, ParamKind, Point, bytes};

pub(super) const PARAM: Param = Param::new(
    "pages",
    ParamKind::Word(&["small", "huge"]),
    "small,huge",
)
.help(
    "pages of the memory: the smallest, or those for which the processor needs the fewest entries",
);

/// The minimum duration of a sample, so that the clock and the first misses have little influence.
pub(super) const WINDOW_NS: u64 = 300_000;

/// A set uses at most this part of the free memory, so that other programs are not disturbed.
const SHARE_MAX: u64 = 4;

/// A working set with its own memory.
pub(super) struct Pages {
    map: MmapMut,
    start: usize,
    len: usize,
}

impl Pages {
    /// Zeroed memory, touched by the calling thread. Skips if this machine does not provide it.
    pub(super) fn new(len: u64, kind: &str) -> Result<Pages> {
        fits(len)?;
        let huge = huge_page_bytes();
        if kind == "huge" && huge.is_none_or(|page| page > MAX_HUGE) {
            return Err(skip(
                "there are no huge pages of at most 32 MiB for anonymous memory here",
            ));
        }
        let page = huge.filter(|page| *page <= MAX_HUGE).unwrap_or(MAX_HUGE / 16);
        let whole = len.next_multiple_of(page);
        let mapped = usize::try_from(whole + page)?;
        let no_memory = |error| skip(format!("no memory for {}: {error}", bytes(len)));
        let map = MmapMut::map_anon(mapped).map_err(no_memory)?;
        let start = map.as_ptr().align_offset(page as usize);
        let mut pages = Pages { map, start, len: usize::try_from(len)? };
        pages.advise(kind, whole as usize)?;
        pages.touch();
        pages.prove(kind, whole)?;
        Ok(pages)
    }

    #[cfg(target_os = "linux")]
    fn advise(&self, kind: &str, whole: usize) -> Result<()> {
        use memmap2::Advice::{HugePage, NoHugePage};
        let advice = if kind == "huge" { HugePage } else { NoHugePage };
        match self.map.advise_range(advice, self.start, whole) {
            // A kernel without transparent huge pages has only small pages.
            Err(_) if kind == "small" => Ok(()),
            result => {
                result.map_err(|error| skip(format!("the kernel refuses huge pages: {error}")))
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn advise(&self, _kind: &str, _whole: usize) -> Result<()> {
        Ok(())
    }

    fn touch(&mut self) {
        for byte in self.bytes_mut().iter_mut().step_by(4096) {
            *byte = 0;
            std::hint::black_box(byte);
        }
    }

    /// `AnonHugePages` of the mapping shows which pages the kernel allocated.
    #[cfg(target_os = "linux")]
    fn prove(&self, kind: &str, whole: u64) -> Result<()> {
        let Ok(smaps) = std::fs::read_to_string("/proc/self/smaps") else { return Ok(()) };
        let start = self.map.as_ptr() as usize + self.start;
        let huge = huge_bytes(&smaps, start, start + self.len);
        match kind {
            "huge" if huge < whole => Err(skip(format!(
                "the kernel gave huge pages for {} of {} only: see \
                 /sys/kernel/mm/transparent_hugepage/enabled, or free some memory",
                bytes(huge),
                bytes(whole)
            ))),
            "small" if huge > 0 => {
                Err(skip(format!("the kernel put {} into huge pages unasked", bytes(huge))))
            }
            _ => Ok(()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn prove(&self, _kind: &str, _whole: u64) -> Result<()> {
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map[self.start..self.start + self.len]
    }

    /// As numbers of 4 bytes; a remainder at the end is omitted.
    #[expect(unsafe_code, reason = "bytes are seen as numbers")]
    pub(super) fn elements_mut(&mut self) -> &mut [u32] {
        // SAFETY: any four bytes are a valid u32.
        let (_, elements, _) = unsafe { self.bytes_mut().align_to_mut() };
        elements
    }

    /// Reads one element of each line, in order: afterwards the caches contain as much of the set
    /// as fits.
    pub(super) fn sweep(&mut self) {
        let sum = self.elements_mut().iter().step_by(16).fold(0, |sum, element| sum ^ element);
        std::hint::black_box(sum);
    }
}

/// If a huge page is larger (512 MiB on arm64 with pages of 64 KiB), a small set cannot have one.
const MAX_HUGE: u64 = 32 << 20;

/// Skips a set that needs too large a part of the free memory.
pub(super) fn fits(len: u64) -> Result<()> {
    match available_bytes() {
        Some(free) if len > free / SHARE_MAX => Err(skip(format!(
            "{} is more than a quarter of the {} MiB of memory that are free",
            bytes(len),
            free >> 20
        ))),
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn huge_page_bytes() -> Option<u64> {
    let path = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    std::fs::read_to_string(path).ok()?.trim().parse().ok().filter(|page: &u64| *page >= 4096)
}

#[cfg(not(target_os = "linux"))]
fn huge_page_bytes() -> Option<u64> {
    None
}

/// The bytes in huge pages of the mappings that overlap the range.
#[cfg(any(target_os = "linux", test))]
fn huge_bytes(smaps: &str, start: usize, end: usize) -> u64 {
    let mut inside = false;
    let mut sum = 0;
    for line in smaps.lines() {
        let word = line.split_whitespace().next().unwrap_or_default();
        let hex = |text: &str| usize::from_str_radix(text, 16).ok();
        if let Some((low, high)) = word.split_once('-').and_then(|(a, b)| hex(a).zip(hex(b))) {
            inside = low < end && start < high;
        } else if let Some(kib) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
            let kib = kib.trim().trim_end_matches(" kB").parse::<u64>();
            sum += kib.unwrap_or_default() * 1024;
        }
    }
    sum
}

/// A data cache as the operating system reports it. The steps of a ladder are compared with these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataCache {
    pub level: u64,
    pub bytes: u64,
    pub line_bytes: u64,
}

/// The caches by level; empty if the system does not report them.
pub(crate) fn announced() -> &'static [DataCache] {
    static CACHES: LazyLock<Vec<DataCache>> = LazyLock::new(read);
    &CACHES
}

pub(super) fn line_bytes() -> u64 {
    // No known processor has a larger line.
    let line = announced().first().map(|cache| cache.line_bytes);
    line.filter(|line| [64, 128].contains(line)).unwrap_or(DEFAULT_LINE)
}

const DEFAULT_LINE: u64 =
    if cfg!(all(target_vendor = "apple", target_arch = "aarch64")) { 128 } else { 64 };

/// The size of the largest cache; if none is reported, a size that is large enough for most
/// processors.
pub(super) fn last_bytes() -> u64 {
    announced().iter().map(|cache| cache.bytes).max().unwrap_or(32 << 20)
}

#[cfg(target_os = "linux")]
fn read() -> Vec<DataCache> {
    let text = |index: u32, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok()
    };
    let cache = |index| {
        let kind = text(index, "type")?;
        let cache = DataCache {
            level: text(index, "level")?.parse().ok()?,
            bytes: byte_stream::parse_bytes(&text(index, "size")?).ok()?,
            line_bytes: text(index, "coherency_line_size")?.parse().ok()?,
        };
        (kind != "Instruction").then_some(cache)
    };
    let mut caches: Vec<DataCache> = (0..10).filter_map(cache).collect();
    caches.sort_unstable_by_key(|cache| cache.level);
    caches
}

#[cfg(not(target_os = "linux"))]
fn read() -> Vec<DataCache> {
    Vec::new()
}

/// The cost of the first access to a page: the kernel allocates a page, clears it and maps it.
pub(super) fn faults() -> Vec<Method> {
    let fault = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("page-fault").reads(&["job", "pages"])
    };
    vec![
        fault("map-anew", "a new mapping, each page of which is touched", build::<false>),
        fault("give-back", "the same mapping after MADV_DONTNEED", build::<true>),
    ]
}

struct Touch {
    map: Option<MmapMut>,
    len: usize,
    page: usize,
    keep: bool,
}

fn build<const KEEP: bool>(point: &Point) -> Result<Box<dyn Task>> {
    let (page, pages) = match point.text("pages")? {
        "huge" => (huge_page_bytes().context("no huge pages").map_err(|e| skip(e.to_string()))?, 8),
        _ => (small_page_bytes(), 512),
    };
    fits(page * (pages + 1))?;
    let (page, len) = (usize::try_from(page)?, usize::try_from(page * pages)?);
    let mut touch = Touch { map: None, len, page, keep: KEEP };
    touch.before()?;
    Ok(Box::new(touch))
}

#[cfg(target_os = "linux")]
fn small_page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

#[cfg(not(target_os = "linux"))]
fn small_page_bytes() -> u64 {
    16384
}

impl Touch {
    /// The offset of the first whole page.
    fn start(&self, map: &MmapMut) -> usize {
        map.as_ptr().align_offset(self.page)
    }

    #[cfg(target_os = "linux")]
    fn make_ready(&mut self) -> Result<()> {
        use memmap2::{Advice, UncheckedAdvice};
        if let Some(map) = self.map.as_ref().filter(|_| self.keep) {
            #[expect(unsafe_code, reason = "what is given back reads as zeros afterwards")]
            // SAFETY: no reference into the mapping exists.
            unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) }.context("giving it back")?;
            return Ok(());
        }
        self.map = None;
        let map = MmapMut::map_anon(self.len + self.page)
            .map_err(|error| skip(format!("no memory: {error}")))?;
        let small = self.page < 1 << 20;
        let advice = if small { Advice::NoHugePage } else { Advice::HugePage };
        match map.advise(advice) {
            Err(error) if !small => {
                return Err(skip(format!("the kernel refuses huge pages: {error}")));
            }
            _ => {}
        }
        self.map = Some(map);
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn make_ready(&mut self) -> Result<()> {
        if self.keep {
            return Err(skip("this system does not drop pages at MADV_DONTNEED"));
        }
        self.map = Some(MmapMut::map_anon(self.len + self.page).context("mapping memory")?);
        Ok(())
    }
}

impl Task for Touch {
    fn before(&mut self) -> Result<()> {
        self.make_ready()
    }

    fn run(&mut self, _ops: u64) -> Result<Work> {
        let (len, page) = (self.len, self.page);
        let start = self.map.as_ref().map_or(0, |map| self.start(map));
        let map = self.map.as_mut().context("there is no mapping")?;
        for byte in map[start..start + len].iter_mut().step_by(page) {
            *byte = 1;
        }
        Ok(Work { ops: (len / page) as u64, bytes: len as u64, answer: None })
    }
}

#[cfg(test)]
mod tests {
    use measure::experiment::Skip;

    use super::*;

    const SMAPS: &str = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n\
Size:               4096 kB\n\
AnonHugePages:      2048 kB\n\
7f0000400000-7f0000600000 rw-p 00000000 00:00 0 [anon: x]\n\
AnonHugePages:      2048 kB\n\
VmFlags: rd wr mr mw me ac hg\n";

    #[test]
    fn huge_pages_are_those_of_the_range_only() {
        assert_eq!(huge_bytes(SMAPS, 0x7f00_0000_0000, 0x7f00_0020_0000), 2 << 20);
        assert_eq!(huge_bytes(SMAPS, 0x7f00_003f_0000, 0x7f00_0041_0000), 4 << 20);
        assert_eq!(huge_bytes(SMAPS, 0x7f00_0060_0000, 0x7f00_0080_0000), 0);
        assert_eq!(huge_bytes("x-y\nAnonHugePages: 1 kB\n", 0, 1), 0);
    }

    #[test]
    fn a_set_is_aligned_zeroed_and_as_long_as_requested() {
        for len in [1, 4096, 70_000, 3 << 20] {
            let mut pages = Pages::new(len, "small").unwrap();
            assert_eq!(pages.len() as u64, len);
            assert!(pages.bytes_mut().iter().all(|byte| *byte == 0));
            assert_eq!(pages.bytes_mut().as_ptr() as usize % 4096, 0);
        }
    }

    #[test]
    fn a_set_that_is_too_large_is_skipped() {
        let error = Pages::new(1 << 50, "small").err().unwrap();
        assert!(error.is::<Skip>(), "{error:#}");
        assert!(format!("{error:#}").contains("more than a quarter"), "{error:#}");
    }
}
