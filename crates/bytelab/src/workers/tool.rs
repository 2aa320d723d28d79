//! A compiler or an interpreter: its path on this machine, and its version.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use lab::launch::{self, RunError, Stop};

/// Prints a line about the progress of the build.
pub(crate) type Tell<'a> = &'a dyn Fn(&str) -> io::Result<()>;

/// The time limit for printing the version.
const LIMIT_NS: u64 = 60_000_000_000;

pub(super) struct Tool {
    /// Any one of these is sufficient, the best first. `{FIRST}` in a command stands for the one
    /// that is found.
    pub(super) names: &'static [&'static str],
    /// The arguments that print its version, on one line.
    pub(super) version: &'static [&'static str],
    /// The arguments that print its own path, for a tool that a script may wrap.
    pub(super) path: &'static [&'static str],
}

/// A tool that was found.
pub(super) struct Found {
    /// The placeholder for it in commands.
    pub(super) placeholder: String,
    pub(super) program: String,
    pub(super) version: String,
}

impl Tool {
    /// The first of its names that is a program in one of the directories of `PATH`.
    pub(super) fn place(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let candidates = self.names.iter().flat_map(|name| dirs.iter().map(move |d| d.join(name)));
        candidates.into_iter().find(|file| {
            let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
            metadata.is_some_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
        })
    }

    /// Runs it to get its version. The inner error is the reason why it cannot be used.
    pub(super) fn find(&self, stop: &Stop) -> Result<Result<Found, String>, RunError> {
        let Some(place) = self.place() else { return Ok(Err(self.missing())) };
        let place = place.to_string_lossy().into_owned();
        let ask = |question: &[&str]| {
            let question = question.iter().map(|word| (*word).to_owned());
            let argv: Vec<String> = [place.clone()].into_iter().chain(question).collect();
            match launch::output(&argv, LIMIT_NS, stop) {
                Err(RunError::Stopped) => Err(RunError::Stopped),
                Err(RunError::Skipped(reason) | RunError::Failed(reason)) => Ok(Err(reason)),
                Ok(text) => Ok(Ok(text.lines().next().unwrap_or_default().trim().to_owned())),
            }
        };
        let version = match ask(self.version)? {
            Ok(version) => version,
            Err(reason) => return Ok(Err(reason)),
        };
        let program = match self.path {
            [] => place.clone(),
            path => ask(path)?.ok().filter(|path| !path.is_empty()).unwrap_or(place.clone()),
        };
        let placeholder = format!("{{{}}}", self.names[0]);
        Ok(Ok(Found { placeholder, program, version }))
    }

    pub(super) fn missing(&self) -> String {
        format!("{} is not installed", self.names.join(" or "))
    }
}
