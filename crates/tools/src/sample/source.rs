//! The files of the command line as one population.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use record_sampler::{Format, HeaderRule, Layout, Population};

use super::args::SampleArgs;
use super::url::{self, Remote};
use crate::standard_streams::{StandardStream, check};

#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

pub(super) fn population(
    args: &SampleArgs,
    paths: &[PathBuf],
    layout: Layout,
) -> Result<Population> {
    let Layout { format, header, .. } = layout;
    ensure!(
        !args.mixed_headers || header != HeaderRule::None,
        "--mixed-headers is for files that have headers: name their kind, such as --header"
    );
    let is_stdin = paths.is_empty() || paths.iter().any(|path| path == Path::new("-"));
    let mut population = if is_stdin {
        ensure!(
            paths.len() <= 1,
            "standard input cannot be combined with files; name it /dev/stdin"
        );
        check(StandardStream::Input).context("standard input")?;
        // A larger pipe needs fewer system calls; if its size cannot be set, or the input is not a
        // pipe, nothing changes.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(io::stdin(), PIPE_BYTES);
        match redirected() {
            Some(file) => Population::from_file("-", file, format)?,
            None => Population::stream(io::stdin(), format),
        }
    } else if paths.iter().any(|path| url::url(path).is_some()) {
        streams(paths, format)?
    } else {
        Population::open(paths, format)?
    };
    if let Some(bytes) = args.max_record {
        population = population.with_max_record(bytes);
    }
    population = population.with_header_rule(header);
    Ok(if args.mixed_headers { population.with_mixed_headers() } else { population })
}

/// Inputs of which some have a URL: all are read once.
fn streams(paths: &[PathBuf], format: Format) -> Result<Population> {
    let mut population = Population::open([""; 0], format)?;
    for path in paths {
        if let Some(url) = url::url(path) {
            let remote = Remote::new(url?);
            population.push_stream(remote.name(), remote);
        } else {
            let file = File::open(path).with_context(|| path.display().to_string())?;
            population.push_stream(path, file);
        }
    }
    Ok(population)
}

/// Standard input, if it is a regular file that is at its start, which can be read as if it was
/// named.
fn redirected() -> Option<File> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let is_whole = file.metadata().ok()?.is_file() && file.stream_position().ok()? == 0;
    is_whole.then_some(file)
}

/// Expands the arguments: a name without an existing file may be a pattern, whose matches are
/// sorted by name.
pub(super) fn expanded(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for file in files {
        let pattern = file.to_str().filter(|text| text.contains(['*', '?', '[']) && !file.exists());
        let pattern = pattern.filter(|_| url::url(file).is_none());
        let Some(pattern) = pattern else {
            paths.push(file.clone());
            continue;
        };
        let found = glob::glob(pattern).with_context(|| format!("the pattern {pattern}"))?;
        let before = paths.len();
        for path in found {
            let path = path.with_context(|| format!("the pattern {pattern}"))?;
            if path.is_file() {
                paths.push(path);
            }
        }
        ensure!(paths.len() > before, "no file matches {pattern}");
    }
    Ok(paths)
}

/// The total for the progress bar; `None` if it is unknown.
pub(super) fn progress_total_bytes(paths: &[PathBuf], layout: Option<&Layout>) -> Option<u64> {
    let mut size = 0;
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if ["gz", "gzip", "zst", "zstd", "br"].contains(&extension) {
            return None;
        }
        size += path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    }
    let passes = match layout?.format {
        Format::Fixed(_) => 1,
        _ => 2,
    };
    Some(size * passes).filter(|_| !paths.is_empty())
}
