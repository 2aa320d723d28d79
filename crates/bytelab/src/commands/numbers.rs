//! `bytelab numbers`: the latency numbers of this machine.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use analysis::{Analysis, analyze};
use anyhow::{Context as _, Result};
use clap::Args;
use measure::experiment::Experiment;
use model::numbers;
use model::param::{ParamValue, Point};
use model::run::{CacheState, Run};
use report::numbers::{COLUMNS, NumbersColumn};

use super::measure_args::{KeepArgs, MOST_ROUNDS};
use super::output::{OutputArgs, TableArgs, print_measured};
use super::run::measure;
use super::{Context, layout};
use crate::console;
use crate::measuring::{ProgressMode, RunRequest, TimeLimit};

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags")]
pub(crate) struct NumbersArgs {
    /// Take more time for narrower intervals (at most 3 minutes)
    #[arg(long)]
    full: bool,
    /// Only these rows, by their names in the output of --json
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    row: Vec<String>,
    /// Only these columns
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = column)]
    columns: Vec<NumbersColumn>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Print a table in Markdown, for a wiki
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Say how to read the table; the first run in a store does
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    explain: bool,
    /// Where the measured files are created [default: where generated data is kept]
    #[arg(long, value_name = "DIR")]
    dir: Option<String>,
    /// Maximum number of rounds, of all sessions together [default: 72; 500 with --full]
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: Option<u32>,
    #[command(flatten)]
    keep: KeepArgs,
}

pub(crate) fn run(args: &NumbersArgs, context: &Context) -> Result<ExitCode> {
    let request = args.request(&context.experiments.experiments)?;
    measure(&request, context, |run| print_numbers(run, args))
}

fn column(name: &str) -> Result<NumbersColumn, String> {
    let found = COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, column)| *column);
    found.ok_or_else(|| {
        let known: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        format!("there is no such column; there are {}", known.join(", "))
    })
}

impl NumbersArgs {
    /// Makes the same request as `run numbers`.
    fn request(&self, experiments: &[Experiment]) -> Result<RunRequest> {
        let experiment =
            experiments.iter().find(|experiment| experiment.name == numbers::EXPERIMENT);
        let experiment = experiment.context("there is no experiment numbers")?;
        let mut axes: Vec<(&str, Vec<ParamValue>)> = Vec::new();
        for param in &experiment.params {
            let rows = self.row.join(",");
            let text = match param.name {
                "row" if rows.is_empty() => param.default,
                "row" => &rows,
                _ => self.dir.as_deref().unwrap_or(param.default),
            };
            if !text.is_empty() {
                axes.push((param.name, param.parse(text)?));
            }
        }
        let (sessions, rounds, seconds) = if self.full { (10, 500, 60) } else { (6, 72, 15) };
        let rounds = self.rounds.unwrap_or(rounds);
        Ok(RunRequest {
            experiment: experiment.name.to_owned(),
            points: Point::product(&axes),
            rounds: Some(rounds),
            time: TimeLimit::Rounds(Duration::from_secs(seconds)),
            warm_up: 1,
            sessions: Some(sessions.min(rounds)),
            cache: CacheState::Warm,
            label: self.keep.label.clone(),
            data_dir: self.keep.data_dir.clone(),
            keep: !self.keep.no_store,
            push_to: self.keep.push.clone(),
            shown: ProgressMode::Step,
            ..RunRequest::default()
        })
    }
}

fn print_numbers(run: &Run, args: &NumbersArgs) -> Result<Analysis> {
    if args.json || args.columns.is_empty() && !args.markdown {
        let NumbersArgs { json, explain, .. } = *args;
        let output = OutputArgs { json, explain, all: true, ..OutputArgs::default() };
        return print_measured(run, &output, TableArgs::default());
    }
    let analysis = analyze(run);
    let text = if args.markdown {
        report::numbers::markdown(run, &analysis, &args.columns)
    } else {
        report::numbers::text(run, &analysis, &args.columns, &layout())
    };
    console::stdout().write_all(text.as_bytes())?;
    Ok(analysis)
}
