//! Facts of the memory: its size, its pages, and what the kernel does when it runs short.

use super::tree::{Facts, Tree, number};

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

const SETTINGS: &[(&str, &str)] = &[
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

pub(super) fn add(tree: &Tree, facts: &mut Facts) {
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
    for (fact, path) in SETTINGS {
        facts.insert((*fact).into(), tree.value(path));
    }
    // The amount that the kernel reserves for itself differs slightly from boot to boot.
    let gib = number(&text, "MemTotal").map(|kib| (kib as f64 / 1_048_576.0).round() as u64);
    facts.insert("memory_gib".into(), gib.into());
    facts.insert("page_bytes".into(), rustix::param::page_size().into());
}
