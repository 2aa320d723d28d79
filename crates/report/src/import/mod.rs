//! Results of other programs as runs: text in, a `Run` out, one file for each format but our own.
//! Pure: reads no clock, file or environment, and stores nothing.

mod criterion;
mod draft;
mod fio;
mod go;
mod google_benchmark;
mod hyperfine;
mod jmh;
mod pytest_benchmark;
mod read;

use anyhow::{Context, Result, bail, ensure};
use model::metric;
use model::run::{Cell, Run, SCHEMA};
use serde::Deserialize;
use serde::de::IgnoredAny;

use self::draft::CELLS_MAX;
pub use self::draft::{FORMATS, FolderFiles, ImportFormat, ImportedFile};

/// The run in a file of this format.
pub fn file(format: ImportFormat, bytes: &[u8], source: &ImportedFile<'_>) -> Result<Run> {
    let text = read::text(bytes)?;
    let run = match format {
        ImportFormat::Go => return go::run(&text, source),
        // A list, and no document that other text may surround.
        ImportFormat::Jmh => return jmh::run(&text, source),
        ImportFormat::Criterion => {
            bail!("a file; criterion's results are a directory, target/criterion: name that")
        }
        ImportFormat::Hyperfine => hyperfine::run,
        ImportFormat::GoogleBenchmark => google_benchmark::run,
        ImportFormat::Fio => fio::run,
        ImportFormat::PytestBenchmark => pytest_benchmark::run,
        ImportFormat::Json => |text: &str, _: &ImportedFile<'_>| own_document(text),
    };
    let document = read::find_document(&text)?;
    let mut run = run(&document.json, source)?;
    run.notes.extend(document.notes);
    Ok(run)
}

/// The run in a directory; only criterion writes one.
pub fn folder(files: &FolderFiles, source: &ImportedFile<'_>) -> Result<Run> {
    criterion::run(files, source)
}

/// Whether a file of such a directory is read.
pub fn is_read(path: &str) -> bool {
    criterion::is_read(path)
}

/// Detects the format from the content.
pub fn guess(bytes: &[u8]) -> Result<ImportFormat> {
    let text = read::text(bytes)?;
    if go::is_test2json(&text) {
        return Ok(ImportFormat::Go);
    }
    if jmh::is_jmh(&text) {
        return Ok(ImportFormat::Jmh);
    }
    match read::find_document(&text).and_then(|document| by_keys(&document.json)) {
        Ok(Some(format)) => Ok(format),
        // A benchmark may print what looks like a document.
        _ if go::has_result(&text) => Ok(ImportFormat::Go),
        Ok(None) => bail!("{UNKNOWN}"),
        Err(error) => Err(error),
    }
}

/// The format of a document, by the keys that it has.
fn by_keys(json: &str) -> Result<Option<ImportFormat>> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Keys {
        schema: Option<IgnoredAny>,
        cells: Option<IgnoredAny>,
        results: Option<IgnoredAny>,
        context: Option<IgnoredAny>,
        machine_info: Option<IgnoredAny>,
        benchmarks: Option<IgnoredAny>,
        jobs: Option<IgnoredAny>,
        client_stats: Option<IgnoredAny>,
        #[serde(rename = "fio version")]
        fio: Option<IgnoredAny>,
    }
    if !json.trim_start().starts_with('{') {
        return Ok(None);
    }
    let (json, _) = read::without_nan(json);
    let keys: Keys = match read::json(&json) {
        Ok(keys) => keys,
        // The format's own reader reports the position better.
        Err(error) => return guess_truncated(&json).ok_or(error).map(Some),
    };
    Ok(if keys.schema.is_some() && keys.cells.is_some() {
        Some(ImportFormat::Json)
    } else if keys.fio.is_some() || keys.jobs.is_some() || keys.client_stats.is_some() {
        Some(ImportFormat::Fio)
    } else if keys.benchmarks.is_some() && keys.context.is_some() {
        Some(ImportFormat::GoogleBenchmark)
    } else if keys.benchmarks.is_some() && keys.machine_info.is_some() {
        Some(ImportFormat::PytestBenchmark)
    } else {
        keys.results.map(|_| ImportFormat::Hyperfine)
    })
}

/// The format of an incomplete document, by keys that only one format has.
fn guess_truncated(json: &str) -> Option<ImportFormat> {
    let has = |key: &str| json.contains(key);
    let all = [
        (has("\"schema\"") && has("\"cells\""), ImportFormat::Json),
        (has("\"fio version\""), ImportFormat::Fio),
        (has("\"benchmarks\"") && has("\"context\""), ImportFormat::GoogleBenchmark),
        (has("\"benchmarks\"") && has("\"machine_info\""), ImportFormat::PytestBenchmark),
        (has("\"results\"") && has("\"command\""), ImportFormat::Hyperfine),
    ];
    all.into_iter().find_map(|(is, format)| is.then_some(format))
}

const UNKNOWN: &str = "not of a known format: hyperfine, google-benchmark, fio, pytest-benchmark, jmh and json are JSON documents, go has lines \
                       that begin with Benchmark, criterion is a directory; --format NAME says which it is";

// Our own document, from `bytelab export --format json`: the stored run. It is imported
// unchanged, with its facts about the machine and about who measured it.

#[derive(Deserialize)]
struct DocumentHead {
    schema: u32,
    /// Only present in the output of `show --json`.
    #[serde(default)]
    families: Option<IgnoredAny>,
}

fn own_document(text: &str) -> Result<Run> {
    let head: DocumentHead = read::json(text)?;
    ensure!(
        head.schema <= SCHEMA,
        "it was written by a newer bytelab (schema {}, known here is {SCHEMA}): update bytelab",
        head.schema
    );
    if head.families.is_some() {
        bail!(
            "what `show --json` prints, which lacks a part of the run: use `bytelab export --format json`"
        );
    }
    let mut run: Run = read::json(text)?;
    humantime::parse_rfc3339(&run.started)
        .with_context(|| format!("started: {:?} is no time in UTC", run.started))?;
    ensure!(!run.experiment.is_empty(), "experiment is empty");
    ensure!(
        !run.experiment.contains(char::is_control),
        "experiment: {:?} has a control character",
        run.experiment
    );
    for (name, n) in [("cells", run.cells.len()), ("points", run.points.len())] {
        ensure!(n <= CELLS_MAX, "{n} {name} are too many: at most {CELLS_MAX}");
    }
    for (at, cell) in run.cells.iter().enumerate() {
        check_cell(cell).with_context(|| format!("cells[{at}]"))?;
    }
    run.id = String::new();
    Ok(run)
}

fn check_cell(cell: &Cell) -> Result<()> {
    let n = cell.samples.len();
    for (name, column) in &cell.values {
        let found = column.iter().len();
        ensure!(found == n, "values[{name:?}] has {found} values for {n} samples");
        for (i, value) in column.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let key = || format!("values[{name:?}][{i}]");
            if metric::is_known(name) {
                read::amount(*value, key)?;
            } else {
                read::finite(*value, key)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
