//! The digest of all bytes of a stream, compared with the expected one.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{Error, ErrorKind, Result};

pub(crate) struct Check {
    expected: [u8; 32],
    hasher: Sha256,
}

impl Check {
    pub(crate) fn new(expected: [u8; 32]) -> Check {
        Check { expected, hasher: Sha256::new() }
    }

    pub(crate) fn take(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
    }

    pub(crate) fn end(self) -> Result<()> {
        let got: [u8; 32] = self.hasher.finalize().into();
        if got == self.expected {
            return Ok(());
        }
        let (got, expected) = (hex(&got), hex(&self.expected));
        let text = format!("the SHA-256 is {got}, not {expected} as expected");
        Err(Error::new(ErrorKind::Digest, text))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
