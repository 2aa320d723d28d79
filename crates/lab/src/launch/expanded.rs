//! A plain command in which the names are replaced by the values of its point.

use crate::experiment::{Answer, Command};
use crate::param::Point;
use crate::template::fill;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpandedCommand {
    pub(super) argv: Vec<String>,
    pub(super) input: Option<String>,
    pub(super) answer: Answer,
    pub(super) shell: bool,
}

impl ExpandedCommand {
    pub(super) fn new(command: &Command, arguments: &Point) -> ExpandedCommand {
        let plain = |word: &String| fill(word, arguments, str::to_owned);
        let mut argv: Vec<String> = command.argv.iter().map(plain).collect();
        if command.shell {
            let script = command.argv.iter().map(|word| fill(word, arguments, quoted));
            argv = ["/bin/sh".to_owned(), "-c".to_owned()].into_iter().chain(script).collect();
        }
        let answer = match &command.answer {
            Answer::File(path) => Answer::File(plain(path)),
            other => other.clone(),
        };
        let input = command.input.as_ref().map(plain);
        ExpandedCommand { argv, input, answer, shell: command.shell }
    }

    /// The name of the command in errors.
    pub(super) fn name(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// A command that does nothing and is started in the same way.
    pub(super) fn noop(&self) -> Vec<String> {
        let words: &[&str] = if self.shell { &["/bin/sh", "-c", ":"] } else { &["/bin/true"] };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
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
        let script = vec!["cat {file} | head -c {size}; echo $HOME".to_owned()];
        let command = Command { argv: script, shell: true, ..Command::default() };
        let expanded = ExpandedCommand::new(&command, &point());
        let script = "cat '/a {size} b' | head -c 7; echo $HOME";
        assert_eq!(expanded.argv, ["/bin/sh", "-c", script]);
        assert_eq!(quoted("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(quoted(""), "''");
    }
}
