//! Which kinds of text are hidden, and what stands for a hidden text.

use std::env;

use anyhow::{Result, bail};
use sha2::{Digest, Sha256};

/// What is hidden. Each hidden text becomes a word with a part of its SHA-256, so that what is
/// equal stays equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Redaction {
    kinds: Vec<Kind>,
    /// Texts are left out, and what must stay different gets numbers.
    leaves_out: bool,
    /// Only facts stay that machines of one kind share, and the run has neither id nor label.
    pub(super) is_contribution: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The facts about the name of the host, and this name wherever it is a word.
    Host,
    /// The name of the user, wherever it is a word.
    User,
    /// Each word and each quoted text with a slash, in values of params, notes and reasons; in
    /// facts those that begin with it. A path with spaces in a text without quotation marks is
    /// known by the facts and params that are paths; of another one, words may stay.
    Paths,
    /// All that the user or a program of the user's has worded, except the label: commands, their
    /// names, params, metrics and answers, and of reasons and notes all but known phrases.
    Commands,
}

/// Names the kinds where no flag does.
pub(crate) const REDACT: &str = "BYTELAB_REDACT";

impl Redaction {
    /// The kinds that a flag names, else those of `BYTELAB_REDACT`.
    pub(crate) fn named(flag: Option<&str>, leaves_out: bool) -> Result<Redaction> {
        let variable = || env::var(REDACT).ok();
        let text = flag.map(str::to_owned).or_else(variable).unwrap_or_default();
        let mut redaction = Redaction { leaves_out, ..Redaction::default() };
        for kind in text.split(',').map(str::trim).filter(|kind| !kind.is_empty()) {
            match kind {
                "host" => redaction.kinds.push(Kind::Host),
                "user" => redaction.kinds.push(Kind::User),
                "paths" => redaction.kinds.push(Kind::Paths),
                "commands" => redaction.kinds.push(Kind::Commands),
                _ => bail!("{kind:?} cannot be hidden: name some of host, user, paths, commands"),
            }
        }
        Ok(redaction)
    }

    /// For a run that is given to strangers: all is hidden.
    pub(crate) fn contribution() -> Redaction {
        let kinds = vec![Kind::Host, Kind::User, Kind::Paths, Kind::Commands];
        Redaction { kinds, leaves_out: true, is_contribution: true }
    }

    pub(crate) fn hides_something(&self) -> bool {
        !self.kinds.is_empty()
    }

    pub(super) fn hides(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(super) fn stand_in(&self, kind: &str, text: &str) -> String {
        if self.leaves_out {
            return "…".to_owned();
        }
        let digest = Sha256::digest(text.as_bytes());
        let digits: Vec<String> = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{}", digits.concat())
    }

    /// What stands for the `n`-th of the texts that must stay different.
    pub(super) fn numbered(&self, kind: &str, n: usize, text: &str) -> String {
        if self.leaves_out { format!("{kind}-{n}") } else { self.stand_in(kind, text) }
    }
}
