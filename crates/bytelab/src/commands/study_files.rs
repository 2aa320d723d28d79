//! The files of a study: its page with the author's figures redrawn, these figures as SVG, and the
//! page in Markdown. Each file appears complete or not at all.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use report::study::{self, DrawnFigure, StudyReport};

use super::path;
use super::report::{ensure_page, write, write_svg};

#[derive(Args)]
pub(crate) struct StudyFilesArgs {
    /// For a study: also write a page with the author's figures redrawn
    #[arg(long, value_name = "FILE.html", value_parser = path())]
    report: Option<PathBuf>,
    /// For a study: also write these figures as SVG files; the directory is created if it does not
    /// exist
    #[arg(long, value_name = "DIR", value_parser = path())]
    svg: Option<PathBuf>,
    /// For a study: also write its page in Markdown
    #[arg(long, value_name = "FILE.md", value_parser = path())]
    export_markdown: Option<PathBuf>,
}

type StudyText = fn(&StudyReport<'_>) -> String;

impl StudyFilesArgs {
    pub(crate) fn is_empty(&self) -> bool {
        self.report.is_none() && self.svg.is_none() && self.export_markdown.is_none()
    }

    /// Fails early: after a measurement it would be too late.
    pub(crate) fn ensure_directories(&self) -> Result<()> {
        if let Some(page) = &self.report {
            ensure_page("--report", page)?;
        }
        for (flag, path, _) in self.files() {
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            ensure!(
                dir.is_none_or(Path::is_dir),
                "{flag} {}: its directory does not exist; create it",
                path.display()
            );
        }
        Ok(())
    }

    /// The flag of each file that is one text, its path, and what makes the text.
    fn files(&self) -> impl Iterator<Item = (&'static str, &Path, StudyText)> {
        let files: [(&'static str, &Option<PathBuf>, StudyText); 2] = [
            ("--report", &self.report, page),
            ("--export-markdown", &self.export_markdown, study::markdown),
        ];
        files.into_iter().filter_map(|(flag, path, text)| Some((flag, path.as_deref()?, text)))
    }

    pub(crate) fn write(&self, report: &StudyReport<'_>) -> Result<()> {
        for (flag, path, text) in self.files() {
            write(path, &text(report)).with_context(|| format!("{flag} {}", path.display()))?;
        }
        if let Some(dir) = &self.svg {
            let files = study::files(report);
            ensure!(!files.is_empty(), "--svg: there is nothing to draw");
            write_svg(dir, &files).with_context(|| format!("--svg {}", dir.display()))?;
        }
        Ok(())
    }
}

fn page(report: &StudyReport<'_>) -> String {
    let drawn = report.study.figures.iter().filter_map(|drawing| {
        let svg = study::figure(report, drawing)?;
        Some(DrawnFigure { title: &drawing.title, caption: study::caption(drawing), svg })
    });
    let figures: Vec<DrawnFigure<'_>> = drawn.collect();
    study::page(report, &figures)
}
