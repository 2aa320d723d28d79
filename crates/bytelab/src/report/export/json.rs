//! Our own document: the stored run with every sample, and nothing derived from it. `show --json`
//! prints derived values, and not all of the run.

use std::io::{self, Write};

use lab::run::Run;
use serde::Serialize;

use super::{Format, Kind};
use crate::report::json::to as write_json;

pub(super) const FORMAT: Format = Format {
    name: "json",
    about: "bytelab's own: the whole run, for `bytelab import`",
    extensions: &[],
    kind: Kind::Json,
    write: |exported, out| Ok(write(exported.run, out)?),
};

#[derive(Serialize)]
struct Document<'a> {
    /// Identifies this document to readers.
    bytelab: &'static str,
    #[serde(flatten)]
    run: &'a Run,
}

pub(super) fn write(run: &Run, mut out: impl Write) -> io::Result<Vec<String>> {
    write_json(&mut out, &Document { bytelab: "run", run })?;
    writeln!(out)?;
    Ok(Vec::new())
}
