//! The commands of each page in docs/recipes end as the page says, when they are typed one block
//! after the other in an empty folder.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::layout::files;
use crate::program::{Ran, World};
#[cfg(feature = "postgres")]
use crate::push::server::TestServer;
use crate::tidy::root;

/// A fenced block of `sh` in a page, and the words behind that.
struct CommandBlock<'a> {
    commands: &'a str,
    /// The exit status, which is 0 unless `exit=3` says otherwise.
    status: i32,
    /// What is not on every machine, of `needs=psql,python3:pandas`: programs, modules of Python,
    /// or `server`, a PostgreSQL.
    needs: Vec<&'a str>,
}

impl<'a> CommandBlock<'a> {
    fn new(words: impl Iterator<Item = &'a str>, commands: &'a str) -> CommandBlock<'a> {
        let mut block = CommandBlock { commands, status: 0, needs: Vec::new() };
        for word in words {
            match word.split_once('=') {
                Some(("exit", status)) => block.status = status.parse().unwrap(),
                Some(("needs", names)) => block.needs.extend(names.split(',')),
                _ => panic!("{word:?} is no word of a block"),
            }
        }
        block
    }
}

fn blocks(page: &str) -> Vec<CommandBlock<'_>> {
    let all = page.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let of_shell = all.filter_map(|(info, commands)| {
        let mut words = info.split(' ');
        (words.next() == Some("sh")).then(|| CommandBlock::new(words, commands))
    });
    of_shell.collect()
}

/// A shell in the home that ends with the first command that fails, and finds this program first.
fn shell(world: &World, commands: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_bytelab"));
    let others = env::var_os("PATH").unwrap_or_default();
    let folders = [program.parent().unwrap().to_owned()].into_iter();
    let path = env::join_paths(folders.chain(env::split_paths(&others))).unwrap();
    let mut command = world.in_world("sh", &["-e", "-c", commands]);
    command.current_dir(world.dir.path()).env("PATH", path).env_remove("BYTELAB_SERVER");
    // A hook of git has variables that name its own repository, and a job of GitHub its summary.
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT") {
            command.env_remove(name);
        }
    }
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
    }
    command
}

fn is_installed(world: &World, name: &str) -> bool {
    let found = match name.split_once(':') {
        Some((program, module)) => format!("{program} -c 'import {module}'"),
        None => format!("command -v {name}"),
    };
    shell(world, &found).output().unwrap().status.success()
}

/// Types all blocks of a page; those that need a server get this one.
fn follow(name: &str, server: Option<&str>) {
    follow_with(name, server, &[]);
}

/// The same, with some numbers of the page replaced by smaller ones.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
fn follow_with(name: &str, server: Option<&str>, smaller: &[[&str; 2]]) {
    let mut page = std::fs::read_to_string(folder().join(name).with_extension("md")).unwrap();
    for [written, typed] in smaller {
        assert!(page.contains(written), "{name}.md: {written}");
        page = page.replace(written, typed);
    }
    let world = World::new();
    for CommandBlock { commands, status, needs } in blocks(&page) {
        let is_missing = |need: &&&str| match **need {
            "server" => server.is_none(),
            program => !is_installed(&world, program),
        };
        if let Some(missing) = needs.iter().find(is_missing) {
            println!("skipped: {name}.md needs {missing} for\n{commands}");
            continue;
        }
        let mut command = shell(&world, commands);
        if let Some(server) = server.filter(|_| needs.contains(&"server")) {
            command.env("BYTELAB_SERVER", server);
        }
        let ran = Ran::new(command.output().unwrap());
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, status, "{name}.md:\n{commands}\n{printed}");
        assert!(!printed.contains("panicked"), "{name}.md:\n{commands}\n{printed}");
    }
}

fn folder() -> PathBuf {
    root().join("docs/recipes")
}

#[test]
fn two_builds_are_measured() {
    follow("two-builds", None);
}

#[test]
fn a_sweep_is_measured() {
    follow("sweep", None);
}

#[test]
fn a_service_is_measured() {
    follow("service-latency", None);
}

#[test]
fn a_query_is_measured() {
    follow("database-query", None);
}

#[test]
fn a_gate_fails_where_something_is_slower() {
    follow("ci-gate", None);
}

#[test]
fn a_notebook_reads_the_samples() {
    follow("notebook", None);
}

#[test]
fn a_team_pushes_its_runs() {
    #[cfg(feature = "postgres")]
    let server = TestServer::start();
    #[cfg(feature = "postgres")]
    let url = server.as_ref().map(TestServer::url);
    #[cfg(not(feature = "postgres"))]
    let url: Option<String> = None;
    follow("team-server", url.as_deref());
}

#[test]
fn a_suite_is_checked() {
    follow("suite", None);
}

#[test]
fn a_large_file_is_sampled_copied_and_loaded() {
    // This build is not optimised.
    follow_with("big-file", None, &[["1000000 >", "100000 >"]]);
}

#[test]
fn a_file_is_sampled_by_group() {
    follow("sample-by-group", None);
}

#[test]
fn what_a_difference_is_made_of_is_shown() {
    // Each call of the second command is counted, eight times.
    follow_with("why-slower", None, &[["bs=64k", "bs=16k"], ["count=65536", "count=16384"]]);
}

#[test]
fn every_recipe_is_a_short_answer_to_a_question_and_is_tested() {
    let index = folder().join("README.md");
    let mut pages = files("md");
    pages.retain(|page| page.starts_with(folder()) && *page != index);
    let index = std::fs::read_to_string(index).unwrap();
    let tests = include_str!("recipes.rs");
    for path in pages {
        let page = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let question = page.lines().next().and_then(|line| line.strip_prefix("# "));
        let question = question.filter(|question| question.ends_with('?'));
        let question = question.unwrap_or_else(|| panic!("{name}.md: its title is no question"));
        assert!(page.lines().count() <= 60, "{name}.md has more than 60 lines");
        for part in ["What it says", "Next", "Limits"] {
            assert!(page.contains(&format!("\n**{part}.** ")), "{name}.md: no part {part:?}");
        }
        assert!(index.contains(&format!("| {question} | [")), "README.md lacks {question:?}");
        assert!(index.contains(&format!("]({name}.md)")), "README.md lacks {name}.md");
        assert!(tests.contains(&format!("(\"{name}\", ")), "no test follows {name}.md");
        assert!(blocks(&page).len() >= 2, "{name}.md");
    }
}

#[test]
fn the_words_of_a_block_are_its_status_and_what_it_needs() {
    let page = "a\n\n```sh exit=3 needs=x,y:z\nb\nc\n```\n\n```text\nd\n```\n\n```sh\ne\n```\n";
    let found = blocks(page);
    let found: Vec<_> =
        found.iter().map(|block| (block.commands, block.status, &block.needs[..])).collect();
    assert_eq!(found, [("b\nc", 3, &["x", "y:z"][..]), ("e", 0, &[][..])]);
}
