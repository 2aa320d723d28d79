//! `--output`: the file appears when it is complete and correct. With `--resume`, a partial
//! download is kept until then, and the next run continues it.
//!
//! Between two runs there are two files: `FILE.part` with the bytes received, and `FILE.part.note`,
//! which describes them. A file with one of these names that this program did not write is never
//! changed. A file that is complete has its version with it, so that a later run need not load it
//! again.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail, ensure};
use byte_stream::{ErrorKind, Stream};
use rustix::fs::{FlockOperation, OFlags, flock};
use sha2::{Digest, Sha256};

use super::name::{name, quoted};
use super::{Cat, ProgressLine, cat_says, report, version, with_digest};
use crate::atomic_file::{AtomicFile, TargetPath};

impl Cat {
    pub(super) fn download(&self, output: &Path) -> Result<ExitCode> {
        let writing = || format!("writing {}", quoted(output));
        if let Some(url) = self.args.inputs.first().filter(|_| self.args.resume) {
            let target = TargetPath::new(output).with_context(writing)?;
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

    fn resumable(&self, url: &OsString, target: TargetPath) -> Result<ExitCode> {
        let digest = self.digest(url)?;
        let mut part = PartFile::open(&target)?;
        let mut result = BodyResult::OtherVersion;
        if let Some(left) = part.left.take() {
            let mut why = "has changed";
            if left.is_of(url) {
                result = self.go_on(url, &mut part, &left, digest)?;
            } else {
                why = "is another URL than that of the existing part";
            }
            if result == BodyResult::OtherVersion {
                cat_says(&name(url), &format!("{why}; it is downloaded from the beginning"));
            }
        } else if let Some(version) = self.version_of_file(target.path(), url, digest) {
            part.begin(url)?;
            result = self.body(url, &part, BodyRequest::Unless(&version), digest);
        }
        if result == BodyResult::OtherVersion {
            part.begin(url)?;
            result = self.body(url, &part, BodyRequest::Whole, digest);
        }
        match result {
            BodyResult::Received => {
                part.file.sync_all()?;
                let (path, file) = (target.path().to_owned(), part.file.try_clone()?);
                let finished =
                    AtomicFile::from_part(target, file, &part.path).and_then(AtomicFile::finish);
                finished.map_err(|error| anyhow!("{error:#}; {}", kept(&part)))?;
                if let Some(version) = part.version() {
                    version::keep(&path, url, &version);
                }
                part.remove();
                return Ok(ExitCode::SUCCESS);
            }
            BodyResult::Unchanged => {
                let file = quoted(target.path());
                cat_says(&name(url), &format!("has not changed since {file} was downloaded"));
                part.remove();
                return Ok(ExitCode::SUCCESS);
            }
            BodyResult::OtherVersion | BodyResult::Failed => {}
        }
        if part.version().is_none() {
            part.remove();
        }
        Ok(ExitCode::FAILURE)
    }

    /// The version of the file, if it is a complete download of this URL, and is what the options
    /// require.
    fn version_of_file(
        &self,
        file: &Path,
        url: &OsString,
        digest: Option<[u8; 32]>,
    ) -> Option<String> {
        let version = version::kept(file, url)?;
        let len = fs::metadata(file).ok()?.len();
        let fits = self.args.limit.is_none_or(|limit| len <= limit)
            && digest.is_none_or(|digest| check_digest(file, digest).is_ok());
        fits.then_some(version)
    }

    /// Resumes the download.
    fn go_on(
        &self,
        url: &OsString,
        part: &mut PartFile,
        left: &PartNote,
        digest: Option<[u8; 32]>,
    ) -> Result<BodyResult> {
        part.cut(left.len)?;
        let result = self.body(url, part, BodyRequest::Rest(left), digest);
        // The digest is of the whole resource, and an earlier run received a part of it.
        if let Some(digest) = digest.filter(|_| result == BodyResult::Received)
            && let Err(error) = check_digest(&part.path, digest)
        {
            report(&error, url);
            part.remove();
            return Ok(BodyResult::Failed);
        }
        Ok(result)
    }

    /// Requests the body, and appends it to the part.
    fn body(
        &self,
        url: &OsString,
        part: &PartFile,
        request: BodyRequest<'_>,
        digest: Option<[u8; 32]>,
    ) -> BodyResult {
        let line = self.args.progress.then(|| ProgressLine::new(url));
        let at = request.first();
        let limit = self.args.limit.map(|limit| limit.saturating_sub(at));
        // Set when the server has answered.
        let noted = Arc::new(Mutex::new(None));
        let mut shows = line.as_ref().map(ProgressLine::shows);
        let grows = noted.clone();
        let opened = self.options(url, limit, None).and_then(|options| {
            let options = options.on_progress(move |progress| {
                if let Some(shows) = &mut shows {
                    shows(progress);
                }
                with(&grows, NotedPart::grown);
            });
            let options = match request {
                BodyRequest::Rest(PartNote { version: Some(version), .. }) => {
                    options.resume_from(at, version)
                }
                BodyRequest::Unless(version) => {
                    with_digest(options, digest).unless_version(version)
                }
                _ => with_digest(options, digest),
            };
            options.open(url.as_os_str())
        });
        let size = |stream: &Stream| stream.choice().size_bytes.map(|size| at + size);
        if let (Ok(stream), BodyRequest::Rest(left)) = (&opened, request)
            && left.size != size(stream)
        {
            return BodyResult::OtherVersion;
        }
        let copied = opened.and_then(|mut stream| {
            let note = PartNote::new(url, stream.validator(), size(&stream));
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = part.noted(note).ok();
            stream.copy_to(&part.file)
        });
        with(&noted, |noted| drop(noted.write()));
        if let Some(line) = line {
            line.end(copied.as_ref().ok().copied());
        }
        let Err(error) = copied else { return BodyResult::Received };
        match (error.kind(), request) {
            (ErrorKind::Unchanged, BodyRequest::Unless(_)) => BodyResult::Unchanged,
            (ErrorKind::Changed, BodyRequest::Rest(_) | BodyRequest::Unless(_)) => {
                BodyResult::OtherVersion
            }
            (kind, _) => {
                report(&error, url);
                if kind == ErrorKind::Digest {
                    part.remove();
                }
                BodyResult::Failed
            }
        }
    }
}

/// The bytes of the resource that are requested.
#[derive(Clone, Copy)]
enum BodyRequest<'a> {
    Whole,
    /// The bytes behind the part that is there.
    Rest(&'a PartNote),
    /// The whole, if it no longer has this version.
    Unless(&'a str),
}

impl BodyRequest<'_> {
    /// The offset of the first byte.
    fn first(self) -> u64 {
        if let BodyRequest::Rest(left) = self { left.len } else { 0 }
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, PartialEq)]
enum BodyResult {
    Received,
    /// The file is of this version.
    Unchanged,
    /// The part that is there is of another version.
    OtherVersion,
    Failed,
}

fn check_digest(path: &Path, digest: [u8; 32]) -> byte_stream::Result<()> {
    let mut stream = Stream::options().expect_sha256(digest).open(path)?;
    stream.for_each_chunk(|_| ControlFlow::<()>::Continue(())).map(drop)
}

/// The message after a failed last step: the path of the bytes, and the way to use them.
fn kept(part: &PartFile) -> String {
    let name = quoted(&part.path);
    let way = if part.version().is_some() {
        "try again with --resume"
    } else {
        "move it from there, as --resume begins again where a server sends neither a strong ETag \
         nor an older Last-Modified"
    };
    format!("the whole download is kept in {name}: {way}")
}

fn with(noted: &Mutex<Option<NotedPart>>, then: impl FnOnce(&mut NotedPart)) {
    if let Some(noted) = noted.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        then(noted);
    }
}

/// The note is updated after this many bytes: at most these are fetched twice if the program is
/// killed.
const NOTED_BYTES: u64 = 1 << 20;
/// The length of the part's last bytes, by which a later run recognizes the part.
const TAIL_BYTES: u64 = 4096;
const MAGIC: &str = "bytelab download 1";
/// Stands in place of a version, which is an `ETag` in quotation marks or a date.
const NO_VERSION: &str = "none";

/// Which bytes the part contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartNote {
    /// The digest of the URL; the URL itself may contain secrets.
    url: String,
    /// Without it nothing can be resumed, and the note only records that the part is ours.
    pub(super) version: Option<String>,
    /// The size of the whole resource, if it is known.
    pub(super) size: Option<u64>,
    pub(super) len: u64,
    tail: String,
}

impl PartNote {
    pub(super) fn new(url: &OsString, version: Option<&str>, size: Option<u64>) -> PartNote {
        let version = version.map(str::to_owned);
        PartNote { url: digest_of(url), version, size, len: 0, tail: hex(b"") }
    }

    fn is_of(&self, url: &OsString) -> bool {
        self.url == digest_of(url)
    }

    /// The numbers have a fixed width, so that a new note of the same version overwrites the old
    /// one in a single write.
    fn to_text(&self) -> String {
        let size = self.size.map_or("unknown".to_owned(), |size| format!("{size:020}"));
        let version = self.version.as_deref().unwrap_or(NO_VERSION);
        let PartNote { url, len, tail, .. } = self;
        let url = format!("url {url}\nversion {version}\nsize {size}");
        format!("{MAGIC}\n{url}\nlength {len:020}\ntail {tail}\n")
    }

    fn from_text(text: &str) -> Option<PartNote> {
        let mut lines = text.strip_prefix(MAGIC)?.strip_prefix('\n')?.lines();
        let mut field = |name| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let url = field("url")?.to_owned();
        let version = Some(field("version")?).filter(|version| *version != NO_VERSION);
        let version = version.map(str::to_owned);
        let size = match field("size")? {
            "unknown" => None,
            size => Some(size.parse().ok()?),
        };
        let len = field("length")?.parse().ok()?;
        Some(PartNote { url, version, size, len, tail: field("tail")?.to_owned() })
    }

    /// Overwrites an earlier note. If the program is killed now, the remainder of a longer note
    /// follows the last field.
    fn write(&self, file: &File) -> io::Result<()> {
        let text = self.to_text();
        file.write_all_at(text.as_bytes(), 0)?;
        file.set_len(text.len() as u64)
    }
}

/// The two files. The note is locked, so that no other run uses them.
pub(super) struct PartFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    note_path: PathBuf,
    note: File,
    /// The note that an earlier run left.
    pub(super) left: Option<PartNote>,
}

impl PartFile {
    pub(super) fn open(target: &TargetPath) -> Result<PartFile> {
        let with = |end: &str| {
            let mut name = OsString::from(target.path());
            name.push(end);
            PathBuf::from(name)
        };
        let (path, note_path) = (with(".part"), with(".part.note"));
        let (note, is_new) = locked(&note_path).with_context(|| quoted(&note_path))?;
        let known = known(&path, &note_path, &note, is_new);
        if is_new && known.is_err() {
            let _ = fs::remove_file(&note_path);
        }
        let (file, left) = known?;
        target.dress(&file)?;
        Ok(PartFile { path, file, note_path, note, left })
    }

    /// Truncates the part to this length; the next bytes are appended there.
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.file.seek(SeekFrom::Start(len)).map(drop)
    }

    /// Discards the existing bytes. From now on a later run recognizes the part as ours, whenever
    /// the program is killed.
    fn begin(&mut self, url: &OsString) -> io::Result<()> {
        PartNote::new(url, None, None).write(&self.note)?;
        self.cut(0)
    }

    /// The version in the note, by which a later run can resume the part.
    fn version(&self) -> Option<String> {
        PartNote::from_text(&text_of(&self.note).ok()?)?.version
    }

    /// Keeps the note up to date from now on.
    fn noted(&self, note: PartNote) -> io::Result<NotedPart> {
        let mut noted =
            NotedPart { part: self.file.try_clone()?, file: self.note.try_clone()?, note, at: 0 };
        noted.write()?;
        Ok(noted)
    }

    /// Removes both files, so that nothing is left for a later run.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.note_path);
    }
}

/// Opens the part and reads the note; fails if one of the files is not ours.
fn known(
    path: &Path,
    note_path: &Path,
    note: &File,
    note_is_new: bool,
) -> Result<(File, Option<PartNote>)> {
    let left = PartNote::from_text(&text_of(note)?);
    if left.is_none() && note.metadata()?.len() > 0 {
        bail!(not_ours(note_path));
    }
    let file = match options().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options().open(path),
        Ok(file) => return Ok((file, None)),
        error => error,
    };
    let file = file.with_context(|| quoted(path))?;
    let len = file.metadata()?.len();
    let is_ours = match &left {
        Some(left) => len >= left.len && tail(&file, left.len)? == left.tail,
        // The files were created, and the program was killed before any bytes arrived.
        None => !note_is_new && len == 0,
    };
    if !is_ours || !file.metadata()?.is_file() {
        bail!(not_ours(path));
    }
    Ok((file, left.filter(|left| left.len > 0 && left.version.is_some())))
}

fn text_of(mut note: &File) -> io::Result<String> {
    let mut text = Vec::new();
    note.rewind()?;
    note.take(1 << 20).read_to_end(&mut text)?;
    Ok(String::from_utf8(text).unwrap_or_default())
}

/// Does not follow links: a link with such a name is not ours.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options
}

/// Updates the note while the part grows.
pub(super) struct NotedPart {
    part: File,
    file: File,
    note: PartNote,
    /// The length recorded in the note.
    at: u64,
}

impl NotedPart {
    /// Errors are ignored: without the note the part cannot be resumed, but the download is not
    /// affected.
    fn grown(&mut self) {
        let len = self.part.metadata().map_or(0, |part| part.len());
        if len >= self.at.saturating_add(NOTED_BYTES) {
            let _ = self.write();
        }
    }

    pub(super) fn write(&mut self) -> io::Result<()> {
        let len = self.part.metadata()?.len();
        self.note.tail = tail(&self.part, len)?;
        (self.note.len, self.at) = (len, len);
        self.note.write(&self.file)
    }
}

/// The locked note, and whether this run created it. Fails if another run holds it.
fn locked(path: &Path) -> Result<(File, bool)> {
    loop {
        let (note, is_new) = match options().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (options().open(path), false)
            }
            made => (made, true),
        };
        let note = match note {
            // Another run has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_new => continue,
            note => note?,
        };
        match flock(&note, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => bail!("another run downloads to this file"),
            locked => locked?,
        }
        // A note that another run has removed since it was opened protects nothing.
        let held = note.metadata()?;
        let there = fs::symlink_metadata(path).ok().map(|there| (there.dev(), there.ino()));
        if there == Some((held.dev(), held.ino())) {
            return Ok((note, is_new));
        }
    }
}

pub(super) fn digest_of(url: &OsStr) -> String {
    hex(url.as_encoded_bytes())
}

fn tail(part: &File, len: u64) -> io::Result<String> {
    let mut bytes = vec![0; len.min(TAIL_BYTES) as usize];
    let start = len - bytes.len() as u64;
    part.read_exact_at(&mut bytes, start)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;

    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn not_ours(path: &Path) -> String {
    let name = quoted(path);
    format!(
        "{name} was not left like this by a download with --resume; remove it, or name another \
         output"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_and_another_text_is_none() {
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        for (version, size) in
            [(None, None), (Some("\"v\""), None), (Some("\"none\""), Some(11)), (date, Some(11))]
        {
            let note = PartNote::new(&"http://u:secret@host/?key=secret".into(), version, size);
            let text = note.to_text();
            assert_eq!(PartNote::from_text(&text), Some(note));
            assert!(!text.contains("secret"));
            for cut in 0..text.len() - "\n".len() {
                let short = PartNote::from_text(&text[..cut]);
                assert!(short.is_none_or(|short| short.tail.len() < 64), "{cut}");
            }
        }
        assert_eq!(PartNote::from_text("mine"), None);
    }
}
