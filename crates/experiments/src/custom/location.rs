//! The position of a mistake in the file, and its message: file, line, key, and what is allowed.

use std::ops::Range;

use model::pattern::closest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A mistake in the file.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) span: Range<usize>,
    pub(super) text: String,
}

impl Mistake {
    pub(super) fn at(span: &Range<usize>, text: impl Into<String>) -> Mistake {
        Mistake { span: span.clone(), text: text.into() }
    }

    /// From an error of the parser.
    pub(super) fn from_toml(error: &toml::de::Error) -> Mistake {
        Mistake { span: error.span().unwrap_or_default(), text: reworded(error.message()) }
    }

    /// Formats `FILE:3: method[1].command: what is wrong`.
    pub(super) fn located(&self, file: &str, text: &str) -> String {
        let start = self.span.start.min(text.len());
        let line = line_of(text.as_bytes(), start);
        let key = key_at(text, start);
        let last = key.rsplit('.').next().unwrap_or_default();
        // The message already names a key that does not exist.
        let own = self.text.strip_prefix(last).and_then(|rest| rest.strip_prefix(": "));
        let own = own.unwrap_or(&self.text);
        let key = if key.is_empty() { key } else { format!("{key}: ") };
        format!("{file}:{line}: {key}{own}")
    }
}

/// The number of the line that contains this offset.
pub(super) fn line_of(text: &[u8], offset: usize) -> usize {
    text[..offset].split(|byte| *byte == b'\n').count()
}

/// Where the table that contains this offset starts; above all tables, where its line does.
pub(super) fn start_of_table(text: &str, offset: usize) -> usize {
    let (mut table, mut line, mut next) = (None, 0, 0);
    for whole in text.split_inclusive('\n') {
        if next > offset {
            break;
        }
        line = next;
        if whole.trim_start().starts_with('[') {
            table = Some(line);
        }
        next += whole.len();
    }
    table.unwrap_or(line)
}

/// Rewords the parser's message, and adds what was probably meant.
fn reworded(message: &str) -> String {
    let one_line: Vec<&str> =
        message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let message = one_line.join(", ");
    let message = message.replace("expected u32", "expected a whole number");
    let message = message.replace("expected f64", "expected a number");
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let Some((given, allowed)) = quoted.split_first() else { return message };
    let what = if message.starts_with("unknown field") {
        "there is no such key"
    } else if message.starts_with("unknown variant") {
        "it is not allowed"
    } else if message.starts_with("missing field") {
        return format!("the key {given} is missing");
    } else {
        return message;
    };
    format!("{given}: {what}{}", suggestion(given, allowed.iter().copied()))
}

/// Formats `; did you mean x? allowed are x, y`.
pub(super) fn suggestion<'a>(given: &str, allowed: impl Iterator<Item = &'a str>) -> String {
    let allowed: Vec<&str> = allowed.collect();
    let closest = closest(given, allowed.iter().copied());
    let meant = closest.map(|word| format!("; did you mean {word}?")).unwrap_or_default();
    let mark = if meant.is_empty() { ";" } else { "" };
    format!("{meant}{mark} allowed are {}", allowed.join(", "))
}

/// The key whose value contains this offset: `method[2].command`. Empty if the file is not TOML,
/// and between keys.
fn key_at(text: &str, offset: usize) -> String {
    // A partial parse of a file with mistakes is sufficient.
    let (table, _) = DeTable::parse_recoverable(text);
    let mut key = String::new();
    descend_table(table.get_ref(), offset, &mut key);
    key
}

fn descend_table(table: &DeTable<'_>, offset: usize, key: &mut String) {
    for (name, value) in table {
        let mut below = String::new();
        descend(value, offset, &mut below);
        if holds(&value.span(), offset) || holds(&name.span(), offset) || !below.is_empty() {
            if !key.is_empty() {
                key.push('.');
            }
            key.push_str(name.get_ref());
            key.push_str(&below);
            return;
        }
    }
}

fn descend(value: &Spanned<DeValue<'_>>, offset: usize, key: &mut String) {
    match value.get_ref() {
        DeValue::Table(table) => {
            let mut below = String::new();
            descend_table(table, offset, &mut below);
            if !below.is_empty() {
                key.push('.');
                key.push_str(&below);
            }
        }
        DeValue::Array(list) => {
            for (index, item) in list.iter().enumerate() {
                let mut below = String::new();
                descend(item, offset, &mut below);
                if holds(&item.span(), offset) || !below.is_empty() {
                    key.push_str(&["[", &(index + 1).to_string(), "]", &below].concat());
                    return;
                }
            }
        }
        _ => {}
    }
}

fn holds(span: &Range<usize>, offset: usize) -> bool {
    span.contains(&offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_reported_by_line_and_key() {
        let text = "name = 1\n[[method]]\nname = 'a'\n[[method]]\ncommand = [\n 'x',\n 2 ]\n";
        let check = |found: &str, expected: &str| {
            let start = text.find(found).unwrap();
            let mistake = Mistake::at(&(start..start), "wrong");
            assert_eq!(mistake.located("f", text), expected);
        };
        check("1", "f:1: name: wrong");
        check("'a'", "f:3: method[1].name: wrong");
        check("2 ]", "f:7: method[2].command[2]: wrong");
    }

    #[test]
    fn a_table_starts_at_its_name() {
        let text = "name = 1\ndir = 2\n[plan]\nrounds = 3\n  [[method]]\nname = 4\n";
        let check = |found: &str, expected: &str| {
            let start = start_of_table(text, text.find(found).unwrap());
            assert!(text[start..].starts_with(expected), "{found}: {}", &text[start..]);
        };
        check("name = 1", "name = 1");
        check("2", "dir");
        check("[plan]", "[plan]");
        check("3", "[plan]");
        check("4", "  [[method]]");
        assert_eq!(start_of_table("", 0), 0);
    }

    #[test]
    fn a_word_that_is_close_is_suggested() {
        let words = ["method", "param", "plan"];
        let check = |given: &str, expected: &str| {
            assert_eq!(suggestion(given, words.into_iter()), expected);
        };
        check("metod", "; did you mean method? allowed are method, param, plan");
        check("x", "; allowed are method, param, plan");
    }
}
