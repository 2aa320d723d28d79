//! Any bytes as a chunked body: no panic; the same however they are received; and what is accepted
//! is what the grammar of RFC 9112, 7.1 makes of them, read by hand.
#![no_main]

use byte_stream::fuzz::chunked;
use libfuzzer_sys::fuzz_target;

/// The data and what is left behind them. Lines end with CRLF, sizes are hexadecimal digits.
fn read_by_hand(wire: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut rest, mut body) = (wire, Vec::new());
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let line = &rest[..end];
        if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return None;
        }
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = u64::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()?;
        let behind = line[digits..].trim_ascii_start();
        if !behind.is_empty() && !behind.starts_with(b";") {
            return None;
        }
        rest = &rest[end + 2..];
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).ok().filter(|size| *size <= rest.len())?;
        body.extend_from_slice(&rest[..size]);
        rest = rest[size..].strip_prefix(b"\r\n")?;
    }
    // Trailers, up to an empty line; which of them are sound is httparse's matter.
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        if line.is_empty() || line == b"\r" {
            return Some((body, rest.len()));
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let whole = chunked(bytes, bytes.len());
    for piece in [1, 7] {
        assert_eq!(whole, chunked(bytes, piece), "in pieces of {piece}");
    }
    if let Some(accepted) = whole {
        assert_eq!(Some(accepted), read_by_hand(bytes));
    }
});
