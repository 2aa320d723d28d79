//! The address of an input: a path, standard input, a descriptor or a URL.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::{Error, ErrorKind, Result};

/// The input of [`Stream::open`](crate::Stream::open). A string is parsed: `-` is standard input,
/// `file://`, `http://`, `https://` and `s3://` (`s3://BUCKET/KEY`, not encoded) are URLs, and
/// everything else is a path. A [`Path`] is always a path, whatever its text.
///
/// ```
/// use byte_stream::Address;
/// use std::path::Path;
/// assert!(matches!(Address::from("-"), Address::Stdin));
/// assert!(matches!(Address::from("http://example.org/"), Address::Url(_)));
/// assert!(matches!(Address::from(Path::new("-")), Address::Path(_)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Address {
    /// A file, a FIFO or a device, by its path.
    Path(PathBuf),
    /// Standard input. Bytes that `std::io::stdin` has buffered already are not part of the stream.
    Stdin,
    /// An open descriptor, read from its current position.
    Fd(OwnedFd),
    /// A URL, which is parsed when the stream is opened.
    Url(String),
}

impl Address {
    /// The name that error messages use: a URL without its user and password.
    ///
    /// ```
    /// use byte_stream::Address;
    /// assert_eq!(Address::from("http://user:secret@host/x").name(), "http://host/x");
    /// ```
    pub fn name(&self) -> String {
        match self {
            Address::Path(path) => path.to_string_lossy().into_owned(),
            Address::Stdin => "standard input".to_owned(),
            Address::Fd(fd) => {
                use std::os::fd::AsRawFd;
                format!("descriptor {}", fd.as_raw_fd())
            }
            Address::Url(url) => without_credentials(url),
        }
    }

    /// The URL of a remote input.
    #[cfg(all(feature = "async", feature = "http"))]
    pub(crate) fn remote(&self) -> Option<&str> {
        match self {
            Address::Url(url) if matches!(scheme(url), Some("http" | "https" | "s3")) => Some(url),
            _ => None,
        }
    }

    /// Opens a local input and returns its descriptor, or returns the URL of a remote one.
    pub(crate) fn resolve(self) -> Result<AddressTarget> {
        match self {
            Address::Path(path) => open(&path),
            Address::Stdin => {
                let fd = std::io::stdin().as_fd().try_clone_to_owned().map_err(Error::io)?;
                Ok(AddressTarget::Fd(fd))
            }
            Address::Fd(fd) => Ok(AddressTarget::Fd(fd)),
            Address::Url(url) => match scheme(&url) {
                Some("file") => open(&file_path(&url)?),
                Some("http" | "https" | "s3") => Ok(AddressTarget::Http(url)),
                _ => Err(Error::new(
                    ErrorKind::InvalidUse,
                    "unsupported URL scheme; supported are file://, http://, https:// and s3://",
                )),
            },
        }
    }
}

/// The target of an address.
#[derive(Debug)]
pub(crate) enum AddressTarget {
    /// A descriptor at any position.
    Fd(OwnedFd),
    /// A descriptor at its beginning.
    New(OwnedFd),
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "needs the feature `http`"))]
    Http(String),
}

fn open(path: &Path) -> Result<AddressTarget> {
    let fd = File::open(path).map_err(Error::io)?.into();
    // Elsewhere `/dev/fd/3` has the position of descriptor 3.
    Ok(if cfg!(target_os = "linux") { AddressTarget::New(fd) } else { AddressTarget::Fd(fd) })
}

/// The scheme in lower case, if it is supported.
fn scheme(url: &str) -> Option<&'static str> {
    let (scheme, _) = url.split_once("://")?;
    ["file", "http", "https", "s3"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))
}

/// RFC 8089: the host is empty or `localhost`, the path absolute and percent-encoded.
fn file_path(url: &str) -> Result<PathBuf> {
    let invalid = |message: &'static str| Error::new(ErrorKind::InvalidUse, message);
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let slash = rest.find('/').ok_or_else(|| invalid("a file URL needs an absolute path"))?;
    let (host, path) = rest.split_at(slash);
    if !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        return Err(invalid("a file URL with another host; write file:///path"));
    }
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(path).collect();
    if bytes.contains(&0) {
        return Err(invalid("a file URL with a zero byte in its path"));
    }
    Ok(OsString::from_vec(bytes).into())
}

/// The URL without its credentials, so that it can be shown.
pub(crate) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Address {
        // `ftp://…` is reported as an unsupported URL, not as a missing file.
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        };
        match text.split_once(':') {
            _ if text == "-" => Address::Stdin,
            Some((scheme, rest)) if rest.starts_with("//") && is_scheme(scheme) => {
                Address::Url(text.to_owned())
            }
            _ => Address::Path(text.into()),
        }
    }
}

impl From<&OsStr> for Address {
    fn from(text: &OsStr) -> Address {
        match text.to_str() {
            Some(text) => Address::from(text),
            None => Address::Path(OsStr::from_bytes(text.as_bytes()).into()),
        }
    }
}

impl From<&String> for Address {
    fn from(text: &String) -> Address {
        Address::from(text.as_str())
    }
}

impl From<&Path> for Address {
    fn from(path: &Path) -> Address {
        Address::Path(path.to_owned())
    }
}

impl From<&PathBuf> for Address {
    fn from(path: &PathBuf) -> Address {
        Address::Path(path.clone())
    }
}

impl From<PathBuf> for Address {
    fn from(path: PathBuf) -> Address {
        Address::Path(path)
    }
}

impl From<OwnedFd> for Address {
    fn from(fd: OwnedFd) -> Address {
        Address::Fd(fd)
    }
}

impl From<File> for Address {
    fn from(file: File) -> Address {
        Address::Fd(file.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_file(url: &str, expected: &str) {
        let got = match file_path(url) {
            Ok(path) => path.display().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{url}");
    }

    #[test]
    fn a_file_url_is_a_local_path() {
        check_file("file:///a%20b/%63", "/a b/c");
        check_file("FILE://localhost/x", "/x");
        check_file("file://other/x", "a file URL with another host; write file:///path");
        check_file("file://x", "a file URL needs an absolute path");
        check_file("file:///a%00", "a file URL with a zero byte in its path");
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_credentials("http://u:p@h/a@b"), "http://h/a@b");
        assert_eq!(without_credentials("http://h?u:p@x"), "http://h?u:p@x");
    }
}
