//! Base64 with the standard alphabet and padding, which is how data appears in JSON.

use alloc::vec::Vec;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn append(data: &[u8], out: &mut Vec<u8>) {
    for chunk in data.chunks(3) {
        let byte = |i: usize| chunk.get(i).map_or(0, |&byte| u32::from(byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) as usize & 63;
            out.push(if digit <= chunk.len() { ALPHABET[index] } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_4648_hold() {
        let check = |data: &[u8], expected: &str| {
            let mut out = Vec::new();
            append(data, &mut out);
            assert_eq!(out, expected.as_bytes());
        };
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foob", "Zm9vYg==");
        check(b"foobar", "Zm9vYmFy");
    }
}
