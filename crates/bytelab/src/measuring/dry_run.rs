//! What a run would measure, and how long that takes by a stored run of the same methods.

use std::fmt::Write;

use anyhow::Result;
use lab::environment;
use lab::measure::Job;
use lab::metric::WALL;
use lab::param::Point;
use lab::run::{Cell, Design, Pass, Plan, Run};
use lab::stats::{LOOKS, median};

use super::prepare::NewRun;
use super::record::at_most;
use super::request::RunRequest;
use crate::experiments::Catalogue;
use crate::store::Store;

/// The number of stored runs that are searched for the methods, the newest first.
const RUNS_SEARCHED: usize = 10;
/// Up to two methods that take this share of the time are named.
const LARGE_SHARE: f64 = 0.2;

/// The plan of the request in words. Nothing is measured.
pub(crate) fn dry_run(
    experiments: &Catalogue,
    request: &RunRequest,
    store: Option<Box<dyn Store>>,
) -> Result<String> {
    let (job, new) = super::chosen(experiments, request)?;
    let mut text = at_most(&job, &new.plan) + "\n";
    let cells = cells(&job, &new);
    match store.map(|store| past(store, &job, &cells)).transpose()?.flatten() {
        Some((run, rounds)) => estimate(&mut text, &run, &new.plan, &rounds, cells.len())?,
        None => writeln!(
            text,
            "how long its samples take is not known: the store has no run of these methods on this machine"
        )?,
    }
    Ok(text)
}

/// A method with the values of the params that it reads.
type Wanted<'a> = (&'a str, Point);

fn cells<'a>(job: &'a Job<'_>, new: &NewRun) -> Vec<Wanted<'a>> {
    let mut cells: Vec<Wanted<'_>> = Vec::new();
    for method in &job.methods {
        for point in new.points.iter().filter(|point| method.competes_at(point)) {
            let cell = (method.name.as_str(), point.only(|name| method.reads.contains(&name)));
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}

/// The time of a sample of a cell, in ns.
type Known<'a> = (&'a str, f64);

/// The newest run on this machine that has one of these cells, with the times of those that it has.
fn past<'a>(
    mut store: Box<dyn Store>,
    job: &Job<'_>,
    cells: &[Wanted<'a>],
) -> Result<Option<(Run, Vec<Known<'a>>)>> {
    let here = environment::capture(None);
    let model = here.facts.get("cpu_model").and_then(|model| model.as_str());
    let of_here = store.list()?.into_iter().rev().filter(|run| {
        run.experiment == job.experiment.name && run.machine.cpu_model.as_deref() == model
    });
    for listed in of_here.take(RUNS_SEARCHED) {
        let run = store.load(&listed.id)?;
        let time = |(method, point): &Wanted<'a>| {
            let mut all = run.cells.iter();
            let cell = all.find(|cell| cell.method == *method && cell.point == *point)?;
            Some((*method, sample_ns(cell)?))
        };
        let known: Vec<Known<'_>> = cells.iter().filter_map(time).collect();
        if !known.is_empty() {
            return Ok(Some((run, known)));
        }
    }
    Ok(None)
}

fn sample_ns(cell: &Cell) -> Option<f64> {
    let walls = cell.values.get(WALL)?;
    let timed = cell.samples.iter().zip(walls).filter(|(s, _)| s.pass == Pass::Timing);
    let times: Vec<f64> = timed.map(|(s, ns)| ns * s.ops as f64).filter(|ns| *ns > 0.0).collect();
    (!times.is_empty()).then(|| median(&times))
}

fn estimate(
    text: &mut String,
    run: &Run,
    plan: &Plan,
    known: &[Known<'_>],
    cells: usize,
) -> Result<()> {
    let (sessions, rounds) = match plan.design {
        Design::Fixed => (plan.sessions, plan.rounds),
        // What a verdict takes.
        Design::Sequential => (LOOKS[0] as u32, 1),
    };
    let samples = f64::from(sessions) * f64::from(rounds + plan.warm_up);
    let seconds = |sample_ns: f64| samples * sample_ns / 1e9;
    let all: f64 = known.iter().map(|(_, ns)| ns).sum();
    let of = if rounds == 1 { "a round".to_owned() } else { format!("{rounds} rounds") };
    write!(
        text,
        "{sessions} sessions of {of} take about {} s by run {}",
        digits(seconds(all)),
        run.id
    )?;
    if known.len() < cells {
        write!(text, ", in which {} of {cells} are known", known.len())?;
    }
    let mut of_methods: Vec<Known<'_>> = Vec::new();
    for (method, ns) in known {
        match of_methods.iter_mut().find(|(name, _)| name == method) {
            Some((_, sum)) => *sum += ns,
            None => of_methods.push((method, *ns)),
        }
    }
    of_methods.sort_by(|a, b| b.1.total_cmp(&a.1));
    let large = of_methods.iter().take(2).filter(|(_, ns)| *ns >= LARGE_SHARE * all);
    let large: Vec<String> =
        large.map(|(name, ns)| format!("without {name} {} s less", digits(seconds(*ns)))).collect();
    if of_methods.len() > 2 && !large.is_empty() {
        write!(text, "; {} (-m names those that take part)", large.join(", "))?;
    }
    Ok(writeln!(text)?)
}

fn digits(seconds: f64) -> String {
    let seconds = seconds.max(0.1);
    if seconds < 9.5 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}
