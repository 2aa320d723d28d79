//! The files of `--export-json` and the like: they are opened before anything is measured, to find
//! out whether they can be written, and appear complete or not at all.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use lab::analyze::Analysis;
use lab::run::Run;

use crate::commands::export::{named, parameters, print_notes};
use crate::commands::output::own_metrics;
use crate::console;
use crate::path_arg::path;
use crate::report::TableOptions;
use crate::report::export::{self, Format, Options};
use tools::atomic_file::AtomicFile;

#[derive(Args)]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(super) struct ExportArgs {
    /// Write the times of all runs as hyperfine does (`-`: standard output)
    #[arg(long, value_name = "FILE", value_parser = path())]
    export_json: Option<PathBuf>,
    /// Write all figures as CSV
    #[arg(long, value_name = "FILE", value_parser = path())]
    export_csv: Option<PathBuf>,
    /// Write the table in Markdown
    #[arg(long, value_name = "FILE", value_parser = path())]
    export_markdown: Option<PathBuf>,
    /// Write the table in Asciidoc
    #[arg(long, value_name = "FILE", hide_short_help = true, value_parser = path())]
    export_asciidoc: Option<PathBuf>,
    /// Write the table for Emacs Org mode
    #[arg(long, value_name = "FILE", hide_short_help = true, value_parser = path())]
    export_orgmode: Option<PathBuf>,
}

/// Opened files, each with its format and its flag; none: standard output.
pub(super) struct Exports(Vec<(String, &'static Format, Option<AtomicFile>)>);

impl Exports {
    pub(super) fn create(args: &ExportArgs) -> Result<Exports> {
        let flags = [
            ("--export-json", &args.export_json, "hyperfine"),
            ("--export-csv", &args.export_csv, "csv"),
            ("--export-markdown", &args.export_markdown, "markdown"),
            ("--export-asciidoc", &args.export_asciidoc, "asciidoc"),
            ("--export-orgmode", &args.export_orgmode, "orgmode"),
        ];
        let mut exports = Vec::new();
        for (flag, path, format) in flags {
            let Some(path) = path else { continue };
            let flag = format!("{flag} {}", path.display());
            let is_named = path.as_os_str() != "-";
            let file = is_named.then(|| AtomicFile::create(path)).transpose();
            let file = file.with_context(|| format!("{flag}: cannot be written"))?;
            exports.push((flag, named(format)?, file));
        }
        Ok(Exports(exports))
    }

    pub(super) fn write(
        self,
        run: &Run,
        analysis: &Analysis,
        table: TableOptions<'_>,
    ) -> Result<()> {
        let parameters = parameters(run);
        let own = own_metrics(run);
        let table = TableOptions { own: &own, ..table };
        let options = Options { table, parameters: Some(&parameters) };
        for (flag, format, file) in self.0 {
            let write =
                |out: &mut (dyn Write + Send)| export::write(format, run, analysis, options, out);
            let left_out = match file {
                Some(file) => write(&mut file.file()).and_then(|left_out| {
                    file.finish()?;
                    Ok(left_out)
                }),
                None => write(&mut console::stdout()),
            };
            print_notes(run, &left_out.context(flag)?)?;
        }
        Ok(())
    }
}
