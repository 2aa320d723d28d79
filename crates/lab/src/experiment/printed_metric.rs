//! A figure that a plain command prints.

use anyhow::{Result, anyhow, ensure};
use regex_lite::Regex;

use crate::metric;

/// A metric whose value a plain command prints to its standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedMetric {
    pub name: String,
    pattern: String,
}

impl PrintedMetric {
    /// The value is the first group of this regular expression, where it matches first; without a
    /// group it is all that matches.
    pub fn new(name: &str, pattern: &str) -> Result<PrintedMetric> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
        ensure!(
            begins && name.len() <= 40 && name.bytes().all(is_plain),
            "metric {name:?}: a name is made of at most 40 small letters, digits and _"
        );
        ensure!(
            !metric::is_known(name) && name != metric::EXIT_CODE,
            "metric {name}: it means something else; name it otherwise"
        );
        let metric = PrintedMetric { name: name.to_owned(), pattern: pattern.to_owned() };
        metric.regex()?;
        Ok(metric)
    }

    pub(crate) fn regex(&self) -> Result<Regex> {
        let PrintedMetric { name, pattern } = self;
        Regex::new(pattern).map_err(|error| anyhow!("metric {name}: {pattern:?}: {error}"))
    }

    pub(crate) fn pattern(&self) -> &str {
        &self.pattern
    }
}
