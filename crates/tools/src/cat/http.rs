//! The options of `cat` that concern URLs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use byte_stream::{Connections, Options, Stream};
use clap::Args;
use lab::param::parse_bytes;

use super::name::quoted;

#[derive(Args)]
#[command(next_help_heading = "URLs")]
pub(super) struct HttpArgs {
    /// Send this header as well; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Send this user and password; other programs can see them, as in each argument
    #[arg(long, value_name = "NAME:PASSWORD")]
    user: Option<String>,
    /// Send the user and the password that ~/.netrc has for the host
    #[arg(long)]
    netrc: bool,
    /// The same with this file
    #[arg(long, value_name = "FILE", conflicts_with = "netrc")]
    netrc_file: Option<PathBuf>,
    /// Accept gzip, br or zstd, and decode it
    #[arg(long, conflicts_with = "resume")]
    decode: bool,
    /// Download up to N parts of a large resource at once, if the server supports ranges [1 to 16]
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "decode")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=16))]
    parallel: usize,
    /// Receive at most this many bytes per second
    #[arg(long, value_name = "BYTES", conflicts_with = "parallel")]
    #[arg(value_parser = |text: &str| parse_bytes(text))]
    limit_rate: Option<u64>,
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

/// What the options refer to, read once for all URLs.
pub(super) struct Http {
    trusted: Option<Vec<u8>>,
    user: Option<(String, String)>,
    netrc: Option<String>,
    /// With several URLs, connections are used again.
    connections: Option<Connections>,
}

impl Http {
    pub(super) fn new(args: &HttpArgs, urls: usize) -> Result<Http> {
        // The error does not show the value, which is secret.
        let user = args.user.as_ref().map(|user| user.split_once(':').context("no colon"));
        let user = user.transpose().context("--user: give NAME:PASSWORD")?;
        let home = args.netrc.then(|| std::env::var_os("HOME").context("--netrc: HOME is not set"));
        let home = home.transpose()?.map(|home| Path::new(&home).join(".netrc"));
        let netrc = args.netrc_file.as_ref().or(home.as_ref());
        ensure!(args.limit_rate != Some(0), "--limit-rate: give at least 1 byte per second");
        Ok(Http {
            trusted: args.certificates.as_deref().map(read).transpose()?,
            user: user.map(|(name, password)| (name.to_owned(), password.to_owned())),
            netrc: netrc.map(|path| text(path)).transpose()?,
            connections: (urls > 1).then(Connections::new),
        })
    }

    pub(super) fn options(&self, args: &HttpArgs) -> byte_stream::Result<Options> {
        let pause = Duration::from_millis(200);
        let mut options = Stream::options().decode(args.decode).retries(args.retries, pause);
        options = options.parallel(args.parallel);
        for (name, value) in &args.headers {
            options = options.header(name, value);
        }
        if let Some((name, password)) = &self.user {
            options = options.basic_auth(name, password);
        }
        if let Some(text) = &self.netrc {
            options = options.netrc(text);
        }
        if let Some(pem) = &self.trusted {
            options = options.certificates(pem)?;
        }
        if let Some(connections) = &self.connections {
            options = options.connections(connections);
        }
        if let Some(time) = args.time_limit {
            options = options.total_limit(time);
        }
        if let Some(bytes) = args.limit_rate {
            options = options.rate_limit(bytes);
        }
        Ok(options)
    }
}

fn text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).with_context(|| format!("{} is not text", quoted(path)))
}

fn header(text: &str) -> Result<(String, String)> {
    let (name, value) = text.split_once(':').context("a header is NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Reads a file that an option names.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", quoted(path)))
}
