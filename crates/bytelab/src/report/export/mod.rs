//! Runs in the formats of other programs, a file each, and in our own. All but our own hold only samples that
//! count: no warm-up, and none that was not in the asked state of the cache.

mod cells;
mod columns;
mod entries;
mod github_action;
mod go;
mod google_benchmark;
mod hdrhistogram;
mod hyperfine;
mod jmh;
mod json;
mod markdown;
mod openmetrics;
mod parquet;
mod separated;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use anyhow::Result;
use lab::analyze::Analysis;
use lab::run::Run;

use self::cells::Exported;

pub(super) use self::markdown::escaped;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Csv,
    Tsv,
    Parquet,
    Markdown,
    Hyperfine,
    GoogleBenchmark,
    Go,
    Jmh,
    GithubActionBenchmark,
    Openmetrics,
    Hdrhistogram,
}

pub(crate) struct Known {
    pub(crate) format: Format,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Of files that hold this and nothing else that is known here.
    pub(crate) extensions: &'static [&'static str],
}

const fn known(
    format: Format,
    name: &'static str,
    extensions: &'static [&'static str],
    about: &'static str,
) -> Known {
    Known { format, name, about, extensions }
}

pub(crate) const FORMATS: [Known; 12] = [
    known(Format::Json, "json", &[], "bytelab's own: the whole run, for `bytelab import`"),
    known(Format::Csv, "csv", &["csv"], "a line per sample"),
    known(
        Format::Tsv,
        "tsv",
        &["tsv"],
        "a line per sample; \\t, \\n, \\r and \\\\ stand for these",
    ),
    known(Format::Parquet, "parquet", &["parquet"], "a row per sample, in typed columns"),
    known(Format::Markdown, "markdown", &["md", "markdown"], "the tables as they are shown"),
    known(Format::Hyperfine, "hyperfine", &[], "JSON as of hyperfine --export-json"),
    known(Format::GoogleBenchmark, "google-benchmark", &[], "JSON as of --benchmark_out"),
    known(Format::Go, "go", &[], "text as of go test -bench, for benchstat"),
    known(Format::Jmh, "jmh", &[], "JSON as of JMH's -rf json"),
    known(
        Format::GithubActionBenchmark,
        "github-action-benchmark",
        &[],
        "JSON of customSmallerIsBetter",
    ),
    known(Format::Openmetrics, "openmetrics", &["openmetrics"], "text that Prometheus reads"),
    known(Format::Hdrhistogram, "hdrhistogram", &["hlog"], "an HdrHistogram log (V2), in ns"),
];

/// Writes the run, and gives a sentence for each thing that the format has no place for.
pub(crate) fn write(
    format: Format,
    run: &Run,
    analysis: &Analysis,
    mut out: impl Write + Send,
) -> Result<Vec<String>> {
    let mut out = io::BufWriter::with_capacity(1 << 16, &mut out);
    let exported = Exported::of(run, analysis);
    let left_out = match format {
        Format::Json => json::write(run, &mut out)?,
        Format::Csv => separated::write(&exported, separated::CSV, &mut out)?,
        Format::Tsv => separated::write(&exported, separated::TSV, &mut out)?,
        Format::Parquet => parquet::write(&exported, &mut out)?,
        Format::Markdown => markdown::write(run, analysis, &mut out)?,
        Format::Hyperfine => hyperfine::write(&exported, &mut out)?,
        Format::GoogleBenchmark => google_benchmark::write(&exported, &mut out)?,
        Format::Go => go::write(&exported, &mut out)?,
        Format::Jmh => jmh::write(&exported, &mut out)?,
        Format::GithubActionBenchmark => github_action::write(&exported, &mut out)?,
        Format::Openmetrics => openmetrics::write(&exported, &mut out)?,
        Format::Hdrhistogram => hdrhistogram::write(&exported, &mut out)?,
    };
    out.flush()?;
    Ok(left_out)
}
