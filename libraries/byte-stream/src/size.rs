use std::fmt;

/// Why a text is not a number of bytes; its text has examples of what is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSize {
    is_whole: bool,
}

impl fmt::Display for InvalidSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.is_whole { "" } else { "whole " };
        write!(f, "not a {whole}number of bytes (examples: 65536, 64KiB, 1.5MiB)")
    }
}

impl std::error::Error for InvalidSize {}

/// Reads a number of bytes as people write it: `65536`, `64KiB`, `64Ki`, `64K`, `1.5MiB`. The
/// decimal units (`kB`, `MB`, `GB`, `TB`) are powers of 1000.
///
/// ```
/// assert_eq!(byte_stream::parse_bytes("1.5MiB")?, 1_572_864);
/// assert_eq!(byte_stream::parse_bytes("1MB")?, 1_000_000);
/// assert!(byte_stream::parse_bytes("1.5").is_err());
/// # Ok::<(), byte_stream::InvalidSize>(())
/// ```
///
/// # Errors
///
/// The unit is unknown, or the product is no whole number that fits into 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, InvalidSize> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit {
        "" | "B" => 1,
        "K" | "k" | "Ki" | "KiB" => 1 << 10,
        "M" | "Mi" | "MiB" => 1 << 20,
        "G" | "Gi" | "GiB" => 1 << 30,
        "T" | "Ti" | "TiB" => 1 << 40,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(InvalidSize { is_whole: true }),
    };
    let exact = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    let fraction = || {
        let n: f64 = number.parse().ok()?;
        let product = n * factor as f64;
        (n.is_finite() && product.fract() == 0.0 && product < u64::MAX as f64)
            .then_some(product as u64)
    };
    exact.or_else(fraction).ok_or(InvalidSize { is_whole: false })
}
