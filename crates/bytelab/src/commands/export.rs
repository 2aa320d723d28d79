//! `bytelab export`: writes a stored run in a format that other programs read.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{analyze, judge_answers};
use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiments::custom;
use model::run::{Cell, Pass, Run};
use report::TableOptions;
use report::export::{self, ExportFormat, ExportOptions, FORMATS, FormatKind, Parameters};
use tools::atomic_file;

use super::output::own_metrics;
use super::{Context, load_run, note, path};
use crate::redaction::Redaction;
use crate::{console, measuring};

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// The run: its id, its label, or `latest`, the newest
    #[arg(default_value = store::LATEST)]
    id: String,
    /// The format [default: from the extension of the file]
    #[arg(short, long, value_parser = format(), value_name = "FORMAT")]
    format: Option<&'static ExportFormat>,
    /// In Markdown, also write how it was measured, and all notes
    #[arg(long)]
    notes: bool,
    /// Write the run to give it to others: without names, labels, answers, paths and what programs
    /// print; `bytelab compare RUN FILE.json` reads it
    #[arg(long, conflicts_with = "format")]
    contribute: bool,
    /// Write this file (`-`: to standard output, the default)
    #[arg(short, long, value_name = "FILE", value_parser = path())]
    output: Option<PathBuf>,
}

/// Parses the flag's value: the name of a format.
fn format() -> impl TypedValueParser<Value = &'static ExportFormat> {
    let value = |known: &ExportFormat| PossibleValue::new(known.name).help(known.about);
    PossibleValuesParser::new(FORMATS.map(value)).try_map(|name| named(&name))
}

pub(super) fn named(name: &str) -> Result<&'static ExportFormat> {
    let found = FORMATS.into_iter().find(|known| known.name == name);
    found.with_context(|| format!("there is no format {name}"))
}

pub(crate) fn run(args: &ExportArgs, context: &Context) -> Result<ExitCode> {
    let mut store = context.open_store()?;
    let path = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let format = match (args.format, path) {
        _ if args.contribute => named("json")?,
        (Some(format), _) => format,
        (None, Some(path)) => guess(path)?,
        (None, None) => bail!("name a format: --format {}", names(|_| true)),
    };
    let run = load_run(store.as_mut(), &args.id)?;
    let run = if args.contribute { contribution(run)? } else { run };
    let analysis = if format.is_of_samples { judge_answers(&run) } else { analyze(&run) };
    let parameters = parameters(&run);
    let own = own_metrics(&run);
    let table = TableOptions { own: &own, ..TableOptions::default() };
    let options = ExportOptions { table, parameters: Some(&parameters), notes: args.notes };
    let left_out = match path {
        Some(path) => {
            atomic_file::write(path, |file| export::write(format, &run, &analysis, options, file))
                .with_context(|| format!("-o {}", path.display()))?
        }
        None if format.kind == FormatKind::Binary && io::stdout().is_terminal() => {
            bail!("{} is nothing to look at: name a file with -o", format.name)
        }
        // Names of others are in it, and a file has them byte by byte.
        None if io::stdout().is_terminal() => {
            let mut text = Vec::new();
            let left_out = export::write(format, &run, &analysis, options, &mut text)?;
            let text = report::escape_controls_in_lines(&String::from_utf8_lossy(&text));
            console::stdout().write_all(text.as_bytes())?;
            left_out
        }
        None => export::write(format, &run, &analysis, options, console::stdout())?,
    };
    print_notes(&run, &left_out)?;
    if let Some(path) = path {
        note(&written(&run, format, path))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The formats with a line for each sample.
const OF_SAMPLES: [&str; 3] = ["csv", "tsv", "parquet"];

/// What is in the file.
fn written(run: &Run, format: &ExportFormat, path: &Path) -> String {
    let (name, path) = (format.name, path.display());
    if !OF_SAMPLES.contains(&name) {
        return format!("run {} as {name} in {path}", run.id);
    }
    let of_pass = |pass| run.cells.iter().map(|cell| cell.n(pass)).sum::<usize>();
    let methods: BTreeSet<&str> = run.cells.iter().map(|cell| cell.method.as_str()).collect();
    let noun = if run.is_bench() { "command" } else { "method" };
    let plural = if methods.len() == 1 { "" } else { "s" };
    let counting = match of_pass(Pass::Counting) {
        0 => String::new(),
        n => format!(" (+ {n} counting)"),
    };
    let (samples, methods) = (of_pass(Pass::Timing), methods.len());
    format!("{samples} samples of {methods} {noun}{plural}{counting} in {path}")
}

/// The run as it may be given to others.
fn contribution(run: Run) -> Result<Run> {
    ensure!(
        run.plan.definition.is_none() && run.plan.imported.is_none(),
        "run {} is not of an experiment of bytelab's own: without its commands and names it \
         would say nothing; export it with --format json",
        run.id
    );
    let own = measuring::built_in(&run);
    Ok(Redaction::contribution().apply(run, own.as_ref()))
}

/// The format from the extension, if only one format has that extension.
pub(super) fn guess(path: &Path) -> Result<&'static ExportFormat> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let extension = extension.unwrap_or_default();
    let found = FORMATS.into_iter().find(|known| known.extensions.contains(&extension.as_str()));
    match found {
        Some(known) => Ok(known),
        None if extension == "json" => {
            bail!(
                "-o {}: several formats are JSON: --format {}",
                path.display(),
                names(|known| known.kind == FormatKind::Json)
            )
        }
        None => bail!(
            "-o {}: its name does not say which format is wanted: --format {}",
            path.display(),
            names(|_| true)
        ),
    }
}

fn names(which: impl Fn(&ExportFormat) -> bool) -> String {
    let names = FORMATS.into_iter().filter(|known| which(known)).map(|known| known.name);
    names.collect::<Vec<_>>().join("|")
}

/// More messages than this do not help the reader.
const SENTENCES: usize = 20;

/// The parameters of the commands of `bytelab bench`.
pub(super) fn parameters(run: &Run) -> Parameters {
    let text = run.plan.definition.as_ref().map(|definition| definition.text.as_str());
    text.map(custom::parameters).unwrap_or_default()
}

pub(super) fn print_notes(run: &Run, left_out: &[String]) -> io::Result<()> {
    let mut err = console::stderr();
    if !run.complete {
        writeln!(err, "bytelab: run {} is not complete: not all of it was measured", run.id)?;
    }
    if !run.cells.iter().any(Cell::has_figures) {
        writeln!(err, "bytelab: no method of run {} was measured", run.id)?;
    }
    for sentence in left_out.iter().take(SENTENCES) {
        writeln!(err, "bytelab: {sentence}")?;
    }
    if left_out.len() > SENTENCES {
        writeln!(err, "bytelab: … and {} more like these", left_out.len() - SENTENCES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &str) {
        let got = match guess(Path::new(path)) {
            Ok(format) => format.name.to_owned(),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn the_extension_says_the_format_where_only_one_has_it() {
        check("a/b.csv", "csv");
        check("b.TSV", "tsv");
        check("b.md", "markdown");
        check("b.adoc", "asciidoc");
        check("b.org", "orgmode");
        check("b.parquet", "parquet");
        check("b.hlog", "hdrhistogram");
        check(
            "b.json",
            "-o b.json: several formats are JSON: --format \
             json|hyperfine|google-benchmark|github-action-benchmark",
        );
        check(
            "b",
            "-o b: its name does not say which format is wanted: --format \
             json|csv|tsv|parquet|markdown|asciidoc|orgmode|hyperfine|google-benchmark|go|\
             github-action-benchmark|openmetrics|hdrhistogram",
        );
    }
}
