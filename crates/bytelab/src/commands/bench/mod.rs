//! `bytelab bench`: measures commands that are typed on the command line. It writes an experiment
//! file of them, which is then read and measured as a file of the user's is.

mod args;
mod commands;
mod input;
mod parameters;
mod programs;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use analysis::{Analysis, analyze};
use anstream::ColorChoice;
use anyhow::{Result, anyhow, ensure};
use experiments::custom::file::{
    AnswerSource, AnswerTable, At, CacheWord, DataTable, ExperimentFile, HooksTable, PlanTable,
    Scalar,
};
use experiments::{Catalogue, custom};
use measure::launch::Stop;
use model::param::{Point, bytes};
use model::run::{BENCH, REVISIONS, Run, Warning};
use model::template::escape;

pub(crate) use self::args::BenchArgs;
use self::args::{Exports, OutputStyle, RunsArgs};
use self::commands::{Commands, unique};
use self::input::{StandardInput, existing_path};
pub(super) use self::programs::{Revision, Revisions};
use super::measure_args::{CacheChoice, MOST_SESSIONS, MeasureArgs};
use super::output::print_measured;
use super::program_file::Digests;
use super::run::measure;
use super::{Context, exit};
use crate::console;
use crate::measuring::{MethodFailed, ProgressMode, RunRequest, TimeLimit};

pub(crate) fn run(args: &BenchArgs, context: &Context) -> Result<ExitCode> {
    let RunsArgs { min_runs, max_runs, .. } = &args.runs;
    if let (Some(least), Some(most)) = (min_runs, max_runs) {
        ensure!(least <= most, "--min-runs {least} is more than --max-runs {most}");
    }
    let stop = Stop::on_signals()?;
    programs::ensure_revisions(args, &stop)?;
    let revisions = match (Revisions::build(&args.revisions, &stop), exit::of_signal(&stop)) {
        (Ok(revisions), _) => revisions,
        (Err(_), Some(stopped)) => return Ok(stopped),
        (Err(error), None) => return Err(error),
    };
    let revisions = revisions.as_ref().map_or(&[][..], |revisions| &revisions.all);
    let input = match (StandardInput::from_args(args, &stop), exit::of_signal(&stop)) {
        (Ok(input), _) => input,
        (Err(_), Some(stopped)) => return Ok(stopped),
        (Err(error), None) => return Err(error),
    };
    let commands = Commands::new(args, input.path.as_deref(), revisions)?;
    let file = file(args, &commands)?;
    let text = file.to_toml()?;
    let is_built = args.revisions.build.is_some();
    programs::ensure_built(&commands.methods, &file, revisions, is_built)?;
    if args.results.toml {
        console::stdout().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let custom::LoadedExperiment { experiment, definition, defaults, .. } =
        context.experiments.read(text)?;
    let measuring = MeasureArgs::with_defaults(defaults)?;
    let request = measuring.request(experiment.name, vec![Point::default()], Some(definition));
    let request = with_flags(request, args, commands.methods.len());
    let request = with_programs(request, &file, &commands, revisions, &stop)?;
    let reserved_names = context.experiments.reserved_names;
    let experiments = Catalogue { experiments: vec![experiment], reserved_names };
    let context = Context { store: context.store.clone(), experiments, ..*context };
    let exports = Exports::create(&args.results.export)?;
    commands.note_shell()?;
    let measured = measure(&request, &context, |run| {
        let analysis = print_in_style(run, args)?;
        exports.write(run, &analysis, args)?;
        Ok(analysis)
    });
    Ok(measured.unwrap_or_else(|error| exit::of_failure(&with_advice(error, args))))
}

fn print_in_style(run: &Run, args: &BenchArgs) -> Result<Analysis> {
    let choice = match args.results.style {
        OutputStyle::None => return Ok(analyze(run)),
        OutputStyle::Auto => ColorChoice::Auto,
        OutputStyle::Color => ColorChoice::AlwaysAnsi,
        OutputStyle::Nocolor => ColorChoice::Never,
    };
    choice.write_global();
    print_measured(run, &args.output, args.results.table)
}

/// Applies the flags of the run, which are no part of the experiment.
fn with_flags(request: RunRequest, args: &BenchArgs, methods: usize) -> RunRequest {
    let keep = &args.results.keep;
    // What the commands print would be mixed with a table.
    let has_table = !args.shows_output()
        && matches!(args.results.style, OutputStyle::Auto | OutputStyle::Color)
        && io::stderr().is_terminal();
    let alone = is_alone(args, methods).then_some(ALONE);
    // What the user did not ask for gives way to six runs.
    let limit = alone.map(|(_, time)| TimeLimit::Rounds(time));
    RunRequest {
        rounds: alone.map(|(rounds, _)| rounds).or(request.rounds),
        time: limit.filter(|_| args.runs.time.is_none()).unwrap_or(request.time),
        seed: args.runs.seed,
        trace: args.runs.trace.clone(),
        why: args.runs.why.clone(),
        needs_all: true,
        label: keep.label.clone(),
        data_dir: keep.data_dir.clone(),
        keep: !keep.no_store,
        push_to: keep.push.clone(),
        shown: if has_table { ProgressMode::Table } else { ProgressMode::Step },
        ..request
    }
}

/// What is known of the programs before they are measured.
fn with_programs(
    mut request: RunRequest,
    file: &ExperimentFile,
    commands: &Commands,
    revisions: &[Revision],
    stop: &Stop,
) -> Result<RunRequest> {
    let methods = &commands.methods;
    let mut digests = Digests::new(stop);
    if !revisions.is_empty() {
        let measured = programs::measured(methods, file, revisions, &mut digests);
        request.facts.insert(REVISIONS.to_owned(), serde_json::to_value(measured)?);
    }
    let same = programs::same(methods, file, revisions, &mut digests);
    request.notes.extend(same.into_iter().map(Warning::noted));
    Ok(request)
}

/// Adds the flags that help where a command failed, of those that were not given. Failing hooks
/// never count.
fn with_advice(error: anyhow::Error, args: &BenchArgs) -> anyhow::Error {
    let Some(failed) = error.downcast_ref::<MethodFailed>().filter(|failed| failed.was_started())
    else {
        return error;
    };
    let may_count = args.commands_around.ignore_failure.is_none() && !failed.is_of_hook();
    let advice = [
        (!args.shows_output() && !failed.is_of_hook(), "--show-output shows all that it prints"),
        (may_count, "--ignore-failure lets such runs count"),
    ];
    let advice: Vec<&str> =
        advice.into_iter().filter(|(helps, _)| *helps).map(|(_, text)| text).collect();
    if advice.is_empty() { error } else { anyhow!("{failed} ({})", advice.join("; ")) }
}

/// The experiment file of what was typed.
fn file(args: &BenchArgs, commands: &Commands) -> Result<ExperimentFile> {
    let question = match commands.methods.len() {
        1 => "How long does this command take?",
        _ => "Which of these commands is fastest?",
    };
    let data = args.runs.data.as_deref();
    let data = data.map(|file| existing_path(args, "--data", file)).transpose()?;
    let data_file = |path: String| Some(At::new(escape(&path)));
    let from = if args.streams.same_output { AnswerSource::Stdout } else { AnswerSource::None };
    Ok(ExperimentFile {
        name: Some(At::new(BENCH.to_owned())),
        question: question.to_owned(),
        dir: input::working_folder(args)?.map(At::new),
        env: commands.env.clone(),
        plan: plan(args),
        data: data.map(|path| DataTable { file: data_file(path), ..DataTable::default() }),
        answer: AnswerTable { from: At::new(from), file: None },
        metrics: unique("--metric", args.streams.metric.iter().cloned())?,
        hooks: HooksTable {
            setup: commands.setup.clone(),
            cleanup: commands.cleanup.clone(),
            ..HooksTable::default()
        },
        method: commands.methods.iter().map(|method| method.table.clone()).collect(),
        ..ExperimentFile::default()
    })
}

/// The rounds and the time of one command, which are no part of the experiment: with no other to be
/// compared with, nothing is ever decided.
const ALONE: (u32, Duration) = (1000, Duration::from_secs(3));

fn is_alone(args: &BenchArgs, methods: usize) -> bool {
    methods == 1 && args.runs.runs.is_none() && args.runs.max_runs.is_none()
}

fn plan(args: &BenchArgs) -> PlanTable {
    let RunsArgs {
        warmup, runs, time, min_runs, max_runs, timeout, counting, cache, memory, ..
    } = &args.runs;
    let number = |given: &Option<u32>| given.or(runs.map(|_| 0)).map(At::new);
    PlanTable {
        rounds: runs.map(At::new),
        // As many sessions, so that it is kept to exactly.
        sessions: runs.filter(|n| i64::from(*n) <= MOST_SESSIONS).map(At::new),
        min_sessions: min_runs.map(At::new),
        max_sessions: max_runs.map(At::new),
        warm_up: number(warmup),
        counting: number(counting),
        time: time.clone().map(At::new),
        sample_limit: timeout.map(|time| At::new(humantime::format_duration(time).to_string())),
        cache: Some(match cache.unwrap_or(CacheChoice::AsIs) {
            CacheChoice::Warm => CacheWord::Warm,
            CacheChoice::Cold => CacheWord::Cold,
            CacheChoice::AsIs => CacheWord::AsIs,
        }),
        memory: memory.map(|limit| At::new(Scalar(bytes(limit)))),
    }
}
