//! A working set: its own memory, in pages of the requested kind; the kernel's choice is verified.

use anyhow::Result;
use lab::cache::available_bytes;
use lab::experiment::skip;
use lab::param::{Kind, Param, bytes};
use memmap2::MmapMut;

pub(super) const PARAM: Param = Param::new("pages", Kind::Word(&["small", "huge"]), "small,huge")
    .help("pages that the memory lies in: the smallest, or those the processor needs fewest entries for");

/// A set uses at most this part of the free memory, so that other programs are not disturbed.
const SHARE_MAX: u64 = 4;

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
pub(super) fn huge_page_bytes() -> Option<u64> {
    let path = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    std::fs::read_to_string(path).ok()?.trim().parse().ok().filter(|page: &u64| *page >= 4096)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn huge_page_bytes() -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use lab::experiment::Skip;

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
