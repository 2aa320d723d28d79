//! The whole scheme of a sequential run, with simulated methods: looks, leaving, the best.

use analysis::stats::LOOKS;
use analysis::{Verdict, analyze, stopping_decision};
use model::random::SplitMix64;
use model::run::{Design, Plan, Run};

use crate::gate;

/// Simulated runs of some methods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheme {
    /// The true times relative to the reference, which is the first, in logs.
    pub(crate) effects: &'static [f64],
    /// The standard deviation of a process over that of a round.
    pub(crate) spread: f64,
    /// The last look of the run.
    pub(crate) last: usize,
}

/// Shares of the runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunShares {
    /// A verdict that is not true.
    pub(crate) false_verdict: f64,
    /// One of the best methods has left, or is not among the best.
    pub(crate) best_lost: f64,
    /// An interval of the table does not contain the true ratio.
    pub(crate) missed: f64,
    /// The number of sessions that were taken of those that all methods together could have.
    pub(crate) sessions: f64,
}

/// The standard deviation of a round.
const ROUND: f64 = 0.05;
const EQUAL_WITHIN: f64 = 0.01;

pub(crate) fn simulate(scheme: Scheme, runs: u32, seed: u64) -> RunShares {
    let mut random = SplitMix64(seed ^ scheme.spread.to_bits());
    let mut sum = RunShares::default();
    for _ in 0..runs {
        let one = one_run(scheme, &mut random);
        sum.false_verdict += one.false_verdict;
        sum.best_lost += one.best_lost;
        sum.missed += one.missed;
        sum.sessions += one.sessions;
    }
    let share = |sum: f64| sum / f64::from(runs);
    RunShares {
        false_verdict: share(sum.false_verdict),
        best_lost: share(sum.best_lost),
        missed: share(sum.missed),
        sessions: share(sum.sessions),
    }
}

fn one_run(scheme: Scheme, random: &mut SplitMix64) -> RunShares {
    let n = scheme.effects.len();
    let cells = (0..n).map(|i| gate::cell(format!("m{i}")));
    let mut run = gate::of_cells(cells.collect());
    run.plan = Plan { rounds: 1, sessions: 240, design: Design::Sequential, ..run.plan };
    let (mut left, mut taken) = (vec![false; n], 0);
    for session in 0..scheme.last {
        for cell in (0..n).filter(|cell| !left[*cell]) {
            let process = scheme.spread * random.normal();
            let log = scheme.effects[cell] + ROUND * (process + random.normal());
            let sample = gate::sample(session as u32, 0);
            run.cells[cell].push(sample, &[("wall_ns", 1e6 * log.exp())]);
            taken += 1;
        }
        if LOOKS.contains(&(session + 1)) {
            let now = stopping_decision(&run);
            left.iter_mut().zip(&now.leaves).for_each(|(left, leaves)| *left |= leaves);
            if now.all {
                break;
            }
        }
    }
    let judged = judge(scheme, &run, &left);
    RunShares { sessions: f64::from(taken) / (n * scheme.last) as f64, ..judged }
}

fn judge(scheme: Scheme, run: &Run, left: &[bool]) -> RunShares {
    let analysis = analyze(run);
    let (mut false_verdict, mut missed) = (false, false);
    for found in analysis.comparisons.iter().filter(|found| found.decides) {
        let truth = scheme.effects[found.cell] - scheme.effects[found.reference_cell];
        false_verdict |= match found.verdict {
            Verdict::Faster => truth >= 0.0,
            Verdict::Slower => truth <= 0.0,
            Verdict::Same => truth.abs() > EQUAL_WITHIN,
            _ => false,
        };
        let bounds = found.low.zip(found.high).map(|(low, high)| (low.ln(), high.ln()));
        missed |= bounds.is_some_and(|(low, high)| truth < low || truth > high);
    }
    let smallest = scheme.effects.iter().copied().fold(f64::INFINITY, f64::min);
    let family = &analysis.families[0];
    let is_lost = |cell: usize| {
        left[cell] || !family.best.contains(&cell) && !family.undecided.contains(&cell)
    };
    let is_best = |cell: &usize| scheme.effects[*cell] <= smallest;
    let best_lost = (0..scheme.effects.len()).filter(is_best).any(is_lost);
    let share = |is: bool| f64::from(u8::from(is));
    RunShares {
        false_verdict: share(false_verdict),
        best_lost: share(best_lost),
        missed: share(missed),
        sessions: 0.0,
    }
}
