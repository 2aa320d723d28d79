//! Which module may use which: the arrows inside the program.

use crate::module_graph::{Uses, uses};
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

/// The folders of the report, each with the others that it may use. The export uses the paragraphs
/// of the text, which its Markdown contains, and the JSON writer, which escapes what terminals
/// interpret.
const REPORT: [(&str, &[&str]); 6] = [
    ("model", &[]),
    ("text", &["model"]),
    ("html", &["model"]),
    ("svg", &["model"]),
    ("json", &["model"]),
    ("export", &["model", "text", "json"]),
];

/// Each use of a file of the report that its folder does not allow.
fn forbidden_in_the_report(uses: &Uses) -> Vec<String> {
    let folder = |file: &str| {
        let below = file.strip_prefix("src/report/")?;
        Some(below.split_once('/').map_or("the hub", |(folder, _)| folder).to_owned())
    };
    let is_allowed = |(from, to): &(String, String)| {
        let (Some(from), Some(to)) = (folder(from), folder(to)) else { return true };
        let allowed = REPORT.iter().find(|(name, _)| *name == from);
        from == to || from == "the hub" || allowed.is_some_and(|(_, may)| may.contains(&&*to))
    };
    let found = uses.iter().filter(|(ends, _)| !is_allowed(ends));
    found.map(|((from, to), path)| format!("{from} → {to}: {path}")).collect()
}

#[test]
fn the_kinds_of_text_use_the_model_and_not_each_other() {
    let mut folders = folders_in("crates/bytelab/src/report");
    folders.retain(|name| name != "tests");
    folders.sort_unstable();
    let mut known = REPORT.map(|(name, _)| name);
    known.sort_unstable();
    assert_eq!(folders, known);
    let read = |file: &str| std::fs::read_to_string(root().join("crates/bytelab").join(file)).ok();
    let uses = uses("src/main.rs", &read);
    let inside = uses.keys().filter(|(from, to)| {
        from.starts_with("src/report/text/") && to.starts_with("src/report/views/")
    });
    assert!(inside.count() > 20, "the graph has the report");
    assert_eq!(forbidden_in_the_report(&uses), Vec::<String>::new());
}

/// A path through a name that the hub re-exports would hide the arrow from a reader.
#[test]
fn nothing_in_the_report_imports_its_hub() {
    for (folder, _) in REPORT {
        for (path, code) in sources(&format!("crates/bytelab/src/report/{folder}")) {
            assert_eq!(of_the_hub(&code), None, "{path}");
        }
    }
}

/// The rest of the first line that takes a name from `crate::report` that is not a folder.
fn of_the_hub(code: &str) -> Option<&str> {
    let mut paths = code.split("crate::report").skip(1).filter_map(|rest| rest.lines().next());
    paths.find(|rest| {
        let name = rest.strip_prefix("::").unwrap_or_default();
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
        let is_folder = REPORT.iter().any(|(folder, _)| *folder == name);
        !is_folder || !rest[2 + name.len()..].starts_with("::")
    })
}

#[test]
fn a_planted_use_of_another_kind_of_text_is_found() {
    let files = |model: &'static str, text: &'static str| {
        let read = move |file: &str| {
            let text = match file {
                "src/main.rs" => "mod report;",
                "src/report/mod.rs" => {
                    "mod model; mod text; mod svg; pub use text::Page; struct H;"
                }
                "src/report/views/mod.rs" => model,
                "src/report/text/mod.rs" => text,
                "src/report/svg/mod.rs" => "pub struct Canvas;",
                _ => return None,
            };
            Some(text.to_owned())
        };
        forbidden_in_the_report(&uses("src/main.rs", &read))
    };
    let page = "use super::model::Table; pub struct Page;";
    assert_eq!(files("pub struct Table;", page), Vec::<String>::new());
    let up = files("use crate::report::text::Page; pub struct Table;", page);
    assert_eq!(up.len(), 1, "{up:?}");
    let through_the_hub = files("use crate::report::Page; pub struct Table;", page);
    assert_eq!(through_the_hub.len(), 1, "{through_the_hub:?}");
    let beside = files("pub struct Table;", "use super::svg::Canvas; pub struct Page;");
    assert_eq!(beside.len(), 1, "{beside:?}");
    let hub = files("use super::H; pub struct Table;", page);
    assert_eq!(hub.len(), 1, "{hub:?}");
    assert!(of_the_hub("use crate::report::Layout;").is_some());
    assert!(of_the_hub("use crate::report::{Layout, model::rows};").is_some());
    assert!(of_the_hub("use crate::report::text::page::Layout;").is_none());
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
