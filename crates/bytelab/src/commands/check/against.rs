//! `bytelab check EXPERIMENT --against OLD`: measures old and new in the same rounds, with a fixed
//! design.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use lab::analyze::{Foreseen, OLD, ROUNDS, SESSIONS, check_pairs, foresee_pairs};
use lab::experiment::Method;
use lab::launch::Stop;
use lab::measure::Job;
use lab::param::Point;
use lab::run::{Plan, Run};

use super::gate::{EXIT_STATUS, GateArgs, conclude, is_enough, newest, print_report};
use super::two_sides::{Against, TwoSides, of_bytelab, of_files};
use crate::commands::context::{Context, layout};
use crate::commands::exit;
use crate::commands::limits::ensure_once;
use crate::console;
use crate::experiments::Catalogue;
use crate::measuring::{NewRun, RunRequest, Selection, Time, choose, measure_new, plan};
use crate::report;

#[derive(Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct AgainstArgs {
    /// The old side: for a file, OLD.toml, or old=PATH,new=PATH for `{program}` in its commands;
    /// for a built-in experiment, another bytelab. Both are measured in 10 sessions of 5 rounds or
    /// more; plain commands in 50 sessions of one round
    #[arg(long, value_name = "OLD", required = true)]
    against: String,
    #[command(flatten)]
    gate: GateArgs,
}

pub(super) fn run(args: &AgainstArgs, request: RunRequest, context: &Context) -> Result<ExitCode> {
    ensure_once("--allow", &args.gate.allow)?;
    let request = fixed(request)?;
    let plan = plan(&request)?;
    let stop = Stop::on_signals()?;
    let sides = two_sides(args, &request, &context.experiments, &stop);
    if let Some(stopped) = exit::of_signal(&stop) {
        return Ok(stopped);
    }
    let sides = sides?;
    let methods = both(&sides, &request.selection)?;
    let experiment = sides.experiment;
    // A `{program}` that is replaced by a path is no longer a param.
    let declared = |name: &str| experiment.params.iter().any(|param| param.name == name);
    let points = request.points.into_iter().map(|point| point.only(declared)).collect();
    let points = experiment.points(points, &methods);
    if args.gate.dry_run {
        let mut store = context.open_store()?;
        let machine = lab::environment::capture(None).fingerprint;
        let past = newest(&mut *store, experiment.name, &machine, &plan)?;
        return foresee(args, &past, &cells(&methods, &points), &plan);
    }
    let (keep, push_to) = (request.keep, request.push_to);
    let label = request.label.unwrap_or_else(|| format!("check against {}", args.against));
    let mut now: Vec<Run> = Vec::new();
    let checked = loop {
        let store = keep.then(|| context.local_store(push_to.clone())).transpose()?;
        let job = Job { experiment: &experiment, methods: methods.clone(), least_sessions: 0 };
        let plan = Plan { seed: plan.seed.wrapping_add(now.len() as u64), ..plan.clone() };
        let (points, label) = (points.clone(), Some(label.clone()));
        let new = NewRun { points, plan, label, notes: Vec::new() };
        let measured = measure_new(job, new, store, &stop);
        if let Some(stopped) = exit::of_signal(&stop) {
            return Ok(stopped);
        }
        now.push(measured?);
        let checked = check_pairs(&now, &args.gate.allow);
        if is_enough(&now, &checked)? {
            break checked;
        }
    };
    let against = report::check::Against::Old(&args.against);
    conclude(&args.gate, against, None, &now, &checked)
}

fn two_sides(
    args: &AgainstArgs,
    request: &RunRequest,
    known: &Catalogue,
    stop: &Stop,
) -> Result<TwoSides> {
    let file = request.definition.as_ref().map(|definition| definition.file.as_str());
    let against = Against::parse(&args.against, file.is_some())?;
    match (&against, file) {
        (Against::Bytelab(program), _) => of_bytelab(&request.experiment, program, stop),
        (against, file) => of_files(file.context("a file is needed")?, against, known),
    }
}

/// The chosen methods, each with its old side.
fn both(sides: &TwoSides, selection: &Selection) -> Result<Vec<Method>> {
    let TwoSides { experiment, without_old, .. } = sides;
    if let Some(name) = selection.methods.iter().find(|name| without_old.contains(*name)) {
        anyhow::bail!("--method {name}: it has no old side to be compared with");
    }
    ensure!(!experiment.methods.is_empty(), "{}: no method has an old side", experiment.name);
    if !without_old.is_empty() && selection.methods.is_empty() {
        let names = without_old.join(", ");
        writeln!(console::stderr(), "bytelab: left out, as without an old side: {names}")?;
    }
    let chosen = choose(experiment, selection)?;
    let is_chosen = |method: &&Method| {
        let name = method.name.strip_suffix(OLD).unwrap_or(&method.name);
        chosen.iter().any(|chosen| chosen.name == name)
    };
    Ok(experiment.methods.iter().filter(is_chosen).cloned().collect())
}

/// The request with a fixed number of sessions and rounds: looking at results early and then
/// measuring on increases the rate of false alarms.
fn fixed(request: RunRequest) -> Result<RunRequest> {
    let sessions = request.sessions.unwrap_or(SESSIONS);
    let least = SESSIONS * ROUNDS;
    let rounds = request.rounds.unwrap_or(least);
    ensure!(
        sessions >= SESSIONS && rounds >= least,
        "check --against takes {SESSIONS} sessions and {least} rounds or more: --sessions and --rounds can make it \
         larger, not smaller"
    );
    let rounds = Some(rounds.max(sessions * ROUNDS));
    Ok(RunRequest { sessions: Some(sessions), rounds, time: Time::Unlimited, ..request })
}

/// The new methods and the points at which each would be measured.
fn cells(methods: &[Method], points: &[Point]) -> Vec<(String, Point)> {
    let mut cells: Vec<(String, Point)> = Vec::new();
    for method in methods.iter().filter(|method| !method.name.ends_with(OLD)) {
        for point in points.iter().filter(|point| method.competes_at(point)) {
            let cell = (method.name.clone(), point.only(|name| method.reads.contains(&name)));
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}

fn foresee(
    args: &AgainstArgs,
    past: &[Run],
    cells: &[(String, Point)],
    plan: &Plan,
) -> Result<ExitCode> {
    let found: Vec<Foreseen> =
        foresee_pairs(past, cells, &args.gate.allow, (plan.sessions, plan.rounds));
    print_report(&if args.gate.json {
        report::check::foreseen_json(&found)? + "\n"
    } else {
        report::check::foreseen(&found, &layout())
    })
}
