//! What `bytelab run EXPERIMENT …` asks: its flags are made from the experiment's params, or from a file.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use lab::experiment::Experiment;
use lab::param::{Kind, Param, Point, Value, bytes};
use lab::run::Definition;

use super::{Cli, MeasureArgs, OutputArgs, Task};
use crate::experiments::own::{self, Taken};

/// What `bytelab run EXPERIMENT …` asks.
pub(crate) struct Asked {
    pub(crate) experiment: String,
    pub(crate) points: Vec<Point>,
    /// Of an experiment in a file.
    pub(crate) definition: Option<Definition>,
    pub(crate) measuring: MeasureArgs,
}

/// The task, if it is one of the tools and nothing is wrong with it: to describe all other tasks takes longer than many
/// a sample. What is wrong, or asks for help, is left to `parse`.
pub(crate) fn tool() -> Option<Cli> {
    fn args<A: Args>(name: OsString) -> Option<A> {
        let command = A::augment_args(Command::new("bytelab"));
        let matches =
            command.try_get_matches_from([name].into_iter().chain(std::env::args_os().skip(2)));
        A::from_arg_matches(&matches.ok()?).ok()
    }
    let name = std::env::args_os().nth(1)?;
    let task = match name.to_str()? {
        "cat" => Task::Cat(args(name)?),
        "fleece" => Task::Fleece(args(name)?),
        "sample" => Task::Sample(args(name)?),
        _ => return None,
    };
    Some(Cli { store: None, task })
}

/// Parses the process's arguments; help, version and wrong use end it here. An experiment in a file is
/// added to the others.
pub(crate) fn parse(experiments: &mut Vec<Experiment>) -> Result<(Cli, Option<Asked>)> {
    let mut command = command(experiments);
    let typed = file_to_run(&command);
    let mut definition = None;
    if let Some(file) = &typed {
        let declared = own::load(Path::new(file), &taken())?;
        let subcommand = subcommand(&declared.experiment).name(file);
        let subcommand = declared.defaults.into_iter().fold(subcommand, |command, (id, value)| {
            command.mut_arg(id, |arg| arg.default_value(value))
        });
        command = command.mut_subcommand("run", |run| run.subcommand(subcommand));
        definition = Some(declared.definition);
        experiments.push(declared.experiment);
    }
    let matches = command.get_matches();
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let run = matches.subcommand_matches("run").and_then(ArgMatches::subcommand);
    let Some((name, matches)) = run else { return Ok((cli, None)) };
    let experiment = match &typed {
        Some(_) => experiments.last(),
        None => experiments.iter().find(|experiment| experiment.name == name),
    };
    let experiment = experiment.with_context(|| format!("there is no experiment {name}"))?;
    if let Task::Run(run) = &mut cli.task {
        run.output = OutputArgs::from_arg_matches(matches)?;
    }
    let asked = Asked {
        experiment: experiment.name.to_owned(),
        points: points(experiment, matches)?,
        definition,
        measuring: MeasureArgs::from_arg_matches(matches)?,
    };
    Ok((cli, Some(asked)))
}

/// The file that `run` names in place of an experiment.
fn file_to_run(command: &Command) -> Option<String> {
    let open = command.clone().mut_subcommand("run", |run| run.allow_external_subcommands(true));
    // What is wrong, or asks for help, is told when all is known.
    let matches = open.try_get_matches().ok()?;
    let (name, _) = matches.subcommand_matches("run")?.subcommand()?;
    own::is_file_name(name).then(|| name.to_owned())
}

/// What an experiment in a file may not be called, nor its params.
pub(crate) fn taken() -> Taken<'static> {
    let all = MeasureArgs::augment_args(OutputArgs::augment_args(Cli::command()));
    let flags = all.get_arguments().flat_map(|arg| {
        let long = arg.get_long().map(str::to_owned);
        long.into_iter().chain([arg.get_id().to_string()])
    });
    let builtin = ["help", "version", "resume"].map(str::to_owned);
    Taken {
        experiments: crate::experiments::all().iter().map(|experiment| experiment.name).collect(),
        flags: flags.chain(builtin).collect(),
    }
}

fn command(experiments: &[Experiment]) -> Command {
    Cli::command().mut_subcommand("run", |run| {
        experiments.iter().fold(run, |run, experiment| run.subcommand(subcommand(experiment)))
    })
}

fn subcommand(experiment: &Experiment) -> Command {
    let command = Command::new(experiment.name)
        .next_help_heading("Params (a list `a,b` or a range `a..b` is a sweep)")
        .args(experiment.params.iter().map(flag));
    let command = MeasureArgs::augment_args(command).next_help_heading("Output");
    // What the flags' structs say of themselves is not what the experiment is about.
    OutputArgs::augment_args(command).about(experiment.question).long_about(experiment.readme)
}

fn flag(param: &Param) -> Arg {
    let (value, range) = match param.kind {
        Kind::Bytes(min, max) => ("BYTES", format!(" [{} to {}]", bytes(min), bytes(max))),
        Kind::Count(min, max) => ("N", format!(" [{min} to {max}]")),
        Kind::Path => ("PATH", String::new()),
        Kind::Word(words) => ("WORD", format!(" [{}]", words.join(", "))),
    };
    let arg = Arg::new(param.name).long(param.name).value_name(value);
    if param.default.is_empty() {
        arg.help(format!("{}{range}", param.help))
    } else {
        arg.help(format!("{}{range} [default: {}]", param.help, param.default))
    }
}

/// All combinations of the values that the flags and the defaults give.
fn points(experiment: &Experiment, matches: &ArgMatches) -> Result<Vec<Point>> {
    let mut axes: Vec<(&str, Vec<Value>)> = Vec::new();
    for param in &experiment.params {
        let text = matches.get_one::<String>(param.name).map_or(param.default, String::as_str);
        if text.is_empty() && !matches.contains_id(param.name) {
            continue;
        }
        axes.push((param.name, param.parse(text)?));
    }
    let points = Point::product(&axes);
    if points.len() > 10_000 {
        bail!("{} points are too many: at most 10000", points.len());
    }
    Ok(points)
}
