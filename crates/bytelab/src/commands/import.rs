//! `bytelab import`: reads results of other programs and stores them as a run: all of it, or
//! nothing.

use std::fs::{self, File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use model::run::Run;
use report::import::{self, FORMATS, FolderFiles, ImportFormat, ImportedFile};
use store::mark_imported;

use super::{Context, note, path};
use crate::console;

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// The output of another program, or criterion's directory target/criterion
    #[arg(value_name = "FILE|DIR", value_parser = path())]
    path: PathBuf,
    /// The format: hyperfine, google-benchmark, go, criterion, fio, pytest-benchmark, jmh, or json
    /// for bytelab's own [default: detected from the content]
    #[arg(long, value_name = "NAME", value_parser = format)]
    format: Option<ImportFormat>,
    /// A name for the run, to find it again
    #[arg(long)]
    label: Option<String>,
}

fn format(name: &str) -> Result<ImportFormat, String> {
    let found = FORMATS.iter().find(|(known, ..)| *known == name).map(|(_, format, _)| *format);
    found.ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|(name, ..)| *name).collect();
        format!("there is no such format; there are {}", known.join(", "))
    })
}

/// A larger file is not read into memory.
const BYTES_MAX: u64 = 1 << 30;
/// The maximum number of files examined below a directory.
const FILES_MAX: usize = 200_000;
/// The maximum directory depth. Criterion uses four levels: group, function, value, `new`.
const DEPTH_MAX: usize = 12;

pub(crate) fn run(args: &ImportArgs, context: &Context) -> Result<ExitCode> {
    let (mut run, shown) = read_marked(&args.path, args.format)?;
    if args.label.is_some() {
        run.label.clone_from(&args.label);
    }
    let id = context.open_store()?.add(&run)?;
    let samples: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    let by = run.plan.imported.as_ref().map_or("bytelab", |imported| imported.tool.as_str());
    writeln!(
        console::stdout(),
        "run {id}: {} and {}, measured by {}, from {shown}",
        counted(run.cells.len(), "method"),
        counted(samples, "sample"),
        by.escape_debug()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The run in a file or directory, marked as imported, and the name of the file as it is shown.
pub(super) fn read_marked(path: &Path, named: Option<ImportFormat>) -> Result<(Run, String)> {
    // Debug formatting escapes characters that would control the terminal.
    let shown = shown(path);
    let mut run = read(path, named, &shown).with_context(|| shown.clone())?;
    mark_imported(&mut run.environment, &shown);
    Ok((run, shown))
}

fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The name on one line, without characters that control the terminal.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(|c| c.escape_debug().count() > 1) {
        format!("{text:?}")
    } else {
        text.into()
    }
}

fn read(path: &Path, named: Option<ImportFormat>, shown: &str) -> Result<Run> {
    let metadata = fs::metadata(path)?;
    let name = path.to_string_lossy();
    if metadata.is_dir() {
        if let Some(format) = named.filter(|format| *format != ImportFormat::Criterion) {
            bail!("is a directory; {} is one file: name that", format.about());
        }
        let (files, newest) = folder(path)?;
        let written = modification_time(newest.as_ref().unwrap_or(&metadata))?;
        report_guess(named, ImportFormat::Criterion, shown)?;
        return import::folder(&files, &ImportedFile { file: &name, written: &written });
    }
    let kind = metadata.file_type();
    ensure!(!kind.is_block_device() && !kind.is_char_device(), "is a device; name a file");
    let bytes = whole(path)?;
    let format = match named {
        Some(format) => format,
        None => import::guess(&bytes)?,
    };
    report_guess(named, format, shown)?;
    let written = modification_time(&metadata)?;
    import::file(format, &bytes, &ImportedFile { file: &name, written: &written })
}

/// Reports the detected format, so that the user notices a wrong one.
fn report_guess(named: Option<ImportFormat>, format: ImportFormat, shown: &str) -> Result<()> {
    if named.is_none() {
        let (name, about) = (format.name(), format.about());
        note(&format!("{shown}: taken for --format {name} ({about})"))?;
    }
    Ok(())
}

fn whole(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= BYTES_MAX, "is larger than 1 GiB; import a part of it");
    Ok(bytes)
}

/// The modification time as RFC 3339, UTC; 1970 if it is before 1970 or after 9999.
fn modification_time(metadata: &Metadata) -> Result<String> {
    let since = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let time = std::time::UNIX_EPOCH + since.min(std::time::Duration::from_hours(24 * 365 * 8000));
    Ok(humantime::format_rfc3339_seconds(time).to_string())
}

/// The files below a directory that are read, and the metadata of the newest one. Links are not
/// followed.
fn folder(root: &Path) -> Result<(FolderFiles, Option<Metadata>)> {
    let (mut files, mut newest): (FolderFiles, Option<Metadata>) = (Vec::new(), None);
    let mut dirs = vec![(root.to_owned(), 0)];
    let (mut seen, mut bytes) = (0, 0);
    while let Some((dir, depth)) = dirs.pop() {
        let below =
            |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        for entry in fs::read_dir(&dir).with_context(|| format!("{:?}", below(&dir)))? {
            let entry = entry?;
            let path = entry.path();
            let name = below(&path);
            let metadata = entry.metadata().with_context(|| format!("{name:?}"))?;
            seen += 1;
            ensure!(
                seen <= FILES_MAX,
                "more than {FILES_MAX} files below it; name target/criterion"
            );
            if metadata.is_dir() && depth < DEPTH_MAX {
                dirs.push((path, depth + 1));
            } else if metadata.is_file() && import::is_read(&name) {
                let text = whole(&path).with_context(|| format!("{name:?}"))?;
                bytes += text.len() as u64;
                ensure!(bytes <= BYTES_MAX, "more than 1 GiB below it; import a part of it");
                files.push((name, text));
                let newer = newest
                    .as_ref()
                    .is_none_or(|newest| newest.modified().ok() < metadata.modified().ok());
                if newer {
                    newest = Some(metadata);
                }
            }
        }
    }
    Ok((files, newest))
}
