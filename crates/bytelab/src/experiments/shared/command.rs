//! A plain command that a built-in method starts again for each operation, between two descriptors
//! of its own.

use std::os::fd::OwnedFd;

use anyhow::{Result, anyhow};
use lab::clock::Cpu;
use lab::experiment::skip;
use lab::launch::{RunError, filter};

/// Fails before the timing if a program does not exist. The name may be absolute.
pub(crate) fn must_be_installed(program: &str) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if is_there { Ok(()) } else { Err(skip(format!("{program} is not installed"))) }
}

/// Runs the command to its end. Returns the CPU time used, including its start.
pub(crate) fn run(argv: &[String], input: OwnedFd, output: OwnedFd) -> Result<Cpu> {
    filter(argv, input, output).map_err(|ended| match ended {
        RunError::Skipped(reason) => skip(reason),
        RunError::Failed(reason) => anyhow!(reason),
        RunError::Stopped => anyhow!("stopped"),
    })
}
