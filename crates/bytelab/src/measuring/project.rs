//! The project that is measured: the repository of git in which the current directory is.

use std::fs;
use std::path::{Path, PathBuf};

use lab::launch::Stop;
use lab::run::ProjectCommit;

use crate::git::{describe, head};

/// Git is asked about the tree before each run, which must not wait for a large one.
const GIT_LIMIT_NS: u64 = 1_000_000_000;

/// What is known of the commit that is checked out here, and of its tree.
pub(super) fn here(stop: &Stop) -> Option<ProjectCommit> {
    let git = git_of(&std::env::current_dir().ok()?)?;
    // Reading the files takes no time; git knows formats that are not read.
    let mut commit = commit(&git).or_else(|| head(".", GIT_LIMIT_NS, stop))?;
    describe(&mut commit, ".", GIT_LIMIT_NS, stop);
    Some(commit)
}

/// The folder of git of this directory or of one above it.
fn git_of(directory: &Path) -> Option<PathBuf> {
    let git = directory.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    if git.is_file() { of_worktree(&git) } else { Some(git) }
}

/// The commit that is checked out, and its branch, where its files tell it.
fn commit(git: &Path) -> Option<ProjectCommit> {
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else {
        return is_commit(&head).then(|| ProjectCommit { commit: head, ..Default::default() });
    };
    // The branches of a further worktree are in the main one.
    let common = read(&git.join("commondir")).map_or_else(|| git.to_owned(), |dir| git.join(dir));
    let found = read(&git.join(name)).or_else(|| read(&common.join(name)));
    let found = found.or_else(|| {
        let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, known)| *known == name).map(|(commit, _)| commit.to_owned())
    });
    let commit = found.filter(|commit| is_commit(commit))?;
    let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
    Some(ProjectCommit { commit, branch, ..ProjectCommit::default() })
}

/// A further worktree has a file that names its directory.
fn of_worktree(file: &Path) -> Option<PathBuf> {
    let named = PathBuf::from(read(file)?.strip_prefix("gitdir: ")?);
    Some(file.parent()?.join(named))
}

fn read(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn check(directory: &Path, expected: Option<(&str, Option<&str>)>) {
        let found = git_of(directory).and_then(|git| commit(&git));
        let found = found.as_ref().map(|found| (&*found.commit, found.branch.as_deref()));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_commit_is_found_wherever_git_keeps_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let below = root.join("src/deep");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir_all(root.join(".git/refs/heads/a")).unwrap();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        write(".git/HEAD", "ref: refs/heads/a/main\n");
        check(&below, None);
        write(".git/packed-refs", &format!("# pack-refs\n{B} refs/heads/a/main\n"));
        check(&below, Some((B, Some("a/main"))));
        write(".git/refs/heads/a/main", &format!("{A}\n"));
        check(&below, Some((A, Some("a/main"))));
        write(".git/HEAD", &format!("{B}\n"));
        check(root, Some((B, None)));
        write(".git/HEAD", "odd");
        check(root, None);
    }

    #[test]
    fn a_further_worktree_has_its_own_commit() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let own = root.join("main/.git/worktrees/other");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(root.join("main/.git/refs/heads")).unwrap();
        fs::create_dir(root.join("other")).unwrap();
        fs::write(root.join("other/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/topic\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(root.join("main/.git/refs/heads/topic"), A).unwrap();
        check(&root.join("other"), Some((A, Some("topic"))));
    }
}
