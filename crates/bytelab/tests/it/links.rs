//! Every relative link in a Markdown file leads to a file of the repository, and its anchor to a
//! heading, by the rules of GitHub.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::layout::files;
use crate::tidy::root;

/// The lines outside blocks of code, with their numbers.
fn outside_blocks(text: &str) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let is_outside = |(_, line): &(usize, &str)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !(in_block || is_fence)
    };
    (1..).zip(text.lines()).filter(is_outside).collect()
}

/// The targets of links and pictures, with the numbers of their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (number, line) in outside_blocks(text) {
        // Code in a line may go on in the next one, but not beyond its paragraph or row.
        if line.trim().is_empty() || line.starts_with('|') {
            in_code = false;
        }
        let mut shown = String::new();
        for c in line.chars() {
            if c == '`' {
                in_code = !in_code;
            } else if !in_code {
                shown.push(c);
            }
        }
        let inline = ["](", "href=\"", "src=\""];
        let inline = inline.into_iter().flat_map(|open| shown.split(open).skip(1));
        let definition = shown.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        let targets = inline.chain(definition.map(|(_, target)| target));
        let target = |text: &str| {
            let text = text.trim_start_matches('<');
            text.split([')', '"', '>', ' ']).next().unwrap_or_default().to_owned()
        };
        found.extend(targets.map(|text| (number, target(text))));
    }
    found
}

/// The anchor of a heading: its text without the targets of links and without punctuation.
fn anchor(title: &str) -> String {
    let mut parts = title.split("](");
    let mut shown = parts.next().unwrap_or_default().to_lowercase();
    for part in parts {
        let (_, rest) = part.split_once(')').unwrap_or_default();
        shown.push_str(&rest.to_lowercase());
    }
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    };
    shown.trim().chars().filter_map(kept).collect()
}

/// The anchors of all headings. The second of two equal ones ends in `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (_, line) in outside_blocks(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(title);
        let before = seen.entry(anchor.clone()).or_default();
        found.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    found
}

/// Fails with the reason if a link leads nowhere. Addresses of other sites are not followed, nor
/// items of Rust, which rustdoc checks in its pages.
fn follow(file: &Path, target: &str) -> Result<(), &'static str> {
    let is_address =
        ["https://", "http://", "mailto:"].iter().any(|start| target.starts_with(start));
    if is_address || target.contains("::") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let found = if path.is_empty() { file.to_owned() } else { file.parent().unwrap().join(path) };
    let found = found.canonicalize().map_err(|_| "there is no such file")?;
    if !found.starts_with(root()) {
        return Err("it is outside of the repository");
    }
    let page = if found.is_dir() { found.join("README.md") } else { found };
    // The anchor in another file is a line.
    if anchor.is_empty() || page.extension().is_none_or(|extension| extension != "md") {
        return Ok(());
    }
    let text = std::fs::read_to_string(page).map_err(|_| "the folder has no README.md")?;
    if anchors(&text).contains(anchor) { Ok(()) } else { Err("there is no such heading") }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    // A symbolic link leads to a file that is among them, too.
    let files = files("md").into_iter().map(|path| path.canonicalize().unwrap());
    let files: BTreeSet<PathBuf> = files.collect();
    let mut broken = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, target) in links(&text) {
            if let Err(reason) = follow(&path, &target) {
                let path = path.strip_prefix(root()).unwrap().display();
                broken.push(format!("{path}:{number}: {target}: {reason}"));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

#[test]
fn links_and_anchors_are_found_as_github_finds_them() {
    let text = "# A `b_c` --d, e\n\n[x](a.md#b) `[no](no)` [`y`](<c.md>)\n```sh\n[no](no)\n# no\n\
                ```\n## The [same](x.md)\n[z]: d.md \"title\"\n## The same\n<img src=\"e.svg\">\n\n\
                Code that `is not\n[no](no) closed` in its line.\n";
    let expected: [(usize, &str); 5] =
        [(3, "a.md#b"), (3, "c.md"), (8, "x.md"), (9, "d.md"), (11, "e.svg")];
    assert_eq!(links(text), expected.map(|(number, target)| (number, target.to_owned())));
    let expected = ["a-b_c---d-e", "the-same", "the-same-1"].map(str::to_owned);
    assert_eq!(anchors(text), BTreeSet::from(expected));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let file = root().join("README.md");
    for right in ["docs", "docs/export.md", "Cargo.toml#L1", "https://example.com/none"] {
        assert_eq!(follow(&file, right), Ok(()), "{right}");
    }
    assert_eq!(follow(&file, "docs/none.md"), Err("there is no such file"));
    assert_eq!(follow(&file, ".."), Err("it is outside of the repository"));
    assert_eq!(follow(&file, "docs/export.md#none"), Err("there is no such heading"));
    assert_eq!(follow(&file, "#none"), Err("there is no such heading"));
}
