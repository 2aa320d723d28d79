//! The files, URLs and objects of the command line as one population. URLs and objects are read
//! once, from start to end, but for those with an index and those of Parquet.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use byte_stream::decode::Encoding;
use byte_stream::{Address, Connections, Options, S3, Stream};
use record_sampler::{Format, HeaderRule, Layout, LayoutChoice, Population, ReadAt};

use super::args::SampleArgs;
use super::read_ahead::{OBJECT_BYTES, ReadAhead};
use super::remote_file::RemoteFile;
use crate::remote::{check_object, is_object, is_pattern, is_url, matched};
use crate::standard_streams::{StandardStream, check};

#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// How URLs and objects are requested: by connections that are used again, with keys that are
/// looked for once.
#[derive(Clone)]
pub(super) struct RemoteAccess {
    s3: S3,
    connections: Connections,
}

impl RemoteAccess {
    fn new(signs: bool) -> RemoteAccess {
        let s3 = S3::from_environment();
        let s3 = if signs { s3 } else { s3.anonymous() };
        RemoteAccess { s3, connections: Connections::new() }
    }

    pub(super) fn options(&self) -> Options {
        Stream::options().s3(&self.s3).connections(&self.connections)
    }
}

/// What the arguments name.
pub(super) struct Inputs {
    /// Files, URLs and objects in order.
    pub(super) paths: Vec<PathBuf>,
    /// Whether each is an object that a list shows to be small.
    are_small: Vec<bool>,
    /// Made for the first URL: files need none.
    access: OnceCell<RemoteAccess>,
    /// Whether requests to buckets are signed.
    signs: bool,
}

impl Inputs {
    /// Expands the arguments: a name without an existing file may be a pattern, whose matches are
    /// sorted by name.
    pub(super) fn new(args: &SampleArgs) -> Result<Inputs> {
        let mut inputs = Inputs {
            paths: Vec::new(),
            are_small: Vec::new(),
            access: OnceCell::new(),
            signs: !args.no_sign_request,
        };
        for argument in &args.files {
            let name = argument.as_os_str();
            if is_object(name) {
                check_object(name)?;
            }
            if is_pattern(name) {
                for object in matched(name, inputs.access().options())? {
                    inputs.paths.push(object.url.into());
                    inputs.are_small.push(object.size_bytes <= OBJECT_BYTES);
                }
            } else if is_url(name) {
                inputs.paths.push(argument.clone());
            } else {
                inputs.paths.extend(expanded(argument)?);
            }
            inputs.are_small.resize(inputs.paths.len(), false);
        }
        Ok(inputs)
    }

    fn access(&self) -> &RemoteAccess {
        self.access.get_or_init(|| RemoteAccess::new(self.signs))
    }

    /// All as files that are read at any offset.
    pub(super) fn remote_files(&self) -> Result<Vec<(PathBuf, Box<dyn ReadAt>)>> {
        let blocks = Arc::default();
        let file = |(number, path): (usize, &PathBuf)| -> Result<(PathBuf, Box<dyn ReadAt>)> {
            let url = url(path).with_context(|| {
                let name = path.display();
                format!("{name} is a file: it is not read together with parts of URLs")
            })?;
            let name = Address::from(url).name();
            let opened = RemoteFile::open(self.access(), url, number, &blocks);
            let opened = opened.with_context(|| name.clone())?;
            Ok((name.into(), Box::new(opened)))
        };
        self.paths.iter().enumerate().map(file).collect()
    }

    /// Whether any of them is on another machine.
    pub(super) fn are_remote(&self) -> bool {
        self.paths.iter().any(|path| url(path).is_some())
    }

    /// All as readers, each of which is read once.
    fn streams(&self) -> Result<Vec<(PathBuf, Box<dyn Read + Send>)>> {
        let with_sizes = || self.paths.iter().zip(&self.are_small);
        let small = with_sizes().filter(|(_, is_small)| **is_small);
        let small = small.map(|(path, _)| path.to_string_lossy().into_owned()).collect();
        let mut small = ReadAhead::readers(self.access(), small).into_iter();
        let mut inputs: Vec<(PathBuf, Box<dyn Read + Send>)> = Vec::new();
        for (path, is_small) in with_sizes() {
            let of_list = if *is_small { small.next() } else { None };
            if let Some(reader) = of_list {
                inputs.push((path.clone(), Box::new(reader)));
            } else if let Some(url) = url(path) {
                let remote = RemoteReader::new(url.to_owned(), self.access().clone());
                inputs.push((remote.name().into(), Box::new(remote)));
            } else {
                let file = File::open(path).with_context(|| path.display().to_string())?;
                inputs.push((path.clone(), Box::new(file)));
            }
        }
        Ok(inputs)
    }
}

/// The population, and the layout of its inputs.
pub(super) fn population(
    args: &SampleArgs,
    choice: &LayoutChoice,
    inputs: &Inputs,
) -> Result<(Population, Layout)> {
    let paths = &inputs.paths;
    let is_stdin = paths.is_empty() || paths.iter().any(|path| path == Path::new("-"));
    let (mut population, layout) = if is_stdin {
        ensure!(
            paths.len() <= 1,
            "standard input cannot be combined with files; name it /dev/stdin"
        );
        check(StandardStream::Input).context("standard input")?;
        // A larger pipe needs fewer system calls; if its size cannot be set, or the input is not a
        // pipe, nothing changes.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(io::stdin(), PIPE_BYTES);
        if let Some(file) = redirected() {
            choice.open_file("-", file)?
        } else {
            let stdin: Box<dyn Read + Send> = Box::new(io::stdin());
            choice.open_streams([(PathBuf::from("-"), stdin)])?
        }
    } else if inputs.are_remote() && args.index {
        choice.open_remote(inputs.remote_files()?)?
    } else if inputs.are_remote() {
        choice.open_streams(inputs.streams()?)?
    } else {
        choice.open(paths)?
    };
    ensure!(
        !args.mixed_headers || layout.header != HeaderRule::None,
        "--mixed-headers is for files that have headers: name their kind, such as --header"
    );
    if let Some(bytes) = args.max_record {
        population = population.with_max_record(bytes);
    }
    Ok((if args.mixed_headers { population.with_mixed_headers() } else { population }, layout))
}

/// Standard input, if it is a regular file that is at its start, which can be read as if it was
/// named.
fn redirected() -> Option<File> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let is_whole = file.metadata().ok()?.is_file() && file.stream_position().ok()? == 0;
    is_whole.then_some(file)
}

/// The file, or those that the pattern matches if there is no such file.
fn expanded(file: &Path) -> Result<Vec<PathBuf>> {
    let pattern = file.to_str().filter(|text| text.contains(['*', '?', '[']) && !file.exists());
    let Some(pattern) = pattern else { return Ok(vec![file.to_owned()]) };
    let found = glob::glob(pattern).with_context(|| format!("the pattern {pattern}"))?;
    let mut paths = Vec::new();
    for path in found {
        let path = path.with_context(|| format!("the pattern {pattern}"))?;
        if path.is_file() {
            paths.push(path);
        }
    }
    ensure!(!paths.is_empty(), "no file matches {pattern}");
    Ok(paths)
}

/// The total for the progress bar; `None` if it is unknown.
pub(super) fn progress_total_bytes(paths: &[PathBuf], layout: Option<&Layout>) -> Option<u64> {
    let mut size = 0;
    for path in paths {
        if Encoding::from_path(path).is_some() {
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

/// The URL that the argument is, that of an object included.
pub(super) fn url(argument: &Path) -> Option<&str> {
    argument.to_str().filter(|text| is_url(OsStr::new(text)))
}

/// A reader of a URL, which is requested when the first byte is needed, so that no connection waits
/// while others are read.
struct RemoteReader {
    url: String,
    access: RemoteAccess,
    stream: Option<Stream>,
}

impl RemoteReader {
    fn new(url: String, access: RemoteAccess) -> RemoteReader {
        RemoteReader { url, access, stream: None }
    }

    /// The URL without a password.
    fn name(&self) -> String {
        Address::from(self.url.as_str()).name()
    }
}

impl Read for RemoteReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            closed => {
                let opened = self.access.options().open(self.url.as_str());
                closed.insert(opened.map_err(|error| nameless(&error))?)
            }
        };
        let read = stream.read(buffer);
        read.map_err(|error| match error.downcast::<byte_stream::Error>() {
            Ok(error) => nameless(&error),
            Err(error) => error,
        })
    }
}

/// The error without the name and the offset, which the sampler adds.
pub(super) fn nameless(error: &byte_stream::Error) -> io::Error {
    let kind = error.io_error().map(io::Error::kind);
    // A broken pipe is one of the output, whose reader has seen enough.
    let kind = kind.filter(|kind| *kind != io::ErrorKind::BrokenPipe);
    io::Error::new(kind.unwrap_or(io::ErrorKind::Other), error.message().to_owned())
}
