//! The facts of an environment: those that identify a machine, and how two environments differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::run::{Environment, REVISIONS};

/// Values by name; an unknown one is null.
pub type Facts = BTreeMap<String, Value>;

/// The facts that identify a machine and its system. Excluded are facts that change by the minute,
/// facts of the data file, and the build of this program.
pub const IDENTIFYING: &[&str] = &[
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

/// FNV-1a of the lines `fact=value` of the identifying facts, in alphabetical order.
pub fn fingerprint(facts: &Facts) -> String {
    let lines = IDENTIFYING
        .iter()
        .map(|fact| format!("{fact}={}\n", facts.get(*fact).unwrap_or(&Value::Null)));
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
    differences.sort_by_key(|difference| !IDENTIFYING.contains(&difference.fact.as_str()));
    differences
}

/// FNV-1a, 64 bit (<http://www.isthe.com/chongo/tech/comp/fnv/>): short, and stable over all
/// versions.
pub fn digest(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_digest_is_that_of_the_definition() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("a"), "af63dc4c8601ec8c");
        assert_eq!(digest("foobar"), "85944171f73967e8");
    }

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
