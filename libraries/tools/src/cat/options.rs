//! The options of `cat` that concern URLs, and the digests of arguments and of files that
//! `sha256sum` has written.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use byte_stream::{Address, Connections, Options, S3, Stream, parse_bytes};
use clap::Args;

use super::name::quoted;
use crate::remote::is_object;

#[derive(Args)]
#[cfg_attr(test, derive(Debug))]
#[command(next_help_heading = "URLs")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct HttpArgs {
    /// Send this header as well; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Send this user and password; other programs can see them, like every argument
    #[arg(long, value_name = "NAME:PASSWORD")]
    user: Option<String>,
    /// Send the user and the password that ~/.netrc has for the host
    #[arg(long)]
    netrc: bool,
    /// The same, but from this file
    #[arg(long, value_name = "FILE", conflicts_with = "netrc")]
    netrc_file: Option<PathBuf>,
    /// Accept gzip, br or zstd, and decode it: the encoding of an answer, not a file
    #[arg(long, conflicts_with = "resume")]
    decode: bool,
    /// Download up to N parts of a large resource at once, if the server supports ranges [1 to 16]
    #[arg(long, value_name = "N", default_value_t = PARALLEL, conflicts_with = "decode")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=16))]
    parallel: usize,
    /// Receive at most this many bytes per second
    #[arg(long, value_name = "BYTES", conflicts_with = "parallel")]
    #[arg(value_parser = |text: &str| parse_bytes(text))]
    limit_rate: Option<u64>,
    /// Number of retries after failures
    #[arg(long, value_name = "N", default_value_t = RETRIES)]
    retries: u32,
    /// Time limit for each URL [default: none]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    time_limit: Option<Duration>,
    /// Trust the certificates in this PEM file as well: those of authorities, and a server's own
    #[arg(long, value_name = "FILE")]
    certificates: Option<PathBuf>,
    /// Do not sign requests to buckets: for public objects
    #[arg(long)]
    pub(super) no_sign_request: bool,
    /// Accept a body whose end is only that of the connection, as HTTP/1.0 sends it, although a
    /// truncated one looks the same
    #[arg(long)]
    accept_unframed: bool,
}

const PARALLEL: usize = 1;
const RETRIES: u32 = 3;

impl Default for HttpArgs {
    fn default() -> HttpArgs {
        HttpArgs {
            headers: Vec::new(),
            user: None,
            netrc: false,
            netrc_file: None,
            decode: false,
            parallel: PARALLEL,
            limit_rate: None,
            retries: RETRIES,
            time_limit: None,
            certificates: None,
            no_sign_request: false,
            accept_unframed: false,
        }
    }
}

impl HttpArgs {
    /// How objects of buckets are requested.
    pub(super) fn s3(&self) -> S3 {
        let s3 = S3::from_environment();
        if self.no_sign_request { s3.anonymous() } else { s3 }
    }

    /// Fails if an option would change nothing of what is read, and how.
    pub(super) fn check_inputs(&self, urls: usize, files: usize) -> Result<()> {
        ensure!(
            files == 0 || !self.decode,
            "--decode is for URLs; a file is decoded by `gzip -dc`, `zstd -dc` or `brotli -dc`"
        );
        ensure!(urls > 0 || self.limit_rate.is_none(), "--limit-rate is for URLs; give one");
        ensure!(urls > 0 || self.time_limit.is_none(), "--time-limit is for URLs; give one");
        ensure!(urls > 0 || !self.accept_unframed, "--accept-unframed is for URLs; give one");
        Ok(())
    }
}

/// The files and values of the options, read once for all URLs.
pub(super) struct HttpSettings {
    trusted: Option<Vec<u8>>,
    user: Option<(String, String)>,
    netrc: Option<String>,
    s3: S3,
    /// With several URLs, connections are used again.
    connections: Option<Connections>,
}

impl HttpSettings {
    pub(super) fn new(args: &HttpArgs, s3: S3, urls: usize) -> Result<HttpSettings> {
        // The error does not show the value, which is secret.
        let user = args.user.as_ref().map(|user| user.split_once(':').context("no colon"));
        let user = user.transpose().context("--user: give NAME:PASSWORD")?;
        let home = args.netrc.then(|| std::env::var_os("HOME").context("--netrc: HOME is not set"));
        let home = home.transpose()?.map(|home| Path::new(&home).join(".netrc"));
        let netrc = args.netrc_file.as_ref().or(home.as_ref());
        ensure!(args.limit_rate != Some(0), "--limit-rate: give at least 1 byte per second");
        Ok(HttpSettings {
            trusted: args.certificates.as_deref().map(read).transpose()?,
            user: user.map(|(name, password)| (name.to_owned(), password.to_owned())),
            netrc: netrc.map(|path| text(path)).transpose()?,
            s3,
            connections: (urls > 1).then(Connections::new),
        })
    }

    pub(super) fn options(&self, args: &HttpArgs) -> byte_stream::Result<Options> {
        let pause = Duration::from_millis(200);
        let mut options = Stream::options().decode(args.decode).retries(args.retries, pause);
        options = options.parallel(args.parallel).accept_unframed(args.accept_unframed);
        options = options.s3(&self.s3);
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

/// The digests of a file that `sha256sum` has written.
pub(super) struct Sha256Sums {
    /// Names with their digests.
    lines: Vec<(Vec<u8>, [u8; 32])>,
    file: String,
}

impl Sha256Sums {
    pub(super) fn read(path: &Path) -> Result<Sha256Sums> {
        Sha256Sums::new(&read(path)?, path)
    }

    fn new(text: &[u8], path: &Path) -> Result<Sha256Sums> {
        let file = quoted(path);
        let mut lines = Vec::new();
        for (n, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let n = n + 1;
            lines.push(parsed(line).with_context(|| format!("{file}, line {n}: no SHA-256"))?);
        }
        Ok(Sha256Sums { lines, file })
    }

    /// The digest of this name; else that of the same name in another directory, as the file was
    /// often written elsewhere.
    pub(super) fn digest(&self, input: &OsStr) -> Result<[u8; 32]> {
        let file = &self.file;
        let input = input.as_bytes();
        if let Some((_, digest)) = self.lines.iter().find(|(name, _)| name == input) {
            return Ok(*digest);
        }
        let last = last(input);
        let is_same = |name: &[u8]| name.rsplit(|byte| *byte == b'/').next() == Some(&last);
        let mut found = self.lines.iter().filter(|(name, _)| is_same(name)).map(|(_, of)| of);
        let Some(digest) = found.next() else { bail!("{file} has no SHA-256 of this name") };
        ensure!(found.all(|other| other == digest), "{file} has several SHA-256 of this name");
        Ok(*digest)
    }
}

/// The last component of a path, or that of a URL, decoded.
fn last(input: &[u8]) -> Vec<u8> {
    let last = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
    let name = OsStr::from_bytes(input);
    let Address::Url(url) = Address::from(name) else { return last(input) };
    // A key has no query, and is not encoded.
    if is_object(name) {
        return last(input);
    }
    let end = url.find(['?', '#']).unwrap_or(url.len());
    percent_encoding::percent_decode(&last(&url.as_bytes()[..end])).collect()
}

/// `HEX  NAME`, `HEX *NAME` or `SHA256 (NAME) = HEX`. Behind a backslash, line ends and backslashes
/// of the name are escaped.
fn parsed(line: &[u8]) -> Option<(Vec<u8>, [u8; 32])> {
    let (is_escaped, line) = match line.strip_prefix(b"\\") {
        Some(line) => (true, line),
        None => (false, line),
    };
    let (name, hex) = if let Some(tagged) = line.strip_prefix(b"SHA256 (") {
        let (name, hex) = tagged.split_at_checked(tagged.len().checked_sub(64)?)?;
        (name.strip_suffix(b") = ")?, hex)
    } else {
        let (hex, name) = line.split_at_checked(64)?;
        (name.strip_prefix(b"  ").or_else(|| name.strip_prefix(b" *"))?, hex)
    };
    let name = if is_escaped { unescaped(name)? } else { name.to_vec() };
    Some((name, digest(std::str::from_utf8(hex).ok()?).ok()?))
}

fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = name.iter();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            byte => *byte,
        });
    }
    Some(plain)
}

/// A SHA-256 in hex digits.
pub(super) fn digest(text: &str) -> Result<[u8; 32]> {
    let mut digest = [0; 32];
    let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    ensure!(is_hex, "a SHA-256 has 64 hex digits");
    for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16)?;
    }
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first byte of the digest, or the error.
    fn check(sums: &str, input: &str, expected: &str) {
        let hex = |digit: &str| digit.repeat(64);
        let text = sums.replace("AA", &hex("a")).replace("BB", &hex("B"));
        let sums = Sha256Sums::new(text.as_bytes(), Path::new("sums"));
        let got = match sums.and_then(|sums| sums.digest(OsStr::new(input))) {
            Ok(digest) => format!("{:x}", digest[0]),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{text} {input}");
    }

    #[test]
    fn a_name_has_the_digest_of_its_line() {
        check("AA  a\nBB *b\n", "a", "aa");
        check("AA  a\r\nBB *b\r\n", "b", "bb");
        check("# from x\n\nSHA256 (a (1)) = AA\n", "a (1)", "aa");
        check("\\AA  a\\nb\\\\", "a\nb\\", "aa");
        check("AA  -", "-", "aa");
        check("AA  ./dist/a", "/tmp/a", "aa");
        check("AA  x/a\nBB  y/a", "y/a", "bb");
        check("AA  x/a\nAA  y/a", "a", "aa");
        check("AA  x/a\nBB  y/a", "a", "sums has several SHA-256 of this name");
        check("AA  a+1.gz", "https://u:p@host/x/a%2B1.gz?b=/c#d", "aa");
        check("AA  a%2B1?b#c", "s3://bucket/x/a%2B1?b#c", "aa");
        check("AA  a", "b", "sums has no SHA-256 of this name");
    }

    #[test]
    fn another_line_is_an_error() {
        for line in ["AA a", "AA", "aa  a", "SHA256 (a) AA", "MD5 (a) = AA", "\\AA  a\\x"] {
            check(&format!("AA  a\n{line}\n"), "a", "sums, line 2: no SHA-256");
        }
        check("SHA256 (", "a", "sums, line 1: no SHA-256");
        check(&"é".repeat(40), "a", "sums, line 1: no SHA-256");
    }
}
