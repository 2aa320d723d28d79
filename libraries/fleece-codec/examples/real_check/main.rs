//! The documents of the test `structure` with the verdict of `Doc::check`, as records for
//! `check.c`, which runs Couchbase's own check on them.
//!
//! `real_check DOCUMENTS SEED > records`; the script `run` beside this file builds and runs both.

#[path = "../../tests/it/structure/faults.rs"]
mod faults;
#[path = "../../tests/it/structure/generator.rs"]
#[expect(dead_code, reason = "all documents are checked with the usual limit of depth")]
mod generator;
#[path = "../../tests/it/structure/random.rs"]
mod random;

use fleece_codec::CheckOptions;
use random::Random;
use std::io::{BufWriter, Result, Write};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        arguments.next().and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (documents, seed) = (number(100_000), number(0));
    let mut out = BufWriter::new(std::io::stdout().lock());
    // The original does not check UTF-8.
    let options = CheckOptions::new().utf8(false);
    for seed in seed..seed.saturating_add(documents) {
        let laid = generator::lay_out(&mut Random(seed));
        // Pointers into a base are broken without it.
        let own = &laid.bytes[laid.start..];
        out.write_all(&(own.len() as u32).to_le_bytes())?;
        out.write_all(&[u8::from(options.check(own).is_ok())])?;
        out.write_all(own)?;
    }
    out.flush()
}
