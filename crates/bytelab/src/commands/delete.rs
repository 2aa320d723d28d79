//! `bytelab delete`: removes runs from the store, and what was made for runs from the cache
//! directory.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use model::param::bytes;
use model::run::Listed;
use store::{Store, Unreadable};

use super::history::date;
use super::{Context, run_id};
use crate::{console, measuring};

#[derive(Args)]
pub(crate) struct DeleteArgs {
    /// The runs: an id, a label that no other run has, or `latest`, the newest
    #[arg(value_name = "ID", required_unless_present_any = ["older", "keep", "cache"],
          conflicts_with_all = ["older", "keep"])]
    ids: Vec<String>,
    /// All runs that started before this: an age, 30d or 12h, or a date
    #[arg(long, value_name = "AGE", value_parser = date)]
    older: Option<String>,
    /// All runs but the newest N
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Generated data and built workers in the user's cache directory: they are made again when
    /// they are needed. A directory that --data-dir named is not touched
    #[arg(long)]
    cache: bool,
    /// Print what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &DeleteArgs, context: &Context) -> Result<ExitCode> {
    let mut store = context.open_store()?;
    if !args.ids.is_empty() {
        let named = named(&args.ids, store.as_mut())?;
        delete(args, &named, store.as_mut())?;
    } else if args.older.is_some() || args.keep.is_some() {
        let chosen = chosen(args, store.as_mut())?;
        delete(args, &chosen, store.as_mut())?;
    }
    if args.cache {
        clear_cache(args, store.as_mut())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All or none: an unknown id is reported before any run is removed.
fn named(ids: &[String], store: &mut dyn Store) -> Result<Vec<Listed>> {
    let known = store.list()?;
    let baselines = store.baselines()?;
    let mut named: Vec<Listed> = Vec::new();
    for id in ids {
        let id = run_id(store, id).context("nothing was deleted")?;
        let run = known.iter().find(|run| run.id == id);
        let run = run.with_context(|| format!("run {id} is gone; nothing was deleted"))?;
        if let Some(baseline) = baselines.iter().find(|baseline| baseline.id == id) {
            bail!(
                "run {id} is the baseline {:?}; nothing was deleted (see bytelab baseline --help)",
                baseline.name
            );
        }
        if named.iter().all(|other| other.id != id) {
            named.push(run.clone());
        }
    }
    Ok(named)
}

/// The runs that are both old enough and not among the newest. Baselines, and runs that are being
/// measured, stay.
fn chosen(args: &DeleteArgs, store: &mut dyn Store) -> Result<Vec<Listed>> {
    let mut runs = store.list()?;
    runs.sort_by(|a, b| b.started.cmp(&a.started));
    let baselines = store.baselines()?;
    let mut chosen = Vec::new();
    for run in runs.into_iter().skip(args.keep.unwrap_or_default()) {
        let is_older = |older: &String| run.started.as_str() < older.as_str();
        if !args.older.as_ref().is_none_or(is_older) {
            continue;
        }
        let baseline = baselines.iter().find(|baseline| baseline.id == run.id);
        if let Some(baseline) = baseline {
            writeln!(
                console::stderr(),
                "bytelab: run {} stays: it is the baseline {:?}",
                run.id,
                baseline.name
            )?;
        } else if is_being_measured(&run, store)? {
            writeln!(console::stderr(), "bytelab: run {} stays: it is being measured", run.id)?;
        } else {
            chosen.push(run);
        }
    }
    chosen.reverse();
    Ok(chosen)
}

fn is_being_measured(run: &Listed, store: &mut dyn Store) -> Result<bool> {
    if run.complete {
        return Ok(false);
    }
    match store.load(&run.id) {
        Ok(run) => Ok(measuring::holder(&run.environment).is_some()),
        // A process that measures it has locked its journal, so that the store does not delete it.
        Err(error) if error.is::<Unreadable>() => Ok(false),
        Err(error) => Err(error),
    }
}

fn delete(args: &DeleteArgs, runs: &[Listed], store: &mut dyn Store) -> Result<()> {
    for run in runs {
        if !args.dry_run {
            store.delete(&run.id)?;
        }
        if args.dry_run || args.ids.is_empty() {
            let done = if args.dry_run { "would delete" } else { "deleted" };
            let Listed { id, experiment, started, label, .. } = run;
            let label = label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
            let line = format!("{done} run {id}: {experiment}{label}, {started}");
            writeln!(console::stdout(), "{}", report::escape_controls(&line))?;
        }
    }
    Ok(())
}

fn clear_cache(args: &DeleteArgs, store: &mut dyn Store) -> Result<()> {
    let dir = measuring::cache_dir();
    let dir = dir.context("--cache: neither HOME nor XDG_CACHE_HOME is set")?;
    for run in store.list()? {
        ensure!(
            !is_being_measured(&run, store)?,
            "--cache: run {} is being measured, and may use what is there",
            run.id
        );
    }
    let (mut files, mut size_bytes) = (0, 0);
    count(&dir, &mut files, &mut size_bytes)
        .with_context(|| format!("--cache: reading {}", dir.display()))?;
    if !args.dry_run && fs::symlink_metadata(&dir).is_ok() {
        fs::remove_dir_all(&dir).with_context(|| format!("--cache: {}", dir.display()))?;
    }
    let done = if args.dry_run { "would delete" } else { "deleted" };
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    writeln!(console::stdout(), "{done} {files} in {}, {}", dir.display(), bytes(size_bytes))?;
    Ok(())
}

/// Counts the files below a folder; what is a link is not followed.
fn count(dir: &Path, files: &mut u64, size_bytes: &mut u64) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            count(&entry.path(), files, size_bytes)?;
        } else {
            *files += 1;
            *size_bytes += metadata.len();
        }
    }
    Ok(())
}
