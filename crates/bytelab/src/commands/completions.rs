//! `bytelab completions`: what a shell reads to complete the arguments of bytelab.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use clap_complete::{Shell, generate};

use super::context::Context;
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
