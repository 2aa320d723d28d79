//! Which methods got slower lately: changes to a higher level that no later change took back.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{NEWEST, Series, SeriesKey, series_by};
use crate::run::Run;
use crate::stats::{LEAST_FOR_CHANGE, median};

const METRIC: &str = "wall_ns";

/// What all series together show.
#[derive(Clone, Debug, Serialize)]
pub struct Slowdowns {
    /// The newest first.
    pub slowdowns: Vec<Slowdown>,
    /// The number of series with enough runs for a change to be seen.
    pub series_examined: usize,
    /// The number of series with fewer runs.
    pub series_too_short: usize,
}

/// A method takes longer since a run.
#[derive(Clone, Debug, Serialize)]
pub struct Slowdown {
    pub method: String,
    /// The machine is that of the run.
    #[serde(flatten)]
    pub place: SeriesKey,
    pub cpu_model: Option<String>,
    /// The first run of the higher level.
    pub run: String,
    pub started: String,
    pub label: Option<String>,
    /// The last run before it.
    pub run_before: String,
    /// The median of the p50 of the level before the change, of the level that begins there, and of
    /// the newest level.
    pub before_ns: f64,
    pub after_ns: f64,
    pub now_ns: f64,
}

/// The changes for the worse in runs that started at or after `since`, the start of an RFC 3339
/// time.
pub fn slowdowns(runs: &[Run], since: &str) -> Slowdowns {
    let cells = runs.iter().flat_map(|run| &run.cells);
    let methods: BTreeSet<&str> = cells.map(|cell| cell.method.as_str()).collect();
    let mut all = Slowdowns { slowdowns: Vec::new(), series_examined: 0, series_too_short: 0 };
    for method in methods {
        for series in series_by(runs, method, METRIC, &host) {
            if series.values.len() < LEAST_FOR_CHANGE {
                all.series_too_short += 1;
                continue;
            }
            all.series_examined += 1;
            let found = (0..series.changes.len())
                .filter_map(|at| slowdown(runs, method, &series, at, since));
            all.slowdowns.extend(found);
        }
    }
    all.slowdowns.sort_by(|a, b| b.started.cmp(&a.started));
    all
}

/// A machine by its host name and CPU: the fingerprint is another one as soon as the kernel or a
/// setting is, and these changes are among the reasons that are looked for.
fn host(run: &Run) -> String {
    let environment = &run.environment;
    let fact = |name: &str| environment.facts.get(name).and_then(Value::as_str);
    match fact("hostname_digest") {
        Some(name) => format!("{name} {}", fact("cpu_model").unwrap_or_default()),
        None => environment.fingerprint.clone(),
    }
}

fn slowdown(
    runs: &[Run],
    method: &str,
    series: &Series,
    change: usize,
    since: &str,
) -> Option<Slowdown> {
    let at = series.changes[change].at;
    let point = &series.values[at];
    let level = |index: usize| {
        let bound = |index: usize| match index {
            0 => series.values.len().saturating_sub(NEWEST),
            index => series.changes.get(index - 1).map_or(series.values.len(), |next| next.at),
        };
        let values = &series.values[bound(index)..bound(index + 1)];
        median(&values.iter().map(|value| value.p50).collect::<Vec<_>>())
    };
    let [before_ns, after_ns, now_ns] = [change, change + 1, series.changes.len()].map(level);
    if point.started.as_str() < since || after_ns <= before_ns || now_ns <= before_ns {
        return None;
    }
    let new = runs.iter().find(|run| run.id == point.id)?;
    let cpu_model = new.environment.facts.get("cpu_model").and_then(Value::as_str);
    Some(Slowdown {
        method: method.to_owned(),
        place: SeriesKey { machine: new.environment.fingerprint.clone(), ..series.place.clone() },
        cpu_model: cpu_model.map(str::to_owned),
        run: point.id.clone(),
        started: point.started.clone(),
        label: point.label.clone(),
        run_before: series.values[at - 1].id.clone(),
        before_ns,
        after_ns,
        now_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_its_name_and_cpu() {
        let mut run = crate::analyze::tests::run(Vec::new());
        run.environment.fingerprint = "print".to_owned();
        run.environment.facts.insert("cpu_model".to_owned(), "c".into());
        assert_eq!(host(&run), "print");
        run.environment.facts.insert("hostname_digest".to_owned(), "h".into());
        assert_eq!(host(&run), "h c");
    }
}
