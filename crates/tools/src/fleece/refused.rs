//! The error of a document that the command cannot use.

use std::fmt;

/// Describes a fault in the data, as opposed to wrong use: exit status 1.
#[derive(Debug)]
pub(super) struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

pub(super) fn refused(message: &str) -> anyhow::Error {
    Refused(message.to_owned()).into()
}
