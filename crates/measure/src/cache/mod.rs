//! The page-cache state of files: requested, verified and changed, all without root, and how much
//! memory there is for it. The state is read from the file itself, not taken from a method's
//! report.

mod kernel;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use model::run::CacheState;

use crate::stop::Stop;

/// How many pages of a file are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    pub pages: u64,
    pub cached: u64,
    /// Pages that are not yet on the device. None: the kernel does not report it (before Linux
    /// 6.5).
    pub dirty: Option<u64>,
}

/// Reads the state without changing anything.
pub fn residency(path: &Path) -> Result<Residency> {
    let file = open(path)?;
    residency_of(&file).with_context(|| state_of(path))
}

/// Writes the file to the device and evicts it from memory. What the system cannot evict stays:
/// pages that some process has mapped, and the whole of a file that exists in memory only;
/// [`prove`] detects this.
pub fn evict(path: &Path) -> Result<()> {
    let file = open(path)?;
    // Dirty pages are not evicted.
    file.sync_all().with_context(|| format!("writing {} to its device", path.display()))?;
    kernel::drop_pages(&file).with_context(|| format!("evicting {}", path.display()))
}

/// Why the file cannot be kept in memory as a whole, if it is larger than what is available.
pub fn unfit(path: &Path) -> Result<Option<String>> {
    let len = open(path)?.metadata().with_context(|| path.display().to_string())?.len();
    let available = available_bytes().filter(|available| len > *available);
    Ok(available.map(|available| {
        format!(
            "{} has {len} bytes, more than the {available} bytes of memory that are available: it cannot \
             be warm; use --cache cold or --cache as-is",
            path.display()
        )
    }))
}

/// Brings the file into memory by reading it once.
pub fn fill(path: &Path, stop: &Stop) -> Result<()> {
    let mut file = open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    loop {
        stop.check()?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => offset += len as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("reading {} at offset {offset}", path.display()));
            }
        }
    }
}

/// Returns the reason why the files are not in the state, in one line. It checks every page: for
/// 128 MiB this takes 7 … 40 µs in large folios, but 900 µs in single pages, and 1.1 ms where none
/// is cached.
pub fn prove<P: AsRef<Path>>(state: CacheState, files: &[P]) -> Result<(), String> {
    let wanted = match state {
        CacheState::Warm => |residency: &Residency| residency.cached >= residency.pages,
        CacheState::Cold => |residency: &Residency| residency.cached == 0,
        CacheState::AsIs => return Ok(()),
    };
    for path in files.iter().map(AsRef::as_ref) {
        let residency = open(path)
            .and_then(|file| residency_of(&file).with_context(|| state_of(path)))
            .map_err(|error| format!("{error:#}"))?;
        if !wanted(&residency) {
            let Residency { pages, cached, .. } = residency;
            return Err(format!("{cached} of {pages} pages of {} are cached", path.display()));
        }
    }
    Ok(())
}

fn state_of(path: &Path) -> String {
    format!("page-cache state of {}", path.display())
}

/// Opens a regular file. Other files have no pages, or pages with another meaning, and without
/// `O_NONBLOCK` opening a FIFO would wait for its writer.
fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .with_context(|| format!("opening {}", path.display()))?;
    let kind =
        file.metadata().with_context(|| format!("looking at {}", path.display()))?.file_type();
    if !kind.is_file() {
        let noun = match () {
            () if kind.is_dir() => "a directory",
            () if kind.is_fifo() => "a FIFO",
            () if kind.is_block_device() || kind.is_char_device() => "a device",
            () => "no regular file",
        };
        bail!("{} is {noun}; give a regular file", path.display());
    }
    Ok(file)
}

/// `cachestat` is cheap, but sees nothing of a file on overlayfs, where the pages belong to another
/// file. Its result that there are none is therefore checked by `mincore`, which examines the
/// mapped file.
fn residency_of(file: &File) -> Result<Residency> {
    let metadata = file.metadata()?;
    let pages = pages_of(&metadata);
    if pages == 0 {
        return Ok(Residency { dirty: Some(0), ..Residency::default() });
    }
    match kernel::cachestat(file, metadata.len()) {
        Ok(stat) if stat.cached > 0 => {
            return Ok(Residency {
                pages,
                cached: stat.cached.min(pages),
                dirty: Some(stat.dirty),
            });
        }
        Err(error) if is_final(&error) => return Err(error.into()),
        _ => {}
    }
    expect_truth(file, &metadata)?;
    Ok(Residency { pages, cached: kernel::count_resident(file, metadata.len())?, dirty: None })
}

fn pages_of(metadata: &Metadata) -> u64 {
    metadata.len().div_ceil(rustix::param::page_size() as u64)
}

/// Whether an error is a result about the file. Otherwise the call does not exist, or a sandbox
/// does not know it, or the file system has no pages, and another method may still find out.
fn is_final(error: &io::Error) -> bool {
    let refused = [libc::ENOSYS, libc::EPERM, libc::EOPNOTSUPP, libc::EINVAL];
    !error.raw_os_error().is_some_and(|code| refused.contains(&code))
}

/// Since Linux 5.2 `mincore` reports every page of other users' files as resident; in newer kernels
/// `cachestat` refuses those as well.
fn expect_truth(file: &File, metadata: &Metadata) -> Result<()> {
    let own = rustix::process::geteuid();
    if own.is_root() || own.as_raw() == metadata.uid() || kernel::may_write(file) {
        return Ok(());
    }
    bail!("the kernel reports it only to the owner of the file and to those who may write to it")
}

/// The memory that programs and the page cache can use without evicting anything else, in the
/// machine and in this process's control group.
pub fn available_bytes() -> Option<u64> {
    let (machine, group) = (available_in_machine(), available_in_group());
    machine.into_iter().chain(group).min()
}

/// The files of a control group that describe its memory, with the names of the two versions.
pub(crate) struct CgroupFiles {
    pub(crate) version: u8,
    pub(crate) root: &'static str,
    pub(crate) limit: &'static str,
    usage: &'static str,
    pub(crate) peak: &'static str,
    /// Has a line with the number of processes that were ended for lack of memory.
    pub(crate) kills: &'static str,
    /// The lines of `memory.stat` that count pages of files: these are reclaimed when memory runs
    /// short.
    files: [&'static str; 2],
}

const VERSION_1: CgroupFiles = CgroupFiles {
    version: 1,
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    peak: "memory.max_usage_in_bytes",
    kills: "memory.oom_control",
    files: ["total_inactive_file", "total_active_file"],
};

const VERSION_2: CgroupFiles = CgroupFiles {
    version: 2,
    root: "/sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    peak: "memory.peak",
    kills: "memory.events",
    files: ["inactive_file", "active_file"],
};

/// The smallest remainder of all limits from the process's group up to the root.
fn available_in_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let (version, own) = memory_group(&groups)?;
    let root = Path::new(version.root);
    let own = root.join(own);
    own.ancestors()
        .take_while(|group| group.starts_with(root))
        .filter_map(|g| version.left(g))
        .min()
}

/// The group that limits the memory of the process whose `/proc/PID/cgroup` this is, relative to
/// its root. Version 1 names the controller; where it has none for memory, version 2 limits it.
pub(crate) fn memory_group(groups: &str) -> Option<(&'static CgroupFiles, &str)> {
    let fields = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let of = |name: &'static str| {
        let found = fields().find(|(names, _)| names.split(',').any(|one| one == name));
        found.map(|(_, path)| path.trim_start_matches('/'))
    };
    of("memory").map(|own| (&VERSION_1, own)).or_else(|| of("").map(|own| (&VERSION_2, own)))
}

impl CgroupFiles {
    fn left(&self, group: &Path) -> Option<u64> {
        let text = |name: &str| std::fs::read_to_string(group.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        let stat = text("memory.stat").unwrap_or_default();
        let line = |name: &str| {
            let value = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            value.and_then(|bytes| bytes.parse::<u64>().ok()).unwrap_or_default()
        };
        let files: u64 = self.files.iter().map(|name| line(name)).sum();
        Some(number(self.limit)?.saturating_sub(number(self.usage)?.saturating_sub(files)))
    }
}

fn available_in_machine() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

// The size of the pieces (folios) in which the page cache holds a file. Large ones are read
// faster, and which method of reading is the fastest can depend on them.

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

    use super::kernel::Mapping;
    use super::open;

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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt as _;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    const LEN: u64 = 3 << 20;

    fn file(len: u64) -> (TempDir, PathBuf) {
        // Beside the program: the directory for temporary files may be in memory, where nothing is
        // evicted.
        let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let directory = tempfile::tempdir_in(folder).or_else(|_| tempfile::tempdir()).unwrap();
        let path = directory.path().join("data");
        fs::write(&path, vec![7; len as usize]).unwrap();
        (directory, path)
    }

    /// The kernel may take a page back at any time, so that what is looked at is only usually in
    /// the state just made. On a machine with many programs this was so in 1 of 160 attempts.
    fn usually<T: PartialEq + std::fmt::Debug>(make: impl Fn() -> T, expected: &T) {
        const ATTEMPTS: usize = 5;
        let mut found = Vec::new();
        while !found.contains(expected) {
            assert!(found.len() < ATTEMPTS, "{found:?} never has {expected:?}");
            found.push(make());
        }
    }

    #[test]
    fn what_is_written_is_cached_and_dirty_until_it_is_on_the_device() {
        let (_directory, path) = file(LEN + 1);
        let pages = LEN / rustix::param::page_size() as u64 + 1;
        let written = || {
            fs::write(&path, vec![7; LEN as usize + 1]).unwrap();
            let residency = residency(&path).unwrap();
            assert!(residency.dirty.is_none_or(|dirty| dirty <= pages));
            (residency.pages, residency.cached)
        };
        usually(written, &(pages, pages));
        File::open(&path).unwrap().sync_all().unwrap();
        assert!(super::residency(&path).unwrap().dirty.is_none_or(|dirty| dirty == 0));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_evicted_file_is_cold_and_a_filled_one_is_warm() {
        let (_directory, path) = file(LEN + 1);
        let files = [&path];
        let pages = LEN / rustix::param::page_size() as u64 + 1;
        let filled = || {
            fill(&path, &Stop::default()).unwrap();
            let warm = prove(CacheState::Warm, &files);
            (warm, prove(CacheState::Cold, &files))
        };
        for _ in 0..3 {
            let reason = format!("{pages} of {pages} pages of {} are cached", path.display());
            usually(filled, &(Ok(()), Err(reason)));

            evict(&path).unwrap();
            if in_memory_only(&path) {
                return;
            }
            assert_eq!(prove(CacheState::Cold, &files), Ok(()));
            // That nothing is cached is known from the mapped file, which has no such figure.
            assert_eq!(residency(&path).unwrap().dirty, None);
            let reason = prove(CacheState::Warm, &files).unwrap_err();
            assert!(reason.starts_with(&format!("0 of {pages} pages of /")), "{reason}");
            assert_eq!(prove(CacheState::AsIs, &files), Ok(()));
        }
    }

    #[cfg(target_os = "linux")]
    fn in_memory_only(path: &Path) -> bool {
        const TMPFS_MAGIC: u64 = 0x0102_1994;
        rustix::fs::statfs(path).unwrap().f_type as u64 == TMPFS_MAGIC
    }

    #[test]
    fn both_ways_to_count_agree() {
        let (_directory, path) = file(LEN + 1);
        let file = File::open(&path).unwrap();
        for state in [CacheState::Warm, CacheState::Cold, CacheState::AsIs] {
            let difference = || {
                match state {
                    CacheState::Warm => fill(&path, &Stop::default()).unwrap(),
                    CacheState::Cold => drop(evict(&path)),
                    // One page and the system's read-ahead.
                    CacheState::AsIs => file.read_exact_at(&mut [0; 1], 0).unwrap(),
                }
                let counted = kernel::count_resident(&file, LEN + 1).unwrap();
                residency(&path).unwrap().cached.abs_diff(counted)
            };
            usually(difference, &0);
        }
    }

    #[test]
    fn an_empty_file_is_in_every_state() {
        let (_directory, path) = file(0);
        fill(&path, &Stop::default()).unwrap();
        assert_eq!(residency(&path).unwrap(), Residency { dirty: Some(0), ..Residency::default() });
        for state in [CacheState::Warm, CacheState::Cold, CacheState::AsIs] {
            assert_eq!(prove(state, &[&path]), Ok(()));
        }
    }

    #[test]
    fn what_is_no_regular_file_is_refused_in_one_line() {
        let (directory, _) = file(0);
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let missing = directory.path().join("missing");
        let check = |path: &Path, expected: &str| {
            let tried = [
                fill(path, &Stop::default()),
                evict(path),
                residency(path).map(drop),
                folio_share(path).map(drop),
            ];
            for error in tried.map(Result::unwrap_err) {
                let text = format!("{error:#}");
                assert!(text.contains(expected) && !text.contains('\n'), "{text}");
            }
            let reason = prove(CacheState::Warm, &[path]).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        };
        check(directory.path(), "is a directory; give a regular file");
        check(&fifo, "is a FIFO; give a regular file");
        check(Path::new("/dev/null"), "is a device; give a regular file");
        check(&missing, "No such file or directory");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_read_error_names_the_file_and_the_offset() {
        // Nothing is mapped at address 0, and reading there is an I/O error.
        let error = fill(Path::new("/proc/self/mem"), &Stop::default()).unwrap_err();
        let expected = "reading /proc/self/mem at offset 0: Input/output error (os error 5)";
        assert_eq!(format!("{error:#}"), expected);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_share_of_large_folios_is_a_share_or_has_a_reason() {
        let (_directory, path) = file(LEN);
        match folio_share(&path) {
            Ok(share) => {
                assert!((0.0..=1.0).contains(&share), "{share}");
                evict(&path).unwrap();
                if !in_memory_only(&path) {
                    let error = folio_share(&path).unwrap_err().to_string();
                    assert!(error.ends_with("data was found cached"), "{error}");
                }
            }
            Err(error) => assert!(format!("{error:#}").contains("needs"), "{error:#}"),
        }
    }
}

#[cfg(test)]
mod available_tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_memory_of_a_group_is_reported_by_the_version_that_has_its_controller() {
        let check = |groups: &str, expected: Option<(&str, &str)>| {
            let found = memory_group(groups).map(|(version, own)| (version.root, own));
            assert_eq!(found, expected, "{groups}");
        };
        check("0::/user.slice/a:b\n", Some(("/sys/fs/cgroup", "user.slice/a:b")));
        check("4:memory:/small\n1:cpu,cpuacct:/\n0::/\n", Some(("/sys/fs/cgroup/memory", "small")));
        check("9:hugetlb,memory:/\n", Some(("/sys/fs/cgroup/memory", "")));
        check("5:cpu:/a\n0::/b\n", Some(("/sys/fs/cgroup", "b")));
        check("5:cpu:/memory\n", None);
        check("no group\n", None);
    }

    #[test]
    fn pages_of_files_do_not_count_against_the_limit_of_a_group() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        write("memory.limit_in_bytes", "1000\n");
        write("memory.usage_in_bytes", "800\n");
        write("memory.stat", "inactive_file 7\ntotal_inactive_file 300\ntotal_active_file 100\n");
        assert_eq!(VERSION_1.left(group.path()), Some(600));
        write("memory.max", "max\n");
        write("memory.current", "800\n");
        assert_eq!(VERSION_2.left(group.path()), None, "no limit");
        write("memory.max", "500\n");
        write("memory.stat", "inactive_file 100\nactive_file 100\n");
        assert_eq!(VERSION_2.left(group.path()), Some(0), "above its limit");
    }
}
