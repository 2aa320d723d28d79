//! `bytelab completions` and `bytelab man`: what a shell reads to complete the arguments of
//! bytelab, and manual pages.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use clap_complete::{Shell, generate};

use super::{Context, path};
use crate::console;

#[derive(Args)]
#[command(
    after_help = "bash: bytelab completions bash >~/.local/share/bash-completion/completions/bytelab\n\
                        zsh:  bytelab completions zsh >~/.zfunc/_bytelab    (a directory of $fpath)\n\
                        fish: bytelab completions fish >~/.config/fish/completions/bytelab.fish"
)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum)]
    shell: SupportedShell,
}

#[derive(Clone, Copy, ValueEnum)]
enum SupportedShell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &CompletionsArgs, context: &Context) -> Result<ExitCode> {
    let shell = match args.shell {
        SupportedShell::Bash => Shell::Bash,
        SupportedShell::Zsh => Shell::Zsh,
        SupportedShell::Fish => Shell::Fish,
    };
    let mut command = (context.command)(&context.experiments.experiments);
    let mut script = Vec::new();
    generate(shell, &mut command, "bytelab", &mut script);
    console::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

// `bytelab man`: a manual page for the program and for each subcommand, for packages.

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The directory, which is created if it does not exist
    #[arg(value_name = "DIR", value_parser = path())]
    dir: PathBuf,
}

pub(crate) fn man(args: &ManArgs, context: &Context) -> Result<ExitCode> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let experiments = &context.experiments.experiments;
    // The page of an experiment is its README.
    let command = (context.command)(experiments).mut_subcommand("run", |run| {
        experiments.iter().fold(run, |run, experiment| {
            run.mut_subcommand(experiment.name, |own| own.long_about(experiment.readme))
        })
    });
    // The name of a page is that which the command shows with its version: it may have no blank.
    let command = command.mut_subcommand("cat", |cat| cat.display_name("bytelab-cat"));
    clap_mangen::generate_to(command, dir).with_context(|| dir.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}
