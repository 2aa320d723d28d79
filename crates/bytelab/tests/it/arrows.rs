//! Which module may use which: the arrows inside the program.

use crate::tidy::{root, sources};

const EXPERIMENTS: &str = "crates/bytelab/src/experiments";

/// The names of the modules of this folder.
fn folders_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// The first of these modules that the code uses, by a path from `super` or from the root of the
/// program.
fn used<'a>(code: &str, modules: &[&'a str]) -> Option<&'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let in_use = |statement: &str, module: &str| {
        let statement = statement.trim_start();
        let start = statement.rfind("use ").map_or("", |at| &statement[at..]);
        (start.starts_with("use super::") || start.starts_with("use crate::experiments::"))
            && start.split(|c| !is_word(c)).any(|word| word == module)
    };
    let inline = |module: &str| {
        [format!("super::{module}::"), format!("experiments::{module}::")]
            .iter()
            .any(|path| code.contains(path))
    };
    let mut found = modules.iter().copied();
    found.find(|module| inline(module) || code.split(';').any(|part| in_use(part, module)))
}

#[test]
fn an_experiment_uses_no_other_one() {
    let experiments = folders_in(EXPERIMENTS);
    assert!(experiments.iter().any(|name| name == "shared"), "{experiments:?}");
    for name in &experiments {
        // It selects methods from the others.
        if name == "numbers" {
            continue;
        }
        let others = experiments.iter().filter(|other| *other != name && *other != "shared");
        let others: Vec<&str> = others.map(String::as_str).collect();
        for (path, code) in sources(&format!("{EXPERIMENTS}/{name}")) {
            assert_eq!(used(&code, &others), None, "{path} uses another experiment");
        }
    }
}

#[test]
fn the_main_file_is_a_table_of_contents() {
    let main = std::fs::read_to_string(root().join("crates/bytelab/src/main.rs")).unwrap();
    assert!(main.lines().count() <= 60, "{} lines", main.lines().count());
}

#[test]
fn no_command_is_known_below_the_commands() {
    for part in folders_in("crates/bytelab/src").iter().filter(|part| *part != "commands") {
        for (path, code) in sources(&format!("crates/bytelab/src/{part}")) {
            let known = ["crate::commands", "crate::cli", "crate::run_flags"]
                .into_iter()
                .find(|word| code.contains(word));
            assert_eq!(known, None, "{path}");
        }
    }
}

#[test]
fn a_module_that_is_used_is_found() {
    let found = |code: &str| used(code, &["files", "memory"]);
    assert_eq!(found("use super::memory::announced;"), Some("memory"));
    assert_eq!(found("//! Text.\n\nuse super::{\n    caches, files,\n};"), Some("files"));
    assert_eq!(found("fn f() { super::super::files::folder() }"), Some("files"));
    assert_eq!(found("use crate::experiments::files;"), Some("files"));
    assert_eq!(found("use super::made_files::files_of;"), None);
    assert_eq!(found("use lab::memory;\nlet files = 1;"), None);
}
