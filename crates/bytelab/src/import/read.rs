//! From bytes to text, to JSON and to numbers that are valid in a sample. An error gives the
//! position of the fault.

use std::borrow::Cow;

use anyhow::{Context, Result, anyhow, bail, ensure};
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
