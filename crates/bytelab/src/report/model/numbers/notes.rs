//! The warnings about the rows: the notes of the run, in the words of the table.

use lab::analyze::Analysis;
use lab::analyze::latency::{MachineLoad, OTHERS, STEAL};
use lab::run::{Run, Warning, WarningKind};

use super::row::Number;
use crate::numbers::row;

/// The row of each warning, and its text.
pub(crate) fn all(run: &Run, analysis: &Analysis, numbers: &[Number]) -> Vec<(String, String)> {
    // A sample that waited is omitted, and the reason why a row was not measured precedes the
    // notes.
    let said_here = |note: &&Warning| {
        !matches!(
            note.kind,
            WarningKind::Waited
                | WarningKind::Throttled
                | WarningKind::WaitTakenOut
                | WarningKind::Failed(_)
                | WarningKind::Skipped(_)
        )
    };
    let own = own(run, numbers).map(|text| (String::new(), text));
    own.chain(analysis.notes.iter().filter(said_here).map(of_row)).collect()
}

/// Warnings that are derived from the rows, in addition to the notes of the run.
pub(crate) fn own(run: &Run, numbers: &[Number]) -> impl Iterator<Item = String> + use<> {
    loaded(&MachineLoad::from_run(run)).into_iter().chain(waited(numbers))
}

/// Why the grades are limited, if they are.
fn loaded(load: &MachineLoad) -> Option<String> {
    let limit = load.best_grade();
    if limit == 'A' {
        return None;
    }
    let part = |share: Option<f64>, limits: [f64; 2], what: &str| match share {
        Some(share) if share > limits[0] => {
            Some(format!("{what} {:.0} % of the CPU time meanwhile", 100.0 * share))
        }
        Some(_) => None,
        None => Some(format!("it is not known how much of the CPU time {what} meanwhile")),
    };
    let why = [
        part(load.others, OTHERS, "other programs used"),
        part(load.steal, STEAL, "the hypervisor took"),
    ];
    let why: Vec<String> = why.into_iter().flatten().collect();
    Some(format!(
        "{}: no row is graded better than {limit}; measure again when the machine has nothing else to do",
        why.join(", and ")
    ))
}

fn of_row(note: &Warning) -> (String, String) {
    let name = note.point.as_ref().and_then(|point| point.text("row").ok());
    let about = name.map(|name| row(name).map_or(name, |row| row.title.trim()));
    // A note about one method may apply to several rows here.
    let some = note.method.as_ref().map(|_| "some rows");
    let about = about.or(some).map_or(String::new(), |about| format!("{about}: "));
    let n = note.cells.as_ref().map_or(0, |cells| cells.n);
    (about, note.with_cells(&format!("{n} rows")))
}

/// At most this many are listed by name.
const NAMED_MAX: usize = 6;

fn waited(numbers: &[Number]) -> Option<String> {
    let disturbed = |number: &&Number| number.figures.as_ref().is_ok_and(|f| f.disturbed > 0);
    let rows: Vec<&str> = numbers.iter().filter(disturbed).map(|n| n.row.title.trim()).collect();
    let named = rows.iter().take(NAMED_MAX).copied().collect::<Vec<&str>>().join(", ");
    let more = if rows.len() > NAMED_MAX { ", …" } else { "" };
    (!rows.is_empty()).then(|| {
        format!(
            "samples waited for a CPU in {} of {} rows ({named}{more}): they are left out where ten others are left",
            rows.len(),
            numbers.len()
        )
    })
}
