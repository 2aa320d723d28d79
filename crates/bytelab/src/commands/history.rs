//! `bytelab history`: selects the stored runs to list or to draw over time, and says what each is.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use analysis::{AtCommit, NEWEST, analyze, commits_of, series, series_by_commit, slowdowns};
use anyhow::{Result, anyhow, ensure};
use clap::{Args, ValueEnum};
use experiments::custom;
use measure::clock;
use measure::experiment::Experiment;
use model::param::Param;
use model::run::{Listed, Run};
use report::alert::{self, Alert};
use report::history::{HistoryEntry, HistoryLine, flags};
use store::{Store, StoredPlan, has_label, is_machine};

use super::comparing::metric_named;
use super::{Context, exit, layout, note, readable};
use crate::console;

#[derive(Args)]
#[command(after_help = "Exit status: 0, and with --alert 3 if something got slower.")]
pub(crate) struct HistoryArgs {
    /// Only runs whose commands, label or experiment contain this text
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Only runs of this experiment
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// Only runs with this label (`*` stands for any text)
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Only runs of this machine: the start of its fingerprint, or words of its CPU's name
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Only runs that started at or after this time: 2026-01-31, 2026-01-31T12:00 (UTC), today,
    /// yesterday, or an age: 7d, 12h
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,
    /// Only runs that started at or before this time; a date includes the whole day
    #[arg(long, value_name = "DATE", value_parser = date)]
    until: Option<String>,
    /// Draw this method over time, and mark the runs at which it changed
    #[arg(long, value_name = "METHOD")]
    plot: Option<String>,
    /// The metric to draw: wall, cpu, rss, syscalls, allocations, throughput, or the full name of
    /// another one
    #[arg(long, value_name = "NAME", default_value = "wall", requires = "plot")]
    metric: String,
    /// With --plot, list the commits instead: a line for each, with all of its runs
    ///
    /// These are the runs that were measured in a tree of the commit, and those of `bench --rev`,
    /// which are found by the typed command.
    #[arg(long, value_enum, value_name = "AXIS", requires = "plot")]
    by: Option<HistoryAxis>,
    /// List what got slower in the last days, and since which run; exit status 3 if anything did
    ///
    /// The median time of each method in every run is examined, separately for each machine, in the
    /// newest 500 runs of an experiment. Eight runs are the fewest that can show a change; runs
    /// before the last days show the level before it. A slowdown that later runs reversed is not
    /// listed.
    #[arg(long, conflicts_with = "plot")]
    alert: bool,
    /// With --alert, the number of days
    #[arg(long, value_name = "N", default_value_t = 30, requires = "alert")]
    days: u32,
    /// Maximum number of runs: the newest of those that match [default: 20; all with --json, --plot
    /// or --alert]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

/// What the values are listed by.
#[derive(Clone, Copy, ValueEnum)]
enum HistoryAxis {
    Commit,
}

pub(crate) fn run(args: &HistoryArgs, context: &Context) -> Result<ExitCode> {
    let mut store = context.open_store()?;
    let limit = args.limit();
    // One more shows whether there are more.
    let mut listed = match limit {
        Some(limit) if args.wants_all() => store.newest(limit.saturating_add(1))?,
        _ => store.list()?,
    };
    // An imported run may have started before the runs stored earlier.
    listed.sort_by(|a, b| a.started.cmp(&b.started));
    let is_empty = listed.is_empty();
    let labels = labels(&listed);
    listed.retain(|run| args.wants(run));
    if let Some(text) = &args.text {
        listed.retain(|run| has_text(run, text, store.as_mut()));
    }
    if let Some(limit) = limit.filter(|limit| listed.len() > *limit) {
        listed.drain(..listed.len() - limit);
        if args.limit.is_none() {
            note(&format!("the newest {limit} runs; --limit N lists more"))?;
        }
    }
    if args.alert {
        let days = args.days;
        let since = date(&format!("{days}d")).map_err(|error| anyhow!("--days {days}: {error}"))?;
        return alert(days, &since, args.json, &listed, store.as_mut());
    }
    if listed.is_empty() && !is_empty && !args.json && args.plot.is_none() {
        let labels = labels.filter(|_| args.label.is_some());
        let labels = labels.map_or(String::new(), |labels| format!("; the labels: {labels}"));
        writeln!(console::stdout(), "no run matches{labels}; `bytelab history` lists all")?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(method) = &args.plot else {
        // A run that cannot be read is listed all the same; `show` says what is wrong with it.
        let (text, unreadable) = if args.json {
            let (entries, unreadable) = entries(listed, store.as_mut());
            (report::history::json(&entries)?, unreadable)
        } else {
            let params = params(&context.experiments.experiments);
            let (lines, unreadable) = lines(listed, store.as_mut(), &params);
            (report::history::table(&with_short_ids(lines), &layout()), unreadable)
        };
        if unreadable > 0 {
            note(&format!("runs that cannot be read: {unreadable}; `bytelab show ID` says why"))?;
        }
        writeln!(console::stdout(), "{text}")?;
        return Ok(ExitCode::SUCCESS);
    };
    let metric = metric_named(&args.metric);
    let text = match args.by {
        None => over_time(method, metric, &listed, args.json, store.as_mut())?,
        Some(HistoryAxis::Commit) => by_commit(method, metric, &listed, args.json, store.as_mut())?,
    };
    console::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// More labels are counted instead of named.
const LABELS_MAX: usize = 10;

/// The labels of these runs, the newest first; none if they have none.
pub(super) fn labels(listed: &[Listed]) -> Option<String> {
    let mut known = BTreeSet::new();
    let all = listed.iter().rev().filter_map(|run| run.label.as_deref());
    let all: Vec<&str> = all.filter(|label| known.insert(*label)).collect();
    let shown = all[..all.len().min(LABELS_MAX)].join(", ");
    match all.len().saturating_sub(LABELS_MAX) {
        0 => Some(shown).filter(|shown| !shown.is_empty()),
        more => Some(format!("{shown} and {more} more")),
    }
}

/// Whether the experiment, the label or a command of the run contains the text.
fn has_text(run: &Listed, text: &str, store: &mut dyn Store) -> bool {
    let text = text.to_lowercase();
    let has = |own: &str| own.to_lowercase().contains(&text);
    if has(&run.experiment) || run.label.as_deref().is_some_and(has) {
        return true;
    }
    let plan = store.load_plan(&run.id).map(|stored| stored.plan);
    let definition = plan.ok().and_then(|plan| plan.definition);
    definition.is_some_and(|own| custom::commands(&own.text).iter().any(|command| has(command)))
}

/// The runs for a program, with their plans, and how many of these cannot be read.
fn entries(listed: Vec<Listed>, store: &mut dyn Store) -> (Vec<HistoryEntry>, usize) {
    let mut unreadable = 0;
    let entry = |run: Listed| {
        if let Ok(StoredPlan { plan, points, took_ns }) = store.load_plan(&run.id) {
            return HistoryEntry { run, took_ns, flags: flags(&plan, &points) };
        }
        unreadable += 1;
        HistoryEntry { run, took_ns: None, flags: BTreeMap::new() }
    };
    let entries = listed.into_iter().map(entry).collect();
    (entries, unreadable)
}

/// The params of bytelab's own experiments, by the name of the experiment.
pub(super) type ParamsByExperiment = BTreeMap<&'static str, Vec<Param>>;

pub(super) fn params(experiments: &[Experiment]) -> ParamsByExperiment {
    experiments.iter().map(|known| (known.name, known.params.clone())).collect()
}

/// The runs for a reader, each of which is loaded and analysed, and how many cannot be read.
pub(super) fn lines(
    listed: Vec<Listed>,
    store: &mut dyn Store,
    params: &ParamsByExperiment,
) -> (Vec<HistoryLine>, usize) {
    let mut unreadable = 0;
    let line = |listed: Listed| {
        let Ok(run) = store.load(&listed.id) else {
            unreadable += 1;
            return HistoryLine::unreadable(listed);
        };
        let params = params.get(run.experiment.as_str()).map_or(&[][..], Vec::as_slice);
        HistoryLine::new(listed, store::took_ns(&run.environment), &run, &analyze(&run), params)
    };
    let lines = listed.into_iter().map(line).collect();
    (lines, unreadable)
}

fn over_time(
    method: &str,
    metric: &str,
    listed: &[Listed],
    json: bool,
    store: &mut dyn Store,
) -> Result<String> {
    let runs = readable(listed, |run| store.load_method(&run.id, method, metric))?;
    let all = series(&runs, method, metric);
    ensure!(!all.is_empty(), "{}", no_value(method, metric, runs.len()));
    if json {
        return Ok(report::over_time::json(method, metric, &all)? + "\n");
    }
    Ok(report::over_time::text(method, metric, &all, &layout()))
}

fn by_commit(
    method: &str,
    metric: &str,
    listed: &[Listed],
    json: bool,
    store: &mut dyn Store,
) -> Result<String> {
    let runs = readable(listed, |run| store.load_method(&run.id, method, metric))?;
    let n = runs.len();
    let (mut all, mut without_commit) = (Vec::new(), 0);
    for run in runs {
        for (name, commit) in commits_of(&run, method) {
            let Some(commit) = commit else {
                let has_value = !series(std::slice::from_ref(&run), method, metric).is_empty();
                without_commit += usize::from(has_value);
                continue;
            };
            if name == method {
                all.push(AtCommit { run: run.clone(), method: name, commit });
                continue;
            }
            // Only the samples of this method are loaded.
            let loaded = readable([&run.id], |id| store.load_method(id, &name, metric))?;
            let at_commit = |run| AtCommit { run, method: name.clone(), commit: commit.clone() };
            all.extend(loaded.into_iter().map(at_commit));
        }
    }
    let found = series_by_commit(&all, metric);
    ensure!(
        without_commit == 0 || !found.is_empty(),
        "no run of {method} was measured in a tree of git: without --by its runs are drawn over time"
    );
    ensure!(!found.is_empty(), "{}", no_value(method, metric, n));
    if json {
        return Ok(report::by_commit::json(method, metric, &found, without_commit)? + "\n");
    }
    Ok(report::by_commit::text(method, metric, &found, without_commit, &layout()))
}

fn no_value(method: &str, metric: &str, runs: usize) -> String {
    format!(
        "no value of {metric} of a method {method} in {runs} runs; `bytelab history` lists all, \
         `bytelab show ID` the methods of one"
    )
}

/// The runs that are listed if no limit is given: for each line a run is loaded and analysed.
const LINES: usize = 20;

impl HistoryArgs {
    fn limit(&self) -> Option<usize> {
        let is_long = self.json || self.alert || self.plot.is_some();
        self.limit.or_else(|| (!is_long).then_some(LINES))
    }

    /// Whether no flag leaves out a run.
    fn wants_all(&self) -> bool {
        let HistoryArgs { text, experiment, label, machine, since, until, .. } = self;
        [text, experiment, label, machine, since, until].iter().all(|filter| filter.is_none())
    }

    fn wants(&self, run: &Listed) -> bool {
        let started = run.started.as_str();
        // Times in the same format sort as texts; a date is a prefix of the times of its day.
        let start = |date: &str| started.get(..date.len()).unwrap_or(started).to_owned();
        self.experiment.as_ref().is_none_or(|name| run.experiment == *name)
            && self.label.as_ref().is_none_or(|label| has_label(run, label))
            && self.machine.as_ref().is_none_or(|machine| is_machine(run, machine))
            && self.since.as_ref().is_none_or(|since| start(since) >= *since)
            && self.until.as_ref().is_none_or(|until| start(until) <= *until)
    }
}

/// The runs of a server are shown by the start of their UUID that no other run here has.
fn with_short_ids(mut lines: Vec<HistoryLine>) -> Vec<HistoryLine> {
    let mut ids: Vec<String> = lines.iter().map(|line| line.run.id.clone()).collect();
    ids.sort();
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let longest = ids.windows(2).map(|pair| common(&pair[0], &pair[1])).max().unwrap_or_default();
    for line in lines.iter_mut().filter(|line| line.run.id == line.run.uuid) {
        line.run.id.truncate((longest + 1).max(8));
    }
    lines
}

/// The letters of `2026-01-31`.
const DAY: usize = 10;

/// Parses a prefix of an RFC 3339 time in UTC, a day, or an age.
pub(super) fn date(text: &str) -> Result<String, String> {
    let wrong = || {
        "write a day or a time in UTC, 2026-01-31 or 2026-01-31T12:00, today, yesterday, or how \
         long ago: 7d or 12h"
            .to_owned()
    };
    let day = |ago: &str| date(ago).map(|then| then[..DAY].to_owned());
    match text {
        "today" => return day("0s"),
        "yesterday" => return day("1d"),
        _ => {}
    }
    if let Ok(ago) = humantime::parse_duration(text) {
        let now = humantime::parse_rfc3339(&clock::utc_rfc3339()).map_err(|_| wrong())?;
        let then = now.checked_sub(ago).filter(|then| *then >= UNIX_EPOCH).unwrap_or(UNIX_EPOCH);
        let then = humantime::format_rfc3339_seconds(then).to_string();
        return Ok(then.trim_end_matches('Z').to_owned());
    }
    let own = text.trim_end_matches('Z').replacen(' ', "T", 1);
    let rest = "0000-01-01T00:00:00Z".get(own.len()..).ok_or_else(wrong)?;
    let whole = own.len() >= "2026-01-31".len();
    let known = humantime::parse_rfc3339(&format!("{own}{rest}"));
    // A date before 1970 is well-formed, but no run is that old.
    known.ok().filter(|_| whole).map(|_| own).ok_or_else(wrong)
}

/// `bytelab history --alert`: loads the runs in which something may have got slower lately.
pub(super) fn alert(
    days: u32,
    since: &str,
    json: bool,
    listed: &[Listed],
    store: &mut dyn Store,
) -> Result<ExitCode> {
    // Where no run is recent, nothing changed recently.
    let recent = listed.iter().filter(|run| run.started.as_str() >= since);
    let recent: BTreeSet<&str> = recent.map(|run| run.experiment.as_str()).collect();
    let wanted = listed.iter().filter(|run| recent.contains(run.experiment.as_str()));
    let wanted = newest(wanted.collect(), NEWEST);
    let runs = readable(wanted, |run| load(store, &run.id))?;
    let found = Alert::new(days, since, slowdowns(&runs, since), &runs);
    let text = if json { alert::json(&found)? + "\n" } else { alert::text(&found, &layout()) };
    console::stdout().write_all(text.as_bytes())?;
    Ok(exit::of_slowdowns(found.slowdowns.len()))
}

/// The newest runs of each experiment on each machine: no more than these are examined.
fn newest(mut runs: Vec<&Listed>, most: usize) -> Vec<&Listed> {
    runs.sort_by(|a, b| b.started.cmp(&a.started));
    let mut taken: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    runs.retain(|run| {
        let n = taken.entry((&run.experiment, &run.machine.fingerprint)).or_default();
        *n += 1;
        *n <= most
    });
    runs
}

/// Only the times are kept: the runs are in memory together.
fn load(store: &mut dyn Store, id: &str) -> Result<Run> {
    let mut run = store.load(id)?;
    for cell in &mut run.cells {
        cell.values.retain(|metric, _| metric == "wall_ns");
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use model::run::Machine;

    use super::*;

    #[test]
    fn a_date_is_the_beginning_of_a_time() {
        for (text, expected) in [
            ("2026-01-31", Some("2026-01-31")),
            ("2026-01-31 12:00", Some("2026-01-31T12:00")),
            ("2026-01-31T12:00:05Z", Some("2026-01-31T12:00:05")),
            ("2026-02-30", None),
            ("2026-01", None),
            ("tomorrow", None),
            ("", None),
            ("2026-01-31T12:00:05.123456789+00:00", None),
            ("é", None),
        ] {
            assert_eq!(date(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn so_long_ago_is_a_time_too() {
        let now = date("0s").unwrap();
        let (hour, week) = (date("1h").unwrap(), date("7d").unwrap());
        assert!(week < hour && hour < now, "{week} {hour} {now}");
        assert_eq!(now.len(), "2026-01-31T12:00:05".len());
        assert_eq!(date("1000y").as_deref(), Ok("1970-01-01T00:00:00"));
        let (today, yesterday) = (date("today").unwrap(), date("yesterday").unwrap());
        assert!(yesterday < today && now.starts_with(&today), "{yesterday} {today} {now}");
    }

    #[test]
    fn filters_hold_together() {
        let run = Listed {
            id: "1".to_owned(),
            uuid: String::new(),
            experiment: "reading".to_owned(),
            label: Some("before-2".to_owned()),
            started: "2026-01-31T12:00:05Z".to_owned(),
            machine: Machine {
                fingerprint: "0123abcd".to_owned(),
                cpu_model: Some("AMD EPYC 7763".to_owned()),
            },
            complete: true,
            cells: 1,
            samples: 1,
        };
        let none = || HistoryArgs {
            text: None,
            experiment: None,
            label: None,
            machine: None,
            since: None,
            until: None,
            plot: None,
            metric: "wall_ns".to_owned(),
            by: None,
            alert: false,
            days: 30,
            limit: None,
            json: false,
        };
        let some = |text: &str| Some(text.to_owned());
        for (args, expected) in [
            (none(), true),
            (HistoryArgs { experiment: some("reading"), ..none() }, true),
            (HistoryArgs { experiment: some("read"), ..none() }, false),
            (HistoryArgs { label: some("before*"), ..none() }, true),
            (HistoryArgs { label: some("before"), ..none() }, false),
            (HistoryArgs { machine: some("0123"), ..none() }, true),
            (HistoryArgs { machine: some("epyc"), ..none() }, true),
            (HistoryArgs { machine: some("xeon"), ..none() }, false),
            (HistoryArgs { machine: some(""), ..none() }, false),
            (HistoryArgs { since: some("2026-01-31"), ..none() }, true),
            (HistoryArgs { since: some("2026-01-31T12:01"), ..none() }, false),
            (HistoryArgs { until: some("2026-01-31"), ..none() }, true),
            (HistoryArgs { until: some("2026-01-30"), ..none() }, false),
            (HistoryArgs { until: some("2026-01-31T12:00"), since: some("2026"), ..none() }, true),
        ] {
            assert_eq!(args.wants(&run), expected);
        }
    }
}

#[cfg(test)]
mod alert_tests {
    use model::run::Machine;

    use super::*;

    #[test]
    fn the_newest_runs_of_each_experiment_and_machine_are_examined() {
        let run = |(i, experiment, machine): (usize, &str, &str)| Listed {
            id: i.to_string(),
            uuid: String::new(),
            experiment: experiment.to_owned(),
            label: None,
            started: format!("2026-01-31T12:00:{i:02}Z"),
            machine: Machine { fingerprint: machine.to_owned(), cpu_model: None },
            complete: true,
            cells: 1,
            samples: 1,
        };
        let runs = [
            (0, "reading", "a"),
            (1, "reading", "a"),
            (2, "reading", "b"),
            (3, "reading", "a"),
            (4, "copying", "a"),
        ];
        let runs = runs.map(run);
        let ids = |most: usize| {
            let newest = newest(runs.iter().collect(), most);
            newest.iter().map(|run| run.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(ids(1), ["4", "3", "2"]);
        assert_eq!(ids(2), ["4", "3", "2", "1"]);
        assert_eq!(ids(9).len(), 5);
    }
}
