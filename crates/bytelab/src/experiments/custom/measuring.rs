//! How much is measured, and the thresholds.

use lab::experiment::Method;
use lab::param::parse_bytes;
use lab::run::{RATIO, Threshold};

use super::file::{CacheWord, PlanTable, ThresholdTable};
use super::place::{Mistake, suggestion};
use super::values::{At, Scalar, Words};
use crate::pattern::matches;

/// Values of the flags of the same names.
pub(super) fn defaults(plan: &PlanTable) -> Result<Vec<(&'static str, String)>, Mistake> {
    let counts = [
        ("rounds", &plan.rounds, 1..=1_000_000),
        ("sessions", &plan.sessions, 1..=1000),
        ("min_sessions", &plan.min_sessions, 1..=1000),
        ("max_sessions", &plan.max_sessions, 1..=1000),
        ("warm_up", &plan.warm_up, 0..=1000),
        ("counting", &plan.counting, 0..=1000),
    ];
    let mut defaults = Vec::new();
    for (id, given, allowed) in counts {
        let Some(At { value, span }) = given else { continue };
        if !allowed.contains(value) {
            let text = format!("{value}: allowed are {} to {}", allowed.start(), allowed.end());
            return Err(Mistake::at(span, text));
        }
        defaults.push((id, value.to_string()));
    }
    for (id, given) in [("time", &plan.time), ("sample_limit", &plan.sample_limit)] {
        let Some(given) = given else { continue };
        nanoseconds(given)?;
        defaults.push((id, given.value.clone()));
    }
    if let Some(cache) = plan.cache {
        let word = match cache {
            CacheWord::Warm => "warm",
            CacheWord::Cold => "cold",
            CacheWord::AsIs => "as-is",
        };
        defaults.push(("cache", word.to_owned()));
    }
    Ok(defaults)
}

fn nanoseconds(text: &At<String>) -> Result<f64, Mistake> {
    let time = humantime::parse_duration(&text.value);
    let time = time.map(|time| time.as_nanos() as f64).ok().filter(|ns| *ns > 0.0 && *ns < 1e18);
    let wrong = || format!("{:?} is not a time (examples: 50ms, 1.5s, 2m)", text.value);
    time.ok_or_else(|| Mistake::at(&text.span, wrong()))
}

pub(super) fn thresholds(
    tables: &[ThresholdTable],
    methods: &[Method],
) -> Result<Vec<Threshold>, Mistake> {
    let mut thresholds = Vec::new();
    for table in tables {
        let names = chosen(table, methods)?;
        let mut limits: Vec<(&str, f64)> = Vec::new();
        for (metric, given) in [("wall_ns", &table.max_wall), ("cpu_ns", &table.max_cpu)] {
            if let Some(text) = given {
                limits.push((metric, nanoseconds(text)?));
            }
        }
        if let Some(At { value: Scalar(text), span }) = &table.max_rss {
            let wrong = |error| Mistake::at(span, format!("{text}: {error:#}"));
            limits.push(("peak_rss_bytes", parse_bytes(text).map_err(wrong)? as f64));
        }
        for (metric, given) in [("syscalls", &table.max_syscalls), (RATIO, &table.max_ratio)] {
            let Some(At { value, span }) = given else { continue };
            if !value.is_finite() || *value <= 0.0 {
                return Err(Mistake::at(span, format!("{value}: a number above 0 is needed")));
            }
            limits.push((metric, *value));
        }
        if limits.is_empty() {
            let span = table.method.as_ref().map_or(0..0, |method| method.span.clone());
            let allowed = "max_wall, max_cpu, max_rss, max_syscalls, max_ratio";
            return Err(Mistake::at(&span, format!("a [[threshold]] needs one of {allowed}")));
        }
        thresholds.extend(limits.into_iter().map(|(metric, max)| Threshold {
            methods: names.clone(),
            metric: metric.to_owned(),
            max,
        }));
    }
    Ok(thresholds)
}

fn chosen(table: &ThresholdTable, methods: &[Method]) -> Result<Vec<String>, Mistake> {
    let Some(At { value, span }) = &table.method else { return Ok(Vec::new()) };
    let patterns = match value {
        Words::Text(text) => std::slice::from_ref(text),
        Words::List(list) => list.as_slice(),
    };
    let mut chosen = Vec::new();
    for pattern in patterns {
        let found = methods.iter().filter(|method| matches(pattern, &method.name));
        let found: Vec<String> = found.map(|method| method.name.clone()).collect();
        if found.is_empty() {
            let known = methods.iter().map(|method| method.name.as_str());
            let text = format!("there is no method {pattern}{}", suggestion(pattern, known));
            return Err(Mistake::at(span, text));
        }
        chosen.extend(found);
    }
    Ok(chosen)
}
