//! Stored runs: the entries of their list, with what was chosen for each and how long it took, and
//! what got slower lately.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Slowdown, Slowdowns};
use model::facts::{Difference, differences};
use model::param::Point;
use model::run::{CacheState, Listed, Plan, Run};
use serde::Serialize;

use super::fleet::is_lasting;
use super::units;

/// More values of a param are shortened to the first, the last and their number.
const VALUES_NAMED_MAX: usize = 3;

#[derive(Clone, Debug, Serialize)]
pub struct HistoryEntry {
    #[serde(flatten)]
    pub run: Listed,
    /// How long it was measured, all times together if it was resumed. Runs of other programs have
    /// no such time.
    pub took_ns: Option<u64>,
    /// The values of the flags, by name.
    pub flags: BTreeMap<String, String>,
}

/// The values of the flags with which a run of this plan and these points is measured again.
pub fn flags(plan: &Plan, points: &[Point]) -> BTreeMap<String, String> {
    let mut flags = BTreeMap::new();
    for (name, _) in points.iter().flat_map(Point::iter) {
        if !flags.contains_key(name) {
            flags.insert(name.to_owned(), values(points, name));
        }
    }
    if plan.imported.is_some() {
        return flags;
    }
    let cache = match plan.cache {
        CacheState::Warm => "warm",
        CacheState::Cold => "cold",
        CacheState::AsIs => "as-is",
    };
    flags.insert("cache".to_owned(), cache.to_owned());
    flags.insert("warm-up".to_owned(), plan.warm_up.to_string());
    flags.insert("counting".to_owned(), plan.counting.to_string());
    if plan.fresh {
        flags.insert("fresh".to_owned(), "yes".to_owned());
    }
    if let Some(percent) = plan.margin_percent {
        flags.insert("margin".to_owned(), format!("{percent}%"));
    }
    if plan.design.is_fixed() {
        let rounds = u64::from(plan.rounds) * u64::from(plan.sessions.max(1));
        flags.insert("rounds".to_owned(), rounds.to_string());
    }
    if plan.limits_all && plan.time_limit_ns != Plan::NO_TIME_LIMIT_NS {
        flags.insert("time".to_owned(), units::ns(plan.time_limit_ns as f64).replace(' ', ""));
    }
    flags
}

fn values(points: &[Point], name: &str) -> String {
    let mut values: Vec<String> = Vec::new();
    for point in points {
        let shown = units::point(&point.only(|own| own == name));
        let value = shown.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
        let value = value.unwrap_or_default().to_owned();
        if !values.contains(&value) {
            values.push(value);
        }
    }
    match values.as_slice() {
        [first, .., last] if values.len() > VALUES_NAMED_MAX => format!("{first}..{last}"),
        _ => values.join(","),
    }
}

/// For each run, `name=value` of the flags in which the runs of its experiment differ.
pub(crate) fn differing(runs: &[HistoryEntry]) -> Vec<String> {
    let mut by_experiment: BTreeMap<&str, Vec<&HistoryEntry>> = BTreeMap::new();
    for entry in runs {
        by_experiment.entry(&entry.run.experiment).or_default().push(entry);
    }
    let names: BTreeMap<&str, BTreeSet<&str>> =
        by_experiment.into_iter().map(|(name, alike)| (name, names_that_differ(&alike))).collect();
    let shown = |entry: &HistoryEntry| {
        let names = &names[entry.run.experiment.as_str()];
        let flags = entry.flags.iter().filter(|(name, _)| names.contains(name.as_str()));
        flags.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    runs.iter().map(shown).collect()
}

/// The flags that not all of these runs have with the same value.
fn names_that_differ<'a>(runs: &[&'a HistoryEntry]) -> BTreeSet<&'a str> {
    let mut first_and_count: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (name, value) in runs.iter().flat_map(|entry| &entry.flags) {
        let (first, count) = first_and_count.entry(name).or_insert((value, 0));
        *count += 1;
        if first != value {
            names.insert(name.as_str());
        }
    }
    let lacking = first_and_count.into_iter().filter(|(_, (_, count))| *count < runs.len());
    names.extend(lacking.map(|(name, _)| name));
    names
}

/// Recent slowdowns, with the facts of the environment that changed at the same time.
#[derive(Serialize)]
pub struct Alert {
    pub days: u32,
    /// The start of an RFC 3339 time.
    pub since: String,
    /// The number of series with enough runs for a change to be seen, and with fewer.
    pub series_examined: usize,
    pub series_too_short: usize,
    /// The newest first.
    pub slowdowns: Vec<SlowdownWithChanges>,
}

/// A slowdown, and what differs between the environments of the runs before and after it.
#[derive(Serialize)]
pub struct SlowdownWithChanges {
    #[serde(flatten)]
    pub slowdown: Slowdown,
    pub changed: Vec<Difference>,
}

impl Alert {
    pub fn new(days: u32, since: &str, found: Slowdowns, runs: &[Run]) -> Alert {
        let Slowdowns { slowdowns, series_examined, series_too_short } = found;
        let run = |id: &str| runs.iter().find(|run| run.id == id);
        let with_facts = |slowdown: Slowdown| {
            let pair = run(&slowdown.run_before).zip(run(&slowdown.run));
            let mut changed = pair
                .map(|(old, new)| differences(&old.environment, &new.environment))
                .unwrap_or_default();
            changed.retain(|difference| is_lasting(&difference.fact));
            SlowdownWithChanges { slowdown, changed }
        };
        let slowdowns = slowdowns.into_iter().map(with_facts).collect();
        Alert { days, since: since.to_owned(), series_examined, series_too_short, slowdowns }
    }
}
