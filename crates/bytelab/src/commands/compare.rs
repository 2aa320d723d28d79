//! `bytelab compare A B`: selects the runs of the two sides and decides whether they may be
//! compared.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;

use analysis::{Allowed, Analysis, Checked, analyze, compare_sides, gate, refusal};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use measure::experiment::Experiment;
use measure::launch::Stop;
use model::metric;
use model::numbers;
use model::path_text::to_path;
use model::run::{Listed, Role, Run};
use report::compare::{self, Side};
use report::published::{self, Figure, PREFIX, Published, Study};
use report::published_pages::SideFigures;
use report::study::StudyReport;
use report::{PageLayout, View, fleet, published_pages, view};
use store::{Store, is_machine};

use super::comparing::{GroupBy, RunGroups, allowed, ensure_different, ensure_once, path_params};
use super::history::labels;
use super::import::read_marked;
use super::run::{absent, published_results};
use super::study_files::StudyFilesArgs;
use super::{Context, layout};
use super::{exit, readable, run_id};
use crate::console;
use crate::git::has_commit;

#[derive(Args)]
#[command(
    after_help = "Exit status: 0, and with --fail 3 if a method got slower than that, 4 if it is not decided."
)]
pub(crate) struct CompareArgs {
    /// A run (its id or its label), several runs (41,43,45), a file of a run (FILE.json), or
    /// published:NAME: a study, or one of its machines (see `bytelab list published`)
    #[arg(value_name = "RUNS", num_args = 0..=2)]
    sides: Vec<String>,
    /// All runs with this label form a side; may be repeated
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    /// All runs of this machine form a side: the start of its fingerprint, or words of its CPU's
    /// name; may be repeated
    #[arg(long, value_name = "MACHINE")]
    machine: Vec<String>,
    /// Compare the methods in each group of runs, and say what a further group would show
    #[arg(long, value_enum, conflicts_with_all = ["sides", "label", "machine", "fail"])]
    by: Option<GroupBy>,
    /// From a label, a machine or --by, use only the runs of this experiment
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,
    /// Compare although cache states or sampling methods differ
    #[arg(long)]
    despite_differences: bool,
    /// Exit with 3 if a method of the second side is slower by more than this, as in wall=5%, and
    /// with 4 if that cannot be decided; may be repeated
    #[arg(long, value_name = "METRIC=N%", value_delimiter = ',', value_parser = allowed)]
    fail: Vec<Allowed>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: StudyFilesArgs,
}

pub(crate) fn run(args: &CompareArgs, context: &Context) -> Result<ExitCode> {
    if let Some(by) = args.by {
        ensure!(args.files.is_empty(), NEEDS_STUDY);
        return by_groups(by, args, context);
    }
    ensure_once("--fail", &args.fail)?;
    let sides = args.sides.iter().map(|text| with_ids(text, context));
    let sides: Result<Vec<String>> = sides.collect();
    let sides = sides.map_err(|error| with_advice(error, &args.sides))?;
    let mut requested: Vec<RequestedSide<'_>> =
        sides.iter().map(|text| requested(text)).collect::<Result<_>>()?;
    requested.extend(args.label.iter().map(|label| RequestedSide::Label(label)));
    requested.extend(args.machine.iter().map(|machine| RequestedSide::Machine(machine)));
    let [a, b] = &requested[..] else {
        let named = match requested.len() {
            1 => "1 side is named".to_owned(),
            n => format!("{n} sides are named"),
        };
        bail!(
            "{named}, but two are compared: name two of RUNS, --label LABEL and --machine MACHINE"
        );
    };
    let needs_store = [a, b]
        .iter()
        .any(|side| !matches!(side, RequestedSide::Published(_) | RequestedSide::File { .. }));
    let mut store = needs_store.then(|| context.open_store()).transpose()?;
    let ids = ids(args, [a, b], store.as_deref_mut())?;
    if let Some(id) = ids[0].iter().find(|id| ids[1].contains(*id)) {
        bail!(
            "run {id} is on both sides: a run cannot be compared with itself; name each run on one side only"
        );
    }
    let mut load = |requested: &RequestedSide<'_>, ids: &[String]| -> Result<Side> {
        if let RequestedSide::File { run, .. } = requested {
            return Ok(Side { name: requested.name(), runs: vec![(**run).clone()] });
        }
        let store = store.as_mut().context("there is no store")?;
        let runs = loaded(requested, ids, store.as_mut())?;
        ensure_different(&runs)?;
        Ok(Side { name: requested.name(), runs })
    };
    let has_file = [a, b].iter().any(|side| matches!(side, RequestedSide::File { .. }));
    let (text, gated) = match (a, b) {
        (RequestedSide::Published(_), _) | (_, RequestedSide::Published(_)) => {
            ensure!(
                args.fail.is_empty(),
                "--fail: a published result is from another machine and decides nothing"
            );
            let mut side = |requested: &RequestedSide<'_>, ids: &[String]| match requested {
                RequestedSide::Published(name) => named(name).map(ComparedSide::Published),
                _ => load(requested, ids).map(ComparedSide::Stored),
            };
            let (a, b) = (side(a, &ids[0])?, side(b, &ids[1])?);
            (looked_at(a, b, args, context)?, None)
        }
        _ => {
            ensure!(args.files.is_empty(), NEEDS_STUDY);
            let (a, b) = (load(a, &ids[0])?, load(b, &ids[1])?);
            if has_file {
                ensure_different(a.runs.iter().chain(&b.runs))?;
            }
            measured(&a, &b, args, &context.experiments.experiments, &layout())?
        }
    };
    let mut out = console::stdout();
    out.write_all(text.as_bytes())?;
    if args.json {
        writeln!(out)?;
    }
    Ok(gated.map_or(ExitCode::SUCCESS, |checked| exit::of_outcome(checked.outcome)))
}

/// The runs of a side. One that is named must be there; of a label or machine, those that cannot be
/// read are left out.
fn loaded(side: &RequestedSide<'_>, ids: &[String], store: &mut dyn Store) -> Result<Vec<Run>> {
    if let RequestedSide::Runs(_) = side {
        return ids.iter().map(|id| store.load(id)).collect();
    }
    let runs = readable(ids, |id| store.load(id))?;
    ensure!(!runs.is_empty(), "no run of {} can be read", side.name());
    Ok(runs)
}

fn by_groups(by: GroupBy, args: &CompareArgs, context: &Context) -> Result<ExitCode> {
    let experiment = args.experiment.as_deref();
    let grouped = RunGroups::load(by, experiment, args.despite_differences, context)?;
    let report = grouped.report();
    let text =
        if args.json { fleet::json(&report)? + "\n" } else { fleet::text(&report, &layout()) };
    console::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A side as the user requested it.
enum RequestedSide<'a> {
    Runs(Vec<&'a str>),
    Published(&'a str),
    Label(&'a str),
    Machine(&'a str),
    /// A run that is in no store.
    File {
        shown: String,
        run: Box<Run>,
    },
}

/// How long git is asked.
const GIT_LIMIT_NS: u64 = 1_000_000_000;

/// The error, with advice where both sides are commits.
fn with_advice(error: anyhow::Error, sides: &[String]) -> anyhow::Error {
    let stop = Stop::default();
    let [a, b] = sides else { return error };
    if ![a, b].iter().all(|name| has_commit(name, GIT_LIMIT_NS, &stop)) {
        return error;
    }
    anyhow!(
        "{error:#}; to measure two commits: bytelab bench --rev {a},{b} --build 'make' \
         './program …'"
    )
}

/// The text of a side with the ids of runs in place of `latest`, of labels and of the starts of
/// UUIDs.
fn with_ids(text: &str, context: &Context) -> Result<String> {
    // Four digits and more may be the start of a UUID.
    let is_number = |id: &str| id.len() < 4 && id.parse::<u64>().is_ok();
    let is_elsewhere = text.starts_with(published::PREFIX) || is_file(text);
    if is_elsewhere || text.split(',').all(is_number) {
        return Ok(text.to_owned());
    }
    let mut store = context.open_store()?;
    let ids = text.split(',').map(|id| run_id(store.as_mut(), id));
    Ok(ids.collect::<Result<Vec<String>>>()?.join(","))
}

fn requested(text: &str) -> Result<RequestedSide<'_>> {
    if let Some(name) = text.strip_prefix(published::PREFIX) {
        return Ok(RequestedSide::Published(name));
    }
    if is_file(text) {
        let (mut run, shown) = read_marked(&to_path(text), None)?;
        run.id.clone_from(&shown);
        return Ok(RequestedSide::File { shown, run: Box::new(run) });
    }
    let ids: Vec<&str> = text.split(',').collect();
    let mut known = BTreeSet::new();
    let twice = ids.iter().find(|id| !known.insert(**id));
    if let Some(id) = twice {
        bail!("{text}: run {id:?} is named twice");
    }
    Ok(RequestedSide::Runs(ids))
}

/// Whether the text of a side names a file of a run.
fn is_file(text: &str) -> bool {
    text.contains('/') || to_path(text).extension().is_some_and(|ending| ending == "json")
}

impl RequestedSide<'_> {
    fn name(&self) -> String {
        match self {
            RequestedSide::Runs(ids) if ids.len() == 1 => format!("run {}", ids[0]),
            RequestedSide::Runs(ids) => format!("{} runs", ids.len()),
            RequestedSide::Published(name) => format!("{}{name}", published::PREFIX),
            RequestedSide::Label(label) => format!("label {label}"),
            RequestedSide::Machine(machine) => format!("machine {machine}"),
            RequestedSide::File { shown, .. } => format!("file {shown}"),
        }
    }

    /// Whether the run has this label or machine.
    fn matches(&self, run: &Listed) -> bool {
        match self {
            RequestedSide::Label(label) => run.label.as_deref() == Some(*label),
            RequestedSide::Machine(machine) => is_machine(run, machine),
            RequestedSide::Runs(_) | RequestedSide::Published(_) | RequestedSide::File { .. } => {
                false
            }
        }
    }
}

/// The runs of both sides. For a label or machine, only runs of the experiment that both sides
/// have.
fn ids(
    args: &CompareArgs,
    sides: [&RequestedSide<'_>; 2],
    store: Option<&mut (dyn Store + 'static)>,
) -> Result<[Vec<String>; 2]> {
    let listed = store.map_or_else(|| Ok(Vec::new()), Store::list)?;
    let found = sides.map(|side| -> Result<Vec<&Listed>> {
        match side {
            RequestedSide::Published(_) | RequestedSide::File { .. } => Ok(Vec::new()),
            RequestedSide::Runs(ids) => ids
                .iter()
                .map(|id| {
                    let run = listed.iter().find(|run| run.id == *id);
                    run.with_context(|| format!("no run {id:?}; `bytelab history` lists all"))
                })
                .collect(),
            RequestedSide::Label(_) | RequestedSide::Machine(_) => {
                let is_of_experiment = |run: &&Listed| {
                    args.experiment.as_ref().is_none_or(|name| run.experiment == *name)
                };
                let fit: Vec<&Listed> = listed
                    .iter()
                    .filter(|run| side.matches(run))
                    .filter(is_of_experiment)
                    .collect();
                let labels = labels(&listed).filter(|_| matches!(side, RequestedSide::Label(_)));
                let labels = labels.map_or(String::new(), |all| format!("; the labels: {all}"));
                ensure!(
                    !fit.is_empty(),
                    "no run of {}{labels}; `bytelab history` lists all",
                    side.name()
                );
                Ok(fit)
            }
        }
    });
    let [a, b] = found;
    let found = [a?, b?];
    let published = sides.iter().filter(|side| matches!(side, RequestedSide::Published(_))).count();
    // Two published results are compared by their study.
    let outside = sides.iter().filter(|_| published < 2).filter_map(|side| match side {
        RequestedSide::Published(name) => Some(experiments(name)).filter(|names| !names.is_empty()),
        RequestedSide::File { run, .. } => Some([run.experiment.clone()].into()),
        _ => None,
    });
    let outside: Vec<BTreeSet<String>> = outside.collect();
    let measured = |runs: &[&Listed]| -> BTreeSet<String> {
        runs.iter().map(|run| run.experiment.clone()).collect()
    };
    let stored = found.iter().filter(|runs| !runs.is_empty()).map(|runs| measured(runs));
    let mut common: Option<BTreeSet<String>> = None;
    for own in outside.iter().cloned().chain(stored) {
        common = Some(common.map_or(own.clone(), |common| &common & &own));
    }
    let common = common.unwrap_or_default();
    let of_outside = outside.iter().flatten().cloned();
    let all: BTreeSet<String> =
        found.iter().flat_map(|runs| measured(runs)).chain(of_outside).collect();
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" and ");
    match common.len() {
        0 if all.is_empty() => {}
        0 => bail!(
            "the sides are of different experiments ({}): only those of one can be compared",
            list(&all)
        ),
        1 => {}
        // A study may be of several experiments.
        _ if published > 0 => {}
        _ => bail!("both sides have runs of {}: choose with --experiment NAME", list(&common)),
    }
    let keep = |side: &RequestedSide<'_>, runs: &[&Listed]| -> Vec<String> {
        let named = matches!(side, RequestedSide::Runs(_));
        let fit = runs.iter().filter(|run| named || common.contains(&run.experiment));
        fit.map(|run| run.id.clone()).collect()
    };
    Ok([keep(sides[0], &found[0]), keep(sides[1], &found[1])])
}

fn measured(
    a: &Side,
    b: &Side,
    args: &CompareArgs,
    experiments: &[Experiment],
    layout: &PageLayout,
) -> Result<(String, Option<Checked>)> {
    let one_experiment = a.runs.iter().chain(&b.runs).all(|r| r.experiment == a.runs[0].experiment);
    if let Some(why) = refusal(&a.runs, &b.runs) {
        ensure!(one_experiment, "{why}");
        ensure!(
            args.despite_differences,
            "{why}; --despite-differences compares them all the same"
        );
    }
    let path_params = path_params(experiments, &a.runs[0].experiment);
    let sides = compare_sides(&a.runs, &b.runs, &path_params);
    if sides.lines.is_empty() {
        let points = |side: &Side| {
            let points = side.runs.iter().flat_map(|run| &run.points).take(3);
            points.map(|point| format!("({point})")).collect::<Vec<_>>().join(", ")
        };
        bail!(
            "no method was measured at the same point on both sides: A has {}, B has {}; measure the \
             same job on both",
            points(a),
            points(b)
        );
    }
    let mut machines = a.runs.iter().chain(&b.runs).map(|run| &run.environment.fingerprint);
    let first = machines.next();
    let same_machine = machines.all(|machine| Some(machine) == first);
    let gated = (!args.fail.is_empty()).then(|| gate(&sides, &args.fail, same_machine));
    let text = if args.json {
        compare::json(a, b, &sides, gated.as_ref())?
    } else {
        compare::text(a, b, &sides, gated.as_ref(), layout)
    };
    Ok((text, gated))
}

// Compares a side with published results, or two published results. Both are shown as figures
// without a verdict; the claims of a study have one, by the samples of the runs.

/// A side that is compared with a published one.
enum ComparedSide {
    Stored(Side),
    Published(NamedResults),
}

/// A study, or one of its results.
pub(crate) struct NamedResults {
    name: String,
    pub(crate) study: &'static Study,
    /// One for each machine.
    pub(crate) results: Vec<Published>,
}

impl NamedResults {
    /// Whether the whole study is meant, and not one of its machines. Where the only result of a
    /// study has its name, both are the same.
    pub(crate) fn is_study(&self) -> bool {
        self.name == self.study.name
    }
}

/// The study or the result of this name, without the prefix.
pub(crate) fn named(name: &str) -> Result<NamedResults> {
    let study_of = |result: &Published| {
        published::studies().iter().find(|study| study.published.contains(&result.name))
    };
    let found = match (published::find(name), published::study(name)) {
        (Some(result), _) => study_of(&result).map(|study| (study, vec![result])),
        (None, study) => study.map(|study| (study, published_results(study))),
    };
    let (study, results) = found.with_context(|| {
        let results = published::all().into_iter().map(|published| published.name);
        let studies = published::studies().iter().map(|study| study.name.clone());
        let all: BTreeSet<String> = results.chain(studies).collect();
        let all = all.into_iter().collect::<Vec<_>>().join(", ");
        format!("no published result {name:?}; there are {all}")
    })?;
    Ok(NamedResults { name: name.to_owned(), study, results })
}

/// The experiments that a published result or a study may be compared with.
fn experiments(name: &str) -> BTreeSet<String> {
    let Ok(named) = named(name) else { return BTreeSet::new() };
    if named.is_study() {
        named.study.parts.iter().map(|part| part.experiment.clone()).collect()
    } else {
        named.results.iter().map(|result| result.experiment.to_owned()).collect()
    }
}

/// The error if files are named and no study is.
const NEEDS_STUDY: &str = "--report, --svg and --export-markdown are for a run beside a study, \
                           such as published:fleece; `bytelab report` draws runs alone";

fn looked_at(
    a: ComparedSide,
    b: ComparedSide,
    args: &CompareArgs,
    context: &Context,
) -> Result<String> {
    let (study, is_study) = match (&a, &b) {
        (ComparedSide::Published(one), ComparedSide::Published(other)) => {
            ensure!(
                one.study.name == other.study.name,
                "{} is of {} and {} of {}: they have no job in common",
                one.name,
                one.study.name,
                other.name,
                other.study.name
            );
            (one.study, one.is_study() || other.is_study())
        }
        (ComparedSide::Published(named), ComparedSide::Stored(side))
        | (ComparedSide::Stored(side), ComparedSide::Published(named)) => {
            ensure!(
                side.runs.len() == 1 || named.is_study(),
                "{} are {} runs: name the one to compare with {PREFIX}{}",
                side.name,
                side.runs.len(),
                named.name
            );
            (named.study, named.is_study())
        }
        (ComparedSide::Stored(_), ComparedSide::Stored(_)) => {
            bail!("neither side is a published study")
        }
    };
    ensure!(is_study || args.files.is_empty(), NEEDS_STUDY);
    if args.json && !is_study {
        return of_two(a, b, study);
    }
    let (mut results, mut runs): (Vec<Published>, Vec<Run>) = (Vec::new(), Vec::new());
    for side in [a, b] {
        match side {
            ComparedSide::Stored(side) => runs.extend(side.runs),
            ComparedSide::Published(named) => results.extend(named.results),
        }
    }
    let mut known = BTreeSet::new();
    results.retain(|result| known.insert(result.name.clone()));
    let analyses: Vec<Analysis> = runs.iter().map(analyze).collect();
    let absent = if runs.is_empty() { BTreeMap::new() } else { absent(study, context) };
    let report = StudyReport {
        study,
        published: &results,
        runs: runs.iter().zip(&analyses).collect(),
        absent: &absent,
    };
    args.files.ensure_directories()?;
    args.files.write(&report)?;
    if args.json {
        report::study::json(&report)
    } else {
        Ok(report::study::text(&report, is_study && !runs.is_empty(), &layout()))
    }
}

/// Two sides of one machine each as a document.
fn of_two(a: ComparedSide, b: ComparedSide, study: &Study) -> Result<String> {
    let name = |side: &ComparedSide| match side {
        ComparedSide::Published(named) => Some(named.name.clone()),
        ComparedSide::Stored(_) => None,
    };
    let other = name(&a).or_else(|| name(&b)).unwrap_or_default();
    let mut notes = Vec::new();
    let mut side = |compared: ComparedSide| match compared {
        ComparedSide::Published(named) => {
            named.results.into_iter().next().map(SideFigures::from_published)
        }
        ComparedSide::Stored(side) => {
            notes.extend(other_work(&side.runs[0], study));
            Some(of_run(&side, &other))
        }
    };
    let (Some(a), Some(b)) = (side(a), side(b)) else { bail!("{other} has no figures") };
    let experiment = study.parts.first().map_or("", |part| part.experiment.as_str());
    published_pages::json(experiment, &a, &b, &notes)
}

/// The amounts of work in which the run differs from the study: times of different amounts of data
/// are not times of the same job.
fn other_work(run: &Run, study: &Study) -> Vec<String> {
    let analysis = analyze(run);
    let absent = BTreeMap::new();
    let runs = vec![(run, &analysis)];
    StudyReport { study, published: &[], runs, absent: &absent }.other_work()
}

/// The p50 of every metric of every method.
fn of_run(side: &Side, other: &str) -> SideFigures {
    let run = &side.runs[0];
    let figures = if view(run) == View::Rows { of_numbers(run, other) } else { of_cells(run) };
    let model = run.environment.facts.get("cpu_model").and_then(|model| model.as_str());
    SideFigures {
        name: side.name.clone(),
        machine: model.unwrap_or(&run.environment.fingerprint).to_owned(),
        figures,
        published: None,
    }
}

/// The figures of `numbers`. A row takes the name of the published figure that it is compared with,
/// if that figure means the same on that machine.
fn of_numbers(run: &Run, other: &str) -> Vec<Figure> {
    let machine = if other == "latency-2012" { "2012" } else { other };
    let figure = |(row, p50, n): (&numbers::NumbersRow, f64, usize)| {
        let means = row.published_on.is_empty() || row.published_on.contains(&machine);
        let name = if row.published.is_empty() || !means { row.title } else { row.published };
        Figure {
            method: name.trim().to_owned(),
            metric: "wall_ns".to_owned(),
            unit: "ns",
            p50,
            percentiles: Vec::new(),
            n: Some(n as u64),
            runs: Vec::new(),
        }
    };
    report::numbers::p50s(run).into_iter().map(figure).collect()
}

fn of_cells(run: &Run) -> Vec<Figure> {
    let several = run.points.len() > 1;
    let mut figures = Vec::new();
    for summary in &analyze(run).cells {
        let cell = &run.cells[summary.cell];
        if summary.wrong_answer || cell.role == Role::Yardstick {
            continue;
        }
        let at = if several { format!(" ({})", cell.point) } else { String::new() };
        for metric in &summary.metrics {
            let p50 = metric.percentiles.iter().find(|p| (p.p - 50.0).abs() < 0.01);
            figures.extend(p50.map(|p50| Figure {
                method: format!("{}{at}", cell.method),
                metric: metric.metric.clone(),
                unit: metric::unit(&metric.metric),
                p50: p50.value,
                percentiles: Vec::new(),
                n: Some(metric.n as u64),
                runs: Vec::new(),
            }));
        }
    }
    figures
}
