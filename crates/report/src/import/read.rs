//! From bytes to text, to the JSON document in it, and to numbers that are valid in a sample. An
//! error gives the position of the fault.

use std::borrow::Cow;

use anyhow::{Context, Result, anyhow, bail, ensure};
use model::run::Warning;
use serde::de::DeserializeOwned;

/// Text in UTF-8, or in UTF-16 where a byte order mark says so; without that mark.
pub(super) fn text(bytes: &[u8]) -> Result<Cow<'_, str>> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes).map(Cow::Owned),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes).map(Cow::Owned),
        _ => match str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text))),
            Err(error) => bail!("not UTF-8 at byte {}: it is no text", error.valid_up_to()),
        },
    }
}

/// PowerShell's `>` writes it. `bytes` is what follows the mark.
fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    ensure!(rest.is_empty(), "not UTF-16: it has an odd number of bytes");
    let mut text = String::with_capacity(bytes.len());
    let mut at = 2;
    for c in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        let Ok(c) = c else { bail!("not UTF-16 at byte {at}: it is no text") };
        at += 2 * c.len_utf16();
        text.push(c);
    }
    Ok(text)
}

/// Parses a JSON document; an error gives the key, the line and the column.
pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T> {
    ensure!(!text.trim().is_empty(), "empty");
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string().replace(".?", "");
        let at = if path == "." { String::new() } else { format!("{path:?}: ") };
        let cause = error.inner();
        match not_a_number(text, cause) {
            Some(word) => {
                let (line, column) = (cause.line(), cause.column());
                anyhow!("{at}{word} at line {line} column {column} is no number that was measured")
            }
            None if cause.is_eof() => anyhow!("{at}{}: the file is cut off", harmless(cause)),
            None => anyhow!("{at}{}", harmless(cause)),
        }
    })?;
    deserializer.end().context("behind the document")?;
    Ok(value)
}

/// An error may quote the file, whose characters must not control the terminal.
fn harmless(error: &serde_json::Error) -> String {
    let mut shown = String::new();
    for c in error.to_string().chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// JSON has no such words, but programs write them.
fn not_a_number(text: &str, error: &serde_json::Error) -> Option<&'static str> {
    let line = text.split('\n').nth(error.line().checked_sub(1)?)?.as_bytes();
    // The column is that of the last byte read, which may be the word's first or second.
    let near = error.column().saturating_sub(3);
    let near = line.get(near..)?;
    let near = &near[..near.len().min(12)];
    let near = String::from_utf8_lossy(near).to_lowercase();
    [("infinity", "Infinity"), ("inf", "inf"), ("nan", "NaN")]
        .into_iter()
        .find_map(|(word, shown)| near.contains(word).then_some(shown))
}

/// A time, a count or a size: finite and not below 0. `key` names it.
pub(super) fn amount(value: f64, key: impl Fn() -> String) -> Result<f64> {
    let value = finite(value, &key)?;
    ensure!(value >= 0.0, "{}: {value} is below 0", key());
    Ok(value)
}

/// A value that another program defines may be below 0.
pub(super) fn finite(value: f64, key: impl Fn() -> String) -> Result<f64> {
    if value.is_nan() {
        bail!("{}: NaN is no number that was measured", key());
    }
    ensure!(value.is_finite(), "{}: too large a number, or none that was measured", key());
    Ok(value)
}

/// The number of operations in a sample: a whole number above 0.
pub(super) fn operations(value: f64, key: impl Fn() -> String) -> Result<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = value.fract() == 0.0 && (1.0..=EXACT).contains(&value);
    ensure!(whole, "{}: {value} is no number of operations", key());
    Ok(value as u64)
}

/// A date with an offset, or without one, which is assumed to be UTC; as RFC 3339 in UTC.
pub(super) fn utc(date: &str) -> Option<String> {
    let (time, rest) = date.split_at_checked("2026-01-31T12:00:00".len())?;
    // Google Benchmark 1.0 writes `2026/01/31-12:00:00`.
    let time = match time.split_once('-') {
        Some((day, time)) if day.contains('/') => format!("{} {time}", day.replace('/', "-")),
        _ => time.to_owned(),
    };
    let time = humantime::parse_rfc3339_weak(&time).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    let rest = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset = |text: &str| -> Option<u64> {
        let (hours, minutes) = text.split_once(':').or_else(|| text.split_at_checked(2))?;
        let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
        (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)
    };
    let utc = match rest.split_at_checked(1) {
        None | Some(("Z", "")) => since,
        Some(("+", east)) => since.checked_sub(offset(east)?)?,
        Some(("-", west)) => since + offset(west)?,
        Some(_) => return None,
    };
    since_1970(utc)
}

/// Seconds as RFC 3339 in UTC; `None` for a year of five digits.
pub(super) fn since_1970(seconds: u64) -> Option<String> {
    const YEAR_10000: u64 = 253_402_300_800;
    let time = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds))?;
    (seconds < YEAR_10000).then(|| humantime::format_rfc3339_seconds(time).to_string())
}

/// The JSON document of a file that may have other text before and behind it, as a terminal or a
/// log has, and the words in it that stand for numbers that are none.
pub(super) struct ExtractedJson<'a> {
    /// It begins on the line on which it begins in the file, so that errors give that line.
    pub(super) json: Cow<'a, str>,
    /// Notes about text that was left out before and behind it.
    pub(super) notes: Vec<Warning>,
}

/// Finds the document: it begins with the first line that begins with `{`. A text without such a
/// line is returned as it is, for the parser to report.
pub(super) fn find_document(text: &str) -> Result<ExtractedJson<'_>> {
    let whole = ExtractedJson { json: Cow::Borrowed(text), notes: Vec::new() };
    let Some(start) = start(text) else { return Ok(whole) };
    let Some(length) = length(&text[start..]) else {
        return Ok(ExtractedJson { json: on_its_line(text, start, text.len()), ..whole });
    };
    let end = start + length;
    let (before, behind) = (&text[..start], &text[end..]);
    if !behind.lines().next().unwrap_or_default().trim().is_empty() {
        return Ok(ExtractedJson { json: on_its_line(text, start, text.len()), ..whole });
    }
    if let Some(at) = behind.lines().position(|line| line.starts_with('{')) {
        let line = text[..end].matches('\n').count() + at + 1;
        bail!(
            "line {line}: a second document begins: keep one of them (of fio's --status-interval the last)"
        );
    }
    let notes = [left_out("before", before), left_out("behind", behind)];
    let notes = notes.into_iter().flatten().map(Warning::noted).collect();
    Ok(ExtractedJson { json: on_its_line(text, start, end), notes })
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

    #[test]
    fn dates_of_any_offset_are_in_utc() {
        for (date, expected) in [
            ("2026-11-22T00:55:42+00:00", Some("2026-11-22T00:55:42Z")),
            ("2026-11-22T00:55:42-02:30", Some("2026-11-22T03:25:42Z")),
            ("2026-11-22T00:55:42.123+0100", Some("2026-11-21T23:55:42Z")),
            ("2026-11-22 00:55:42", Some("2026-11-22T00:55:42Z")),
            ("2026/11/22-00:55:42", Some("2026-11-22T00:55:42Z")),
            ("2026/11/22/00:55:42", None),
            ("9999-12-31T23:59:59-01:00", None),
            ("1970-01-01T00:00:00+01:00", None),
            ("2026-11-22T00:55:42+é9:00", None),
            ("yesterday", None),
        ] {
            assert_eq!(utc(date).as_deref(), expected, "{date}");
        }
    }

    #[test]
    fn a_byte_order_mark_tells_the_encoding() {
        let encoded = |mark: &[u8], unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
            let units = "a: é\u{1f980}\r\n".encode_utf16();
            mark.iter().copied().chain(units.flat_map(unit)).collect()
        };
        let expected = "a: é\u{1f980}\r\n";
        assert_eq!(text(&encoded(b"\xff\xfe", u16::to_le_bytes)).unwrap(), expected);
        assert_eq!(text(&encoded(b"\xfe\xff", u16::to_be_bytes)).unwrap(), expected);
        assert_eq!(text("\u{feff}a".as_bytes()).unwrap(), "a");
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(text(bytes).unwrap_err().to_string(), expected);
        };
        check(b"\xff\xfea\0\x00\xdc", "not UTF-16 at byte 4: it is no text");
        check(b"\xfe\xff\0a\0", "not UTF-16: it has an odd number of bytes");
        check(b"a\xff", "not UTF-8 at byte 1: it is no text");
    }

    #[test]
    fn what_is_no_json_is_reported_by_its_place() {
        let check = |text: &str, expected: &str| {
            let error = json::<serde_json::Value>(text).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "empty");
        check("{\"a\":\n [1,", "EOF while parsing a value at line 2 column 4: the file is cut off");
        check("{\"a\": nan}", "\"a\": NaN at line 1 column");
        check("{} x", "behind the document: trailing characters at line 1 column 4");
        check(&"[".repeat(10_000), "recursion limit exceeded");
    }
}

#[cfg(test)]
mod document_tests {
    use super::*;

    fn notes(text: &str) -> Vec<String> {
        find_document(text).unwrap().notes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn text_around_the_document_is_left_out_and_said() {
        let text = "Running ./b\n***WARNING*** x\n{\"a\":\n\"}\\\"{\"}\n\njob: {\n";
        let found = find_document(text).unwrap();
        assert_eq!(found.json, "\n\n{\"a\":\n\"}\\\"{\"}");
        let before =
            "text before the document is not read: 2 lines, the first of them \"Running ./b\"";
        let behind = "text behind the document is not read: 1 line \"job: {\"";
        assert_eq!(notes(text), [before, behind]);
        for text in ["{}", " \n {}\n", "hello", "", "[1]\n", "{} x", "{\"a\":", "{]"] {
            let found = find_document(text).unwrap();
            assert_eq!((found.json.trim_end(), found.notes.len()), (text.trim_end(), 0), "{text}");
        }
        let error = find_document("x\n{}\ny\n{}").err().unwrap().to_string();
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
