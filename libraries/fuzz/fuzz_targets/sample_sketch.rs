//! Any bytes as a sketch: an error, or one that is written as it was read, gives its records, and
//! can be merged with another one of the same request.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record_sampler::{ErrorKind, Sketch};

/// All but the digest, which is not verified when fuzzing.
fn body(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - 8]
}

fuzz_target!(|bytes: &[u8]| {
    // Adjacent sketches are tried with each other.
    let halves = bytes.split_at(bytes.len() / 2);
    let sketches = [bytes, halves.0, halves.1].map(|bytes| match Sketch::from_bytes(bytes) {
        Ok(sketch) => {
            assert_eq!(body(&sketch.to_bytes()), body(bytes));
            Some(sketch)
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Malformed);
            None
        }
    });
    for one in sketches.iter().flatten() {
        if let Ok(records) = one.records() {
            assert!(records.concat().len() <= bytes.len());
        }
        for other in sketches.iter().flatten() {
            if let (Ok(one), Ok(other)) =
                (one.clone().merge(other.clone()), other.clone().merge(one.clone()))
            {
                assert_eq!(one.to_bytes(), other.to_bytes());
            }
        }
    }
});
