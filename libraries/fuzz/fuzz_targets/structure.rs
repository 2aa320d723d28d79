//! Any choices as a document laid out slot by slot: the check says what plainly written rules say,
//! and what is sound reads as such.

#![no_main]

#[path = "../../fleece-codec/tests/it/structure/faults.rs"]
mod faults;
#[path = "../../fleece-codec/tests/it/structure/generator.rs"]
mod generator;
#[path = "../../fleece-codec/tests/it/structure/oracle.rs"]
mod oracle;
#[path = "../../fleece-codec/tests/it/structure/verdict.rs"]
mod verdict;

use libfuzzer_sys::fuzz_target;

/// Two bytes are one choice; when there are no more, the first option is chosen.
struct Bytes<'b>(&'b [u8]);

impl generator::Choices for Bytes<'_> {
    fn below(&mut self, n: usize) -> usize {
        let Some((pair, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        usize::from(u16::from_le_bytes(*pair)) * n >> 16
    }
}

fuzz_target!(|bytes: &[u8]| {
    verdict::compare(&generator::lay_out(&mut Bytes(bytes)));
});
