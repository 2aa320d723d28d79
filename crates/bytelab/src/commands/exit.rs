//! The exit statuses, and how the result of a run maps to them.

use std::process::ExitCode;

use analysis::ThresholdVerdict;
use analysis::{Analysis, Outcome};
use anyhow::Error;
use measure::launch::Stop;
use model::metric::WALL;
use model::run::{Cell, Run, Status};
use report::{View, view};

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
pub(crate) fn of_run(run: &Run, analysis: &Analysis, cleaned_up: bool) -> ExitCode {
    let well = cleaned_up && all_well(run, analysis);
    ExitCode::from(if well { of_thresholds(analysis) } else { DID_NOT_RUN })
}

/// The status of several runs, which have no thresholds.
pub(crate) fn of_runs(all: &[(Run, Analysis, bool)]) -> ExitCode {
    let well = all.iter().all(|(run, analysis, cleaned_up)| *cleaned_up && all_well(run, analysis));
    ExitCode::from(if well { 0 } else { DID_NOT_RUN })
}

/// Whether every cell was measured and no answer is wrong. A row that this machine cannot have is
/// named, and is no failure while others were measured.
fn all_well(run: &Run, analysis: &Analysis) -> bool {
    let has_rows = view(run) != View::Tables;
    let is_well = |cell: &Cell| match cell.status {
        Status::Measured => true,
        Status::Skipped(_) => has_rows,
        Status::Failed(_) => false,
    };
    run.complete
        && nothing_measured(run).is_none()
        && run.cells.iter().all(is_well)
        && analysis.cells.iter().all(|cell| !cell.wrong_answer)
}

/// Why a run has no figure at all; none if it has one.
pub(crate) fn nothing_measured(run: &Run) -> Option<String> {
    let has_figure = |cell: &Cell| cell.has_figures() && cell.shown(WALL).next().is_some();
    if run.cells.iter().any(has_figure) {
        return None;
    }
    let of_status = |cell: &Cell| Some(format!("{}: {}", cell.method, cell.status.reason()?));
    let of_samples = |cell: &Cell| {
        let reason = cell.samples.iter().find_map(|sample| sample.not_counted.as_deref())?;
        Some(format!("{}: {reason}", cell.method))
    };
    let why = run.cells.iter().find_map(|cell| of_status(cell).or_else(|| of_samples(cell)));
    let others = run.cells.len().saturating_sub(1);
    let others = if others == 0 { String::new() } else { format!(" (and {others} more)") };
    Some(match why {
        Some(why) => format!("nothing was measured: {why}{others}"),
        None => "nothing was measured: no sample was taken".to_owned(),
    })
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
    let text = format!("bytelab: {error:#}");
    for line in text.lines() {
        let _ = console::message(&report::escape_controls(line));
    }
    ExitCode::from(status)
}

#[cfg(test)]
mod tests {
    use analysis::analyze;
    use model::param::Point;
    use model::run::Sample;

    use super::*;

    /// A run of cells with these statuses, of which those that were measured have this sample.
    fn run(experiment: &str, statuses: &[Status], sample: &Sample) -> Run {
        let cells = statuses.iter().enumerate().map(|(n, status)| {
            let cell = Cell::new(format!("m{n}"), Point::default());
            let mut cell = Cell { status: status.clone(), ..cell };
            if *status == Status::Measured {
                cell.push(sample.clone(), &[(WALL, 5.0)]);
            }
            cell
        });
        let points = vec![Point::default()];
        let experiment = experiment.to_owned();
        Run { experiment, complete: true, points, cells: cells.collect(), ..Run::default() }
    }

    #[test]
    fn a_row_that_this_machine_cannot_have_is_no_failure_while_others_are_measured() {
        let skipped = || Status::Skipped("the kernel gave too few huge pages".to_owned());
        let failed = || Status::Failed("it ended".to_owned());
        let is_well = |experiment: &str, statuses: &[Status]| {
            let run = run(experiment, statuses, &Sample::default());
            all_well(&run, &analyze(&run))
        };
        for rows in ["numbers", "memory"] {
            assert!(is_well(rows, &[Status::Measured, skipped()]), "{rows}");
            assert!(!is_well(rows, &[Status::Measured, failed()]), "{rows}");
            assert!(!is_well(rows, &[skipped(), skipped()]), "{rows}");
        }
        assert!(!is_well("reading", &[Status::Measured, skipped()]));
    }

    #[test]
    fn a_run_without_a_figure_says_why() {
        let of = |statuses: &[Status], sample: &Sample| {
            nothing_measured(&run("reading", statuses, sample))
        };
        let refused = || Status::Skipped("refused".to_owned());
        let counts = Sample::default();
        assert_eq!(of(&[Status::Measured, refused()], &counts), None);
        let warm_up = Sample { warm_up: true, ..Sample::default() };
        assert_eq!(of(&[Status::Measured], &warm_up), None);
        let why = "nothing was measured: m0: refused (and 1 more)";
        assert_eq!(of(&[refused(), refused()], &counts).as_deref(), Some(why));
        let cold = Sample { not_counted: Some("not warm".into()), ..Sample::default() };
        let why = "nothing was measured: m0: not warm";
        assert_eq!(of(&[Status::Measured], &cold).as_deref(), Some(why));
        let none = "nothing was measured: no sample was taken";
        assert_eq!(of(&[], &counts).as_deref(), Some(none));
    }
}
