//! Comparisons that are not in a point's table: a method with itself at another value of a param,
//! the custom metrics that methods report, and a method over all points.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::metric::WALL;
use model::param::{ParamValue, Point};
use model::run::Run;

use super::analysis::{
    ALPHA, Change, CustomMetricComparison, Family, Overall, ParamComparison, Verdict,
};
use super::compare::{Pair, at_last_look, log_ratios};
use super::facts::RunFacts;
use super::family::{by_group, choice};
use crate::stats::{self, pseudomedian};

// Compares a method with itself at another value of a param that is a word or a path: the same job
// in another directory, or with another placement. Numeric params are not compared, because their
// effect is a curve.

/// Params that distinguish jobs, and the rows of `numbers`; they are not compared.
const JOBS: [&str; 2] = ["job", "row"];

/// Compares each measured cell with that of the same method at the first value of the param, all
/// other values being equal; by one measure for all comparisons that involve one of these cells.
pub(crate) fn param_effects(facts: &RunFacts<'_>, families: &[Family]) -> Vec<ParamComparison> {
    let fit = |i: &usize| facts.cells[*i].is_right();
    let mut params = Vec::new();
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for param in text_params(facts.run) {
        for alike in groups(facts.run, &param) {
            params.push(param.clone());
            sets.push(alike.into_iter().filter(fit).collect());
        }
    }
    let before_families = sets.len();
    sets.extend(families.iter().map(|family| family.compared.clone()));
    let choices = by_group(&sets, |sets, cells| {
        let points = sets.iter().filter_map(|set| set.checked_sub(before_families));
        choice(facts, families, &points.collect::<Vec<_>>(), cells)
    });
    let mut all = Vec::new();
    for ((param, alike), choice) in params.iter().zip(&sets).zip(choices) {
        let Some((reference, others)) = alike.split_first() else { continue };
        let metric = choice.metric_of(&facts.cells[*reference].stored.method);
        let alpha = ALPHA / others.len().max(1) as f64;
        let lines = others.iter().filter_map(|cell| {
            let point = &facts.cells[*cell].stored.point;
            let pair = Pair::new(facts, point, [*cell, *reference], alpha);
            let comparison = pair.comparisons(metric).into_iter().find(|c| c.decides)?;
            let values = [pair.cell, pair.reference].map(|cell| cell.stored.point.get(param));
            Some(ParamComparison {
                param: param.clone(),
                value: values[0]?.to_string(),
                reference_value: values[1]?.to_string(),
                comparison,
            })
        });
        all.extend(lines);
    }
    all
}

/// The cells of one method that differ only in this param, in the order of the run.
fn groups(run: &Run, param: &str) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<(&str, Point), usize> = HashMap::new();
    for (i, cell) in run.cells.iter().enumerate() {
        if cell.point.get(param).is_none() {
            continue;
        }
        let rest = cell.point.only(|name| name != param);
        let group = *known.entry((&cell.method, rest)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(i);
    }
    groups
}

/// The params that have several words or paths in this run.
fn text_params(run: &Run) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in run.cells.iter().flat_map(|cell| cell.point.iter()) {
        let ParamValue::Text(text) = value else { continue };
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) if !values.contains(&text.as_str()) => values.push(text),
            Some(_) => {}
            None => found.push((name, vec![text])),
        }
    }
    let several =
        found.into_iter().filter(|(name, values)| !JOBS.contains(name) && values.len() > 1);
    several.map(|(name, _)| name.to_owned()).collect()
}

// Compares the methods of each point in the metrics that they report themselves. Whether more or
// less of these is better is not known, so that the verdict says only which it is.

/// By point, metric and method.
pub(crate) fn custom_metrics(
    facts: &RunFacts<'_>,
    families: &[Family],
) -> Vec<CustomMetricComparison> {
    let mut all = Vec::new();
    let mut known = BTreeSet::new();
    for family in families {
        let Some(reference) = family.reference else { continue };
        let others: Vec<usize> =
            family.compared.iter().copied().filter(|cell| *cell != reference).collect();
        let own = &facts.cells[reference];
        for metric in own.custom_metrics().filter(|metric| own.has(metric)) {
            let having = others.iter().copied().filter(|cell| facts.cells[*cell].has(metric));
            let having: Vec<usize> = having.collect();
            let alpha = ALPHA / having.len().max(1) as f64;
            for cell in having {
                // A pair that is in several families is compared in the first of them.
                if known.insert((metric, cell, reference)) {
                    let pair = Pair::new(facts, &family.point, [cell, reference], alpha);
                    all.push(compare_metric(&pair, metric));
                }
            }
        }
    }
    all
}

fn compare_metric(pair: &Pair<'_>, metric: &str) -> CustomMetricComparison {
    let found = pair.compare(metric);
    CustomMetricComparison {
        change: match found.verdict {
            Verdict::Faster => Change::Less,
            Verdict::Slower => Change::More,
            Verdict::Same => Change::Same,
            _ => Change::Undecided,
        },
        method: found.method,
        reference: found.reference,
        point: found.point,
        metric: found.metric,
        sessions: found.sessions,
        ratio: found.ratio,
        low: found.low,
        high: found.high,
        level: found.level,
        reason: found.reason,
    }
}

// One figure for each method over all points: the geometric mean of its ratios to the reference.

/// The methods that were compared with one reference at every point of the run, the smallest ratio
/// first. A run of one point has none.
pub(crate) fn overall(facts: &RunFacts<'_>, families: &[Family]) -> Vec<Overall> {
    if families.len() < 2 || !facts.run.in_rounds() {
        return Vec::new();
    }
    let name = |cell: usize| facts.cells[cell].stored.method.as_str();
    let mut pairs: BTreeMap<&str, Vec<[usize; 2]>> = BTreeMap::new();
    let mut reference = None;
    for family in families {
        let Some(of_family) = family.reference else { return Vec::new() };
        if *reference.get_or_insert(name(of_family)) != name(of_family) {
            return Vec::new();
        }
        for cell in family.compared.iter().filter(|cell| **cell != of_family) {
            pairs.entry(name(*cell)).or_default().push([*cell, of_family]);
        }
    }
    let metric = families[0].metric;
    let metric = if families.iter().all(|f| f.metric == metric) { metric } else { WALL };
    pairs.retain(|_, pairs| pairs.len() == families.len());
    let alpha = ALPHA / pairs.len().max(1) as f64;
    let mut all: Vec<Overall> = pairs
        .into_values()
        .filter_map(|mut pairs| {
            pairs.sort_unstable();
            pairs.dedup();
            of_pairs(facts, &pairs, metric, alpha)
        })
        .collect();
    all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    all
}

/// The value of a session is the mean over the points of the pseudomedians of the logs of its
/// rounds' ratios.
fn of_pairs(
    facts: &RunFacts<'_>,
    pairs: &[[usize; 2]],
    metric: &'static str,
    alpha: f64,
) -> Option<Overall> {
    if pairs.len() < 2 {
        return None;
    }
    let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for pair in pairs {
        let cells = pair.map(|cell| (&facts.cells[cell], metric));
        for (session, logs) in log_ratios(cells).ok()? {
            let (points, sum) = sums.entry(session).or_default();
            *points += 1;
            *sum += pseudomedian(&logs)?;
        }
    }
    let shared = sums.into_iter().filter(|(_, (points, _))| *points == pairs.len());
    let mut shared: Vec<(u32, f64)> =
        shared.map(|(session, (points, sum))| (session, sum / points as f64)).collect();
    let level = at_last_look(&facts.run.plan, &mut shared, alpha);
    let values: Vec<f64> = shared.into_iter().map(|(_, value)| value).collect();
    let shift = stats::of_values(&values, level.unwrap_or(alpha)).filter(|shift| shift.n > 0)?;
    let interval = shift.interval.filter(|_| level.is_some());
    let [method, reference] = pairs[0].map(|cell| facts.cells[cell].stored.method.clone());
    Some(Overall {
        method,
        reference,
        metric,
        points: pairs.len(),
        sessions: shift.n,
        ratio: shift.estimate.exp(),
        low: interval.map(|(low, _)| low.exp()),
        high: interval.map(|(_, high)| high.exp()),
        level: 1.0 - level.unwrap_or(alpha),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, run};

    #[test]
    fn only_a_word_or_path_with_several_values_that_names_no_job_is_compared() {
        let at = |job: &str, dir: &str, size: u64| {
            let mut cell = cell("a", []);
            for (name, text) in [("job", job), ("dir", dir), ("mode", "same")] {
                cell.point.set(name, text);
            }
            cell.point.set("size", size);
            cell
        };
        let cells = vec![at("x", "/a", 1), at("y", "/b", 2), at("y", "/b", 3)];
        assert_eq!(text_params(&run(cells)), ["dir"]);
    }
}
