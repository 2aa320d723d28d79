//! The values of the flags, as people write them.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};
use lab::param::parse_bytes;
use record_sampler::Layout;

/// The value `N` or `P%`.
#[derive(Clone, Copy)]
pub(super) enum Count {
    Number(u64),
    Share(f64),
}

impl FromStr for Count {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Count> {
        match text.strip_suffix('%') {
            Some(share) => Ok(Count::Share(per_cent(share)?)),
            None => Ok(Count::Number(parse_count(text)?)),
        }
    }
}

/// The value `KEY=N` or `KEY=P%`.
#[derive(Clone)]
pub(super) struct Per {
    pub(super) key: String,
    pub(super) amount: Count,
}

impl FromStr for Per {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Per> {
        let (key, amount) = text.rsplit_once('=').context("not KEY=N")?;
        Ok(Per { amount: amount.parse()?, key: non_empty(key, text)?.to_owned() })
    }
}

/// The value `FILE=SHARE,…`.
#[derive(Clone)]
pub(super) struct Parts(pub(super) Vec<(PathBuf, f64)>);

impl FromStr for Parts {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Parts> {
        let mut parts: Vec<(PathBuf, f64)> = Vec::new();
        for part in text.split(',') {
            let (path, share) = part.rsplit_once('=').context("not FILE=SHARE,…")?;
            let path = PathBuf::from(non_empty(path, part)?);
            let share: f64 =
                share.parse().ok().with_context(|| format!("{share} is not a number"))?;
            ensure!(share.is_finite() && share > 0.0, "{share} is not a share above 0");
            parts.push((path, share));
        }
        Ok(Parts(parts))
    }
}

/// A name of `record_sampler::Layout`, or `parquet`, whose records are not byte ranges of the file.
#[derive(Clone)]
pub(super) struct FormatFlag(pub(super) String);

impl FromStr for FormatFlag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<FormatFlag> {
        if text == "parquet" {
            ensure!(
                cfg!(feature = "parquet"),
                "this bytelab is built without it; cargo install --path crates/bytelab --features parquet"
            );
        } else if let Some(bytes) = text.strip_prefix("fixed:") {
            return Ok(FormatFlag(format!("fixed:{}", parse_bytes(bytes)?)));
        } else if text != "plink-bed" {
            Layout::named(text, None).map_err(|error| anyhow!("{error}, parquet"))?;
        }
        Ok(FormatFlag(text.to_owned()))
    }
}

/// A whole number, also in scientific notation if it is exact: `1e6`, `2.5e6`.
fn parse_count(text: &str) -> Result<u64> {
    /// Above it not every whole number is a floating point number.
    const MOST_EXACT: f64 = (1u64 << 53) as f64;
    if let Ok(count) = text.parse() {
        return Ok(count);
    }
    let number: Option<f64> = text.parse().ok().filter(|_| text.contains(['e', 'E']));
    let count = number.filter(|number| number.fract() == 0.0);
    let count = count.filter(|number| (0.0..=MOST_EXACT).contains(number));
    count.map(|number| number as u64).context("N is not a whole number (examples: 1000, 1e6)")
}

/// A probability, also in per cent. Whether it is one is examined by the sampler.
pub(super) fn parse_share(text: &str) -> Result<f64> {
    match text.strip_suffix('%') {
        Some(share) => per_cent(share),
        None => text.parse().ok().context("not a probability (examples: 0.1, 10%)"),
    }
}

/// A byte as itself or by an escape.
pub(super) fn parse_byte(text: &str) -> Result<u8> {
    let escaped = match text.strip_prefix('\\') {
        Some("t") => Some(b'\t'),
        Some("n") => Some(b'\n'),
        Some("r") => Some(b'\r'),
        Some("0") => Some(0),
        Some("\\") => Some(b'\\'),
        Some(text) => text.strip_prefix('x').and_then(|hex| u8::from_str_radix(hex, 16).ok()),
        None => None,
    };
    match (escaped, text.as_bytes()) {
        (Some(byte), _) => Ok(byte),
        (None, [byte]) => Ok(*byte),
        _ => bail!("not a byte (examples: ; \\t \\0 \\x1e)"),
    }
}

fn per_cent(text: &str) -> Result<f64> {
    let share: f64 = text.parse().ok().context("not a number of per cent")?;
    ensure!((0.0..=100.0).contains(&share), "{share} % is not from 0 to 100");
    Ok(share / 100.0)
}

/// Fails if the share or number has no name.
fn non_empty<'a>(name: &'a str, text: &str) -> Result<&'a str> {
    ensure!(!name.is_empty(), "{text}: a name is missing before the =");
    Ok(name)
}
