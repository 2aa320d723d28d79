//! Which sides must not be compared at all.

use std::collections::BTreeSet;

use crate::run::Run;

/// Why two sides are not the same job, in one line; none if they can be compared.
pub fn refusal(a: &[Run], b: &[Run]) -> Option<String> {
    let runs = || a.iter().chain(b);
    let several = |what: &str, value: fn(&Run) -> String| {
        let values: BTreeSet<String> = runs().map(value).collect();
        let values: Vec<String> = values.into_iter().collect();
        (values.len() > 1).then(|| format!("{what}: {}", values.join(" and ")))
    };
    if let Some(text) =
        several("the runs are of different experiments", |run| run.experiment.clone())
    {
        return Some(format!("{text}; only runs of one can be compared"));
    }
    let cache = several("the runs have different cache states", |run| {
        format!("{:?}", run.plan.cache).to_lowercase()
    });
    let fresh = several("the runs take their samples differently", |run| {
        let word = if run.plan.fresh { "each in a fresh process" } else { "in lasting processes" };
        word.to_owned()
    });
    cache.or(fresh)
}
