//! Runs in the formats of other programs, one file for each, and in our own. All except our own
//! contain only counted samples: no warm-up, and none in another cache state than the requested
//! one.

mod cells;
pub(crate) mod check;
mod columns;
mod entries;
mod format;
mod github_action;
mod go;
mod google_benchmark;
mod hdrhistogram;
mod hyperfine;
mod jmh;
mod json;
mod markdown;
mod markup;
pub(crate) mod numbers;
mod openmetrics;
mod options;
mod parquet;
mod separated;
mod tables;

use std::io::{self, Write};

use anyhow::Result;
use lab::analyze::Analysis;
use lab::run::Run;

use self::cells::Exported;
pub(crate) use self::format::{Format, Kind};
pub(crate) use self::options::{Options, Parameters};

pub(crate) const FORMATS: [&Format; 14] = [
    &json::FORMAT,
    &separated::CSV_FORMAT,
    &separated::TSV_FORMAT,
    &parquet::FORMAT,
    &markdown::FORMAT,
    &tables::ASCIIDOC_FORMAT,
    &tables::ORGMODE_FORMAT,
    &hyperfine::FORMAT,
    &google_benchmark::FORMAT,
    &go::FORMAT,
    &jmh::FORMAT,
    &github_action::FORMAT,
    &openmetrics::FORMAT,
    &hdrhistogram::FORMAT,
];

/// Writes the run, and returns a sentence for each item that the format cannot represent.
pub(crate) fn write(
    format: &Format,
    run: &Run,
    analysis: &Analysis,
    options: Options<'_>,
    mut out: impl Write + Send,
) -> Result<Vec<String>> {
    let mut out = io::BufWriter::with_capacity(1 << 16, &mut out);
    let exported = Exported { options, ..Exported::new(run, analysis) };
    let left_out = (format.write)(&exported, &mut out)?;
    out.flush()?;
    Ok(left_out)
}

#[cfg(test)]
mod tests;
