//! Facts of what the methods run in: the kernel and the system around it, the control group, the
//! memory, and the build of this program.

use std::ffi::CStr;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use model::facts::{Facts, digest};
use rustix::process::Resource;
use serde_json::Value;

use super::storage::Mount;
use super::tree::{Tree, count_of, field, number};
use crate::clock;

// Facts of the kernel and the system around it, and of what this process may do.

const KERNEL_SETTINGS: &[(&str, &str)] = &[
    ("aio_max_nr", "proc/sys/fs/aio-max-nr"),
    ("aslr", "proc/sys/kernel/randomize_va_space"),
    ("delayacct", "proc/sys/kernel/task_delayacct"),
    ("io_uring_disabled", "proc/sys/kernel/io_uring_disabled"),
    ("kptr_restrict", "proc/sys/kernel/kptr_restrict"),
    ("nmi_watchdog", "proc/sys/kernel/nmi_watchdog"),
    ("perf_event_paranoid", "proc/sys/kernel/perf_event_paranoid"),
    ("pipe_max_bytes", "proc/sys/fs/pipe-max-size"),
    ("ptrace_scope", "proc/sys/kernel/yama/ptrace_scope"),
    ("sched_autogroup", "proc/sys/kernel/sched_autogroup_enabled"),
    ("sched_base_slice_ns", "sys/kernel/debug/sched/base_slice_ns"),
    ("sched_rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us"),
    ("sched_schedstats", "proc/sys/kernel/sched_schedstats"),
    ("security_modules", "sys/kernel/security/lsm"),
    ("tainted", "proc/sys/kernel/tainted"),
    ("timer_migration", "proc/sys/kernel/timer_migration"),
    ("unprivileged_bpf_disabled", "proc/sys/kernel/unprivileged_bpf_disabled"),
];

pub(super) fn add_kernel(tree: &Tree, facts: &mut Facts) {
    for (fact, path) in KERNEL_SETTINGS {
        facts.insert((*fact).into(), tree.value(path));
    }
    add_system(tree, facts);
    add_process(tree, facts);
}

fn add_system(tree: &Tree, facts: &mut Facts) {
    let mut set = |fact: &str, value: Option<String>| facts.insert(fact.into(), value.into());
    let uname = rustix::system::uname();
    let name = |text: &CStr| Some(text.to_string_lossy().into_owned());
    set("kernel_name", name(uname.sysname()));
    set("kernel_release", name(uname.release()));
    set("kernel_version", name(uname.version()));
    set("kernel_architecture", name(uname.machine()));
    // This distinguishes two machines without revealing the name.
    set("hostname_digest", name(uname.nodename()).map(|name| digest(&name)));
    set("kernel_command_line_digest", tree.line("proc/cmdline").map(|line| digest(&line)));
    set("kernel_preemption", preemption(tree, &uname.version().to_string_lossy()));
    set(
        "sched_features_digest",
        tree.line("sys/kernel/debug/sched/features").map(|line| digest(&line)),
    );
    let release = tree.text("etc/os-release").or_else(|| tree.text("usr/lib/os-release"));
    set("os_name", release.and_then(|text| field(&text, "PRETTY_NAME").map(str::to_owned)));
    set("container", container(tree, &uname.release().to_string_lossy()));
    set("lockdown", tree.chosen("sys/kernel/security/lockdown"));
    facts.insert("libc".into(), libc_version());
    let hz = clock::tick_ns().and_then(|ns| 1_000_000_000u64.checked_div(ns));
    facts.insert("kernel_hz".into(), hz.into());
}

fn add_process(tree: &Tree, facts: &mut Facts) {
    let status = tree.text("proc/self/status").unwrap_or_default();
    let allowed = field(&status, "Cpus_allowed_list");
    facts.insert("cpu_affinity".into(), allowed.into());
    facts.insert("cpu_affinity_count".into(), allowed.and_then(count_of).into());
    facts.insert("memory_nodes_allowed".into(), field(&status, "Mems_allowed_list").into());
    facts.insert("capabilities".into(), field(&status, "CapEff").into());
    facts.insert("seccomp".into(), field(&status, "Seccomp").into());
    facts.insert("root".into(), rustix::process::geteuid().is_root().into());
    let nice = rustix::process::getpriority_process(None).ok();
    facts.insert("nice".into(), nice.into());
    for (fact, resource) in [
        ("limit_open_files", Resource::Nofile),
        ("limit_locked_memory_bytes", Resource::Memlock),
        ("limit_stack_bytes", Resource::Stack),
        ("limit_address_space_bytes", Resource::As),
        ("limit_file_bytes", Resource::Fsize),
    ] {
        let limit = rustix::process::getrlimit(resource).current;
        facts.insert(fact.into(), limit.map_or_else(|| "unlimited".into(), Value::from));
    }
}

/// The preemption model that is in force, where debugfs shows it, else the one for which the kernel
/// was built.
fn preemption(tree: &Tree, version: &str) -> Option<String> {
    let now = tree.line("sys/kernel/debug/sched/preempt");
    let now = now.as_deref().and_then(|line| line.split_once('(')?.1.split_once(')'));
    if let Some((now, _)) = now {
        return Some(now.to_owned());
    }
    version.split_whitespace().find(|word| word.starts_with("PREEMPT")).map(str::to_owned)
}

/// The container, if it is recognizable; null may still be a container.
fn container(tree: &Tree, release: &str) -> Option<String> {
    let traces = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
    if let Some(name) = tree.line("run/systemd/container") {
        return Some(name);
    }
    if let Some((_, name)) = traces.iter().find(|(path, _)| tree.path(path).exists()) {
        return Some((*name).to_owned());
    }
    release.to_lowercase().contains("microsoft").then(|| "wsl".to_owned())
}

#[cfg(target_env = "gnu")]
fn libc_version() -> Value {
    #[expect(unsafe_code, reason = "the C library returns its version as a pointer")]
    // SAFETY: takes no argument and returns a pointer to a constant string.
    let version = unsafe { libc::gnu_get_libc_version() };
    #[expect(unsafe_code, reason = "the C library returns its version as a pointer")]
    // SAFETY: the string is constant and ends with a zero byte.
    let version = unsafe { CStr::from_ptr(version) };
    format!("glibc {}", version.to_string_lossy()).into()
}

#[cfg(not(target_env = "gnu"))]
fn libc_version() -> Value {
    cfg!(target_env = "musl").then_some("musl").into()
}

// Facts of the control group: how much CPU and memory this process may use, in both versions.

pub(super) fn add_control_group(tree: &Tree, facts: &mut Facts) {
    let text = tree.text("proc/self/cgroup").unwrap_or_default();
    let mounts = Mount::all(tree);
    let memory = ControllerGroup::find(tree, &text, &mounts, "memory");
    let cpu = ControllerGroup::find(tree, &text, &mounts, "cpu");
    let memory_limit = memory.map(|group| {
        let name = if group.unified { "memory.max" } else { "memory.limit_in_bytes" };
        group.least(|folder| tree.number(&format!("{folder}/{name}")).filter(|n| *n < NO_LIMIT))
    });
    let cpu_limit = cpu.as_ref().map(|group| group.least(|folder| group.cpus(folder)));
    let version = cpu.as_ref().map(|group| if group.unified { "v2" } else { "v1" });
    facts.insert("cgroup_version".into(), version.into());
    facts.insert("cgroup_memory_limit_bytes".into(), memory_limit.into());
    facts.insert("cgroup_cpu_limit".into(), cpu_limit.into());
    let weight = cpu.map_or(Value::Null, |group| {
        let name = if group.unified { "cpu.weight" } else { "cpu.shares" };
        tree.value(&format!("{}/{name}", group.folder))
    });
    facts.insert("cgroup_cpu_weight".into(), weight);
}

/// How often the CPU quota of the group, or of the one above it that is used up most often, has
/// been used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quota {
    periods: u64,
    throttled: u64,
}

impl Quota {
    pub(super) fn read(tree: &Tree) -> Option<Quota> {
        let text = tree.text("proc/self/cgroup").unwrap_or_default();
        let group = ControllerGroup::find(tree, &text, &Mount::all(tree), "cpu")?;
        let of_folder = |folder: &str| {
            let text = tree.text(&format!("{folder}/cpu.stat"))?;
            let number = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
                line?.trim().parse::<u64>().ok()
            };
            Some(Quota { periods: number("nr_periods")?, throttled: number("nr_throttled")? })
        };
        group.folders().filter_map(of_folder).max_by_key(|quota| quota.throttled)
    }

    /// The share of the periods since then.
    pub(super) fn throttled_since(self, before: Quota) -> Option<f64> {
        let periods = self.periods.checked_sub(before.periods).filter(|periods| *periods > 0)?;
        Some(self.throttled.saturating_sub(before.throttled) as f64 / periods as f64)
    }
}

/// Version 1 has a large number in place of "max".
const NO_LIMIT: u64 = 1 << 62;

/// The location of the limits of one controller.
struct ControllerGroup<'t> {
    tree: &'t Tree,
    unified: bool,
    /// The mount point, above which nothing is visible.
    top: String,
    folder: String,
}

impl<'t> ControllerGroup<'t> {
    /// A controller belongs to version 1 if a line of /proc/self/cgroup names it, else to version
    /// 2.
    fn find(tree: &'t Tree, text: &str, mounts: &[Mount], controller: &str) -> Option<Self> {
        let names = |list: &str| list.split(',').any(|name| name == controller);
        let lines = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        });
        let old = lines.clone().find(|(controllers, _)| names(controllers));
        let (_, path) =
            old.or_else(|| lines.clone().find(|(controllers, _)| controllers.is_empty()))?;
        let mount = mounts.iter().find(|mount| match old {
            Some(_) => mount.kind == "cgroup" && names(&mount.super_options),
            None => mount.kind == "cgroup2",
        })?;
        // A container may see only its own part of the groups, under its full path.
        let path = path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or("");
        let top = mount.point.clone();
        let folder = format!("{top}{}", path.trim_end_matches('/'));
        Some(Self { tree, unified: old.is_none(), top, folder })
    }

    /// The smallest value of the group and of all groups above it, else "unlimited".
    fn least<T: PartialOrd + Into<Value>>(&self, value: impl Fn(&str) -> Option<T>) -> Value {
        let values = self.folders().filter_map(value);
        let least = values.reduce(|least, value| if value < least { value } else { least });
        least.map_or_else(|| "unlimited".into(), Into::into)
    }

    /// The folder of the group, and those above it.
    fn folders(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.folder.as_str()), |folder| {
            let (above, _) = folder.rsplit_once('/')?;
            (above.len() >= self.top.len()).then_some(above)
        })
    }

    /// The number of CPUs whose time a group may use.
    fn cpus(&self, folder: &str) -> Option<f64> {
        let (quota, period) = if self.unified {
            let line = self.tree.line(&format!("{folder}/cpu.max"))?;
            let (quota, period) = line.split_once(' ')?;
            (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?)
        } else {
            let number = |name| self.tree.number(&format!("{folder}/{name}"));
            (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
        };
        (period > 0).then(|| quota as f64 / period as f64)
    }
}

// Facts of the memory: its size, its pages, and what the kernel does when it runs short.

/// Fields of /proc/meminfo, in KiB.
const AMOUNTS: &[(&str, &str)] = &[
    ("memory_total_bytes", "MemTotal"),
    ("memory_available_bytes", "MemAvailable"),
    ("memory_free_bytes", "MemFree"),
    ("memory_cached_bytes", "Cached"),
    ("memory_dirty_bytes", "Dirty"),
    ("memory_file_huge_bytes", "FileHugePages"),
    ("swap_total_bytes", "SwapTotal"),
    ("swap_free_bytes", "SwapFree"),
    ("huge_page_bytes", "Hugepagesize"),
];

const COUNTS: &[(&str, &str)] =
    &[("huge_pages_total", "HugePages_Total"), ("huge_pages_free", "HugePages_Free")];

const CHOICES: &[(&str, &str)] = &[
    ("transparent_huge_pages", "enabled"),
    ("transparent_huge_pages_defrag", "defrag"),
    ("transparent_huge_pages_shmem", "shmem_enabled"),
];

const MEMORY_SETTINGS: &[(&str, &str)] = &[
    ("compaction_proactiveness", "proc/sys/vm/compaction_proactiveness"),
    ("dirty_background_ratio", "proc/sys/vm/dirty_background_ratio"),
    ("dirty_expire_centisecs", "proc/sys/vm/dirty_expire_centisecs"),
    ("dirty_ratio", "proc/sys/vm/dirty_ratio"),
    ("dirty_writeback_centisecs", "proc/sys/vm/dirty_writeback_centisecs"),
    ("ksm_run", "sys/kernel/mm/ksm/run"),
    ("lru_gen", "sys/kernel/mm/lru_gen/enabled"),
    ("min_free_kbytes", "proc/sys/vm/min_free_kbytes"),
    ("numa_balancing", "proc/sys/kernel/numa_balancing"),
    ("overcommit_memory", "proc/sys/vm/overcommit_memory"),
    ("swappiness", "proc/sys/vm/swappiness"),
    ("vfs_cache_pressure", "proc/sys/vm/vfs_cache_pressure"),
    ("zone_reclaim_mode", "proc/sys/vm/zone_reclaim_mode"),
    ("zswap", "sys/module/zswap/parameters/enabled"),
];

pub(super) fn add_memory(tree: &Tree, facts: &mut Facts) {
    let text = tree.text("proc/meminfo").unwrap_or_default();
    for (fact, name) in AMOUNTS {
        let bytes = number(&text, name).and_then(|kib| kib.checked_mul(1024));
        facts.insert((*fact).into(), bytes.into());
    }
    for (fact, name) in COUNTS {
        facts.insert((*fact).into(), number(&text, name).into());
    }
    for (fact, name) in CHOICES {
        let path = format!("sys/kernel/mm/transparent_hugepage/{name}");
        facts.insert((*fact).into(), tree.chosen(&path).into());
    }
    for (fact, path) in MEMORY_SETTINGS {
        facts.insert((*fact).into(), tree.value(path));
    }
    // The amount that the kernel reserves for itself differs slightly from boot to boot.
    let gib = number(&text, "MemTotal").map(|kib| (kib as f64 / 1_048_576.0).round() as u64);
    facts.insert("memory_gib".into(), gib.into());
    facts.insert("page_bytes".into(), rustix::param::page_size().into());
}

// Facts of this program: its sources, its compiler and its build options.

/// Set by the build script; empty where it does not know the value.
const BUILD: &[(&str, &str)] = &[
    ("build_opt_level", env!("BYTELAB_OPT_LEVEL")),
    ("build_profile", env!("BYTELAB_PROFILE")),
    ("build_target", env!("BYTELAB_TARGET")),
    ("build_target_cpu", env!("BYTELAB_TARGET_CPU")),
    ("build_target_features", env!("BYTELAB_TARGET_FEATURES")),
    ("bytelab_revision", env!("BYTELAB_REVISION")),
    ("bytelab_version", env!("CARGO_PKG_VERSION")),
    ("rustc_version", env!("BYTELAB_RUSTC_VERSION")),
];

/// Whether the figures of the built-in methods are meaningful.
pub fn optimised() -> bool {
    !cfg!(debug_assertions) && env!("BYTELAB_OPT_LEVEL") != "0"
}

pub(super) fn add_program(facts: &mut Facts) {
    for (fact, text) in BUILD {
        facts.insert((*fact).into(), (!text.is_empty()).then_some(*text).into());
    }
    facts.insert("build_debug_assertions".into(), cfg!(debug_assertions).into());
    facts.insert("build_optimised".into(), optimised().into());
    facts.insert("bytelab_dirty".into(), env!("BYTELAB_DIRTY").parse::<bool>().ok().into());
    // Two builds of one revision can differ by edits in the meantime.
    let file = std::env::current_exe().ok().and_then(|path| fs::metadata(path).ok());
    let modified =
        file.as_ref().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    facts.insert("program_bytes".into(), file.as_ref().map(fs::Metadata::len).into());
    facts.insert(
        "program_modified".into(),
        modified.map(|time: Duration| clock::rfc3339(time)).into(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with this file only.
    fn with<T>(path: &str, text: &str, result: impl Fn(&Tree) -> T) -> T {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        tree.write(path, text);
        result(&tree)
    }

    #[test]
    fn a_container_is_known_by_its_traces() {
        let found = |path: &str, text: &str, release: &str| {
            with(path, text, |tree| container(tree, release)).unwrap_or_default()
        };
        assert_eq!(found("run/systemd/container", "lxc\n", "6.8.0"), "lxc");
        assert_eq!(found(".dockerenv", "", "6.8.0"), "docker");
        assert_eq!(found("run/.containerenv", "", "6.8.0"), "podman");
        assert_eq!(found("etc/os-release", "", "5.15.0-Microsoft-standard-WSL2"), "wsl");
        assert_eq!(with("etc/os-release", "", |tree| container(tree, "6.8.0")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_c_library_is_named() {
        let name = if cfg!(target_env = "musl") { "musl" } else { "glibc 2." };
        let library = libc_version();
        assert!(library.as_str().is_some_and(|library| library.starts_with(name)), "{library}");
    }

    #[test]
    fn the_preemption_in_force_is_preferred_to_that_of_the_build() {
        let version = "#1 SMP PREEMPT_DYNAMIC Mon Jan 5";
        let found = |path: &str, text: &str| with(path, text, |tree| preemption(tree, version));
        let file = "sys/kernel/debug/sched/preempt";
        assert_eq!(found(file, "none (voluntary) full\n").as_deref(), Some("voluntary"));
        assert_eq!(found(file, "none\n").as_deref(), Some("PREEMPT_DYNAMIC"));
        assert_eq!(with("x", "", |tree| preemption(tree, "#1 SMP Mon Jan 5")), None);
    }
}

#[cfg(test)]
mod control_group_tests {
    use super::*;

    /// The facts of a system whose control-group files are these.
    fn facts(mountinfo: &str, cgroup: &str, files: &[(&str, &str)]) -> Facts {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        let own = [("proc/self/mountinfo", mountinfo), ("proc/self/cgroup", cgroup)];
        for (path, text) in own.iter().chain(files) {
            tree.write(path, text);
        }
        let mut facts = Facts::new();
        add_control_group(&tree, &mut facts);
        facts
    }

    #[test]
    fn in_version_2_the_least_limit_of_all_groups_above_counts() {
        let facts = facts(
            "41 31 0:38 / /cg rw - cgroup2 cgroup rw\n",
            "0::/a/b\n",
            &[
                ("cg/a/b/memory.max", "max\n"),
                ("cg/a/b/cpu.max", "400000 100000\n"),
                ("cg/a/b/cpu.weight", "79\n"),
                ("cg/a/memory.max", "4096\n"),
                ("cg/a/cpu.max", "150000 100000\n"),
                ("cpu.max", "1 100000\n"),
            ],
        );
        assert_eq!(facts["cgroup_version"], "v2");
        assert_eq!(facts["cgroup_memory_limit_bytes"], 4096);
        assert_eq!(facts["cgroup_cpu_limit"], 1.5);
        assert_eq!(facts["cgroup_cpu_weight"], 79);
    }

    #[test]
    fn in_version_1_each_controller_has_its_own_mount_and_part() {
        let facts = facts(
            "32 31 0:29 /docker/1 /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 /docker/1 /cg/memory rw - cgroup cgroup rw,memory\n\
             41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n",
            "4:memory:/docker/1/x\n1:cpuacct,cpu:/docker/1\n0::/\n",
            &[
                ("cg/memory/x/memory.limit_in_bytes", "9223372036854771712\n"),
                ("cg/memory/memory.limit_in_bytes", "1048576\n"),
                ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
                ("cg/cpu/cpu.cfs_period_us", "100000\n"),
                ("cg/cpu/cpu.shares", "1024\n"),
            ],
        );
        assert_eq!(facts["cgroup_version"], "v1");
        assert_eq!(facts["cgroup_memory_limit_bytes"], 1_048_576);
        assert_eq!(facts["cgroup_cpu_limit"], "unlimited");
        assert_eq!(facts["cgroup_cpu_weight"], 1024);
    }

    #[test]
    fn a_quota_is_that_of_the_group_that_was_stopped_most_often() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        tree.write("proc/self/mountinfo", "41 31 0:38 / /cg rw - cgroup2 cgroup rw\n");
        tree.write("proc/self/cgroup", "0::/a/b\n");
        assert_eq!(Quota::read(&tree), None);
        let stat = |periods, throttled| {
            format!("usage_usec 5\nnr_periods {periods}\nnr_throttled {throttled}\nnr_bursts 0\n")
        };
        tree.write("cg/a/b/cpu.stat", &stat(0, 0));
        tree.write("cg/a/cpu.stat", &stat(10, 4));
        let before = Quota::read(&tree).unwrap();
        assert_eq!(before.throttled_since(before), None, "no period has ended");
        tree.write("cg/a/cpu.stat", &stat(33, 25));
        let share = Quota::read(&tree).unwrap().throttled_since(before);
        assert_eq!(share, Some(21.0 / 23.0));
    }

    #[test]
    fn without_groups_nothing_is_known() {
        let facts = facts("rubbish\n - \n1 - a\n", "::\n:\n0\n", &[]);
        assert!(facts.values().all(Value::is_null), "{facts:?}");
        assert_eq!(facts.len(), 4);
    }
}
