//! `bytelab sample`: draws random records of files and streams, with the library `record-sampler`.

mod args;
mod output;
mod read_ahead;
mod remote_file;
mod source;

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use record_sampler::{Error, ErrorKind, Population, Sampler, Stats};

use crate::standard_streams::{StandardStream, check};
use crate::{escape_controls, handle_signal};
pub use args::SampleArgs;
use args::SplitPart;
use output::{Manifest, Output};
use source::Inputs;

const FAILED: u8 = 1;
const WRONG_USE: u8 = 2;

/// Draws a sample, or prints one line with the reason for the failure. A closed standard output is
/// a success; an output that the user named is not.
pub fn run(args: &SampleArgs) -> ExitCode {
    let error = match draw(args) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    let known = error.downcast_ref::<Error>();
    let is_left = known.is_some_and(|error| error.io_kind() == Some(io::ErrorKind::BrokenPipe));
    let only_prints = args.split.is_none() && args.output.is_none() && args.manifest.is_none();
    if is_left && only_prints {
        return ExitCode::SUCCESS;
    }
    let mut text = format!("{error:#}");
    text.push_str(match known.map(Error::kind) {
        Some(ErrorKind::TooFew) if args.count.is_some() => "; --at-most takes all of them",
        Some(ErrorKind::MixedHeaders) => "; --mixed-headers takes them together",
        Some(ErrorKind::TooLarge) => " by --max-record",
        Some(ErrorKind::NeedsFile) if matches!(args.count, Some(args::CountFlag::Share(_))) => {
            ", or -p P for each record by chance: -p 1 takes all of them"
        }
        Some(ErrorKind::BadDelimiter) => "; --delimiter names another one",
        _ => "",
    });
    let _ = writeln!(io::stderr(), "bytelab sample: {}", escape_controls(&text));
    let is_wrong_use = |kind| matches!(kind, ErrorKind::BadRequest | ErrorKind::NeedsFile);
    let is_data = known.is_some_and(|error| !is_wrong_use(error.kind()));
    let is_system = error.downcast_ref::<io::Error>().is_some();
    ExitCode::from(if is_data || is_system { FAILED } else { WRONG_USE })
}

fn draw(args: &SampleArgs) -> Result<()> {
    args.check_amount()?;
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(std::process::id()));
    let parts = args.parts()?;
    handle_signal(libc::SIGBUS, report_sigbus).context("catching SIGBUS")?;
    let inputs = Inputs::new(args)?;
    let paths = &inputs.paths;
    let manifest = args.manifest.as_ref();
    let manifest = manifest.map(|path| Manifest::create(path, args, paths, seed)).transpose()?;
    let choice = args.layout_choice()?;
    let (is_parquet, found) = args.parquet(paths);
    let mut opened =
        if is_parquet { None } else { Some(source::population(args, &choice, &inputs)?) };
    let layout = opened.as_ref().map(|(_, layout)| layout);
    if let Some(note) = found.and_then(|found| found.note(&paths[0], "parquet")) {
        print_note(&note);
    }
    if let Some(note) = layout.and_then(|layout| layout.note.as_ref()) {
        print_note(note);
    }
    let bar = bar(|| source::progress_total_bytes(paths, layout));
    let mut sampler = args.sampler(seed, layout);
    if let Some(bar) = bar.clone() {
        sampler = sampler.watched(move |bytes| {
            bar.inc(bytes);
            true
        });
    }
    let outputs = Outputs { args, parts };
    let stats = match &mut opened {
        Some((population, _)) => records(&sampler, population, &outputs),
        None => rows(&sampler, &inputs, &outputs),
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let stats = stats?;
    if let Some(note) = stats.first().and_then(|stats| stats.note.as_ref()) {
        print_note(note);
    }
    if args.stats {
        print_stats(&stats, seed)?;
    }
    manifest.map_or(Ok(()), |manifest| manifest.finish(&stats))
}

/// Where the sample goes: to the parts of a split, if there is one.
struct Outputs<'a> {
    args: &'a SampleArgs,
    parts: Option<Vec<SplitPart>>,
}

fn print_note(note: &str) {
    let _ = writeln!(io::stderr(), "bytelab sample: note: {}", escape_controls(note));
}

fn records(
    sampler: &Sampler,
    population: &mut Population,
    outputs: &Outputs<'_>,
) -> Result<Vec<Stats>> {
    match &outputs.parts {
        Some(parts) => split(parts, outputs.args.force, |weights, outputs| {
            let mut writers: Vec<&mut dyn Write> =
                outputs.iter_mut().map(|output| output as &mut dyn Write).collect();
            sampler.split(population, weights, &mut writers)
        }),
        None => single(outputs.args, |out| sampler.write(population, out)),
    }
}

/// Draws a Parquet sample from Parquet files.
#[cfg(feature = "parquet")]
fn rows(sampler: &Sampler, inputs: &Inputs, outputs: &Outputs<'_>) -> Result<Vec<Stats>> {
    let Outputs { args, parts } = outputs;
    let paths = &inputs.paths;
    ensure!(
        !args.header && !args.no_header,
        "Parquet cannot be combined with --header and --no-header: its columns have names"
    );
    ensure!(args.delimiter.is_none(), "Parquet cannot be combined with --delimiter");
    ensure!(
        args.max_record.is_none(),
        "Parquet cannot be combined with --max-record: no row is held in memory"
    );
    ensure!(
        !paths.is_empty() && paths.iter().all(|path| path.as_os_str() != "-"),
        "Parquet is read from files, not from standard input"
    );
    let remote = inputs.are_remote().then(|| inputs.remote_files()).transpose()?;
    let format = record_sampler::Format::Fixed(1);
    let remote = remote.map(|files| Population::open_remote(files, format)).transpose()?;
    let Some(parts) = parts else {
        return single(args, |out| match &remote {
            Some(population) => sampler.write_parquet_from(population, out),
            None => sampler.write_parquet(paths, out),
        });
    };
    split(parts, args.force, |weights, outputs| {
        let mut writers: Vec<&mut (dyn Write + Send)> =
            outputs.iter_mut().map(|output| output as &mut (dyn Write + Send)).collect();
        match &remote {
            Some(population) => sampler.split_parquet_from(population, weights, &mut writers),
            None => sampler.split_parquet(paths, weights, &mut writers),
        }
    })
}

#[cfg(not(feature = "parquet"))]
fn rows(_: &Sampler, _: &Inputs, _: &Outputs<'_>) -> Result<Vec<Stats>> {
    anyhow::bail!("this bytelab is built without Parquet")
}

fn single(
    args: &SampleArgs,
    write: impl FnOnce(&mut (dyn Write + Send)) -> record_sampler::Result<Stats>,
) -> Result<Vec<Stats>> {
    let Some(path) = &args.output else {
        check(StandardStream::Output).context("standard output")?;
        // Bypasses the line buffer of `Stdout`: the writes are already large.
        let stdout = io::stdout().as_fd().try_clone_to_owned().context("standard output")?;
        return Ok(vec![write(&mut File::from(stdout))?]);
    };
    let output = Output::create(path, args.force)?;
    let stats = write(&mut &output)?;
    output.finish()?;
    Ok(vec![stats])
}

/// Either all outputs appear, or none of them does.
fn split(
    parts: &[SplitPart],
    force: bool,
    write: impl FnOnce(&[f64], &mut [&Output]) -> record_sampler::Result<Vec<Stats>>,
) -> Result<Vec<Stats>> {
    let outputs = parts.iter().map(|(path, _)| Output::create(path, force));
    let outputs = outputs.collect::<Result<Vec<Output>>>()?;
    let mut places = BTreeSet::new();
    for (output, (path, _)) in outputs.iter().zip(parts) {
        let is_new = output.canonical_path().is_none_or(|place| places.insert(place));
        ensure!(is_new, "{} is named twice", path.display());
    }
    let shares: Vec<f64> = parts.iter().map(|(_, share)| *share).collect();
    let stats = write(&shares, &mut outputs.iter().collect::<Vec<&Output>>())?;
    let ready = outputs.into_iter().map(Output::ready).collect::<Result<Vec<Output>>>()?;
    ready.into_iter().try_for_each(Output::finish)?;
    Ok(stats)
}

/// The progress bar, if standard error is a terminal: only then is progress counted, of the sizes
/// of all files.
fn bar(bytes: impl FnOnce() -> Option<u64>) -> Option<ProgressBar> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let bytes = bytes();
    let bar = match bytes {
        Some(bytes) => ProgressBar::new(bytes),
        None => ProgressBar::new_spinner(),
    };
    let style = match bytes {
        Some(_) => "{wide_bar} {bytes} of {total_bytes}, {eta} left",
        None => "{spinner} {bytes}",
    };
    let style = ProgressStyle::with_template(style);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    Some(bar.with_elapsed(Duration::ZERO))
}

fn print_stats(stats: &[Stats], seed: u64) -> Result<()> {
    let first = stats.first().context("no output")?;
    let seen = first.seen.map_or("not counted".to_owned(), |seen| seen.to_string());
    let taken: Vec<String> = stats.iter().map(|stats| stats.taken.to_string()).collect();
    let _ = writeln!(
        io::stderr(),
        "records seen   {seen}\nrecords taken  {}\nbytes read     {}\nmethod         {}: {}\n\
         seed           {seed}",
        taken.join(" + "),
        first.bytes_read,
        first.method,
        first.reason
    );
    Ok(())
}

/// The message for a mapped file that another process truncates: the kernel then ends this process
/// with SIGBUS.
const MESSAGE: &[u8] =
    b"bytelab sample: a mapped file was truncated or unreadable; --method pread does not map files\n";

/// The handler of SIGBUS: ends the process with a line on standard error and exit status 1.
#[expect(unsafe_code, reason = "handles a signal")]
extern "C" fn report_sigbus(_: libc::c_int) {
    // SAFETY: write(2) may be called in a handler; the message is static.
    unsafe { libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
    // SAFETY: _exit(2) may be called in a handler.
    unsafe { libc::_exit(1) };
}
