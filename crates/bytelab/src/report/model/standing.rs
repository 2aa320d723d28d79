//! The role of a row in its table.

use lab::analyze::Verdict;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Standing {
    Yardstick,
    Reference,
    /// It has no sample that counts, and is shown by the one that warmed it up.
    Estimate,
    /// Its figures cannot be compared: it leaves processes running, or has impossible ones.
    Unusable,
    Compared(Verdict),
}

impl Standing {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Standing::Yardstick => "yardstick",
            Standing::Reference => "reference",
            Standing::Estimate => "estimate",
            Standing::Unusable => "no verdict",
            Standing::Compared(verdict) => verdict.word(),
        }
    }
}
