//! The files and URLs of the command line as one population. URLs are read once, from start to end.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use byte_stream::decode::Encoding;
use byte_stream::{Address, Stream};
use record_sampler::{Format, HeaderRule, Layout, LayoutChoice, Population};

use super::args::SampleArgs;
use crate::standard_streams::{StandardStream, check};

#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// The population, and the layout of its inputs.
pub(super) fn population(
    args: &SampleArgs,
    choice: &LayoutChoice,
    paths: &[PathBuf],
) -> Result<(Population, Layout)> {
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
    } else if paths.iter().any(|path| url(path).is_some()) {
        choice.open_streams(streams(paths)?)?
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

/// Inputs with URLs among them: all are read once.
fn streams(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Box<dyn Read + Send>)>> {
    let mut inputs: Vec<(PathBuf, Box<dyn Read + Send>)> = Vec::new();
    for path in paths {
        if let Some(url) = url(path) {
            let remote = RemoteReader::new(url?);
            inputs.push((remote.name().into(), Box::new(remote)));
        } else {
            let file = File::open(path).with_context(|| path.display().to_string())?;
            inputs.push((path.clone(), Box::new(file)));
        }
    }
    Ok(inputs)
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
        let pattern = pattern.filter(|_| url(file).is_none());
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

/// The server of a bucket, which is read without a signature, unless `AWS_ENDPOINT_URL` names
/// another one.
const S3: &str = "https://BUCKET.s3.amazonaws.com";

/// The URL that the argument is, that of an object of a bucket included.
pub(super) fn url(argument: &Path) -> Option<Result<String>> {
    let text = argument.to_str()?;
    let (scheme, rest) = text.split_once(':')?;
    let rest = rest.strip_prefix("//")?;
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => Some(Ok(text.to_owned())),
        "s3" => Some(object(rest, std::env::var("AWS_ENDPOINT_URL").ok().as_deref())),
        _ => None,
    }
}

/// A reader of a URL, which is requested when the first byte is needed, so that no connection waits
/// while others are read.
pub(super) struct RemoteReader {
    url: String,
    stream: Option<Stream>,
}

impl RemoteReader {
    pub(super) fn new(url: String) -> RemoteReader {
        RemoteReader { url, stream: None }
    }

    /// The URL without a password.
    pub(super) fn name(&self) -> String {
        Address::from(self.url.as_str()).name()
    }
}

impl Read for RemoteReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            closed => closed.insert(Stream::open(self.url.as_str())?),
        };
        stream.read(buffer)
    }
}

fn object(text: &str, endpoint: Option<&str>) -> Result<String> {
    let (bucket, key) = text.split_once('/').context("an object is s3://BUCKET/KEY")?;
    if bucket.is_empty() || key.is_empty() {
        bail!("an object is s3://BUCKET/KEY");
    }
    let key = percent_encoding::utf8_percent_encode(key, KEPT);
    Ok(match endpoint {
        Some(endpoint) => format!("{}/{bucket}/{key}", endpoint.trim_end_matches('/')),
        None => format!("{}/{key}", S3.replace("BUCKET", bucket)),
    })
}

/// All but letters, digits and the characters that separate or end a name.
const KEPT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_of_a_bucket_has_a_url() {
        let object_url = |text, endpoint| object(text, endpoint).unwrap();
        assert_eq!(object_url("b/a/c d.csv", None), "https://b.s3.amazonaws.com/a/c%20d.csv");
        assert_eq!(object_url("b/a", Some("http://localhost:9/")), "http://localhost:9/b/a");
        for text in ["b", "b/", "/a"] {
            assert_eq!(object(text, None).unwrap_err().to_string(), "an object is s3://BUCKET/KEY");
        }
        assert!(url(Path::new("a://b")).is_none() && url(Path::new("a/b?c")).is_none());
        let text = "HTTPS://host/a?b=*";
        assert_eq!(url(Path::new(text)).unwrap().unwrap(), text);
    }
}
