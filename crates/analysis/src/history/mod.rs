//! Methods over time: the p50 in each run or at each commit, where it changed, and which methods
//! got slower lately.

use std::collections::BTreeSet;

use model::param::Point;
use model::run::{CacheState, Cell, MeasuredRevision, ProjectCommit, Run, Status};
use serde::Serialize;
use serde_json::Value;

use super::facts::{Answers, wrong_answers};
use super::values;
use crate::stats::{self, LEAST_FOR_CHANGE, median};

/// What must be equal for two values to belong to one series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesKey {
    pub experiment: String,
    pub point: Point,
    /// The fingerprint of its environment.
    pub machine: String,
    pub cache: CacheState,
    pub fresh: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Series {
    #[serde(flatten)]
    pub place: SeriesKey,
    /// The oldest first.
    pub values: Vec<HistoryPoint>,
    pub changes: Vec<ChangePoint>,
}

/// The value of one run.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryPoint {
    pub id: String,
    pub started: String,
    pub label: Option<String>,
    pub n: usize,
    pub p50: f64,
}

/// A change of the level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The first run of the new level.
    pub id: String,
    /// Its index in the values.
    pub at: usize,
    /// The ratio of the median of the new level to that of the previous one.
    pub ratio: Option<f64>,
}

/// The number of values of a series that are analyzed, the newest ones: the work grows with its
/// square.
pub const NEWEST: usize = 500;

/// One series for each combination of experiment, point, machine and cache state in which a run
/// measured the method and got the right answer.
pub fn series(runs: &[Run], method: &str, metric: &str) -> Vec<Series> {
    series_by(runs, method, metric, &|run| run.environment.fingerprint.clone())
}

fn series_by(
    runs: &[Run],
    method: &str,
    metric: &str,
    machine: &dyn Fn(&Run) -> String,
) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for run in runs {
        for (place, value) in values(run, method, metric, machine) {
            match all.iter_mut().find(|series| series.place == place) {
                Some(series) => series.values.push(value),
                None => all.push(Series { place, values: vec![value], changes: Vec::new() }),
            }
        }
    }
    for series in &mut all {
        series.values.sort_by(|a, b| a.started.cmp(&b.started));
        series.changes = steps(&series.values);
    }
    all
}

/// The value of the method at each point of a run where it was measured and got the right answer.
fn values(
    run: &Run,
    method: &str,
    metric: &str,
    machine: &dyn Fn(&Run) -> String,
) -> Vec<(SeriesKey, HistoryPoint)> {
    let answers: Vec<Answers<'_>> = run.cells.iter().map(Answers::from_cell).collect();
    let wrong = wrong_answers(run, &answers);
    let value = |(cell, wrong): (&Cell, Option<_>)| {
        let fit = cell.method == method && cell.status == Status::Measured && wrong.is_none();
        let p50 = values::middle(cell.counted(metric).map(|(_, value)| value));
        let p50 = p50.filter(|p50| fit && p50.is_finite())?;
        let place = SeriesKey {
            experiment: run.experiment.clone(),
            point: cell.point.clone(),
            machine: machine(run),
            cache: run.plan.cache,
            fresh: run.plan.fresh,
            memory_limit_bytes: run.plan.memory_limit_bytes,
            medium: run.plan.medium.clone(),
        };
        let value = HistoryPoint {
            id: run.id.clone(),
            started: run.started.clone(),
            label: run.label.clone(),
            n: cell.counted(metric).count(),
            p50,
        };
        Some((place, value))
    };
    run.cells.iter().zip(wrong).filter_map(value).collect()
}

fn steps(values: &[HistoryPoint]) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(NEWEST);
    let p50: Vec<f64> = values[skipped..].iter().map(|value| value.p50).collect();
    let changes = stats::changes(&p50);
    let mut ends = vec![0];
    ends.extend(&changes);
    ends.push(p50.len());
    let step = |ends: &[usize]| {
        let ratio = stats::median(&p50[ends[1]..ends[2]]) / stats::median(&p50[ends[0]..ends[1]]);
        let at = skipped + ends[1];
        let ratio = Some(ratio).filter(|ratio| ratio.is_finite());
        ChangePoint { id: values[at].id.clone(), at, ratio }
    };
    ends.windows(3).map(step).collect()
}

// One method at each commit of a project, in whichever run it was measured.

/// A run, and the method of it that is looked for, with its commit.
pub struct AtCommit {
    pub run: Run,
    pub method: String,
    pub commit: ProjectCommit,
}

/// What was measured alike at several commits.
#[derive(Clone, Debug, Serialize)]
pub struct CommitSeries {
    #[serde(flatten)]
    pub place: SeriesKey,
    /// In the order in which they were committed; those of which that is not known, at the time of
    /// their first run.
    pub commits: Vec<CommitValue>,
}

/// All runs of one commit; those in a tree with changes are apart.
#[derive(Clone, Debug, Serialize)]
pub struct CommitValue {
    #[serde(flatten)]
    pub commit: ProjectCommit,
    /// The median of the runs.
    pub p50: f64,
    /// This divided by the p50 of the commit before it; none where both are of the same second.
    pub ratio: Option<f64>,
    /// How many of the runs do not know whether their tree had changes.
    pub runs_of_unknown_tree: usize,
    /// The oldest first.
    pub runs: Vec<HistoryPoint>,
}

/// The names of the run's methods that are this one, each with its commit: the method of this name,
/// and those of revisions for which this command was typed.
pub fn commits_of(run: &Run, method: &str) -> Vec<(String, Option<ProjectCommit>)> {
    let facts = &run.environment.facts;
    let mut found = Vec::new();
    for MeasuredRevision { commit, methods, .. } in MeasuredRevision::from_facts(facts) {
        let alike = methods.into_iter().filter(|one| one.name == method || one.command == method);
        found.extend(alike.map(|one| (one.name, Some(commit.clone()))));
    }
    if found.iter().all(|(name, _)| name != method) {
        found.push((method.to_owned(), ProjectCommit::from_facts(facts)));
    }
    found
}

/// One series for each combination of experiment, point, machine and cache state.
pub fn series_by_commit(all: &[AtCommit], metric: &str) -> Vec<CommitSeries> {
    let mut found: Vec<CommitSeries> = Vec::new();
    for AtCommit { run, method, commit } in all {
        let machine = |run: &Run| run.environment.fingerprint.clone();
        for (place, value) in values(run, method, metric, &machine) {
            if let Some(series) = found.iter_mut().find(|series| series.place == place) {
                series.add(commit, value);
            } else {
                let mut series = CommitSeries { place, commits: Vec::new() };
                series.add(commit, value);
                found.push(series);
            }
        }
    }
    found.iter_mut().for_each(CommitSeries::finish);
    found
}

impl CommitSeries {
    fn add(&mut self, commit: &ProjectCommit, value: HistoryPoint) {
        let unknown = usize::from(commit.dirty.is_none());
        let is_same = |known: &&mut CommitValue| state(&known.commit) == state(commit);
        match self.commits.iter_mut().find(is_same) {
            Some(known) => {
                let ProjectCommit { commit_time, subject, .. } = &mut known.commit;
                // Not every run could ask git.
                *commit_time = commit_time.take().or_else(|| commit.commit_time.clone());
                *subject = subject.take().or_else(|| commit.subject.clone());
                known.runs_of_unknown_tree += unknown;
                known.runs.push(value);
            }
            None => self.commits.push(CommitValue {
                commit: commit.clone(),
                p50: f64::NAN,
                ratio: None,
                runs_of_unknown_tree: unknown,
                runs: vec![value],
            }),
        }
    }

    fn finish(&mut self) {
        for CommitValue { p50, runs, .. } in &mut self.commits {
            runs.sort_by(|a, b| a.started.cmp(&b.started));
            *p50 = stats::median(&runs.iter().map(|run| run.p50).collect::<Vec<_>>());
        }
        // A tree with changes is newer than its commit.
        self.commits.sort_by(|a, b| {
            time(a).cmp(time(b)).then_with(|| state(&a.commit).cmp(&state(&b.commit)))
        });
        for at in 1..self.commits.len() {
            let [older, newer] = [at - 1, at].map(|at| &self.commits[at]);
            // A rebase makes many commits in one second.
            if time(older) == time(newer) && older.commit.commit != newer.commit.commit {
                continue;
            }
            let ratio = self.commits[at].p50 / self.commits[at - 1].p50;
            self.commits[at].ratio = Some(ratio).filter(|ratio| ratio.is_finite());
        }
    }
}

/// What must be equal for two trees to have the same files.
fn state(commit: &ProjectCommit) -> (&str, bool) {
    (&commit.commit, commit.dirty == Some(true))
}

fn time(one: &CommitValue) -> &str {
    let first = one.runs.first().map_or("", |run| run.started.as_str());
    one.commit.commit_time.as_deref().unwrap_or(first)
}

// Which methods got slower lately: changes to a higher level that no later change took back.

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
mod tests;

#[cfg(test)]
mod by_commit_tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tests::{cell, run};
    use model::run::{REVISIONS, RevisionMethod};

    fn commit(digit: &str, time: Option<&str>) -> ProjectCommit {
        let commit_time = time.map(|time| format!("2026-01-{time}T00:00:00Z"));
        ProjectCommit { commit: digit.repeat(40), commit_time, ..ProjectCommit::default() }
    }

    /// A run of a day in a tree, in which `read` takes this time.
    fn at(day: u32, commit: &ProjectCommit, ns: f64) -> AtCommit {
        let mut run = run(vec![cell("read", [ns; 9])]);
        (run.id, run.started) = (day.to_string(), format!("2026-01-{day:02}T00:00:00Z"));
        run.environment.facts.extend(commit.facts());
        let (method, found) = commits_of(&run, "read").pop().unwrap();
        AtCommit { run, method, commit: found.unwrap() }
    }

    #[test]
    fn commits_have_their_runs_and_the_order_in_which_they_were_committed() {
        let old = commit("a", Some("01"));
        let unknown = commit("b", None);
        let new = commit("c", Some("20"));
        let changed = ProjectCommit { dirty: Some(true), ..old.clone() };
        let clean = ProjectCommit { dirty: Some(false), ..old.clone() };
        let all = [
            at(25, &new, 3e6),
            at(26, &changed, 9e6),
            at(12, &unknown, 2e6),
            at(27, &old, 5e6),
            at(28, &clean, 1e6),
            at(21, &new, 4e6),
        ];
        let found = series_by_commit(&all, "wall_ns");
        let [CommitSeries { commits, .. }] = &found[..] else { panic!("{found:?}") };
        let shown: Vec<_> = commits
            .iter()
            .map(|one| {
                let ids: Vec<&str> = one.runs.iter().map(|run| run.id.as_str()).collect();
                (one.commit.described(), ids.join(" "), one.p50, one.ratio)
            })
            .collect();
        let expected = [
            ("aaaaaaa", "27 28", 3e6, None),
            ("aaaaaaa-dirty", "26", 9e6, Some(3.0)),
            ("bbbbbbb", "12", 2e6, Some(2.0 / 9.0)),
            ("ccccccc", "21 25", 3.5e6, Some(1.75)),
        ];
        let expected =
            expected.map(|(name, ids, p50, ratio)| (name.to_owned(), ids.to_owned(), p50, ratio));
        assert_eq!(shown, expected);
        assert!(series_by_commit(&all, "furlongs").is_empty());
    }

    #[test]
    fn commits_of_one_second_have_no_ratio_and_any_run_may_tell_the_time() {
        let [first, second] = ["a", "b"].map(|digit| commit(digit, Some("05")));
        let untold = ProjectCommit { commit_time: None, subject: None, ..first.clone() };
        let all = [at(10, &second, 4e6), at(11, &untold, 1e6), at(12, &first, 1e6)];
        let found = series_by_commit(&all, "wall_ns");
        let commits = &found[0].commits;
        let shown: Vec<_> = commits.iter().map(|one| (one.commit.short(), one.ratio)).collect();
        assert_eq!(shown, [("aaaaaaa", None), ("bbbbbbb", None)]);
        assert_eq!(commits[0].commit, first);
    }

    #[test]
    fn another_machine_is_another_series() {
        let mut other = at(2, &commit("a", None), 1e6);
        other.run.environment.fingerprint = "other".to_owned();
        let all = [at(1, &commit("a", None), 1e6), other];
        assert_eq!(series_by_commit(&all, "wall_ns").len(), 2);
    }

    #[test]
    fn a_command_at_a_revision_is_known_by_its_name_and_by_what_was_typed() {
        let AtCommit { mut run, .. } = at(1, &commit("c", None), 1e6);
        let revision = |name: &str, digit: &str| MeasuredRevision {
            name: name.to_owned(),
            commit: commit(digit, None),
            methods: vec![RevisionMethod {
                name: format!("{name} {}", digit.repeat(7)),
                command: "./tool".to_owned(),
                sha256: BTreeMap::new(),
            }],
        };
        let revisions = serde_json::to_value([revision("v1", "a"), revision("v2", "b")]).unwrap();
        run.environment.facts.insert(REVISIONS.to_owned(), revisions);
        let found = |method: &str| {
            let shown = |(name, commit): (String, Option<ProjectCommit>)| {
                format!("{name}: {}", commit.unwrap().short())
            };
            commits_of(&run, method).into_iter().map(shown).collect::<Vec<_>>().join(", ")
        };
        let of_revisions = "v1 aaaaaaa: aaaaaaa, v2 bbbbbbb: bbbbbbb, ./tool: ccccccc";
        assert_eq!(found("./tool"), of_revisions);
        assert_eq!(found("v2 bbbbbbb"), "v2 bbbbbbb: bbbbbbb");
        assert_eq!(found("read"), "read: ccccccc");
        run.environment.facts.clear();
        assert_eq!(commits_of(&run, "read"), [("read".to_owned(), None)]);
    }
}

#[cfg(test)]
mod slowdowns_tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_its_name_and_cpu() {
        let mut run = crate::tests::run(Vec::new());
        run.environment.fingerprint = "print".to_owned();
        run.environment.facts.insert("cpu_model".to_owned(), "c".into());
        assert_eq!(host(&run), "print");
        run.environment.facts.insert("hostname_digest".to_owned(), "h".into());
        assert_eq!(host(&run), "h c");
    }
}
