//! Finds what the choice needs: the memory that is left, what is cached, how fast the medium
//! answers.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::{MediumTimes, PartLayout};
use crate::choice::{self, Cached, SourceKind};

/// The bytes that programs can still use, in the machine and in each control group around this
/// process; pages of files that can be dropped count as free. `None` if nothing limits them, or
/// the system does not tell.
pub(super) fn memory_left_bytes() -> Option<u64> {
    let read = |path: &str| text(Path::new(path)).unwrap_or_default();
    let machine = left_in_machine(&read("/proc/meminfo"));
    let groups = memory_groups(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
    machine.into_iter().chain(groups.iter().filter_map(MemoryGroup::left_bytes)).min()
}

fn left_in_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The text of a file whose size the system does not tell, by as few calls as there can be.
fn text(path: &Path) -> Option<String> {
    let mut text = String::with_capacity(4096);
    File::open(path).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

/// Version 1 says so much, or a little less, where there is no limit.
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// A control group that may limit the memory.
#[derive(Debug, PartialEq)]
struct MemoryGroup {
    folder: PathBuf,
    is_version_2: bool,
}

impl MemoryGroup {
    /// The smallest limit minus the usage, without the pages of files; `None` without a limit.
    fn left_bytes(&self) -> Option<u64> {
        // `memory.high` does not end a process that is above it, but nearly stops it.
        let (limits, usage, files): (&[&str], _, _) = if self.is_version_2 {
            (&["memory.max", "memory.high"], "memory.current", ["inactive_file", "active_file"])
        } else {
            let files = ["total_inactive_file", "total_active_file"];
            (&["memory.limit_in_bytes"], "memory.usage_in_bytes", files)
        };
        let text = |name: &str| text(&self.folder.join(name));
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        // Without a limit the text of version 2 is `max`.
        let limit = limits.iter().filter_map(|name| number(name)).min()?;
        if limit >= NO_LIMIT_BYTES {
            return None;
        }
        let stat = text("memory.stat").unwrap_or_default();
        let pairs = stat.lines().filter_map(|line| line.split_once(' '));
        let of_files = pairs.filter(|(name, _)| files.contains(name));
        let reclaimable: u64 = of_files.filter_map(|(_, n)| n.parse::<u64>().ok()).sum();
        Some(limit.saturating_sub(number(usage)?.saturating_sub(reclaimable)))
    }
}

/// The group of the process and those around it, as far as they are mounted, of both versions.
/// `cgroup` and `mountinfo` are the files of these names in `/proc/PID`.
fn memory_groups(cgroup: &str, mountinfo: &str) -> Vec<MemoryGroup> {
    // `ID:CONTROLLERS:PATH`; version 2 has no controllers here.
    let fields = || cgroup.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let mut groups = Vec::new();
    for line in mountinfo.lines() {
        // `ID PARENT DEVICE ROOT MOUNT_POINT … - TYPE SOURCE OPTIONS`
        let Some((mount, file_system)) = line.split_once(" - ") else { continue };
        let (mount, file_system): (Vec<_>, Vec<_>) =
            (mount.split(' ').collect(), file_system.split(' ').collect());
        let ([_, _, _, root, point, ..], [kind, _, options, ..]) = (&mount[..], &file_system[..])
        else {
            continue;
        };
        let has_memory = |list: &str| list.split(',').any(|name| name == "memory");
        let is_version_2 = *kind == "cgroup2";
        let own = match *kind {
            "cgroup2" => fields().find(|(controllers, _)| controllers.is_empty()),
            "cgroup" if has_memory(options) => fields().find(|(names, _)| has_memory(names)),
            _ => continue,
        };
        let Some((_, own)) = own else { continue };
        let point = Path::new(point);
        // In a container the path may be one that is seen outside only: its mount is the group.
        let inside = Path::new(own).strip_prefix(root).unwrap_or(Path::new(""));
        let folder: PathBuf = point.join(inside).components().collect();
        let around = folder.ancestors().take_while(|folder| folder.starts_with(point));
        groups.extend(around.map(|f| MemoryGroup { folder: f.to_owned(), is_version_2 }));
    }
    groups
}

/// The share of the bytes that are in the page cache, 0 to 1. Where the kernel cannot count them
/// (`cachestat`, Linux 6.5), it is that of three bytes; `None` if it does not tell that either.
pub(super) fn cached_share(file: &File, kind: SourceKind, layout: &PartLayout) -> Option<f64> {
    if kind == SourceKind::InMemory {
        return Some(1.0);
    }
    // `cachestat` sees nothing on overlayfs, where the pages belong to another file.
    if let Some(share) = counted_share(file, layout).filter(|share| *share > 0.0) {
        return Some(share);
    }
    let last = layout.total_bytes().checked_sub(1)?;
    let (start, end) = (layout.place(0).1, layout.place(last).1 + 1);
    let (start, end) = (start.min(end - 1), end.max(start + 1));
    match choice::cached(file.as_fd(), start, end - start) {
        Cached::Yes => Some(1.0),
        Cached::No => Some(0.0),
        Cached::Unknown => None,
    }
}

#[cfg(target_os = "linux")]
use linux::counted_share;
#[cfg(target_os = "linux")]
pub(super) use linux::medium_times;

#[cfg(not(target_os = "linux"))]
fn counted_share(_file: &File, _layout: &PartLayout) -> Option<f64> {
    None
}

/// Elsewhere reads would be measured with their read-ahead.
#[cfg(not(target_os = "linux"))]
pub(super) fn medium_times(_file: &File, _layout: &PartLayout) -> Option<MediumTimes> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use rustix::fs::{Advice, fadvise};
    use rustix::io::pread;
    use rustix::param::page_size;

    use super::{MediumTimes, PartLayout};
    use crate::buffer::Buffer;
    use crate::cancel::timed;
    use crate::load::transfer::request_ahead;

    /// Counting all pages of a large file takes milliseconds, so some places of it are counted.
    const PLACES: usize = 16;
    const PLACE_BYTES: u64 = 128 << 10;
    const SMALL_PROBE_BYTES: u64 = 4 << 10;
    const LARGE_PROBE_BYTES: u64 = 1 << 20;
    /// After this time no further read of 4 KiB is timed: the others would take a part of the
    /// loading, and what disturbs one that is late changes little.
    const ENOUGH: Duration = Duration::from_millis(5);

    pub(in crate::load) fn counted_share(file: &File, layout: &PartLayout) -> Option<f64> {
        let page = page_size() as u64;
        let (mut cached, mut all) = (0, 0);
        for place in 0..PLACES {
            let at = (layout.total_bytes() as u128 * place as u128 / PLACES as u128) as usize;
            let (part, offset) = layout.place(at);
            let end = part.end.min(offset + PLACE_BYTES);
            cached += cached_pages(file, offset, end - offset)?;
            all += end.div_ceil(page) - offset / page;
        }
        Some((cached as f64 / all as f64).min(1.0))
    }

    /// The number of cached pages of a range that is not empty.
    #[expect(unsafe_code, reason = "a system call without a wrapper")]
    fn cached_pages(file: &File, offset: u64, len: u64) -> Option<u64> {
        // `struct cachestat_range`, and `struct cachestat`, whose first field are the cached pages.
        let (range, mut counts) = ([offset, len], [0u64; 5]);
        // SAFETY: cachestat(2), number 451 on all architectures that this crate is built for, reads
        // two and writes five numbers of 64 bits, which live longer than the call.
        let failed =
            unsafe { libc::syscall(451, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0) };
        (failed == 0).then_some(counts[0])
    }

    /// Measures a few reads at places that are not cached. Their pages, about 1 MiB, are cached
    /// afterwards. A failed read is none: the loading itself will report it.
    pub(in crate::load) fn medium_times(file: &File, layout: &PartLayout) -> Option<MediumTimes> {
        // Otherwise the kernel would read ahead of each probe.
        fadvise(file, 0, None, Advice::Random).ok()?;
        let times = probed(file, layout);
        fadvise(file, 0, None, Advice::Normal).ok()?;
        times
    }

    fn probed(file: &File, layout: &PartLayout) -> Option<MediumTimes> {
        let mut buffer = Buffer::new(LARGE_PROBE_BYTES as usize);
        let mut probe = |sixteenth: usize, len: u64| {
            let (_, offset) = layout.place(layout.total_bytes() / 16 * sixteenth);
            let offset = offset / SMALL_PROBE_BYTES * SMALL_PROBE_BYTES;
            let is_whole = offset + len <= layout.file_bytes;
            // The kernel may not tell of another user's file. Most places of it are not cached.
            if !is_whole || cached_pages(file, offset, len).is_some_and(|n| n > 0) {
                return None;
            }
            let (read, time) = timed(|| {
                request_ahead(file, offset, len);
                pread(file, &mut buffer[..len as usize], offset)
            });
            (read == Ok(len as usize)).then_some(time)
        };
        // The places that `choice::cached` has looked at are left out: 0, 8 and 16.
        let mut small: Vec<Duration> = Vec::new();
        for at in [1, 5, 9, 13] {
            small.extend(probe(at, SMALL_PROBE_BYTES));
            if small.iter().sum::<Duration>() >= ENOUGH {
                break;
            }
        }
        small.sort_unstable();
        let read_4k = *small.get(small.len() / 2)?;
        let read_1m = [3, 7, 11].into_iter().find_map(|at| probe(at, LARGE_PROBE_BYTES))?;
        Some(MediumTimes { read_4k, read_1m })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(cgroup: &str, mountinfo: &str, expected: &[(&str, bool)]) {
        let groups = memory_groups(cgroup, mountinfo);
        let found = groups.iter().map(|group| (group.folder.to_str().unwrap(), group.is_version_2));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_groups_around_a_process_are_found_in_both_versions() {
        let version_1 = "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                         31 24 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";
        let version_2 = "42 24 0:39 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        check(
            "4:memory:/a/b\n1:cpu:/c\n0::/d\n",
            &format!("{version_1}{version_2}"),
            &[
                ("/sys/fs/cgroup/memory/a/b", false),
                ("/sys/fs/cgroup/memory/a", false),
                ("/sys/fs/cgroup/memory", false),
                ("/sys/fs/cgroup/unified/d", true),
                ("/sys/fs/cgroup/unified", true),
            ],
        );
        let container = "7 6 0:27 /docker/1f /cg rw - cgroup cgroup rw,memory\n";
        check("4:memory:/docker/1f/x\n", container, &[("/cg/x", false), ("/cg", false)]);
        check("4:memory:/elsewhere\n", container, &[("/cg", false)]);
        check("", "1 2\n3 4 - 5\n", &[]);
    }

    #[test]
    fn a_group_has_its_limit_minus_what_cannot_be_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let left =
            |is_version_2| MemoryGroup { folder: dir.path().to_owned(), is_version_2 }.left_bytes();
        assert_eq!(left(true), None);
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        write("memory.stat", "anon 300\ninactive_file 250\nactive_file 50\n");
        assert_eq!(left(true), None);
        write("memory.high", "1000\n");
        assert_eq!(left(true), Some(600));
        write("memory.max", "500\n");
        assert_eq!(left(true), Some(100));
        write("memory.max", "300\n");
        assert_eq!(left(true), Some(0));
        write("memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(left(false), None);
        write("memory.limit_in_bytes", "1000\n");
        write("memory.usage_in_bytes", "900\n");
        write("memory.stat", "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 200\n");
        assert_eq!(left(false), Some(600));
    }

    #[test]
    fn the_memory_of_the_machine_is_that_of_the_line() {
        let meminfo = "MemTotal: 9 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(left_in_machine(meminfo), Some(2 << 20));
        assert_eq!(left_in_machine("MemAvailable: many kB\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_written_is_cached_and_a_hole_is_not() {
        use std::io::Write as _;

        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 4 << 20]).unwrap();
        file.set_len(64 << 20).unwrap();
        let layout = |parts: &[std::ops::Range<u64>]| PartLayout::new(parts, 64 << 20).unwrap();
        let share = |part| counted_share(&file, &layout(&[part]));
        // Older kernels do not count, and a temporary file may be on tmpfs or be evicted.
        if let (Some(written), Some(hole)) = (share(0..4 << 20), share(16 << 20..64 << 20)) {
            assert!(written >= hole && hole < 0.01, "{written} {hole}");
            let hole = 16 << 20..64 << 20;
            let times = medium_times(&file, &layout(std::slice::from_ref(&hole)));
            assert!(times.is_some(), "no place of a hole was probed");
            // The pages of the probes are cached now, or were evicted again.
            assert!((0.0..0.5).contains(&share(16 << 20..64 << 20).unwrap()));
        }
    }
}
