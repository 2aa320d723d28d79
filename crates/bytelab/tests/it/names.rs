//! Whoever searches for a type finds one definition: public names are there once in all crates,
//! private ones once in their crate.

use std::collections::BTreeMap;

use crate::tidy::sources;

/// What each crate has of its own, as std has them.
const EVERYWHERE: [&str; 4] = ["Error", "ErrorKind", "Inner", "Result"];

/// The other side of each is for a system that lacks what Linux has.
const TWINS: [&str; 4] = ["Request", "TaskEnds", "TraceScope", "Tracer"];

/// The names of the types that a file defines outside functions, each with whether it is public.
fn types(code: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for line in code.lines() {
        let is_public = line.starts_with("pub ");
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !["pub", "crate", "super", "unsafe", ""].contains(word))
            .collect();
        if let [kind, name, ..] = words[..]
            && ["struct", "enum", "trait", "type", "union"].contains(&kind)
            && !line.starts_with([' ', '/'])
        {
            found.push((name.to_owned(), is_public));
        }
    }
    found
}

/// The folder of the crate whose source this is.
fn crate_of(path: &str) -> &str {
    path.split_once("/src/").map_or(path, |(folder, _)| folder)
}

#[test]
fn a_type_has_a_name_of_its_own() {
    let mut of_all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut of_crate: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (path, code) in [sources("crates"), sources("libraries")].concat() {
        if !path.contains("/src/") || path.contains("/benches/") || path.contains("/examples/") {
            continue;
        }
        for (name, is_public) in types(&code) {
            if EVERYWHERE.contains(&name.as_str()) || TWINS.contains(&name.as_str()) {
                continue;
            }
            let folder = crate_of(&path).to_owned();
            // A binding to another language is called as what it binds.
            if is_public && !folder.starts_with("libraries/python") && folder != "libraries/c" {
                of_all.entry(name.clone()).or_default().push(path.clone());
            }
            of_crate.entry((folder, name)).or_default().push(path.clone());
        }
    }
    let public = of_all.into_iter().filter(|(_, paths)| paths.len() > 1);
    assert_eq!(public.collect::<Vec<_>>(), [], "public types of one name");
    let private = of_crate.into_iter().filter(|(_, paths)| paths.len() > 1);
    assert_eq!(private.collect::<Vec<_>>(), [], "types of one name in a crate");
}

#[test]
fn types_are_found_in_a_source() {
    let code =
        "pub struct A;\nenum B<T> {}\npub(crate) type C = A;\n    struct D;\n/// struct E;\n";
    let found = types(code);
    let expected = [("A", true), ("B", false), ("C", false)];
    assert_eq!(found, expected.map(|(name, is_public)| (name.to_owned(), is_public)));
}
