//! Prints the help, or what is wrong with the command line, and ends the process.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use crate::console;
use crate::report;

/// Wrong use of `cat` has exit status 1, as in POSIX.
#[expect(clippy::exit, reason = "as clap itself does")]
pub(crate) fn refuse(mut error: clap::Error, mut command: Command) -> ! {
    if error.get(ContextKind::Usage).is_some() {
        command.build();
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let usage = usage(&mut command, &words);
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    // A reader that goes away has read what it wanted.
    let printed = print(&error);
    let is_lost = printed.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
    let known = command.ignore_errors(true).try_get_matches();
    let is_cat = known.is_ok_and(|matches| matches.subcommand_name() == Some("cat"));
    let wrong_use = if is_cat { 1 } else { 2 };
    std::process::exit(if error.use_stderr() { wrong_use } else { i32::from(is_lost) })
}

/// The usage of the subcommand that these words name. That of an error shows the flags that were
/// typed as if they were required, and no others.
fn usage(command: &mut Command, words: &[OsString]) -> StyledStr {
    let named = words.iter().position(|word| command.find_subcommand(word).is_some());
    let Some(named) = named else { return command.render_usage() };
    let below = command.find_subcommand_mut(&words[named]);
    below.map_or_else(StyledStr::new, |below| usage(below, &words[named + 1..]))
}

/// Prints the error or the help. What was typed must not control the terminal: then nothing has a
/// colour.
fn print(error: &clap::Error) -> io::Result<()> {
    let mut typed = std::env::args_os().skip(1);
    if !error.use_stderr()
        || !typed.any(|word| word.to_str().is_none_or(|word| word.contains(char::is_control)))
    {
        return error.print();
    }
    let text = error.render().to_string();
    let lines: Vec<_> = text.lines().map(report::clean).collect();
    writeln!(console::stderr(), "{}", lines.join("\n"))
}
