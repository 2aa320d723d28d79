//! Which facts of the environment go with the differences between groups: a correlation, and no
//! cause.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::random::SplitMix64;

/// Below this number of groups, facts are not tested: there are too few orders of the groups.
pub const GROUPS_TESTED: usize = 8;
const PERMUTATIONS: u32 = 999;
const SEED: u64 = 0xf1ee7;
/// Further facts, which explain less, are not listed.
const LISTED: usize = 5;

/// The facts of a run, by name.
type Facts = BTreeMap<String, Value>;

/// Facts that divide the groups in the same way.
pub(super) struct Fact {
    names: Vec<String>,
    /// By group, the number of its value.
    classes: Vec<usize>,
    values: Vec<Value>,
}

/// Facts, and how well they explain the ratios of a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoesWith {
    pub facts: Vec<String>,
    /// The share of the variance between the groups that their values explain, corrected for the
    /// number of values.
    pub explained: f64,
    /// How often the best of all facts explains as much where the ratios are shuffled (Westfall and
    /// Young 1993).
    pub p: f64,
}

/// The lasting facts that all runs of a group share, without those that are equal, or different, in
/// all groups.
pub(super) fn of_groups(groups: &[Vec<&Facts>], is_lasting: &dyn Fn(&str) -> bool) -> Vec<Fact> {
    let mut names: Vec<&String> = groups.iter().flatten().flat_map(|facts| facts.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut facts: Vec<Fact> = Vec::new();
    for name in names.into_iter().filter(|name| is_lasting(name)) {
        let of_group = |group: &Vec<&Facts>| {
            let mut values = group.iter().map(|facts| facts.get(name));
            let first = values.next().flatten();
            first.filter(|_| values.all(|value| value == first)).cloned().unwrap_or_default()
        };
        let mut values: Vec<Value> = Vec::new();
        let mut classes = Vec::new();
        for value in groups.iter().map(of_group) {
            let class = values.iter().position(|known| *known == value);
            classes.push(class.unwrap_or(values.len()));
            if class.is_none() {
                values.push(value);
            }
        }
        if values.len() < 2 || values.len() == groups.len() && groups.len() > 2 {
            continue;
        }
        match facts.iter_mut().find(|fact| fact.classes == classes) {
            Some(fact) => fact.names.push(name.clone()),
            None => facts.push(Fact { names: vec![name.clone()], classes, values }),
        }
    }
    facts
}

/// By how much they explain, of at least [`GROUPS_TESTED`] groups.
pub(super) fn that_go_with(logs: &[Option<f64>], facts: &[Fact]) -> Vec<GoesWith> {
    let known: Vec<usize> = (0..logs.len()).filter(|group| logs[*group].is_some()).collect();
    if known.len() < GROUPS_TESTED {
        return Vec::new();
    }
    let mut values: Vec<f64> = logs.iter().flatten().copied().collect();
    let classes: Vec<Vec<usize>> =
        facts.iter().map(|fact| known.iter().map(|group| fact.classes[*group]).collect()).collect();
    let explained: Vec<f64> = classes.iter().map(|classes| share(&values, classes)).collect();
    let mut as_large = vec![1; facts.len()];
    let mut random = SplitMix64(SEED);
    for _ in 0..PERMUTATIONS {
        random.shuffle(&mut values);
        let most = classes.iter().map(|classes| share(&values, classes)).fold(0.0, f64::max);
        for (count, own) in as_large.iter_mut().zip(&explained) {
            *count += u32::from(most >= *own);
        }
    }
    let p = as_large.into_iter().map(|count| f64::from(count) / f64::from(PERMUTATIONS + 1));
    let all = facts.iter().zip(explained).zip(p).filter(|((_, explained), _)| *explained > 0.0);
    let mut all: Vec<GoesWith> = all
        .map(|((fact, explained), p)| GoesWith { facts: fact.names.clone(), explained, p })
        .collect();
    all.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    all.truncate(LISTED);
    all
}

/// The adjusted coefficient of determination of one mean per class; 0 where it is not above 0.
fn share(values: &[f64], classes: &[usize]) -> f64 {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (value, class) in values.iter().zip(classes) {
        let (n, sum) = sums.entry(*class).or_default();
        (*n, *sum) = (*n + 1.0, *sum + value);
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let between: f64 = sums.values().map(|(n, sum)| n * (sum / n - mean).powi(2)).sum();
    let left = n - sums.len() as f64;
    if total <= 0.0 || left <= 0.0 {
        return 0.0;
    }
    (1.0 - (1.0 - between / total) * (n - 1.0) / left).max(0.0)
}

/// The facts that all of these groups share and no other group has, with their value.
pub(super) fn shared_by(groups: &[usize], facts: &[Fact]) -> Vec<String> {
    let is_theirs = |fact: &&Fact| {
        let mut inside = groups.iter().map(|group| fact.classes[*group]);
        let Some(first) = inside.next() else { return false };
        let mut outside = (0..fact.classes.len()).filter(|group| !groups.contains(group));
        inside.all(|class| class == first) && outside.all(|group| fact.classes[group] != first)
    };
    let named = |fact: &Fact| {
        let value = &fact.values[fact.classes[groups[0]]];
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let names = fact.names.iter();
        match fact.names.len() {
            1 => vec![format!("{} = {value}", fact.names[0])],
            _ => names.cloned().collect(),
        }
    };
    facts.iter().filter(is_theirs).flat_map(named).collect()
}
