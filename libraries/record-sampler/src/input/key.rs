//! Keys of values that have a type: of JSON and of Parquet. Values of different types are different
//! keys, and equal numbers are one key, however they are written.

use std::borrow::Cow;

/// The key of a text: itself, or in quotes if the text is also the key of a value that is no text.
pub(crate) fn text_key(text: &[u8]) -> Cow<'_, [u8]> {
    let is_ambiguous = match text {
        [b'"' | b'[' | b'{', ..] | b"true" | b"false" | b"null" => true,
        [b'-' | b'0'..=b'9', ..] => {
            std::str::from_utf8(text).is_ok_and(|text| number_key(text).as_deref() == Some(text))
        }
        _ => false,
    };
    if is_ambiguous {
        return Cow::Owned([&b"\""[..], text, b"\""].concat());
    }
    Cow::Borrowed(text)
}

/// The key of a number of JSON: its digits, without an exponent unless it is very large or small.
/// `None` if the text is no number.
pub(crate) fn number_key(text: &str) -> Option<String> {
    /// More than a decimal of Parquet has.
    const MOST_DIGITS: i64 = 40;
    let unsigned = text.strip_prefix('-');
    let sign = if unsigned.is_some() { "-" } else { "" };
    let unsigned = unsigned.unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    if whole.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_start_matches('0');
    // The position of the decimal point behind the first of these digits.
    let zeros = (all.len() - digits.len()) as i64;
    let point = whole.len() as i64 + i64::from(exponent) - zeros;
    let digits = digits.trim_end_matches('0');
    let len = digits.len() as i64;
    let zeros = |n: i64| "0".repeat(n as usize);
    Some(if digits.is_empty() {
        "0".to_owned()
    } else if !(-MOST_DIGITS..=MOST_DIGITS).contains(&point) {
        format!("{sign}{digits}e{}", point - len)
    } else if point <= 0 {
        format!("{sign}0.{}{digits}", zeros(-point))
    } else if point >= len {
        format!("{sign}{digits}{}", zeros(point - len))
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{sign}{whole}.{fraction}")
    })
}

/// The key of a value of JSON that is no text. A number has lost digits if it was beyond 64 bits.
#[cfg(feature = "json")]
pub(super) fn value_key(value: &serde_json::Value) -> String {
    use serde_json::Value;

    match value {
        Value::Number(number) => {
            let text = number.to_string();
            number_key(&text).unwrap_or(text)
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(value_key).collect();
            format!("[{}]", values.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value_key(value)))
                .collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_one_key() {
        for (texts, key) in [
            (&["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000"][..], "1"),
            (&["0", "-0", "0.0", "-0e5", "0e-99"], "0"),
            (&["-12.5", "-125e-1", "-0.0125e3", "-12.50"], "-12.5"),
            (&["100", "1e2", "1E+2"], "100"),
            (&["0.00002", "2e-5"], "0.00002"),
            (&["1e16", "10000000000000000.0"], "10000000000000000"),
            (&["18446744073709551616", "18446744073709551616.0"], "18446744073709551616"),
            (&["1.5e300", "15e299"], "15e299"),
            (&["1e-50", "0.1e-49"], "1e-50"),
        ] {
            for text in texts {
                assert_eq!(number_key(text).as_deref(), Some(key), "{text}");
            }
            assert_eq!(number_key(key).as_deref(), Some(key), "the key of a key");
        }
        for text in ["", "-", "a", "1a", ".5", "1e", "e5", "1e99999999999", "1,5", " 1", "--1"] {
            assert_eq!(number_key(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_is_itself_unless_it_looks_like_another_value() {
        for text in ["", "a", "1.0", "007", "2026-11-27", "-", "-x", "1a", "nul", "True", "1e2"] {
            assert_eq!(text_key(text.as_bytes()), text.as_bytes(), "{text}");
        }
        for text in ["1", "-2.5", "0", "15e299", "true", "false", "null", "\"a\"", "[1]", "{}"] {
            assert_eq!(text_key(text.as_bytes()), format!("\"{text}\"").as_bytes(), "{text}");
        }
        assert_eq!(text_key(b"1\xff").as_ref(), b"1\xff");
    }

    #[cfg(feature = "json")]
    #[test]
    fn values_within_others_are_compared_alike() {
        let key = |text: &str| value_key(&serde_json::from_str(text).unwrap());
        assert_eq!(key("[1, 1.0, \"1\", null]"), "[1,1,\"1\",null]");
        assert_eq!(key(r#"{"b": [1e2], "a": "x\"y"}"#), r#"{"a":"x\"y","b":[100]}"#);
        assert_eq!(key("true"), "true");
    }
}
