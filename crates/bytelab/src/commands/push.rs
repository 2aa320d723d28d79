//! `bytelab push` and `bytelab pull`: stored runs to a server of PostgreSQL, and from it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use model::run::{Cell, Listed, Run};
use report::escape_controls;
use store::{LocalStore, Server, Store};

use super::measure_args::ServerUrl;
use super::{Context, note, run_id};
use crate::console;
use crate::measuring::built_in;
use crate::redaction::{REDACT, Redaction};

/// Which runs.
#[derive(Args)]
struct RunSelection {
    /// The ids of the runs; `latest` is the newest
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All runs
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// The runs with this label (`*` stands for any text)
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["ids", "all"])]
    label: Option<String>,
}

#[derive(Args)]
pub(crate) struct PushArgs {
    #[command(flatten)]
    chosen: RunSelection,
    /// The server, as `postgres://HOST/DATABASE` [default: that of `BYTELAB_STORE`, else of
    /// `BYTELAB_SERVER`]
    #[arg(long, value_name = "URL", value_parser = ServerUrl)]
    to: Option<Server>,
    /// Also runs that are not complete; the server keeps them as they are now
    #[arg(long)]
    incomplete: bool,
    /// Hide the host, the user, paths or commands: each becomes a part of its SHA-256
    ///
    /// `commands` hides every text that comes from you or your programs: commands, names of
    /// methods, params and metrics, answers, what programs print, and reasons and notes except
    /// known phrases such as "ended with exit status 3". Numbers, the names of bytelab's own
    /// methods, the facts about the machine and the label are sent. A text that can be guessed can
    /// be recognized by its digest; with --leave-out nothing of it remains. The variable
    /// `BYTELAB_REDACT` does the same for `run --push`.
    #[arg(long, value_name = "KIND,…")]
    redact: Option<String>,
    /// Leave out what is hidden
    #[arg(long)]
    leave_out: bool,
    /// Print all that would be sent, and send nothing; of samples with the same texts, only the
    /// first
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
pub(crate) struct PullArgs {
    #[command(flatten)]
    chosen: RunSelection,
    /// The server, as `postgres://HOST/DATABASE` [default: that of `BYTELAB_STORE`, else of
    /// `BYTELAB_SERVER`]
    #[arg(long, value_name = "URL", value_parser = ServerUrl)]
    from: Option<Server>,
}

pub(crate) fn push(args: &PushArgs, context: &Context) -> Result<ExitCode> {
    let redaction = Redaction::named(args.redact.as_deref(), args.leave_out);
    let redaction = redaction.with_context(|| format!("--redact or {REDACT}"))?;
    ensure!(
        !args.leave_out || redaction.hides_something(),
        "--leave-out: name what is hidden with --redact or {REDACT}"
    );
    let mut local = context.local_store(None)?;
    let ids = to_push(args, &mut local)?;
    if args.dry_run {
        return dry_run(&ids, &redaction, &mut local);
    }
    let server = server_of(args.to.as_ref(), &local)?;
    let mut remote = server.open()?;
    if let Some(text) = server.clock_note(remote.as_mut(), &measure::clock::utc_rfc3339()) {
        note(&text)?;
    }
    let (mut added, mut there) = (0, 0);
    for id in &ids {
        let run = local.sqlite.load(id).map(|run| redacted(&redaction, run));
        let pushed = run.and_then(|run| remote.add_once(&run));
        match pushed {
            Ok(true) => added += 1,
            Ok(false) => there += 1,
            Err(error) => {
                note(&format!("run {id} stays here: {error:#}"))?;
                // It goes on with the next one if the server answers.
                remote = server.open()?;
                continue;
            }
        }
        local.sqlite.set_unsent(id, false)?;
    }
    ended(added, there, ids.len(), &format!("pushed to {server}"))
}

pub(crate) fn pull(args: &PullArgs, context: &Context) -> Result<ExitCode> {
    let mut local = context.local_store(None)?;
    let server = server_of(args.from.as_ref(), &local)?;
    let mut remote = server.open()?;
    let chosen = &args.chosen;
    ensure!(
        chosen.all || chosen.label.is_some() || !chosen.ids.is_empty(),
        "name runs, or --label LABEL, or --all"
    );
    let ids = ids(chosen, remote.as_mut())?;
    let (mut added, mut there) = (0, 0);
    for id in &ids {
        if local.sqlite.find(id).is_ok() {
            there += 1;
            continue;
        }
        let pulled = remote.load(id).and_then(|run| local.sqlite.add_once(&run));
        if let Err(error) = pulled {
            note(&format!("run {id} stays there: {error:#}"))?;
            remote = server.open()?;
        } else {
            added += 1;
        }
    }
    ended(added, there, ids.len(), &format!("pulled from {server}"))
}

fn server_of(flag: Option<&Server>, local: &LocalStore) -> Result<Server> {
    flag.or(local.server()).map_or_else(|| Server::named(None), |server| Ok(server.clone()))
}

/// The runs that are complete, of those that are chosen or wait.
fn to_push(args: &PushArgs, local: &mut LocalStore) -> Result<Vec<String>> {
    let RunSelection { ids: named, all, label } = &args.chosen;
    let is_named = !named.is_empty();
    let chosen = if *all || label.is_some() || is_named {
        ids(&args.chosen, &mut local.sqlite)?
    } else {
        local.sqlite.unsent()?
    };
    let listed = local.sqlite.list()?;
    let is_complete = |id: &String| listed.iter().any(|run| run.id == *id && run.complete);
    let (ready, rest): (Vec<String>, Vec<String>) =
        chosen.into_iter().partition(|id| args.incomplete || is_complete(id));
    if let Some(first) = rest.first() {
        let text = match rest.len() {
            1 => format!("run {first} is not complete and stays here"),
            n => format!("{n} runs are not complete and stay here, run {first} first"),
        };
        note(&format!(
            "{text}: `bytelab run --resume {first}` completes it, --incomplete sends it"
        ))?;
    }
    Ok(ready)
}

fn ids(chosen: &RunSelection, store: &mut dyn Store) -> Result<Vec<String>> {
    if !chosen.ids.is_empty() {
        return chosen.ids.iter().map(|id| run_id(store, id)).collect();
    }
    let is_wanted =
        |run: &Listed| chosen.label.as_ref().is_none_or(|label| store::has_label(run, label));
    let listed = store.list()?.into_iter().filter(is_wanted);
    let ids: Vec<String> = listed.map(|run| run.id).collect();
    if let (true, Some(label)) = (ids.is_empty(), &chosen.label) {
        note(&format!("no run has the label {label}; `bytelab history` lists all"))?;
    }
    Ok(ids)
}

fn redacted(redaction: &Redaction, run: Run) -> Run {
    let own = built_in(&run);
    redaction.apply(run, own.as_ref())
}

/// All that would be sent, but for samples whose texts are shown already.
fn dry_run(ids: &[String], redaction: &Redaction, local: &mut LocalStore) -> Result<ExitCode> {
    let mut out = console::stdout();
    for id in ids {
        let run = redacted(redaction, local.sqlite.load(id)?);
        let samples: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
        let cells: Vec<Cell> = run.cells.iter().map(with_one_of_each_text).collect();
        let shown: usize = cells.iter().map(|cell| cell.samples.len()).sum();
        let document = Run { cells, id: String::new(), ..run };
        writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?;
        let more = samples - shown;
        note(&format!(
            "run {id}: this, and {more} more samples with the same texts, would be sent"
        ))?;
    }
    if ids.is_empty() {
        note("nothing would be sent")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The cell with the first of the samples that have the same texts.
fn with_one_of_each_text(cell: &Cell) -> Cell {
    let mut shown = Cell { samples: Vec::new(), values: BTreeMap::new(), ..cell.clone() };
    let mut seen = BTreeSet::new();
    for n in 0..cell.samples.len() {
        let Some((sample, values)) = cell.nth(n) else { continue };
        let texts = (&sample.answer, &sample.not_counted);
        let metrics: Vec<&str> = values.iter().map(|(metric, _)| *metric).collect();
        if seen.insert((texts, metrics)) {
            shown.push(sample.clone(), &values);
        }
    }
    shown
}

/// Says how many runs were added and how many were there, and whether these are all.
fn ended(added: usize, there: usize, chosen: usize, done: &str) -> Result<ExitCode> {
    let runs = |n: usize| if n == 1 { "1 run".to_owned() } else { format!("{n} runs") };
    let already = if there == 0 { String::new() } else { format!(", {there} already there") };
    writeln!(
        console::stdout(),
        "{}",
        escape_controls(&format!("{} {done}{already}", runs(added)))
    )?;
    Ok(if added + there == chosen { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
