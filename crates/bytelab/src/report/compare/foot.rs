//! The text below the tables of two sides: what only one of them has, what has no ratio and why,
//! and the warnings.

use lab::analyze::{Effect, RunComparison, Verdict};
use lab::metric::left_out;
use lab::run::{Imported, Run};
use lab::stats::RUNS_A_SIDE;

use super::Side;
use crate::report::page::{Page, Style};
use crate::report::units::point as shown;

pub(super) fn write(page: &mut Page, a: &Side, b: &Side, sides: &RunComparison) {
    page.blank();
    for alone in &sides.alone {
        let side = alone.side.to_uppercase();
        let why = alone.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        let text = format!("{} ({}){why}", alone.method, shown(&alone.point));
        page.paragraph(Style::Dim, &format!("only on {side}: "), &text);
    }
    let mut told: Vec<&str> = Vec::new();
    for line in sides.lines.iter().filter(|line| line.decides) {
        let wrong =
            |change: &&Effect| matches!(change.verdict, Verdict::WrongAnswer | Verdict::Missing);
        let changes = [Some(&line.absolute), line.relative.as_ref()];
        for change in changes.into_iter().flatten().filter(wrong) {
            let reason = change.reason.as_deref().unwrap_or("not available");
            if !told.contains(&reason) {
                told.push(reason);
                page.paragraph(Style::Red, &format!("{}: ", line.method), reason);
            }
        }
    }
    for note in notes(a, b) {
        page.paragraph(Style::Plain, "note: ", &note);
    }
    let legend = "B/A: what B takes for what A takes. To ref.: the same of the ratio to the reference, \
                  which ran in the same rounds, so that the speed of the machine is out of it.";
    page.paragraph(Style::Dim, "", legend);
}

/// The warnings, and the commands that would resolve them.
pub(super) fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    if a.runs.len().min(b.runs.len()) < RUNS_A_SIDE {
        let more = |side: &Side| RUNS_A_SIDE.saturating_sub(side.runs.len());
        notes.push(format!(
            "no verdict: what two runs differ by is in none of their rounds or sessions, so that a \
             run is one value, and a verdict takes {RUNS_A_SIDE} a side; run {} more of A and {} more \
             of B, minutes or days apart, each side with its --label, and compare the labels",
            more(a),
            more(b)
        ));
    }
    for (letter, side) in [("A", a), ("B", b)] {
        for run in side.runs.iter().filter(|run| !run.complete) {
            notes.push(format!("run {} of {letter} is not complete: what it has is used", run.id));
        }
        let fingerprint = |run: &Run| run.environment.fingerprint.clone();
        if side.runs.iter().any(|run| fingerprint(run) != fingerprint(&side.runs[0])) {
            notes.push(format!("the runs of {letter} are of several machines or systems"));
        }
    }
    let machine = |side: &Side| side.runs[0].environment.fingerprint.clone();
    notes.extend(imported(a, b));
    notes.extend(of_older_definitions(a, b));
    let order = |side: &Side| {
        let started = || side.runs.iter().map(|run| run.started.as_str());
        Some((started().min()?.to_owned(), started().max()?.to_owned()))
    };
    if let (Some((first_a, last_a)), Some((first_b, last_b))) = (order(a), order(b))
        && machine(a) == machine(b)
        && a.runs.len().min(b.runs.len()) >= RUNS_A_SIDE
        && (last_a < first_b || last_b < first_a)
    {
        notes.push(
            "all of one side was measured before all of the other: what the machine did meanwhile is \
             in the difference; where both can be measured at one time, alternate them, or make \
             them methods of one run"
                .to_owned(),
        );
    }
    notes
}

/// Which values bytelab did not measure itself, and whether both sides are from one machine.
fn imported(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    for (letter, side) in [("A", a), ("B", b)] {
        let imported = side.runs.iter().filter_map(|run| Some((run, run.plan.imported.as_ref()?)));
        let (mut runs, mut tools) = (Vec::new(), Vec::new());
        for (run, Imported { tool, .. }) in imported {
            runs.push(run.id.as_str());
            if !tools.contains(&tool.as_str()) {
                tools.push(tool.as_str());
            }
        }
        if !runs.is_empty() {
            let what = if runs.len() == 1 { "run" } else { "runs" };
            let (runs, tools) = (runs.join(", "), tools.join(", "));
            notes.push(format!("bytelab did not measure {what} {runs} of {letter}: {tools} did"));
        }
    }
    let runs = || a.runs.iter().chain(&b.runs);
    if notes.is_empty() {
        return notes;
    }
    let fingerprint = |run: &Run| run.environment.fingerprint.clone();
    let first = fingerprint(&a.runs[0]);
    if runs().any(|run| fingerprint(run).is_empty()) {
        notes.push(
            "the machine of an imported run is not known: take it for another one, so that the \
             difference of the machines is in the ratios"
                .to_owned(),
        );
    } else if runs().any(|run| fingerprint(run) != first) {
        notes.push(
            "the machines are not the same, as far as the files tell: their difference is in the \
             ratios"
                .to_owned(),
        );
    }
    notes
}

/// What is not compared because one side uses an older definition of the same metric.
fn of_older_definitions(a: &Side, b: &Side) -> Option<String> {
    let (mut runs, mut metrics) = (Vec::new(), Vec::new());
    for run in a.runs.iter().chain(&b.runs) {
        for (_, metric) in left_out(run) {
            if !runs.contains(&run.id.as_str()) {
                runs.push(&run.id);
            }
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
    }
    let (of, metrics) = (runs.join(", "), metrics.join(", "));
    (!runs.is_empty()).then(|| {
        format!(
            "run {of}: where an older definition of {metrics} was wrong, the values are left out and \
             compared with nothing"
        )
    })
}
