//! Stored runs: the entries of their list, with what was measured, how long it took and what was
//! the fastest, and what got slower lately.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Analysis, Slowdown, Slowdowns, Verdict};
use model::facts::{Difference, differences};
use model::metric::WALL;
use model::param::{Param, ParamValue, Point, bytes};
use model::run::{CacheState, Listed, MeasuredRevision, Plan, Role, Run};
use serde::Serialize;

use super::fleet::is_lasting;
use super::rows::{self, Row, Rows};
use super::words::shortened;
use super::{View, answer, units, view};

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
    if let Some(limit_bytes) = plan.memory_limit_bytes {
        flags.insert("memory".to_owned(), bytes(limit_bytes));
    }
    if let Some(medium) = &plan.medium {
        flags.insert("medium".to_owned(), medium.clone());
    }
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

/// A line of a list of runs: what a reader needs to recognize one, and what it found.
pub struct HistoryLine {
    pub run: Listed,
    pub took_ns: Option<u64>,
    /// The commands, or the experiment with what differs from its defaults.
    pub measured: String,
    /// The fastest method, or why there is none.
    pub fastest: String,
}

impl HistoryLine {
    /// `params` are those of the experiment, if it is one of bytelab's own.
    pub fn new(
        listed: Listed,
        took_ns: Option<u64>,
        run: &Run,
        analysis: &Analysis,
        params: &[Param],
    ) -> HistoryLine {
        let (measured, fastest) = (measured(run, params), fastest(run, analysis));
        HistoryLine { run: listed, took_ns, measured, fastest }
    }

    /// The line of a run whose data cannot be read.
    pub fn unreadable(listed: Listed) -> HistoryLine {
        let measured = listed.experiment.clone();
        HistoryLine { run: listed, took_ns: None, measured, fastest: "cannot be read".to_owned() }
    }
}

/// More methods are counted instead of named.
const METHODS_NAMED_MAX: usize = 3;
/// The maximum width of a name beside others.
const NAME_WIDTH: usize = 40;

fn measured(run: &Run, params: &[Param]) -> String {
    let contenders = run.cells.iter().filter(|cell| cell.role == Role::Contender);
    let methods = distinct(contenders.map(|cell| cell.method.as_str()));
    let is_typed = run.plan.definition.as_ref().is_some_and(|own| own.file.is_empty());
    if is_typed {
        return commands(run, &methods);
    }
    let mut words = vec![run.experiment.clone()];
    if view(run) != View::Rows {
        words.extend(changed(run, params));
    }
    let text = words.join(" ");
    match methods.len() {
        1..=METHODS_NAMED_MAX => format!("{text}: {}", named(&methods)),
        _ => text,
    }
}

/// The commands that were typed. Those of revisions are named without them, before them.
fn commands(run: &Run, methods: &[&str]) -> String {
    let revisions = MeasuredRevision::from_facts(&run.environment.facts);
    if revisions.is_empty() {
        return named(methods);
    }
    let of_revisions = revisions.iter().flat_map(|revision| &revision.methods);
    let commands = distinct(of_revisions.map(|method| method.command.as_str()));
    let labels: Vec<String> = revisions.iter().map(MeasuredRevision::label).collect();
    format!("{} at {}", named(&commands), labels.join(", "))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = BTreeSet::new();
    names.filter(|name| known.insert(*name)).collect()
}

fn named(names: &[&str]) -> String {
    let shown = names.iter().take(METHODS_NAMED_MAX).map(|name| shortened(name, NAME_WIDTH));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(METHODS_NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `name=value` of the flags that do not have their default.
fn changed(run: &Run, params: &[Param]) -> Vec<String> {
    let usual = [("cache", "warm"), ("warm-up", "1"), ("counting", "8")];
    let is_default = |name: &str, value: &str| {
        usual.contains(&(name, value)) || default_of(params, name).is_some_and(|own| own == value)
    };
    let mut flags = flags(&run.plan, &run.points);
    flags.retain(|name, value| !is_default(name, value));
    flags.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// The default of a param, as its values are shown.
fn default_of(params: &[Param], name: &str) -> Option<String> {
    let param = params.iter().find(|param| param.name == name)?;
    let point = |value: ParamValue| {
        let mut point = Point::default();
        point.set(name, value);
        point
    };
    let points: Vec<Point> = param.parse(param.default).ok()?.into_iter().map(point).collect();
    Some(values(&points, name))
}

/// `mmap; 41 % less than read`, or why no method is shown to be the fastest; empty where nothing is
/// compared.
fn fastest(run: &Run, analysis: &Analysis) -> String {
    if view(run) == View::Rows {
        return String::new();
    }
    match rows::all(run, analysis).as_slice() {
        [] => NOTHING.to_owned(),
        [rows] => fastest_at(rows),
        all => fastest_by_point(all),
    }
}

const NOTHING: &str = "nothing was measured";
const UNDECIDED: &str = "undecided";

fn fastest_at(rows: &Rows<'_>) -> String {
    if let Some(row) = answer::fastest(rows).and_then(|index| rows.get(index)) {
        let ahead = ahead(rows, row).map(|ahead| format!("; {ahead}")).unwrap_or_default();
        return shortened(row.name(), NAME_WIDTH) + &ahead;
    }
    let times: Vec<f64> =
        rows.contenders.iter().filter_map(|row| Some(row.p50(WALL)?.value)).collect();
    let is_same = |row: &Row<'_>| row.comparison.is_some_and(|one| one.verdict == Verdict::Same);
    let all_same = rows.contenders.iter().all(|row| rows.is_reference(row) || is_same(row));
    match times.as_slice() {
        [] => NOTHING.to_owned(),
        [time] => units::ns(*time),
        _ if all_same => "all take the same time".to_owned(),
        _ => UNDECIDED.to_owned(),
    }
}

/// How far the fastest method is ahead of the reference, or of the next one.
fn ahead(rows: &Rows<'_>, fastest: &Row<'_>) -> Option<String> {
    let percent = |value: f64| units::percent(value, if value < 9.5 { 0.5 } else { 5.0 });
    let reference = rows.reference()?;
    if !rows.is_reference(fastest) {
        let less = 100.0 * (1.0 - fastest.comparison?.ratio?);
        let reference = shortened(reference.name(), NAME_WIDTH);
        return Some(format!("{} % less than {reference}", percent(less)));
    }
    let slower = rows.contenders.iter().filter_map(|row| row.comparison);
    let slower = slower.filter(|comparison| comparison.verdict == Verdict::Slower);
    let next = slower.filter_map(|comparison| comparison.ratio).min_by(f64::total_cmp)?;
    Some(match next {
        next if next >= 10.0 => format!("the next takes {} times as long", units::ratio(next, 1)),
        next => format!("the next takes {} % more", percent(100.0 * (next - 1.0))),
    })
}

/// `mmap at 3 of 5 points, read at 1`.
fn fastest_by_point(all: &[Rows<'_>]) -> String {
    let compared = || all.iter().filter(|rows| rows.contenders.len() > 1);
    let points = compared().count();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for rows in compared() {
        let Some(row) = answer::fastest(rows).and_then(|index| rows.get(index)) else { continue };
        match counts.iter_mut().find(|(name, _)| *name == row.name()) {
            Some((_, n)) => *n += 1,
            None => counts.push((row.name(), 1)),
        }
    }
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let name = |name: &str| shortened(name, NAME_WIDTH);
    match counts.as_slice() {
        [] if points == 0 => String::new(),
        [] => UNDECIDED.to_owned(),
        [(one, n)] if *n == points => format!("{} at all {n} points", name(one)),
        [(one, n)] => format!("{} at {n} of {points} points", name(one)),
        [(one, n), (next, m), ..] => {
            format!("{} at {n} of {points} points, {} at {m}", name(one), name(next))
        }
    }
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

#[cfg(test)]
mod tests {
    use analysis::Verdict;
    use model::param::ParamKind;
    use model::run::{Definition, Machine, ProjectCommit, REVISIONS, RevisionMethod, Status};

    use super::*;
    use crate::tests::fixture::Fixture;

    fn line(f: &Fixture, params: &[Param]) -> HistoryLine {
        let listed = Listed {
            id: "7".to_owned(),
            uuid: String::new(),
            experiment: "reading".to_owned(),
            label: None,
            started: "2026-01-02T03:04:05Z".to_owned(),
            machine: Machine { fingerprint: String::new(), cpu_model: None },
            complete: true,
            cells: 1,
            samples: 1,
        };
        HistoryLine::new(listed, None, &f.run, &f.analysis, params)
    }

    #[track_caller]
    fn check_fastest(f: &Fixture, expected: &str) {
        assert_eq!(line(f, &[]).fastest, expected);
    }

    /// Methods a, b and so on, each with its verdict and its ratio to a.
    fn compared(others: &[(Verdict, f64)]) -> Fixture {
        let mut f = Fixture::new();
        f.measured("a", [13.8, 13.7, 2.1]);
        for ((verdict, ratio), name) in others.iter().zip(["b", "c", "d", "e"]) {
            let of_this = [*ratio, ratio * 0.98, ratio * 1.02];
            f.measured(name, [13.8 * ratio, 13.7, 2.1]).versus(*verdict, of_this);
        }
        f
    }

    #[test]
    fn the_fastest_method_is_named_with_what_it_is_ahead() {
        check_fastest(&Fixture::reading(), "mmap-window; 31 % less than read");
        let two = [(Verdict::Slower, 12.0), (Verdict::Slower, 1.3)];
        check_fastest(&compared(&two), "a; the next takes 30 % more");
        check_fastest(&compared(&two[..1]), "a; the next takes 12.0 times as long");
        check_fastest(&compared(&[(Verdict::Slower, 1.045)]), "a; the next takes 4.5 % more");
    }

    #[test]
    fn without_a_fastest_method_the_reason_is_named() {
        check_fastest(&compared(&[]), "13.8 ms");
        check_fastest(&compared(&[(Verdict::Undecided, 1.01)]), "undecided");
        check_fastest(&compared(&[(Verdict::Same, 1.001)]), "all take the same time");
        let mixed = [(Verdict::Same, 1.001), (Verdict::Undecided, 1.01)];
        check_fastest(&compared(&mixed), "undecided");
        let mut none = Fixture::new();
        none.cell("a", Status::Skipped("no such device".to_owned()));
        check_fastest(&none, "nothing was measured");
    }

    #[test]
    fn of_several_points_the_fastest_methods_are_counted() {
        let mut f = Fixture::new();
        for (size, verdict, ratio) in [
            (1, Verdict::Slower, 1.3),
            (2, Verdict::Slower, 1.2),
            (3, Verdict::Faster, 0.8),
            (4, Verdict::Undecided, 1.0),
        ] {
            f.point(&[("size", size)]);
            f.measured("a", [13.8, 13.7, 2.1]);
            let of_this = [ratio, ratio * 0.98, ratio * 1.02];
            f.measured("b", [13.8 * ratio, 13.7, 2.1]).versus(verdict, of_this);
            if verdict == Verdict::Faster {
                let best = f.run.cells.len() - 1;
                f.family().best = vec![best];
            }
        }
        check_fastest(&f, "a at 2 of 4 points, b at 1");
    }

    #[test]
    fn an_experiment_has_what_differs_from_its_defaults() {
        let kind = ParamKind::Bytes(1, 1 << 40);
        let size = Param { name: "size", kind, default: "128MiB", help: "" };
        let mut f = Fixture::reading();
        let measured = |f: &Fixture, params: &[Param]| line(f, params).measured;
        f.run.plan.counting = 8;
        assert_eq!(measured(&f, &[]), "reading rounds=100 size=128Mi");
        assert_eq!(measured(&f, std::slice::from_ref(&size)), "reading rounds=100");
        f.run.plan.cache = CacheState::Cold;
        let large = Param { default: "1GiB", ..size };
        assert_eq!(measured(&f, &[large]), "reading cache=cold rounds=100 size=128Mi");
        let mut few = compared(&[(Verdict::Same, 1.0)]);
        few.run.plan.counting = 8;
        assert_eq!(measured(&few, &[]), "reading rounds=100 size=128Mi: a, b");
    }

    #[test]
    fn what_was_typed_is_shown_as_its_commands() {
        let mut f = compared(&[(Verdict::Same, 1.0); 4]);
        f.run.plan.definition = Some(Definition::default());
        assert_eq!(line(&f, &[]).measured, "a, b, c and 2 more");
        let revision = |name: &str, digit: &str| MeasuredRevision {
            name: name.to_owned(),
            commit: ProjectCommit { commit: digit.repeat(40), ..ProjectCommit::default() },
            methods: vec![RevisionMethod {
                name: format!("{name} {digit}"),
                command: "./tool".to_owned(),
                ..RevisionMethod::default()
            }],
        };
        let revisions = [revision("HEAD~1", "a"), revision("HEAD", "b")];
        let fact = serde_json::to_value(revisions).unwrap();
        f.run.environment.facts.insert(REVISIONS.to_owned(), fact);
        assert_eq!(line(&f, &[]).measured, "./tool at HEAD~1 aaaaaaa, HEAD bbbbbbb");
    }
}
