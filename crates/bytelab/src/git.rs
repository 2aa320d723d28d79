//! What git says of a repository: the program is asked, as only it knows all of its formats.

use std::time::{Duration, UNIX_EPOCH};

use lab::launch::{self, RunError, Stop};
use lab::run::ProjectCommit;

/// A longer subject is cut.
const SUBJECT_CHARS: usize = 200;
/// The first second after the year 9999, which no date can show.
const LAST_S: u64 = 253_402_300_800;

/// The standard output of git.
pub(crate) fn git(words: &[&str], limit_ns: u64, stop: &Stop) -> Result<String, RunError> {
    let argv: Vec<String> = ["git"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    launch::output(&argv, limit_ns, stop)
}

/// Adds what git knows of the commit, and of the tree in this folder. What it does not tell within
/// the limit stays unknown.
pub(crate) fn describe(commit: &mut ProjectCommit, folder: &str, limit_ns: u64, stop: &Stop) {
    let log = ["log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%ct %s"];
    let log = [&["-C", folder][..], &log, &[&commit.commit, "--"]].concat();
    if let Ok(text) = git(&log, limit_ns, stop)
        && let Some((seconds, subject)) = text.trim_end_matches('\n').split_once(' ')
    {
        commit.commit_time = seconds.parse().ok().and_then(time);
        let subject: String = subject.chars().take(SUBJECT_CHARS).collect();
        commit.subject = Some(subject).filter(|subject| !subject.is_empty());
    }
    // Neither the index is written, nor a program of the configuration started.
    let status = ["--no-optional-locks", "-c", "core.fsmonitor=false", "-C", folder, "status"];
    let status = [&status[..], &["--porcelain", "--untracked-files=no"]].concat();
    commit.dirty = git(&status, limit_ns, stop).ok().map(|changed| !changed.is_empty());
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
