//! Methods in other languages: which are chosen, at which level of the optimiser, and those that
//! read from a server.

use crate::languages::{assert_answers_agree, cells, have, installed, measure};
use crate::program::{World, cell};

#[test]
fn a_method_of_another_language_stands_beside_those_of_a_language() {
    let world = World::new();
    let plan = |args: &str| {
        let args = format!("run copying {args} --dry-run");
        let ran = world.run(&args.split(' ').collect::<Vec<&str>>());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout.lines().next().unwrap_or_default().to_owned()
    };
    let python = plan("--language python");
    assert!(python.starts_with("measuring 1 method of copying"), "{python}");
    let beside = plan("-m cat --language python");
    assert!(beside.starts_with("measuring 2 methods of copying"), "{beside}");
    let within = plan("-m python --language python,node");
    assert!(within.starts_with("measuring 1 method of copying"), "{within}");
}

#[test]
fn a_level_of_the_optimiser_is_a_method_of_its_own() {
    let world = World::new();
    let named = |levels: &str| {
        let args = ["run", "reading", "-m", "read,c-read", "--optimise", levels, "--dry-run"];
        world.run(&args)
    };
    let refused = named("O9");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--optimise O9: no chosen method"), "{}", refused.stderr);
    assert!(refused.stderr.contains("O3, O0, O1, O2 (c, cpp)"), "{}", refused.stderr);
    if !have("c", &["cc"]) {
        return;
    }
    let few = ["reading", "--size", "64KiB", "-m", "read,c-read", "--optimise", "O0,O3"];
    let (ran, json) = measure(&world, &few);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_answers_agree(&json);
    let methods: Vec<&str> = cells(&json).map(|cell| cell["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["read", "c-read@O0", "c-read@O3"]);
    for (fact, flag) in [("worker_c_O0_command", " -O0 "), ("worker_c_command", " -O3 ")] {
        let command = json["environment"][fact].as_str().unwrap();
        assert!(command.contains(flag), "{command}");
    }
    assert_eq!(cell(&json, "c-read@O0")["language"], "c");
}

/// Each client of a language, from a server of plain HTTP and one of TLS.
#[test]
fn clients_in_every_language_read_every_byte() {
    let world = World::new();
    let languages = installed().join(",");
    for source in ["http", "https"] {
        let named = ["reading", "--source", source, "--size", "1000001", "--parallel", "2"];
        let chosen = ["-m", "byte-stream-chunks", "--language", &languages];
        let (ran, json) = measure(&world, &[&named[..], &chosen].concat());
        assert_answers_agree(&json);
        let own = cell(&json, "byte-stream-chunks");
        assert_eq!(own["status"], "measured", "{own} {}", ran.stderr);
        for cell in cells(&json) {
            let reason = cell["reason"].as_str().unwrap_or_default();
            let is_skipped = cell["status"] == "skipped"
                && ["libcurl", "http-client", "this Foundation"].iter().any(|w| reason.contains(w));
            assert!(cell["status"] == "measured" || is_skipped, "{cell}");
        }
        for client in ["go-http", "java-http-client", "python-urlopen", "node-http-get"] {
            let language = client.split('-').next().unwrap();
            let is_measured = cells(&json).any(|cell| cell["method"] == client);
            assert_eq!(is_measured, installed().contains(&language), "{client}");
        }
    }
}
