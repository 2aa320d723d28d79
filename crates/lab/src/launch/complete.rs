//! A command that is run to its end and not measured, such as one that builds a worker.

use super::process::{Process, Talk, describe};
use super::{Ended, Limits, Stop};
use crate::clock;

/// Runs it with its standard output thrown away; what goes wrong is told with the end of its standard error.
pub fn complete(argv: &[String], limit_ns: u64, stop: &Stop) -> Result<(), Ended> {
    let limits = Limits { answer_ns: limit_ns, stop: stop.clone() };
    let mut process = Process::spawn(argv, Talk::Null, &[])?;
    let failed = |error: &dyn std::fmt::Display| Ended::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(&limits, clock::now_ns() + limit_ns)?;
    let status = process.end().map_err(|error| failed(&error))?;
    if status.success() {
        return Ok(());
    }
    let (how, tail) = (describe(status), process.quoted_tail());
    Err(Ended::Failed(format!("{} {how}{tail}", argv[0])))
}
