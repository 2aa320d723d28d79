//! `--prove`: whole gates of the suite here against itself, each from two fresh copies of the
//! build, and what they show of the gate: how often it is red without a reason, and what it finds.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use analysis::stats::LOOKS;
use analysis::{GateState, MeasuredGate, Outcome, prove};
use anyhow::{Result, anyhow, ensure};
use measure::clock;
use measure::launch::{Orphans, Stop};

use super::harness::Harness;
use super::sessions::SuiteBenchmark;
use super::sides::SuiteSide;
use super::{CheckedSuite, EndedGate, SuiteArgs, listed, measure_gate, work_folder};
use crate::commands::check::GateArgs;
use crate::commands::{exit, layout, note};
use crate::console;

pub(super) fn run(
    args: &SuiteArgs,
    gate: &GateArgs,
    percent: f64,
    time: Duration,
    stop: &Stop,
) -> Result<ExitCode> {
    let harness = args.harness()?;
    let work = work_folder()?;
    let suite = match found(args, &*harness, &work.path, stop) {
        Ok(suite) => suite,
        Err(error) if stop.signal().is_none() => return Ok(exit::of_failure(&error)),
        Err(error) => return Err(error),
    };
    let labels: Vec<String> =
        suite.benchmarks.iter().map(|benchmark| suite.label(benchmark)).collect();
    let _orphans = Orphans::adopt();
    let time_ns = time.as_nanos().try_into().unwrap_or(u64::MAX);
    let end_ns = clock::now_ns().saturating_add(time_ns);
    let (mut gates, mut longest_ns) = (Vec::new(), 0);
    let mut failed = HashSet::new();
    while gates.is_empty() || clock::now_ns().saturating_add(longest_ns) <= end_ns {
        let start_ns = clock::now_ns();
        let run = args.harness_run(&work.path, stop);
        let measured = measure_gate(&suite, run, args, percent, &work.path);
        if let Some(stopped) = exit::of_signal(stop) {
            return Ok(stopped);
        }
        let measured = match measured {
            Ok(measured) => measured,
            Err(error) => return Ok(exit::of_failure(&error)),
        };
        for (label, runs) in labels.iter().zip(&measured.runs) {
            if let Some(why) = runs.failure.as_ref().filter(|_| failed.insert(label)) {
                note(&format!("{label} failed: {why}"))?;
            }
        }
        if measured.gate.in_state(GateState::Failed).len() == labels.len() {
            return Ok(exit::of_failure(&anyhow!(
                "no benchmark could be run, which proves nothing"
            )));
        }
        longest_ns = longest_ns.max(clock::now_ns() - start_ns);
        let measured = of_ended(&measured);
        note(&line(gates.len() + 1, &measured))?;
        gates.push(measured);
    }
    let proof = prove(&gates, percent, args.time_ns() as f64, super::seed());
    let text = if gate.json {
        report::suite::proof_json(&proof, &labels, percent)? + "\n"
    } else {
        report::suite::proof(&proof, &labels, percent, &layout())
    };
    console::stdout().write_all(text.as_bytes())?;
    Ok(match proof.red {
        0 if !failed.is_empty() => exit::of_outcome(Outcome::Missing),
        red => exit::of_slowdowns(red),
    })
}

/// What the proof needs of a gate.
fn of_ended(ended: &EndedGate) -> MeasuredGate {
    let all = 0..ended.runs.len();
    MeasuredGate {
        sessions: all.clone().map(|i| ended.gate.sessions(i).to_vec()).collect(),
        session_ns: all.map(|i| ended.runs[i].session_ns() as f64).collect(),
        is_red: !ended.confirmed.is_empty() || ended.is_mean_confirmed(),
    }
}

/// The line on a gate. A benchmark without its first sessions could not be red in it.
fn line(number: usize, gate: &MeasuredGate) -> String {
    let word = if gate.is_red { "red" } else { "not red" };
    let looked = gate.sessions.iter().filter(|sessions| sessions.len() >= LOOKS[0]).count();
    let (n, least) = (gate.sessions.len(), LOOKS[0]);
    format!("gate {number} is {word}; {looked} of {n} benchmarks had {least} sessions")
}

/// Builds the suite of the current folder, which is both sides, and lists its benchmarks.
fn found<'a>(
    args: &SuiteArgs,
    harness: &'a dyn Harness,
    work: &Path,
    stop: &Stop,
) -> Result<CheckedSuite<'a>> {
    let side = SuiteSide::folder(Path::new("."))?;
    let programs = side.build(args.suite_build.as_deref(), harness, &work.join("target"), stop)?;
    let programs: Vec<_> = programs.into_iter().map(|program| [program.clone(), program]).collect();
    let run = args.harness_run(work, stop);
    let mut benchmarks = Vec::new();
    for (index, [program, _]) in programs.iter().enumerate() {
        let names = listed(harness, program, &run, args)?;
        benchmarks.extend(names.into_iter().map(|name| SuiteBenchmark { program: index, name }));
    }
    ensure!(!benchmarks.is_empty(), "no benchmark of this name is in the suite");
    Ok(CheckedSuite { harness, programs, benchmarks })
}
