//! Converts the typed texts into methods: parameters are replaced by their values, and each text
//! becomes words or a script.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use experiments::custom::file::{At, HookScript, HookTable, MethodTable, ShellWord, Words};
use model::template::escape;

use super::args::{BenchArgs, Failures};
use super::input::path_of;
use super::parameters::{Parameter, ParameterValues, combinations, has, substitute};
use super::programs::{REV, Revision, TREE, of_worktree};
use crate::commands::note;

/// The commands that are measured, and their hooks.
pub(super) struct Commands {
    pub(super) methods: Vec<BenchMethod>,
    /// Variables of all commands and hooks.
    pub(super) env: BTreeMap<String, At<String>>,
    pub(super) setup: Option<At<HookScript>>,
    pub(super) cleanup: Option<At<HookScript>>,
    /// The names of the commands that a shell runs, unless one was named, each with its reason.
    for_shell: Vec<(String, String)>,
}

/// A command with its hooks, its streams and its environment.
pub(super) struct BenchMethod {
    /// As it is in the file: names in braces are escaped.
    pub(super) table: MethodTable,
    /// No key of the file: its worktree is removed after the run.
    pub(super) revision: Option<AtRevision>,
}

/// The revision whose program a command runs.
pub(super) struct AtRevision {
    pub(super) index: usize,
    /// The command as it was typed, without the name of the revision.
    pub(super) command: String,
}

impl Commands {
    /// `input`: the file that is their standard input.
    pub(super) fn new(
        args: &BenchArgs,
        input: Option<&str>,
        revisions: &[Revision],
    ) -> Result<Commands> {
        let around = &args.commands_around;
        let shell = match &around.shell {
            _ if around.no_shell => Shell::Never,
            Some(named) => Shell::named(named),
            None => Shell::IfNeeded,
        };
        let parameters = parameters(args)?;
        let all = of_revisions(combinations(&parameters)?, revisions)?;
        let mut typed = command_lines(args)?;
        for one in &mut typed {
            one.of_revision = !revisions.is_empty();
        }
        for Parameter { name, .. } in &parameters {
            ensure!(
                is_used(args, name),
                "{{{name}}} is not in any command: the parameter changes nothing"
            );
        }
        let own = if revisions.is_empty() { &[][..] } else { &[REV, TREE] };
        let names = || parameters.iter().map(|one| one.name.as_str()).chain(own.iter().copied());
        let has_parameter = |text: &str| names().any(|name| has(text, name));
        let (own_env, env) =
            around.env.iter().cloned().partition(|(_, value): &(_, String)| has_parameter(value));
        let mut builder = MethodBuilder {
            shell: &shell,
            args,
            input: input.map(escape),
            env: own_env,
            revisions,
            is_one_command: typed.len() == 1,
            methods: Vec::new(),
            names: HashSet::new(),
            names_at: vec![HashSet::new(); revisions.len()],
            for_shell: Vec::new(),
        };
        ensure!(
            revisions.is_empty() || typed.iter().any(|one| builder.has(one, REV)),
            "--rev: no command has a program with a relative path, or {{tree}} or {{rev}}: \
             write {}",
            typed.first().map_or_else(String::new, with_tree)
        );
        let mut known = HashSet::new();
        for values in &all {
            for (i, one) in typed.iter().enumerate() {
                // A command is the same for all values of the parameters that it does not have.
                let own = values.iter().filter(|(name, _)| builder.has(one, name)).copied();
                let own: ParameterValues<'_> = own.collect();
                if known.insert((i, own.clone())) {
                    builder.add(one, &own)?;
                }
            }
        }
        let once = |flag, text: &Option<String>| once(flag, text.as_deref(), &all, &shell);
        let env = env.into_iter().map(|(name, value): (String, String)| (name, escape(&value)));
        Ok(Commands {
            env: unique("--env", env)?,
            setup: once("--setup", &around.setup)?,
            cleanup: once("--cleanup", &around.cleanup)?,
            methods: builder.methods,
            for_shell: builder.for_shell,
        })
    }

    /// Says for which commands a shell is started although none was named.
    pub(super) fn note_shell(&self) -> io::Result<()> {
        let Some((name, reason)) = self.for_shell.first() else { return Ok(()) };
        let more = match self.for_shell.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        note(&format!(
            "/bin/sh runs {name}{more}, because {reason} needs a shell; the start of the shell \
             is part of the time"
        ))
    }
}

/// How to write the command with a file of a revision: the first word that is a file here, if there
/// is one, or else the last word.
fn with_tree(typed: &CommandLine<'_>) -> String {
    let text = match typed.command {
        CommandText::Whole(text) => text.to_owned(),
        CommandText::Words(words) => words.join(" "),
    };
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let is_file = |word: &String| !word.starts_with(['-', '/']) && Path::new(word).is_file();
    let at = words.iter().position(is_file).or(words.len().checked_sub(1));
    if at == Some(0) {
        let below = format!("./{}", text.trim_start());
        return format!("{below:?}");
    }
    if let Some(word) = at.and_then(|at| words.get_mut(at)) {
        *word = format!("{{{TREE}}}/{}", word.trim_start_matches("./"));
    }
    format!("{{{TREE}}} for the folder of a revision, as in {:?}", words.join(" "))
}

struct MethodBuilder<'a> {
    args: &'a BenchArgs,
    shell: &'a Shell,
    input: Option<String>,
    env: Vec<(String, String)>,
    revisions: &'a [Revision],
    /// Whether it goes without saying which command it is.
    is_one_command: bool,
    methods: Vec<BenchMethod>,
    names: HashSet<String>,
    /// The names that the methods of each revision would have if it were the only one.
    names_at: Vec<HashSet<String>>,
    for_shell: Vec<(String, String)>,
}

impl MethodBuilder<'_> {
    fn add(&mut self, typed: &CommandLine<'_>, values: &ParameterValues<'_>) -> Result<()> {
        // Where a worktree is does not matter to a reader.
        let shown: ParameterValues<'_> = values
            .iter()
            .filter(|(name, _)| !typed.of_revision || *name != TREE)
            .copied()
            .collect();
        let text = typed.text(&shown)?;
        let command = self.command(typed, values)?;
        let hook = |flag: &str, text: Option<&str>| {
            let hook = |text: &str| script(&substitute(text, values), self.shell).map(hook_of);
            text.map(hook).transpose().with_context(|| flag.to_owned())
        };
        let revision = self.revision(typed, &shown)?;
        let name = self.name(typed, revision.as_ref(), &shown, &text);
        if let (Shell::IfNeeded, Words::Text(_)) = (self.shell, &command.command) {
            self.for_shell.push((name.clone(), needs_shell_for(&text).unwrap_or_default()));
        }
        let around = &self.args.commands_around;
        let HookTable { command, shell } = escaped(command);
        let args = self.args;
        let output = |text: &str| output_of(args, text, values).map(|text| At::new(escape(&text)));
        let env = self.env.iter();
        let env = env.map(|(name, text)| (name.clone(), escape(&substitute(text, values))));
        let parameters = shown.iter().map(|(name, text)| (line_of(name), (*text).to_owned()));
        let table = MethodTable {
            name: At::new(name),
            command: Some(At::new(command)),
            shell,
            prepare: hook("--prepare", typed.prepare)?,
            conclude: hook("--conclude", typed.conclude)?,
            input: self.input.clone().map(At::new),
            output: typed.output.map(output).transpose()?,
            copies: self.args.runs.parallel.map(At::new),
            wait_for_all: around.wait_for_all,
            keep_running: around.keep_running,
            ignore_failure: matches!(around.ignore_failure, Some(Failures::All)),
            exit_codes: match &around.ignore_failure {
                Some(Failures::Codes(codes)) => Some(At::new(codes.clone())),
                Some(Failures::All) | None => None,
            },
            default: true,
            env: unique("--env", env)?,
            parameters: parameters.collect(),
            ..MethodTable::default()
        };
        self.methods.push(BenchMethod { table, revision });
        Ok(())
    }

    /// Whether the parameter changes what is done.
    fn has(&self, typed: &CommandLine<'_>, parameter: &str) -> bool {
        let CommandLine { command, prepare, conclude, output, .. } = typed;
        if typed.of_revision && parameter == REV && self.has(typed, TREE) {
            return true;
        }
        if typed.of_revision && parameter == TREE && typed.has_own_program() {
            return true;
        }
        let words = match command {
            CommandText::Whole(text) => has(text, parameter),
            CommandText::Words(words) => words.iter().any(|word| has(word, parameter)),
        };
        let mut around = [prepare, conclude, output].into_iter().flatten();
        words
            || around.any(|text| has(text, parameter))
            || self.env.iter().any(|(_, text)| has(text, parameter))
    }

    fn command(&self, typed: &CommandLine<'_>, values: &ParameterValues<'_>) -> Result<HookTable> {
        match typed.command {
            CommandText::Whole(text) => {
                let own = substitute(&typed.in_worktree(text), values);
                script(&own, self.shell).with_context(|| format!("{own:?}"))
            }
            CommandText::Words(words) => {
                let mut own: Vec<String> =
                    words.iter().map(|word| substitute(word, values)).collect();
                ensure!(!own[0].trim().is_empty(), "the command after -- is empty");
                own[0] = substitute(&typed.in_worktree(&words[0]), values);
                Ok(HookTable { command: Words::List(own), shell: ShellWord::default() })
            }
        }
    }

    /// The revision that these values name, and the name that the method would have without it.
    fn revision(
        &mut self,
        typed: &CommandLine<'_>,
        shown: &ParameterValues<'_>,
    ) -> Result<Option<AtRevision>> {
        let is_of = |revision: &Revision| shown.contains(&(REV, revision.measured.name.as_str()));
        let Some(index) = self.revisions.iter().position(is_of) else { return Ok(None) };
        let others = without_revision(shown);
        let name = match typed.name {
            Some(name) => substitute(name, &others),
            None => typed.text(&others)?,
        };
        let command = unused(&mut self.names_at[index], &name, &others);
        Ok(Some(AtRevision { index, command }))
    }

    /// A name that no other method has: the one that was given, else the revision and the command.
    /// Each revision is named, the first as well.
    fn name(
        &mut self,
        typed: &CommandLine<'_>,
        revision: Option<&AtRevision>,
        shown: &ParameterValues<'_>,
        text: &str,
    ) -> String {
        let others = match revision {
            Some(_) => without_revision(shown),
            None => shown.clone(),
        };
        let given = || typed.name.map_or_else(|| text.to_owned(), |name| substitute(name, shown));
        let name = match revision {
            None => given(),
            Some(_) if typed.name.is_some_and(|name| has(name, REV)) => given(),
            Some(AtRevision { index, command }) => {
                let label = self.revisions[*index].measured.label();
                match typed.name {
                    None if self.is_one_command && others.is_empty() => label,
                    None if self.is_one_command => format!("{label} ({})", pairs(&others)),
                    _ => format!("{label} {command}"),
                }
            }
        };
        unused(&mut self.names, &name, &others)
    }
}

/// The name, with what distinguishes it from others of the same name.
fn unused(names: &mut HashSet<String>, name: &str, values: &ParameterValues<'_>) -> String {
    let name = line_of(name);
    let with_values = line_of(&format!("{name} ({})", pairs(values)));
    let candidates = std::iter::once(name.clone());
    let candidates = candidates.chain((!values.is_empty()).then_some(with_values));
    let mut candidates = candidates.chain((2..).map(|n| format!("{name} #{n}")));
    candidates.find(|name| names.insert(name.clone())).unwrap_or(name)
}

/// The values that are not those of a revision.
fn without_revision<'a>(values: &ParameterValues<'a>) -> ParameterValues<'a> {
    values.iter().filter(|(name, _)| *name != REV).copied().collect()
}

fn pairs(values: &ParameterValues<'_>) -> String {
    let pairs: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(" ")
}

/// Each combination of values at each revision, whose name and folder are two more parameters.
fn of_revisions<'a>(
    all: Vec<ParameterValues<'a>>,
    revisions: &'a [Revision],
) -> Result<Vec<ParameterValues<'a>>> {
    if revisions.is_empty() {
        return Ok(all);
    }
    let is_own = |(name, _): &(&str, &str)| [REV, TREE].contains(name);
    ensure!(!all.iter().flatten().any(is_own), "--rev gives the parameters {REV} and {TREE}");
    let at = |values: ParameterValues<'a>| {
        revisions.iter().map(move |Revision { measured, tree }| {
            let own = [(REV, measured.name.as_str()), (TREE, tree.as_str())];
            values.iter().copied().chain(own).collect()
        })
    };
    Ok(all.into_iter().flat_map(at).collect())
}

fn parameters(args: &BenchArgs) -> Result<Vec<Parameter>> {
    let args = &args.parameters;
    let mut all: Vec<Parameter> =
        args.parameter_list.chunks(2).map(|pair| Parameter::list(&pair[0], &pair[1])).collect();
    for scan in args.parameter_scan.chunks(3) {
        let step = args.parameter_step_size.as_deref();
        all.push(Parameter::scan(&scan[0], &scan[1], &scan[2], step)?);
    }
    Ok(all)
}

/// The destination of the output; the path of a file is relative to the current directory.
fn output_of(args: &BenchArgs, text: &str, values: &ParameterValues<'_>) -> Result<String> {
    match text {
        "null" | "pipe" | "inherit" => Ok(text.to_owned()),
        "" => bail!("--output: name null, pipe, inherit or a file"),
        file => path_of(args, "--output", &substitute(file, values)),
    }
}

/// The text as words, or as a script where it needs a shell. Names in braces are not escaped yet.
fn script(text: &str, shell: &Shell) -> Result<HookTable> {
    ensure!(!text.trim().is_empty(), "the command is empty");
    let shell = match shell {
        Shell::Always(shell) => shell.clone(),
        Shell::IfNeeded if needs_shell_for(text).is_some() => ShellWord::Default(true),
        Shell::IfNeeded | Shell::Never => {
            let words = shlex::split(text).context("a quote is not closed")?;
            ensure!(words.first().is_some_and(|word| !word.is_empty()), "the command is empty");
            return Ok(HookTable { command: Words::List(words), shell: ShellWord::default() });
        }
    };
    Ok(HookTable { command: Words::Text(text.to_owned()), shell })
}

/// The script with texts in which no name in braces is replaced.
fn escaped(script: HookTable) -> HookTable {
    let HookTable { command, shell } = script;
    let command = match command {
        Words::Text(text) => Words::Text(escape(&text)),
        Words::List(words) => Words::List(words.iter().map(|word| escape(word)).collect()),
    };
    HookTable { command, shell }
}

fn hook_of(script: HookTable) -> At<HookScript> {
    let table = escaped(script);
    let is_plain = table.shell == ShellWord::default();
    At::new(if is_plain { HookScript::Plain(table.command) } else { HookScript::Table(table) })
}

/// The values by their names, each of which is given once.
pub(super) fn unique(
    flag: &str,
    values: impl IntoIterator<Item = (String, String)>,
) -> Result<BTreeMap<String, At<String>>> {
    let mut all = BTreeMap::new();
    for (name, value) in values {
        ensure!(!all.contains_key(&name), "{flag}: {name} is given twice");
        all.insert(name, At::new(value));
    }
    Ok(all)
}

/// A hook that is run once, or once for each of the different texts that the values make of it.
fn once(
    flag: &'static str,
    text: Option<&str>,
    all: &[ParameterValues<'_>],
    shell: &Shell,
) -> Result<Option<At<HookScript>>> {
    let Some(text) = text else { return Ok(None) };
    let mut texts: Vec<String> = Vec::new();
    for values in all {
        let text = substitute(text, values);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if let [text] = texts.as_slice() {
        return script(text, shell).context(flag).map(|script| Some(hook_of(script)));
    }
    let mut joined: Vec<String> = Vec::new();
    for text in &texts {
        joined.push(match script(text, shell).context(flag)?.command {
            Words::List(words) => shlex::try_join(words.iter().map(String::as_str))?,
            Words::Text(text) => format!("(\n{text}\n)"),
        });
    }
    let shell = match shell {
        Shell::Always(shell) => shell.clone(),
        Shell::IfNeeded | Shell::Never => ShellWord::Default(true),
    };
    Ok(Some(hook_of(HookTable { command: Words::Text(joined.join(" &&\n")), shell })))
}

/// A longer name is cut.
const NAME_BYTES: usize = 1000;

/// The text as one line that can be a name.
fn line_of(text: &str) -> String {
    let is_space = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    if line.len() <= NAME_BYTES {
        return line;
    }
    let end = (0..=NAME_BYTES).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &line[..end])
}

// The commands as they were typed, each with the texts around it.

/// One command as it was typed.
pub(super) struct CommandLine<'a> {
    pub(super) command: CommandText<'a>,
    pub(super) name: Option<&'a str>,
    pub(super) prepare: Option<&'a str>,
    pub(super) conclude: Option<&'a str>,
    pub(super) output: Option<&'a str>,
    /// Whether its program is that of a revision, where its path is relative.
    pub(super) of_revision: bool,
}

#[derive(Clone, Copy)]
pub(super) enum CommandText<'a> {
    Whole(&'a str),
    Words(&'a [String]),
}

impl CommandLine<'_> {
    /// The command with these values, as one text.
    pub(super) fn text(&self, values: &ParameterValues<'_>) -> Result<String> {
        match self.command {
            CommandText::Whole(text) => Ok(substitute(text, values)),
            CommandText::Words(words) => {
                let words: Vec<String> =
                    words.iter().map(|word| substitute(word, values)).collect();
                Ok(shlex::try_join(words.iter().map(String::as_str))?)
            }
        }
    }

    /// The command with the program of the worktree, where its own has a relative path.
    pub(super) fn in_worktree<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = if self.of_revision { of_worktree(text) } else { None };
        found.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    pub(super) fn has_own_program(&self) -> bool {
        let text = match self.command {
            CommandText::Whole(text) => Some(text),
            CommandText::Words(words) => words.first().map(String::as_str),
        };
        text.and_then(of_worktree).is_some()
    }
}

/// All commands as they were typed; the reference first.
pub(super) fn command_lines(args: &BenchArgs) -> Result<Vec<CommandLine<'_>>> {
    let around = &args.commands_around;
    let mut commands: Vec<CommandText<'_>> = Vec::new();
    commands.extend(around.reference.as_deref().map(CommandText::Whole));
    commands.extend(args.commands.iter().map(|text| CommandText::Whole(text)));
    if !args.words.is_empty() {
        commands.push(CommandText::Words(&args.words));
    }
    let without_reference = commands.len() - usize::from(around.reference.is_some());
    ensure!(
        around.command_name.len() <= without_reference,
        "--command-name: {} names for {without_reference} commands",
        around.command_name.len()
    );
    let show = args.streams.show_output.then_some("inherit");
    let mut typed = Vec::new();
    for (i, command) in commands.iter().enumerate() {
        let of_all = |flag: &str, texts: &'_ [String]| -> Result<Option<usize>> {
            match texts.len() {
                0 => Ok(None),
                1 => Ok(Some(0)),
                n if n == commands.len() => Ok(Some(i)),
                n => bail!(
                    "{flag} is given {n} times for {} commands: once, or once for each",
                    commands.len()
                ),
            }
        };
        let name = match (&around.reference, i) {
            (Some(_), 0) => around.reference_name.as_ref(),
            (Some(_), i) => around.command_name.get(i - 1),
            (None, i) => around.command_name.get(i),
        };
        let prepare = of_all("--prepare", &around.prepare)?;
        let conclude = of_all("--conclude", &around.conclude)?;
        let output = of_all("--output", &args.streams.output)?;
        typed.push(CommandLine {
            command: *command,
            name: name.map(String::as_str),
            prepare: prepare.map(|i| around.prepare[i].as_str()),
            conclude: conclude.map(|i| around.conclude[i].as_str()),
            output: output.map(|i| args.streams.output[i].as_str()).or(show),
            of_revision: false,
        });
    }
    Ok(typed)
}

/// Whether a text has the parameter.
pub(super) fn is_used(args: &BenchArgs, name: &str) -> bool {
    let around = &args.commands_around;
    let texts = args.commands.iter().chain(&args.words).chain(&around.prepare);
    let texts = texts.chain(&around.conclude).chain(&around.reference);
    let env = around.env.iter().map(|(_, value)| value);
    texts.chain(&args.streams.output).chain(env).any(|text| has(text, name))
}

// Whether a command that was typed as one text needs a shell, or is only words.

/// How the text of a command becomes a process.
pub(super) enum Shell {
    /// /bin/sh where the text needs it.
    IfNeeded,
    Never,
    /// This one for every text.
    Always(ShellWord),
}

impl Shell {
    /// The shell for a value of `--shell`.
    pub(super) fn named(text: &str) -> Shell {
        match text {
            "none" => Shell::Never,
            "default" | "sh" | "/bin/sh" => Shell::Always(ShellWord::Default(true)),
            other => Shell::Always(ShellWord::Named(other.to_owned())),
        }
    }
}

/// Words of the shell's grammar, and commands that only the shell itself can do.
const OF_SHELL: [&str; 43] = [
    "!", "{", "}", "[[", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "select", "then", "until", "while", ".", ":", "alias", "break", "cd", "command",
    "continue", "eval", "exec", "exit", "export", "getopts", "hash", "jobs", "read", "readonly",
    "return", "set", "shift", "source", "times", "trap", "ulimit", "umask", "wait",
];

/// The part of the text that only a shell understands; `None` if splitting the text into words
/// means the same.
pub(super) fn needs_shell_for(text: &str) -> Option<String> {
    let first = text.split_whitespace().next().unwrap_or_default();
    if OF_SHELL.contains(&first) || is_assignment(first) {
        return Some(first.to_owned());
    }
    let mut quote = None;
    let mut begins_word = true;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let is_special = match quote {
            Some('\'') => false,
            Some(_) => "$`".contains(c),
            None => "|&;<>()$`*?[\n".contains(c) || "~#".contains(c) && begins_word,
        };
        if is_special {
            return Some(if c == '\n' { "a line feed".to_owned() } else { c.to_string() });
        }
        begins_word = quote.is_none() && c.is_ascii_whitespace();
        match (quote, c) {
            (None | Some('"'), '\\') if chars.next() == Some('\n') => {
                return Some("a line feed".to_owned());
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

/// `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_of_words_needs_no_shell() {
        for text in [
            "gzip -c x",
            "echo 'a | b' \"c; d\" e\\&f",
            "grep -e '$x' --color=~/x a#b",
            "awk '{ print $1 }' {x,y}",
            "./a=b c=d",
            "dd if=/dev/zero of=x",
            "",
            "echo é",
        ] {
            assert_eq!(needs_shell_for(text), None, "{text}");
        }
    }

    #[test]
    fn what_the_shell_expands_or_joins_needs_one() {
        let check = |text: &str, expected: &str| {
            assert_eq!(needs_shell_for(text).as_deref(), Some(expected), "{text}");
        };
        check("a | b", "|");
        check("a&&b", "&");
        check("a >x", ">");
        check("a <x", "<");
        check("sleep 1; true", ";");
        check("echo $HOME", "$");
        check("echo \"$HOME\"", "$");
        check("echo \"`x`\"", "`");
        check("cat *.c", "*");
        check("cat ?", "?");
        check("cat [ab]", "[");
        check("cat ~/x", "~");
        check("cat x # y", "#");
        check("(a)", "(");
        check("a\nb", "a line feed");
        check("a \\\n b", "a line feed");
        check("exit 1", "exit");
        check("  cd /", "cd");
        check("! true", "!");
        check("LC_ALL=C sort x", "LC_ALL=C");
    }

    proptest! {
        #[test]
        fn no_text_makes_a_panic(text in r#"['"\\|&;<>()$`*?\[~# a=\n\u{e9}-]{0,24}"#) {
            let _ = needs_shell_for(&text);
        }
    }
}
