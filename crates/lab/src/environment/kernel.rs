//! Facts of the kernel and the system around it, and of what this process may do.

use std::ffi::CStr;

use rustix::process::Resource;
use serde_json::Value;

use super::tree::{Facts, Tree, count_of, digest, field};
use crate::clock;

const SETTINGS: &[(&str, &str)] = &[
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

pub(super) fn add(tree: &Tree, facts: &mut Facts) {
    for (fact, path) in SETTINGS {
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
    fn the_preemption_in_force_is_preferred_to_that_of_the_build() {
        let version = "#1 SMP PREEMPT_DYNAMIC Mon Jan 5";
        let found = |path: &str, text: &str| with(path, text, |tree| preemption(tree, version));
        let file = "sys/kernel/debug/sched/preempt";
        assert_eq!(found(file, "none (voluntary) full\n").as_deref(), Some("voluntary"));
        assert_eq!(found(file, "none\n").as_deref(), Some("PREEMPT_DYNAMIC"));
        assert_eq!(with("x", "", |tree| preemption(tree, "#1 SMP Mon Jan 5")), None);
    }
}
