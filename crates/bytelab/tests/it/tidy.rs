//! What the compiler does not see of the architecture: which code may read the clock, start a
//! process, print, and what is left unfinished. Which crate knows which is in their manifests.

use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        if folder.is_file() {
            found.push(folder);
            continue;
        }
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        // A link leads to what is below another folder, too.
        let entries = entries.map(|entry| entry.unwrap());
        let entries = entries.filter(|entry| !entry.file_type().unwrap().is_symlink());
        folders.extend(entries.map(|entry| entry.path()));
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    assert!(!found.is_empty(), "no Rust file in {folder}");
    found
}

/// The Rust files below a folder of the workspace, with their content before the tests.
pub(crate) fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = rust_files(folder);
    let is_test = |path: &PathBuf| {
        path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
    };
    found.retain(|path| !is_test(path));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
        (path.strip_prefix(root()).unwrap().to_string_lossy().into_owned(), code)
    };
    found.into_iter().map(read).collect()
}

/// No file below `folder` contains one of these words, except the files that may.
fn forbid(folder: &str, words: &[&str], except: &[&str]) {
    for (path, code) in sources(folder) {
        if except.iter().any(|allowed| path.starts_with(allowed)) {
            continue;
        }
        for (number, line) in code.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if let Some(word) = words.iter().find(|word| !is_comment && line.contains(**word)) {
                panic!("{path}:{}: {word} is not allowed here", number + 1);
            }
        }
    }
}

/// The crates that neither measure nor are measured: plain values, and what is computed from them.
const PURE: [&str; 4] = [
    "crates/model/src",
    "crates/analysis/src",
    "crates/report/src",
    "crates/measure/src/timeline/json.rs",
];

const OTHERS: [&str; 4] =
    ["crates/store/src", "crates/experiments/src", "crates/bytelab/src", "libraries/tools/src"];

#[test]
fn only_the_clock_reads_time() {
    let words = ["Instant::now", "SystemTime", "clock_gettime", "getrusage"];
    forbid("crates/measure/src", &words, &["crates/measure/src/clock/mod.rs"]);
    for folder in OTHERS {
        forbid(folder, &words, &[]);
    }
}

#[test]
fn only_the_counters_read_those_of_a_process() {
    let words = ["schedstat\"", "clear_refs", "/io\"", "VmHWM:"];
    forbid("crates/measure/src", &words, &["crates/measure/src/counters"]);
    for folder in OTHERS {
        forbid(folder, &words, &["crates/bytelab/src/commands/doctor"]);
    }
}

#[test]
fn only_the_counting_watches_a_process() {
    let words = ["SYS_ptrace", "PTRACE_", "SYS_perf_event_open", "__WALL"];
    forbid("crates/measure/src", &words, &["crates/measure/src/count"]);
    for folder in OTHERS {
        forbid(folder, &words, &[]);
    }
}

#[test]
fn only_launch_starts_processes() {
    let words = ["Command::new", "posix_spawn(", "fork(", "execve("];
    forbid("crates/measure/src", &words, &["crates/measure/src/launch"]);
    let except = [
        // clap also calls a subcommand a command.
        "crates/bytelab/src/run_flags.rs",
        // These measure starting a process, and switching to one.
        "crates/experiments/src/threads/process.rs",
        "crates/experiments/src/threads/switch.rs",
    ];
    for folder in OTHERS {
        forbid(folder, &words, &except);
    }
}

#[test]
fn only_the_console_writes_to_standard_output_and_error() {
    let words =
        ["io::stdout().lock", "io::stdout().write", "io::stderr().lock", "io::stderr().write"];
    let macros = ["!(io::stdout", "!(io::stderr", "!(std::io::stdout", "!(std::io::stderr"];
    // A helper of the http methods prints its port for the process that started it.
    let except = ["crates/bytelab/src/console.rs", "crates/experiments/src/reading/http/serve.rs"];
    forbid("crates/bytelab/src", &[&words[..], &macros].concat(), &except);
}

#[test]
fn pure_crates_do_no_io() {
    let words = ["std::fs", "std::env", "std::net", "std::process", "clock::", "rustix", "libc::"];
    for part in PURE {
        forbid(part, &words, &[]);
    }
}

#[test]
fn the_libraries_do_not_know_the_lab() {
    for entry in std::fs::read_dir(root().join("libraries")).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap_or_default();
        assert!(!text.contains("/crates/"), "{}", manifest.display());
    }
}

#[test]
fn nothing_is_left_unfinished() {
    let words = ["todo!(", "unimplemented!(", "FIXME", "XXX"];
    for folder in ["crates", "libraries"] {
        forbid(folder, &words, &[]);
    }
}

#[test]
fn property_tests_have_one_seed_and_keep_the_cases_that_fail() {
    let config = std::fs::read_to_string(root().join(".cargo/config.toml")).unwrap();
    assert!(config.contains("\nPROPTEST_RNG_SEED = \"") && config.contains("[env]"), "{config}");
    let own_words = ["rng_seed", "failure_persistence"].map(|word| format!("{word}:"));
    for path in [rust_files("crates"), rust_files("libraries")].concat() {
        let text = std::fs::read_to_string(&path).unwrap();
        let found = own_words.iter().find(|word| text.contains(*word));
        assert_eq!(found, None, "{}: the default is the same for all", path.display());
    }
}
