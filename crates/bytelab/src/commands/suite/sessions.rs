//! Measures a suite: passes over the benchmarks that are open, in random order, a session of each.
//! A session is four runs, old, new, new, old or the other way round, in fresh processes.

use analysis::stats::{LOOKS, median};
use analysis::{GateState, SuiteGate};
use anyhow::{Result, bail};
use measure::clock;
use model::random::SplitMix64;

use super::harness::{Harness, HarnessRun, SuiteProgram, last_digit};

/// The two sides of a suite.
pub(super) const SIDES: [&str; 2] = ["old", "new"];

/// A benchmark that both sides have.
#[derive(Clone, Debug)]
pub(super) struct SuiteBenchmark {
    /// The index of its program.
    pub(super) program: usize,
    pub(super) name: String,
}

/// A session: which side each run was of, and its estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuiteSession {
    pub(super) runs: [(usize, f64); 4],
}

/// What was measured of a benchmark.
#[derive(Clone, Debug, Default)]
pub(super) struct BenchmarkRuns {
    pub(super) sessions: Vec<SuiteSession>,
    /// Why it could not be run.
    pub(super) failure: Option<String>,
    /// The side that failed.
    pub(super) failed_side: Option<usize>,
    /// How long all of its runs took, and how many of its sessions that were, with those between
    /// the sessions of another one.
    pub(super) spent_ns: u64,
    taken: u32,
    /// The smallest last digit of an estimate.
    digit: Option<f64>,
}

impl BenchmarkRuns {
    /// Of a session; 0 if none is known.
    pub(super) fn session_ns(&self) -> u64 {
        self.spent_ns.checked_div(self.taken.into()).unwrap_or_default()
    }

    /// The estimates of a side.
    pub(super) fn of_side(&self, side: usize) -> Vec<f64> {
        let runs = self.sessions.iter().flat_map(|session| session.runs);
        runs.filter(|(of, _)| *of == side).map(|(_, ns)| ns).collect()
    }
}

impl SuiteSession {
    /// ln(new ÷ old).
    pub(super) fn log_ratio(&self) -> f64 {
        let sign = |side: usize| if side == 1 { 0.5 } else { -0.5 };
        self.runs.iter().map(|(side, ns)| sign(*side) * ns.ln()).sum()
    }
}

/// Takes sessions.
pub(super) struct SuiteMeasurer<'a> {
    pub(super) harness: &'a dyn Harness,
    pub(super) run: HarnessRun,
    pub(super) benchmarks: &'a [SuiteBenchmark],
    pub(super) runs: Vec<BenchmarkRuns>,
    random: SplitMix64,
    last: Option<usize>,
}

/// A set of sessions: which benchmarks have them, and until when.
pub(super) struct SessionSet<'a> {
    /// Copies of old and new of each program.
    pub(super) programs: &'a [[SuiteProgram; 2]],
    /// The indices of the benchmarks, in the order of the gate.
    pub(super) chosen: &'a [usize],
    /// By benchmark of the gate, the largest number of sessions.
    pub(super) most: &'a dyn Fn(usize) -> usize,
    pub(super) end_ns: u64,
    /// Whether time is kept for confirming what is red so far, up to half of all.
    pub(super) keeps_time: bool,
}

impl<'a> SuiteMeasurer<'a> {
    pub(super) fn new(
        harness: &'a dyn Harness,
        run: HarnessRun,
        benchmarks: &'a [SuiteBenchmark],
        seed: u64,
    ) -> SuiteMeasurer<'a> {
        let runs = vec![BenchmarkRuns::default(); benchmarks.len()];
        SuiteMeasurer { harness, run, benchmarks, runs, random: SplitMix64(seed), last: None }
    }

    /// Measures until all is decided or the time is over. Ends with an error only if a signal stops
    /// it.
    pub(super) fn measure(&mut self, set: &SessionSet<'_>, gate: &mut SuiteGate) -> Result<()> {
        let start_ns = clock::now_ns();
        loop {
            let mut open = gate.open();
            open.retain(|i| gate.sessions(*i).len() < (set.most)(*i).min(LOOKS[LOOKS.len() - 1]));
            if open.is_empty() {
                return Ok(());
            }
            self.random.shuffle(&mut open);
            // Sessions of one benchmark are never neighbours.
            if self.last == Some(set.chosen[open[0]]) {
                let other = open.len() - 1;
                open.swap(0, other);
            }
            for i in open {
                if gate.state(i) != GateState::Open {
                    continue;
                }
                if !self.has_time(set, gate, i, start_ns) {
                    return Ok(());
                }
                self.keep_apart(set, set.chosen[i])?;
                self.session_of(set, gate, i)?;
            }
        }
    }

    /// A session that counts.
    fn session_of(&mut self, set: &SessionSet<'_>, gate: &mut SuiteGate, i: usize) -> Result<()> {
        let benchmark = set.chosen[i];
        match self.session(set, benchmark)? {
            Some(session) => {
                let runs = &mut self.runs[benchmark];
                runs.sessions.push(session);
                let least = session.runs.iter().map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min);
                gate.push(i, session.log_ratio(), runs.digit.unwrap_or_default() / least);
            }
            None => gate.fail(i),
        }
        Ok(())
    }

    /// Whether a session may still begin.
    fn has_time(&self, set: &SessionSet<'_>, gate: &SuiteGate, i: usize, start_ns: u64) -> bool {
        let session_ns = self.runs[set.chosen[i]].session_ns();
        let mut end_ns = set.end_ns;
        if set.keeps_time {
            let of = |i: usize| {
                gate.sessions(i).len() as u64 * self.runs[set.chosen[i]].session_ns() * 3 / 2
            };
            let kept = if gate.geometric_mean().is_some_and(|mean| mean.is_slower) {
                (0..set.chosen.len()).map(of).sum()
            } else {
                gate.in_state(GateState::Slower).into_iter().map(of).sum::<u64>()
            };
            end_ns -= kept.min(end_ns.saturating_sub(start_ns) / 2);
        }
        let between = self.between(set.chosen[i]).map(|other| self.runs[other].session_ns());
        let taken_ns = session_ns.saturating_add(between.unwrap_or_default());
        clock::now_ns().saturating_add(taken_ns) <= end_ns
    }

    /// The benchmark that runs, without counting, where two sessions of this one would be
    /// neighbours: the shortest one; none in a suite of one benchmark.
    fn between(&self, benchmark: usize) -> Option<usize> {
        let others = (0..self.runs.len())
            .filter(|other| *other != benchmark && self.runs[*other].failure.is_none());
        let shortest = others.min_by_key(|other| self.runs[*other].session_ns());
        shortest.filter(|_| self.last == Some(benchmark))
    }

    /// Takes that session.
    fn keep_apart(&mut self, set: &SessionSet<'_>, benchmark: usize) -> Result<()> {
        self.between(benchmark).map_or(Ok(()), |other| self.session(set, other).map(drop))
    }

    /// None if the benchmark could not be run.
    fn session(&mut self, set: &SessionSet<'_>, benchmark: usize) -> Result<Option<SuiteSession>> {
        let SuiteBenchmark { program, name } = &self.benchmarks[benchmark];
        let first = (self.random.draw() >> 63) as usize;
        let start_ns = clock::now_ns();
        let mut runs = [(0, 0.0); 4];
        self.last = Some(benchmark);
        for (run, side) in runs.iter_mut().zip([first, 1 - first, 1 - first, first]) {
            let measured = self.harness.measure(&set.programs[*program][side], name, &self.run);
            if self.run.stop.signal().is_some() {
                bail!("stopped by a signal");
            }
            match measured {
                Ok(ns) => {
                    *run = (side, ns);
                    let digit = self.runs[benchmark].digit.unwrap_or(f64::INFINITY);
                    self.runs[benchmark].digit = Some(digit.min(last_digit(ns)));
                }
                Err(error) => {
                    self.runs[benchmark].failure = Some(format!("{}: {error:#}", SIDES[side]));
                    self.runs[benchmark].failed_side = Some(side);
                    return Ok(None);
                }
            }
        }
        let runs_of = &mut self.runs[benchmark];
        runs_of.spent_ns += clock::now_ns() - start_ns;
        runs_of.taken += 1;
        Ok(Some(SuiteSession { runs }))
    }
}

/// The median of a side; none without a run.
pub(super) fn middle(runs: &[f64]) -> Option<f64> {
    (!runs.is_empty()).then(|| median(runs))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use measure::launch::Stop;

    use super::*;

    /// A harness that only says what it would run; `slow` is twice as slow on the new side.
    #[derive(Default)]
    struct FakeHarness {
        ran: RefCell<Vec<(String, String)>>,
    }

    impl Harness for FakeHarness {
        fn build(&self, _: &Path, _: &Path, _: &Stop) -> Result<Vec<SuiteProgram>> {
            bail!("it is not built")
        }

        fn names(&self, _: &SuiteProgram, _: &HarnessRun) -> Result<Vec<String>> {
            bail!("it is not listed")
        }

        fn command(&self, _: &SuiteProgram, _: &str, _: &HarnessRun) -> Result<Vec<String>> {
            bail!("it is not started")
        }

        fn estimate(&self, _: &SuiteProgram, _: &str, _: &HarnessRun) -> Result<f64> {
            bail!("it has no result")
        }

        fn measure(&self, program: &SuiteProgram, name: &str, _: &HarnessRun) -> Result<f64> {
            let side = program.file.display().to_string();
            self.ran.borrow_mut().push((name.to_owned(), side.clone()));
            let n = self.ran.borrow().len() as f64;
            match (name, side.as_str()) {
                ("broken", "new") => bail!("it is broken"),
                ("slow", "new") => Ok(200.123 + n.sin()),
                _ => Ok(100.123 + n.sin()),
            }
        }
    }

    fn programs() -> Vec<[SuiteProgram; 2]> {
        let side =
            |side: &str| SuiteProgram { name: String::new(), file: PathBuf::from(side), dir: None };
        vec![[side("old"), side("new")]]
    }

    fn check(names: &[&str], ends: impl Fn(&SuiteGate, &SuiteMeasurer<'_>, &FakeHarness)) {
        check_limited(names, 2.0, &|_| 30, ends);
    }

    fn check_limited(
        names: &[&str],
        percent: f64,
        most: &dyn Fn(usize) -> usize,
        ends: impl Fn(&SuiteGate, &SuiteMeasurer<'_>, &FakeHarness),
    ) {
        let harness = FakeHarness::default();
        let benchmarks: Vec<SuiteBenchmark> = names
            .iter()
            .map(|name| SuiteBenchmark { program: 0, name: (*name).to_owned() })
            .collect();
        let run = HarnessRun::new(PathBuf::new(), Duration::ZERO, &Stop::default());
        let mut measurer = SuiteMeasurer::new(&harness, run, &benchmarks, 7);
        let mut gate = SuiteGate::new(names.len(), percent);
        let chosen: Vec<usize> = (0..names.len()).collect();
        let set = SessionSet {
            programs: &programs(),
            chosen: &chosen,
            most,
            end_ns: u64::MAX,
            keeps_time: true,
        };
        measurer.measure(&set, &mut gate).unwrap();
        ends(&gate, &measurer, &harness);
    }

    #[test]
    fn each_session_has_both_orders_and_none_is_beside_its_like() {
        check(&["a", "b", "slow", "c"], |gate, measurer, harness| {
            assert_eq!(gate.in_state(GateState::Slower), [2]);
            let ran = harness.ran.borrow();
            let sessions: Vec<&[(String, String)]> = ran.chunks(4).collect();
            for session in &sessions {
                assert!(session.iter().all(|run| run.0 == session[0].0), "{session:?}");
                assert_eq!(session[0].1, session[3].1);
                assert!(session[1].1 == session[2].1 && session[0].1 != session[1].1);
            }
            let neighbours = sessions.windows(2).filter(|pair| pair[0][0].0 == pair[1][0].0);
            assert_eq!(neighbours.count(), 0);
            let first: Vec<&str> = sessions.iter().map(|session| session[0].1.as_str()).collect();
            assert!(first.contains(&"old") && first.contains(&"new"));
            let runs = &measurer.runs[2];
            assert!((runs.of_side(1)[0] - runs.of_side(0)[0]).abs() > 90.0);
            assert_eq!(runs.of_side(0).len(), 2 * runs.sessions.len());
        });
    }

    #[test]
    fn what_is_open_alone_has_sessions_of_another_between_its_own() {
        // With a limit of 0 nothing is decided.
        let most = |i: usize| if i == 0 { 6 } else { 15 };
        check_limited(&["a", "b"], 0.0, &most, |gate, measurer, harness| {
            assert_eq!([gate.sessions(0).len(), gate.sessions(1).len()], [6, 15]);
            assert_eq!(measurer.runs[0].sessions.len(), 6);
            let ran = harness.ran.borrow();
            let names: Vec<&str> = ran.chunks(4).map(|session| session[0].0.as_str()).collect();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        });
    }

    #[test]
    fn what_fails_leaves_and_a_suite_of_one_has_nothing_else_to_run() {
        check(&["broken", "a"], |gate, measurer, _| {
            assert_eq!(gate.in_state(GateState::Failed), [0]);
            assert_eq!(measurer.runs[0].failure.as_deref(), Some("new: it is broken"));
            assert!(gate.estimate(1).is_some());
        });
        check(&["a"], |gate, _, _| assert_eq!(gate.in_state(GateState::Ok), [0]));
    }

    #[test]
    fn no_session_begins_that_would_end_too_late() {
        let harness = FakeHarness::default();
        let benchmarks = [SuiteBenchmark { program: 0, name: "a".to_owned() }];
        let run = HarnessRun::new(PathBuf::new(), Duration::ZERO, &Stop::default());
        let mut measurer = SuiteMeasurer::new(&harness, run, &benchmarks, 7);
        let mut gate = SuiteGate::new(1, 2.0);
        let programs = programs();
        let set = SessionSet {
            programs: &programs,
            chosen: &[0],
            most: &|_| 30,
            end_ns: 0,
            keeps_time: false,
        };
        measurer.measure(&set, &mut gate).unwrap();
        assert!(harness.ran.borrow().is_empty() && gate.estimate(0).is_none());
    }
}
