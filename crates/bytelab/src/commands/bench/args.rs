//! The flags of `bytelab bench`, and the files that it writes. Flags that hyperfine has mean here
//! what they mean there.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use analysis::Analysis;
use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use model::run::Run;
use report::TableOptions;
use report::export::{self, ExportFormat, ExportOptions};
use tools::atomic_file::AtomicFile;

use crate::commands::export::{named, parameters, print_notes};
use crate::commands::measure_args::{CacheChoice, KeepArgs, MOST_ROUNDS, MOST_SESSIONS, size};
use crate::commands::output::{OutputArgs, TableArgs, own_metrics};
use crate::commands::path;
use crate::console;

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// The commands, each as one text
    ///
    /// A text is split into words as a shell does, but without expansions. A text that only a shell
    /// understands (a pipe, a variable, `cd` …) is run by /bin/sh, whose start is then part of its
    /// time.
    #[arg(value_name = "COMMAND", required_unless_present = "words")]
    pub(super) commands: Vec<String>,
    /// One command, as its words
    #[arg(last = true, value_name = "WORD")]
    pub(super) words: Vec<String>,

    #[command(flatten)]
    pub(super) runs: RunsArgs,
    #[command(flatten)]
    pub(super) commands_around: AroundArgs,
    #[command(flatten)]
    pub(super) streams: StreamsArgs,
    #[command(flatten)]
    pub(super) parameters: ParametersArgs,
    #[command(flatten)]
    pub(super) revisions: RevisionArgs,
    #[command(flatten)]
    pub(super) results: ResultsArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl BenchArgs {
    /// Whether what the commands print may reach the terminal.
    pub(super) fn shows_output(&self) -> bool {
        self.streams.show_output || !self.streams.output.is_empty()
    }
}

#[derive(Args)]
#[command(next_help_heading = "Runs")]
pub(super) struct RunsArgs {
    /// Runs before those that count [default: 1; 0 with --runs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST_SESSIONS))]
    pub(super) warmup: Option<u32>,
    /// Runs of each command [default: until all is decided]
    ///
    /// Each command is run as often as this and --warmup say: there is no counting pass unless
    /// --counting asks for one, and no time limit unless --time sets one.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(super) runs: Option<u32>,
    /// Minimum number of runs of each command, even if all is decided or time is up
    #[arg(short, long, value_name = "N", conflicts_with = "runs", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..=MOST_SESSIONS))]
    pub(super) min_runs: Option<u32>,
    /// Maximum number of runs of each command, even if not all is decided
    #[arg(short = 'M', long, value_name = "N", conflicts_with = "runs", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..=MOST_SESSIONS))]
    pub(super) max_runs: Option<u32>,
    /// Time for all of it [default: 30s of rounds, 90s in all; none with --runs]
    ///
    /// The time does not include --setup. Each command is run at least once. Without this flag, one
    /// command alone has 3s of rounds; commands that take longer are run six times, and those that
    /// take a minute or more once.
    #[arg(long, value_parser = time)]
    pub(super) time: Option<String>,
    /// Time for one run; a command that takes longer is killed [default: none]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(super) timeout: Option<Duration>,
    /// Run N copies of a command at the same time
    ///
    /// A run is all copies together: it ends with the last of them, and its CPU time is the sum;
    /// `copies_per_s` is how many end in a second. Counts are those of one copy.
    #[arg(long, value_name = "N", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..=1024),
          conflicts_with_all = ["metric", "output", "show_output", "same_output"])]
    pub(super) parallel: Option<u32>,
    /// Runs that count memory and system calls [default: 8; 0 with --runs]
    ///
    /// They come after all others, and their times do not count.
    #[arg(long, value_name = "N", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(0..=MOST_SESSIONS))]
    pub(super) counting: Option<u32>,
    /// The seed of the random orders [default: a different one each time]
    #[arg(long, hide_short_help = true)]
    pub(super) seed: Option<u64>,
    /// Write a timeline of one more run of each command, for ui.perfetto.dev
    #[arg(long, value_name = "FILE.json", hide_short_help = true, value_parser = path())]
    pub(super) trace: Option<PathBuf>,
    /// Profile the commands after all runs, and name the functions that differ
    ///
    /// The profile takes six to twenty runs of each command, in five seconds for each command if
    /// that is enough; their times do not count. With a file, the call chains are drawn there as a
    /// flame graph.
    #[arg(long, value_name = "FILE.svg", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    pub(super) why: Option<String>,
    /// The state of --data in the page cache: warm, cold or as-is [default: as-is]
    ///
    /// The state is verified for each run: a run that found another one does not count.
    #[arg(
        long,
        value_enum,
        requires = "data",
        value_name = "STATE",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(super) cache: Option<CacheChoice>,
    /// Limit the memory of each command, with its page cache [default: none]
    ///
    /// Each command runs in a control group of its own, without swap: as root, or where a control
    /// group is delegated to you.
    #[arg(long, value_name = "SIZE", hide_short_help = true, value_parser = size)]
    pub(super) memory: Option<u64>,
    /// The file that the commands read: for --cache, and for the throughput
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) data: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Commands")]
pub(super) struct AroundArgs {
    /// The name of a command, once for each [default: the command]
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(super) command_name: Vec<String>,
    /// Compare the others with this command [default: the first one]
    #[arg(long, value_name = "COMMAND")]
    pub(super) reference: Option<String>,
    /// The name of that command
    #[arg(long, value_name = "NAME", requires = "reference", hide_short_help = true)]
    pub(super) reference_name: Option<String>,
    /// Run this before each run; given once, or once for each command
    #[arg(short, long, value_name = "COMMAND", help_heading = "Before and after")]
    pub(super) prepare: Vec<String>,
    /// Run this after each run; given once, or once for each command
    #[arg(long, value_name = "COMMAND", help_heading = "Before and after", hide_short_help = true)]
    pub(super) conclude: Vec<String>,
    /// Run this once before all runs
    ///
    /// If it has parameters, it is run once for each of their values.
    #[arg(short, long, value_name = "COMMAND", help_heading = "Before and after")]
    pub(super) setup: Option<String>,
    /// Run this once after all runs
    ///
    /// If it has parameters, it is run once for each of their values.
    #[arg(
        short,
        long,
        value_name = "COMMAND",
        help_heading = "Before and after",
        hide_short_help = true
    )]
    pub(super) cleanup: Option<String>,
    /// The shell, such as `bash -e`, or none [default: sh if needed]
    #[arg(short = 'S', long)]
    pub(super) shell: Option<String>,
    /// Use no shell: the same as --shell none
    #[arg(short = 'N', conflicts_with = "shell")]
    pub(super) no_shell: bool,
    /// A variable in the environment of the commands
    #[arg(long, value_name = "NAME=VALUE", hide_short_help = true, value_parser = variable)]
    pub(super) env: Vec<(String, String)>,
    /// Where the commands run [default: the current directory]
    #[arg(long, value_name = "DIR", hide_short_help = true, value_parser = path())]
    pub(super) cwd: Option<PathBuf>,
    /// Count failed runs, too: all, or those with these codes
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true,
          default_missing_value = "all-non-zero", value_parser = failures)]
    pub(super) ignore_failure: Option<Failures>,
    /// Measure until all processes that a command leaves running have ended
    #[arg(long, conflicts_with = "keep_running", hide_short_help = true)]
    pub(super) wait_for_all: bool,
    /// Leave such processes running, and compare the commands without them
    ///
    /// They keep running during the next runs and afterwards. Without this flag they are ended
    /// after each run, and a command that leaves some has no verdict.
    #[arg(long, hide_short_help = true)]
    pub(super) keep_running: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Input and output")]
pub(super) struct StreamsArgs {
    /// Standard input of the commands: a file [default: null]
    #[arg(long, value_name = "FILE")]
    pub(super) input: Option<String>,
    /// Where their output goes: null, pipe, inherit or a file
    ///
    /// Without it the output is discarded. Output through a pipe is read and discarded. The flag is
    /// given once, or once for each command.
    #[arg(long, value_name = "WHERE")]
    pub(super) output: Vec<String>,
    /// Show what the commands print: the same as --output inherit
    #[arg(long, conflicts_with = "output")]
    pub(super) show_output: bool,
    /// A figure that the commands print, such as 'rps=(\d+) requests/s'
    ///
    /// The first group of the first match in their standard output is the value of the metric,
    /// which is a column of the table.
    #[arg(long, value_name = "NAME=REGEX", value_parser = metric, hide_short_help = true,
          conflicts_with_all = ["output", "show_output"])]
    pub(super) metric: Vec<(String, String)>,
    /// All commands must print the same
    #[arg(long, hide_short_help = true, conflicts_with_all = ["output", "show_output"])]
    pub(super) same_output: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Parameters")]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(super) struct ParametersArgs {
    /// Put each value in place of {VAR}
    ///
    /// A comma in a value is written `\,`. The flag may be repeated: then each combination of
    /// values is measured.
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "A,B,…"])]
    pub(super) parameter_list: Vec<String>,
    /// Put each number from MIN to MAX in place of it
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"],
          allow_negative_numbers = true)]
    pub(super) parameter_scan: Vec<String>,
    /// The distance of the numbers [default: 1]
    #[arg(
        short = 'D',
        long,
        value_name = "STEP",
        requires = "parameter_scan",
        hide_short_help = true
    )]
    pub(super) parameter_step_size: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Two builds")]
pub(super) struct RevisionArgs {
    /// Measure these revisions of the git repository here, such as HEAD~1,HEAD
    ///
    /// Each gets a worktree of its own, which is removed afterwards. In commands, a program with a
    /// relative path is that of the worktree; {tree} is its folder, and {rev} the revision. The
    /// commands still run in the current directory. The run stores the commit of each.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', conflicts_with = "toml")]
    pub(super) rev: Vec<String>,
    /// Run this in each worktree before anything is measured
    #[arg(long, value_name = "COMMAND", requires = "rev")]
    pub(super) build: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Results")]
pub(super) struct ResultsArgs {
    /// How the table is printed: auto, color, nocolor or none
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        hide_default_value = true,
        hide_short_help = true,
        default_value = "auto"
    )]
    pub(super) style: OutputStyle,
    #[command(flatten)]
    pub(super) table: TableArgs,
    /// Print the typed commands as an experiment file, and measure nothing
    #[arg(long)]
    pub(super) toml: bool,
    #[command(flatten)]
    pub(super) export: BenchExportArgs,
    #[command(flatten)]
    pub(super) keep: KeepArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputStyle {
    /// Colours on a terminal
    Auto,
    Color,
    Nocolor,
    /// No table
    None,
}

/// The text of a time.
fn time(text: &str) -> Result<String, humantime::DurationError> {
    humantime::parse_duration(text).map(|_| text.to_owned())
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE"),
    }
}

fn metric(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, pattern)) if !name.is_empty() && !pattern.is_empty() => {
            Ok((name.to_owned(), pattern.to_owned()))
        }
        _ => Err("write NAME=REGEX, such as 'rps=(\\d+) requests/s'"),
    }
}

/// The failed runs of a command that count all the same.
#[derive(Clone)]
pub(super) enum Failures {
    All,
    /// Those with these exit codes.
    Codes(Vec<i32>),
}

fn failures(text: &str) -> Result<Failures, &'static str> {
    if text == "all-non-zero" {
        return Ok(Failures::All);
    }
    let codes: Result<Vec<i32>, _> = text.split(',').map(|code| code.trim().parse()).collect();
    let mut codes = codes.map_err(|_| "write exit codes with commas between them, such as 1,2")?;
    codes.insert(0, 0);
    Ok(Failures::Codes(codes))
}

// The files of `--export-json` and the like: they are opened before anything is measured, to
// find out whether they can be written, and appear complete or not at all.

#[derive(Args)]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(super) struct BenchExportArgs {
    /// Write the times of all runs as hyperfine does (`-`: standard output)
    #[arg(long, value_name = "FILE", value_parser = path())]
    export_json: Option<PathBuf>,
    /// Write all figures as CSV
    #[arg(long, value_name = "FILE", hide_short_help = true, value_parser = path())]
    export_csv: Option<PathBuf>,
    /// Write the table and the answer in Markdown, and with --notes also all notes
    #[arg(long, value_name = "FILE", value_parser = path())]
    export_markdown: Option<PathBuf>,
    /// Write the table in Asciidoc
    #[arg(long, value_name = "FILE", hide_short_help = true, value_parser = path())]
    export_asciidoc: Option<PathBuf>,
    /// Write the table for Emacs Org mode
    #[arg(long, value_name = "FILE", hide_short_help = true, value_parser = path())]
    export_orgmode: Option<PathBuf>,
}

/// Opened files, each with its format and its flag; none: standard output.
pub(super) struct Exports(Vec<(String, &'static ExportFormat, Option<AtomicFile>)>);

impl Exports {
    pub(super) fn create(args: &BenchExportArgs) -> Result<Exports> {
        let flags = [
            ("--export-json", &args.export_json, "hyperfine"),
            ("--export-csv", &args.export_csv, "csv"),
            ("--export-markdown", &args.export_markdown, "markdown"),
            ("--export-asciidoc", &args.export_asciidoc, "asciidoc"),
            ("--export-orgmode", &args.export_orgmode, "orgmode"),
        ];
        let mut exports = Vec::new();
        for (flag, path, format) in flags {
            let Some(path) = path else { continue };
            let flag = format!("{flag} {}", path.display());
            let is_named = path.as_os_str() != "-";
            let file = is_named.then(|| AtomicFile::create(path)).transpose();
            let file = file.with_context(|| format!("{flag}: cannot be written"))?;
            exports.push((flag, named(format)?, file));
        }
        Ok(Exports(exports))
    }

    pub(super) fn write(self, run: &Run, analysis: &Analysis, args: &BenchArgs) -> Result<()> {
        let parameters = parameters(run);
        let own = own_metrics(run);
        let table = TableOptions { own: &own, ..args.results.table.options() };
        let (parameters, notes) = (Some(&parameters), args.output.notes);
        let options = ExportOptions { table, parameters, notes };
        for (flag, format, file) in self.0 {
            let write =
                |out: &mut (dyn Write + Send)| export::write(format, run, analysis, options, out);
            let left_out = match file {
                Some(file) => write(&mut file.file()).and_then(|left_out| {
                    file.finish()?;
                    Ok(left_out)
                }),
                None => write(&mut console::stdout()),
            };
            print_notes(run, &left_out.context(flag)?)?;
        }
        Ok(())
    }
}
