//! The facts that git reports about a repository, by the program: only it knows all formats.

use std::time::{Duration, UNIX_EPOCH};

use measure::launch::{self, PendingOutput, RunError, Stop};
use model::run::ProjectCommit;

/// A longer subject is cut.
const SUBJECT_CHARS: usize = 200;
/// The first second after the year 9999, which no date can show.
const LAST_S: u64 = 253_402_300_800;

/// The variables by which git is told of another repository than the one of a folder, as it is in
/// its hooks.
const OF_ANOTHER: [&str; 8] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];

/// The standard output of git.
pub(crate) fn git(words: &[&str], limit_ns: u64, stop: &Stop) -> Result<String, RunError> {
    let argv: Vec<String> = ["git"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    launch::output(&argv, limit_ns, stop)
}

/// Starts git in this folder, whatever repository the environment names.
fn start_in(
    folder: &str,
    words: &[&str],
    limit_ns: u64,
    stop: &Stop,
) -> Result<PendingOutput, RunError> {
    let unset = OF_ANOTHER.into_iter().filter(|name| std::env::var_os(name).is_some());
    let mut argv: Vec<&str> = unset.flat_map(|name| ["-u", name]).collect();
    if !argv.is_empty() {
        argv.insert(0, "env");
    }
    argv.extend(["git", "-C", folder]);
    argv.extend(words);
    let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
    PendingOutput::start(&argv, limit_ns, stop)
}

/// Whether the repository here has a commit of this name.
pub(crate) fn has_commit(name: &str, limit_ns: u64, stop: &Stop) -> bool {
    let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    let commit = format!("{name}^{{commit}}");
    git(&[&verify[..], &[&commit]].concat(), limit_ns, stop).is_ok()
}

/// The commit that is checked out in this folder, and its branch.
pub(crate) fn head(folder: &str, limit_ns: u64, stop: &Stop) -> Option<ProjectCommit> {
    let ask = |words: &[&str]| start_in(folder, words, limit_ns, stop).ok()?.read().ok();
    let commit = ask(&["rev-parse", "--verify", "--quiet", "HEAD"])?.trim().to_owned();
    let branch = ask(&["symbolic-ref", "--quiet", "HEAD"]);
    let branch = branch.and_then(|name| Some(name.trim().strip_prefix("refs/heads/")?.to_owned()));
    Some(ProjectCommit { commit, branch, ..ProjectCommit::default() })
}

/// Adds what git knows of the commit, and of the tree in this folder. What it does not tell within
/// the limit stays unknown.
pub(crate) fn describe(commit: &mut ProjectCommit, folder: &str, limit_ns: u64, stop: &Stop) {
    PendingDescription::start(commit, folder, limit_ns, stop).add_to(commit);
}

/// Two calls of git, about a commit and about the tree in a folder, that run beside other work.
pub(crate) struct PendingDescription {
    log: Option<PendingOutput>,
    status: Option<PendingOutput>,
}

impl PendingDescription {
    pub(crate) fn start(
        commit: &ProjectCommit,
        folder: &str,
        limit_ns: u64,
        stop: &Stop,
    ) -> PendingDescription {
        let log = ["log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%ct %s"];
        let log = [&log[..], &[&commit.commit, "--"]].concat();
        // Neither the index is written, nor the monitor of the configuration started.
        let status = ["--no-optional-locks", "-c", "core.fsmonitor=false", "status"];
        let status = [&status[..], &["--porcelain", "--untracked-files=no"]].concat();
        let start = |words: &[&str]| start_in(folder, words, limit_ns, stop).ok();
        // The tree takes longer.
        let status = start(&status);
        PendingDescription { log: start(&log), status }
    }

    /// Waits for git. What it does not tell within the limit stays unknown.
    pub(crate) fn add_to(self, commit: &mut ProjectCommit) {
        let read = |output: Option<PendingOutput>| output.and_then(|output| output.read().ok());
        if let Some(text) = read(self.log)
            && let Some((seconds, subject)) = text.trim_end_matches('\n').split_once(' ')
        {
            commit.commit_time = seconds.parse().ok().and_then(time);
            let subject: String = subject.chars().take(SUBJECT_CHARS).collect();
            commit.subject = Some(subject).filter(|subject| !subject.is_empty());
        }
        commit.dirty = read(self.status).map(|text| !text.is_empty());
    }
}

fn time(seconds: u64) -> Option<String> {
    let time = UNIX_EPOCH + Duration::from_secs(Some(seconds).filter(|s| *s < LAST_S)?);
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn a_time_has_four_digits_for_its_year() {
        let check = |seconds, expected| assert_eq!(time(seconds).as_deref(), expected);
        check(0, Some("1970-01-01T00:00:00Z"));
        check(1_767_323_045, Some("2026-01-02T03:04:05Z"));
        check(253_402_300_799, Some("9999-12-31T23:59:59Z"));
        check(253_402_300_800, None);
        check(u64::MAX, None);
    }
}
