//! Comparisons that are not in a point's table: a method with itself at another value of a param,
//! the custom metrics that methods report, and a method over all points.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::metric::{WALL, is_known};
use model::param::{ParamValue, Point};
use model::run::{Cell, Run};

use super::compare::Pair;
use super::family::{by_group, choice};
use super::values::{at_last_look, numbered_log_ratios};
use super::{
    ALPHA, Change, Comparison, CustomMetricComparison, Family, Overall, ParamComparison, Verdict,
};
use crate::stats::{self, pseudomedian};

// Compares a method with itself at another value of a param that is a word or a path: the same job
// in another directory, or with another placement. Numeric params are not compared, because their
// effect is a curve.

/// Params that distinguish jobs, and the rows of `numbers`; they are not compared.
const JOBS: [&str; 2] = ["job", "row"];

/// Compares each measured cell with that of the same method at the first value of the param, all
/// other values being equal; by one measure for all comparisons that involve one of these cells.
pub(crate) fn param_effects(
    run: &Run,
    wrong: &[Option<String>],
    families: &[Family],
) -> Vec<ParamComparison> {
    let fit = |i: &usize| {
        let cell = &run.cells[*i];
        cell.has_figures() && wrong[*i].is_none() && cell.counted(WALL).next().is_some()
    };
    let mut params = Vec::new();
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for param in text_params(run) {
        for alike in groups(run, &param) {
            params.push(param.clone());
            sets.push(alike.into_iter().filter(fit).collect());
        }
    }
    let before_families = sets.len();
    sets.extend(families.iter().map(|family| family.compared.clone()));
    let choices = by_group(
        &sets,
        |i| vec![&run.cells[i]],
        |sets, cells| {
            let points = sets.iter().filter_map(|set| set.checked_sub(before_families));
            choice(run, families, &points.collect::<Vec<_>>(), cells)
        },
    );
    let mut all = Vec::new();
    for ((param, alike), choice) in params.iter().zip(&sets).zip(choices) {
        let Some((reference, others)) = alike.split_first() else { continue };
        let metric = choice.metric_of(&run.cells[*reference].method);
        let alpha = ALPHA / others.len().max(1) as f64;
        let lines = others.iter().filter_map(|cell| {
            let pair = Pair {
                run,
                point: &run.cells[*cell].point,
                cell: *cell,
                reference: *reference,
                alpha,
            };
            param_effect(&pair, param, metric)
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

fn param_effect(pair: &Pair<'_>, param: &str, metric: &str) -> Option<ParamComparison> {
    let comparison: Comparison = pair.comparisons(metric).into_iter().find(|c| c.decides)?;
    let value = |i: usize| pair.run.cells[i].point.get(param).map(ToString::to_string);
    Some(ParamComparison {
        param: param.to_owned(),
        value: value(pair.cell)?,
        reference_value: value(pair.reference)?,
        comparison,
    })
}

// Compares the methods of each point in the metrics that they report themselves. Whether more or
// less of these is better is not known, so that the verdict says only which it is.

/// By point, metric and method.
pub(crate) fn custom_metrics(run: &Run, families: &[Family]) -> Vec<CustomMetricComparison> {
    let mut all = Vec::new();
    let mut known = BTreeSet::new();
    for family in families {
        let Some(reference) = family.reference else { continue };
        let cells: Vec<usize> =
            family.compared.iter().copied().filter(|cell| *cell != reference).collect();
        for metric in custom_metrics_of(&run.cells[reference]) {
            let has_it = |cell: &&usize| run.cells[**cell].counted(metric).next().is_some();
            let having: Vec<usize> = cells.iter().filter(has_it).copied().collect();
            let alpha = ALPHA / having.len().max(1) as f64;
            for cell in having {
                // A pair that is in several families is compared in the first of them.
                if known.insert((metric, cell, reference)) {
                    let pair = Pair { run, point: &family.point, cell, reference, alpha };
                    all.push(compare_metric(&pair, metric));
                }
            }
        }
    }
    all
}

fn custom_metrics_of(cell: &Cell) -> impl Iterator<Item = &str> {
    let own = cell.values.keys().map(String::as_str).filter(|name| !is_known(name));
    own.filter(|name| cell.counted(name).next().is_some())
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
pub(crate) fn overall(run: &Run, families: &[Family]) -> Vec<Overall> {
    if families.len() < 2 || !run.in_rounds() {
        return Vec::new();
    }
    let name = |cell: usize| run.cells[cell].method.as_str();
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
            of_pairs(run, &pairs, metric, alpha)
        })
        .collect();
    all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    all
}

/// The value of a session is the mean over the points of the pseudomedians of the logs of its
/// rounds' ratios.
fn of_pairs(run: &Run, pairs: &[[usize; 2]], metric: &'static str, alpha: f64) -> Option<Overall> {
    if pairs.len() < 2 {
        return None;
    }
    let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for [cell, reference] in pairs {
        let logs =
            numbered_log_ratios([*cell, *reference].map(|cell| (&run.cells[cell], metric))).ok()?;
        for (session, logs) in logs {
            let (points, sum) = sums.entry(session).or_default();
            *points += 1;
            *sum += pseudomedian(&logs)?;
        }
    }
    let shared = sums.into_iter().filter(|(_, (points, _))| *points == pairs.len());
    let mut shared: Vec<(u32, f64)> =
        shared.map(|(session, (points, sum))| (session, sum / points as f64)).collect();
    let level = at_last_look(run, &mut shared, alpha);
    let values: Vec<f64> = shared.into_iter().map(|(_, value)| value).collect();
    let shift = stats::of_values(&values, level.unwrap_or(alpha)).filter(|shift| shift.n > 0)?;
    let interval = shift.interval.filter(|_| level.is_some());
    let [cell, reference] = pairs[0];
    Some(Overall {
        method: run.cells[cell].method.clone(),
        reference: run.cells[reference].method.clone(),
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
