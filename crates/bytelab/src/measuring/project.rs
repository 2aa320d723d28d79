//! The project that is measured: the repository of git in which the current directory is.

use std::fs;
use std::path::{Path, PathBuf};

/// The fact of a run's environment with the commit.
pub(super) const COMMIT: &str = "project_commit";

/// The commit that is checked out in this directory or in one above it.
pub(super) fn commit(directory: &Path) -> Option<String> {
    let git = directory.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    let git = if git.is_file() { of_worktree(&git)? } else { git };
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else { return is_commit(&head).then_some(head) };
    // The branches of a further worktree are in the main one.
    let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |dir| git.join(dir));
    let found = read(&git.join(name)).or_else(|| read(&common.join(name)));
    let found = found.or_else(|| {
        let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, known)| *known == name).map(|(commit, _)| commit.to_owned())
    });
    found.filter(|commit| is_commit(commit))
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

    #[test]
    fn the_commit_is_found_wherever_git_keeps_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let below = root.join("src/deep");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir_all(root.join(".git/refs/heads")).unwrap();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        write(".git/HEAD", "ref: refs/heads/main\n");
        assert_eq!(commit(&below), None);
        write(".git/packed-refs", &format!("# pack-refs\n{B} refs/heads/main\n"));
        assert_eq!(commit(&below).as_deref(), Some(B));
        write(".git/refs/heads/main", &format!("{A}\n"));
        assert_eq!(commit(&below).as_deref(), Some(A));
        write(".git/HEAD", &format!("{B}\n"));
        assert_eq!(commit(root).as_deref(), Some(B));
        write(".git/HEAD", "odd");
        assert_eq!(commit(root), None);
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
        assert_eq!(commit(&root.join("other")).as_deref(), Some(A));
    }
}
