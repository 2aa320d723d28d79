//! The flags of `bytelab self-test`.

use clap::Args;

use super::kind::Kind;
use crate::experiments::self_test::percents;

/// Of which there is a method.
pub(super) fn percent(text: &str) -> Result<u32, String> {
    let number = text.trim_end_matches('%').parse();
    let known = percents;
    number.ok().filter(|percent| known().any(|known| known == *percent)).ok_or_else(|| {
        let known: Vec<String> = known().map(|percent| percent.to_string()).collect();
        format!("one of {}", known.join(", "))
    })
}

#[derive(Args)]
pub(crate) struct SelfTestArgs {
    /// Compare methods that cost the same in so many runs, and count the false alarms
    #[arg(long, value_name = "PAIRS")]
    pub(super) aa: Option<u32>,
    /// What the two methods of such a pair differ by
    #[arg(
        long = "kind",
        value_enum,
        value_delimiter = ',',
        default_value = "same",
        requires = "aa"
    )]
    pub(super) kinds: Vec<Kind>,
    /// Count in 100 runs (or as many as --aa says) how often one that does so many percent more is found slower
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', value_parser = percent)]
    pub(super) ab: Vec<u32>,
    /// Do so beside so many processes for each CPU that want it all the time
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=64))]
    pub(super) load: Vec<u32>,
    /// Check a method against a baseline of itself so many times, and count the failures
    #[arg(long, value_name = "CHECKS", conflicts_with = "aa")]
    pub(super) aa_check: Option<u32>,
}
