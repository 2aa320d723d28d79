//! The facts of a run's environment that others may see. What is not on a list here is left out,
//! with its name.

use model::facts::fingerprint;
use model::run::{Environment, MeasuredRevision, ProjectCommit, REVISIONS, RevisionMethod};
use serde_json::Value;

use super::hidden::{HiddenKind, LANGUAGES, Redactor, starts_path, without_paths};

/// Facts of the hardware, of the system and of the build.
const ALLOWED: &str = "
    aio_max_nr aslr between_samples_ns build_debug_assertions build_opt_level build_optimised
    build_profile build_target build_target_cpu build_target_features busy_share_of_others
    bytelab_dirty bytelab_revision bytelab_version capabilities cgroup_cpu_limit cgroup_cpu_weight
    cgroup_memory_limit_bytes cgroup_version clock_cost_ns clock_source clock_step_ns
    compaction_proactiveness container cpu_affinity cpu_affinity_count cpu_boost cpu_cores
    cpu_energy_preference cpu_family cpu_features cpu_flags_digest cpu_frequency_driver
    cpu_frequency_max_khz cpu_frequency_min_khz cpu_governor cpu_hybrid cpu_idle_driver
    cpu_idle_governor cpu_isolated cpu_mhz_now cpu_microcode cpu_model cpu_model_number
    cpu_nohz_full cpu_smt cpu_sockets cpu_stepping cpu_threads cpu_throttle_count cpu_vendor
    data_block_bytes data_device_below data_device_bytes data_device_encrypted data_device_kind
    data_device_model data_device_name data_device_scheduler data_file_system data_free_bytes
    data_logical_block_bytes data_max_sectors_kb data_nr_requests data_physical_block_bytes
    data_read_ahead_kb data_rotational data_total_bytes data_write_cache
    data_write_latency_target_us delayacct dirty_background_ratio dirty_expire_centisecs dirty_ratio
    dirty_writeback_centisecs goarch goos huge_page_bytes huge_pages_free huge_pages_total
    hypervisor io_uring_disabled kernel_architecture kernel_command_line_digest kernel_hz
    kernel_name kernel_preemption kernel_release kernel_version kptr_restrict ksm_run libc
    limit_address_space_bytes limit_file_bytes limit_locked_memory_bytes limit_open_files
    limit_stack_bytes load_15_min load_1_min load_5_min lockdown lru_gen measured_by_process
    measured_by_process_start measured_for_files_ns measured_for_memory_ns measured_for_ns
    measured_for_reading_ns measured_for_threads_ns memory_available_bytes memory_cached_bytes
    memory_dirty_bytes memory_file_huge_bytes memory_free_bytes memory_gib
    memory_nodes_allowed memory_total_bytes min_free_kbytes mitigations mitigations_digest nice
    nmi_watchdog numa_balancing numa_nodes on_battery os_name overcommit_memory page_bytes
    perf_event_paranoid pipe_max_bytes platform_profile pressure_cpu_60_s_percent
    pressure_io_60_s_percent pressure_memory_60_s_percent processes_ready program_bytes
    program_modified project_commit project_commit_time project_dirty ptrace_scope root
    rustc_version sched_autogroup sched_base_slice_ns sched_features_digest sched_rt_runtime_us
    sched_schedstats seccomp security_modules steal_share steal_share_since_boot swap_free_bytes
    swap_total_bytes swappiness tainted timer_migration transparent_huge_pages
    transparent_huge_pages_defrag transparent_huge_pages_shmem unprivileged_bpf_disabled
    vfs_cache_pressure zone_reclaim_mode zswap";

/// Facts whose text is hidden with the host: a server of files has its name in them.
const OF_HOST: [&str; 5] =
    ["data_device", "data_mount_options", "host_name", "hostname_digest", "measured_in_boot"];

/// The words with which facts begin that machines of one kind share.
const OF_A_KIND_OF_MACHINE: [&str; 12] = [
    "build_",
    "cgroup_",
    "clock_",
    "cpu_",
    "data_device_kind",
    "data_file_system",
    "huge_pages_",
    "kernel_",
    "memory_",
    "mitigations",
    "toolchain_",
    "transparent_huge_pages",
];

const WHOLE: [&str; 8] = [
    "container",
    "data_rotational",
    "hypervisor",
    "libc",
    "numa_nodes",
    "os_name",
    "page_bytes",
    "swappiness",
];

pub(super) fn redacted(environment: Environment, hidden: &Redactor<'_>) -> Environment {
    let Environment { fingerprint: old, facts } = environment;
    let facts = facts.into_iter().filter_map(|(name, value)| {
        let value = of_fact(&name, value, hidden)?;
        Some((name, value))
    });
    let facts = facts.collect();
    let is_digest = is_hexadecimal(&old);
    let fingerprint = match hidden.redaction.is_contribution {
        true => fingerprint(&facts),
        false if is_digest => old,
        false => hidden.redaction.stand_in("machine", &old),
    };
    Environment { fingerprint, facts }
}

/// The fact as others see it; `None` if it is left out.
fn of_fact(name: &str, value: Value, hidden: &Redactor<'_>) -> Option<Value> {
    let redaction = hidden.redaction;
    if redaction.is_contribution && !is_of_a_kind_of_machine(name) {
        return None;
    }
    if name == REVISIONS {
        return revisions(value, hidden);
    }
    let plain = of_first_place(name);
    let is_command = is_of_language(name, "worker_") && name.ends_with("_command");
    let is_text = is_command || OF_HOST.contains(&&*plain) || plain == "data_directory";
    let is_share = name == "data_file_large_folio_share";
    if !(is_text || is_share || is_allowed(&plain)) {
        return None;
    }
    let Value::String(text) = value else {
        return (!value.is_array() && !value.is_object()).then_some(value);
    };
    let hides = |kind| redaction.hides(kind);
    let names_host = plain != "data_device" || !text.starts_with('/') || text.starts_with("//");
    Some(Value::String(match () {
        () if is_share => return hidden.sentence(&text).map(Value::String),
        () if is_command && hides(HiddenKind::Commands) => redaction.stand_in("command", &text),
        () if is_command => hidden.text(&text),
        () if OF_HOST.contains(&&*plain) && hides(HiddenKind::Host) && names_host => {
            redaction.stand_in("host", &text)
        }
        () => {
            let text = hidden.without_names(&text);
            if hides(HiddenKind::Paths) && plain != "data_device" {
                without_paths(&text, starts_path, |path| redaction.stand_in("path", path))
            } else {
                text
            }
        }
    }))
}

/// A revision as others see it: subject and branch are private, like those of the tree.
fn revisions(value: Value, hidden: &Redactor<'_>) -> Option<Value> {
    let revisions: Vec<MeasuredRevision> = serde_json::from_value(value).ok()?;
    let shown = |MeasuredRevision { name, commit, methods }: MeasuredRevision| {
        let ProjectCommit { commit, commit_time, subject: _, branch: _, dirty } = commit;
        let commit = Some(commit).filter(|commit| is_hexadecimal(commit))?;
        let is_time = |time: &String| humantime::parse_rfc3339(time).is_ok();
        let commit_time = commit_time.filter(is_time);
        Some(MeasuredRevision {
            name: hidden.name("revision", &name),
            commit: ProjectCommit { commit, commit_time, dirty, ..ProjectCommit::default() },
            methods: methods.into_iter().map(|method| of_revision(method, hidden)).collect(),
        })
    };
    let shown: Vec<MeasuredRevision> = revisions.into_iter().filter_map(shown).collect();
    serde_json::to_value(shown).ok()
}

fn of_revision(method: RevisionMethod, hidden: &Redactor<'_>) -> RevisionMethod {
    let RevisionMethod { name, command, sha256 } = method;
    let hides = hidden.redaction.hides(HiddenKind::Commands);
    let known = sha256.into_iter().filter(|(_, digest)| !hides && is_hexadecimal(digest));
    RevisionMethod {
        name: hidden.method(&name),
        command: hidden.name("command", &command),
        sha256: known.map(|(file, digest)| (hidden.path(&file), digest)).collect(),
    }
}

fn is_hexadecimal(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name of the same fact of the first place of data: `data_directory` of `data_2_directory`.
fn of_first_place(name: &str) -> String {
    let of_place = name.strip_prefix("data_").and_then(|rest| rest.split_once('_'));
    match of_place {
        Some((number, fact)) if number.parse::<u32>().is_ok() => format!("data_{fact}"),
        _ => name.to_owned(),
    }
}

fn is_allowed(name: &str) -> bool {
    ALLOWED.split_whitespace().any(|known| known == name)
        || is_of_language(name, "toolchain_")
        || is_of_cache(name)
}

/// Such as `toolchain_cpp_simdjson`.
fn is_of_language(name: &str, start: &str) -> bool {
    let rest = name.strip_prefix(start).unwrap_or_default();
    LANGUAGES.contains(&rest.split('_').next().unwrap_or_default())
}

/// Such as `cache_l1d_line_bytes`.
fn is_of_cache(name: &str) -> bool {
    let level = |rest: &str| {
        let (cache, measure) = rest.split_once('_')?;
        let cache = cache.strip_prefix('l')?.trim_end_matches(['d', 'i']);
        let is_measure = ["bytes", "line_bytes", "ways", "shared_by"].contains(&measure);
        (is_measure && cache.parse::<u8>().is_ok()).then_some(())
    };
    name.strip_prefix("cache_").and_then(level).is_some()
}

fn is_of_a_kind_of_machine(fact: &str) -> bool {
    let is_digest_of_a_name = fact == "kernel_command_line_digest";
    let is_kind = OF_A_KIND_OF_MACHINE.iter().any(|kind| fact.starts_with(kind));
    (is_kind || WHOLE.contains(&fact)) && !is_digest_of_a_name
}
