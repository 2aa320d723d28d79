//! `bytelab report`: writes HTML and SVG files. Each file appears complete or not at all.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use lab::analyze::{Analysis, analyze};
use lab::run::Run;

use super::compare::places;
use super::context::{Context, note};
use crate::path_arg::path;
use crate::report;
use crate::store::{self, Store};
use tools::atomic_file;

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Stored runs of one experiment; several runs are drawn in the same charts
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Write one HTML file that works without a network (`-`: to standard output)
    #[arg(short, long, value_name = "FILE.html", required_unless_present = "svg", value_parser = path())]
    output: Option<PathBuf>,
    /// Write the charts as SVG files, for papers; the directory is created if it does not exist
    #[arg(long, value_name = "DIR", value_parser = path())]
    svg: Option<PathBuf>,
    /// The metric that the SVG files show
    #[arg(long, value_name = "METRIC", default_value = "wall_ns", requires = "svg")]
    metric: String,
}

pub(crate) fn run(args: &ReportArgs, context: &Context) -> Result<ExitCode> {
    let shown = load(&args.ids, context.open_store()?.as_mut())?;
    let places = places(&context.experiments.experiments, &shown[0].0.experiment);
    if let Some(path) = &args.output {
        if path.as_os_str() == "-" {
            io::stdout().lock().write_all(report::html(&shown, &places).as_bytes())?;
        } else {
            write(path, &report::html(&shown, &places))
                .with_context(|| format!("-o {}", path.display()))?;
        }
    }
    if let Some(dir) = &args.svg {
        write_svg(dir, &shown, &args.metric).with_context(|| format!("--svg {}", dir.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn load(ids: &[String], store: &mut dyn Store) -> Result<Vec<(Run, Analysis)>> {
    let mut shown: Vec<(Run, Analysis)> = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        ensure!(!ids[..at].contains(id), "run {id} is named twice");
        let run = store::load(store, id)?;
        if let Some((first, _)) = shown.first() {
            ensure!(
                first.experiment == run.experiment,
                "run {id} is one of {}, run {} of {}: a report is of one experiment",
                run.experiment,
                first.id,
                first.experiment
            );
        }
        let analysis = analyze(&run);
        shown.push((run, analysis));
    }
    Ok(shown)
}

fn write_svg(dir: &Path, shown: &[(Run, Analysis)], metric: &str) -> Result<()> {
    let files = report::svg(shown, metric);
    if files.is_empty() {
        bail!("no method has samples of {metric} that differ, so that there is nothing to draw");
    }
    std::fs::create_dir_all(dir)?;
    for (name, svg) in &files {
        write(&dir.join(name), svg).context(name.clone())?;
    }
    let files = if files.len() == 1 { "file".to_owned() } else { format!("{} files", files.len()) };
    note(&format!("{files} in {}", dir.display()))?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    atomic_file::write(path, |mut file| Ok(file.write_all(text.as_bytes())?))
}
