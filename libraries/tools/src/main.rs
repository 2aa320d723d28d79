//! `bytelab-tools`: the tools without the measuring.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tools::{cat, fleece, sample};

/// What bytelab's libraries do with files and streams, in one small program
#[derive(Parser)]
#[command(name = "bytelab-tools", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand)]
enum Tool {
    /// Copy files and URLs to standard output at the lowest cost
    Cat(cat::CatArgs),
    /// Convert, check and inspect Fleece documents, a binary form of JSON
    Fleece(fleece::FleeceArgs),
    /// Draw random records of files and streams, unbiased and with as few reads as possible
    #[command(arg_required_else_help = true)]
    Sample(Box<sample::SampleArgs>),
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Without it, a file that is too large ends the process by a signal.
    let _ = tools::fail_at_the_size_limit();
    let names = words.get(1).filter(|tool| *tool == "cat").and(words.get(2..));
    if let Some(args) = names.and_then(cat::CatArgs::of_names) {
        return cat::run(args);
    }
    let words_of_sample = words.get(1).filter(|tool| *tool == "sample").and(words.get(1..));
    if let Some(args) = words_of_sample.and_then(sample::SampleArgs::of_words) {
        return sample::run(&args);
    }
    match Cli::parse_from(words).tool {
        Tool::Cat(args) => cat::run(args),
        Tool::Sample(args) => sample::run(&args),
        Tool::Fleece(args) => fleece::run(&args).unwrap_or_else(|error| {
            let _ = writeln!(io::stderr(), "bytelab-tools: {error:#}");
            ExitCode::from(2)
        }),
    }
}
