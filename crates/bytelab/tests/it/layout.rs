//! The maximum length of lines.

use std::path::{Path, PathBuf};

use crate::tidy::root;

const COLUMNS: usize = 100;

/// All files with this extension, except build output and installed packages.
pub(crate) fn files(extension: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if ["target", "node_modules", "corpus"].contains(&&*name) || name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no file *.{extension}");
    found
}

/// The lines that are too long, except those that consist of words that cannot be wrapped.
fn long<'a>(path: &Path, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let is_long = |(_, line): &(usize, &str)| {
        line.chars().count() > COLUMNS && line.split_whitespace().count() > 3
    };
    let path = path.strip_prefix(root()).unwrap().display();
    lines.filter(is_long).map(|(number, _)| format!("{path}:{}", number + 1)).collect()
}

/// Examples of code are not checked.
#[test]
fn comments_have_at_most_a_hundred_columns() {
    let of_file = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let mut in_code = false;
        let comments = text.lines().enumerate().filter(|(_, line)| {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                in_code = false;
                return false;
            };
            let comment = comment.trim_start_matches(['/', '!']);
            let fence = comment.trim_start().starts_with("```");
            in_code ^= fence;
            !(in_code || fence || comment.starts_with("     "))
        });
        long(path, comments)
    };
    let found: Vec<String> = files("rs").iter().flat_map(of_file).collect();
    assert!(found.is_empty(), "longer than {COLUMNS} columns: {found:#?}");
}

/// Tables and blocks of code are not checked.
#[test]
fn prose_has_at_most_a_hundred_columns() {
    let of_file = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let mut in_code = false;
        let prose = text.lines().enumerate().filter(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            in_code ^= fence;
            let is_code = in_code || fence || line.starts_with("    ");
            !is_code && !line.trim_start().starts_with('|')
        });
        long(path, prose)
    };
    let found: Vec<String> = files("md").iter().flat_map(of_file).collect();
    assert!(found.is_empty(), "longer than {COLUMNS} columns: {found:#?}");
}
