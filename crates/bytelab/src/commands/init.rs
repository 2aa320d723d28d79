//! `bytelab init`: writes an example experiment for the user to edit.

use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use experiments::custom::{EXAMPLE, SCHEMA, is_file_name};
use tools::atomic_file;

use super::{Context, path};
use crate::console;

#[derive(Args)]
pub(crate) struct InitArgs {
    /// The file to write
    #[arg(default_value = "experiment.toml", value_parser = path())]
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Print the JSON Schema of such files, for editors, and write nothing
    #[arg(long, conflicts_with_all = ["file", "force"])]
    schema: bool,
}

pub(crate) fn run(args: &InitArgs, _: &Context) -> Result<ExitCode> {
    let mut out = console::stdout();
    if args.schema {
        out.write_all(SCHEMA.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    write(&args.file, args.force)?;
    let name = args.file.display();
    // Without a slash, only the extension distinguishes a file from an experiment.
    let is_file = is_file_name(&name.to_string());
    let dot = if is_file { "" } else { "./" };
    writeln!(out, "wrote {name}; run it with: bytelab run {dot}{name}")?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the whole file or nothing.
fn write(path: &Path, force: bool) -> Result<()> {
    let writing = || format!("writing {}", path.display());
    if force {
        return atomic_file::write(path, |mut file| Ok(file.write_all(EXAMPLE.as_bytes())?))
            .with_context(writing);
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // The umask is applied to these permissions.
    let builder = builder.prefix(".bytelab-init-").permissions(Permissions::from_mode(0o666));
    let mut file = builder.tempfile_in(dir).with_context(writing)?;
    file.write_all(EXAMPLE.as_bytes()).with_context(writing)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} is there already; --force replaces it", path.display())
        }
        Err(error) => Err(error.error).with_context(writing),
    }
}
