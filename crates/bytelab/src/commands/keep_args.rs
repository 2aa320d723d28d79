//! Where a run and its data are kept: the flags of all subcommands that measure.

use std::path::PathBuf;

use clap::Args;

use crate::path_arg::path;

#[derive(Args, Clone)]
pub(crate) struct KeepArgs {
    /// A name for the run, to find it again
    #[arg(long)]
    pub(super) label: Option<String>,
    /// Where generated data is kept [default: the user's cache directory]
    #[arg(
        long,
        value_name = "DIR",
        env = "BYTELAB_DATA_DIR",
        hide_env_values = true,
        hide_short_help = true, value_parser = path())]
    pub(super) data_dir: Option<PathBuf>,
    /// Do not store the run
    #[arg(long)]
    pub(super) no_store: bool,
}
