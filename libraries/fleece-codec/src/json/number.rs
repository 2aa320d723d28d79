//! Parsing and printing of numbers.

use crate::encoder::Encoder;
use alloc::vec::Vec;

/// Every power of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// Whole numbers up to this one are exact doubles, and numbers up to it are printed in decimal
/// form.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
const EXACT_MAX_F32: f32 = 16_777_216.0;

/// The reason why a number was refused, and the offset in it.
pub(super) enum NumberError {
    Syntax(usize),
    TooLarge,
}

/// Reads the number at the start of `text`, writes it, and returns its length.
#[inline]
pub(super) fn encode(text: &[u8], encoder: &mut Encoder) -> Result<usize, NumberError> {
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut value, mut at) = (0_u64, start);
    while let Some(digit) = digit(text, at) {
        value = value.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    let len = at - start;
    if len == 0 || len > 1 && text[start] == b'0' {
        return Err(NumberError::Syntax(start + usize::from(len > 0)));
    }
    // 19 digits always fit; 20 may.
    if matches!(text.get(at), Some(b'.' | b'e' | b'E')) || len > 19 {
        return float_or_large(text, start, at, value, encoder);
    }
    match (negative, i64::try_from(value)) {
        (false, _) => encoder.write_u64(value),
        (true, Ok(value)) => encoder.write_i64(-value),
        (true, Err(_)) if value == 1 << 63 => encoder.write_i64(i64::MIN),
        (true, Err(_)) => encoder.write_f64(-(value as f64)),
    }
    Ok(at)
}

#[inline]
fn digit(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// Reads a number with a fraction or an exponent, or of 20 digits and more. `value` holds the whole
/// part if that has at most 19.
#[inline]
fn float_or_large(
    text: &[u8],
    start: usize,
    whole_end: usize,
    value: u64,
    encoder: &mut Encoder,
) -> Result<usize, NumberError> {
    let (mut mantissa, mut at, mut power) = (value, whole_end, 0_i32);
    if text.get(at) == Some(&b'.') {
        at += 1;
        let first = at;
        while let Some(digit) = digit(text, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            at += 1;
        }
        if at == first {
            return Err(NumberError::Syntax(at));
        }
        power = -((at - first) as i32);
    }
    let digits = at - start;
    if let Some(b'e' | b'E') = text.get(at) {
        let (exponent, end) = exponent(text, at + 1)?;
        power = power.saturating_add(exponent);
        at = end;
    } else if power == 0
        && start == 0
        && let Some(value) = large_int(&text[..at])
    {
        encoder.write_u64(value);
        return Ok(at);
    }
    let float = match usize::try_from(power.unsigned_abs()).ok().and_then(|p| POWERS.get(p)) {
        // Clinger's fast path: both are exact, so one operation rounds once.
        Some(scale) if digits <= 19 && mantissa <= EXACT_MAX as u64 => {
            let mantissa = mantissa as f64;
            let magnitude = if power < 0 { mantissa / scale } else { mantissa * scale };
            if start == 0 { magnitude } else { -magnitude }
        }
        _ => slow(&text[..at]),
    };
    if !float.is_finite() {
        return Err(NumberError::TooLarge);
    }
    encoder.write_f64(float);
    Ok(at)
}

fn exponent(text: &[u8], at: usize) -> Result<(i32, usize), NumberError> {
    let negative = text.get(at) == Some(&b'-');
    let first = at + usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let (mut value, mut at) = (0_i32, first);
    while let Some(digit) = digit(text, at) {
        // This exponent is beyond any double already, so its exact value does not matter.
        value = (value * 10 + digit as i32).min(1_000_000);
        at += 1;
    }
    if at == first {
        return Err(NumberError::Syntax(at));
    }
    Ok((if negative { -value } else { value }, at))
}

#[cold]
fn large_int(digits: &[u8]) -> Option<u64> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

#[cold]
fn slow(number: &[u8]) -> f64 {
    // The slice holds digits, signs, a point and an exponent, which is what `parse` takes.
    core::str::from_utf8(number).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::INFINITY)
}

/// Prints an integer.
#[inline]
pub(super) fn append_i64(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    append_u64(value.unsigned_abs(), out);
}

/// Prints an integer.
#[inline]
pub(super) fn append_u64(value: u64, out: &mut Vec<u8>) {
    if value < 10 {
        return out.push(b'0' + value as u8);
    }
    let mut digits = [0; 20];
    let (mut rest, mut start) = (value, digits.len());
    while rest >= 10 {
        let pair = (rest % 100) as u8;
        rest /= 100;
        start -= 2;
        digits[start] = b'0' + pair / 10;
        digits[start + 1] = b'0' + pair % 10;
    }
    if rest > 0 {
        start -= 1;
        digits[start] = b'0' + rest as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// Prints a finite double with the fewest digits that read back as the same double.
pub(super) fn append_f64(value: f64, out: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    let magnitude = value.abs();
    append_float(text, magnitude <= EXACT_MAX && (magnitude >= 1e-4 || value == 0.0), out);
}

/// Prints a finite float with the fewest digits that read back as the same float.
pub(super) fn append_f32(value: f32, out: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    let magnitude = value.abs();
    append_float(text, magnitude <= EXACT_MAX_F32 && (magnitude >= 1e-4 || value == 0.0), out);
}

/// Prints the shortest notation of a number in decimal or exponent form, as the original does. A
/// notation without an exponent always has a point.
#[inline]
fn append_float(text: &str, decimal: bool, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    // The exponent has at most three digits: the longest is `e-324`.
    let has_exponent = bytes[bytes.len().saturating_sub(5)..].contains(&b'e');
    if decimal && !has_exponent {
        debug_assert!(bytes.contains(&b'.'), "{text}");
        return out.extend_from_slice(bytes);
    }
    append_in_parts(bytes, decimal, out);
}

#[cold]
fn append_in_parts(bytes: &[u8], decimal: bool, out: &mut Vec<u8>) {
    let exponent_at = bytes.iter().position(|&byte| byte == b'e');
    let (mantissa, exponent) = bytes.split_at(exponent_at.unwrap_or(bytes.len()));
    let exponent: i32 = exponent
        .get(1..)
        .and_then(|exponent| core::str::from_utf8(exponent).ok()?.parse().ok())
        .unwrap_or(0);
    let (mantissa, negative) = match mantissa {
        [b'-', rest @ ..] => (rest, true),
        _ => (mantissa, false),
    };
    let whole = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    let digits: Vec<u8> = mantissa.iter().copied().filter(|&byte| byte != b'.').collect();
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let end = digits.iter().rposition(|&digit| digit != b'0').map_or(zeros, |last| last + 1);
    // The position of the point, counted from the first digit that is not 0.
    let point = whole as i32 - zeros as i32 + exponent;
    let digits = digits.get(zeros..end).filter(|digits| !digits.is_empty()).unwrap_or(b"0");
    if negative {
        out.push(b'-');
    }
    if decimal { append_decimal(digits, point, out) } else { append_exponent(digits, point, out) }
}

fn append_decimal(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(core::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        return out.extend_from_slice(digits);
    }
    let point = point as usize;
    let whole = point.min(digits.len());
    out.extend_from_slice(&digits[..whole]);
    out.extend(core::iter::repeat_n(b'0', point - whole));
    out.push(b'.');
    out.extend_from_slice(if whole < digits.len() { &digits[whole..] } else { b"0" });
}

fn append_exponent(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    out.push(digits[0]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    let exponent = point - 1;
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    if exponent.unsigned_abs() < 10 {
        out.push(b'0');
    }
    append_u64(u64::from(exponent.unsigned_abs()), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn printed(value: f64) -> String {
        let mut out = Vec::new();
        append_f64(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_print_as_the_original_prints_them() {
        let check = |value, expected: &str| assert_eq!(printed(value), expected);
        check(0.0, "0.0");
        check(-0.0, "-0.0");
        check(1.0, "1.0");
        check(100_000.0, "100000.0");
        check(0.0001, "0.0001");
        check(1e-5, "1e-05");
        check(-1.25e-5, "-1.25e-05");
        check(9_007_199_254_740_992.0, "9007199254740992.0");
        check(9_007_199_254_740_994.0, "9.007199254740994e+15");
        check(1e23, "1e+23");
        check(5e-324, "5e-324");
        check(f64::MAX, "1.7976931348623157e+308");
    }

    #[test]
    fn floats_print_with_their_own_precision() {
        let check = |value, expected: &str| {
            let mut out = Vec::new();
            append_f32(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(0.1, "0.1");
        check(16_777_216.0, "16777216.0");
        check(16_777_218.0, "1.6777218e+07");
    }

    #[test]
    fn every_point_and_digit_is_put_in_place() {
        for exponent in -30..30 {
            for digits in ["1", "12", "1234567", "90909090909"] {
                let text = alloc::format!("{digits}e{exponent}");
                let value: f64 = text.parse().unwrap();
                assert_eq!(printed(value).parse(), Ok(value), "{text}");
            }
        }
    }

    #[test]
    fn integers_print_all_their_digits() {
        for value in [0, 9, 10, 99, 100, 101, 12_345, u64::MAX, 1_000_000, 10_000_000] {
            let mut out = Vec::new();
            append_u64(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), alloc::format!("{value}"));
        }
    }
}
