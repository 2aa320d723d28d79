//! The commands as they were typed, each with the texts around it.

use std::borrow::Cow;

use anyhow::{Result, bail, ensure};

use super::args::BenchArgs;
use super::parameters::{Values, filled, has};
use super::revisions::of_worktree;

/// One command as it was typed.
pub(super) struct Typed<'a> {
    pub(super) command: Text<'a>,
    pub(super) name: Option<&'a str>,
    pub(super) prepare: Option<&'a str>,
    pub(super) conclude: Option<&'a str>,
    pub(super) output: Option<&'a str>,
    /// Whether its program is that of a revision, where its path is relative.
    pub(super) of_revision: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Text<'a> {
    Whole(&'a str),
    Words(&'a [String]),
}

impl Typed<'_> {
    /// The command with these values, as one text.
    pub(super) fn text(&self, values: &Values<'_>) -> Result<String> {
        match self.command {
            Text::Whole(text) => Ok(filled(text, values)),
            Text::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| filled(word, values)).collect();
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
            Text::Whole(text) => Some(text),
            Text::Words(words) => words.first().map(String::as_str),
        };
        text.and_then(of_worktree).is_some()
    }
}

/// All commands as they were typed; the reference first.
pub(super) fn typed(args: &BenchArgs) -> Result<Vec<Typed<'_>>> {
    let around = &args.commands_around;
    let mut commands: Vec<Text<'_>> = Vec::new();
    commands.extend(around.reference.as_deref().map(Text::Whole));
    commands.extend(args.commands.iter().map(|text| Text::Whole(text)));
    if !args.words.is_empty() {
        commands.push(Text::Words(&args.words));
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
        typed.push(Typed {
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
