//! The flags of `bytelab run EXPERIMENT …` and `bytelab check EXPERIMENT …`: they are generated
//! from the experiment's params, or from a file.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{ROUNDS, SESSIONS};
use anyhow::{Context, Result, bail, ensure};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
use experiments::Catalogue;
use experiments::custom::{self, ReservedNames};
use measure::experiment::Experiment;
use model::param::{Param, ParamKind, ParamValue, Point, bytes};
use model::path_text::{from_os, to_path};
use model::pattern::closest;
use report::published::{self, Study};
use tools::cat::{self, CatArgs};
use tools::fleece;
use tools::sample::{self, SampleArgs};

use crate::cli::{Cli, CliCommand, EXAMPLES, GlobalArgs};
use crate::commands::bench::BenchArgs;
use crate::commands::check::AgainstArgs;
use crate::commands::measure_args::MeasureArgs;
use crate::commands::output::OutputArgs;
use crate::commands::program_file::is_installed;
use crate::commands::run::{ProgressArgs, RunArgs, StudyRequest};
use crate::commands::study_files::StudyFilesArgs;
use crate::console;
use crate::measuring::RunRequest;
use crate::preset_flags::{has_defaults, of_part, preset, with_defaults};

/// The typed words; those that are not UTF-8 are replaced by text that stands for them.
fn as_text(words: &[OsString]) -> Vec<OsString> {
    words.iter().map(|word| from_os(word).into_owned().into()).collect()
}

/// Prints the version and ends the process, if nothing else is requested: describing the
/// subcommands takes longer than starting the process.
fn version(words: &[OsString]) {
    if words.len() == 2 && (words[1] == "--version" || words[1] == "-V") {
        Command::new("bytelab").version(env!("CARGO_PKG_VERSION")).get_matches();
    }
}

/// Shows examples of what to type, and ends the process.
#[expect(clippy::exit, reason = "as clap itself does")]
fn show_examples() -> ! {
    let _ = writeln!(
        console::stderr(),
        "bytelab measures which of several ways to do the same job is best.\n\n{EXAMPLES}\n\n\
         `bytelab -h` lists all commands, `bytelab COMMAND -h` the flags of one."
    );
    std::process::exit(2)
}

/// The words with `bench` in front of commands: no subcommand has a space in its name, so that the
/// first word is a command if it has one.
fn with_bench(words: &[OsString]) -> Cow<'_, [OsString]> {
    let is_command = |word: &OsString| word.as_encoded_bytes().contains(&b' ');
    match words {
        [program, rest @ ..] if rest.first().is_some_and(is_command) => {
            [&[program.clone(), "bench".into()], rest].concat().into()
        }
        _ => words.into(),
    }
}

/// Runs the subcommand, if it is one of the tools and its arguments are valid: describing all other
/// subcommands takes longer than many samples. Invalid arguments and requests for help are left to
/// `parse`.
pub(crate) fn run_tool(words: &[OsString]) -> Option<Result<ExitCode>> {
    fn args<A: Args>(words: &[OsString]) -> Option<A> {
        let command = A::augment_args(Command::new("bytelab"));
        let mut matches = command.try_get_matches_from(words).ok()?;
        A::from_arg_matches_mut(&mut matches).ok()
    }
    let words = words.get(1..)?;
    Some(match words.first()?.to_str()? {
        "cat" => Ok(cat::run(match CatArgs::of_names(&words[1..]) {
            Some(args) => args,
            None => args(words)?,
        })),
        "fleece" => fleece::run(&args(words)?),
        "sample" => Ok(sample::run(&SampleArgs::of_words(words)?)),
        _ => return None,
    })
}

/// The subcommand, if it is `bench` and its arguments are valid: describing the params of all
/// experiments takes as long as a few short commands. Invalid arguments, requests for help, and
/// flags of `BYTELAB_OPTIONS`, of which each is one of some subcommand, are left to `parse_with`.
fn bench(words: &[OsString]) -> Option<Cli> {
    const NAME: &str = "bench";
    let words = with_bench(words);
    if has_defaults() || !words.iter().any(|word| word == NAME) {
        return None;
    }
    let command = GlobalArgs::augment_args(Command::new("bytelab"));
    let command = command.subcommand(BenchArgs::augment_args(Command::new(NAME)));
    let mut matches = command.try_get_matches_from(as_text(&words)).ok()?;
    let (_, mut own) = matches.remove_subcommand()?;
    let task = CliCommand::Bench(Box::new(BenchArgs::from_arg_matches_mut(&mut own).ok()?));
    let global = GlobalArgs::from_arg_matches_mut(&mut matches).ok()?;
    Some(Cli { global, licences: false, task })
}

/// Parses the process's arguments; help, version and wrong use end the process here. An experiment
/// in a file is added to the others; `bench` needs none.
pub(crate) fn parse(words: &[OsString]) -> Result<(Cli, Catalogue)> {
    version(words);
    if words.len() < 2 {
        show_examples();
    }
    let mut experiments = Vec::new();
    let cli = if let Some(cli) = bench(words) {
        cli
    } else {
        experiments = experiments::all();
        parse_with(&as_text(&with_bench(words)), &mut experiments)?
    };
    Ok((cli, Catalogue { experiments, reserved_names }))
}

fn parse_with(words: &[OsString], experiments: &mut Vec<Experiment>) -> Result<Cli> {
    let mut command = command(experiments);
    let named = named(&command, words);
    if let Some(study) = study_named(named.as_ref())? {
        return parse_study(&command, words, study, experiments);
    }
    // Instead of an experiment, a file may be named.
    let typed = named.filter(|(_, name)| custom::is_file_name(name));
    let mut definition = None;
    if let Some((task, file)) = &typed {
        let (subcommand, declared) = declared(task, file)?;
        command = command.mut_subcommand(task, |task| task.subcommand(subcommand));
        definition = Some(declared.definition);
        experiments.push(declared.experiment);
    }
    let arguments = with_defaults(&command, words.to_vec())?;
    let matches = command
        .try_get_matches_from_mut(arguments)
        .unwrap_or_else(|error| refuse(error, command.clone()));
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    ensure!(!cli.licences, "--licences is used without a command: bytelab --licences");
    let of_task = TASKS.iter().find_map(|task| matches.subcommand_matches(task));
    let Some(of_task) = of_task else { return Ok(cli) };
    let Some((name, matches)) = of_task.subcommand() else { return Ok(cli) };
    let experiment = match &typed {
        Some(_) => experiments.last(),
        None => experiments.iter().find(|experiment| experiment.name == name),
    };
    let experiment = experiment.with_context(|| format!("there is no experiment {name}"))?;
    let is_check = matches!(cli.task, CliCommand::Check(_));
    if is_check {
        ensure_only_behind(of_task, name)?;
        ensure_fixed_design(matches)?;
    }
    let points = points(experiment, matches)?;
    let measuring = MeasureArgs::from_arg_matches(matches)?;
    let request = measuring.request(experiment.name, points, definition);
    match &mut cli.task {
        CliCommand::Run(run) => {
            let shown = ProgressArgs::from_arg_matches(matches)?.shown();
            run.replace(RunArgs::Experiment {
                request: RunRequest { shown, ..request },
                output: OutputArgs::from_arg_matches(matches)?,
                dry_run: matches.get_flag("dry_run"),
            })?;
        }
        CliCommand::Check(check) => {
            check.against = Some((AgainstArgs::from_arg_matches(matches)?, request));
        }
        _ => {}
    }
    Ok(cli)
}

/// The subcommands that take an experiment or a file.
const TASKS: [&str; 2] = ["run", "check"];

/// The subcommand that takes an experiment, and what it names.
fn named(command: &Command, words: &[OsString]) -> Option<(&'static str, String)> {
    let open = TASKS.iter().fold(command.clone(), |command, task| {
        command.mut_subcommand(task, |task| task.allow_external_subcommands(true))
    });
    // Errors and requests for help are handled later, when all flags are known.
    let matches = open.try_get_matches_from(words).ok()?;
    let of_task = |task: &&'static str| {
        let (name, _) = matches.subcommand_matches(task)?.subcommand()?;
        Some((*task, name.to_owned()))
    };
    TASKS.iter().find_map(of_task)
}

/// The published study that `run` names instead of an experiment.
fn study_named(named: Option<&(&str, String)>) -> Result<Option<&'static Study>> {
    let Some((task, typed)) = named else { return Ok(None) };
    let Some(name) = typed.strip_prefix(published::PREFIX) else { return Ok(None) };
    let names: Vec<&str> = published::studies().iter().map(|study| &*study.name).collect();
    let names = names.join(", ");
    ensure!(
        *task == "run",
        "{typed}: `bytelab run {typed}` measures it; a check takes an experiment"
    );
    let study = published::study(name);
    Ok(Some(study.with_context(|| format!("{typed}: no such study; there are {names}"))?))
}

/// The command line with a study in place of an experiment: a request for each of its parts.
fn parse_study(
    command: &Command,
    words: &[OsString],
    study: &'static Study,
    known: &[Experiment],
) -> Result<Cli> {
    let (mut parts, mut left_out, mut last) = (Vec::new(), Vec::new(), None);
    let mut names_methods = false;
    for part in &study.parts {
        let experiment = experiments::find(known, &part.experiment)?;
        let preset = preset(subcommand(experiment), study, part, known)?;
        let command = command.clone().mut_subcommand("run", |run| run.subcommand(preset));
        let arguments = with_defaults(&command, words.to_vec())?;
        let matches = command
            .clone()
            .try_get_matches_from(arguments)
            .unwrap_or_else(|error| refuse(error, command));
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let of_run = matches.subcommand_matches("run").and_then(ArgMatches::subcommand);
        let (_, own) = of_run.with_context(|| format!("{} is not named", study.name))?;
        let measuring = MeasureArgs::from_arg_matches(own)?;
        let shown = ProgressArgs::from_arg_matches(own)?.shown();
        match points(experiment, own) {
            Ok(points) => {
                let request = measuring.request(experiment.name, points, None);
                let request = RunRequest { shown, ..request };
                parts.extend(of_part(request, study, part, experiment));
            }
            // A job that only another part has.
            Err(why) => left_out.push(format!("{}: {why:#}", experiment.name)),
        }
        names_methods |= own.value_source("methods") == Some(ValueSource::CommandLine);
        let files = StudyFilesArgs::from_arg_matches(own)?;
        last = Some((cli, files, OutputArgs::from_arg_matches(own)?, own.get_flag("dry_run")));
    }
    ensure!(
        !names_methods || !parts.is_empty(),
        "{}: no part of it has a method that --method names",
        study.name
    );
    ensure!(left_out.is_empty() || !parts.is_empty(), "{}", left_out.join("; "));
    // The flags of all parts are the same.
    let last = last.with_context(|| format!("{} has no part", study.name))?;
    let (mut cli, files, output, dry_run) = last;
    if let CliCommand::Run(run) = &mut cli.task {
        let request = StudyRequest { study, parts, left_out, files };
        run.replace(RunArgs::Study { request, output, dry_run })?;
    }
    Ok(cli)
}

/// The experiment that a file declares, and its params as flags of the subcommand.
fn declared(task: &str, file: &str) -> Result<(Command, custom::LoadedExperiment)> {
    let path = &to_path(file);
    if file.contains(' ') && !is_toml(file) && !path.exists() {
        let quoted = shlex::try_quote(file).unwrap_or_default();
        match task {
            "check" => bail!("{file:?} is a command, and {}", gate_advice(file)),
            _ => bail!("{file:?} is a command: bytelab bench {quoted}"),
        }
    }
    if !path.exists()
        && let Some(near) = near_file(path)
    {
        bail!("{} does not exist; did you mean {}?", path.display(), near.display());
    }
    let is_check = task == "check";
    let mut declared = custom::load(path, &reserved_names()).or_else(|error| {
        // The programs of both sides are filled in when all arguments are known.
        let with =
            is_check.then(|| custom::load_with(path, &reserved_names(), custom::NO_PROGRAM).ok());
        with.flatten().ok_or(error)
    })?;
    let of_task: fn(&Experiment) -> Command = if is_check { check_subcommand } else { subcommand };
    let subcommand = of_task(&declared.experiment).name(file.to_owned());
    let mut defaults = std::mem::take(&mut declared.defaults);
    // The design of a check is fixed.
    defaults.retain(|(id, _)| {
        !is_check || !["rounds", "sessions", "min_sessions", "max_sessions", "time"].contains(id)
    });
    let subcommand = defaults.into_iter().fold(subcommand, |command, (id, value)| {
        command.mut_arg(id, |arg| arg.default_value(value))
    });
    Ok((subcommand, declared))
}

/// The experiment file in the folder of this path whose name was probably meant. The names are
/// compared without the ending, which all such files have.
fn near_file(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let stems: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
    let near = closest(path.file_stem()?.to_str()?, stems.iter().map(String::as_str))?;
    Some(path.with_file_name(format!("{near}.toml")))
}

fn is_toml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "toml")
}

/// Flags before the experiment belong to a check against a baseline.
fn ensure_only_behind(check: &ArgMatches, name: &str) -> Result<()> {
    let typed = |id: &&str| check.value_source(id) == Some(ValueSource::CommandLine);
    let ids: Vec<&str> = check.ids().map(clap::Id::as_str).collect();
    // The other ids are groups.
    let is_flag = |id: &&str| {
        !["store", "keep_env"].contains(id) && id.starts_with(|c: char| c.is_ascii_lowercase())
    };
    match ids.into_iter().filter(is_flag).find(typed) {
        Some(id) => bail!("--{}: write the options of `check {name}` after {name}", flag_name(id)),
        None => Ok(()),
    }
}

/// Flags of `run` that a check of two sides does not use.
const NO_CHOICE: [&str; 10] = [
    "time",
    "until_decided",
    "margin",
    "min_sessions",
    "max_sessions",
    "workers",
    "reference",
    "trace",
    "languages",
    "levels",
];

fn ensure_fixed_design(matches: &ArgMatches) -> Result<()> {
    let typed = |id: &&&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    match NO_CHOICE.iter().find(typed) {
        Some(id) => bail!(
            "--{}: not for check --against, which takes all rounds of both sides",
            flag_name(id)
        ),
        None => Ok(()),
    }
}

fn flag_name(id: &str) -> String {
    match id {
        "workers" => "worker".to_owned(),
        "languages" => "language".to_owned(),
        "levels" => "optimise".to_owned(),
        id => id.replace('_', "-"),
    }
}

/// The names that an experiment in a file and its params may not have.
fn reserved_names() -> ReservedNames<'static> {
    ReservedNames { experiments: experiments::names(), flags: reserved_flags }
}

fn reserved_flags() -> Vec<String> {
    let all = MeasureArgs::augment_args(OutputArgs::augment_args(Cli::command()));
    let all = ProgressArgs::augment_args(AgainstArgs::augment_args(all));
    let flags = all.get_arguments().flat_map(|arg| {
        let long = arg.get_long().map(str::to_owned);
        long.into_iter().chain([arg.get_id().to_string()])
    });
    let builtin = ["help", "version", "resume"].map(str::to_owned);
    flags.chain(builtin).collect()
}

/// The whole command line, with the params of these experiments as flags.
pub(crate) fn command(experiments: &[Experiment]) -> Command {
    let with = |of_task: fn(&Experiment) -> Command| {
        move |task: Command| {
            experiments.iter().fold(task, |task, experiment| task.subcommand(of_task(experiment)))
        }
    };
    Cli::command()
        .mut_subcommand("run", with(subcommand))
        .mut_subcommand("check", with(check_subcommand))
}

/// The design is fixed, except that it may be enlarged.
fn check_subcommand(experiment: &Experiment) -> Command {
    let command = Command::new(experiment.name)
        .next_help_heading("Params (a list `a,b` or a range `a..b` is a sweep)")
        .args(experiment.params.iter().map(flag))
        .next_help_heading("Check");
    let command = MeasureArgs::augment_args(AgainstArgs::augment_args(command));
    let command = NO_CHOICE.iter().fold(command, |c, id| c.mut_arg(id, |arg| arg.hide(true)));
    command
        .mut_arg("rounds", |arg| {
            let fixed = format!("Rounds of all sessions together [at least {}]", SESSIONS * ROUNDS);
            arg.default_value((SESSIONS * ROUNDS).to_string()).help(fixed).long_help(None::<&str>)
        })
        .mut_arg("sessions", |arg| {
            let fixed =
                format!("Sets of fresh processes that share the rounds [at least {SESSIONS}]");
            arg.default_value(SESSIONS.to_string()).help(fixed).long_help(None::<&str>)
        })
        .about(experiment.question)
        .long_about(format!("Old and new in the same rounds: {}", experiment.question))
}

fn subcommand(experiment: &Experiment) -> Command {
    let command = Command::new(experiment.name)
        .next_help_heading("Params (a list `a,b` or a range `a..b` is a sweep)")
        .args(experiment.params.iter().map(flag));
    let dry_run = Arg::new("dry_run")
        .long("dry-run")
        .action(ArgAction::SetTrue)
        .help_heading("Measuring")
        .help("Print what would be measured and how long that may take");
    let command = MeasureArgs::augment_args(command).arg(dry_run).next_help_heading("Output");
    // The doc comments of the flags' structs do not describe the experiment.
    ProgressArgs::augment_args(OutputArgs::augment_args(command))
        .about(experiment.question)
        .long_about(introduction(experiment))
}

/// The question and the examples: what a README has above its second title. An experiment in a file
/// has a text without titles.
fn introduction(experiment: &Experiment) -> String {
    let Experiment { name, readme, .. } = experiment;
    let above = readme.split("\n## ").next().unwrap_or_default();
    let Some((_, text)) = above.split_once("\n\n").filter(|_| readme.starts_with("# ")) else {
        return (*readme).to_owned();
    };
    format!(
        "{}\n\n`bytelab list {name}` describes its methods; `bytelab list {name} --readme` says \
         what is timed, and its known bias.",
        text.replace("**", "").trim()
    )
}

fn flag(param: &Param) -> Arg {
    let (value, range) = match param.kind {
        ParamKind::Bytes(min, max) => ("BYTES", format!(" [{} to {}]", bytes(min), bytes(max))),
        ParamKind::Count(min, max) => ("N", format!(" [{min} to {max}]")),
        ParamKind::Path => ("PATH", String::new()),
        ParamKind::Word(words) => ("WORD", format!(" [{}]", words.join(", "))),
    };
    let of_default = |text: &str| match text {
        "" => String::new(),
        text => format!(" [default: {text}]"),
    };
    let words = if matches!(param.kind, ParamKind::Word(_)) { range.as_str() } else { "" };
    let short = format!("{}{words}{}", param.help, of_default(&without_middle(param.default)));
    let long = format!("{}{range}{}", param.help, of_default(param.default));
    Arg::new(param.name).long(param.name).value_name(value).help(short).long_help(long)
}

/// The first two values of a long list, and the last one.
fn without_middle(list: &str) -> String {
    match list.split(',').collect::<Vec<_>>().as_slice() {
        [first, second, .., last] if list.len() > 40 => format!("{first},{second},…,{last}"),
        _ => list.to_owned(),
    }
}

/// More combinations of values would take days.
const POINTS_MAX: usize = 10_000;

/// All combinations of the values from the flags and the defaults.
fn points(experiment: &Experiment, matches: &ArgMatches) -> Result<Vec<Point>> {
    let mut axes: Vec<(&str, Vec<ParamValue>)> = Vec::new();
    for param in &experiment.params {
        let text = matches.get_one::<String>(param.name).map_or(param.default, String::as_str);
        if text.is_empty() && !matches.contains_id(param.name) {
            continue;
        }
        axes.push((param.name, param.parse(text)?));
    }
    experiment.combinations(&axes, POINTS_MAX).with_context(|| {
        let counts = axes.iter().filter(|(_, values)| values.len() > 1);
        let counts: Vec<_> =
            counts.map(|(name, values)| format!("{} of --{name}", values.len())).collect();
        format!("more than {POINTS_MAX} combinations of values: {}; give fewer", counts.join(", "))
    })
}

/// Prints the help, or what is wrong with the command line, and ends the process.
/// Wrong use of `cat` has exit status 1, as in POSIX.
#[expect(clippy::exit, reason = "as clap itself does")]
pub(crate) fn refuse(mut error: clap::Error, mut command: Command) -> ! {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let tips = tips(&error, &command, &as_text(&words));
    let shown = |tip: String| StyledStr::from(report::escape_controls(&tip).into_owned());
    let tips: Vec<StyledStr> = tips.into_iter().map(shown).collect();
    if !tips.is_empty() {
        // A flag that looks alike is none that does this.
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    if error.get(ContextKind::Usage).is_some() {
        command.build();
        let usage = usage(&mut command, &words);
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    // A reader that goes away has read what it wanted.
    let printed = print(&error);
    let is_lost = printed.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
    let known = command.ignore_errors(true).try_get_matches();
    let is_cat = known.is_ok_and(|matches| matches.subcommand_name() == Some("cat"));
    let wrong_use = if is_cat { 1 } else { 2 };
    std::process::exit(if error.use_stderr() { wrong_use } else { i32::from(is_lost) })
}

/// Words that other programs have for a subcommand, and what is looked for, with what to type.
const OTHER_WORDS: [(&[&str], &str); 2] = [
    (&["runs", "ls", "log", "logs"], "to list the stored runs: bytelab history"),
    (&["explain", "glossary", "legend"], "to read how a table is read: bytelab show --explain"),
];

/// Flags of a gate, by the subcommand that lacks them.
const OF_GATE: [(&str, &[&str]); 2] =
    [("check", &["--rev", "--build", "--against"]), ("bench", &["--fail", "--allow", "--against"])];

/// How the commands that are typed are checked.
fn gate_advice(command: &str) -> String {
    let command = shlex::try_quote(command).unwrap_or_default();
    format!(
        "check needs a file: bytelab bench {command} --toml > bench.toml; then, with another \
         checkout: bytelab check bench.toml --against ../main/bench.toml --allow wall=5%"
    )
}

/// Advice on a flag that the subcommand lacks, because it is one of a gate.
fn gate_tip(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let typed: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let (_, flags) = OF_GATE.iter().find(|(task, _)| typed.contains(task))?;
    let is_of_gate = match (error.kind(), error.get(ContextKind::InvalidArg)?) {
        (ErrorKind::UnknownArgument, ContextValue::String(wrong)) => {
            flags.contains(&wrong.as_str())
        }
        // Without a file, only a suite has an old side.
        (ErrorKind::MissingRequiredArgument, _) => {
            typed.contains(&"--against") && !typed.iter().any(|word| word.starts_with("--suite"))
        }
        _ => false,
    };
    let command = typed.iter().find(|word| word.contains(' ')).unwrap_or(&"./work big.txt");
    is_of_gate.then(|| gate_advice(command))
}

/// Advice on a flag of `export` that is the name of a format.
fn format_tip(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let ContextValue::String(wrong) = error.get(ContextKind::InvalidArg)? else { return None };
    let name = wrong.strip_prefix("--")?;
    let is_format = report::export::FORMATS.iter().any(|format| format.name == name);
    let is_export = words.iter().any(|word| word == "export");
    (is_format && is_export).then(|| format!("write it as a format: --format {name}"))
}

/// Advice on a word that is no subcommand, or on a flag of a gate or a format.
fn tips(error: &clap::Error, command: &Command, words: &[OsString]) -> Vec<String> {
    let tip = tip(error, command, words).or_else(|| gate_tip(error, words));
    let tip = tip.or_else(|| format_tip(error, words));
    let first = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    let is_wrong = error.kind() == ErrorKind::InvalidSubcommand;
    let other = OTHER_WORDS.iter().find(|(known, _)| is_wrong && known.contains(&first));
    match other {
        None => tip.into_iter().collect(),
        Some((_, other)) => {
            let as_command = tip.filter(|_| is_installed(first));
            std::iter::once((*other).to_owned()).chain(as_command).collect()
        }
    }
}

/// Advice on a word that is no subcommand: it may be a command, or an experiment in a file.
fn tip(error: &clap::Error, command: &Command, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let ContextValue::String(wrong) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let at = words.iter().position(|word| word == wrong.as_str())?;
    let (before, typed) = words.split_at(at);
    let task = before.iter().find_map(|word| command.find_subcommand(word));
    let has_near = error.get(ContextKind::SuggestedSubcommand).is_some();
    match task.map(Command::get_name) {
        None if is_toml(wrong) => {
            Some(format!("to measure an experiment in a file: bytelab run {wrong}"))
        }
        // A word that is nearly a subcommand was hardly meant as a command.
        None if has_near && !is_installed(wrong) => None,
        None => {
            let typed = typed.iter().filter_map(|word| word.to_str());
            let text = shlex::try_join(typed).ok()?;
            Some(if text.contains(' ') {
                let quoted = shlex::try_quote(&text).ok()?;
                format!("to measure a command, quote it: bytelab {quoted}")
            } else {
                format!("to measure a command: bytelab bench {text}")
            })
        }
        Some("check") if wrong.contains(' ') => Some(gate_advice(wrong)),
        Some(task) if TASKS.contains(&task) => Some(match near_file(Path::new(wrong)) {
            Some(near) => format!("there is a file {0}: bytelab {task} {0}", near.display()),
            None => "`bytelab list` shows the experiments; the name of a file ends with .toml"
                .to_owned(),
        }),
        Some(_) => None,
    }
}

/// The usage of the subcommand that these words name. That of an error shows the flags that were
/// typed as if they were required, and no others.
fn usage(command: &mut Command, words: &[OsString]) -> StyledStr {
    let named = words.iter().position(|word| command.find_subcommand(word).is_some());
    let Some(named) = named else { return command.render_usage() };
    let below = command.find_subcommand_mut(&words[named]);
    below.map_or_else(StyledStr::new, |below| usage(below, &words[named + 1..]))
}

/// Prints the error or the help. What was typed must not control the terminal: then nothing has a
/// colour.
fn print(error: &clap::Error) -> io::Result<()> {
    let mut typed = std::env::args_os().skip(1);
    if !error.use_stderr()
        || !typed.any(|word| word.to_str().is_none_or(|word| word.contains(char::is_control)))
    {
        return error.print();
    }
    let text = error.render().to_string();
    let lines: Vec<_> = text.lines().map(report::escape_controls).collect();
    writeln!(console::stderr(), "{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bench_is_parsed_without_the_other_subcommands_if_it_is_valid() {
        let parsed = |typed: &[&str]| {
            let words: Vec<OsString> =
                ["bytelab"].iter().chain(typed).map(OsString::from).collect();
            let Cli { global, licences, task } = bench(&words)?;
            assert!(matches!(task, CliCommand::Bench(_)) && !licences);
            Some((global.store, global.keep_env))
        };
        let store = Some(OsString::from("x"));
        for typed in [
            &["bench", "true", "--store", "x", "--keep-env", "A"][..],
            &["--store=x", "--keep-env", "A", "bench", "-r", "3", "--", "run", "reading"],
        ] {
            assert_eq!(parsed(typed), Some((store.clone(), vec!["A".to_owned()])), "{typed:?}");
        }
        assert!(parsed(&["gzip -c x", "--warmup", "2"]).is_some());
        for typed in [
            &["bench"][..],
            &["bench", "-h"],
            &["bench", "true", "--nosuch"],
            &["--licences", "bench", "true"],
            &["--store", "bench"],
            &["run", "bench"],
            &["true"],
        ] {
            assert_eq!(parsed(typed), None, "{typed:?}");
        }
    }
}
