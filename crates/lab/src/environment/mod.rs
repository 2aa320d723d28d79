//! The state of the machine, the kernel, the file system and the build: all that may change the
//! numbers. An unknown fact is null; no function here fails, and no process is started.

mod noise;
mod processor;
mod storage;
mod system;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use self::noise::{Noise, Shares};
pub use self::system::optimised;
pub use self::tree::digest;
use self::tree::{Facts, Tree};
use crate::run::{Environment, REVISIONS};

/// All facts at present, including those of the file system and the device that hold the file, if
/// one is named.
pub fn capture(data_file: Option<&Path>) -> Environment {
    capture_from(&Tree::new("/"), data_file)
}

/// The facts of the file system and the device that hold another path: those of the second one as
/// `data_2_…`.
pub fn of_place(path: &Path, number: usize) -> BTreeMap<String, Value> {
    storage::of_place(&Tree::new("/"), path, number)
}

/// The first of these paths in each directory.
pub fn places<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<&'a Path> {
    let mut known: BTreeSet<Option<String>> = BTreeSet::new();
    let is_new = |path: &&Path| known.insert(storage::directory(path));
    paths.map(PathBuf::as_path).filter(is_new).collect()
}

fn capture_from(tree: &Tree, data_file: Option<&Path>) -> Environment {
    let mut facts = Facts::new();
    processor::add(tree, &mut facts);
    system::add_memory(tree, &mut facts);
    system::add_kernel(tree, &mut facts);
    system::add_control_group(tree, &mut facts);
    storage::add(tree, data_file, &mut facts);
    system::add_program(&mut facts);
    noise::add(tree, &mut facts);
    Environment { fingerprint: fingerprint(&facts), facts }
}

/// The facts that identify a machine and its system. Excluded are facts that change by the minute,
/// facts of the data file, and the build of this program.
const SLOW: &[&str] = &[
    "cgroup_cpu_limit",
    "cgroup_memory_limit_bytes",
    "clock_source",
    "container",
    "cpu_affinity",
    "cpu_boost",
    "cpu_cores",
    "cpu_flags_digest",
    "cpu_frequency_driver",
    "cpu_governor",
    "cpu_isolated",
    "cpu_microcode",
    "cpu_model",
    "cpu_smt",
    "cpu_sockets",
    "cpu_threads",
    "hostname_digest",
    "huge_pages_total",
    "hypervisor",
    "kernel_architecture",
    "kernel_command_line_digest",
    "kernel_hz",
    "kernel_release",
    "kernel_version",
    "libc",
    "memory_gib",
    "mitigations_digest",
    "numa_nodes",
    "os_name",
    "swappiness",
    "transparent_huge_pages",
    "transparent_huge_pages_defrag",
    "transparent_huge_pages_shmem",
];

/// FNV-1a of the lines `fact=value` of the slow facts, in alphabetical order.
pub fn fingerprint(facts: &Facts) -> String {
    let lines =
        SLOW.iter().map(|fact| format!("{fact}={}\n", facts.get(*fact).unwrap_or(&Value::Null)));
    digest(&lines.collect::<String>())
}

/// A fact that differs between two environments; null where an environment lacks it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    pub fact: String,
    pub a: Value,
    pub b: Value,
}

/// Facts that say no more than another one does: the commit.
const OF_THE_COMMIT: [&str; 4] =
    ["project_branch", "project_commit_time", "project_subject", REVISIONS];

/// The differences of the machine and its system come first.
pub fn differences(a: &Environment, b: &Environment) -> Vec<Difference> {
    let facts: BTreeSet<&String> = a.facts.keys().chain(b.facts.keys()).collect();
    let value = |facts: &Facts, fact: &str| facts.get(fact).cloned().unwrap_or_default();
    let mut differences: Vec<Difference> = facts
        .into_iter()
        .filter(|fact| !OF_THE_COMMIT.contains(&fact.as_str()))
        .map(|fact| Difference {
            fact: fact.clone(),
            a: value(&a.facts, fact),
            b: value(&b.facts, fact),
        })
        .filter(|difference| difference.a != difference.b)
        .collect();
    differences.sort_by_key(|difference| !SLOW.contains(&difference.fact.as_str()));
    differences
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn there_are_many_facts_and_those_of_the_system_stay() {
        let (a, b) = (capture(None), capture(Some(Path::new("."))));
        assert!(a.facts.len() >= 60, "{}", a.facts.len());
        assert_eq!(a.facts.keys().collect::<Vec<_>>(), b.facts.keys().collect::<Vec<_>>());
        assert_eq!((a.fingerprint.len(), &a.fingerprint), (16, &b.fingerprint));
        assert_eq!(capture(None).fingerprint, a.fingerprint);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_every_linux_reports_is_known() {
        let facts = capture(Some(Path::new("."))).facts;
        let known = [
            "build_opt_level",
            "build_profile",
            "build_target",
            "bytelab_version",
            "clock_step_ns",
            "cpu_affinity_count",
            "cpu_threads",
            "data_file_system",
            "data_free_bytes",
            "kernel_hz",
            "kernel_release",
            "libc",
            "load_1_min",
            "memory_available_bytes",
            "memory_gib",
            "memory_total_bytes",
            "page_bytes",
            "rustc_version",
            "swappiness",
        ];
        for fact in known {
            assert!(!facts[fact].is_null(), "{fact}");
        }
    }

    #[test]
    fn every_slow_fact_is_a_fact() {
        let facts = capture(None).facts;
        assert!(SLOW.is_sorted());
        for fact in SLOW {
            assert!(facts.contains_key(*fact), "{fact}");
        }
    }

    #[test]
    fn a_system_that_reports_nothing_has_the_same_facts_as_null() {
        let directory = tempfile::tempdir().unwrap();
        let nothing = capture_from(&Tree::new(directory.path()), None);
        let names =
            |environment: &Environment| environment.facts.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&nothing), names(&capture(None)));
        for fact in ["cpu_model", "memory_total_bytes", "cgroup_version", "os_name", "load_1_min"] {
            assert_eq!(nothing.facts[fact], Value::Null, "{fact}");
        }
    }

    #[test]
    fn a_system_that_reports_rubbish_makes_nothing_fail() {
        let rubbish: [&[u8]; 5] =
            [b"", b"\xff\xfe[: = \n)(,-", b"-1\n", b"18446744073709551615-0,: kB\n", b"\n\n"];
        for text in rubbish {
            let directory = tempfile::tempdir().unwrap();
            let tree = Tree::new(directory.path());
            for path in RUBBISH_PATHS {
                let path = tree.path(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            // A directory where a file is expected.
            fs::create_dir_all(tree.path("proc/sys/vm/swappiness")).unwrap();
            let environment = capture_from(&tree, Some(directory.path()));
            assert!(environment.facts["swappiness"].is_null());
        }
    }

    const RUBBISH_PATHS: &[&str] = &[
        "etc/os-release",
        "proc/cmdline",
        "proc/cpuinfo",
        "proc/loadavg",
        "proc/meminfo",
        "proc/pressure/cpu",
        "proc/self/cgroup",
        "proc/self/mountinfo",
        "proc/self/stat",
        "proc/self/status",
        "proc/stat",
        "sys/class/power_supply/AC/online",
        "sys/devices/system/cpu/cpu0/cache/index0/level",
        "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
        "sys/devices/system/cpu/cpu0/cache/index0/size",
        "sys/devices/system/cpu/cpu0/topology/core_id",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "sys/devices/system/cpu/online",
        "sys/devices/system/cpu/vulnerabilities/meltdown",
        "sys/kernel/debug/sched/preempt",
        "sys/kernel/mm/transparent_hugepage/enabled",
    ];

    #[test]
    fn differences_are_reported_with_those_of_the_system_first() {
        let environment = |facts: &[(&str, Value)]| {
            let facts =
                facts.iter().map(|(fact, value)| ((*fact).to_owned(), value.clone())).collect();
            Environment { fingerprint: fingerprint(&facts), facts }
        };
        let a = environment(&[
            ("aslr", 1.into()),
            ("libc", "a".into()),
            ("same", 1.into()),
            ("gone", 2.into()),
        ]);
        let b = environment(&[
            ("aslr", 2.into()),
            ("libc", "b".into()),
            ("same", 1.into()),
            ("gone", json!(null)),
        ]);
        let found = differences(&a, &b);
        let facts: Vec<&str> = found.iter().map(|difference| difference.fact.as_str()).collect();
        assert_eq!(facts, ["libc", "aslr", "gone"]);
        assert_eq!((&found[2].a, &found[2].b), (&json!(2), &json!(null)));
        assert_ne!(a.fingerprint, b.fingerprint);
        assert_eq!(differences(&a, &a), []);
    }
}
