//! The state of the machine, the kernel, the file system and the build: all that may change the
//! numbers. An unknown fact is null; no function here fails, and no process is started.

mod noise;
mod processor;
mod storage;
mod system;
mod tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use model::facts::{Facts, fingerprint};
use model::run::Environment;

pub use self::noise::{Noise, Shares};
pub use self::system::optimised;
use self::tree::Tree;

/// All facts at present, including those of the file system and the device that hold the file, if
/// one is named.
pub fn capture(data_file: Option<&Path>) -> Environment {
    capture_from(&Tree::new("/"), data_file)
}

/// The facts of the file system and the device that hold another path: those of the second one as
/// `data_2_…`.
pub fn of_place(path: &Path, number: usize) -> Facts {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use model::facts::IDENTIFYING;

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
    fn every_identifying_fact_is_a_fact() {
        let facts = capture(None).facts;
        assert!(IDENTIFYING.is_sorted());
        for fact in IDENTIFYING {
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
}
