//! `bytelab check`: measures a baseline's methods again, or a method and its old side in the same
//! rounds. The check fails if a method got slower than allowed and a second run confirms it.

mod against;
mod gate;
mod two_sides;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use lab::analyze::{Check, OLD, check, foresee};
use lab::launch::Stop;
use lab::run::Run;

use super::context::{Context, layout, warn_if_unoptimised};
use super::exit;
use super::keep_args::KeepArgs;
use super::limits::ensure_once;
use super::measure_args::{MOST_ROUNDS, MOST_SESSIONS};
use crate::measuring::{self, RunRequest};
use crate::report;
use crate::store::{self, Store};

pub(crate) use self::against::AgainstArgs;
use self::gate::{EXIT_STATUS, GateArgs, conclude, is_enough, newest, print_report};

/// Advice to measure old and new in the same rounds.
const BESIDE: &str = "Old and new in the same rounds decides more, and needs no baseline:
  bytelab check FILE.toml --against OLD.toml --allow wall=5%
  bytelab check FILE.toml --against old=PATH,new=PATH --allow wall=5%
  bytelab check EXPERIMENT --against OLD_BYTELAB --allow wall=5%
The second puts PATH in for {program} in the commands of FILE.toml; the third takes the built-in
methods of another bytelab. `bytelab check EXPERIMENT --help` has their flags.";

/// The help of `--data-dir`, which differs from that of other subcommands.
const DATA_DIR: &str =
    "Where generated data is kept [default: the directory that the baseline used]";

#[derive(Args)]
#[command(after_help = format!("{BESIDE}\n\n{EXIT_STATUS}"))]
#[command(mut_arg("label", |arg| arg.help("A name for the runs, to find them again")))]
#[command(mut_arg("data_dir", |arg| arg.help(DATA_DIR)))]
#[command(mut_arg("no_store", |arg| arg.help("Do not keep the runs")))]
pub(crate) struct CheckArgs {
    /// The run, or the name of one (see `bytelab baseline`)
    #[arg(long, value_name = "ID|NAME", required = true)]
    baseline: Option<String>,
    #[command(flatten)]
    gate: GateArgs,
    /// Compare absolute times, not times relative to the reference in the same rounds
    #[arg(long)]
    absolute: bool,
    #[command(flatten)]
    keep: KeepArgs,
    /// Set if an experiment is named instead of a baseline.
    #[arg(skip)]
    pub(crate) against: Option<(AgainstArgs, RunRequest)>,
}

pub(crate) fn run(mut args: CheckArgs, context: &Context) -> Result<ExitCode> {
    warn_if_unoptimised();
    match args.against.take() {
        Some((against, request)) => against::run(&against, request, context),
        None => again(&args, context),
    }
}

/// Measures the baseline's methods again.
fn again(args: &CheckArgs, context: &Context) -> Result<ExitCode> {
    let gate = &args.gate;
    ensure_once("--allow", &gate.allow)?;
    let mut store = context.open_store()?;
    let name = args.baseline.as_deref().context("--baseline names no run")?;
    let baseline = baseline(&mut *store, name)?;
    let before = before(&mut *store, &baseline)?;
    let request = Check {
        baseline: &baseline,
        now: &[],
        before: &before,
        allowed: &gate.allow,
        absolute: args.absolute,
    };
    if gate.dry_run {
        let found = foresee(&request);
        return print_report(&if gate.json {
            report::check::foreseen_json(&found)? + "\n"
        } else {
            report::check::foreseen(&found, &layout())
        });
    }
    let stop = Stop::on_signals()?;
    let mut now: Vec<Run> = Vec::new();
    let label = args.keep.label.clone().unwrap_or_else(|| format!("check of {name}"));
    let checked = loop {
        let push_to = args.keep.push.clone();
        let keep = !args.keep.no_store;
        let store = keep.then(|| context.local_store(push_to)).transpose()?;
        let (known, dir) = (&context.experiments, args.keep.data_dir.clone());
        let measured = measuring::repeat(known, &baseline, &label, dir, store, &stop);
        if let Some(stopped) = exit::of_signal(&stop) {
            return Ok(stopped);
        }
        now.push(measured?);
        let checked = check(&Check { now: &now, ..request });
        if is_enough(&now, &checked)? {
            break checked;
        }
    };
    let against = report::check::Against::Baseline { name, id: &baseline.id };
    conclude(gate, against, Some(&baseline), &now, &checked)
}

/// Finds a run by its name, then by its id: a name was chosen in order to be used.
fn baseline(store: &mut dyn Store, name: &str) -> Result<Run> {
    let named = store.baselines()?.into_iter().find(|baseline| baseline.name == name);
    let id = named.map_or_else(|| store::id_of(store, name), |baseline| Ok(baseline.id));
    let id = id.map_err(|error| {
        if name == store::LATEST || name.parse::<u64>().is_ok() {
            return error;
        }
        anyhow::anyhow!("no baseline {name:?}; `bytelab baseline list` shows all")
    })?;
    let run = store.load(&id)?;
    ensure_repeatable(&run)?;
    Ok(run)
}

pub(super) fn ensure_repeatable(run: &Run) -> Result<()> {
    if let Some(by) = &run.plan.imported {
        bail!(
            "run {} was measured by {}, which bytelab cannot do again",
            run.id,
            by.tool.escape_debug()
        );
    }
    ensure!(
        run.complete,
        "run {} is not complete and cannot be a baseline; go on with: bytelab run --resume {}",
        run.id,
        run.id
    );
    let plan = &run.plan;
    // For commands, each round is a session. Rounds are distributed to sessions as whole numbers.
    let most = [
        (
            "rounds",
            i64::from(plan.rounds).saturating_mul(plan.sessions.into()),
            MOST_ROUNDS + MOST_SESSIONS,
        ),
        ("rounds that warm up", plan.warm_up.into(), MOST_SESSIONS),
        ("samples that count", plan.counting.into(), MOST_SESSIONS),
    ];
    for (what, n, most) in most {
        ensure!(
            n <= most,
            "run {} has {n} {what}, which is more than bytelab measures ({most})",
            run.id
        );
    }
    Ok(())
}

/// The newest complete runs of the same job on the baseline's machine, the oldest first.
fn before(store: &mut dyn Store, baseline: &Run) -> Result<Vec<Run>> {
    let (experiment, machine) = (&baseline.experiment, &baseline.environment.fingerprint);
    let mut runs = newest(store, experiment, machine, &baseline.plan)?;
    // Runs in which other methods ran in the same rounds are left out.
    runs.retain(|run| !run.cells.iter().any(|cell| cell.method.ends_with(OLD)));
    Ok(runs)
}
