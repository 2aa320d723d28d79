//! Facts of the processor: its model, its maximum speed, and which of its features are restricted.

use std::collections::BTreeSet;

use model::facts::{Facts, digest};

use super::tree::{Tree, count_of, field, value};
use crate::clock;

const CPU: &str = "sys/devices/system/cpu";

/// From the first record of /proc/cpuinfo: the fact, and its names on x86, ARM and others.
const RECORD: &[(&str, &[&str])] = &[
    ("cpu_vendor", &["vendor_id", "CPU implementer"]),
    ("cpu_model", &["model name", "Model", "uarch", "cpu"]),
    ("cpu_family", &["cpu family", "CPU architecture"]),
    ("cpu_model_number", &["model", "CPU part"]),
    ("cpu_stepping", &["stepping", "CPU revision"]),
    ("cpu_microcode", &["microcode"]),
    ("cpu_mhz_now", &["cpu MHz"]),
];

/// The features that decide which code reads bytes fast.
const FEATURES: &[&str] = &[
    "sse2",
    "ssse3",
    "sse4_2",
    "avx",
    "avx2",
    "avx512bw",
    "bmi2",
    "popcnt",
    "erms",
    "fsrm",
    "asimd",
    "sve",
    "sve2",
    "crc32",
    "constant_tsc",
    "nonstop_tsc",
];

const CACHES: &[&str] = &["l1d", "l1i", "l2", "l3"];

pub(super) fn add(tree: &Tree, facts: &mut Facts) {
    add_record(tree, facts);
    add_topology(tree, facts);
    add_caches(tree, facts);
    add_frequency(tree, facts);
    add_mitigations(tree, facts);
    let mut set = |fact: &str, value: Option<String>| facts.insert(fact.into(), value.into());
    set("clock_source", clock::source());
    set("hypervisor", hypervisor(tree));
    facts.insert("clock_step_ns".into(), clock::step_ns().into());
    facts.insert("clock_cost_ns".into(), clock::cost_ns().into());
}

fn add_record(tree: &Tree, facts: &mut Facts) {
    // One record is about 2 KB, and all together can be megabytes.
    let text = tree.beginning("proc/cpuinfo", 8192).unwrap_or_default();
    for (fact, names) in RECORD {
        let found = names.iter().find_map(|name| field(&text, name));
        facts.insert((*fact).into(), found.map(value).into());
    }
    let flags = field(&text, "flags").or_else(|| field(&text, "Features"));
    let flags: Option<BTreeSet<&str>> = flags.map(|flags| flags.split_whitespace().collect());
    let all = flags.as_ref().map(|flags| join(flags.iter().copied(), " "));
    let known =
        flags.map(|flags| join(FEATURES.iter().copied().filter(|f| flags.contains(f)), " "));
    facts.insert("cpu_flags_digest".into(), all.map(|flags| digest(&flags)).into());
    facts.insert("cpu_features".into(), known.into());
}

fn add_topology(tree: &Tree, facts: &mut Facts) {
    let (mut sockets, mut cores) = (BTreeSet::new(), BTreeSet::new());
    for cpu in tree.names(CPU).iter().filter(|name| is_numbered(name, "cpu")) {
        let id = |name| tree.line(&format!("{CPU}/{cpu}/topology/{name}"));
        if let (Some(socket), Some(core)) = (id("physical_package_id"), id("core_id")) {
            cores.insert((socket.clone(), core));
            sockets.insert(socket);
        }
    }
    let some = |n: usize| (n > 0).then_some(n as u64);
    let online = tree.line(&format!("{CPU}/online"));
    let nodes = tree.line("sys/devices/system/node/online").and_then(|list| count_of(&list));
    facts.insert("cpu_sockets".into(), some(sockets.len()).into());
    facts.insert("cpu_cores".into(), some(cores.len()).into());
    facts.insert("cpu_threads".into(), online.and_then(|list| count_of(&list)).into());
    facts.insert("numa_nodes".into(), nodes.into());
    facts.insert("cpu_smt".into(), tree.value(&format!("{CPU}/smt/control")));
    facts.insert("cpu_isolated".into(), tree.value(&format!("{CPU}/isolated")));
    facts.insert("cpu_nohz_full".into(), tree.value(&format!("{CPU}/nohz_full")));
    let kinds =
        ["cpu_core", "cpu_atom"].map(|kind| tree.path(&format!("sys/devices/{kind}")).exists());
    facts.insert("cpu_hybrid".into(), (kinds == [true, true]).into());
}

/// The caches of the first CPU, as `cache_l1d_bytes`, `cache_l2_ways` and so on.
fn add_caches(tree: &Tree, facts: &mut Facts) {
    for cache in CACHES {
        for measure in ["bytes", "line_bytes", "ways", "shared_by"] {
            facts.insert(format!("cache_{cache}_{measure}"), ().into());
        }
    }
    let folder = format!("{CPU}/cpu0/cache");
    for index in tree.names(&folder).iter().filter(|name| is_numbered(name, "index")) {
        let path = |name: &str| format!("{folder}/{index}/{name}");
        let kind = match tree.line(&path("type")).as_deref() {
            Some("Data") => "d",
            Some("Instruction") => "i",
            _ => "",
        };
        let cache = format!("l{}{kind}", tree.line(&path("level")).unwrap_or_default());
        if !CACHES.contains(&cache.as_str()) {
            continue;
        }
        let mut set = |measure: &str, value: Option<u64>| {
            facts.insert(format!("cache_{cache}_{measure}"), value.into())
        };
        set("bytes", tree.line(&path("size")).and_then(|size| bytes(&size)));
        set("line_bytes", tree.number(&path("coherency_line_size")));
        set("ways", tree.number(&path("ways_of_associativity")));
        set("shared_by", tree.line(&path("shared_cpu_list")).and_then(|list| count_of(&list)));
    }
}

fn add_frequency(tree: &Tree, facts: &mut Facts) {
    let folder = format!("{CPU}/cpufreq");
    let policies = tree.names(&folder);
    let policies = policies.iter().filter(|name| is_numbered(name, "policy"));
    let of_all = |name: &str| {
        let values: BTreeSet<String> = policies
            .clone()
            .filter_map(|policy| tree.line(&format!("{folder}/{policy}/{name}")))
            .collect();
        (!values.is_empty()).then(|| join(values.iter().map(String::as_str), ", "))
    };
    for (fact, name) in [
        ("cpu_governor", "scaling_governor"),
        ("cpu_frequency_driver", "scaling_driver"),
        ("cpu_frequency_min_khz", "scaling_min_freq"),
        ("cpu_frequency_max_khz", "scaling_max_freq"),
        ("cpu_energy_preference", "energy_performance_preference"),
    ] {
        facts.insert(fact.into(), of_all(name).into());
    }
    let no_turbo = tree.flag(&format!("{CPU}/intel_pstate/no_turbo"));
    let boost = tree.flag(&format!("{folder}/boost")).or(no_turbo.map(|held_back| !held_back));
    facts.insert("cpu_boost".into(), boost.into());
    facts.insert("cpu_idle_driver".into(), tree.value(&format!("{CPU}/cpuidle/current_driver")));
    facts
        .insert("cpu_idle_governor".into(), tree.value(&format!("{CPU}/cpuidle/current_governor")));
    let throttled = tree.value(&format!("{CPU}/cpu0/thermal_throttle/core_throttle_count"));
    facts.insert("cpu_throttle_count".into(), throttled);
    facts.insert("platform_profile".into(), tree.value("sys/firmware/acpi/platform_profile"));
}

fn add_mitigations(tree: &Tree, facts: &mut Facts) {
    let folder = format!("{CPU}/vulnerabilities");
    let (mut all, mut affected) = (String::new(), Vec::new());
    for name in tree.names(&folder) {
        let Some(line) = tree.line(&format!("{folder}/{name}")) else { continue };
        let fact = format!("{name}: {line}");
        all = all + &fact + "\n";
        if line != "Not affected" {
            affected.push(fact);
        }
    }
    let known = !all.is_empty();
    facts.insert("mitigations".into(), known.then(|| affected.join("; ")).into());
    facts.insert("mitigations_digest".into(), known.then(|| digest(&all)).into());
}

/// By its own name, else by that of the machine that it emulates; "none" where the processor
/// reports none.
fn hypervisor(tree: &Tree) -> Option<String> {
    let text = tree.beginning("proc/cpuinfo", 8192).unwrap_or_default();
    let flags = field(&text, "flags");
    if let Some(flags) = flags
        && !flags.split_whitespace().any(|flag| flag == "hypervisor")
    {
        return Some("none".into());
    }
    signature(flags.is_some())
        .or_else(|| tree.line("sys/hypervisor/type"))
        .or_else(|| tree.line("sys/class/dmi/id/sys_vendor"))
}

/// The twelve letters with which hypervisors sign, and their names.
#[cfg(target_arch = "x86_64")]
const SIGNATURES: &[(&str, &str)] = &[
    ("KVMKVMKVM", "kvm"),
    ("Microsoft Hv", "hyper-v"),
    ("TCGTCGTCGTCG", "qemu without kvm"),
    ("VBoxVBoxVBox", "virtualbox"),
    ("VMwareVMware", "vmware"),
    ("XenVMMXenVMM", "xen"),
    ("bhyve bhyve ", "bhyve"),
];

/// `CPUID` leaf 0x40000000, which exists when the processor reports a hypervisor.
#[cfg(target_arch = "x86_64")]
fn signature(present: bool) -> Option<String> {
    if !present {
        return None;
    }
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let letters = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let text = String::from_utf8(letters).ok()?;
    if let Some((_, name)) = SIGNATURES.iter().find(|(letters, _)| text.starts_with(letters)) {
        return Some((*name).to_owned());
    }
    let name = text.trim_matches(['\0', ' ']).to_owned();
    (!name.is_empty() && name.chars().all(|letter| letter.is_ascii_graphic() || letter == ' '))
        .then_some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn signature(_present: bool) -> Option<String> {
    None
}

fn join<'t>(words: impl Iterator<Item = &'t str>, separator: &str) -> String {
    words.collect::<Vec<_>>().join(separator)
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// `32K`, `1024K`, `16M`.
fn bytes(size: &str) -> Option<u64> {
    let (number, unit) = match size.strip_suffix(['K', 'M', 'G']) {
        Some(number) => (number, &size[number.len()..]),
        None => (size, ""),
    };
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 0,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_are_in_bytes() {
        let check = |size, expected| assert_eq!(bytes(size), expected, "{size}");
        check("32K", Some(32 << 10));
        check("16M", Some(16 << 20));
        check("1G", Some(1 << 30));
        check("512", Some(512));
        check("18446744073709551615K", None);
        check("K", None);
        check("", None);
    }

    #[test]
    fn caches_speeds_and_mitigations_are_those_of_the_files() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        let files = [
            ("cpu0/cache/index0/level", "1"),
            ("cpu0/cache/index0/type", "Data"),
            ("cpu0/cache/index0/size", "48K"),
            ("cpu0/cache/index0/shared_cpu_list", "0-1"),
            ("cpu0/cache/index2/level", "2"),
            ("cpu0/cache/index2/type", "Unified"),
            ("cpu0/cache/index2/ways_of_associativity", "16"),
            ("cpufreq/policy0/scaling_governor", "powersave"),
            ("cpufreq/policy1/scaling_governor", "performance"),
            ("cpufreq/policy2/scaling_governor", "powersave"),
            ("intel_pstate/no_turbo", "1"),
            ("vulnerabilities/l1tf", "Not affected"),
            ("vulnerabilities/retbleed", "Mitigation: IBRS"),
        ];
        for (path, text) in files {
            tree.write(&format!("{CPU}/{path}"), text);
        }
        let mut facts = Facts::new();
        add_caches(&tree, &mut facts);
        add_frequency(&tree, &mut facts);
        add_mitigations(&tree, &mut facts);
        assert_eq!(facts["cache_l1d_bytes"], 48 << 10);
        assert_eq!(facts["cache_l1d_shared_by"], 2);
        assert_eq!(facts["cache_l2_ways"], 16);
        assert!(facts["cache_l1i_bytes"].is_null());
        assert_eq!(facts["cpu_governor"], "performance, powersave");
        assert_eq!(facts["cpu_boost"], false);
        assert_eq!(facts["mitigations"], "retbleed: Mitigation: IBRS");
    }

    #[test]
    fn without_a_signature_the_system_names_the_hypervisor() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        let with = |path: &str, text: &str| {
            tree.write(path, text);
            hypervisor(&tree)
        };
        assert_eq!(hypervisor(&tree), None);
        assert_eq!(with("sys/class/dmi/id/sys_vendor", "QEMU\n").as_deref(), Some("QEMU"));
        assert_eq!(with("sys/hypervisor/type", "xen\n").as_deref(), Some("xen"));
        // Of a processor that reports its flags, but no hypervisor.
        assert_eq!(with("proc/cpuinfo", "flags\t: fpu sse2\n").as_deref(), Some("none"));
    }

    #[test]
    fn only_numbered_names_are_those_of_processors() {
        assert!(is_numbered("cpu12", "cpu"));
        assert!(!is_numbered("cpu", "cpu") && !is_numbered("cpufreq", "cpu"));
    }
}
