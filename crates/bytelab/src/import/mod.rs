//! Results of other programs as runs: text in, a `Run` out, one file for each format. Pure: reads
//! no clock, file or environment, and stores nothing.

mod bytelab_json;
mod criterion;
mod document;
mod draft;
mod fio;
mod format;
mod go;
mod google_benchmark;
mod hyperfine;
mod read;
#[cfg(test)]
mod tests;

use anyhow::{Result, bail};
use lab::run::Run;
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(crate) use self::format::{FORMATS, Folder, Format, Source};

/// The run in a file of this format.
pub(crate) fn file(format: Format, bytes: &[u8], source: &Source<'_>) -> Result<Run> {
    let text = read::text(bytes)?;
    let run = match format {
        Format::Go => return go::run(&text, source),
        Format::Criterion => {
            bail!("a file; criterion's results are a directory, target/criterion: name that")
        }
        Format::Hyperfine => hyperfine::run,
        Format::GoogleBenchmark => google_benchmark::run,
        Format::Fio => fio::run,
        Format::Json => |text: &str, _: &Source<'_>| bytelab_json::run(text),
    };
    let document = document::find(&text)?;
    let mut run = run(&document.json, source)?;
    run.notes.extend(document.notes);
    Ok(run)
}

/// The run in a directory; only criterion writes one.
pub(crate) fn folder(files: &Folder, source: &Source<'_>) -> Result<Run> {
    criterion::run(files, source)
}

/// Whether a file of such a directory is read.
pub(crate) fn is_read(path: &str) -> bool {
    criterion::is_read(path)
}

/// Detects the format from the content.
pub(crate) fn guess(bytes: &[u8]) -> Result<Format> {
    let text = read::text(bytes)?;
    if go::is_test2json(&text) {
        return Ok(Format::Go);
    }
    match document::find(&text).and_then(|document| by_keys(&document.json)) {
        Ok(Some(format)) => Ok(format),
        // A benchmark may print what looks like a document.
        _ if go::has_result(&text) => Ok(Format::Go),
        Ok(None) => bail!("{UNKNOWN}"),
        Err(error) => Err(error),
    }
}

/// The format of a document, by the keys that it has.
fn by_keys(json: &str) -> Result<Option<Format>> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Keys {
        schema: Option<IgnoredAny>,
        cells: Option<IgnoredAny>,
        results: Option<IgnoredAny>,
        context: Option<IgnoredAny>,
        benchmarks: Option<IgnoredAny>,
        jobs: Option<IgnoredAny>,
        client_stats: Option<IgnoredAny>,
        #[serde(rename = "fio version")]
        fio: Option<IgnoredAny>,
    }
    if !json.trim_start().starts_with('{') {
        return Ok(None);
    }
    let (json, _) = document::without_nan(json);
    let keys: Keys = match read::json(&json) {
        Ok(keys) => keys,
        // The format's own reader reports the position better.
        Err(error) => return broken(&json).ok_or(error).map(Some),
    };
    Ok(if keys.schema.is_some() && keys.cells.is_some() {
        Some(Format::Json)
    } else if keys.fio.is_some() || keys.jobs.is_some() || keys.client_stats.is_some() {
        Some(Format::Fio)
    } else if keys.benchmarks.is_some() && keys.context.is_some() {
        Some(Format::GoogleBenchmark)
    } else {
        keys.results.map(|_| Format::Hyperfine)
    })
}

/// The format of an incomplete document, by keys that only one format has.
fn broken(json: &str) -> Option<Format> {
    let has = |key: &str| json.contains(key);
    let all = [
        (has("\"schema\"") && has("\"cells\""), Format::Json),
        (has("\"fio version\""), Format::Fio),
        (has("\"benchmarks\"") && has("\"context\""), Format::GoogleBenchmark),
        (has("\"results\"") && has("\"command\""), Format::Hyperfine),
    ];
    all.into_iter().find_map(|(is, format)| is.then_some(format))
}

const UNKNOWN: &str = "not of a known format: hyperfine, google-benchmark, fio and json are JSON documents, go has lines \
                       that begin with Benchmark, criterion is a directory; --format NAME says which it is";
