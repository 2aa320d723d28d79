//! `--input FILE`, and the paths of the command line. What can be read only once, such as a pipe,
//! is copied before the first run: each run then reads all of it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, absolute};

use anyhow::{Context as _, Result, bail, ensure};
use experiments::TemporaryFolder;
use measure::clock;
use measure::launch::{Stop, is_read_once};
use model::path_text::{from_path, to_path};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::args::BenchArgs;
use crate::commands::note;

/// A larger one is not copied.
const COPIED_MAX_BYTES: u64 = 1 << 30;
/// Nobody writes to a pipe from which nothing comes for so long.
const SILENT_NS: u64 = 60_000_000_000;

/// The standard input of the commands.
#[derive(Default)]
pub(super) struct StandardInput {
    /// None: /dev/null.
    pub(super) path: Option<String>,
    /// The folder of the copy, which is removed on drop.
    _copy: Option<TemporaryFolder>,
}

impl StandardInput {
    pub(super) fn from_args(args: &BenchArgs, stop: &Stop) -> Result<StandardInput> {
        let given = args.streams.input.as_deref().filter(|input| *input != "null");
        let Some(given) = given else { return Ok(StandardInput::default()) };
        let path = existing_path(args, "--input", given)?;
        let found =
            std::fs::metadata(to_path(&path)).with_context(|| format!("--input {given}"))?;
        ensure!(!found.is_dir(), "--input {given}: it is a directory");
        ensure!(!found.file_type().is_socket(), "--input {given}: it is a socket");
        if !is_read_once(&to_path(&path)) {
            return Ok(StandardInput { path: Some(path), _copy: None });
        }
        ensure!(
            !args.results.toml,
            "--input {given}: it can be read only once: for --toml name a file"
        );
        let dir = args.results.keep.data_dir.clone().unwrap_or_else(std::env::temp_dir);
        let folder = TemporaryFolder::new_in(&dir).context("--input")?;
        let copy = folder.path.join("input");
        copied(Path::new(&*to_path(&path)), &copy, stop)
            .with_context(|| format!("--input {given}"))?;
        let path = absolute_path("--input", &model::path_text::from_path(&copy))?;
        Ok(StandardInput { path: Some(path), _copy: Some(folder) })
    }
}

/// Copies what comes until its end.
fn copied(from: &Path, to: &Path, stop: &Stop) -> Result<()> {
    note("the input can be read only once: it is copied until its end")?;
    // Opening a FIFO that nobody writes to would block.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut source = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(from)?;
    let mut copy = File::create_new(to)?;
    let (mut buffer, mut size_bytes) = (vec![0; 1 << 20], 0);
    let mut heard_ns = clock::now_ns();
    loop {
        stop.check()?;
        let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let mut fds = [PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {
                let silent_ns = clock::now_ns().saturating_sub(heard_ns);
                ensure!(
                    size_bytes > 0 || silent_ns < SILENT_NS,
                    "nothing was written to it in {} s",
                    SILENT_NS / 1_000_000_000
                );
                continue;
            }
            Ok(_) => {}
            Err(error) => bail!("waiting for it: {error}"),
        }
        heard_ns = clock::now_ns();
        let n = match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(error)
                if [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::Interrupted]
                    .contains(&error.kind()) =>
            {
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        size_bytes += n as u64;
        ensure!(
            size_bytes <= COPIED_MAX_BYTES,
            "it can be read only once and has more than {}: write it to a file first",
            model::param::bytes(COPIED_MAX_BYTES)
        );
        copy.write_all(&buffer[..n])?;
    }
}

// Paths of the command line as text: a definition is text, and its commands may work elsewhere. One
// that is printed is kept as a file in some folder, where it names the files of that folder: there
// paths stay as they were typed.

/// The path of a file that must exist.
pub(super) fn existing_path(args: &BenchArgs, flag: &str, file: &str) -> Result<String> {
    std::fs::metadata(to_path(file)).with_context(|| format!("{flag} {file}"))?;
    path_of(args, flag, file)
}

/// The path of a file that may not exist.
pub(super) fn path_of(args: &BenchArgs, flag: &str, file: &str) -> Result<String> {
    // With a folder of its own, paths would start there.
    if args.results.toml && args.commands_around.cwd.is_none() {
        return Ok(file.to_owned());
    }
    absolute_path(flag, file)
}

fn absolute_path(flag: &str, file: &str) -> Result<String> {
    let path = absolute(to_path(file)).with_context(|| format!("{flag} {file}"))?;
    Ok(path_text(&path))
}

/// The folder where commands work: that of `--cwd`, else the current one; none in a definition that
/// is printed, whose commands work in the folder of its file.
pub(super) fn working_folder(args: &BenchArgs) -> Result<Option<String>> {
    let Some(dir) = &args.commands_around.cwd else {
        let current = (!args.results.toml).then(std::env::current_dir).transpose();
        let current = current.context("the working directory: change to one that exists")?;
        return Ok(current.map(|dir| path_text(&dir)));
    };
    let found = std::fs::metadata(dir).with_context(|| format!("--cwd {}", dir.display()))?;
    ensure!(found.is_dir(), "--cwd {}: it is not a directory", dir.display());
    if args.results.toml {
        return Ok(Some(path_text(dir)));
    }
    let path = absolute(dir).with_context(|| format!("--cwd {}", dir.display()))?;
    Ok(Some(path_text(&path)))
}

fn path_text(path: &Path) -> String {
    from_path(path).into_owned()
}
