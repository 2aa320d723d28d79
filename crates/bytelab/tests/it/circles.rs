//! Two files that use each other cannot be understood separately: so no files may, except for the
//! circles in `known_circles.txt`. The lab also has layers.

use std::collections::BTreeSet;
use std::path::Path;

use crate::module_graph::{Uses, circles, uses};

/// The modules of the lab, by layer.
const LAYERS: [(&str, &[&str]); 4] = [
    (
        "data",
        &[
            "experiment",
            "metric",
            "param",
            "path_text",
            "protocol",
            "random",
            "run",
            "template",
            "warning",
        ],
    ),
    ("os", &["cache", "clock", "counters", "environment", "proc_fs", "stop"]),
    ("act", &["count", "launch", "measure", "phases", "timeline", "worker"]),
    ("think", &["analyze", "stats"]),
];

/// The layers that a layer must not use.
const FORBIDDEN: [(&str, &[&str]); 3] =
    [("data", &["os", "act", "think"]), ("os", &["act", "think"]), ("think", &["os", "act"])];

fn uses_of(name: &str) -> Uses {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    let root = ["src/lib.rs", "src/main.rs"].into_iter().find(|root| read(root).is_some());
    uses(root.unwrap(), &read)
}

/// The paths that form a circle, one on each line.
fn explain(circle: &[String], uses: &Uses) -> Vec<String> {
    let inside = |(from, to): &(String, String)| circle.contains(from) && circle.contains(to);
    let used = uses.iter().filter(|(ends, _)| inside(ends));
    used.map(|((from, to), path)| format!("  {from} → {to}: {path}")).collect()
}

#[test]
fn module_files_do_not_use_each_other_in_circles() {
    let known: BTreeSet<&str> = include_str!("known_circles.txt").lines().collect();
    let crates = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    let (mut found, mut new) = (BTreeSet::new(), Vec::new());
    for entry in crates {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let uses = uses_of(&name);
        for circle in circles(&uses) {
            let line = format!("{name}: {}", circle.join(" ").replace("src/", ""));
            if !known.contains(line.as_str()) {
                new.push(line.clone());
                new.extend(explain(&circle, &uses));
            }
            found.insert(line);
        }
    }
    let gone: Vec<&str> = known.into_iter().filter(|line| !found.contains(*line)).collect();
    let new = new.join("\n");
    assert!(new.is_empty(), "circles that are not in known_circles.txt:\n{new}\ngone: {gone:#?}");
    assert!(gone.is_empty(), "no circles any more, and still in known_circles.txt: {gone:#?}");
}

#[test]
fn the_lab_has_layers() {
    let layer = |file: &str| {
        let module = file.trim_start_matches("src/").split(['/', '.']).next().unwrap();
        let layer = LAYERS.iter().find(|(_, modules)| modules.contains(&module));
        layer.unwrap_or_else(|| panic!("{file} is in no layer")).0
    };
    let forbidden = |(from, to): &(String, String)| {
        let no = FORBIDDEN.iter().find(|(name, _)| *name == layer(from)).map_or(&[][..], |no| no.1);
        // Code that waits must be able to find out whether to stop.
        no.contains(&layer(to)) && to != "src/stop.rs"
    };
    let uses = uses_of("lab");
    let found: Vec<String> = uses
        .keys()
        .filter(|ends| forbidden(ends))
        .map(|(from, to)| format!("{from} → {to}"))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Checks the circles of a crate with these files.
fn check(files: &[(&str, &str)], expected: &[&[&str]]) {
    let read = |wanted: &str| {
        let file = files.iter().find(|(name, _)| *name == wanted);
        file.map(|(_, text)| (*text).to_owned())
    };
    let uses = uses("src/lib.rs", &read);
    let found = circles(&uses);
    assert!(found.iter().eq(expected.iter()), "{found:?}, by {uses:?}");
}

const A_AND_B: &[&[&str]] = &[&["src/a.rs", "src/b.rs"]];

#[test]
fn a_planted_circle_is_found() {
    let pair = |a, b| [("src/lib.rs", "mod a; mod b;"), ("src/a.rs", a), ("src/b.rs", b)];
    check(&pair("use crate::b::B; struct A;", "use super::a::A; struct B;"), A_AND_B);
    check(&pair("use crate::{b::{self, B}, x}; struct A;", "fn b(a: super::a::A) {}"), A_AND_B);
    check(&pair("use super::b; fn a() { b::b() }", "fn b() { say!(crate::a::a()) }"), A_AND_B);
    check(&pair("struct A; fn a() { use super::b::*; }", "fn b() -> crate::a::A {}"), A_AND_B);
    check(&pair("mod c { use crate::b::B; } struct A;", "type B = crate::a::A;"), A_AND_B);
    check(
        &pair("#[serde(with = \"super::b\")] struct A;", "fn deserialize() -> super::a::A {}"),
        A_AND_B,
    );
    check(
        &[
            ("src/lib.rs", "mod a; mod b; pub use a::A;"),
            ("src/a.rs", "use crate::b::B; pub struct A;"),
            ("src/b.rs", "use crate::A as C; pub struct B;"),
        ],
        A_AND_B,
    );
}

#[test]
fn a_child_and_a_parent_are_a_circle_if_each_uses_what_the_other_one_defines() {
    let files = |parent, child| [("src/lib.rs", parent), ("src/a.rs", child)];
    let circle: &[&[&str]] = &[&["src/a.rs", "src/lib.rs"]];
    check(&files("mod a; struct P; fn p() { a::a() }", "use super::P; fn a() {}"), circle);
    check(&files("mod a; struct P;", "use super::P; fn a() {}"), &[]);
    check(&files("mod a; pub use a::a; struct P;", "use super::P; pub fn a() {}"), &[]);
}

#[test]
fn paths_in_comments_strings_and_tests_make_no_circle() {
    let pair = |a, b| [("src/lib.rs", "mod a; mod b;"), ("src/a.rs", a), ("src/b.rs", b)];
    let used = "struct B;";
    check(&pair("use crate::b::B; struct A;", "// use crate::a::A;\nstruct B;"), &[]);
    check(&pair("use crate::b::B; struct A;", "fn b() { \"crate::a::A\" } struct B;"), &[]);
    check(&pair("#[cfg(test)] use crate::b::B; struct A;", "use crate::a::A; struct B;"), &[]);
    check(&pair("#[cfg(test)] mod t { use crate::b::B; } struct A;", "use crate::a::A;"), &[]);
    check(&pair("use b::B; struct A;", "use super::a::A; struct B;"), &[]);
    check(&pair("use crate::b::B;", used), &[]);
}
