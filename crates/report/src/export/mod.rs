//! Runs in the formats of other programs, one file for each, and in our own. All except our own
//! contain only counted samples: no warm-up, and none in another cache state than the requested
//! one.

mod asciidoc;
mod format;
mod github_action;
mod go;
mod google_benchmark;
mod hdrhistogram;
mod hyperfine;
pub(crate) mod junit;
pub(crate) mod markdown;
mod markup;
mod openmetrics;
mod orgmode;
mod parquet;
mod separated;

use std::io::{self, Write};

use analysis::Analysis;
use anyhow::Result;
use model::run::Run;
use serde::Serialize;

use self::format::Exported;
pub use self::format::{ExportFormat, ExportOptions, FormatKind};
use crate::json::to as write_json;
pub use crate::views::rows::Parameters;

pub const FORMATS: [&ExportFormat; 13] = [
    &JSON_FORMAT,
    &separated::CSV_FORMAT,
    &separated::TSV_FORMAT,
    &parquet::FORMAT,
    &markdown::FORMAT,
    &asciidoc::FORMAT,
    &orgmode::FORMAT,
    &hyperfine::FORMAT,
    &google_benchmark::FORMAT,
    &go::FORMAT,
    &github_action::FORMAT,
    &openmetrics::FORMAT,
    &hdrhistogram::FORMAT,
];

/// Writes the run, and returns a sentence for each item that the format cannot represent.
pub fn write(
    format: &ExportFormat,
    run: &Run,
    analysis: &Analysis,
    options: ExportOptions<'_>,
    mut out: impl Write + Send,
) -> Result<Vec<String>> {
    let mut out = io::BufWriter::with_capacity(1 << 16, &mut out);
    let exported = Exported { options, ..Exported::new(run, analysis) };
    let left_out = (format.write)(&exported, &mut out)?;
    out.flush()?;
    Ok(left_out)
}

/// Our own document: the stored run with every sample, and nothing derived from it. `show --json`
/// prints derived values, and not all of the run.
const JSON_FORMAT: ExportFormat = ExportFormat {
    name: "json",
    about: "bytelab's own: the whole run, for `bytelab import`",
    extensions: &[],
    kind: FormatKind::Json,
    is_of_samples: true,
    write: |exported, out| Ok(write_document(exported.run, out)?),
};

#[derive(Serialize)]
struct ExportedDocument<'a> {
    /// Identifies this document to readers.
    bytelab: &'static str,
    #[serde(flatten)]
    run: &'a Run,
}

fn write_document(run: &Run, mut out: impl Write) -> io::Result<Vec<String>> {
    write_json(&mut out, &ExportedDocument { bytelab: "run", run })?;
    writeln!(out)?;
    Ok(Vec::new())
}

#[cfg(test)]
mod tests;
