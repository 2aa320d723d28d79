//! `bytelab cat`: copies files and URLs to standard output, as `cat` does. The byte-stream crate
//! does all the I/O.

mod download;
mod name;
mod options;
mod show;
mod version;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use byte_stream::{Error, ErrorKind, Options, Output, Progress, S3, Stream, parse_bytes};
use clap::{ArgAction, Args};
use indicatif::{ProgressBar, ProgressStyle};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

use self::name::name;
use self::options::{HttpArgs, HttpSettings, Sha256Sums, digest};
use self::show::{ShowArgs, ShowFilter};
use crate::escape_controls;
use crate::remote::{is_object, is_pattern, is_url, matched};
use crate::standard_streams::{StandardStream, check};

#[derive(Args, Default)]
#[cfg_attr(test, derive(Debug))]
#[command(version, display_name = "bytelab cat")]
#[command(disable_version_flag = true, infer_long_args = true)]
pub struct CatArgs {
    /// Files, URLs (http, https, file) and objects of buckets (`s3://BUCKET/KEY`, or a pattern of
    /// keys); `-` is standard input [default: -]
    #[arg(value_name = "FILE|URL")]
    inputs: Vec<OsString>,
    /// Write to this file, which appears when it is complete; a device or FIFO is written directly
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// If a download fails, keep the received bytes in FILE.part, and resume it the next time if
    /// the version is the same; if FILE is there already, load it only if it has changed
    #[arg(long, requires = "output")]
    resume: bool,
    /// Fail unless the input has this SHA-256
    #[arg(long, value_name = "HEX", value_parser = digest)]
    sha256: Option<[u8; 32]>,
    /// Fail unless each input has the SHA-256 that this file, written by sha256sum, has for its
    /// name
    #[arg(long, value_name = "SUMS", conflicts_with = "sha256")]
    sha256_file: Option<PathBuf>,
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

impl CatArgs {
    /// The arguments of a command line that consists of names, without the parser: describing the
    /// options to it takes longer than copying a small file. `None` if there is an option.
    pub fn of_names(words: &[OsString]) -> Option<CatArgs> {
        if words.iter().any(|word| word.as_bytes().starts_with(b"-")) {
            return None;
        }
        Some(CatArgs { inputs: words.to_vec(), ..CatArgs::default() })
    }
}

/// The reason why an input was not copied.
enum CopyFailure {
    /// This input failed; others may succeed.
    Input,
    /// The output failed; no other input can succeed.
    Output,
    /// The reader of the output has closed it.
    BrokenPipe,
}

/// Wrong use exits with status 1, as the POSIX utility does.
pub fn run(args: CatArgs) -> ExitCode {
    start(args).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "bytelab cat: {}", escape_controls(&format!("{error:#}")));
        ExitCode::FAILURE
    })
}

fn start(mut args: CatArgs) -> Result<ExitCode> {
    if args.inputs.is_empty() {
        args.inputs.push("-".into());
    }
    let s3 = args.http.s3();
    if args.inputs.iter().any(|input| is_pattern(input)) {
        args.inputs = matched_objects(&args, &s3)?;
    }
    let single = args.inputs.len() == 1;
    ensure!(single || args.sha256.is_none(), "--sha256 is for one input; give only one");
    let is_one_url = single && is_url(&args.inputs[0]);
    ensure!(is_one_url || !args.resume, "--resume is for one URL; give only one");
    let urls = args.inputs.iter().filter(|input| is_url(input)).count();
    args.http.check_inputs(urls, args.inputs.len() - urls)?;
    let has_object = args.inputs.iter().any(|input| is_object(input));
    let is_signed = !args.http.no_sign_request;
    ensure!(has_object || is_signed, "--no-sign-request is for objects of buckets; give one");
    let http = HttpSettings::new(&args.http, s3, urls)?;
    let sums = args.sha256_file.as_deref().map(Sha256Sums::read).transpose()?;
    let cat = Cat { args, http, sums };
    if let Some(path) = &cat.args.output {
        return cat.download(path);
    }
    if let Err(error) = check(StandardStream::Output) {
        cat_says("standard output", &text_of(&error));
        return Ok(ExitCode::FAILURE);
    }
    Ok(cat.all(io::stdout().as_fd()))
}

/// The inputs, in which patterns of objects are replaced by those that they match.
fn matched_objects(args: &CatArgs, s3: &S3) -> Result<Vec<OsString>> {
    let http = HttpSettings::new(&args.http, s3.clone(), args.inputs.len())?;
    let mut inputs = Vec::new();
    for input in &args.inputs {
        if is_pattern(input) {
            let found = matched(input, http.options(&args.http)?)?;
            inputs.extend(found.into_iter().map(|object| OsString::from(object.url)));
        } else {
            inputs.push(input.clone());
        }
    }
    Ok(inputs)
}

/// The arguments and the values parsed from them.
struct Cat {
    args: CatArgs,
    http: HttpSettings,
    sums: Option<Sha256Sums>,
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
        let mut shown = ShowFilter::new(&self.args.show);
        for input in &self.args.inputs {
            let left = self.args.limit.map(|limit| limit.saturating_sub(done));
            match self.one(input, left, &mut shown, &mut output) {
                Ok(bytes) => done += bytes,
                Err(CopyFailure::Input) => exit = ExitCode::FAILURE,
                Err(CopyFailure::Output) => return ExitCode::FAILURE,
                Err(CopyFailure::BrokenPipe)
                    if self.args.sha256.is_some() || self.sums.is_some() =>
                {
                    let text = "the SHA-256 was not checked, as the reader of the output has ended";
                    cat_says(&name(input), text);
                    return ExitCode::FAILURE;
                }
                Err(CopyFailure::BrokenPipe) => return self.left(exit),
            }
        }
        let rest = shown.as_mut().map_or(&b""[..], ShowFilter::end);
        match write_all(output.as_fd(), rest) {
            Err(CopyFailure::Output) => ExitCode::FAILURE,
            Err(CopyFailure::BrokenPipe) => self.left(exit),
            _ => exit,
        }
    }

    /// The reader of the output has ended: a failure if the user named that output.
    fn left(&self, exit: ExitCode) -> ExitCode {
        let Some(path) = &self.args.output else { return exit };
        cat_says(&name(path.as_os_str()), &text_of(&Errno::PIPE.into()));
        ExitCode::FAILURE
    }

    fn one(
        &self,
        input: &OsString,
        limit: Option<u64>,
        shown: &mut Option<ShowFilter>,
        output: &mut Output<'_>,
    ) -> Result<u64, CopyFailure> {
        if input == "-"
            && let Err(error) = check(StandardStream::Input)
        {
            cat_says("-", &text_of(&error));
            return Err(CopyFailure::Input);
        }
        let digest = self.digest(input).map_err(|error| {
            cat_says(&name(input), &format!("{error:#}"));
            CopyFailure::Input
        })?;
        let line = self.args.progress.then(|| ProgressLine::new(input));
        // The name of a file may be a URL only if it has a colon.
        let may_be_url = || input.as_bytes().contains(&b':');
        let is_plain = limit.is_none() && digest.is_none() && line.is_none() && shown.is_none();
        if is_plain && input != "-" && !may_be_url() {
            return output.copy_path(input).map_err(|error| report(&error, input));
        }
        let copied = self
            .options(input, limit, line.as_ref())
            .and_then(|options| with_digest(options, digest).open(input.as_os_str()))
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

    /// The options of a stream.
    fn options(
        &self,
        input: &OsStr,
        limit: Option<u64>,
        line: Option<&ProgressLine>,
    ) -> byte_stream::Result<Options> {
        let mut options =
            if is_url(input) { self.http.options(&self.args.http)? } else { Stream::options() };
        if let Some(limit) = limit {
            options = options.limit_bytes(limit);
        }
        if let Some(line) = line {
            options = options.on_progress(line.shows());
        }
        Ok(options)
    }

    /// The expected digest of an input.
    fn digest(&self, input: &OsStr) -> Result<Option<[u8; 32]>> {
        match &self.sums {
            Some(sums) => sums.digest(input).map(Some),
            None => Ok(self.args.sha256),
        }
    }
}

fn with_digest(options: Options, digest: Option<[u8; 32]>) -> Options {
    match digest {
        Some(digest) => options.expect_sha256(digest),
        None => options,
    }
}

/// Copies the stream in the form that the display options define.
fn show(
    stream: &mut Stream,
    input: &OsString,
    shown: &mut ShowFilter,
    output: BorrowedFd<'_>,
) -> Result<u64, CopyFailure> {
    if is_output(input, output) {
        cat_says(&name(input), "input file is output file");
        return Err(CopyFailure::Input);
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

fn write_all(output: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), CopyFailure> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(0) => {
                cat_says("write error", &text_of(&Errno::IO.into()));
                return Err(CopyFailure::Output);
            }
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut polled = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
                // If `poll` fails, the next write reports the error.
                let _ = poll(&mut polled, None);
            }
            Err(Errno::PIPE) => return Err(CopyFailure::BrokenPipe),
            Err(errno) => {
                cat_says("write error", &text_of(&errno.into()));
                return Err(CopyFailure::Output);
            }
        }
    }
    Ok(())
}

/// Prints one line on standard error, in the words of `cat`.
fn report(error: &Error, input: &OsStr) -> CopyFailure {
    // The text of the system is only a part of what happened to a connection.
    let system = error.io_error().filter(|_| error.kind() == ErrorKind::Io);
    if error.is_of_output() && system.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return CopyFailure::BrokenPipe;
    }
    let mut text = system.map_or_else(|| error.message().to_owned(), text_of);
    if error.kind() == ErrorKind::Unframed {
        text += "; --accept-unframed accepts it, and --sha256 detects a truncated one";
    }
    if error.offset().is_some_and(|at| at > 0) && error.kind() != ErrorKind::Io {
        text = format!("{text} (after {} bytes)", error.offset().unwrap_or(0));
    }
    let what = if error.is_of_output() { "write error".into() } else { name(input) };
    cat_says(&what, &text);
    if error.is_of_output() { CopyFailure::Output } else { CopyFailure::Input }
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
    let _ = writeln!(io::stderr(), "bytelab cat: {}", escape_controls(&format!("{what}: {text}")));
}

/// The progress line of `--progress` on standard error; if that is not a terminal, one line at the
/// end.
struct ProgressLine {
    bar: ProgressBar,
    name: String,
}

impl ProgressLine {
    fn new(input: &OsString) -> ProgressLine {
        let name = name::name(input);
        let bar = ProgressBar::no_length();
        let template = "{msg} {bytes}/{total_bytes} {wide_bar} {binary_bytes_per_sec} {eta}";
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(name.clone());
        ProgressLine { bar, name }
    }

    /// The callback that is called for each chunk.
    fn shows(&self) -> impl FnMut(Progress) + Send + 'static {
        let bar = self.bar.clone();
        move |progress| {
            if bar.length() != progress.total_bytes {
                bar.set_length(progress.total_bytes.unwrap_or(0));
            }
            bar.set_position(progress.done_bytes);
        }
    }

    fn end(self, bytes: Option<u64>) {
        self.bar.finish_and_clear();
        if let Some(bytes) = bytes.filter(|_| !io::stderr().is_terminal()) {
            let _ = writeln!(io::stderr(), "bytelab cat: {}: {bytes} bytes", self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    #[test]
    fn names_alone_are_what_the_parser_returns() {
        for line in ["", "a", "a http://host/b c"] {
            let words: Vec<OsString> =
                line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect();
            let command = CatArgs::augment_args(Command::default()).no_binary_name(true);
            let mut matches = command.try_get_matches_from(&words).unwrap();
            let parsed = CatArgs::from_arg_matches_mut(&mut matches).unwrap();
            let of_names = CatArgs::of_names(&words).unwrap();
            assert_eq!(format!("{of_names:?}"), format!("{parsed:?}"), "{line}");
        }
        assert!(CatArgs::of_names(&["a".into(), "-b".into()]).is_none());
    }
}
