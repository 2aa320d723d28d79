//! JSON that is written entry by entry, so that a million entries need no memory.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::json::to as write_json;

/// A list with one entry on each line.
pub(super) struct Entries<W> {
    out: W,
    is_empty: bool,
}

impl<W: Write> Entries<W> {
    pub(super) fn begin(mut out: W) -> io::Result<Entries<W>> {
        out.write_all(b"[")?;
        Ok(Entries { out, is_empty: true })
    }

    pub(super) fn push(&mut self, entry: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if self.is_empty { b"\n" } else { b",\n" })?;
        self.is_empty = false;
        write_json(&mut self.out, entry)
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.out.write_all(b"\n]")
    }
}
