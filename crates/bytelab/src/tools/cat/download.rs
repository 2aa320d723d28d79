//! `--output`: the bytes go to `FILE.part`, which becomes `FILE` when it is whole and right. `--resume` goes on
//! with a part whose version `FILE.part.etag` tells.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use byte_stream::{ErrorKind, Stream};

use super::line::Line;
use super::{Cat, tell};

/// The part, and the note that tells its version.
struct Part {
    path: PathBuf,
    note: PathBuf,
}

impl Part {
    fn of(output: &Path) -> Part {
        let with = |end: &str| {
            let mut name = OsString::from(output);
            name.push(end);
            PathBuf::from(name)
        };
        Part { path: with(".part"), note: with(".part.etag") }
    }

    /// Its length and version, if it can be gone on with.
    fn left(&self) -> Option<(u64, String)> {
        let len = fs::metadata(&self.path).ok()?.len();
        let etag = fs::read_to_string(&self.note).ok()?;
        (len > 0).then_some((len, etag))
    }

    fn open(&self, at: u64) -> io::Result<File> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(false).open(&self.path)?;
        file.set_len(at)?;
        file.seek(SeekFrom::Start(at))?;
        Ok(file)
    }

    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.note);
    }
}

impl Cat {
    pub(super) fn download(&self, output: &Path) -> Result<ExitCode> {
        let part = Part::of(output);
        let writing = || format!("writing {}", part.path.display());
        let resumable = match self.args.inputs.as_slice() {
            [url] => is_url(url).then_some(url),
            _ => None,
        };
        let ended = if let Some(url) = resumable {
            self.resumable(url, &part).with_context(writing)?
        } else {
            let file = part.open(0).with_context(writing)?;
            self.all(file.as_fd())
        };
        if ended == ExitCode::SUCCESS {
            File::open(&part.path).and_then(|file| file.sync_all()).with_context(writing)?;
            fs::rename(&part.path, output).with_context(|| {
                format!("renaming {} to {}", part.path.display(), output.display())
            })?;
            let _ = fs::remove_file(&part.note);
        } else if !part.note.exists() {
            part.remove();
        }
        Ok(ended)
    }

    fn resumable(&self, url: &OsString, part: &Part) -> io::Result<ExitCode> {
        if let Some((at, etag)) = part.left().filter(|_| self.args.resume) {
            if let Some(ended) = self.go_on(url, part, at, &etag)? {
                return Ok(ended);
            }
            let name = super::name(url);
            writeln!(io::stderr(), "bytelab cat: {name}: has changed; beginning anew")?;
        }
        part.remove();
        let file = part.open(0)?;
        Ok(self.body(url, &file, part, None).unwrap_or(ExitCode::FAILURE))
    }

    /// None if the server has another version now.
    fn go_on(
        &self,
        url: &OsString,
        part: &Part,
        at: u64,
        etag: &str,
    ) -> io::Result<Option<ExitCode>> {
        let file = part.open(at)?;
        let Some(mut ended) = self.body(url, &file, part, Some((at, etag))) else {
            return Ok(None);
        };
        // The digest is of the whole, and a part of it was here before.
        if let Some(digest) = self.args.sha256.filter(|_| ended == ExitCode::SUCCESS) {
            let checked =
                Stream::options().expect_sha256(digest).open(&part.path).and_then(|mut stream| {
                    stream.for_each_chunk(|_| std::ops::ControlFlow::<()>::Continue(()))
                });
            if let Err(error) = checked {
                tell(&error, url);
                part.remove();
                ended = ExitCode::FAILURE;
            }
        }
        Ok(Some(ended))
    }

    /// None if what is there already is of another version.
    fn body(
        &self,
        url: &OsString,
        file: &File,
        part: &Part,
        from: Option<(u64, &str)>,
    ) -> Option<ExitCode> {
        let line = self.args.progress.then(|| Line::new(url));
        let at = from.map_or(0, |(at, _)| at);
        let limit = self.args.limit.map(|limit| limit.saturating_sub(at));
        let opened = self.options(limit, line.as_ref()).and_then(|options| {
            let options = match from {
                Some((at, etag)) => options.resume_from(at, etag),
                None => self.digested(options),
            };
            options.open(url.as_os_str())
        });
        let copied = opened.and_then(|mut stream| {
            if let Some(etag) = stream.etag() {
                // Without the note the part cannot be resumed: that is all.
                let _ = fs::write(&part.note, etag);
            }
            stream.copy_to(file)
        });
        if let Some(line) = line {
            line.end(copied.as_ref().ok().copied());
        }
        match copied {
            Ok(_) => Some(ExitCode::SUCCESS),
            Err(error) if from.is_some() && error.kind() == ErrorKind::Changed => None,
            Err(error) => {
                tell(&error, url);
                if error.kind() == ErrorKind::Digest {
                    part.remove();
                }
                Some(ExitCode::FAILURE)
            }
        }
    }
}

fn is_url(input: &OsString) -> bool {
    let text = input.to_string_lossy().to_ascii_lowercase();
    text.starts_with("http://") || text.starts_with("https://")
}
