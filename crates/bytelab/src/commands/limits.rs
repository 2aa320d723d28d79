//! Limits on how much a metric may get worse, as `check` and `compare` accept them.

use anyhow::{Result, ensure};
use lab::analyze::Allowed;
use lab::metric;

const SHORT: [(&str, &str); 6] = [
    ("wall", "wall_ns"),
    ("cpu", "cpu_ns"),
    ("rss", "peak_rss_bytes"),
    ("syscalls", "syscalls"),
    ("allocations", "allocations"),
    ("throughput", "throughput_bytes_per_s"),
];

/// The full name of a metric, which may be given by its short name.
pub(crate) fn metric_named(name: &str) -> &str {
    SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, full)| full)
}

/// Parses a limit such as `wall=5%`.
pub(crate) fn allowed(text: &str) -> Result<Allowed, String> {
    let wrong = || "write METRIC=N%, such as wall=5%".to_owned();
    let (name, percent) = text.split_once('=').ok_or_else(wrong)?;
    let percent = percent.strip_suffix('%').ok_or_else(wrong)?.trim();
    let percent: f64 = percent.parse().map_err(|_| wrong())?;
    if !(0.0..=1e6).contains(&percent) {
        return Err(format!("{percent} % cannot be allowed: 0 or more"));
    }
    let metric = metric_named(name);
    if !metric::is_known(metric) && !metric.ends_with("_ns") && !metric.ends_with("_bytes") {
        let short = SHORT.map(|(short, _)| short).join(", ");
        return Err(format!(
            "there is no metric {name}; there are {short} and the full names of others"
        ));
    }
    Ok(Allowed { metric: metric.to_owned(), percent })
}

/// Fails if a metric has two limits.
pub(crate) fn ensure_once(flag: &str, limits: &[Allowed]) -> Result<()> {
    for (i, allowed) in limits.iter().enumerate() {
        let twice = limits[..i].iter().any(|other| other.metric == allowed.metric);
        ensure!(!twice, "{flag} names {} twice", allowed.metric);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_metric_and_a_percentage() {
        let check = |text: &str, expected: Result<(&str, f64), &str>| {
            let got = allowed(text);
            match expected {
                Ok((metric, percent)) => {
                    assert_eq!(got, Ok(Allowed { metric: metric.to_owned(), percent }), "{text}");
                }
                Err(part) => assert!(got.unwrap_err().contains(part), "{text}"),
            }
        };
        check("wall=5%", Ok(("wall_ns", 5.0)));
        check("rss=0.5%", Ok(("peak_rss_bytes", 0.5)));
        check("peak_rss_bytes=10 %", Ok(("peak_rss_bytes", 10.0)));
        check("switch_ns=1%", Ok(("switch_ns", 1.0)));
        check("wall=5", Err("wall=5%"));
        check("wall", Err("wall=5%"));
        check("wall=%", Err("wall=5%"));
        check("wall=-1%", Err("0 or more"));
        check("wall=NaN%", Err("0 or more"));
        check("wall=inf%", Err("0 or more"));
        check("speed=5%", Err("there is no metric speed; there are wall, cpu"));
    }
}
