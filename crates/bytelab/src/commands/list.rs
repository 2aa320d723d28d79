//! `bytelab list`: lists the experiments, the methods of one experiment, and published results.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lab::path_text::to_path;

use super::{Context, layout};
use crate::experiments::custom;
use crate::workers::{self, Language};
use crate::{console, reference, report};

#[derive(Args)]
pub(crate) struct ListArgs {
    /// Only this experiment, with its params: a name, or a file of yours; or `published`,
    /// `published:NAME`
    #[arg(value_name = "EXPERIMENT|FILE.toml")]
    experiment: Option<String>,
}

pub(crate) fn run(args: &ListArgs, context: &Context) -> Result<ExitCode> {
    let known = &context.experiments;
    let mut out = console::stdout();
    match args.experiment.as_deref() {
        None => out.write_all(report::experiments(&known.experiments).as_bytes())?,
        Some(name) if custom::is_file_name(name) => {
            let declared = known.load(&to_path(name))?;
            out.write_all(report::methods(&declared.experiment, &[]).as_bytes())?;
        }
        Some("published") => {
            let (results, studies) = (reference::all(), reference::studies());
            out.write_all(report::published::list(&results, studies, &layout()).as_bytes())?;
        }
        Some(name) if name.starts_with(reference::PREFIX) => {
            let named = super::compare::named(&name[reference::PREFIX.len()..])?;
            let figures = |result| report::published::figures(result, &layout());
            let pages: Vec<String> = named.results.iter().map(figures).collect();
            out.write_all(pages.join("\n").as_bytes())?;
        }
        Some(name) => {
            let experiment = known.find(name)?;
            let languages = workers::languages(&experiment.methods);
            let languages: Vec<(&str, String)> = languages
                .into_iter()
                .map(|Language { name, here }| match here {
                    Ok(program) => (name, format!("here: {program}")),
                    Err(why) => (name, format!("not here: {why}")),
                })
                .collect();
            out.write_all(report::methods(experiment, &languages).as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
