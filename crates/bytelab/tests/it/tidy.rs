//! What the compiler does not see of the architecture: which code may read the clock, start a
//! process, print, and what is left unfinished; and that the manifests name the crates that
//! ARCHITECTURE.md says.

use std::collections::BTreeMap;
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

/// What neither measures nor is measured: plain values, and what is computed from them.
const PURE: [&str; 5] = [
    "crates/model/src",
    "crates/analysis/src",
    "crates/report/src",
    "crates/measure/src/timeline/json.rs",
    "crates/measure/src/timeline/spans.rs",
];

/// All but measure and what is preloaded into other programs.
const OTHERS: [&str; 7] = [
    "crates/model/src",
    "crates/analysis/src",
    "crates/report/src",
    "crates/store/src",
    "crates/experiments/src",
    "crates/bytelab/src",
    "libraries/tools/src",
];

/// The list of metrics names the sources of their values.
const METRICS: &str = "crates/model/src/metric/mod.rs";

#[test]
fn only_the_clock_reads_time() {
    let words = ["Instant::now", "SystemTime", "clock_gettime", "getrusage"];
    forbid("crates/measure/src", &words, &["crates/measure/src/clock/mod.rs"]);
    for folder in OTHERS {
        forbid(folder, &words, &[METRICS]);
    }
}

#[test]
fn only_the_counters_read_those_of_a_process() {
    let words = ["schedstat\"", "clear_refs", "/io\"", "VmHWM:"];
    forbid("crates/measure/src", &words, &["crates/measure/src/counters"]);
    for folder in OTHERS {
        forbid(folder, &words, &[METRICS, "crates/bytelab/src/commands/doctor"]);
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
        "libraries/tools/src/sample/args.rs",
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
    // The first argument of a macro of several lines.
    let arguments = ["io::stdout(),", "io::stderr(),"];
    // A helper of the http methods prints its port for the process that started it.
    let except = ["crates/bytelab/src/console.rs", "crates/experiments/src/reading/http/serve.rs"];
    // The tools are a program of their own, whose work is to print.
    for folder in OTHERS.into_iter().filter(|folder| *folder != "libraries/tools/src") {
        forbid(folder, &[&words[..], &macros, &arguments].concat(), &except);
    }
}

#[test]
fn pure_crates_do_no_io() {
    let words = ["std::fs", "std::env", "std::net", "std::process", "clock::", "rustix", "libc::"];
    for part in PURE {
        forbid(part, &words, &[]);
    }
}

/// The content of a manifest, by the folder of its crate.
fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The crates of this repository that a manifest names in a table such as `dependencies`, also for
/// some systems only: the folder of each, and its entry.
pub(crate) fn own_crates(manifest: &toml::Table, table: &str) -> BTreeMap<String, toml::Value> {
    let systems = manifest.get("target").and_then(toml::Value::as_table);
    let systems = systems.into_iter().flat_map(toml::Table::values);
    let tables = systems.filter_map(toml::Value::as_table).chain([manifest]);
    let named = tables.filter_map(|of| of.get(table)?.as_table()).flatten();
    let folder = |(_, entry): (&String, &toml::Value)| {
        let path = Path::new(entry.get("path")?.as_str()?);
        Some((path.file_name()?.to_str()?.to_owned(), entry.clone()))
    };
    named.filter_map(folder).collect()
}

/// The last column of the table in ARCHITECTURE.md, and the crates that it means.
const ARROWS: [(&str, &str, &[&str]); 8] = [
    ("model", "byte-stream's `parse_bytes`", &["byte-stream"]),
    ("analysis", "model", &["model"]),
    ("allocation-shim", "–", &[]),
    ("measure", "analysis, model, allocation-shim", &["allocation-shim", "analysis", "model"]),
    ("store", "model", &["model"]),
    ("report", "analysis, model", &["analysis", "model"]),
    (
        "experiments",
        "measure, model, the libraries",
        &["byte-stream", "documents", "fleece-codec", "measure", "model", "record-sampler"],
    ),
    (
        "bytelab",
        "all",
        &["analysis", "experiments", "measure", "model", "report", "store", "tools"],
    ),
];

#[test]
fn the_crates_use_what_the_architecture_says() {
    let architecture = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, words, used) in ARROWS {
        let row = architecture.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        assert!(row.is_some_and(|row| row.ends_with(&format!(" | {words} |"))), "{name}: {row:?}");
        let named = own_crates(&manifest(&format!("crates/{name}")), "dependencies");
        assert_eq!(named.keys().collect::<Vec<_>>(), used, "{name}");
    }
    let folders = std::fs::read_dir(root().join("crates")).unwrap();
    assert_eq!(folders.count(), ARROWS.len());
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
fn no_library_knows_another_one() {
    for library in ["byte-stream", "documents", "fleece-codec", "record-sampler"] {
        let manifest = manifest(&format!("libraries/{library}"));
        for table in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let mut named = own_crates(&manifest, table);
            if table == "dev-dependencies" {
                named.remove("documents");
            }
            // It reads compressed files, without HTTP.
            if (library, table) == ("record-sampler", "dependencies") {
                let decoders = named.remove("byte-stream").unwrap();
                let (off, decode) = (toml::Value::from(false), toml::Value::from(vec!["decode"]));
                assert_eq!(decoders.get("default-features"), Some(&off));
                assert_eq!(decoders.get("features"), Some(&decode));
            }
            assert!(named.is_empty(), "{library}, {table}: {named:?}");
        }
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
