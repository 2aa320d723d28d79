//! Any bytes as a file with a header that names its parts: no panic, no large allocation; an error
//! of one line, or parts that are in the file.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/experiments/src/loading/table.rs"]
mod table;

fuzz_target!(|bytes: &[u8]| {
    match table::parts(bytes, bytes.len() as u64) {
        Ok(parts) => {
            for part in parts.into_iter().flatten() {
                let end = part.offset.checked_add(part.len);
                assert!(part.len > 0 && end.is_some_and(|end| end <= bytes.len() as u64), "{part:?}");
            }
        }
        Err(error) => assert!(!format!("{error:#}").contains('\n'), "{error:#}"),
    }
});
