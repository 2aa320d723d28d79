//! `--rev A,B --build COMMAND`: each revision of the repository in the current directory gets a
//! worktree of its own, which is built before anything is measured and removed afterwards.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use lab::launch::{self, RunError, Stop};
use lab::run::{MeasuredRevision, ProjectCommit};

use super::args::RevisionArgs;
use crate::experiments::TemporaryFolder;
use crate::git::describe;

/// A longer build is a mistake.
const BUILD_LIMIT_NS: u64 = 4 * 3600 * 1_000_000_000;
const GIT_LIMIT_NS: u64 = 600 * 1_000_000_000;

/// The parameters that a revision gives: its name as it was typed, and the folder in its worktree
/// that corresponds to the current directory.
pub(super) const REV: &str = "rev";
pub(super) const TREE: &str = "tree";

/// The worktrees. They are removed on drop.
pub(super) struct Revisions {
    pub(super) all: Vec<Revision>,
    /// The root of each worktree that was made.
    made: Vec<String>,
    /// Where they are: removed after them.
    _dir: TemporaryFolder,
}

pub(super) struct Revision {
    /// Without its methods, which are made of what was typed for it.
    pub(super) measured: MeasuredRevision,
    /// The folder in its worktree that corresponds to the current directory.
    pub(super) tree: String,
}

impl Revisions {
    /// Makes and builds them; without `--rev` there is none.
    pub(super) fn build(args: &RevisionArgs, stop: &Stop) -> Result<Option<Revisions>> {
        if args.rev.is_empty() {
            return Ok(None);
        }
        let dir = TemporaryFolder::new_in(&std::env::temp_dir()).context("--rev")?;
        // In the texts of commands it must be one word.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.+".contains(c);
        let place = dir.path.to_str().filter(|place| place.chars().all(is_plain));
        let place = place.map(PathBuf::from);
        let place = place.with_context(|| {
            format!("--rev: {} cannot be a word of a command: set TMPDIR", dir.path.display())
        })?;
        let prefix = git(&["rev-parse", "--show-prefix"], stop)?;
        // The worktrees of killed runs were removed with their folders.
        git(&["worktree", "prune"], stop)?;
        let mut revisions = Revisions { all: Vec::new(), made: Vec::new(), _dir: dir };
        for (i, name) in args.rev.iter().enumerate() {
            let is_new = revisions.all.iter().all(|other| other.measured.name != *name);
            ensure!(is_new && !name.is_empty(), "--rev: {name:?} is given twice, or empty");
            let root = place.join(i.to_string()).display().to_string();
            revisions.add(name, &root, prefix.trim_end_matches('\n'), stop)?;
        }
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

    fn add(&mut self, name: &str, root: &str, prefix: &str, stop: &Stop) -> Result<()> {
        let verify = ["rev-parse", "--verify", "--end-of-options"];
        let found = git(&[&verify[..], &[&format!("{name}^{{commit}}")]].concat(), stop);
        let is_shallow = || {
            let answer = git(&["rev-parse", "--is-shallow-repository"], stop);
            answer.is_ok_and(|answer| answer.trim() == "true")
        };
        let found = found.with_context(|| {
            let advice =
                if is_shallow() { ": the clone is shallow: git fetch --unshallow" } else { "" };
            format!("--rev {name}{advice}")
        });
        let commit = found?.trim().to_owned();
        let full = git(&["rev-parse", "--symbolic-full-name", name], stop).unwrap_or_default();
        let branch = ["refs/heads/", "refs/remotes/"].map(|kind| full.trim().strip_prefix(kind));
        let branch = branch.into_iter().flatten().next().map(str::to_owned);
        self.made.push(root.to_owned());
        // The user's hook after a checkout is not for it.
        let add = ["-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach"];
        git(&[&add[..], &[root, &commit]].concat(), stop)
            .with_context(|| format!("--rev {name}"))?;
        let tree = format!("{root}/{prefix}").trim_end_matches('/').to_owned();
        ensure!(
            std::fs::metadata(&tree).is_ok_and(|found| found.is_dir()),
            "--rev {name}: it has no folder {prefix}"
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
