//! Where a run and its data are kept: the flags of all subcommands that measure.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};

use crate::path_arg::path;
use crate::store::Server;

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
    /// Push the run to this server when it has ended [default: that of `BYTELAB_SERVER`]
    ///
    /// A run that cannot be pushed waits, and the next `bytelab push` sends it.
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "no_store",
        hide_short_help = true,
        value_parser = ServerUrl
    )]
    pub(super) push: Option<Server>,
}

/// Parses the URL of a server; an empty text stands for that of the environment. Unlike clap, its
/// error does not quote the text, which may have a password.
#[derive(Clone)]
pub(super) struct ServerUrl;

impl TypedValueParser for ServerUrl {
    type Value = Server;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Server, clap::Error> {
        Server::named(value.to_str()).map_err(|error| {
            let flag = arg.map(|arg| format!("{arg}: ")).unwrap_or_default();
            let text = format!("{flag}{error}\n");
            clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(command)
        })
    }
}
