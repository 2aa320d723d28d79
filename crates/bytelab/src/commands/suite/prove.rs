//! `--prove`: whole gates of the suite here against itself, each from two fresh copies of the build,
//! and what they show of the gate: how often it is red without a reason, and what it finds.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use analysis::{MeasuredGate, prove};
use anyhow::{Result, ensure};
use measure::clock;
use measure::launch::{Orphans, Stop};

use super::sides::SuiteSide;
use super::{CheckedSuite, SuiteArgs, listed, measure_gate, work_folder};
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
    let side = SuiteSide::folder(std::path::Path::new("."))?;
    let target = work.path.join("target");
    let programs = side.build(args.suite_build.as_deref(), &*harness, &target, stop)?;
    let programs: Vec<_> = programs.into_iter().map(|program| [program.clone(), program]).collect();
    let run = args.harness_run(&work.path, stop);
    let mut benchmarks = Vec::new();
    let mut labels = Vec::new();
    for (index, [program, _]) in programs.iter().enumerate() {
        for name in listed(&*harness, program, &run, args)? {
            labels.push(super::label(&program.name, &name));
            benchmarks.push(super::sessions::SuiteBenchmark { program: index, name });
        }
    }
    ensure!(!benchmarks.is_empty(), "no benchmark of this name is in the suite");
    let suite = CheckedSuite { harness: &*harness, programs, benchmarks };
    let _orphans = Orphans::adopt();
    let end_ns = clock::now_ns().saturating_add(time.as_nanos() as u64);
    let (mut gates, mut longest_ns) = (Vec::new(), 0);
    while gates.is_empty() || clock::now_ns().saturating_add(longest_ns) <= end_ns {
        let start_ns = clock::now_ns();
        let run = args.harness_run(&work.path, stop);
        let measured = measure_gate(&suite, run, args, percent, &work.path);
        if let Some(stopped) = exit::of_signal(stop) {
            return Ok(stopped);
        }
        let measured = measured?;
        longest_ns = longest_ns.max(clock::now_ns() - start_ns);
        let all = 0..labels.len();
        let is_red = !measured.confirmed.is_empty() || measured.is_mean_confirmed();
        gates.push(MeasuredGate {
            sessions: all.clone().map(|i| measured.gate.sessions(i).to_vec()).collect(),
            session_ns: all.map(|i| measured.runs[i].session_ns() as f64).collect(),
            is_red,
        });
        let word = if is_red { "red" } else { "not red" };
        note(&format!("gate {} is {word}", gates.len()))?;
    }
    let proof = prove(&gates, percent, args.time_ns() as f64, super::seed());
    let text = if gate.json {
        report::suite::proof_json(&proof, &labels, percent)? + "\n"
    } else {
        report::suite::proof(&proof, &labels, percent, &layout())
    };
    console::stdout().write_all(text.as_bytes())?;
    Ok(exit::of_slowdowns(proof.red))
}
