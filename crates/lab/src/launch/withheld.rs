//! The environment of children: that of this process, less what is withheld from them.

use std::ffi::OsStr;
use std::process::Command;
use std::sync::OnceLock;

/// The variables that no child gets from the environment of this process.
static WITHHELD: OnceLock<Vec<&str>> = OnceLock::new();

/// Withholds these variables from all children that are started from now on. Only the first call
/// has an effect.
pub fn withhold(variables: Vec<&'static str>) {
    let _ = WITHHELD.set(variables);
}

/// A command with the environment of this process, less what is withheld.
#[expect(clippy::disallowed_methods, reason = "this is lab::launch")]
pub(super) fn new_command(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    for variable in WITHHELD.get().into_iter().flatten() {
        command.env_remove(variable);
    }
    command
}
