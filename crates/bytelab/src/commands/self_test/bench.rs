//! The bench on which the self-test measures, and the results of its checks.

use anyhow::{Context as _, Result};
use experiments::self_test::experiment;
use measure::clock;
use measure::launch::{Launcher, Stop};
use measure::timeline::{Timeline, trace};
use measure::{MeasureJob, Record, RunProgress, measure};
use model::param::Point;
use model::run::{CacheState, Cell, Design, Plan, Run};

use crate::measuring::{PreparedRun, ProgressDisplay, ProgressMode, prepare_run};

/// For one run of the A/A test: sets of processes, and rounds of each.
pub(super) const AA: (u32, u32) = (10, 3);

pub(super) struct SelfTestCheck {
    pub(super) name: &'static str,
    pub(super) outcome: CheckOutcome,
    /// The measured value and the expected value.
    pub(super) found: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckOutcome {
    Passed,
    Failed,
    /// The machine is too busy for a verdict.
    Undecided,
}

impl SelfTestCheck {
    pub(super) fn new(name: &'static str, passed: bool, found: String) -> Self {
        Self {
            name,
            outcome: if passed { CheckOutcome::Passed } else { CheckOutcome::Failed },
            found,
        }
    }
}

/// Where the self-test measures.
pub(super) struct Bench {
    pub(super) dir: tempfile::TempDir,
    pub(super) stop: Stop,
}

/// The number of sessions and rounds.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    pub(super) sessions: u32,
    /// Rounds of each session.
    pub(super) rounds: u32,
    pub(super) cache: CacheState,
    pub(super) counting: u32,
}

impl Bench {
    /// Measures these methods of the self-test's experiment.
    pub(super) fn measure(&self, names: &[&str], effort: Effort) -> Result<Run> {
        Ok(self.measure_and(names, effort, |_, _| Ok(()))?.0)
    }

    /// The timeline, or `None` if a signal stopped it.
    pub(super) fn timeline(&self, names: &[&str]) -> Result<Option<Timeline>> {
        let effort = Effort { sessions: 1, rounds: 1, cache: CacheState::AsIs, counting: 0 };
        let traced = self.measure_and(names, effort, |prepared, launcher| {
            let PreparedRun { job, run, data, .. } = prepared;
            trace(
                job,
                run,
                data,
                launcher,
                &mut ProgressLine(ProgressDisplay::new(ProgressMode::Step)),
                &self.stop,
            )
        });
        Ok(traced?.1)
    }

    fn measure_and<T>(
        &self,
        names: &[&str],
        effort: Effort,
        then: impl FnOnce(&mut PreparedRun<'_>, &mut Launcher) -> Result<T>,
    ) -> Result<(Run, T)> {
        let Effort { sessions, rounds, cache, counting } = effort;
        let experiment = experiment();
        let chosen = |name: &&str| experiment.methods.iter().find(|m| m.name == **name).cloned();
        let methods = names.iter().filter_map(chosen).collect();
        let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
        let dir = self.dir.path().to_str().context("the temporary directory is not UTF-8")?;
        let plan = Plan {
            rounds,
            time_limit_ns: 15_000_000_000,
            warm_up: 1,
            sessions,
            design: Design::Fixed,
            seed: clock::now_ns(),
            cache,
            sample_limit_ns: 50_000_000_000,
            data_dir: Some(dir.to_owned()),
            counting,
            ..Plan::default()
        };
        let points = vec![Point::default()];
        let new = Run { points, plan, ..Run::default() };
        let mut line = ProgressLine(ProgressDisplay::new(ProgressMode::Step));
        // Other processes of the self-test run at the same time, so no orphans are adopted.
        let mut prepared = prepare_run(job, new, None, &line.0, &self.stop)?;
        let mut launcher = prepared.launcher(&self.stop)?;
        let PreparedRun { job, run, data, .. } = &mut prepared;
        measure(job, run, data, &mut launcher, &mut line, &self.stop)?;
        let then = then(&mut prepared, &mut launcher)?;
        line.0.clear();
        Ok((prepared.run, then))
    }
}

pub(super) fn median(run: &Run, method: &str, metric: &str) -> Option<f64> {
    let cell = find(run, method)?;
    let mut values: Vec<f64> = cell.counted(metric).map(|(_, value)| value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

pub(super) fn find<'a>(run: &'a Run, method: &str) -> Option<&'a Cell> {
    run.cells.iter().find(|cell| cell.method == method)
}

pub(super) fn show(value: Option<f64>) -> String {
    value.map_or("—".to_owned(), |value| format!("{value:.0}"))
}

/// Appends the reason why a method was not measured.
pub(super) fn or_why(found: String, run: &Run, method: &str) -> String {
    match find(run, method).map(|cell| &cell.status) {
        Some(model::run::Status::Skipped(why) | model::run::Status::Failed(why)) => {
            format!("{found}: {why}")
        }
        _ => found,
    }
}

/// Prints the progress of the self-test; stores nothing.
struct ProgressLine(ProgressDisplay);

impl Record for ProgressLine {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        "self-test".clone_into(&mut run.id);
        Ok(())
    }
    fn progress(&mut self, run: &Run, progress: &RunProgress<'_>) {
        self.0.show(run, progress);
    }
}
