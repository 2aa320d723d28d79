//! `bytelab label`: gives a stored run another label.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::context::Context;
use crate::store;

#[derive(Args)]
pub(crate) struct LabelArgs {
    /// The id of the run; `latest` is the newest
    id: String,
    /// The label, by which runs are found again; an empty text removes it
    #[arg(value_name = "TEXT")]
    label: String,
}

pub(crate) fn run(args: &LabelArgs, context: &Context) -> Result<ExitCode> {
    let mut store = context.open_store()?;
    let id = store::id_of(store.as_mut(), &args.id)?;
    store.set_label(&id, Some(args.label.as_str()).filter(|label| !label.is_empty()))?;
    Ok(ExitCode::SUCCESS)
}
