//! The exit statuses, and how the result of a run maps to them.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Error;
use lab::analyze::ThresholdVerdict;
use lab::analyze::{Analysis, Outcome};
use lab::launch::Stop;
use lab::run::{Run, Status};

use crate::console;

/// Also used if answers differ.
const DID_NOT_RUN: u8 = 1;
const WRONG_USE: u8 = 2;
/// Slower than allowed or than before, or a threshold is exceeded.
const EXCEEDED: u8 = 3;
const UNDECIDED: u8 = 4;

/// The status by which a shell reports that a signal ended a process; `None` if no signal arrived.
pub(crate) fn of_signal(stop: &Stop) -> Option<ExitCode> {
    stop.signal().map(|signal| ExitCode::from(128 + signal as u8))
}

/// The status of a finished run: whether everything was measured and removed, and the result of its
/// thresholds.
pub(crate) fn of_run(run: &Run, analysis: &Analysis, tidy: bool) -> ExitCode {
    let well = tidy && all_well(run, analysis);
    ExitCode::from(if well { of_thresholds(analysis) } else { DID_NOT_RUN })
}

/// The status of several runs, which have no thresholds.
pub(crate) fn of_runs(all: &[(Run, Analysis, bool)]) -> ExitCode {
    let well = all.iter().all(|(run, analysis, tidy)| *tidy && all_well(run, analysis));
    ExitCode::from(if well { 0 } else { DID_NOT_RUN })
}

/// Whether every cell was measured and no answer is wrong.
fn all_well(run: &Run, analysis: &Analysis) -> bool {
    run.complete
        && run.cells.iter().all(|cell| cell.status == Status::Measured)
        && analysis.cells.iter().all(|cell| !cell.wrong_answer)
}

fn of_thresholds(analysis: &Analysis) -> u8 {
    let any = |verdict| analysis.thresholds.iter().any(|outcome| outcome.verdict == verdict);
    if any(ThresholdVerdict::Exceeded) {
        EXCEEDED
    } else if any(ThresholdVerdict::Undecided) {
        UNDECIDED
    } else {
        0
    }
}

/// The status of a list of what got slower.
pub(crate) fn of_slowdowns(count: usize) -> ExitCode {
    ExitCode::from(if count > 0 { EXCEEDED } else { 0 })
}

pub(crate) fn of_outcome(outcome: Outcome) -> ExitCode {
    ExitCode::from(match outcome {
        Outcome::Ok | Outcome::Faster | Outcome::Reference => 0,
        Outcome::Missing => DID_NOT_RUN,
        Outcome::Slower => EXCEEDED,
        Outcome::Undecided => UNDECIDED,
    })
}

/// The status of an error after which nothing can be shown, although the use was right.
pub(crate) fn of_failure(error: &Error) -> ExitCode {
    print(error, DID_NOT_RUN)
}

/// The status of an error for which the use is to blame.
pub(crate) fn of_error(error: &Error) -> ExitCode {
    print(error, WRONG_USE)
}

fn print(error: &Error, status: u8) -> ExitCode {
    // Texts of the user, of files and of programs are in it.
    let text = format!("{error:#}");
    let lines: Vec<_> = text.lines().map(crate::report::clean).collect();
    let _ = writeln!(console::stderr(), "bytelab: {}", lines.join("\n"));
    ExitCode::from(status)
}
