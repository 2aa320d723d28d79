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

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(name: &str, classes: &[usize]) -> Fact {
        let values = ["a", "b"].map(Value::from).to_vec();
        Fact { names: vec![name.to_owned()], classes: classes.to_vec(), values }
    }

    #[test]
    fn the_share_is_the_adjusted_coefficient_of_determination() {
        // By hand: the mean is 3, the squares around it sum to 16; the classes have the means 2 and
        // 4, which explain 3 · 1 + 3 · 1 of it. 1 − (1 − 6/16) · 5/4.
        let of_two = share(&[1.0, 2.0, 3.0, 2.0, 4.0, 6.0], &[0, 0, 0, 1, 1, 1]);
        // Means that are equal explain nothing, and so does a class of its own for each value: here
        // the two sums are of the same squares, but are rounded differently.
        let equal = share(&[1.0, 3.0, 1.0, 3.0], &[0, 0, 1, 1]);
        let large = f64::from(1 << 27);
        let values = [large, -large, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        let own = share(&values, &[8, 9, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((of_two, equal, own), (0.218_75, 0.0, 0.0));
    }

    #[test]
    fn what_all_groups_share_and_what_differs_in_all_of_three_divides_none() {
        let facts = |values: &[(&str, &str)]| -> Facts {
            values.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect()
        };
        let of = |groups: &[Facts]| -> Vec<(Vec<String>, Vec<usize>)> {
            let groups: Vec<Vec<&Facts>> = groups.iter().map(|facts| vec![facts]).collect();
            let found = of_groups(&groups, &|_| true).into_iter();
            found.map(|fact| (fact.names, fact.classes)).collect()
        };
        let one = facts(&[("cpu", "x"), ("kind", "p"), ("os", "l")]);
        let two = facts(&[("cpu", "y"), ("kind", "p"), ("os", "l")]);
        let three = facts(&[("cpu", "z"), ("kind", "q"), ("os", "l")]);
        assert_eq!(of(&[one.clone(), two.clone()]), [(vec!["cpu".to_owned()], vec![0, 1])]);
        assert_eq!(of(&[one, two, three]), [(vec!["kind".to_owned()], vec![0, 0, 1])]);
    }

    #[test]
    fn facts_are_tested_from_eight_groups_on() {
        let logs = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0].map(Some);
        let facts = [fact("cpu", &[0, 0, 0, 0, 1, 1, 1, 1])];
        let found = that_go_with(&logs, &facts);
        assert_eq!((found.len(), found[0].explained), (1, 1.0));
        let mut seven = logs;
        seven[3] = None;
        assert!(that_go_with(&seven, &facts).is_empty());
    }

    #[test]
    fn what_no_other_order_explains_as_well_has_the_smallest_p() {
        let logs: Vec<Option<f64>> = (0..24).map(|i| Some(f64::from(i / 12))).collect();
        let half: Vec<usize> = (0..24).map(|i| i / 12).collect();
        let alternating: Vec<usize> = (0..24).map(|i| i % 2).collect();
        let found = that_go_with(&logs, &[fact("cpu", &half), fact("os", &alternating)]);
        // Of 2.7 million ways to divide the groups two are as good: the order itself is the only
        // one of a thousand.
        let expected = GoesWith { facts: vec!["cpu".to_owned()], explained: 1.0, p: 0.001 };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_fact_is_shared_if_all_of_the_groups_and_no_other_have_it() {
        let facts = [fact("cpu", &[0, 0, 1]), fact("os", &[0, 1, 1]), fact("kind", &[1, 1, 1])];
        assert_eq!(shared_by(&[0, 1], &facts), ["cpu = a"]);
        assert_eq!(shared_by(&[0], &facts), ["os = a"]);
    }
}
