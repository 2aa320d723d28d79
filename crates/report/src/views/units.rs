//! Numbers in a readable form: three significant digits, in a unit that fits the row, the column or
//! the sentence.

use model::param::{ParamValue, Point};

/// A unit to show values in: its name, and its size in the stored unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub name: &'static str,
    size: f64,
}

/// The text for a value that is unavailable.
pub(crate) const NONE: &str = "—";

const NS: &[Unit] = &[unit("ns", 1.0), unit("µs", 1e3), unit("ms", 1e6), unit("s", 1e9)];
const BYTES: &[Unit] = &[
    unit("B", 1.0),
    unit("KiB", 1024.0),
    unit("MiB", 1_048_576.0),
    unit("GiB", 1_073_741_824.0),
    unit("TiB", 1_099_511_627_776.0),
];
const BYTES_PER_S: &[Unit] = &[
    unit("B/s", 1.0),
    unit("kB/s", 1e3),
    unit("MB/s", 1e6),
    unit("GB/s", 1e9),
    unit("TB/s", 1e12),
];
const COUNT: &[Unit] = &[unit("", 1.0), unit("k", 1e3), unit("M", 1e6), unit("G", 1e9)];

/// Units that others print, by the stored unit.
const OTHERS: &[(&str, Unit)] = &[
    ("bytes", unit("bytes", 1.0)),
    ("bytes", unit("MB", 1e6)),
    ("bytes/s", unit("MiB/s", 1_048_576.0)),
];

const fn unit(name: &'static str, size: f64) -> Unit {
    Unit { name, size }
}

impl Unit {
    /// The unit of values that are shown as they are stored, without a name.
    pub const ONE: Unit = unit("", 1.0);

    /// The units in which values of this stored unit are shown, the smallest first.
    pub fn ladder(stored: &str) -> &'static [Unit] {
        match stored {
            "ns" => NS,
            "bytes" => BYTES,
            "bytes/s" => BYTES_PER_S,
            "count" => COUNT,
            _ => &[],
        }
    }

    /// The unit of this name for values of this stored unit.
    pub(crate) fn named(stored: &str, name: &str) -> Option<Unit> {
        let others = OTHERS.iter().filter(|(of, _)| *of == stored).map(|(_, unit)| unit);
        Unit::ladder(stored).iter().chain(others).find(|unit| unit.name == name).copied()
    }

    /// The size of the unit in the stored unit.
    pub fn size(self) -> f64 {
        self.size
    }

    /// The unit for all of these values together: the largest one that does not exceed the middle
    /// value. Zeros, and values that are not finite, are ignored.
    pub(crate) fn for_values(stored: &'static str, values: impl IntoIterator<Item = f64>) -> Unit {
        let ladder = Unit::ladder(stored);
        if ladder.is_empty() {
            return unit(stored, 1.0);
        }
        let mut sizes: Vec<f64> = values.into_iter().map(f64::abs).collect();
        sizes.retain(|size| size.is_finite() && *size > 0.0);
        sizes.sort_unstable_by(f64::total_cmp);
        let middle = sizes.get(sizes.len() / 2).copied().unwrap_or_default();
        ladder.iter().rfind(|unit| rounded(middle) >= unit.size).copied().unwrap_or(ladder[0])
    }

    /// The same; `None` if it would make some of them unreadable, so that each needs its own.
    pub fn common(stored: &'static str, values: impl Iterator<Item = f64> + Clone) -> Option<Unit> {
        let sizes = values.map(f64::abs).filter(|size| *size > 0.0);
        let most = sizes.clone().fold(0.0, f64::max);
        let spread = most / sizes.clone().fold(f64::INFINITY, f64::min);
        (spread < 1e4 || stored == "count").then(|| Unit::for_values(stored, sizes))
    }

    /// The value in this unit, without its name.
    pub fn number(self, value: f64) -> String {
        // A count in its own unit has no digits after the point.
        if self.size <= 1.0 && value.fract() == 0.0 && value.abs() < 1000.0 {
            return format!("{value:.0}");
        }
        significant(value / self.size)
    }
}

/// The value in a unit with this many digits after the point, as an author prints it.
pub(crate) fn printed(unit: Unit, value: f64, decimals: usize) -> String {
    format!("{:.decimals$}", value / unit.size)
}

/// The same for a value beside it: with three significant digits where these are more.
pub(crate) fn printed_beside(unit: Unit, value: f64, decimals: usize) -> String {
    let scaled = value / unit.size;
    if scaled == 0.0 || !scaled.is_finite() {
        return significant(scaled);
    }
    let needed = (2.0 - scaled.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let exact = unit.size <= 1.0 && scaled.fract() == 0.0;
    printed(unit, value, if exact { decimals } else { decimals.max(needed) })
}

/// The value with its unit, as in a sentence: `4.5 MiB`.
pub(crate) fn amount(stored: &'static str, value: f64) -> String {
    if !value.is_finite() {
        return significant(value);
    }
    let unit = Unit::for_values(stored, [value]);
    let number = unit.number(value);
    let number = if number.contains('.') && !number.contains('e') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        &number
    };
    format!("{number} {}", unit.name).trim_end().to_owned()
}

/// A time as in a sentence: `9.52 ms`.
pub(crate) fn ns(value: f64) -> String {
    amount("ns", value)
}

/// The exact count, if it is short enough to read.
pub(crate) fn count(value: f64) -> String {
    match value {
        v if v.fract() == 0.0 && v.abs() < 1e7 => format!("{value:.0}"),
        _ => amount("count", value),
    }
}

/// A percentage with as many digits as an interval of this width justifies; and with more if a
/// value below 100 would be shown as 100.
pub(crate) fn percent(value: f64, width: f64) -> String {
    let decimals = match width {
        w if w >= 5.0 => 0,
        w if w >= 0.5 => 1,
        _ => 2,
    };
    let text = |decimals: usize| format!("{value:.decimals$}");
    let whole = |text: &str| value < 100.0 && text.parse() == Ok(100.0);
    let exact = (decimals..8).map(text).find(|text| !whole(text));
    unsigned_zero(exact.unwrap_or_else(|| text(decimals)))
}

/// A ratio; a larger ratio keeps fewer of these decimals.
pub(crate) fn ratio(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return significant(value);
    }
    match value.abs() {
        v if v >= 1e5 => significant(value),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.decimals$}"),
    }
}

/// `size=128Mi parallel=4`. The letters are a multiplier, not a unit: a point does not record
/// whether its number is one of bytes.
pub(crate) fn point(point: &Point) -> String {
    let words: Vec<String> = point
        .iter()
        .map(|(name, value)| match value {
            ParamValue::Number(n) => format!("{name}={}", short(*n)),
            ParamValue::Text(text) => format!("{name}={text}"),
        })
        .collect();
    words.join(" ")
}

/// `128Mi`, `1000`: exact.
pub(crate) fn short(n: u64) -> String {
    let (letter, shift) = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)]
        .into_iter()
        .find(|(_, shift)| n >= 1 << shift && n.trailing_zeros() >= *shift)
        .unwrap_or(("", 0));
    format!("{}{letter}", n >> shift)
}

fn significant(value: f64) -> String {
    if value.is_nan() {
        return NONE.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded = rounded(value);
    let exponent = rounded.abs().log10().floor();
    match exponent {
        e if (2.0..6.0).contains(&e) => format!("{rounded:.0}"),
        e if (-4.0..2.0).contains(&e) => format!("{rounded:.*}", (2.0 - e) as usize),
        _ => format!("{value:.2e}"),
    }
}

/// Rounded to three significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// `-0.0` has no additional meaning over `0.0`.
fn unsigned_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| matches!(b, b'0' | b'.')) => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_three_significant_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (9.52, "9.52"),
            (9.5, "9.50"),
            (9.996, "10.0"),
            (99.96, "100"),
            (9523.0, "9520"),
            (999_600.0, "1.00e6"),
            (0.001_234, "0.00123"),
            (0.000_000_1, "1.00e-7"),
            (-12.34, "-12.3"),
            (1e300, "1.00e300"),
            (f64::NAN, "—"),
            (f64::INFINITY, "∞"),
            (f64::NEG_INFINITY, "−∞"),
        ] {
            assert_eq!(significant(value), expected, "{value}");
        }
    }

    #[test]
    fn an_amount_names_its_unit() {
        for (stored, value, expected) in [
            ("ns", 12.0, "12 ns"),
            ("ns", 12.5, "12.5 ns"),
            ("ns", 9_520_000.0, "9.52 ms"),
            // Rounded first, because it would otherwise be 1000 µs.
            ("ns", 999_999.0, "1 ms"),
            ("ns", 3.6e12, "3600 s"),
            ("bytes", 0.0, "0 B"),
            ("bytes", 4_718_592.0, "4.5 MiB"),
            ("bytes/s", 14_100_000_000.0, "14.1 GB/s"),
            ("count", 7.0, "7"),
            ("count", 32_769.0, "32.8 k"),
            ("furlongs", 2.5, "2.5 furlongs"),
            ("ns", f64::NAN, "—"),
        ] {
            assert_eq!(amount(stored, value), expected, "{value} {stored}");
        }
    }

    #[test]
    fn a_count_is_shown_as_it_was_counted() {
        assert_eq!([0.0, 2048.0, 1_000_030.0].map(count), ["0", "2048", "1000030"]);
        assert_eq!([0.5, 2048.25, 12_345_678.0].map(count), ["0.5", "2.05 k", "12.3 M"]);
    }

    #[test]
    fn the_figures_of_an_author_keep_unit_and_digits() {
        let seconds = Unit::named("ns", "s").unwrap();
        let texts = [2_097_000_000.0, 36_000_000.0].map(|ns| printed(seconds, ns, 3));
        assert_eq!(texts, ["2.097", "0.036"]);
        let check = |stored: &str, name: &str, value: f64, expected: &str| {
            let unit = Unit::named(stored, name).unwrap();
            assert_eq!(printed_beside(unit, value, 0), expected, "{value} in {name}");
        };
        check("bytes/s", "MiB/s", 1620.0 * 1_048_576.0, "1620");
        check("bytes", "MB", 91e6, "91.0");
        check("bytes", "bytes", 1_303_317.0, "1303317");
        check("ns", "ms", 5_251_000.0, "5.25");
        check("ns", "µs", 10.1, "0.0101");
        check("ns", "ms", 0.0, "0");
        assert_eq!(printed_beside(seconds, 172e6, 3), "0.172");
        assert_eq!(printed_beside(seconds, 17.2e6, 3), "0.0172");
        assert_eq!(Unit::named("ns", "MB"), None);
    }

    #[test]
    fn a_column_has_the_unit_of_its_middle_value() {
        let ms = Unit::for_values("ns", [0.0, f64::NAN, 9e5, 9.5e6, 4e9]);
        assert_eq!(ms.name, "ms");
        assert_eq!([9e5, 9.5e6, 4e9].map(|v| ms.number(v)), ["0.900", "9.50", "4000"]);
        assert_eq!(Unit::for_values("ns", []).name, "ns");
    }

    #[test]
    fn percents_and_ratios_show_what_their_interval_carries() {
        assert_eq!(percent(31.25, 6.0), "31");
        assert_eq!(percent(31.25, 1.0), "31.2");
        assert_eq!(percent(0.456, 0.1), "0.46");
        assert_eq!(percent(-0.001, 0.5), "0.0");
        assert_eq!(percent(-0.06, 0.5), "-0.1");
        assert_eq!(percent(99.996, 5.0), "99.996");
        assert_eq!(percent(100.0, 5.0), "100");
        assert_eq!(percent(f64::INFINITY, f64::NAN), "inf");
        assert_eq!(
            [0.6914, 23.45, 234.5, 1e9].map(|v| ratio(v, 2)),
            ["0.69", "23.4", "234", "1.00e9"]
        );
        assert_eq!(ratio(f64::NAN, 2), "—");
    }

    #[test]
    fn the_numbers_of_a_point_are_exact() {
        let mut at = Point::default();
        at.set("size", 134_217_728u64);
        at.set("n", 1000u64);
        at.set("zero", 0u64);
        at.set("file", "a b");
        assert_eq!(point(&at), "size=128Mi n=1000 zero=0 file=a b");
    }
}
