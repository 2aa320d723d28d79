//! The smallest worker in each language, and that of docs/protocol.md.

use std::path::Path;

use crate::languages::{REPOSITORY, assert_answers_agree, have, kept, measure};
use crate::program::{World, cell};

/// Each example, the command that compiles it into a directory, and the command that runs it.
const EXAMPLES: &[(&str, &[&str], &str)] = &[
    ("worker.c", &["cc", "-O2", "-o", "{out}/c"], "{out}/c"),
    ("worker.cpp", &["c++", "-O2", "-o", "{out}/cpp"], "{out}/cpp"),
    ("worker.go", &["go", "build", "-o", "{out}/go"], "{out}/go"),
    ("worker.rs", &["rustc", "--edition=2024", "-O", "-o", "{out}/rs"], "{out}/rs"),
    ("Worker.java", &["javac", "-d", "{out}"], "java -cp {out} Worker"),
    ("worker.py", &[], "python3 {example}"),
    ("worker.js", &[], "node {example}"),
    (
        "worker.hs",
        &["ghc", "-v0", "-O", "-outputdir", "{out}/objects", "-o", "{out}/hs"],
        "{out}/hs",
    ),
    ("worker.swift", &["swiftc", "-O", "-o", "{out}/swift"], "{out}/swift"),
];

#[test]
fn the_examples_are_short_and_right() {
    let world = World::new();
    let out = world.dir.path().to_str().unwrap();
    let mut args = vec!["reading".to_owned(), "--size".to_owned(), "100001".to_owned()];
    args.extend(["-m", "read", "--parallel", "1"].map(str::to_owned));
    let mut names = Vec::new();
    for (file, build, run) in EXAMPLES {
        let example = Path::new(REPOSITORY).join("examples").join(file);
        let lines = std::fs::read_to_string(&example).unwrap().lines().count();
        assert!(lines <= 25, "{file} has {lines} lines");
        let command = build.first().copied().unwrap_or(run.split(' ').next().unwrap());
        if !have(file, &[command]) {
            continue;
        }
        if let [compiler, arguments @ ..] = build {
            #[expect(clippy::disallowed_methods, reason = "it is built as a user would")]
            let mut compile = std::process::Command::new(compiler);
            compile.args(arguments.iter().map(|word| word.replace("{out}", out))).arg(&example);
            let built = compile.env("GOCACHE", kept().join("go-cache")).output().unwrap();
            assert!(built.status.success(), "{file}: {}", String::from_utf8_lossy(&built.stderr));
        }
        let name = file.replace('.', "-");
        let run = run.replace("{out}", out).replace("{example}", example.to_str().unwrap());
        args.extend(["--worker".to_owned(), format!("{name}={run}")]);
        names.push(name);
    }
    if have("docs/protocol.md", &["python3"]) {
        let page = std::fs::read_to_string(Path::new(REPOSITORY).join("docs/protocol.md")).unwrap();
        let (_, code) = page.split_once("```python\n").expect("a worker in Python");
        let (code, _) = code.split_once("```").expect("its end");
        let worker = world.write("protocol.py", code);
        args.extend(["--worker".to_owned(), format!("protocol=python3 {worker}")]);
        names.push("protocol".to_owned());
    }
    let (ran, json) = measure(&world, &args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    for name in &names {
        assert_eq!(cell(&json, name)["status"], "measured", "{name}");
    }
    assert_answers_agree(&json);
    assert!(!names.is_empty());
}
