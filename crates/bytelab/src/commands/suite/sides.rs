//! The two sides of a check of a suite: worktrees of two revisions, or two folders; the copies of
//! their programs; and whether these are the same.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use experiments::TemporaryFolder;
use measure::launch::{self, RunError, Stop};
use model::path_text::{from_path, to_path};
use model::run::{MeasuredRevision, ProjectCommit};

use super::harness::{self, Harness, SuiteProgram};
use crate::commands::bench::Revisions;
use crate::commands::note;
use crate::commands::program_file::Digests;
use crate::git;

/// Git is asked about large trees.
const GIT_LIMIT_NS: u64 = 60_000_000_000;
/// A larger tree is not copied.
const COPY_LIMIT_NS: u64 = 600_000_000_000;

/// Old and new.
pub(super) struct SuiteSides {
    pub(super) old: SuiteSide,
    pub(super) new: SuiteSide,
    /// The worktrees, which are removed on drop.
    _revisions: Option<Revisions>,
}

/// A tree with a suite.
pub(super) struct SuiteSide {
    /// What readers see of it.
    pub(super) label: String,
    pub(super) tree: PathBuf,
    /// Its revision, if it is a worktree.
    pub(super) revision: Option<MeasuredRevision>,
    /// The program that was built before, if it is one, which works in the tree of the new side.
    pub(super) program: Option<PathBuf>,
}

impl SuiteSides {
    /// A path of this name wins over a revision. Against a folder or a program, the current folder
    /// is measured as it is; against a revision, the commit that is checked out.
    pub(super) fn new(against: &str, harness: &dyn Harness, stop: &Stop) -> Result<SuiteSides> {
        let folder = to_path(against);
        if folder.is_dir() {
            let old = SuiteSide::folder(&folder).with_context(|| format!("--against {against}"))?;
            let new = SuiteSide::folder(Path::new("."))?;
            ensure!(old.tree != new.tree, "--against {against}: it is the folder here");
            return Ok(SuiteSides { old, new, _revisions: None });
        }
        if folder.is_file() {
            let new = SuiteSide::folder(Path::new("."))?;
            let old = SuiteSide::program(against, &new.tree, harness)?;
            return Ok(SuiteSides { old, new, _revisions: None });
        }
        ensure!(
            against != "HEAD",
            "--against HEAD: it is the commit that is checked out, and the new side; name an older \
             one, as HEAD~1, or another folder, beside which this one is measured as it is"
        );
        let names = [against.to_owned(), "HEAD".to_owned()];
        let mut revisions = Revisions::new("--against", &names, stop)
            .with_context(|| format!("{against} is no folder and no program"))?;
        let mut here = ProjectCommit::default();
        for revision in &mut revisions.all {
            git::describe(&mut revision.measured.commit, &revision.tree, GIT_LIMIT_NS, stop);
            here.commit.clone_from(&revision.measured.commit.commit);
        }
        git::describe(&mut here, ".", GIT_LIMIT_NS, stop);
        if here.dirty == Some(true) {
            note(
                "changes that are not committed are not measured: HEAD is; to measure this folder as it \
                 is, name the other one: --against FOLDER",
            )?;
        }
        let side = |at: usize| {
            let revision = &revisions.all[at];
            SuiteSide {
                label: revision.measured.label(),
                tree: to_path(&revision.tree),
                revision: Some(revision.measured.clone()),
                program: None,
            }
        };
        Ok(SuiteSides { old: side(0), new: side(1), _revisions: Some(revisions) })
    }
}

impl SuiteSide {
    pub(super) fn folder(folder: &Path) -> Result<SuiteSide> {
        let tree = fs::canonicalize(folder).with_context(|| folder.display().to_string())?;
        Ok(SuiteSide { label: tree.display().to_string(), tree, revision: None, program: None })
    }

    /// An old side that needs no build.
    fn program(against: &str, tree: &Path, harness: &dyn Harness) -> Result<SuiteSide> {
        let advice = format!(
            "name a revision or a folder; a branch of the same name is refs/heads/{against}"
        );
        ensure!(
            harness.has_programs(),
            "--against {against}: it is a file, and this suite needs the whole tree of its old side: \
             {advice}"
        );
        let named = || format!("--against {against}");
        let file = fs::canonicalize(to_path(against)).with_context(named)?;
        let mode = file.metadata().with_context(named)?.permissions().mode();
        ensure!(
            mode & 0o111 != 0,
            "--against {against}: it is a file that cannot be executed, and no program: {advice}"
        );
        let label = file.display().to_string();
        Ok(SuiteSide { label, tree: tree.to_owned(), revision: None, program: Some(file) })
    }

    /// Runs `--suite-build` in it, and builds its programs below `target`.
    pub(super) fn build(
        &self,
        command: Option<&str>,
        harness: &dyn Harness,
        target: &Path,
        stop: &Stop,
    ) -> Result<Vec<SuiteProgram>> {
        note(&format!("building {}", self.label))?;
        let built = || -> Result<Vec<SuiteProgram>> {
            if let Some(command) = command {
                let words = harness::texts(["/bin/sh", "-c", command]);
                fs::create_dir_all(target)?;
                harness::build(&self.tree, &words, &target.join("built"), stop)
                    .context("--suite-build")?;
            }
            let mut programs = harness.build(&self.tree, target, stop)?;
            programs.sort_by(|a, b| a.name.cmp(&b.name));
            for pair in programs.windows(2) {
                ensure!(pair[0].name != pair[1].name, "two programs are called {}", pair[0].name);
            }
            Ok(programs)
        };
        built().with_context(|| self.label.clone())
    }
}

/// Which of the new programs an old one is compared with: that of its target or package, or the
/// only one.
pub(super) fn counterpart(old: &Path, new: &[SuiteProgram]) -> Result<SuiteProgram> {
    let plain = |name: &str| name.replace('-', "_");
    let target = target(old);
    let is_it = |one: &&SuiteProgram| {
        one.name.rsplit('/').next().is_some_and(|last| plain(last) == plain(&target))
    };
    let found: Vec<&SuiteProgram> = new.iter().filter(is_it).collect();
    match (&found[..], new) {
        ([one], _) => Ok((*one).clone()),
        (_, [only]) => Ok(only.clone()),
        _ => {
            let names: Vec<&str> = new.iter().map(|one| one.name.as_str()).collect();
            bail!(
                "--against {}: the new side has {} programs ({}), and not one that is called {target}: \
                 choose one, as by --suite-args '--bench NAME' for cargo, or ./PACKAGE for go",
                old.display(),
                new.len(),
                names.join(", ")
            )
        }
    }
}

/// The target or package in the name of a program: `parse-0123456789abcdef` of cargo, `parse.test`
/// of go.
fn target(file: &Path) -> String {
    let name = file.file_name().map(Path::new).map(from_path).unwrap_or_default();
    let name = name.strip_suffix(".test").unwrap_or(&name);
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
    match name.rsplit_once('-') {
        Some((target, hash)) if is_hash(hash) => target.to_owned(),
        _ => name.to_owned(),
    }
}

/// Copies of both sides' programs. Their paths have equal lengths, as these move what a process
/// has in memory.
pub(super) struct SuiteCopies {
    /// Old and new.
    pub(super) programs: Vec<[SuiteProgram; 2]>,
    _folder: TemporaryFolder,
}

impl SuiteCopies {
    /// In a new folder below `work`.
    pub(super) fn new(
        programs: &[[SuiteProgram; 2]],
        work: &Path,
        stop: &Stop,
    ) -> Result<SuiteCopies> {
        let folder = TemporaryFolder::new_in(work)?;
        let mut copies = Vec::new();
        for (i, sides) in programs.iter().enumerate() {
            let [old, new] = [("a", &sides[0]), ("b", &sides[1])].map(|(side, program)| {
                copy(program, &folder.path.join(format!("{side}{i}")), stop)
                    .with_context(|| format!("copying {}", program.file.display()))
            });
            copies.push([old?, new?]);
        }
        Ok(SuiteCopies { programs: copies, _folder: folder })
    }
}

/// What git keeps is not a part of the suite. A file that cannot be read is an error, which the
/// status of the second tar does not show. A folder that cannot be written could not be removed.
const COPY: &str = "cd \"$1\" && { tar -cf - --exclude=./.git . || : >\"$2.part\"; } \
                    | tar -xf - -C \"$2\" && test ! -e \"$2.part\" \
                    && find \"$2\" -type d ! -perm -200 -exec chmod u+w {} +";

fn copy(program: &SuiteProgram, to: &Path, stop: &Stop) -> Result<SuiteProgram> {
    if program.file.is_dir() {
        fs::create_dir(to)?;
        let words = ["/bin/sh", "-c", COPY, "copy", &from_path(&program.file), &from_path(to)];
        match launch::run_to_end(&words.map(str::to_owned), COPY_LIMIT_NS, stop) {
            Ok(()) => {}
            Err(RunError::Stopped) => bail!("stopped by a signal"),
            Err(RunError::Failed(why) | RunError::Skipped(why)) => bail!("{why}"),
        }
    } else {
        fs::copy(&program.file, to)?;
    }
    Ok(SuiteProgram { file: to.to_owned(), ..program.clone() })
}

/// Whether both sides are the same program: a file of equal bytes, or folders whose files are.
pub(super) fn are_same(sides: &[SuiteProgram; 2], digests: &mut Digests<'_>) -> Result<bool> {
    let [old, new] = sides.each_ref().map(|program| program.file.as_path());
    if !old.is_dir() || !new.is_dir() {
        return Ok(digests.are_equal([old, new]));
    }
    let (old_files, new_files) = (files(old)?, files(new)?);
    let is_equal = |(name, kind): (&PathBuf, &TreeEntry)| {
        *kind != TreeEntry::Other
            && new_files.get(name) == Some(kind)
            && (!matches!(kind, TreeEntry::File { .. })
                || digests.are_equal([&old.join(name), &new.join(name)]))
    };
    Ok(old_files.len() == new_files.len() && old_files.iter().all(is_equal))
}

#[derive(Debug, PartialEq, Eq)]
enum TreeEntry {
    File { size_bytes: u64, is_executable: bool },
    Link(PathBuf),
    Other,
}

/// What git keeps, and what Python and pytest write beside modules.
const NO_PART: [&str; 3] = [".git", "__pycache__", ".pytest_cache"];

/// What is below a folder, by its path there.
fn files(root: &Path) -> Result<BTreeMap<PathBuf, TreeEntry>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let (path, metadata) = (entry.path(), entry.metadata()?);
            if NO_PART.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let kind = if metadata.is_dir() {
                folders.push(path);
                continue;
            } else if metadata.is_file() {
                let is_executable = metadata.permissions().mode() & 0o111 != 0;
                TreeEntry::File { size_bytes: metadata.len(), is_executable }
            } else if metadata.is_symlink() {
                TreeEntry::Link(fs::read_link(&path)?)
            } else {
                TreeEntry::Other
            };
            found.insert(path.strip_prefix(root)?.to_owned(), kind);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_program_is_compared_with_that_of_its_target() {
        let program = |name: &str| SuiteProgram {
            name: name.to_owned(),
            file: PathBuf::from(format!("/new/{name}")),
            dir: None,
        };
        let several = [program("parse"), program("crates/a/my-copy"), program("b/parse2")];
        let of = |file: &str, new: &[SuiteProgram]| {
            counterpart(Path::new(file), new).map(|one| one.name).map_err(|error| error.to_string())
        };
        for (file, expected) in [
            ("deps/parse-0123456789abcdef", "parse"),
            ("my_copy-0123456789abcdef", "crates/a/my-copy"),
            ("/x/parse2.test", "b/parse2"),
            ("parse", "parse"),
        ] {
            assert_eq!(of(file, &several).unwrap(), expected, "{file}");
        }
        assert_eq!(of("/x/saved", &several[..1]).unwrap(), "parse");
        let error = of("/x/saved", &several).unwrap_err();
        assert!(error.contains("3 programs (parse, crates/a/my-copy, b/parse2)"), "{error}");
        assert!(of("/x/saved", &[]).unwrap_err().contains("0 programs"));
    }

    #[test]
    fn folders_are_the_same_if_every_file_of_them_is() {
        let dir = tempfile::tempdir().unwrap();
        let program = |name: &str| SuiteProgram {
            name: String::new(),
            file: dir.path().join(name),
            dir: None,
        };
        let sides = [program("old"), program("new")];
        for side in &sides {
            fs::create_dir_all(side.file.join("sub/.git")).unwrap();
            fs::write(side.file.join("sub/a"), "one").unwrap();
            std::os::unix::fs::symlink("a", side.file.join("sub/b")).unwrap();
        }
        let stop = Stop::default();
        let same = || are_same(&sides, &mut Digests::new(&stop)).unwrap();
        assert!(same());
        fs::write(sides[1].file.join("sub/.git/x"), "not read").unwrap();
        assert!(same());
        fs::write(sides[1].file.join("sub/a"), "two").unwrap();
        assert!(!same());
        fs::write(sides[1].file.join("sub/a"), "one").unwrap();
        assert!(same());
        fs::write(sides[1].file.join("more"), "").unwrap();
        assert!(!same());
    }

    #[test]
    fn a_copy_has_what_is_run_and_not_what_git_keeps() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join(".git")).unwrap();
        fs::write(tree.join("a"), "one").unwrap();
        let fixed = tree.join("fixed");
        fs::create_dir(&fixed).unwrap();
        fs::write(fixed.join("b"), "two").unwrap();
        let set_mode =
            |mode| fs::set_permissions(&fixed, fs::Permissions::from_mode(mode)).unwrap();
        set_mode(0o555);
        let program = SuiteProgram { name: String::new(), file: tree, dir: None };
        let stop = Stop::default();
        let pair = [program.clone(), program];
        let copies = SuiteCopies::new(&[pair], dir.path(), &stop).unwrap();
        let [old, new] = &copies.programs[0];
        assert_eq!(from_path(&old.file).len(), from_path(&new.file).len());
        assert!(
            old.file != new.file && old.file.join("a").exists() && !old.file.join(".git").exists()
        );
        let mode = old.file.join("fixed").metadata().unwrap().permissions().mode();
        assert_eq!((mode & 0o200, old.file.join("fixed/b").exists()), (0o200, true));
        let folder = old.file.clone();
        drop(copies);
        assert!(!folder.exists());
        set_mode(0o755);
        // The same shell, whose tar reads only a part of the tree.
        let (from, to) = (dir.path().join("tree"), dir.path().join("to"));
        fs::create_dir(&to).unwrap();
        let script =
            format!("tar() {{ case $1 in -c*) return 2;; *) cat >/dev/null;; esac; }}; {COPY}");
        let words = ["/bin/sh", "-c", &script, "copy", &from_path(&from), &from_path(&to)];
        let ran = launch::run_to_end(&words.map(str::to_owned), COPY_LIMIT_NS, &stop);
        assert!(matches!(ran, Err(RunError::Failed(_))), "{ran:?}");
    }
}
