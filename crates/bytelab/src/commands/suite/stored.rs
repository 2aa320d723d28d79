//! A check of a suite as a run: for each benchmark a point, at which old and new are the methods,
//! so that it is shown, reported and followed over time as any other run is.

use std::collections::BTreeMap;

use anyhow::Result;
use measure::launch::Stop;
use measure::{clock, environment};
use model::metric::WALL;
use model::param::Point;
use model::run::{
    Cell, MeasuredRevision, OLD_SUFFIX, Plan, ProjectCommit, REVISIONS, RevisionMethod, Run,
    SCHEMA, Sample, Status,
};
use store::TOOK;

use super::harness::RUN_LIMIT_NS;
use super::sessions::{BenchmarkRuns, SIDES};
use super::sides::SuiteSides;
use crate::git;

/// The experiment of these runs.
pub(super) const SUITE: &str = "suite";
/// The param with the benchmark's name and its program.
const BENCHMARK: &str = "benchmark";
const GIT_LIMIT_NS: u64 = 10_000_000_000;

/// The cells of a benchmark: those of its old and its new side.
pub(super) fn cells_of(benchmark: usize) -> std::ops::Range<usize> {
    2 * benchmark..2 * benchmark + 2
}

/// What is known of a check when it ends.
pub(super) struct SuiteRun<'a> {
    pub(super) sides: &'a SuiteSides,
    /// The label of each benchmark, its name, and what was measured of it.
    pub(super) benchmarks: Vec<(String, &'a str, &'a BenchmarkRuns)>,
    pub(super) label: Option<String>,
    /// RFC 3339, UTC.
    pub(super) started: String,
    pub(super) started_ns: u64,
    pub(super) time_limit_ns: u64,
    pub(super) seed: u64,
}

impl SuiteRun<'_> {
    pub(super) fn run(&self, stop: &Stop) -> Result<Run> {
        let mut cells = Vec::new();
        let mut points = Vec::new();
        for (label, name, runs) in &self.benchmarks {
            let mut point = Point::default();
            point.set(BENCHMARK, label.as_str());
            points.push(point.clone());
            // The first one is the reference.
            cells.push(cell(&format!("{name}{OLD_SUFFIX}"), point.clone(), runs, 0));
            cells.push(cell(name, point, runs, 1));
        }
        let sessions = self.benchmarks.iter().map(|(.., runs)| runs.sessions.len()).max();
        let mut environment = environment::capture(None);
        environment.facts.insert(TOOK.to_owned(), (clock::now_ns() - self.started_ns).into());
        let revisions = self.revisions();
        if revisions.is_empty() {
            let mut here = git::head(".", GIT_LIMIT_NS, stop);
            if let Some(commit) = &mut here {
                git::describe(commit, ".", GIT_LIMIT_NS, stop);
            }
            environment.facts.extend(here.iter().flat_map(ProjectCommit::facts));
        } else {
            environment.facts.insert(REVISIONS.to_owned(), serde_json::to_value(revisions)?);
        }
        Ok(Run {
            schema: SCHEMA,
            experiment: SUITE.to_owned(),
            question: "Which benchmarks of the suite got slower?".to_owned(),
            label: self.label.clone(),
            started: self.started.clone(),
            complete: true,
            environment,
            plan: Plan {
                rounds: 2,
                sessions: sessions.unwrap_or_default() as u32,
                time_limit_ns: self.time_limit_ns,
                limits_all: true,
                sample_limit_ns: RUN_LIMIT_NS,
                seed: self.seed,
                ..Plan::default()
            },
            points,
            cells,
            ..Run::default()
        })
    }

    fn revisions(&self) -> Vec<MeasuredRevision> {
        let of = |revision: Option<&MeasuredRevision>, suffix: &str| {
            let method = |(_, name, _): &(String, &str, &BenchmarkRuns)| RevisionMethod {
                name: format!("{name}{suffix}"),
                command: (*name).to_owned(),
                sha256: BTreeMap::new(),
            };
            let methods = self.benchmarks.iter().map(method).collect();
            revision.map(|revision| MeasuredRevision { methods, ..revision.clone() })
        };
        let sides = [(&self.sides.old, OLD_SUFFIX), (&self.sides.new, "")];
        sides.into_iter().filter_map(|(side, suffix)| of(side.revision.as_ref(), suffix)).collect()
    }
}

/// A side of a benchmark: each session has two rounds, in each of which both sides ran.
fn cell(method: &str, point: Point, runs: &BenchmarkRuns, side: usize) -> Cell {
    let mut cell = Cell::new(method, point);
    for (session, taken) in runs.sessions.iter().enumerate() {
        for (at, (of, ns)) in taken.runs.iter().enumerate() {
            if *of != side {
                continue;
            }
            let (session, at) = (session as u32, at as u32);
            let (round, slot) = (2 * session + at / 2, at % 2);
            let sample = Sample { session, round, slot, ops: 1, ..Sample::default() };
            cell.push(sample, &[(WALL, *ns)]);
        }
    }
    if let Some(why) = &runs.failure
        && runs.failed_side == Some(side)
    {
        let why = why.strip_prefix(SIDES[side]).and_then(|why| why.strip_prefix(": "));
        cell.status = Status::Failed(why.unwrap_or_default().to_owned());
    }
    cell
}
