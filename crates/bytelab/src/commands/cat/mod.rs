//! `bytelab cat`: copies files and URLs to standard output, as `cat` does. The byte-stream crate
//! does all the I/O.

mod download;
mod line;
mod name;
mod part;
mod show;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use byte_stream::{Error, ErrorKind, Options, Output, Stream};
use clap::{ArgAction, Args};
use lab::param::parse_bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

use self::line::Line;
use self::name::{name, quoted};
use self::show::{ShowArgs, Shown};
use super::context::Context;
use crate::standard_streams::{StandardStream, check};

#[derive(Args)]
#[command(version, display_name = "bytelab cat")]
#[command(disable_version_flag = true, infer_long_args = true)]
pub(crate) struct CatArgs {
    /// Files and URLs (http, https, file); `-` is standard input [default: -]
    #[arg(value_name = "FILE|URL")]
    inputs: Vec<OsString>,
    /// Write to this file, which appears when it is complete; a device or FIFO is written directly
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// If a download fails, keep the received bytes in FILE.part, and resume it the next time if
    /// the version is the same
    #[arg(long, requires = "output")]
    resume: bool,
    /// Fail unless the input has this SHA-256
    #[arg(long, value_name = "HEX", value_parser = digest)]
    sha256: Option<[u8; 32]>,
    /// Fail if the inputs have more bytes than this in total
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| parse_bytes(text))]
    limit: Option<u64>,
    /// Show progress on standard error
    #[arg(long)]
    progress: bool,
    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    http: HttpArgs,
}

#[derive(Args)]
#[command(next_help_heading = "URLs")]
struct HttpArgs {
    /// Send this header as well; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Accept gzip, br or zstd, and decode it
    #[arg(long, conflicts_with = "resume")]
    decode: bool,
    /// Download up to N parts of a large resource at once, if the server supports ranges [1 to 16]
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "decode")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=16))]
    parallel: usize,
    /// Number of retries after failures
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,
    /// Time limit for each URL [default: none]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    time_limit: Option<Duration>,
    /// Trust the certificates in this PEM file as well
    #[arg(long, value_name = "FILE")]
    certificates: Option<PathBuf>,
}

/// Why an input was not copied.
enum Failed {
    /// This input failed; others may succeed.
    Input,
    /// The output failed; no other input can succeed.
    Output,
    /// The reader of the output has closed it.
    BrokenPipe,
}

/// Wrong use exits with status 1, as the POSIX utility does.
pub(crate) fn run(args: CatArgs, _: &Context) -> ExitCode {
    start(args).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "bytelab cat: {error:#}");
        ExitCode::FAILURE
    })
}

fn start(mut args: CatArgs) -> Result<ExitCode> {
    if args.inputs.is_empty() {
        args.inputs.push("-".into());
    }
    let single = args.inputs.len() == 1;
    ensure!(single || args.sha256.is_none(), "--sha256 is of one input; give one");
    let is_one_url = single && is_url(&args.inputs[0]);
    ensure!(is_one_url || !args.resume, "--resume is of one URL; give one");
    let trusted = match &args.http.certificates {
        Some(path) => {
            Some(std::fs::read(path).with_context(|| format!("reading {}", quoted(path)))?)
        }
        None => None,
    };
    let cat = Cat { args, trusted };
    if let Some(path) = &cat.args.output {
        return cat.download(path);
    }
    if let Err(error) = check(StandardStream::Output) {
        cat_says("standard output", &text_of(&error));
        return Ok(ExitCode::FAILURE);
    }
    Ok(cat.all(io::stdout().as_fd()))
}

/// The arguments and the values parsed from them.
struct Cat {
    args: CatArgs,
    trusted: Option<Vec<u8>>,
}

impl Cat {
    /// Copies one input after the other. A failed input does not stop the others.
    fn all(&self, output: BorrowedFd<'_>) -> ExitCode {
        let mut output = match Output::new(&output) {
            Ok(output) => output,
            Err(error) => {
                report(&error, OsStr::new("-"));
                return ExitCode::FAILURE;
            }
        };
        let (mut exit, mut done) = (ExitCode::SUCCESS, 0);
        let mut shown = Shown::new(&self.args.show);
        for input in &self.args.inputs {
            let left = self.args.limit.map(|limit| limit.saturating_sub(done));
            match self.one(input, left, &mut shown, &mut output) {
                Ok(bytes) => done += bytes,
                Err(Failed::Input) => exit = ExitCode::FAILURE,
                Err(Failed::Output) => return ExitCode::FAILURE,
                Err(Failed::BrokenPipe) if self.args.sha256.is_some() => {
                    let text = "the SHA-256 was not checked, as the reader of the output has ended";
                    cat_says(&name(input), text);
                    return ExitCode::FAILURE;
                }
                Err(Failed::BrokenPipe) => return exit,
            }
        }
        let rest = shown.as_mut().map_or(&b""[..], Shown::end);
        match write_all(output.as_fd(), rest) {
            Err(Failed::Output) => ExitCode::FAILURE,
            _ => exit,
        }
    }

    fn one(
        &self,
        input: &OsString,
        limit: Option<u64>,
        shown: &mut Option<Shown>,
        output: &mut Output<'_>,
    ) -> Result<u64, Failed> {
        if input == "-"
            && let Err(error) = check(StandardStream::Input)
        {
            cat_says("-", &text_of(&error));
            return Err(Failed::Input);
        }
        let line = self.args.progress.then(|| Line::new(input));
        let copied = self
            .options(limit, line.as_ref())
            .and_then(|options| self.digested(options).open(input.as_os_str()))
            .map_err(|error| report(&error, input))
            .and_then(|mut stream| match shown {
                None => stream.copy_into(output).map_err(|error| report(&error, input)),
                Some(shown) => show(&mut stream, input, shown, output.as_fd()),
            });
        if let Some(line) = line {
            line.end(copied.as_ref().ok().copied());
        }
        copied
    }

    /// The options of a stream. They do not include the digest, which may be that of several
    /// streams.
    fn options(&self, limit: Option<u64>, line: Option<&Line>) -> byte_stream::Result<Options> {
        let http = &self.args.http;
        let mut options =
            Stream::options().decode(http.decode).retries(http.retries, Duration::from_millis(200));
        options = options.parallel(http.parallel);
        for (name, value) in &http.headers {
            options = options.header(name, value);
        }
        if let Some(pem) = &self.trusted {
            options = options.certificates(pem)?;
        }
        if let Some(time) = http.time_limit {
            options = options.total_limit(time);
        }
        if let Some(limit) = limit {
            options = options.limit_bytes(limit);
        }
        if let Some(line) = line {
            options = options.on_progress(line.shows());
        }
        Ok(options)
    }
}

impl Cat {
    fn digested(&self, options: Options) -> Options {
        match self.args.sha256 {
            Some(digest) => options.expect_sha256(digest),
            None => options,
        }
    }
}

/// Copies the stream in the form that the display options define.
fn show(
    stream: &mut Stream,
    input: &OsString,
    shown: &mut Shown,
    output: BorrowedFd<'_>,
) -> Result<u64, Failed> {
    if is_output(input, output) {
        cat_says(&name(input), "input file is output file");
        return Err(Failed::Input);
    }
    while let Some(chunk) = stream.next_chunk().map_err(|error| report(&error, input))? {
        write_all(output, shown.take(chunk))?;
    }
    Ok(stream.offset())
}

/// Whether the input is the non-empty regular file that is the output: the copy might never end.
fn is_output(input: &OsString, output: BorrowedFd<'_>) -> bool {
    let from = if input == "-" { rustix::fs::fstat(io::stdin()) } else { rustix::fs::stat(input) };
    let (Ok(from), Ok(to)) = (from, rustix::fs::fstat(output)) else { return false };
    let is_file = FileType::from_raw_mode(to.st_mode) == FileType::RegularFile;
    is_file && (from.st_dev, from.st_ino) == (to.st_dev, to.st_ino) && from.st_size > 0
}

fn write_all(output: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Failed> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(0) => {
                cat_says("write error", &text_of(&Errno::IO.into()));
                return Err(Failed::Output);
            }
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut polled = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
                // If `poll` fails, the next write reports the error.
                let _ = poll(&mut polled, None);
            }
            Err(Errno::PIPE) => return Err(Failed::BrokenPipe),
            Err(errno) => {
                cat_says("write error", &text_of(&errno.into()));
                return Err(Failed::Output);
            }
        }
    }
    Ok(())
}

/// Prints one line on standard error, in the words of `cat`.
fn report(error: &Error, input: &OsStr) -> Failed {
    let system = error.io_error();
    if error.is_of_output() && system.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return Failed::BrokenPipe;
    }
    let mut text = system.map_or_else(|| error.message().to_owned(), text_of);
    if error.offset().is_some_and(|at| at > 0) && error.kind() != ErrorKind::Io {
        text = format!("{text} (after {} bytes)", error.offset().unwrap_or(0));
    }
    let what = if error.is_of_output() { "write error".into() } else { name(input) };
    cat_says(&what, &text);
    if error.is_of_output() { Failed::Output } else { Failed::Input }
}

/// The error's text as `cat` prints it, without the number.
fn text_of(error: &io::Error) -> String {
    let mut text = error.to_string();
    if let Some(code) = error.raw_os_error() {
        let end = format!(" (os error {code})");
        text.truncate(text.strip_suffix(&end).unwrap_or(&text).len());
    }
    text
}

fn cat_says(what: &str, text: &str) {
    let _ = writeln!(io::stderr(), "bytelab cat: {what}: {text}");
}

fn is_url(input: &OsString) -> bool {
    let text = input.to_string_lossy().to_ascii_lowercase();
    text.starts_with("http://") || text.starts_with("https://")
}

fn digest(text: &str) -> Result<[u8; 32]> {
    let mut digest = [0; 32];
    ensure!(text.len() == 64 && text.is_ascii(), "a SHA-256 has 64 hex digits");
    for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).context("not hex digits")?;
    }
    Ok(digest)
}

fn header(text: &str) -> Result<(String, String)> {
    let (name, value) = text.split_once(':').context("a header is NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
