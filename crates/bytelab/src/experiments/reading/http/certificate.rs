//! A certificate for this run: for this machine, self-signed, with a key that is used for nothing
//! else.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(in super::super) fn certificate_of(directory: &Path) -> PathBuf {
    directory.join("certificate.pem")
}

pub(super) fn key_of(directory: &Path) -> PathBuf {
    directory.join("key.pem")
}

/// Writes both files into a directory that only the user can read.
pub(in super::super) fn make(directory: &Path) -> Result<()> {
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).context("making a certificate")?;
    let write = |path: PathBuf, text: String| {
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    };
    write(certificate_of(directory), made.cert.pem())?;
    write(key_of(directory), made.signing_key.serialize_pem())
}
