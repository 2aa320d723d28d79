//! How much memory is available.

use std::path::Path;

/// The memory that programs and the page cache can use without evicting anything else, in the
/// machine and in this process's control group.
pub fn available_bytes() -> Option<u64> {
    let (machine, group) = (available_in_machine(), available_in_group());
    machine.into_iter().chain(group).min()
}

/// The files of a control group that describe its memory, with the names of the two versions.
struct Group {
    root: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The lines of `memory.stat` that count pages of files: these are reclaimed when memory runs
    /// short.
    files: [&'static str; 2],
}

const VERSION_1: Group = Group {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    files: ["total_inactive_file", "total_active_file"],
};

const VERSION_2: Group = Group {
    root: "/sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
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
fn memory_group(groups: &str) -> Option<(&'static Group, &str)> {
    let fields = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let of = |name: &'static str| {
        let found = fields().find(|(names, _)| names.split(',').any(|one| one == name));
        found.map(|(_, path)| path.trim_start_matches('/'))
    };
    of("memory").map(|own| (&VERSION_1, own)).or_else(|| of("").map(|own| (&VERSION_2, own)))
}

impl Group {
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

#[cfg(test)]
mod tests {
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
