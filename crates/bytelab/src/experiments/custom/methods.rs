//! The methods of the file, and its commands.

use std::ops::Range;
use std::path::Path;

use lab::experiment::{Answer, Command, Hooks, How, Method};
use lab::param::Param;
use lab::run::Role;
use lab::template;

use super::file::{At, File, Hook, HookTable, MethodTable, RoleWord, Words};
use super::names::{self, HERE, PROGRAM, Placeholders};
use super::origin::FileOrigin;
use super::place::Mistake;

/// `common`: the texts that are common to all of them.
pub(super) fn methods(
    file: &File,
    known: &Placeholders,
    params: &[Param],
    common: &[String],
    answer: &Answer,
    place: &FileOrigin,
) -> Result<Vec<Method>, Mistake> {
    let mut methods: Vec<Method> = Vec::new();
    for table in &file.method {
        let At { value: name, span } = &table.name;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            let text = format!("{name:?}: a name is made of letters, digits, -, _ and .");
            return Err(Mistake::at(span, text));
        }
        if methods.iter().any(|method| method.name == *name) {
            return Err(Mistake::at(span, format!("there are two methods {name}")));
        }
        let how = how(table, known, answer, place)?;
        let used = texts_of(table);
        let used: Vec<&str> =
            used.iter().chain(common).flat_map(|text| template::names(text)).collect();
        // A worker receives all params.
        let reads = |param: &&Param| table.worker.is_some() || used.contains(&param.name);
        let how = hooked(how, file, table, known, place)?;
        methods.push(Method {
            reads: params.iter().filter(reads).map(|param| param.name).collect(),
            role: match table.role {
                RoleWord::Contender => Role::Contender,
                RoleWord::Yardstick => Role::Yardstick,
            },
            default: table.default,
            ..Method::contender(name, about(table), how)
        });
    }
    if !methods.iter().any(|method| method.role == Role::Contender) {
        return Err(Mistake::at(&(0..0), "there is no [[method]] that competes"));
    }
    Ok(methods)
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

fn how(
    table: &MethodTable,
    known: &Placeholders,
    answer: &Answer,
    place: &FileOrigin,
) -> Result<How, Mistake> {
    let named = &known.of_method;
    match (&table.command, &table.worker) {
        (Some(words), None) => {
            let mut command = command(words, table.shell, named, place)?;
            if let Some(input) = &table.input {
                names::check(&input.value, named, &input.span)?;
                command.input = Some(input.value.clone());
            }
            command.answer = answer.clone();
            Ok(How::Command(command))
        }
        (None, Some(words)) => {
            let given = table.input.as_ref().map(|input| &input.span);
            if let Some(span) = given.or(table.shell.then_some(&words.span)) {
                return Err(Mistake::at(
                    span,
                    "input and shell are for a command, not for a worker",
                ));
            }
            let mut point = lab::param::Point::default();
            point.set(HERE, place.here.as_str());
            if let Some(program) = &place.program {
                point.set(PROGRAM, program.as_str());
            }
            let named: Vec<&str> = point.iter().map(|(name, _)| name).collect();
            let Command { argv, .. } = command(words, false, &named, place)?;
            let fill = |word: &String| template::fill(word, &point, str::to_owned);
            Ok(How::Worker { argv: argv.iter().map(fill).collect() })
        }
        (Some(_), Some(words)) => {
            Err(Mistake::at(&words.span, "a method is a command or a worker"))
        }
        (None, None) => {
            Err(Mistake::at(&table.name.span, "it needs a command = \"…\" or a worker = \"…\""))
        }
    }
}

fn hooked(
    how: How,
    file: &File,
    table: &MethodTable,
    known: &Placeholders,
    place: &FileOrigin,
) -> Result<How, Mistake> {
    let command = |given: &Option<At<Hook>>| {
        given.as_ref().map(|given| hook(given, &known.of_hook, place)).transpose()
    };
    let hooks = Hooks { setup: command(&table.setup)?, prepare: command(&file.hooks.prepare)? };
    if hooks == Hooks::default() {
        return Ok(how);
    }
    Ok(How::Hooked { how: Box::new(how), hooks })
}

pub(super) fn hook(
    given: &At<Hook>,
    known: &[&'static str],
    place: &FileOrigin,
) -> Result<Command, Mistake> {
    let (value, shell) = match &given.value {
        Hook::Plain(words) => (words.clone(), false),
        Hook::Table(HookTable { command, shell }) => (command.clone(), *shell),
    };
    command(&At { value, span: given.span.clone() }, shell, known, place)
}

fn command(
    words: &At<Words>,
    shell: bool,
    known: &[&str],
    place: &FileOrigin,
) -> Result<Command, Mistake> {
    let At { value, span } = words;
    let argv = match value {
        Words::Text(text) if shell => vec![text.clone()],
        Words::List(_) if shell => {
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
    if !shell {
        forbid_shell_words(value, span)?;
    }
    let argv = if shell { argv } else { from_here(argv, &place.dir) };
    Ok(Command { argv, shell, ..Command::default() })
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
        && let Some(path) = dir.join(&*first).to_str()
    {
        path.clone_into(first);
    }
    argv
}

fn texts_of(table: &MethodTable) -> Vec<String> {
    let command = table.command.iter().flat_map(|words| words_of(&words.value));
    let setup = table.setup.iter().flat_map(|hook| texts(&hook.value));
    command.chain(setup).chain(table.input.iter().map(|input| input.value.clone())).collect()
}

/// All texts of a hook.
pub(super) fn texts(hook: &Hook) -> Vec<String> {
    match hook {
        Hook::Plain(words) => words_of(words),
        Hook::Table(table) => words_of(&table.command),
    }
}

fn words_of(words: &Words) -> Vec<String> {
    match words {
        Words::Text(text) => vec![text.clone()],
        Words::List(words) => words.clone(),
    }
}
