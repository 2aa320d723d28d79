//! The JSON document of a file that may have other text before and behind it, as a terminal or a
//! log has, and the words in it that stand for numbers that are none.

use std::borrow::Cow;

use anyhow::{Result, bail};
use lab::run::Warning;

pub(super) struct Document<'a> {
    /// It begins on the line on which it begins in the file, so that errors give that line.
    pub(super) json: Cow<'a, str>,
    /// What was left out before and behind it.
    pub(super) notes: Vec<Warning>,
}

/// Finds the document: it begins with the first line that begins with `{`. A text without such a
/// line is returned as it is, for the parser to report.
pub(super) fn find(text: &str) -> Result<Document<'_>> {
    let whole = Document { json: Cow::Borrowed(text), notes: Vec::new() };
    let Some(start) = start(text) else { return Ok(whole) };
    let Some(length) = length(&text[start..]) else {
        return Ok(Document { json: on_its_line(text, start, text.len()), ..whole });
    };
    let end = start + length;
    let (before, behind) = (&text[..start], &text[end..]);
    if !behind.lines().next().unwrap_or_default().trim().is_empty() {
        return Ok(Document { json: on_its_line(text, start, text.len()), ..whole });
    }
    if let Some(at) = behind.lines().position(|line| line.starts_with('{')) {
        let line = text[..end].matches('\n').count() + at + 1;
        bail!(
            "line {line}: a second document begins: keep one of them (of fio's --status-interval the last)"
        );
    }
    let notes = [left_out("before", before), left_out("behind", behind)];
    let notes = notes.into_iter().flatten().map(Warning::noted).collect();
    Ok(Document { json: on_its_line(text, start, end), notes })
}

fn start(text: &str) -> Option<usize> {
    let blank = text.len() - text.trim_start().len();
    if text[blank..].starts_with('{') {
        return Some(blank);
    }
    text.find("\n{").map(|at| at + 1)
}

fn on_its_line(text: &str, start: usize, end: usize) -> Cow<'_, str> {
    let before = &text[..start];
    if before.trim().is_empty() {
        return Cow::Borrowed(&text[..end]);
    }
    Cow::Owned("\n".repeat(before.matches('\n').count()) + &text[start..end])
}

/// The number of bytes up to the bracket that closes the first one; `None` if it is not there.
fn length(json: &str) -> Option<usize> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Names the text that is not read by its number of lines and its first line.
fn left_out(place: &str, text: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (n, first) = (lines().count(), lines().next()?);
    let first: String = first.chars().take(120).collect();
    let lines = if n == 1 { "1 line".to_owned() } else { format!("{n} lines, the first of them") };
    Some(format!("text {place} the document is not read: {lines} {first:?}"))
}

/// Replaces NaN and infinity, which JSON does not have, by an empty list of the same length, as a
/// number cannot be mistaken for a list; and names the keys at which they were.
pub(super) fn without_nan(json: &str) -> (Cow<'_, str>, Option<String>) {
    let mut holes: Vec<(usize, usize)> = Vec::new();
    let mut keys: Vec<&str> = Vec::new();
    let (mut key, mut at) = ("", 0);
    let bytes = json.as_bytes();
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => {
                let end = text_end(bytes, at + 1);
                key = json.get(at + 1..end - 1).unwrap_or_default();
                end
            }
            b'-' | b'+' | b'n' | b'N' | b'i' | b'I' => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-+.()#".contains(byte);
                let end = at + bytes[at..].iter().take_while(|byte| is_word(byte)).count();
                if is_none(&json[at..end]) {
                    holes.push((at, end));
                    if !keys.contains(&key) && keys.len() <= KEYS_MAX {
                        keys.push(key);
                    }
                }
                end
            }
            _ => at + 1,
        };
        at = end;
    }
    if holes.is_empty() {
        return (Cow::Borrowed(json), None);
    }
    let mut out = String::with_capacity(json.len());
    let mut done = 0;
    for (start, end) in holes {
        out += &json[done..start];
        out += "[]";
        out.extend(std::iter::repeat_n(' ', (end - start).saturating_sub(2)));
        done = end;
    }
    out += &json[done..];
    let more = if keys.len() > KEYS_MAX { " …" } else { "" };
    let named: Vec<String> = keys.iter().take(KEYS_MAX).map(|key| format!("{key:?}")).collect();
    let text = format!("NaN or infinite values are left out: {}{more}", named.join(", "));
    (Cow::Owned(out), Some(text))
}

/// The maximum number of keys that are named.
const KEYS_MAX: usize = 6;

/// The position behind the quotation mark that ends the text.
fn text_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_none(word: &str) -> bool {
    let word = word.strip_prefix(['-', '+']).unwrap_or(word).to_ascii_lowercase();
    ["nan", "inf", "infinity", "nan(ind)", "nan(snan)"].contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(text: &str) -> Vec<String> {
        find(text).unwrap().notes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn text_around_the_document_is_left_out_and_said() {
        let text = "Running ./b\n***WARNING*** x\n{\"a\":\n\"}\\\"{\"}\n\njob: {\n";
        let found = find(text).unwrap();
        assert_eq!(found.json, "\n\n{\"a\":\n\"}\\\"{\"}");
        let before =
            "text before the document is not read: 2 lines, the first of them \"Running ./b\"";
        let behind = "text behind the document is not read: 1 line \"job: {\"";
        assert_eq!(notes(text), [before, behind]);
        for text in ["{}", " \n {}\n", "hello", "", "[1]\n", "{} x", "{\"a\":", "{]"] {
            let found = find(text).unwrap();
            assert_eq!((found.json.trim_end(), found.notes.len()), (text.trim_end(), 0), "{text}");
        }
        let error = find("x\n{}\ny\n{}").err().unwrap().to_string();
        assert!(error.starts_with("line 4: a second document begins"), "{error}");
    }

    #[test]
    fn numbers_that_are_none_are_holes_of_the_same_length() {
        let json = "{\"a b\": -nan, \"c\": [NaN,Infinity ,-inf], \"d\": \"nan\\\"nan\", \"e\": -1, \"f\": null, \"a b\":-nan(ind)}";
        let (blanked, note) = without_nan(json);
        assert_eq!(
            blanked,
            "{\"a b\": []  , \"c\": [[] ,[]       ,[]  ], \"d\": \"nan\\\"nan\", \"e\": -1, \"f\": null, \"a b\":[]       }"
        );
        let expected = "NaN or infinite values are left out: \"a b\", \"c\"".to_owned();
        assert_eq!(note, Some(expected));
        for same in ["", "\"", "\"\\", "{\"nan\": 1}", "é-é", "i", "{\"a\": nano}"] {
            assert_eq!(without_nan(same), (Cow::Borrowed(same), None));
        }
    }

    #[test]
    fn a_word_of_many_signs_is_no_number_and_is_kept() {
        for signs in [2, 70_000] {
            let json = format!("{{\"a\": {}nan}}", "-".repeat(signs));
            assert_eq!(without_nan(&json), (Cow::Borrowed(json.as_str()), None));
        }
        let long = format!("{{\"a\": +nan, \"b\": {}}}", "-".repeat(70_000));
        let (blanked, note) = without_nan(&long);
        assert_eq!(blanked, long.replacen("+nan", "[]  ", 1));
        assert_eq!(note, Some("NaN or infinite values are left out: \"a\"".to_owned()));
    }
}
