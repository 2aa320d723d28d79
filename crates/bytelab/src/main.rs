//! The program: parse, measure into the store, analyze, print.

mod cli;
mod commands;
mod console;
mod git;
mod measuring;
mod preset_flags;
mod redaction;
mod run_flags;

use std::ffi::OsString;
use std::process::ExitCode;

use measure::launch;

use crate::cli::{Cli, GlobalArgs};
use crate::commands::{Context, exit, hidden};

/// Counts what built-in methods allocate, in the counting pass only.
#[global_allocator]
static ALLOCATOR: measure::count::CountingAllocator = measure::count::CountingAllocator;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Without it, a file that is too large ends the process by a signal.
    let _ = tools::fail_at_the_size_limit();
    // The tools come first: they start no process and store nothing, and each function that is
    // called before them may take a page fault.
    let ended = run_flags::run_tool(&words).or_else(|| hidden::run(&words));
    let ended = ended.or_else(|| cli::licences(&words)).unwrap_or_else(|| {
        let (Cli { global, task, .. }, experiments) = run_flags::parse(&words)?;
        let GlobalArgs { store, keep_env } = global;
        let mut secret = store::secret_variables(store.as_deref(), &words);
        secret.retain(|name| !keep_env.iter().any(|kept| kept == name));
        launch::withhold(secret);
        launch::keep_children(measuring::mark);
        let ended = task.run(&Context { store, experiments, command: run_flags::command });
        launch::end_keeper();
        ended
    });
    ended.unwrap_or_else(|error| exit::of_error(&error))
}
