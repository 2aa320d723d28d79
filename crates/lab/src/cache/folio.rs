//! The size of the pieces (folios) in which the page cache holds a file. Large ones are read
//! faster, and which method of reading is the fastest can depend on them.

use std::path::Path;

use anyhow::Result;

/// The share of the cached pages, 0 … 1, that is in large folios. It needs Linux and the rights of
/// root, because it inspects physical pages; a sample of the pages is inspected.
#[cfg(target_os = "linux")]
pub fn folio_share(path: &Path) -> Result<f64> {
    linux::folio_share(path)
}

#[cfg(not(target_os = "linux"))]
pub fn folio_share(_path: &Path) -> Result<f64> {
    anyhow::bail!("only Linux reports how its page cache is made up")
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use anyhow::{Context, Result, bail};

    use super::super::{kernel::Mapping, open};

    /// The maximum number of inspected pages.
    const SAMPLE: usize = 4096;

    /// Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
    const PRESENT: u64 = 1 << 63;
    const FRAME: u64 = (1 << 55) - 1;
    /// Bits of /proc/kpageflags: the page is the head, or another one, of a compound page.
    const COMPOUND: u64 = 1 << 15 | 1 << 16;

    pub(super) fn folio_share(path: &Path) -> Result<f64> {
        let file = open(path)?;
        let pagemap = numbers("/proc/self/pagemap")?;
        let flags = numbers("/proc/kpageflags")?;
        let len = file.metadata()?.len() as usize;
        if len == 0 {
            bail!("{} is empty", path.display());
        }
        let page_size = rustix::param::page_size();
        let (mut looked_at, mut large) = (0u32, 0u32);
        for page in spread(len.div_ceil(page_size)) {
            // One page at a time: in a larger mapping the kernel would map whole folios, which
            // would count as this process's memory.
            let mapping = Mapping::new(&file, (page * page_size) as u64, page_size)
                .with_context(|| format!("mapping {}", path.display()))?;
            if !mapping.is_resident(0)? {
                continue;
            }
            mapping.populate(0).context("placing a page (needs Linux 5.14)")?;
            let entry = number_at(&pagemap, mapping.address() / page_size)?;
            // Evicted again at this moment.
            if entry & PRESENT == 0 {
                continue;
            }
            let frame = entry & FRAME;
            if frame == 0 {
                bail!("/proc/self/pagemap hides the physical pages; needs CAP_SYS_ADMIN");
            }
            looked_at += 1;
            large += u32::from(number_at(&flags, frame as usize)? & COMPOUND != 0);
        }
        if looked_at == 0 {
            bail!("no page of {} was found cached", path.display());
        }
        Ok(f64::from(large) / f64::from(looked_at))
    }

    /// All of few pages, else this many at even distances.
    fn spread(pages: usize) -> impl Iterator<Item = usize> {
        let n = pages.min(SAMPLE);
        (0..n).map(move |i| (i as u128 * pages as u128 / n as u128) as usize)
    }

    fn numbers(path: &str) -> Result<File> {
        File::open(path).with_context(|| format!("opening {path} (needs root)"))
    }

    fn number_at(file: &File, index: usize) -> Result<u64> {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, index as u64 * 8).context("reading the table of pages")?;
        Ok(u64::from_ne_bytes(bytes))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_sample_is_spread_over_all_pages() {
            let check = |pages: usize, len: usize, last: usize| {
                let sample: Vec<usize> = spread(pages).collect();
                assert_eq!((sample.len(), sample.last().copied().unwrap_or(0)), (len, last));
                assert!(sample.is_sorted_by(|a, b| a < b));
            };
            check(0, 0, 0);
            check(1, 1, 0);
            check(SAMPLE, SAMPLE, SAMPLE - 1);
            check(10 * SAMPLE + 3, SAMPLE, 10 * SAMPLE - 8);
        }
    }
}
