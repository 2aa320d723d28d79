//! Any bytes as the head of an answer: no panic; a head is found as soon as it is there and not
//! before, however it is received; and the length of the body is the one that every line of it
//! gives.
#![no_main]

use byte_stream::fuzz::{head, may_hold_a_head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(found) = head(bytes) else { return };
    assert!(found.len <= bytes.len());
    let whole = &bytes[..found.len];
    // Otherwise the client would wait for a head that is complete.
    assert!(may_hold_a_head(whole));
    assert_eq!(head(whole).as_ref(), Some(&found));
    for len in 0..found.len {
        assert_eq!(head(&whole[..len]), None, "a part of a head was taken for one");
    }
    let has_no_body = matches!(found.status, 100..=199 | 204 | 304);
    let lines = whole.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((line[..colon].to_ascii_lowercase(), line[colon + 1..].trim_ascii()))
    });
    let (mut lengths, mut codings) = (0, 0);
    for (name, value) in lines {
        codings += usize::from(name == b"transfer-encoding");
        if name == b"content-length" {
            lengths += 1;
            for value in value.split(|byte| *byte == b',').filter(|_| !has_no_body) {
                let told = std::str::from_utf8(value.trim_ascii()).ok().and_then(|text| text.parse().ok());
                assert_eq!(told, found.length);
            }
        }
    }
    assert!(has_no_body || lengths == 0 || codings == 0, "two ways to find the end");
    assert_eq!(found.length.is_some(), has_no_body || lengths > 0);
    assert!(!found.is_chunked || codings == 1);
});
