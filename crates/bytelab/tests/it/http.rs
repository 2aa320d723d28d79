//! `run reading --source http|https`, against a server that it starts itself.

use crate::program::{World, cell};

/// The built-in methods; the programs of others are built on demand.
const METHODS: &[&str] = &[
    "byte-stream-chunks",
    "byte-stream-for",
    "byte-stream-callback",
    "byte-stream-bytes",
    "byte-stream-whole",
    "byte-stream-async",
    "byte-stream-async-bytes",
    "byte-stream-ranges",
];

fn all_agree(source: &str, yardstick: &str) {
    let methods = [METHODS, &[yardstick]].concat();
    let names = methods.join(",");
    let world = World::new();
    let small = ["--size", "1MiB", "--rounds", "2"];
    let args = ["run", "reading", "--json", "--source", source, "--method", &names];
    let ran = world.run(&[&args[..], &small].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json = ran.json();
    let expected = &cell(&json, METHODS[0])["answer"];
    assert!(!expected.is_null());
    for method in methods {
        assert_eq!(&cell(&json, method)["answer"], expected, "{source}: {method}");
    }
}

#[test]
fn over_http_all_methods_find_the_same() {
    all_agree("http", "tcp");
}

#[test]
fn over_https_all_methods_find_the_same() {
    all_agree("https", "tls");
}
