//! Compares a method with itself at another value of a param that is a word or a path: the same job
//! in another directory, or with another placement. Numeric params are not compared, because their
//! effect is a curve.

use std::collections::HashMap;

use super::compare::Pair;
use super::family::{by_group, choice};
use super::{ALPHA, Comparison, Family, ParamComparison};
use crate::metric::WALL;
use crate::param::{Point, Value};
use crate::run::Run;

/// Params that distinguish jobs, and the rows of `numbers`; they are not compared.
const JOBS: [&str; 2] = ["job", "row"];

/// Compares each measured cell with that of the same method at the first value of the param, all
/// other values being equal; by one measure for all comparisons that involve one of these cells.
pub(super) fn compare_all(
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
        let metric = choice.of(&run.cells[*reference].method);
        let alpha = ALPHA / others.len().max(1) as f64;
        let lines = others.iter().filter_map(|cell| {
            let pair = Pair {
                run,
                point: &run.cells[*cell].point,
                cell: *cell,
                reference: *reference,
                alpha,
            };
            across(&pair, param, metric)
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
        let Value::Text(text) = value else { continue };
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

fn across(pair: &Pair<'_>, param: &str, metric: &str) -> Option<ParamComparison> {
    let comparison: Comparison = pair.comparisons(metric).into_iter().find(|c| c.decides)?;
    let value = |i: usize| pair.run.cells[i].point.get(param).map(ToString::to_string);
    Some(ParamComparison {
        param: param.to_owned(),
        value: value(pair.cell)?,
        reference_value: value(pair.reference)?,
        comparison,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::{cell, run};

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
