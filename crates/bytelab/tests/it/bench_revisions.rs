//! `bytelab bench --rev A,B --build COMMAND`: revisions of a repository, each in a worktree of its
//! own, which is removed afterwards.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{Ran, World, script};

/// What git prints in a folder; none where it is not installed. Commits are of this day.
pub(crate) fn git(folder: &Path, day: u32, words: &[&str]) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the test makes a repository as a user would")]
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
    git.args(words).current_dir(folder).env("HOME", folder);
    // A hook of git has them, and they name its own repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"] {
        git.env_remove(name);
    }
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
    let [(_, v1), (_, main)] = ["v1", "main"].map(|name| commit(&world, name));
    assert_eq!(names, [&*format!("v1 {v1} ./built 1"), "true", &format!("main {main} ./built 1")]);
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
        (&["--rev", "v1", "tool 1"], "or {tree} or {rev}: write \"./tool 1\"\n"),
        (&["--rev", "v1", "main", "./tool"], "--rev: write revisions with a comma: --rev v1,main"),
        (&["--rev", "v1..v2", "./tool"], "--rev v1..v2: write revisions with a comma: --rev v1,v2"),
        (&["--rev", "v1...", "./tool"], "write revisions with a comma: --rev v1,HEAD"),
        (&["--rev", "v1,.", "./tool"], "there is no revision for uncommitted changes: commit"),
        (&["--rev", "v1", "./nosuch"], "has no file nosuch: nor is there one here; is the path"),
        (&["--rev", "v1", "--build", "true", "./nosuch"], "nosuch: --build has not made it"),
        (&["--rev", "v1", "sh -e tool 1"], "as in \"sh -e {tree}/tool 1\""),
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
fn a_program_that_git_does_not_track_is_missed_before_anything_is_measured() {
    let Some(world) = repository() else { return };
    script(&world.path("built"), "#!/bin/sh\n");
    let (_, short) = commit(&world, "v1");
    let ran = world.bench(&["--rev", "v1", "./built"]);
    assert_eq!(ran.code, 2, "{}", outcome(&ran));
    let expected = format!(
        "bytelab: --rev: v1 {short} has no file built: git does not track it there; say how to \
         build it: --build 'make'\n"
    );
    assert!(ran.stderr.ends_with(&expected), "{}", outcome(&ran));
    assert!(!ran.stderr.contains("measuring"), "{}", outcome(&ran));
    assert!(is_tidy(&world));
    // A hook may make it.
    let made = ["-r", "1", "--rev", "v1", "-p", "cp {tree}/tool {tree}/made", "./made"];
    let ran = world.bench(&made);
    assert_eq!(ran.code, 0, "{}", outcome(&ran));
}

#[test]
fn two_commits_are_no_runs_but_can_be_measured() {
    let Some(world) = repository() else { return };
    let ran = world.run_in_home(&["compare", "v1", "HEAD"]);
    let advice = "to measure two commits: bytelab bench --rev v1,HEAD --build 'make' './program …'";
    assert!(ran.code == 2 && ran.stderr.contains("no run \"v1\""), "{}", outcome(&ran));
    assert!(ran.stderr.contains(advice), "{}", outcome(&ran));
    let ran = world.run_in_home(&["compare", "v1", "nosuch"]);
    assert!(ran.code == 2 && !ran.stderr.contains("two commits"), "{}", outcome(&ran));
}

#[test]
fn a_run_that_fails_leaves_no_worktree() {
    let Some(world) = repository() else { return };
    let ran = world.bench(&["-r", "1", "--rev", "v1,v2", "./tool && false"]);
    assert_eq!(ran.code, 1, "{}", outcome(&ran));
    assert!(is_tidy(&world));
}

/// The methods' names; and what the run says of the same program.
fn methods_and_notes(json: &Value) -> (Vec<&str>, Vec<&str>) {
    let texts = |list: &str, key: &str| -> Vec<&str> {
        json[list].as_array().unwrap().iter().map(|one| one[key].as_str().unwrap()).collect()
    };
    let mut notes = texts("notes", "text");
    notes.retain(|note| note.contains("the same program"));
    (texts("cells", "method"), notes)
}

#[test]
fn a_run_keeps_what_its_revisions_were() {
    let Some(world) = repository() else { return };
    let [(one, short_one), (two, short_two)] = ["v1", "v2"].map(|name| commit(&world, name));
    let args = ["-r", "1", "--rev", "HEAD~1,main", "--build", "cp tool built; echo >>tool"];
    let ran = world.bench(&[&args[..], &["./built 2>/dev/null"]].concat());
    assert_eq!(ran.code, 0, "{}", outcome(&ran));
    let head = format!("revisions: HEAD~1 {short_one}-dirty one · main {short_two}-dirty two\n");
    assert!(ran.stdout.contains(&head), "{}", outcome(&ran));
    let json = world.run(&["show", "latest", "--json"]).json();
    let names = [format!("HEAD~1 {short_one}"), format!("main {short_two}")];
    assert_eq!(methods_and_notes(&json).0, names);
    let facts = &json["environment"];
    let digest = |revision: usize| &facts["revisions"][revision]["methods"][0]["sha256"]["built"];
    let of_revision = |at: usize, name: &str, commit: &str, subject: &str| {
        json!({
            "name": name,
            "commit": commit,
            "commit_time": format!("2026-01-{:02}T00:00:00Z", at + 1),
            "subject": subject,
            "dirty": true,
            "methods": [{
                "name": names[at],
                "command": "./built 2>/dev/null",
                "sha256": {"built": digest(at)},
            }],
        })
    };
    let mut of_main = of_revision(1, "main", &two, "two");
    of_main["branch"] = "main".into();
    assert_eq!(facts["revisions"], json!([of_revision(0, "HEAD~1", &one, "one"), of_main]));
    assert_ne!(digest(0), digest(1));
    assert!([0, 1].iter().all(|at| digest(*at).as_str().is_some_and(|hex| hex.len() == 64)));
    assert_eq!((&facts["project_commit"], &facts["project_dirty"]), (&json!(two), &json!(false)));
    // Its worktrees are gone.
    let refused = "run 1 measured revisions by --rev, which cannot be measured again: use bench \
                   --rev";
    world.refused(&["baseline", "set", "main", "latest"], refused);
    world.refused(&["check", "--baseline", "latest", "--allow", "wall=5%"], refused);
}

#[test]
fn methods_of_revisions_have_short_names_of_their_own() {
    let Some(world) = repository() else { return };
    let [(one, short_one), (_, two)] = ["v1", "v2"].map(|name| commit(&world, name));
    let names = |args: &[&str]| {
        let json = world.bench(&[&["-r", "1", "--json"], args].concat()).json();
        methods_and_notes(&json).0.join(", ")
    };
    assert_eq!(
        names(&["--rev", "v1,v2", "--", "./tool", "a b"]),
        format!("v1 {short_one}, v2 {two}")
    );
    let of_hash = names(&["--rev", &format!("{one},{two}"), "./tool"]);
    assert_eq!(of_hash, format!("{short_one}, {two}"));
    let of_list = names(&["--rev", "v1", "-L", "n", "1,2", "./tool {n}"]);
    assert_eq!(of_list, format!("v1 {short_one} (n=1), v1 {short_one} (n=2)"));
    let of_two = names(&["--rev", "v1", "./tool", "-n", "a", "./sub/tool"]);
    assert_eq!(of_two, format!("v1 {short_one} a, v1 {short_one} ./sub/tool"));
    assert_eq!(names(&["--rev", "v1,v2", "./tool", "-n", "at {rev}"]), "at v1, at v2");
}

#[test]
fn methods_that_differ_by_their_hooks_are_apart_in_the_history() {
    let Some(world) = repository() else { return };
    let hook = ["-L", "n", "1,2", "-p", "echo {n} >>log"];
    let json = world.bench_json(&[&["-r", "2", "--rev", "v1"], &hook[..], &["./tool"]].concat());
    let methods = json["environment"]["revisions"][0]["methods"].as_array().unwrap();
    let commands: Vec<&str> = methods.iter().map(|one| one["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["./tool", "./tool (n=2)"]);
    let history = ["history", "--by", "commit", "--json", "--plot", "./tool"];
    let runs = &world.run(&history).json()["series"][0]["commits"][0]["runs"];
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
}

#[test]
fn neither_hooks_nor_another_repository_of_the_environment_matter() {
    let (Some(world), Some(other)) = (repository(), repository()) else { return };
    let root = world.dir.path();
    git(other.dir.path(), 4, &["commit", "--quiet", "--allow-empty", "-m", "other"]).unwrap();
    let facts_of = |variables: &[(&str, &Path)]| {
        let mut command = world.command(&["bench", "-r", "1", "--json", "/bin/true"]);
        command.current_dir(root).envs(variables.iter().copied());
        let facts = Ran::new(command.output().unwrap()).json()["environment"].clone();
        ["commit", "subject", "dirty"].map(|name| facts[format!("project_{name}")].clone())
    };
    let expected = [json!(git(root, 4, &["rev-parse", "v2"])), json!("two"), json!(false)];
    let other = other.path(".git");
    assert_eq!(facts_of(&[("GIT_DIR", &other)]), expected);
    assert_eq!(facts_of(&[("GIT_INDEX_FILE", &other.join("nosuch"))]), expected);
    // What its files do not tell as usual is asked of git.
    git(root, 4, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"]).unwrap();
    git(root, 4, &["symbolic-ref", "HEAD", "refs/heads/alias"]).unwrap();
    assert_eq!(facts_of(&[]), expected);
    std::fs::create_dir_all(world.path(".git/hooks")).unwrap();
    script(&world.path(".git/hooks/post-checkout"), "#!/bin/sh\nexit 3\n");
    let ran = world.bench(&["-r", "1", "--rev", "v1", "./tool"]);
    assert_eq!(ran.code, 0, "{}", outcome(&ran));
}

#[test]
fn revisions_of_equal_bytes_are_the_same_program() {
    let Some(world) = repository() else { return };
    git(world.dir.path(), 3, &["commit", "--quiet", "--allow-empty", "-m", "three"]).unwrap();
    let [(_, one), (_, two), (_, three)] = ["v1", "v2", "HEAD"].map(|name| commit(&world, name));
    let notes = |args: &[&str]| {
        let json = world.bench_json(&[&["-r", "1", "--rev", "v1,v2,HEAD"], args].concat());
        methods_and_notes(&json).1.join("; ")
    };
    let end = "run the same program with the same arguments";
    assert_eq!(notes(&["./tool a"]), format!("v2 {two} and HEAD {three} {end}"));
    let in_shell = notes(&["./tool a", "./tool b >&2"]);
    let [a, b] = ["./tool a", "./tool b >&2"]
        .map(|text| format!("v2 {two} {text} and HEAD {three} {text} {end}"));
    assert_eq!(in_shell, format!("{a}; {b}"));
    assert_eq!(notes(&["-p", "echo {rev} >>log", "./tool a"]), "");
    assert_eq!(notes(&["{tree}/tool {rev}"]), "", "{one}");
    let ran = world.bench(&["-r", "1", "true", "/bin/true", "true 1"]);
    assert!(ran.stdout.contains(&format!("note: true and /bin/true {end}")), "{}", outcome(&ran));
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

#[test]
fn the_history_has_a_line_for_each_commit() {
    let Some(world) = repository() else { return };
    let root = world.dir.path();
    git(root, 9, &["commit", "--quiet", "--allow-empty", "-m", "three <b>"]).unwrap();
    let shorts = ["v1", "v2", "HEAD"].map(|name| commit(&world, name).1);
    let history = |args: &[&str]| {
        let args = [&["history", "--by", "commit", "--plot", "./tool"], args].concat();
        world.run(&args)
    };
    let ran = history(&[]);
    assert!(ran.code == 2 && ran.stderr.contains("no value of wall_ns"), "{}", outcome(&ran));
    let bench = |args: &[&str]| {
        let ran = world.bench(&[&["-r", "2"], args].concat());
        assert_eq!(ran.code, 0, "{}", outcome(&ran));
    };
    bench(&["./tool"]);
    bench(&["--rev", "HEAD,HEAD~2", "./tool"]);
    bench(&["--rev", "v1,v2", "./tool", "true"]);
    std::fs::write(world.path("sub/tool"), "").unwrap();
    bench(&["./tool"]);
    let json = history(&["--json"]).json();
    assert_eq!((&json["metric"], &json["runs_without_commit"]), (&json!("wall_ns"), &json!(0)));
    let commits = json["series"][0]["commits"].as_array().unwrap();
    let shown = |one: &Value| {
        let ids = one["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap());
        let ids = ids.collect::<Vec<_>>().join(" ");
        let commit = &one["commit"].as_str().unwrap()[..7];
        format!("{commit} {} {}: {ids}", one["subject"].as_str().unwrap(), one["dirty"])
    };
    let [one, two, three] = &shorts;
    let expected = [
        format!("{one} one false: 2 3"),
        format!("{two} two false: 3"),
        format!("{three} three <b> false: 1 2"),
        format!("{three} three <b> true: 4"),
    ];
    assert_eq!(commits.iter().map(shown).collect::<Vec<_>>(), expected);
    let text = history(&[]).stdout;
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(' ')).map(|(word, _)| word).collect();
    let changed = format!("{three}-dirty");
    let expected = ["./tool,", "commit", one, two, three, &changed, "ratio:"];
    assert_eq!(
        lines.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>(),
        expected,
        "{text}"
    );
    world.refused(&["history", "--by", "commit"], "--plot");
    let outside = World::new();
    outside.bench(&["-r", "2", "true"]);
    let args = ["history", "--by", "commit", "--plot", "true"];
    outside.refused(&args, "no run of true was measured in a tree of git");
}
