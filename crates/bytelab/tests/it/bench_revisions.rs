//! `bytelab bench --rev A,B --build COMMAND`: revisions of a repository, each in a worktree of its
//! own, which is removed afterwards.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{Ran, World, script};

/// What git prints in a folder; none where it is not installed. Commits are of this day.
fn git(folder: &Path, day: u32, words: &[&str]) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the test makes a repository as a user would")]
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
    git.args(words).current_dir(folder).env("HOME", folder);
    let ran = git.env("GIT_COMMITTER_DATE", format!("2026-01-{day:02}T00:00:00Z")).output().ok()?;
    assert!(ran.status.success(), "{words:?}: {ran:?}");
    Some(String::from_utf8(ran.stdout).unwrap().trim().to_owned())
}

/// A repository in the home: `tool` appends `one` to the file `log` at the tag `v1`, and `two` at
/// the branch's head; so does `sub/tool`. `None` where git is not installed.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
pub(crate) fn repository() -> Option<World> {
    let world = World::new();
    let git = |day, words: &[&str]| git(world.dir.path(), day, words);
    if git(1, &["init", "--quiet"]).is_none() {
        println!("skipped: git is not installed");
        return None;
    }
    std::fs::create_dir(world.path("sub")).unwrap();
    for (day, word, tag) in [(1, "one", "v1"), (2, "two", "v2")] {
        for file in ["tool", "sub/tool"] {
            let text = format!("#!/bin/sh\necho {word} >>\"$HOME/log\"\n");
            std::fs::write(world.path(file), text).unwrap();
        }
        git(day, &["add", "tool", "sub"])?;
        git(day, &["update-index", "--chmod=+x", "tool", "sub/tool"])?;
        git(day, &["commit", "--quiet", "-m", word])?;
        git(day, &["tag", tag])?;
    }
    // The index has the modes, and the files should.
    git(2, &["checkout", "--quiet", "--force", "main"])?;
    Some(world)
}

/// The digits of the commit, all and those that readers see.
fn commit(world: &World, name: &str) -> (String, String) {
    let all = git(world.dir.path(), 1, &["rev-parse", name]).unwrap();
    let short = all[..7].to_owned();
    (all, short)
}

fn sorted_log(world: &World) -> Vec<String> {
    let mut lines = world.lines("log");
    lines.sort();
    lines
}

/// Whether neither git nor the directory for temporary files knows of a worktree any more.
fn is_tidy(world: &World) -> bool {
    let known = std::fs::read_dir(world.path(".git/worktrees")).map_or(0, Iterator::count);
    let mut left = std::fs::read_dir(world.dir.path()).unwrap();
    let is_ours = |name: &str| name.starts_with(".bytelab-files-");
    known == 0 && !left.any(|entry| is_ours(entry.unwrap().file_name().to_str().unwrap()))
}

fn outcome(ran: &Ran) -> String {
    format!("{}: {}{}", ran.code, ran.stdout, ran.stderr)
}

#[test]
fn revisions_are_built_apart_and_measured_in_the_same_rounds() {
    let Some(world) = repository() else { return };
    let build = ["--rev", "v1,main", "--build", "cp tool built"];
    let ran = world.bench(&[&["-r", "2"], &build[..], &["./built 1", "true", "--json"]].concat());
    assert_eq!(ran.code, 0, "{}", outcome(&ran));
    assert_eq!(sorted_log(&world), ["one", "one", "two", "two"], "{}", outcome(&ran));
    let json = ran.json();
    let cells = json["cells"].as_array().unwrap();
    let names: Vec<&str> = cells.iter().map(|cell| cell["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["./built 1 (rev=v1)", "true", "./built 1 (rev=main)"]);
    assert!(is_tidy(&world) && !world.path("built").exists());
}

#[test]
fn a_revision_is_a_parameter_of_all_texts() {
    let Some(world) = repository() else { return };
    let ran = world.bench(&["-r", "1", "--rev", "v1,v2", "-L", "n", "1,2", "{tree}/tool {n}"]);
    assert_eq!(ran.code, 0, "{}", outcome(&ran));
    assert_eq!(sorted_log(&world), ["one", "one", "two", "two"]);
    std::fs::remove_file(world.path("log")).unwrap();
    let words = ["-r", "1", "--rev", "v1,v2", "-p", "echo {rev} >>log", "--", "sub/tool"];
    let ran = world.bench(&words);
    assert_eq!(ran.code, 0, "{}", outcome(&ran));
    assert_eq!(sorted_log(&world), ["one", "two", "v1", "v2"]);
    assert!(is_tidy(&world));
}

#[test]
fn what_cannot_be_built_is_said_and_removed() {
    let Some(world) = repository() else { return };
    for (args, expected) in [
        (&["--rev", "v1,nosuch", "./tool"][..], "--rev nosuch: git ended with exit status 128"),
        (&["--rev", "v1,v1", "./tool"], "--rev: \"v1\" is given twice, or empty"),
        (&["--rev", "--help", "./tool"], "a value is required for '--rev"),
        (
            &["--rev", "v1", "--build", "echo why >&2; false", "./tool"],
            "--build of v1: /bin/sh ended with exit status 1; stderr of /bin/sh: why",
        ),
        (&["--rev", "v1", "tool"], "--rev: no command has a program with a relative path"),
        (&["--rev", "v1", "-L", "rev", "a", "./tool {rev}"], "--rev gives the parameters rev and"),
        (&["--build", "true", "./tool"], "--rev <A,B,…>"),
        (&["--rev", "v1", "--toml", "./tool"], "cannot be used with"),
    ] {
        let ran = world.bench(&[&["-r", "1"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", outcome(&ran));
        assert!(ran.stderr.contains(expected), "{args:?}: {}", outcome(&ran));
        assert!(is_tidy(&world), "{args:?}");
    }
    assert_eq!(sorted_log(&world), [""; 0]);
    let outside = World::new();
    let ran = outside.bench(&["--rev", "v1", "./tool"]);
    assert!(ran.code == 2 && ran.stderr.contains("not a git repository"), "{}", outcome(&ran));
}

#[test]
fn a_run_that_fails_leaves_no_worktree() {
    let Some(world) = repository() else { return };
    let ran = world.bench(&["-r", "1", "--rev", "v1,v2", "./tool && false"]);
    assert_eq!(ran.code, 1, "{}", outcome(&ran));
    assert!(is_tidy(&world));
}

/// The facts of git of a run in this folder.
fn facts(world: &World, folder: &Path, path: Option<&Path>) -> Value {
    let mut command = world.command(&["bench", "-r", "1", "--json", "/bin/true"]);
    command.current_dir(folder);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let json = Ran::new(command.output().unwrap()).json();
    let facts = json["environment"].as_object().unwrap().iter();
    facts
        .filter_map(|(name, value)| {
            Some((name.strip_prefix("project_")?.to_owned(), value.clone()))
        })
        .collect()
}

#[test]
fn a_run_keeps_the_commit_and_the_state_of_the_tree() {
    let Some(world) = repository() else { return };
    let root = world.dir.path();
    let git = |day, words: &[&str]| git(root, day, words).unwrap();
    let (v2, _) = commit(&world, "v2");
    let clean = json!({
        "commit": v2,
        "commit_time": "2026-01-02T00:00:00Z",
        "subject": "two",
        "branch": "main",
        "dirty": false,
    });
    assert_eq!(facts(&world, root, None), clean, "log is no file of the repository");
    assert_eq!(facts(&world, &world.path("sub"), None), clean);
    std::fs::write(world.path("tool"), "").unwrap();
    let mut changed = clean.clone();
    changed["dirty"] = true.into();
    assert_eq!(facts(&world, root, None), changed);
    git(3, &["checkout", "--quiet", "--detach", "--force", "v2"]);
    changed.as_object_mut().unwrap().remove("branch");
    changed["dirty"] = false.into();
    assert_eq!(facts(&world, root, None), changed);
    git(3, &["worktree", "add", "--quiet", "-b", "topic/x", "other", "v1"]);
    let other = facts(&world, &world.path("other"), None);
    assert_eq!((&other["branch"], &other["subject"]), (&json!("topic/x"), &json!("one")));
    assert_eq!(other["dirty"], false);
    let odd = "\u{1b}[31m \"<b>\" $(id) %s é\u{202e}";
    git(3, &["commit", "--quiet", "--allow-empty", "-m", odd]);
    assert_eq!(facts(&world, root, None)["subject"], odd);
    let none = git(3, &["commit", "--quiet", "--allow-empty", "--allow-empty-message", "-m", ""]);
    assert_eq!((none.as_str(), &facts(&world, root, None)["subject"]), ("", &Value::Null));
}

#[test]
fn where_git_does_not_answer_its_facts_are_left_out() {
    let Some(world) = repository() else { return };
    let (v2, _) = commit(&world, "v2");
    let known = json!({"commit": v2, "branch": "main"});
    let programs = world.path("programs");
    std::fs::create_dir(&programs).unwrap();
    assert_eq!(facts(&world, world.dir.path(), Some(&programs)), known, "it is not installed");
    script(&programs.join("git"), "#!/bin/sh\nexit 1\n");
    assert_eq!(facts(&world, world.dir.path(), Some(&programs)), known, "it fails");
    let outside = World::new();
    assert_eq!(facts(&outside, outside.dir.path(), None), json!({}));
}
