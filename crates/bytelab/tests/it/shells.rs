//! `bytelab completions` and `bytelab man`.

use std::process::{Command, Output};

use crate::program::World;

/// Runs a program; none, and the reason, where it is not installed.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
fn run(program: &str, args: &[&str]) -> Option<Output> {
    #[expect(clippy::disallowed_methods, reason = "the test asks the shell itself")]
    let ran = Command::new(program).args(args).output();
    if ran.is_err() {
        println!("skipped: {program} is not installed");
    }
    ran.ok()
}

#[test]
fn each_shell_reads_its_completions() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = world.run(&["completions", shell]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for word in ["bench", "history", "parameter-scan", "reading", "mmap-window"] {
            let is_there = ran.stdout.contains(word);
            assert!(is_there || word == "mmap-window", "{shell}: {word}");
        }
        let file = world.write(shell, &ran.stdout);
        let Some(read) = run(shell, &["-n", &file]) else { continue };
        assert!(read.status.success() && read.stderr.is_empty(), "{shell}: {read:?}");
    }
    assert_eq!(world.run(&["completions", "csh"]).code, 2);
}

#[test]
fn bash_completes_a_subcommand_and_a_flag() {
    let world = World::new();
    let file = world.path("completions");
    std::fs::write(&file, world.run(&["completions", "bash"]).stdout).unwrap();
    let complete = |words: &str, n: u32| {
        let script = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={n}; _bytelab bytelab \"${{COMP_WORDS[{n}]}}\"; echo \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        Some(String::from_utf8(run("bash", &["-c", &script])?.stdout).unwrap())
    };
    let Some(tasks) = complete("bytelab benc", 1) else { return };
    assert_eq!(tasks, "bench\n");
    let flags = complete("bytelab bench --min", 2).unwrap();
    assert_eq!(flags, "--min-runs\n");
}

#[test]
fn there_is_a_manual_page_for_each_subcommand() {
    let world = World::new();
    let dir = world.path("new/man");
    let ran = world.run(&["man", dir.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (page, part) in [
        ("bytelab.1", "bytelab\\-bench(1)"),
        ("bytelab-bench.1", "parameter\\-scan"),
        ("bytelab-run-reading.1", "What is the fastest way"),
        ("bytelab-cat.1", "standard output"),
        ("bytelab-completions.1", "bash"),
    ] {
        let text = std::fs::read_to_string(dir.join(page)).unwrap();
        assert!(text.contains(".TH") && text.contains(part), "{page}: {text}");
    }
}
