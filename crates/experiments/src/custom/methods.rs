//! The methods of the file, and its commands.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use measure::experiment::{
    Answer, Command, Destination, Execution, ExitCodes, Hooks, LeftProcesses, Method,
    PrintedMetric, SHELL,
};
use model::param::Param;
use model::path_text::{from_path, to_path};
use model::run::OLD_SUFFIX;
use model::run::Role;
use model::template;

use super::file::{
    At, ExperimentFile, HookScript, HookTable, MethodTable, RoleWord, ShellWord, Words,
};
use super::location::Mistake;
use super::names::{self, FileOrigin, HERE, PROGRAM, Placeholders};

/// A longer name is a mistake.
const NAME_BYTES: usize = 4096;

/// `common`: the texts that are common to all of them.
pub(super) fn methods(
    file: &ExperimentFile,
    known: &Placeholders,
    params: &[Param],
    common: &[String],
    answer: &Answer,
    file_origin: &FileOrigin,
) -> Result<Vec<Method>, Mistake> {
    let mut methods: Vec<Method> = Vec::new();
    for table in &file.method {
        let At { value: name, span } = &table.name;
        check_name(name, span)?;
        if methods.iter().any(|method| method.name == *name) {
            return Err(Mistake::at(span, format!("there are two methods {name}")));
        }
        let execution = execution(file, table, known, answer, file_origin)?;
        let used = texts_of(table);
        let used: Vec<&str> =
            used.iter().chain(common).flat_map(|text| template::names(text)).collect();
        // A worker receives all params.
        let reads = |param: &&Param| table.worker.is_some() || used.contains(&param.name);
        let execution = hooked(execution, file, table, known, file_origin)?;
        methods.push(Method {
            reads: params.iter().filter(reads).map(|param| param.name).collect(),
            role: match table.role {
                RoleWord::Contender => Role::Contender,
                RoleWord::Yardstick => Role::Yardstick,
            },
            default: table.default,
            ..Method::contender(name, about(table), execution)
        });
    }
    if !methods.iter().any(|method| method.role == Role::Contender) {
        return Err(Mistake::at(&(0..0), "there is no [[method]] that competes"));
    }
    Ok(methods)
}

/// A name must fit into one line of a table; the old side of a check is named by it as well.
fn check_name(name: &str, span: &Range<usize>) -> Result<(), Mistake> {
    let is_line = !name.contains(char::is_control) && name.trim() == name && !name.is_empty();
    if is_line && name.len() <= NAME_BYTES && !name.ends_with(OLD_SUFFIX) {
        return Ok(());
    }
    let text =
        format!("a name is a line of at most {NAME_BYTES} bytes that does not end in {OLD_SUFFIX}");
    Err(Mistake::at(span, text))
}

fn about(table: &MethodTable) -> String {
    let command = table.command.as_ref().or(table.worker.as_ref()).map(|words| &words.value);
    match command {
        Some(_) if !table.about.is_empty() => table.about.clone(),
        Some(Words::Text(text)) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Some(Words::List(words)) => words.join(" "),
        None => String::new(),
    }
}

fn execution(
    file: &ExperimentFile,
    table: &MethodTable,
    known: &Placeholders,
    answer: &Answer,
    file_origin: &FileOrigin,
) -> Result<Execution, Mistake> {
    let named = &known.of_method;
    match (&table.command, &table.worker) {
        (Some(words), None) => {
            let command = command(words, &table.shell, named, file_origin)?;
            if let Some(input) = &table.input {
                names::check(&input.value, named, &input.span)?;
            }
            Ok(Execution::Command(Command {
                input: table.input.as_ref().map(|input| input.value.clone()),
                output: output(table.output.as_ref(), answer, named)?,
                answer: answer.clone(),
                accepts: accepts(table)?,
                copies: copies(file, table, answer)?,
                metrics: printed(file, table)?,
                env: env([&file.env, &table.env], named)?,
                leaves: leaves(file, table, answer)?,
                ..command
            }))
        }
        (None, Some(words)) => {
            if let Some((key, span)) = only_of_command(table, &words.span) {
                let text = format!("{key} is for a command, not for a worker");
                return Err(Mistake::at(&span, text));
            }
            let mut point = model::param::Point::default();
            point.set(HERE, file_origin.here.as_str());
            if let Some(program) = &file_origin.program {
                point.set(PROGRAM, program.as_str());
            }
            let named: Vec<&str> = point.iter().map(|(name, _)| name).collect();
            let Command { argv, .. } = command(words, &ShellWord::default(), &named, file_origin)?;
            let fill = |word: &String| template::fill(word, &point, str::to_owned);
            Ok(Execution::Worker { argv: argv.iter().map(fill).collect() })
        }
        (Some(_), Some(words)) => {
            Err(Mistake::at(&words.span, "a method is a command or a worker"))
        }
        (None, None) => {
            Err(Mistake::at(&table.name.span, "it needs a command = \"…\" or a worker = \"…\""))
        }
    }
}

/// A key that a worker cannot have.
fn only_of_command(
    table: &MethodTable,
    of_worker: &Range<usize>,
) -> Option<(&'static str, Range<usize>)> {
    let span = |value: &Option<At<String>>| value.as_ref().map(|value| value.span.clone());
    let given = |is_given: bool| is_given.then(|| of_worker.clone());
    let keys = [
        ("input", span(&table.input)),
        ("output", span(&table.output)),
        ("shell", given(table.shell != ShellWord::default())),
        ("env", table.env.values().next().map(|value| value.span.clone())),
        ("exit_codes", table.exit_codes.as_ref().map(|codes| codes.span.clone())),
        ("copies", table.copies.as_ref().map(|copies| copies.span.clone())),
        ("ignore_failure", given(table.ignore_failure)),
        ("wait_for_all", given(table.wait_for_all)),
        ("keep_running", given(table.keep_running)),
    ];
    keys.into_iter().find_map(|(key, span)| Some((key, span?)))
}

fn output(
    given: Option<&At<String>>,
    answer: &Answer,
    known: &[&'static str],
) -> Result<Destination, Mistake> {
    let Some(At { value, span }) = given else { return Ok(Destination::Nowhere) };
    if *answer == Answer::Output {
        return Err(Mistake::at(span, "with from = \"stdout\" its output is its answer"));
    }
    names::check(value, known, span)?;
    Ok(match value.as_str() {
        "null" => Destination::Nowhere,
        "pipe" => Destination::Pipe,
        "inherit" => Destination::Shown,
        "" => return Err(Mistake::at(span, "name a file, null, pipe or inherit")),
        path => Destination::File(path.to_owned()),
    })
}

fn leaves(
    file: &ExperimentFile,
    table: &MethodTable,
    answer: &Answer,
) -> Result<LeftProcesses, Mistake> {
    let is_read = *answer != Answer::None || !file.metrics.is_empty();
    let goes_elsewhere = table.output.as_ref().is_some_and(|output| output.value == "pipe");
    match (table.wait_for_all, table.keep_running) {
        (false, false) => Ok(LeftProcesses::Ended),
        (true, false) => Ok(LeftProcesses::WaitedFor),
        (false, true) if is_read || goes_elsewhere => {
            let text = "with keep_running its output can only be discarded";
            Err(Mistake::at(&table.name.span, text))
        }
        (false, true) => Ok(LeftProcesses::Kept),
        (true, true) => {
            let text = "it has wait_for_all or keep_running, not both";
            Err(Mistake::at(&table.name.span, text))
        }
    }
}

/// More copies than these are a mistake.
const MOST_COPIES: u32 = 1024;

fn copies(file: &ExperimentFile, table: &MethodTable, answer: &Answer) -> Result<u32, Mistake> {
    let Some(At { value, span }) = &table.copies else { return Ok(1) };
    if !(1..=MOST_COPIES).contains(value) {
        return Err(Mistake::at(span, format!("{value}: allowed are 1 to {MOST_COPIES}")));
    }
    let is_read = *answer != Answer::None || !file.metrics.is_empty();
    let goes_elsewhere = table.output.as_ref().is_some_and(|output| output.value != "null");
    if *value > 1 && (is_read || goes_elsewhere) {
        return Err(Mistake::at(span, "the output of several copies can only be discarded"));
    }
    Ok(*value)
}

/// The metrics that a command prints.
fn printed(file: &ExperimentFile, table: &MethodTable) -> Result<Vec<PrintedMetric>, Mistake> {
    let elsewhere = table.output.as_ref().filter(|output| output.value != "null");
    if let (Some(output), false) = (elsewhere, file.metrics.is_empty()) {
        return Err(Mistake::at(&output.span, "the [metrics] are read from its output"));
    }
    let metrics = file.metrics.iter();
    let wrong = |span: &Range<usize>, error| Mistake::at(span, format!("{error:#}"));
    metrics
        .map(|(name, At { value, span })| {
            PrintedMetric::new(name, value).map_err(|error| wrong(span, error))
        })
        .collect()
}

fn accepts(table: &MethodTable) -> Result<ExitCodes, Mistake> {
    match (&table.exit_codes, table.ignore_failure) {
        (None, false) => Ok(ExitCodes::Zero),
        (None, true) => Ok(ExitCodes::All),
        (Some(codes), true) => Err(Mistake::at(&codes.span, "ignore_failure accepts all codes")),
        (Some(codes), false) if codes.value.is_empty() => {
            Err(Mistake::at(&codes.span, "name the exit codes of a success, such as [0, 1]"))
        }
        (Some(codes), false) => Ok(ExitCodes::These(codes.value.clone())),
    }
}

/// The variables of the first tables, unless later ones have others of the same names.
pub(super) fn env(
    tables: [&BTreeMap<String, At<String>>; 2],
    known: &[&'static str],
) -> Result<Vec<(String, String)>, Mistake> {
    let mut all = BTreeMap::new();
    for (name, At { value, span }) in tables.into_iter().flatten() {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Mistake::at(
                span,
                format!("{name:?} cannot be a variable with this value"),
            ));
        }
        names::check(value, known, span)?;
        all.insert(name.clone(), value.clone());
    }
    Ok(all.into_iter().collect())
}

fn hooked(
    execution: Execution,
    file: &ExperimentFile,
    table: &MethodTable,
    known: &Placeholders,
    file_origin: &FileOrigin,
) -> Result<Execution, Mistake> {
    let env = env([&file.env, &table.env], &known.of_hook)?;
    let command = |own: &Option<At<HookScript>>, of_all: &Option<At<HookScript>>| {
        let given = own.as_ref().or(of_all.as_ref());
        given.map(|given| hook(given, &env, &known.of_hook, file_origin)).transpose()
    };
    let hooks = Hooks {
        setup: command(&table.setup, &None)?,
        prepare: command(&table.prepare, &file.hooks.prepare)?,
        conclude: command(&table.conclude, &file.hooks.conclude)?,
    };
    if hooks == Hooks::default() {
        return Ok(execution);
    }
    Ok(Execution::Hooked { execution: Box::new(execution), hooks })
}

pub(super) fn hook(
    given: &At<HookScript>,
    env: &[(String, String)],
    known: &[&'static str],
    file_origin: &FileOrigin,
) -> Result<Command, Mistake> {
    let (value, shell) = match &given.value {
        HookScript::Plain(words) => (words.clone(), ShellWord::default()),
        HookScript::Table(HookTable { command, shell }) => (command.clone(), shell.clone()),
    };
    let command = command(&At { value, span: given.span.clone() }, &shell, known, file_origin)?;
    Ok(Command { env: env.to_vec(), ..command })
}

fn command(
    words: &At<Words>,
    shell: &ShellWord,
    known: &[&str],
    file_origin: &FileOrigin,
) -> Result<Command, Mistake> {
    let At { value, span } = words;
    let shell = shell_words(shell, span)?;
    let argv = match value {
        Words::Text(text) if shell.is_some() => vec![text.clone()],
        Words::List(_) if shell.is_some() => {
            return Err(Mistake::at(span, "with shell = true the command is one string"));
        }
        Words::Text(text) => shlex::split(text)
            .ok_or_else(|| Mistake::at(span, "a quote is not closed (no shell is used)"))?,
        Words::List(words) => words.clone(),
    };
    if argv.first().is_none_or(|first| first.trim().is_empty()) {
        return Err(Mistake::at(span, "the command is empty"));
    }
    for word in &argv {
        names::check(word, known, span)?;
    }
    if shell.is_none() {
        forbid_shell_words(value, span)?;
    }
    let argv = if shell.is_some() { argv } else { from_here(argv, &file_origin.dir) };
    Ok(Command { argv, shell, ..Command::default() })
}

fn shell_words(shell: &ShellWord, span: &Range<usize>) -> Result<Option<Vec<String>>, Mistake> {
    match shell {
        ShellWord::Default(false) => Ok(None),
        ShellWord::Default(true) => Ok(Some(vec![SHELL.to_owned()])),
        ShellWord::Named(text) => match shlex::split(text).filter(|words| !words.is_empty()) {
            Some(words) => Ok(Some(words)),
            None => Err(Mistake::at(span, format!("{text:?} is not the command of a shell"))),
        },
    }
}

/// Without a shell these would be plain words, which a user who writes them in one string does not
/// intend.
fn forbid_shell_words(value: &Words, span: &Range<usize>) -> Result<(), Mistake> {
    let Words::Text(text) = value else { return Ok(()) };
    let word = text
        .split_whitespace()
        .find(|word| ["|", "||", "&&", ">", ">>", "<", ";", "2>&1", "&"].contains(word));
    match word {
        Some(word) => {
            let text = format!(
                "{word} needs shell = true; as a plain word it is meant in a list of words only"
            );
            Err(Mistake::at(span, text))
        }
        None => Ok(()),
    }
}

/// A program with a relative path is resolved against the folder of the file.
fn from_here(mut argv: Vec<String>, dir: &Path) -> Vec<String> {
    if let Some(first) = argv.first_mut()
        && first.contains('/')
        && !first.starts_with(['/', '{'])
    {
        *first = from_path(&dir.join(to_path(first))).into_owned();
    }
    argv
}

fn texts_of(table: &MethodTable) -> Vec<String> {
    let command = table.command.iter().flat_map(|words| words_of(&words.value));
    let hooks = [&table.setup, &table.prepare, &table.conclude];
    let hooks = hooks.into_iter().flatten().flat_map(|hook| texts(&hook.value));
    let values = table.input.iter().chain(&table.output).chain(table.env.values());
    command.chain(hooks).chain(values.map(|value| value.value.clone())).collect()
}

/// All texts of a hook.
pub(super) fn texts(hook: &HookScript) -> Vec<String> {
    match hook {
        HookScript::Plain(words) => words_of(words),
        HookScript::Table(table) => words_of(&table.command),
    }
}

fn words_of(words: &Words) -> Vec<String> {
    match words {
        Words::Text(text) => vec![text.clone()],
        Words::List(words) => words.clone(),
    }
}
