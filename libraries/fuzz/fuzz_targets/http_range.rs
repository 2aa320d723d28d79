//! Any text as a Content-Range: no panic; what is accepted is a sound range, and written down again
//! it is the same text.
#![no_main]

use byte_stream::fuzz::range;
use libfuzzer_sys::fuzz_target;

/// The text without the parts that may vary: case, spaces around it, leading zeros.
fn plain(text: &str) -> String {
    let (unit, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut out = format!("{} ", unit.to_ascii_lowercase());
    let mut in_number = false;
    for (at, c) in rest.trim().char_indices() {
        let next_is_digit = rest.trim()[at + c.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
        if c == '0' && !in_number && next_is_digit {
            continue;
        }
        in_number = c.is_ascii_digit();
        out.push(c);
    }
    out
}

fuzz_target!(|text: &str| {
    let Some((part, size)) = range(text) else { return };
    let number = |number: Option<u64>| number.map_or("*".to_owned(), |number| number.to_string());
    let written = match part {
        Some((first, last)) => {
            assert!(first <= last && size.is_none_or(|size| last < size));
            // Lengths and ends are computed from it.
            assert!(last.checked_add(1).is_some());
            format!("bytes {first}-{last}/{}", number(size))
        }
        None => format!("bytes */{}", number(size)),
    };
    assert_eq!(written, plain(text));
});
