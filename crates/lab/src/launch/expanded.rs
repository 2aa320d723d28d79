//! A plain command in which the names are replaced by the values of its point.

use crate::experiment::{Answer, Command, Destination, ExitCodes, PrintedMetric};
use crate::param::Point;
use crate::template::fill;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpandedCommand {
    pub(super) argv: Vec<String>,
    pub(super) input: Option<String>,
    pub(super) output: Destination,
    pub(super) answer: Answer,
    pub(super) accepts: ExitCodes,
    pub(super) copies: u32,
    pub(super) metrics: Vec<PrintedMetric>,
    pub(super) shell: Option<Vec<String>>,
    env: Vec<(String, String)>,
}

impl ExpandedCommand {
    pub(super) fn new(command: &Command, arguments: &Point) -> ExpandedCommand {
        let plain = |word: &String| fill(word, arguments, str::to_owned);
        let mut argv: Vec<String> = command.argv.iter().map(plain).collect();
        if let Some(shell) = &command.shell {
            let script = command.argv.iter().map(|word| fill(word, arguments, quoted));
            argv = of_shell(shell).chain(script).collect();
        }
        let answer = match &command.answer {
            Answer::File(path) => Answer::File(plain(path)),
            other => other.clone(),
        };
        let output = match &command.output {
            Destination::File(path) => Destination::File(plain(path)),
            other => other.clone(),
        };
        let input = command.input.as_ref().map(plain);
        let env = command.env.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
        let (accepts, shell) = (command.accepts.clone(), command.shell.clone());
        let (copies, metrics) = (command.copies.max(1), command.metrics.clone());
        ExpandedCommand { argv, input, output, answer, accepts, copies, metrics, shell, env }
    }

    /// The name of the command in errors.
    pub(super) fn name(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// A command that does nothing and is started in the same way.
    pub(super) fn noop(&self) -> Vec<String> {
        match &self.shell {
            Some(shell) => of_shell(shell).chain([":".to_owned()]).collect(),
            None => vec!["/bin/true".to_owned()],
        }
    }

    /// The variables of its environment when it is run for this sample.
    pub(super) fn variables(&self, n: u64) -> Vec<(&str, String)> {
        let own = self.env.iter().map(|(name, value)| (name.as_str(), value.clone()));
        own.chain([(ITERATION_VARIABLE, n.saturating_sub(1).to_string())]).collect()
    }
}

/// The number of the sample, from 0, in the environment of plain commands and of hooks around a
/// sample.
const ITERATION_VARIABLE: &str = "BYTELAB_ITERATION";

fn of_shell(words: &[String]) -> impl Iterator<Item = String> {
    words.iter().cloned().chain(["-c".to_owned()])
}

/// A value as one word of the shell.
fn quoted(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    if !value.is_empty() && value.bytes().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> Point {
        let mut point = Point::default();
        point.set("file", "/a {size} b");
        point.set("size", 7u64);
        point
    }

    #[test]
    fn in_a_script_a_value_is_one_word() {
        let mut command = Command::script("cat {file} | head -c {size}; echo $HOME");
        let expanded = ExpandedCommand::new(&command, &point());
        let script = "cat '/a {size} b' | head -c 7; echo $HOME";
        assert_eq!(expanded.argv, ["/bin/sh", "-c", script]);
        assert_eq!(expanded.noop(), ["/bin/sh", "-c", ":"]);
        command.shell = Some(vec!["bash".to_owned(), "--norc".to_owned()]);
        let expanded = ExpandedCommand::new(&command, &point());
        assert_eq!(expanded.argv, ["bash", "--norc", "-c", script]);
        assert_eq!(expanded.noop(), ["bash", "--norc", "-c", ":"]);
        assert_eq!(quoted("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(quoted(""), "''");
    }
}
