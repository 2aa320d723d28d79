//! The programs of the commands: the worktrees of `--rev`, the files of worktrees that the commands
//! name, and the commands that run the same program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use experiments::TemporaryFolder;
use experiments::custom::file::{At, ExperimentFile, MethodTable, Words};
use measure::launch::{self, RunError, Stop};
use model::param::Point;
use model::path_text::to_path;
use model::run::{MeasuredRevision, ProjectCommit, RevisionMethod};
use model::template::fill;

use super::args::{BenchArgs, RevisionArgs};
use super::commands::{AtRevision, BenchMethod};
use crate::commands::program_file::{Digests, ProgramFile, is_installed};
use crate::git::{describe, has_commit};

/// Further commands of one program are counted instead of named.
const NAMED_MAX: usize = 4;

/// The revisions, each with the methods whose programs are its own.
pub(super) fn measured(
    methods: &[BenchMethod],
    file: &ExperimentFile,
    revisions: &[Revision],
    digests: &mut Digests<'_>,
) -> Vec<MeasuredRevision> {
    let mut measured = |(at, Revision { measured, tree }): (usize, &Revision)| {
        let mut of_revision = |method: &BenchMethod| {
            let AtRevision { index, command } = method.revision.as_ref()?;
            (*index == at).then(|| RevisionMethod {
                name: method.table.name.value.clone(),
                command: command.clone(),
                sha256: match file.hooks.setup {
                    None => files(&method.table, tree, digests),
                    // It may make them.
                    Some(_) => BTreeMap::new(),
                },
            })
        };
        let methods = methods.iter().filter_map(&mut of_revision).collect();
        MeasuredRevision { methods, ..measured.clone() }
    };
    revisions.iter().enumerate().map(&mut measured).collect()
}

/// The SHA-256 of each file below the folder that is a word of the command.
fn files(
    method: &MethodTable,
    folder: &str,
    digests: &mut Digests<'_>,
) -> BTreeMap<String, String> {
    let words = match command(method) {
        Some(Words::List(words)) => words.iter().map(|word| unescaped(word)).collect(),
        Some(Words::Text(text)) => shlex::split(&unescaped(text)).unwrap_or_default(),
        None => Vec::new(),
    };
    let mut file = |word: &String| {
        let below = word.strip_prefix(folder)?.strip_prefix('/')?;
        Some((below.to_owned(), digests.sha256(&to_path(word))?))
    };
    words.iter().filter_map(&mut file).collect()
}

fn command(method: &MethodTable) -> Option<&Words> {
    method.command.as_ref().map(|command| &command.value)
}

/// A text of the file as it was typed.
fn unescaped(text: &str) -> String {
    fill(text, &Point::default(), str::to_owned)
}

/// A sentence for each program that several commands run with the same arguments.
pub(super) fn same(
    methods: &[BenchMethod],
    file: &ExperimentFile,
    revisions: &[Revision],
    digests: &mut Digests<'_>,
) -> Vec<String> {
    let mut programs: Vec<(CommandProgram, Vec<&str>)> = Vec::new();
    for method in methods {
        let program = CommandProgram::of_method(method, file, revisions);
        let name = method.table.name.value.as_str();
        match programs.iter_mut().find(|(known, _)| known.is_same(&program, digests)) {
            Some((_, names)) => names.push(name),
            None => programs.push((program, vec![name])),
        }
    }
    let several = programs.iter().filter(|(_, names)| names.len() > 1);
    several.map(|(_, names)| sentence(names)).collect()
}

fn sentence(names: &[&str]) -> String {
    let (last, others) = match names.len() {
        n if n > NAMED_MAX => (format!("{} more", n - NAMED_MAX), &names[..NAMED_MAX]),
        n => (names[n - 1].to_owned(), &names[..n - 1]),
    };
    format!("{} and {last} run the same program with the same arguments", others.join(", "))
}

/// The program of a command.
struct CommandProgram {
    /// Its word is empty if the whole command is for a shell.
    program: ProgramFile,
    /// The rest of the method: the arguments, the hooks, the streams.
    rest: MethodTable,
}

impl CommandProgram {
    fn of_method(
        method: &BenchMethod,
        file: &ExperimentFile,
        revisions: &[Revision],
    ) -> CommandProgram {
        let BenchMethod { table, revision } = method;
        let (word, arguments) = match command(table) {
            Some(Words::List(words)) => {
                let (program, arguments) = words.split_first().unzip();
                let arguments = arguments.unwrap_or_default().to_vec();
                (program.map(String::as_str).unwrap_or_default(), Some(Words::List(arguments)))
            }
            Some(Words::Text(text)) => {
                let tree = revision.as_ref().map(|at| &revisions[at.index].tree);
                let (word, rest) = tree.and_then(|tree| split_in(text, tree)).unwrap_or(("", text));
                (word, Some(Words::Text(rest.to_owned())))
            }
            None => ("", None),
        };
        let word = unescaped(word);
        let rest = MethodTable {
            name: At::default(),
            command: arguments.map(At::new),
            parameters: BTreeMap::new(),
            ..table.clone()
        };
        let dir = file.dir.as_ref().map_or("", |dir| &dir.value);
        let has_own_path = table.env.keys().chain(file.env.keys()).any(|name| name == "PATH");
        let program = match file.hooks.setup {
            // It may make the program.
            Some(_) => ProgramFile { word, path: None },
            None => ProgramFile::new(word, Path::new(dir), has_own_path),
        };
        CommandProgram { program, rest }
    }

    fn is_same(&self, other: &CommandProgram, digests: &mut Digests<'_>) -> bool {
        self.rest == other.rest && self.program.sameness(&other.program, digests).is_some()
    }
}

/// The program at the start of a text for a shell, if it is below the folder, and the rest.
fn split_in<'t>(text: &'t str, folder: &str) -> Option<(&'t str, &'t str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_below = word.strip_prefix(folder).is_some_and(|below| below.starts_with('/'));
    is_below.then_some((word, rest))
}

// `--rev A,B --build COMMAND`: each revision of the repository in the current directory gets a
// worktree of its own, which is built before anything is measured and removed afterwards.

/// A longer build is a mistake.
const BUILD_LIMIT_NS: u64 = 4 * 3600 * 1_000_000_000;
const GIT_LIMIT_NS: u64 = 600 * 1_000_000_000;

/// The parameters that a revision gives: its name as it was typed, and the folder in its worktree
/// that corresponds to the current directory.
pub(super) const REV: &str = "rev";
pub(super) const TREE: &str = "tree";

/// The worktrees. They are removed on drop.
pub(in crate::commands) struct Revisions {
    pub(in crate::commands) all: Vec<Revision>,
    /// The root of each worktree that was made.
    made: Vec<String>,
    /// The flag that names them.
    flag: &'static str,
    /// The folder of the worktrees, which is removed after them.
    _dir: TemporaryFolder,
}

pub(in crate::commands) struct Revision {
    /// Without its methods, which are made of what was typed for it.
    pub(in crate::commands) measured: MeasuredRevision,
    /// The folder in its worktree that corresponds to the current directory.
    pub(in crate::commands) tree: String,
}

impl Revisions {
    /// Makes and builds those of `--rev`; without it there is none.
    pub(super) fn build(args: &RevisionArgs, stop: &Stop) -> Result<Option<Revisions>> {
        if args.rev.is_empty() {
            return Ok(None);
        }
        let mut revisions = Revisions::new("--rev", &args.rev, stop)?;
        for Revision { measured, tree } in &mut revisions.all {
            if let Some(build) = &args.build {
                let script = "cd \"$1\" && eval \"$2\"";
                let words = ["/bin/sh", "-c", script, "build", tree, build].map(str::to_owned);
                let built = launch::run_to_end(&words, BUILD_LIMIT_NS, stop);
                ended(built).with_context(|| format!("--build of {}", measured.name))?;
            }
            // A build may change files that git tracks.
            describe(&mut measured.commit, tree, GIT_LIMIT_NS, stop);
        }
        Ok(Some(revisions))
    }

    /// Makes a worktree for each of these revisions, which this flag names.
    pub(in crate::commands) fn new(
        flag: &'static str,
        names: &[String],
        stop: &Stop,
    ) -> Result<Revisions> {
        let dir = TemporaryFolder::new_in(&std::env::temp_dir()).context(flag)?;
        // In the texts of commands it must be one word.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.+".contains(c);
        let place = dir.path.to_str().filter(|place| place.chars().all(is_plain));
        let place = place.map(PathBuf::from);
        let place = place.with_context(|| {
            format!("{flag}: {} cannot be a word of a command: set TMPDIR", dir.path.display())
        })?;
        let prefix = git(&["rev-parse", "--show-prefix"], stop)?;
        // The worktrees of killed runs were removed with their folders.
        git(&["worktree", "prune"], stop)?;
        let mut revisions = Revisions { all: Vec::new(), made: Vec::new(), flag, _dir: dir };
        for (i, name) in names.iter().enumerate() {
            let is_new = revisions.all.iter().all(|other| other.measured.name != *name);
            ensure!(is_new && !name.is_empty(), "{flag}: {name:?} is given twice, or empty");
            let root = place.join(i.to_string()).display().to_string();
            revisions.add(name, &root, prefix.trim_end_matches('\n'), stop)?;
        }
        Ok(revisions)
    }

    fn add(&mut self, name: &str, root: &str, prefix: &str, stop: &Stop) -> Result<()> {
        let flag = self.flag;
        let verify = ["rev-parse", "--verify", "--end-of-options"];
        let found = git(&[&verify[..], &[&format!("{name}^{{commit}}")]].concat(), stop);
        let is_shallow = || {
            let answer = git(&["rev-parse", "--is-shallow-repository"], stop);
            answer.is_ok_and(|answer| answer.trim() == "true")
        };
        let found = found.with_context(|| {
            let advice =
                if is_shallow() { ": the clone is shallow: git fetch --unshallow" } else { "" };
            format!("{flag} {name}{advice}")
        });
        let commit = found?.trim().to_owned();
        let full = git(&["rev-parse", "--symbolic-full-name", name], stop).unwrap_or_default();
        let branch = ["refs/heads/", "refs/remotes/"].map(|kind| full.trim().strip_prefix(kind));
        let branch = branch.into_iter().flatten().next().map(str::to_owned);
        self.made.push(root.to_owned());
        // The user's hook after a checkout is not for it.
        let add = ["-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach"];
        git(&[&add[..], &[root, &commit]].concat(), stop)
            .with_context(|| format!("{flag} {name}"))?;
        let tree = format!("{root}/{prefix}").trim_end_matches('/').to_owned();
        ensure!(
            std::fs::metadata(&tree).is_ok_and(|found| found.is_dir()),
            "{flag} {name}: it has no folder {prefix}"
        );
        let commit = ProjectCommit { commit, branch, ..ProjectCommit::default() };
        let measured = MeasuredRevision { name: name.to_owned(), commit, methods: Vec::new() };
        self.all.push(Revision { measured, tree });
        Ok(())
    }
}

impl Drop for Revisions {
    fn drop(&mut self) {
        // A signal that stopped the run does not keep the worktrees.
        let stop = Stop::default();
        for root in &self.made {
            let _ = git(&["worktree", "remove", "--force", root], &stop);
            let _ = std::fs::remove_dir_all(root);
        }
        let _ = git(&["worktree", "prune"], &stop);
    }
}

/// Fails if a program that is to be in a worktree is not: before anything is measured.
pub(super) fn ensure_built(
    methods: &[BenchMethod],
    file: &ExperimentFile,
    revisions: &[Revision],
    is_built: bool,
) -> Result<()> {
    // Hooks may make it.
    let is_made =
        |method: &BenchMethod| file.hooks.setup.is_some() || method.table.prepare.is_some();
    for method in methods.iter().filter(|method| !is_made(method)) {
        let Some(at) = &method.revision else { continue };
        let Revision { measured, tree } = &revisions[at.index];
        let ProgramFile { word, .. } = CommandProgram::of_method(method, file, revisions).program;
        let below = word.strip_prefix(tree.as_str()).and_then(|rest| rest.strip_prefix('/'));
        let Some(path) = below.filter(|_| !to_path(&word).exists()) else { continue };
        let why = match (is_built, to_path(path).exists()) {
            (true, _) => "--build has not made it",
            (false, true) => "git does not track it there; say how to build it: --build 'make'",
            (false, false) => {
                "nor is there one here; is the path right? What is built needs --build 'make'"
            }
        };
        bail!("--rev: {} has no file {path}: {why}", measured.label());
    }
    Ok(())
}

/// Fails if what was typed as revisions is written otherwise.
pub(super) fn ensure_revisions(args: &BenchArgs, stop: &Stop) -> Result<()> {
    let names = &args.revisions.rev;
    for name in names {
        ensure!(
            name != ".",
            "--rev: there is no revision for uncommitted changes: commit them first"
        );
        if let Some((first, last)) = name.split_once("..") {
            let both = [first, last.trim_start_matches('.')];
            let both = both.map(|name| if name.is_empty() { "HEAD" } else { name });
            bail!("--rev {name}: write revisions with a comma: --rev {}", both.join(","));
        }
    }
    let may_be_one =
        |text: &&String| !text.contains(' ') && !is_installed(text) && !to_path(text).exists();
    let mut others = args.commands.iter().filter(|_| !names.is_empty()).filter(may_be_one);
    if let Some(name) = others.find(|name| has_commit(name, GIT_LIMIT_NS, stop)) {
        bail!("--rev: write revisions with a comma: --rev {},{name}", names.join(","));
    }
    Ok(())
}

/// The command with a program of the worktree in place of one with a relative path; none where its
/// program is another.
pub(super) fn of_worktree(text: &str) -> Option<String> {
    let text = text.trim_start();
    let program = text.split(char::is_whitespace).next().unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || "/-_.+@:,{}".contains(c);
    let is_relative = program.contains('/') && !program.starts_with(['/', '{']);
    let path = text.strip_prefix("./").unwrap_or(text);
    (is_relative && program.chars().all(is_plain)).then(|| format!("{{{TREE}}}/{path}"))
}

fn git(words: &[&str], stop: &Stop) -> Result<String> {
    ended(crate::git::git(words, GIT_LIMIT_NS, stop))
}

fn ended<T>(ended: Result<T, RunError>) -> Result<T> {
    match ended {
        Ok(done) => Ok(done),
        Err(RunError::Stopped) => bail!("stopped by a signal"),
        Err(RunError::Failed(why) | RunError::Skipped(why)) => bail!("{why}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use experiments::custom::file::{HookScript, HooksTable, ShellWord};

    use super::*;

    fn words(text: &str) -> Words {
        Words::List(text.split(' ').map(str::to_owned).collect())
    }

    fn method(name: &str, command: Words) -> MethodTable {
        MethodTable {
            name: At::new(name.to_owned()),
            shell: ShellWord::Default(matches!(command, Words::Text(_))),
            command: Some(At::new(command)),
            ..MethodTable::default()
        }
    }

    fn hook(text: &str) -> At<HookScript> {
        At::new(HookScript::Plain(words(text)))
    }

    fn check(dir: &Path, methods: Vec<MethodTable>, expected: &[&str]) {
        check_with(HooksTable::default(), dir, methods, expected);
    }

    fn check_with(hooks: HooksTable, dir: &Path, methods: Vec<MethodTable>, expected: &[&str]) {
        let end = " run the same program with the same arguments";
        let dir = Some(At::new(dir.to_str().unwrap().to_owned()));
        let file = ExperimentFile { dir, hooks, ..ExperimentFile::default() };
        let method = |table| BenchMethod { table, revision: None };
        let methods: Vec<BenchMethod> = methods.into_iter().map(method).collect();
        let found = same(&methods, &file, &[], &mut Digests::new(&Stop::default()));
        let found: Vec<&str> = found.iter().map(|line| line.strip_suffix(end).unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_bytes_and_equal_words_are_the_same_program() {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path();
        for (name, text) in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "three")] {
            std::fs::write(dir.join(name), text).unwrap();
        }
        symlink("d", dir.join("e")).unwrap();
        let command = |text: &str| method(text, words(text));
        let of = |texts: &[&str]| texts.iter().map(|text| command(text)).collect::<Vec<_>>();
        check(dir, of(&["./a x", "./b x", "./c x"]), &["./a x and ./b x"]);
        check(dir, of(&["./a x", "./b y", "./nosuch x"]), &[]);
        // One file may be another program under another name.
        check(dir, of(&["./d", "./e"]), &[]);
        check(dir, of(&["./d", ".//d"]), &["./d and .//d"]);
        check(dir, of(&["sh x", "/bin/sh x"]), &["sh x and /bin/sh x"]);
        let six = (1..7).map(|n| method(&n.to_string(), words("./a x"))).collect();
        check(dir, six, &["1, 2, 3, 4 and 2 more"]);
        let shell = |text: &str| method(text, Words::Text("a | b".to_owned()));
        check(dir, vec![shell("1"), shell("2")], &["1 and 2"]);
        check(dir, vec![shell("1"), command("a | b")], &[]);
    }

    #[test]
    fn a_program_that_the_setup_may_make_is_known_by_its_name_alone() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::write(directory.path().join(name), "one").unwrap();
        }
        let names = [("1", "./a"), ("2", "./b"), ("3", "./a")];
        let methods = names.map(|(name, text)| method(name, words(text))).to_vec();
        let hooks = HooksTable { setup: Some(hook("make b")), ..HooksTable::default() };
        check_with(hooks, directory.path(), methods, &["1 and 3"]);
    }

    #[test]
    fn what_surrounds_a_command_must_be_equal_too() {
        let directory = tempfile::tempdir().unwrap();
        let plain = || method("plain", words("./x"));
        for other in [
            MethodTable { prepare: Some(hook("a")), ..plain() },
            MethodTable { output: Some(At::new("pipe".to_owned())), ..plain() },
            MethodTable {
                env: BTreeMap::from([("A".to_owned(), At::new("b".to_owned()))]),
                ..plain()
            },
        ] {
            check(directory.path(), vec![plain(), other], &[]);
        }
        let parameters = BTreeMap::from([("n".to_owned(), "1".to_owned())]);
        let named = MethodTable { parameters, ..plain() };
        check(directory.path(), vec![plain(), named], &["plain and plain"]);
    }

    #[test]
    fn the_files_of_a_worktree_are_the_words_that_name_one() {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path().to_str().unwrap();
        std::fs::write(directory.path().join("x"), "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let expected = BTreeMap::from([("x".to_owned(), abc.to_owned())]);
        let stop = Stop::default();
        let mut digests = Digests::new(&stop);
        let mut files = |command: Words| files(&method("a", command), dir, &mut digests);
        assert_eq!(files(words(&format!("{dir}/x {dir} {dir}/nosuch {dir}x"))), expected);
        let script = Words::Text(format!("cat {dir}/x | {dir}/x; '"));
        assert_eq!(files(script), BTreeMap::new(), "it cannot be split");
        assert_eq!(files(Words::Text(format!("cat {dir}/x | wc"))), expected);
        assert_eq!(split_in(" /t/x 1>y", "/t"), Some(("/t/x", " 1>y")));
        assert_eq!(split_in("/tx 1", "/t"), None);
    }
}

#[cfg(test)]
mod revisions_tests {
    use super::of_worktree;

    #[test]
    fn a_relative_program_is_that_of_the_worktree() {
        for (text, expected) in [
            ("./x a", Some("{tree}/x a")),
            ("  target/release/x ./a", Some("{tree}/target/release/x ./a")),
            ("../x", Some("{tree}/../x")),
            ("target/{profile}/x", Some("{tree}/target/{profile}/x")),
            ("./x", Some("{tree}/x")),
            ("/bin/x a", None),
            ("x ./a", None),
            ("{tree}/x", None),
            ("A=./b x", None),
            ("'./a b' c", None),
            ("", None),
        ] {
            assert_eq!(of_worktree(text).as_deref(), expected, "{text}");
        }
    }
}
