//! The experiment file of what was typed: TOML text, which is read as a file of the user's is.

use std::fmt::Write;

use measure::experiment::LeftProcesses;
use model::template::escape;

/// The experiment of the typed commands, before it becomes text.
#[derive(Default)]
pub(super) struct BenchDefinition {
    /// The working directory of the commands: an absolute path.
    pub(super) dir: String,
    pub(super) env: Vec<(String, String)>,
    /// Keys of `[plan]` with their values in TOML.
    pub(super) plan: Vec<(&'static str, String)>,
    pub(super) data: Option<String>,
    pub(super) same_output: bool,
    /// Metrics that the commands print, with their patterns.
    pub(super) metrics: Vec<(String, String)>,
    pub(super) setup: Option<Script>,
    pub(super) cleanup: Option<Script>,
    pub(super) methods: Vec<BenchMethod>,
}

/// A command with its hooks, its streams and its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BenchMethod {
    pub(super) name: String,
    pub(super) command: Script,
    pub(super) prepare: Option<Script>,
    pub(super) conclude: Option<Script>,
    pub(super) input: Option<String>,
    pub(super) output: Option<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) copies: Option<u32>,
    pub(super) leaves: LeftProcesses,
    pub(super) failures: Failures,
    /// The values of the parameters in it.
    pub(super) parameters: Vec<(String, String)>,
    /// No key of the file: its worktree is removed after the run.
    pub(super) revision: Option<AtRevision>,
}

/// The revision whose program a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AtRevision {
    pub(super) index: usize,
    /// The command as it was typed, without the name of the revision.
    pub(super) command: String,
}

/// A command or a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Words(Vec<String>),
    /// For this shell; none: /bin/sh.
    Shell(String, Option<String>),
}

/// The failed runs of a command that count all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failures {
    None,
    All,
    /// Those with these exit codes.
    Codes(Vec<i32>),
}

impl BenchDefinition {
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        line(&mut out, "name", &string("bench"));
        let question = match self.methods.len() {
            1 => "How long does this command take?",
            _ => "Which of these commands is fastest?",
        };
        line(&mut out, "question", &string(question));
        line(&mut out, "dir", &string(&self.dir));
        if !self.env.is_empty() {
            line(&mut out, "env", &table(&self.env));
        }
        if !self.plan.is_empty() {
            out.push_str("\n[plan]\n");
            self.plan.iter().for_each(|(key, value)| line(&mut out, key, value));
        }
        if let Some(data) = &self.data {
            out.push_str("\n[data]\n");
            line(&mut out, "file", &escaped(data));
        }
        if self.same_output {
            out.push_str("\n[answer]\nfrom = \"stdout\"\n");
        }
        if !self.metrics.is_empty() {
            out.push_str("\n[metrics]\n");
            let plain = |name: &str| name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
            for (name, pattern) in &self.metrics {
                let key = if plain(name) { name.clone() } else { string(name) };
                line(&mut out, &key, &string(pattern));
            }
        }
        let hooks = [("setup", &self.setup), ("cleanup", &self.cleanup)];
        if hooks.iter().any(|(_, hook)| hook.is_some()) {
            out.push_str("\n[hooks]\n");
            write_hooks(&mut out, hooks);
        }
        for method in &self.methods {
            method.write(&mut out);
        }
        out
    }
}

impl BenchMethod {
    fn write(&self, out: &mut String) {
        out.push_str("\n[[method]]\n");
        line(out, "name", &string(&self.name));
        match &self.command {
            Script::Words(words) => line(out, "command", &list(words)),
            Script::Shell(text, shell) => {
                line(out, "command", &escaped(text));
                line(out, "shell", &shell_value(shell.as_deref()));
            }
        }
        write_hooks(out, [("prepare", &self.prepare), ("conclude", &self.conclude)]);
        for (key, value) in [("input", &self.input), ("output", &self.output)] {
            if let Some(value) = value {
                line(out, key, &escaped(value));
            }
        }
        if !self.env.is_empty() {
            line(out, "env", &table(&self.env));
        }
        if let Some(copies) = self.copies {
            line(out, "copies", &copies.to_string());
        }
        match self.leaves {
            LeftProcesses::Ended => {}
            LeftProcesses::WaitedFor => line(out, "wait_for_all", "true"),
            LeftProcesses::Kept => line(out, "keep_running", "true"),
        }
        if !self.parameters.is_empty() {
            let pair =
                |(name, value): &(String, String)| format!("{} = {}", string(name), string(value));
            let pairs: Vec<String> = self.parameters.iter().map(pair).collect();
            line(out, "parameters", &format!("{{ {} }}", pairs.join(", ")));
        }
        match &self.failures {
            Failures::None => {}
            Failures::All => line(out, "ignore_failure", "true"),
            Failures::Codes(codes) => {
                let codes: Vec<String> = codes.iter().map(i32::to_string).collect();
                line(out, "exit_codes", &format!("[{}]", codes.join(", ")));
            }
        }
    }
}

fn write_hooks<'a>(
    out: &mut String,
    hooks: impl IntoIterator<Item = (&'static str, &'a Option<Script>)>,
) {
    for (key, hook) in hooks {
        match hook {
            None => {}
            Some(Script::Words(words)) => line(out, key, &list(words)),
            Some(Script::Shell(text, shell)) => {
                let shell = shell_value(shell.as_deref());
                line(out, key, &format!("{{ command = {}, shell = {shell} }}", escaped(text)));
            }
        }
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {value}");
}

fn shell_value(shell: Option<&str>) -> String {
    shell.map_or_else(|| "true".to_owned(), string)
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| escaped(word)).collect();
    format!("[{}]", words.join(", "))
}

fn table(pairs: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| format!("{} = {}", string(name), escaped(value));
    format!("{{ {} }}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
}

/// A string in which no name in braces is replaced.
fn escaped(text: &str) -> String {
    string(&escape(text))
}

/// A string of TOML: as it is where quotes allow that, else with escapes.
pub(super) fn string(text: &str) -> String {
    let is_plain = !text.contains(|c: char| c == '\'' || c.is_control());
    if is_plain && text.contains(['"', '\\']) {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_is_read_as_it_was(text in r#"(\PC|['"\\\n\t\x00-\x1f\x7f-\u{9f}]){0,20}"#) {
            let read: toml::Table = toml::from_str(&format!("a = {}", string(&text))).unwrap();
            prop_assert_eq!(read["a"].as_str(), Some(text.as_str()));
        }
    }
}
