//! `--output`: the file appears when it is complete and correct. With `--resume`, a partial
//! download is kept until then, and the next run continues it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, ensure};
use byte_stream::{ErrorKind, Stream};

use super::line::Line;
use super::name::quoted;
use super::part::{Note, Noted, Part};
use super::{Cat, report, with_digest};
use crate::atomic_file::{AtomicFile, Target};

impl Cat {
    pub(super) fn download(&self, output: &Path) -> Result<ExitCode> {
        let writing = || format!("writing {}", quoted(output));
        if let Some(url) = self.args.inputs.first().filter(|_| self.args.resume) {
            let target = Target::new(output).with_context(writing)?;
            let name = quoted(output);
            ensure!(target.is_regular(), "--resume: {name} is no regular file; leave it out");
            return self.resumable(url, target).with_context(writing);
        }
        let whole = AtomicFile::create(output).with_context(writing)?;
        let ended = self.all(whole.file().as_fd());
        if ended == ExitCode::SUCCESS {
            if whole.target().is_regular() {
                whole.file().sync_all().with_context(writing)?;
            }
            whole.finish().with_context(writing)?;
        }
        Ok(ended)
    }

    fn resumable(&self, url: &OsString, target: Target) -> Result<ExitCode> {
        let digest = self.digest(url)?;
        let mut part = Part::open(&target)?;
        let mut ended = None;
        if let Some(left) = part.left.take() {
            let mut why = "has changed";
            if left.is_of(url) {
                ended = self.go_on(url, &mut part, &left, digest)?;
            } else {
                why = "is another URL than that of the part that is there";
            }
            if ended.is_none() {
                let name = super::name(url);
                let then = "it is downloaded from the beginning";
                let _ = writeln!(io::stderr(), "bytelab cat: {name}: {why}; {then}");
            }
        }
        if ended.is_none() {
            part.begin(url)?;
            ended = self.body(url, &part, None, digest);
        }
        let ended = ended.unwrap_or(ExitCode::FAILURE);
        if ended == ExitCode::SUCCESS {
            part.file.sync_all()?;
            let file = part.file.try_clone()?;
            let finished =
                AtomicFile::from_part(target, file, &part.path).and_then(AtomicFile::finish);
            finished.map_err(|error| anyhow!("{error:#}; {}", kept(&part)))?;
            part.remove();
        } else if !part.has_version() {
            part.remove();
        }
        Ok(ended)
    }

    /// Resumes the download. Returns `None` if the server now has another version.
    fn go_on(
        &self,
        url: &OsString,
        part: &mut Part,
        left: &Note,
        digest: Option<[u8; 32]>,
    ) -> Result<Option<ExitCode>> {
        part.cut(left.len)?;
        let Some(mut ended) = self.body(url, part, Some(left), digest) else {
            return Ok(None);
        };
        // The digest is of the whole resource, and an earlier run received a part of it.
        if let Some(digest) = digest.filter(|_| ended == ExitCode::SUCCESS) {
            let stream = Stream::options().expect_sha256(digest).open(&part.path);
            let checked = stream
                .and_then(|mut stream| stream.for_each_chunk(|_| ControlFlow::<()>::Continue(())));
            if let Err(error) = checked {
                report(&error, url);
                part.remove();
                ended = ExitCode::FAILURE;
            }
        }
        Ok(Some(ended))
    }

    /// Opens the body. Returns `None` if the existing part is of another version.
    fn body(
        &self,
        url: &OsString,
        part: &Part,
        from: Option<&Note>,
        digest: Option<[u8; 32]>,
    ) -> Option<ExitCode> {
        let line = self.args.progress.then(|| Line::new(url));
        let at = from.map_or(0, |left| left.len);
        let limit = self.args.limit.map(|limit| limit.saturating_sub(at));
        // Set when the server has answered.
        let noted = Arc::new(Mutex::new(None));
        let mut shows = line.as_ref().map(Line::shows);
        let grows = noted.clone();
        let opened = self.options(url, limit, None).and_then(|options| {
            let options = options.on_progress(move |progress| {
                if let Some(shows) = &mut shows {
                    shows(progress);
                }
                with(&grows, Noted::grown);
            });
            let options = match from {
                Some(Note { etag: Some(etag), .. }) => options.resume_from(at, etag),
                _ => with_digest(options, digest),
            };
            options.open(url.as_os_str())
        });
        let other_size = |stream: &Stream| {
            let size = stream.choice().size_bytes.map(|size| at + size);
            from.is_some_and(|left| left.size != size)
        };
        if opened.as_ref().is_ok_and(other_size) {
            return None;
        }
        let copied = opened.and_then(|mut stream| {
            let size = stream.choice().size_bytes.map(|size| at + size);
            let note = part.noted(Note::new(url, stream.etag(), size)).ok();
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = note;
            stream.copy_to(&part.file)
        });
        with(&noted, |noted| drop(noted.write()));
        if let Some(line) = line {
            line.end(copied.as_ref().ok().copied());
        }
        match copied {
            Ok(_) => Some(ExitCode::SUCCESS),
            Err(error) if from.is_some() && error.kind() == ErrorKind::Changed => None,
            Err(error) => {
                report(&error, url);
                if error.kind() == ErrorKind::Digest {
                    part.remove();
                }
                Some(ExitCode::FAILURE)
            }
        }
    }
}

/// Where the bytes are after the last step has failed, and what to do with them.
fn kept(part: &Part) -> String {
    let name = quoted(&part.path);
    let way = if part.has_version() {
        "try again with --resume"
    } else {
        "move it from there, as --resume begins again where a server sends no strong ETag"
    };
    format!("the whole download is kept in {name}: {way}")
}

fn with(noted: &Mutex<Option<Noted>>, then: impl FnOnce(&mut Noted)) {
    if let Some(noted) = noted.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        then(noted);
    }
}
