//! What a run would measure, and how long that takes by a stored run of the same methods.

use std::fmt::Write;

use anyhow::Result;
use lab::environment;
use lab::measure::Job;
use lab::param::Point;
use lab::run::{Design, Plan, Run};
use lab::stats::LOOKS;

use super::estimate::{MethodTime, sample_ns, seconds, without_slowest};
use super::prepare::NewRun;
use super::record::at_most;
use super::request::RunRequest;
use crate::experiments::Catalogue;
use crate::store::{LocalStore, Store};

/// The number of stored runs that are searched for the methods, the newest first.
const RUNS_SEARCHED: usize = 10;
/// The plan of the request in words. Nothing is measured.
pub(crate) fn dry_run(
    experiments: &Catalogue,
    request: &RunRequest,
    store: Option<LocalStore>,
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
type MethodAtPoint<'a> = (&'a str, Point);

fn cells<'a>(job: &'a Job<'_>, new: &NewRun) -> Vec<MethodAtPoint<'a>> {
    let mut cells: Vec<MethodAtPoint<'_>> = Vec::new();
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

/// The newest run on this machine that has one of these cells, with the times of those that it has.
fn past<'a>(
    mut store: LocalStore,
    job: &Job<'_>,
    cells: &[MethodAtPoint<'a>],
) -> Result<Option<(Run, Vec<MethodTime<'a>>)>> {
    let here = environment::capture(None);
    let model = here.facts.get("cpu_model").and_then(|model| model.as_str());
    let of_here = store.list()?.into_iter().rev().filter(|run| {
        run.experiment == job.experiment.name && run.machine.cpu_model.as_deref() == model
    });
    for listed in of_here.take(RUNS_SEARCHED) {
        let run = store.load(&listed.id)?;
        let time = |(method, point): &MethodAtPoint<'a>| {
            let mut all = run.cells.iter();
            let cell = all.find(|cell| cell.method == *method && cell.point == *point)?;
            Some((*method, sample_ns(cell)?))
        };
        let known: Vec<MethodTime<'_>> = cells.iter().filter_map(time).collect();
        if !known.is_empty() {
            return Ok(Some((run, known)));
        }
    }
    Ok(None)
}

fn estimate(
    text: &mut String,
    run: &Run,
    plan: &Plan,
    known: &[MethodTime<'_>],
    cells: usize,
) -> Result<()> {
    let (sessions, rounds) = match plan.design {
        Design::Fixed => (plan.sessions, plan.rounds),
        // What a verdict takes.
        Design::Sequential => (LOOKS[0] as u32, 1),
    };
    let samples = f64::from(sessions) * f64::from(rounds + plan.warm_up);
    let all_ns: f64 = known.iter().map(|(_, ns)| ns).sum();
    let of = if rounds == 1 { "a round".to_owned() } else { format!("{rounds} rounds") };
    write!(
        text,
        "{sessions} sessions of {of} take about {} s by run {}",
        seconds(samples * all_ns),
        run.id
    )?;
    if known.len() < cells {
        write!(text, ", in which {} of {cells} are known", known.len())?;
    }
    let without = without_slowest(known, samples);
    if !without.is_empty() {
        write!(text, "; {without}")?;
    }
    Ok(writeln!(text)?)
}
