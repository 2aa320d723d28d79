//! `bytelab check` and `bytelab baseline`: what a baseline measured is measured again, or beside its old side, and
//! what got slower by more than is allowed makes it fail, once a second run has confirmed it.

mod against;
mod two_sides;

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use lab::analyze::{Allowed, Check, Checked, OLD, Outcome, check, foresee};
use lab::experiment::Experiment;
use lab::launch::Stop;
use lab::metric::{self, left_out};
use lab::run::{Plan, Run};

use crate::report::{self, Layout};
use crate::run::again;
use crate::store::{self, Baseline, Store};

pub(crate) use self::against::{AgainstArgs, run as against};

const DID_NOT_RUN: u8 = 1;
pub(crate) const SLOWER: u8 = 3;
pub(crate) const UNDECIDED: u8 = 4;

/// So many of the newest runs tell what runs differ by.
const BEFORE_MAX: usize = 20;

/// What a check of either form is asked.
#[derive(Args)]
pub(crate) struct GateArgs {
    /// By how much a metric may get worse: wall=5%, cpu=3%, rss, syscalls, allocations, throughput, or
    /// the full name of another; may be repeated
    #[arg(long, value_name = "METRIC=N%", required = true, value_delimiter = ',', value_parser = allowed)]
    allow: Vec<Allowed>,
    /// Whether a check that decides nothing fails: with exit status 4, or 0
    #[arg(long, value_name = "WORD", value_enum, default_value = "fail")]
    undecided: Undecided,
    /// Measure nothing: say which slowdown would be found with 80 %, from the runs that the store has
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Undecided {
    Ok,
    Fail,
}

/// How old and new are measured in the same rounds.
const BESIDE: &str = "Old and new in the same rounds decides more, and needs no baseline:
  bytelab check FILE.toml --against OLD.toml --allow wall=5%
  bytelab check FILE.toml --against old=PATH,new=PATH --allow wall=5%
  bytelab check EXPERIMENT --against OLD_BYTELAB --allow wall=5%
The second puts PATH in for {program} in the commands of FILE.toml; the third takes the built-in
methods of another bytelab. `bytelab check EXPERIMENT --help` has their flags.";

const EXIT_STATUS: &str = "\
Exit status: 0 nothing is slower than allowed; 1 something did not run, or answers differ; 3 slower;
4 undecided, unless --undecided ok is given.";

#[derive(Args)]
#[command(after_help = format!("{BESIDE}\n\n{EXIT_STATUS}"))]
pub(crate) struct CheckArgs {
    /// The run, or the name of one (see `bytelab baseline`)
    #[arg(long, value_name = "ID|NAME", required = true)]
    baseline: Option<String>,
    #[command(flatten)]
    gate: GateArgs,
    /// Compare times as they are, and not relative to the reference in the same rounds
    #[arg(long)]
    absolute: bool,
    /// A name for the runs, to find them again
    #[arg(long)]
    label: Option<String>,
    /// Where made data is kept [default: where it was for the baseline]
    #[arg(long, value_name = "DIR", env = "BYTELAB_DATA_DIR", hide_env_values = true)]
    data_dir: Option<PathBuf>,
    /// Do not keep the runs
    #[arg(long)]
    no_store: bool,
    /// Where an experiment is named, and not a baseline.
    #[arg(skip)]
    pub(crate) against: Option<AgainstArgs>,
}

#[derive(Subcommand)]
pub(crate) enum BaselineTask {
    /// Give a complete run a name; a name that is there already is moved
    Set { name: String, id: String },
    /// All names and their runs
    List {
        #[arg(long)]
        json: bool,
    },
    /// Remove names; their runs stay
    Delete {
        #[arg(required = true)]
        names: Vec<String>,
    },
}

const SHORT: [(&str, &str); 6] = [
    ("wall", "wall_ns"),
    ("cpu", "cpu_ns"),
    ("rss", "peak_rss_bytes"),
    ("syscalls", "syscalls"),
    ("allocations", "allocations"),
    ("throughput", "throughput_bytes_per_s"),
];

/// The full name of a metric that may have been named in short.
pub(crate) fn metric_named(name: &str) -> &str {
    SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, full)| full)
}

/// `wall=5%`.
pub(crate) fn allowed(text: &str) -> Result<Allowed, String> {
    let wrong = || "write METRIC=N%, such as wall=5%".to_owned();
    let (name, percent) = text.split_once('=').ok_or_else(wrong)?;
    let percent = percent.strip_suffix('%').ok_or_else(wrong)?.trim();
    let percent: f64 = percent.parse().map_err(|_| wrong())?;
    if !(0.0..=1e6).contains(&percent) {
        return Err(format!("{percent} % cannot be allowed: 0 or more"));
    }
    let metric = metric_named(name);
    if !metric::is_known(metric) && !metric.ends_with("_ns") && !metric.ends_with("_bytes") {
        let short = SHORT.map(|(short, _)| short).join(", ");
        return Err(format!(
            "there is no metric {name}; there are {short} and the full names of others"
        ));
    }
    Ok(Allowed { metric: metric.to_owned(), percent })
}

pub(crate) fn run(
    args: &CheckArgs,
    store_flag: Option<&OsStr>,
    experiments: &[Experiment],
    layout: &Layout,
) -> Result<ExitCode> {
    let gate = &args.gate;
    ensure_once("--allow", &gate.allow)?;
    let mut store = store::open(store_flag.map(OsStr::to_owned))?;
    let name = args.baseline.as_deref().context("--baseline names no run")?;
    let baseline = baseline(&mut *store, name)?;
    ensure_same_definitions(&baseline, &gate.allow)?;
    let before = before(&mut *store, &baseline)?;
    let asked = Check {
        baseline: &baseline,
        now: &[],
        before: &before,
        allowed: &gate.allow,
        absolute: args.absolute,
    };
    if gate.dry_run {
        let found = foresee(&asked);
        return told(&if gate.json {
            report::check::foreseen_json(&found)? + "\n"
        } else {
            report::check::foreseen(&found, layout)
        });
    }
    let stop = Stop::on_signals()?;
    let mut now: Vec<Run> = Vec::new();
    let label = args.label.clone().unwrap_or_else(|| format!("check of {name}"));
    let checked = loop {
        let keep =
            if args.no_store { None } else { Some(store::open(store_flag.map(OsStr::to_owned))?) };
        let measured = again(experiments, &baseline, &label, args.data_dir.clone(), keep, &stop);
        if let Some(signal) = stop.signal() {
            return Ok(ExitCode::from(128 + signal as u8));
        }
        now.push(measured?);
        let checked = check(&Check { now: &now, ..asked });
        if is_enough(&now, &checked)? {
            break checked;
        }
    };
    let against = report::check::Against::Baseline { name, id: &baseline.id };
    conclude(gate, against, &now, &checked, layout)
}

/// Whether no second run is needed; it is said if one is.
fn is_enough(now: &[Run], checked: &Checked) -> Result<bool> {
    let settled = [Outcome::Ok, Outcome::Faster, Outcome::Missing];
    let enough = now.len() > 1 || settled.contains(&checked.outcome);
    if !enough {
        writeln!(io::stderr(), "bytelab: not ok in one run: measuring a second one")?;
    }
    Ok(enough)
}

/// Shows what was found, and gives the exit status.
fn conclude(
    gate: &GateArgs,
    against: report::check::Against<'_>,
    now: &[Run],
    checked: &Checked,
    layout: &Layout,
) -> Result<ExitCode> {
    let now = now.iter().map(|run| run.id.as_str()).collect();
    let asked = report::check::Asked { against, now };
    let text = if gate.json {
        report::check::json(&asked, checked)? + "\n"
    } else {
        report::check::text(&asked, checked, layout)
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    step_summary(&report::check::markdown(&asked, checked));
    Ok(ExitCode::from(match checked.outcome {
        Outcome::Undecided if gate.undecided == Undecided::Ok => 0,
        outcome => status(outcome),
    }))
}

fn told(text: &str) -> Result<ExitCode> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn status(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Ok | Outcome::Faster | Outcome::Reference => 0,
        Outcome::Missing => DID_NOT_RUN,
        Outcome::Slower => SLOWER,
        Outcome::Undecided => UNDECIDED,
    }
}

/// No metric has two limits.
pub(crate) fn ensure_once(flag: &str, limits: &[Allowed]) -> Result<()> {
    for (i, allowed) in limits.iter().enumerate() {
        let twice = limits[..i].iter().any(|other| other.metric == allowed.metric);
        ensure!(!twice, "{flag} names {} twice", allowed.metric);
    }
    Ok(())
}

/// A name first: it was chosen to be used.
fn baseline(store: &mut dyn Store, asked: &str) -> Result<Run> {
    let named = store.baselines()?.into_iter().find(|baseline| baseline.name == asked);
    let id = named.map_or(asked.to_owned(), |baseline| baseline.id);
    let run = store.load(&id).map_err(|error| {
        if id.parse::<u64>().is_ok() {
            return error;
        }
        anyhow::anyhow!("no baseline {asked:?}; `bytelab baseline list` shows all")
    })?;
    ensure_repeatable(&run)?;
    Ok(run)
}

fn ensure_repeatable(run: &Run) -> Result<()> {
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
    Ok(())
}

/// What an older definition got wrong cannot be held against what is measured now.
fn ensure_same_definitions(run: &Run, allowed: &[Allowed]) -> Result<()> {
    let older = left_out(run).find(|(_, metric)| allowed.iter().any(|a| a.metric == *metric));
    if let Some((method, metric)) = older {
        bail!(
            "run {} measured {metric} of {method} by an older definition: measure it again, and give \
             that run the name of the baseline",
            run.id
        );
    }
    Ok(())
}

/// The newest complete runs of the same job on the machine of the baseline, the oldest first.
fn before(store: &mut dyn Store, baseline: &Run) -> Result<Vec<Run>> {
    let (experiment, machine) = (&baseline.experiment, &baseline.environment.fingerprint);
    let mut runs = newest(store, experiment, machine, &baseline.plan)?;
    // There other methods ran in the same rounds.
    runs.retain(|run| !run.cells.iter().any(|cell| cell.method.ends_with(OLD)));
    Ok(runs)
}

fn newest(store: &mut dyn Store, experiment: &str, machine: &str, plan: &Plan) -> Result<Vec<Run>> {
    let same = |run: &&lab::run::Listed| {
        run.complete && run.experiment == experiment && run.machine.fingerprint == machine
    };
    let listed = store.list()?;
    let newest = listed.iter().rev().filter(same).take(BEFORE_MAX);
    let mut runs = newest.map(|run| store.load(&run.id)).collect::<Result<Vec<Run>>>()?;
    runs.reverse();
    runs.retain(|run| run.plan.cache == plan.cache && run.plan.fresh == plan.fresh);
    Ok(runs)
}

/// GitHub shows what is in this file with the job. That it cannot be written is no failure of the check.
fn step_summary(markdown: &str) {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return;
    };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(markdown.as_bytes())) {
        let path = path.display();
        let _ = writeln!(io::stderr(), "bytelab: GITHUB_STEP_SUMMARY {path}: {error}");
    }
}

pub(crate) fn baselines(task: &BaselineTask, store: Option<OsString>) -> Result<ExitCode> {
    let mut store = store::open(store)?;
    match task {
        BaselineTask::Set { name, id } => {
            // A name that is a number would be taken for a run.
            ensure!(
                !name.is_empty()
                    && name.parse::<u64>().is_err()
                    && !name.contains(char::is_control),
                "baseline {name:?}: give a name that is not empty, no number and of one line"
            );
            ensure_repeatable(&store.load(id)?)?;
            store.set_baseline(name, id)?;
        }
        BaselineTask::List { json } => {
            let all = store.baselines()?;
            let mut out = io::stdout().lock();
            if *json {
                writeln!(out, "{}", serde_json::to_string(&all)?)?;
            } else if all.is_empty() {
                writeln!(out, "no baselines yet; make one with: bytelab baseline set NAME ID")?;
            } else {
                out.write_all(report::check::baselines(&named(&all)).as_bytes())?;
            }
        }
        BaselineTask::Delete { names } => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_metric_and_a_percentage() {
        let check = |text: &str, expected: Result<(&str, f64), &str>| {
            let got = allowed(text);
            match expected {
                Ok((metric, percent)) => {
                    assert_eq!(got, Ok(Allowed { metric: metric.to_owned(), percent }), "{text}");
                }
                Err(part) => assert!(got.unwrap_err().contains(part), "{text}"),
            }
        };
        check("wall=5%", Ok(("wall_ns", 5.0)));
        check("rss=0.5%", Ok(("peak_rss_bytes", 0.5)));
        check("peak_rss_bytes=10 %", Ok(("peak_rss_bytes", 10.0)));
        check("switch_ns=1%", Ok(("switch_ns", 1.0)));
        check("wall=5", Err("wall=5%"));
        check("wall", Err("wall=5%"));
        check("wall=%", Err("wall=5%"));
        check("wall=-1%", Err("0 or more"));
        check("wall=NaN%", Err("0 or more"));
        check("wall=inf%", Err("0 or more"));
        check("speed=5%", Err("there is no metric speed; there are wall, cpu"));
    }
}
