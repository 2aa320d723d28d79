//! `bytelab baseline`: names for the runs that later runs are checked against; `bytelab label`:
//! another label for a stored run.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use store::Baseline;

use super::check::ensure_repeatable;
use super::{Context, load_run, run_id};
use crate::console;

#[derive(Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    task: BaselineCommand,
}

#[derive(Subcommand)]
enum BaselineCommand {
    /// Name a complete run; a name that already exists is moved to this run
    Set { name: String, id: String },
    /// List all names and their runs
    List {
        #[arg(long)]
        json: bool,
    },
    /// Remove names; the runs are kept
    Delete {
        #[arg(required = true)]
        names: Vec<String>,
    },
}

pub(crate) fn run(args: &BaselineArgs, context: &Context) -> Result<ExitCode> {
    let mut store = context.open_store()?;
    match &args.task {
        BaselineCommand::Set { name, id } => {
            // A name that is a number would be mistaken for a run's id.
            ensure!(
                !name.is_empty()
                    && name.parse::<u64>().is_err()
                    && name != store::LATEST
                    && !name.contains(char::is_control),
                "baseline {name:?}: give a name of one line that is not empty, not a number and \
                 not latest"
            );
            let run = load_run(store.as_mut(), id)?;
            ensure_repeatable(&run)?;
            store.set_baseline(name, &run.id)?;
        }
        BaselineCommand::List { json } => {
            let all = store.baselines()?;
            let mut out = console::stdout();
            if *json {
                writeln!(out, "{}", serde_json::to_string(&all)?)?;
            } else if all.is_empty() {
                writeln!(out, "no baselines yet; make one with: bytelab baseline set NAME ID")?;
            } else {
                out.write_all(report::check::baselines(&named(&all)).as_bytes())?;
            }
        }
        BaselineCommand::Delete { names } => {
            let known = store.baselines()?;
            if let Some(name) = names.iter().find(|name| known.iter().all(|b| b.name != **name)) {
                bail!("no baseline {name:?}; nothing was deleted (see bytelab baseline list)");
            }
            for name in names {
                store.delete_baseline(name).with_context(|| format!("baseline {name}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn named(all: &[Baseline]) -> Vec<(&str, &str)> {
    all.iter().map(|baseline| (baseline.name.as_str(), baseline.id.as_str())).collect()
}

// `bytelab label`: gives a stored run another label.

#[derive(Args)]
pub(crate) struct LabelArgs {
    /// The run: its id, its label, or `latest`, the newest
    id: String,
    /// The label, by which runs are found again; an empty text removes it
    #[arg(value_name = "TEXT")]
    label: String,
}

pub(crate) fn label(args: &LabelArgs, context: &Context) -> Result<ExitCode> {
    let mut store = context.open_store()?;
    let id = run_id(store.as_mut(), &args.id)?;
    store.set_label(&id, Some(args.label.as_str()).filter(|label| !label.is_empty()))?;
    Ok(ExitCode::SUCCESS)
}
