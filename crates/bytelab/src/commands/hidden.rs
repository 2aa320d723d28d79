//! Hidden commands with which bytelab starts itself.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result};
use measure::launch;

/// Runs the hidden command that the process's arguments name; `None` if they name no such command.
pub(crate) fn run(words: &[OsString]) -> Option<Result<ExitCode>> {
    let [task, first, second] = arguments(words)?;
    Some(match task.as_str() {
        launch::KEEPER => launch::keep(&first).map(|()| ExitCode::SUCCESS),
        experiments::self_test::COMMAND => allocate(&first, &second),
        experiments::serve::COMMAND => {
            experiments::serve::run(&first, &second).map(|()| ExitCode::SUCCESS)
        }
        #[cfg(target_os = "linux")]
        experiments::medium::COMMAND => {
            experiments::medium::run(&first, &second).map(|()| ExitCode::SUCCESS)
        }
        experiments::self_test::BURN => experiments::self_test::burn_process(&first),
        experiments::copying::FILTER => filter(&first),
        _ => worker(&first, &second),
    })
}

/// `bytelab __worker EXPERIMENT METHOD` is how the lab starts a built-in method, and `__allocate`
/// starts a program with a known number of allocations. They bypass the command line parser,
/// because its memory would be counted as theirs.
fn arguments(words: &[OsString]) -> Option<[String; 3]> {
    let mut words = words.iter().skip(1);
    let mut next = || words.next()?.to_str().map(str::to_owned);
    let task = next()?;
    let known = [
        "__worker",
        launch::KEEPER,
        experiments::copying::FILTER,
        experiments::self_test::COMMAND,
        experiments::self_test::BURN,
        experiments::serve::COMMAND,
        experiments::medium::COMMAND,
    ];
    known.contains(&task.as_str()).then_some([task, next()?, next().unwrap_or_default()])
}

fn allocate(threads: &str, times: &str) -> Result<ExitCode> {
    experiments::self_test::allocate(threads.parse()?, times.parse()?);
    Ok(ExitCode::SUCCESS)
}

/// Runs a copying program in another language; the arguments contain it after the name of its
/// method.
fn filter(name: &str) -> Result<ExitCode> {
    let experiment = experiments::copying::experiment();
    let method = experiments::copying::filtering(&experiment, name);
    let method = method.with_context(|| format!("there is no program that copies as {name}"))?;
    let language = experiments::copying::language_of(name);
    measure::worker::serve(&method, &experiment.params, language)?;
    Ok(ExitCode::SUCCESS)
}

fn worker(experiment: &str, method: &str) -> Result<ExitCode> {
    let experiment = experiments::by_name(experiment)?;
    let found = experiment.methods.iter().find(|known| known.name == method);
    let found = found.with_context(|| format!("there is no method {method}"))?;
    measure::worker::serve(found, &experiment.params, "rust")?;
    Ok(ExitCode::SUCCESS)
}
