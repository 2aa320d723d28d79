//! `bytelab delete`: removes runs from the store.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::context::Context;

#[derive(Args)]
pub(crate) struct DeleteArgs {
    #[arg(required = true)]
    ids: Vec<String>,
}

pub(crate) fn run(args: &DeleteArgs, context: &Context) -> Result<ExitCode> {
    let ids = &args.ids;
    let mut store = context.open_store()?;
    // All or none: an unknown id is reported before any run is removed.
    let known = store.list()?;
    if let Some(id) = ids.iter().find(|id| known.iter().all(|run| run.id != **id)) {
        anyhow::bail!("there is no run {id}; nothing was deleted (see bytelab history)");
    }
    let baselines = store.baselines()?;
    if let Some(named) = baselines.iter().find(|baseline| ids.contains(&baseline.id)) {
        anyhow::bail!(
            "run {} is the baseline {:?}; nothing was deleted (see bytelab baseline --help)",
            named.id,
            named.name
        );
    }
    for id in ids {
        store.delete(id)?;
    }
    Ok(ExitCode::SUCCESS)
}
