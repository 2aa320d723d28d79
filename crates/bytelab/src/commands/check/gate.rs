//! The limits of a check, the past runs that it uses, and its exit status.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use lab::analyze::{Allowed, Checked, Outcome};
use lab::run::{Plan, Run};

use crate::commands::context::{layout, readable};
use crate::commands::exit;
use crate::commands::limits::allowed;
use crate::console;
use crate::report;
use crate::store::Store;

/// At most this many of the newest runs are used to estimate how much runs differ.
const BEFORE_MAX: usize = 20;

/// The flags that both forms of a check share.
#[derive(Args)]
pub(crate) struct GateArgs {
    /// By how much a metric may get worse: wall=5%, cpu=3%, rss, syscalls, allocations, throughput,
    /// or the full name of another; may be repeated
    #[arg(long, value_name = "METRIC=N%", required = true, value_delimiter = ',', value_parser = allowed)]
    pub(super) allow: Vec<Allowed>,
    /// Exit status of a check that is undecided: 4, or 0
    #[arg(long, value_name = "WORD", value_enum, default_value = "fail")]
    pub(super) undecided: Undecided,
    /// Measure nothing: print which slowdown would be found with a probability of 80 %, computed
    /// from the stored runs
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Undecided {
    Ok,
    Fail,
}

pub(super) const EXIT_STATUS: &str = "\
Exit status: 0 nothing is slower than allowed; 1 something did not run, or answers differ; 3 slower;
4 undecided, unless --undecided ok is given.";

/// Whether no second run is needed; prints a message if one is.
pub(super) fn is_enough(now: &[Run], checked: &Checked) -> Result<bool> {
    let settled = [Outcome::Ok, Outcome::Faster, Outcome::Missing];
    let enough = now.len() > 1 || settled.contains(&checked.outcome);
    if !enough {
        writeln!(console::stderr(), "bytelab: not ok in one run: measuring a second one")?;
    }
    Ok(enough)
}

/// Prints the result and returns the exit status.
pub(super) fn conclude(
    gate: &GateArgs,
    against: report::check::Against<'_>,
    baseline: Option<&Run>,
    now: &[Run],
    checked: &Checked,
) -> Result<ExitCode> {
    let busy = |run: &Run| Some(format!("run {}: {}", run.id, report::noise(run)?));
    let busy = baseline.into_iter().chain(now).filter_map(busy).collect();
    let now = now.iter().map(|run| run.id.as_str()).collect();
    let sides = report::check::Sides { against, now, busy };
    let text = if gate.json {
        report::check::json(&sides, checked)? + "\n"
    } else {
        report::check::text(&sides, checked, &layout())
    };
    console::stdout().write_all(text.as_bytes())?;
    step_summary(&report::check::markdown(&sides, checked));
    Ok(match checked.outcome {
        Outcome::Undecided if gate.undecided == Undecided::Ok => ExitCode::SUCCESS,
        outcome => exit::of_outcome(outcome),
    })
}

pub(super) fn print_report(text: &str) -> Result<ExitCode> {
    console::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The newest complete runs of an experiment on a machine, with samples taken in the same way; the
/// oldest first.
pub(super) fn newest(
    store: &mut dyn Store,
    experiment: &str,
    machine: &str,
    plan: &Plan,
) -> Result<Vec<Run>> {
    let same = |run: &&lab::run::Listed| {
        run.complete && run.experiment == experiment && run.machine.fingerprint == machine
    };
    let listed = store.list()?;
    let newest = listed.iter().rev().filter(same).take(BEFORE_MAX);
    let mut runs = readable(newest, |run| store.load(&run.id))?;
    runs.reverse();
    runs.retain(|run| run.plan.cache == plan.cache && run.plan.fresh == plan.fresh);
    Ok(runs)
}

/// GitHub shows the content of this file with the job. A failure to write it does not fail the
/// check.
fn step_summary(markdown: &str) {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return;
    };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(markdown.as_bytes())) {
        let path = path.display();
        let _ = writeln!(console::stderr(), "bytelab: GITHUB_STEP_SUMMARY {path}: {error}");
    }
}
