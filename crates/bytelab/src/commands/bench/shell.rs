//! Whether a command that was typed as one text needs a shell, or is only words.

/// How the text of a command becomes a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// /bin/sh where the text needs it.
    IfNeeded,
    Never,
    /// This one for every text; `None` is /bin/sh.
    Always(Option<String>),
}

impl Shell {
    /// From the value of `--shell`.
    pub(super) fn named(text: &str) -> Shell {
        match text {
            "none" => Shell::Never,
            "default" | "sh" | "/bin/sh" => Shell::Always(None),
            other => Shell::Always(Some(other.to_owned())),
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

/// What in the text only a shell understands; none if splitting it into words means the same.
pub(super) fn reason(text: &str) -> Option<String> {
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
            assert_eq!(reason(text), None, "{text}");
        }
    }

    #[test]
    fn what_the_shell_expands_or_joins_needs_one() {
        let check = |text: &str, expected: &str| {
            assert_eq!(reason(text).as_deref(), Some(expected), "{text}");
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
            let _ = reason(&text);
        }
    }
}
