//! Which functions the difference between two profiled methods is in.

use std::collections::{BTreeMap, BTreeSet};

use model::profile::{CellProfile, OTHERS, Profile};
use model::run::Run;
use serde::Serialize;

use super::analysis::{ALPHA, Family};
use super::made_of::sides;
use crate::stats::{SESSIONS_NEEDED, Shift, mean_shift};

/// The functions of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    pub method: String,
    pub reference: String,
    /// Indices of the two into `Run::cells`.
    pub cell: usize,
    pub reference_cell: usize,
    /// The jobs of each.
    pub jobs: usize,
    /// The difference of all profiled time, on a CPU or blocked, per operation: the method minus
    /// its reference.
    pub total_ns: f64,
    /// The functions that differ, the largest difference first.
    pub functions: Vec<FunctionDifference>,
    /// Those of which some differ: they have 1 % or more of both sides' time together.
    pub candidates: usize,
    /// The level of each interval: 1 − 0.05 × shown / candidates.
    pub level: f64,
    /// What would have been found four times out of five of a function that takes a tenth of the
    /// reference's time.
    pub found_ns: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionDifference {
    pub name: String,
    /// In the function itself, without what it calls.
    pub mean_ns: f64,
    pub low_ns: f64,
    pub high_ns: f64,
    pub value_ns: f64,
    pub reference_ns: f64,
}

/// The false discovery rate: of equal programs, no more than this share of pairs name a function.
const DISCOVERY_ALPHA: f64 = 0.02;

/// More functions are not shown.
const SHOWN_MAX: usize = 10;

/// A function is looked at if it has this share of the time of both sides together: chosen so
/// before any difference is known.
const CANDIDATE_SHARE: f64 = 0.01;

/// The profiled contenders of each table against its reference, or, in a run that has two sides of
/// its methods, the new ones against the old ones.
pub(crate) fn of_families(run: &Run, families: &[Family]) -> Vec<Why> {
    let Some(profile) = &run.plan.profile else { return Vec::new() };
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for family in families {
        let Some(reference) = family.reference else { continue };
        let mut pairs: Vec<[usize; 2]> = sides(run, family.compared.iter().copied()).collect();
        if pairs.is_empty() {
            let others = family.compared.iter().filter(|cell| **cell != reference);
            pairs = others.map(|cell| [*cell, reference]).collect();
        }
        // A pair that is in several families is compared in the first of them.
        let new = pairs.into_iter().filter(|pair| known.insert(*pair));
        all.extend(new.filter_map(|pair| of_pair(run, profile, pair)));
    }
    all
}

/// None if one of the two has fewer jobs than an interval needs.
fn of_pair(run: &Run, profile: &Profile, cells: [usize; 2]) -> Option<Why> {
    let [ours, theirs] = cells.map(|cell| profile.of_cell(cell));
    let times = Times::new(profile, [ours?, theirs?]);
    let jobs = times.jobs;
    if jobs < SESSIONS_NEEDED {
        return None;
    }
    let total_ns: f64 = times.functions.values().map(FunctionTimes::difference).sum();
    let both_ns: f64 = times.functions.values().map(FunctionTimes::both).sum();
    let is_candidate = |(name, function): &(&&str, &FunctionTimes)| {
        **name != OTHERS && function.both() >= CANDIDATE_SHARE * both_ns
    };
    let candidates: Vec<(&&str, &FunctionTimes)> =
        times.functions.iter().filter(is_candidate).collect();
    let (shown, alpha) = differing(&candidates)?;
    let functions = shown.into_iter().filter_map(|(name, function)| {
        let Shift { estimate, interval, .. } = function.shift(alpha)?;
        let (low_ns, high_ns) = interval?;
        Some(FunctionDifference {
            name: (*name).to_owned(),
            mean_ns: estimate,
            low_ns,
            high_ns,
            value_ns: function.mean(0),
            reference_ns: function.mean(1),
        })
    });
    let name = |cell: usize| run.cells.get(cell).map(|cell| cell.method.clone());
    let of_reference_ns: f64 = times.functions.values().map(|function| function.mean(1)).sum();
    Some(Why {
        method: name(cells[0])?,
        reference: name(cells[1])?,
        cell: cells[0],
        reference_cell: cells[1],
        jobs,
        total_ns,
        functions: functions.collect(),
        candidates: candidates.len(),
        level: 1.0 - alpha,
        // The samples of a function that takes t are Poisson's: the standard deviation of the
        // difference of two means over n jobs is √(2 t · period ÷ n), and 2.8 of them are found
        // four times out of five at 0.05.
        found_ns: 2.8 * (0.2 * of_reference_ns * profile.period_ns as f64 / jobs as f64).sqrt(),
    })
}

type Candidate<'t> = (&'t &'t str, &'t FunctionTimes);

/// The functions that differ, by the procedure of Benjamini and Hochberg (1995), at most ten of
/// them, the largest first, and the level at which their intervals allow for having been selected:
/// Benjamini and Yekutieli (2005). None if there are too few jobs.
fn differing<'t>(candidates: &[Candidate<'t>]) -> Option<(Vec<Candidate<'t>>, f64)> {
    let mut tested: Vec<(f64, Candidate<'t>)> = Vec::new();
    for candidate in candidates {
        tested.push((candidate.1.shift(ALPHA)?.p, *candidate));
    }
    tested.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = tested.len();
    let is_below = |i: &usize| tested[i - 1].0 <= DISCOVERY_ALPHA * *i as f64 / n as f64;
    let selected = (1..=n).rfind(is_below);
    tested.truncate(selected.unwrap_or_default());
    let size = |candidate: &Candidate<'t>| candidate.1.difference().abs();
    let mut shown: Vec<Candidate<'t>> = tested.into_iter().map(|(_, one)| one).collect();
    shown.sort_by(|a, b| size(b).total_cmp(&size(a)));
    shown.truncate(SHOWN_MAX);
    let alpha = ALPHA * shown.len().max(1) as f64 / n.max(1) as f64;
    Some((shown, alpha))
}

/// The time of a function in each job of both.
#[derive(Default)]
struct FunctionTimes([Vec<f64>; 2]);

impl FunctionTimes {
    fn mean(&self, side: usize) -> f64 {
        self.0[side].iter().sum::<f64>() / self.0[side].len() as f64
    }

    fn difference(&self) -> f64 {
        self.mean(0) - self.mean(1)
    }

    fn both(&self) -> f64 {
        self.mean(0) + self.mean(1)
    }

    /// Student's, over the jobs, which ran in rounds.
    fn shift(&self, alpha: f64) -> Option<Shift> {
        let [ours, theirs] = &self.0;
        let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
        mean_shift(&differences, alpha)
    }
}

struct Times<'p> {
    jobs: usize,
    functions: BTreeMap<&'p str, FunctionTimes>,
}

impl<'p> Times<'p> {
    /// Of the rounds that both have.
    fn new(profile: &'p Profile, cells: [&CellProfile; 2]) -> Times<'p> {
        let jobs = cells[0].jobs.len().min(cells[1].jobs.len());
        let mut functions: BTreeMap<&'p str, FunctionTimes> = BTreeMap::new();
        for (side, cell) in cells.into_iter().enumerate() {
            for (i, job) in cell.jobs.iter().take(jobs).enumerate() {
                for (index, ns) in &job.self_ns {
                    let times = functions.entry(profile.name(*index)).or_default();
                    times.0[side].resize(jobs, 0.0);
                    times.0[side][i] += ns;
                }
            }
        }
        for times in functions.values_mut() {
            times.0.iter_mut().for_each(|side| side.resize(jobs, 0.0));
        }
        Times { jobs, functions }
    }
}

#[cfg(test)]
mod tests {
    use model::profile::ProfiledJob;
    use model::random::SplitMix64;

    use super::*;
    use crate::analyze;
    use crate::tests::{cell, noisy, run};

    const MS: f64 = 1e6;

    /// Twenty jobs whose functions take these times, which vary as counts of samples do.
    fn profiled(cell: usize, means: &[f64], seed: u64) -> CellProfile {
        let mut random = SplitMix64(seed);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let job = |_| ProfiledJob {
            wall_ns: 100.0 * MS,
            self_ns: (0..)
                .zip(means)
                .map(|(i, ms)| (i, (ms + ms.sqrt() * normal()) * MS))
                .collect(),
        };
        let jobs = (0..20).map(job).collect();
        CellProfile { cell, jobs, stacks: Vec::new() }
    }

    fn why(a: &[f64], b: &[f64], seed: u64) -> Why {
        let mut run = run(vec![cell("a", noisy(1, 0.01)), cell("b", noisy(2, 0.01))]);
        let names = (0..a.len()).map(|i| format!("f{i}")).collect();
        let cells = vec![profiled(0, a, 2 * seed), profiled(1, b, 2 * seed + 1)];
        run.plan.profile =
            Some(Profile { period_ns: 1_000_000, names, cells, ..Profile::default() });
        analyze(&run).why.remove(0)
    }

    #[test]
    fn the_function_that_takes_longer_is_named_first() {
        let found = why(&[30.0, 20.0, 5.0, 40.0], &[30.0, 50.0, 10.0, 40.0], 1);
        let names: Vec<&str> = found.functions.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["f1", "f2"]);
        let first = &found.functions[0];
        assert!(first.low_ns < 30.0 * MS && 30.0 * MS < first.high_ns, "{first:?}");
        assert!((found.total_ns - 35.0 * MS).abs() < 8.0 * MS, "{found:?}");
        assert_eq!((found.candidates, found.jobs), (4, 20));
        assert!((found.level - (1.0 - 0.05 * 2.0 / 4.0)).abs() < 1e-12);
    }

    #[test]
    fn equal_programs_rarely_name_a_function() {
        let means: Vec<f64> = (0..30).map(|i| 1.0 + f64::from(i)).collect();
        let named = (0..200).filter(|seed| !why(&means, &means, 100 + seed).functions.is_empty());
        // At 2 % more than 10 of 200 have a probability below 1 %.
        assert!(named.count() <= 10);
    }

    #[test]
    fn too_few_jobs_have_no_answer() {
        let mut run = run(vec![cell("a", noisy(1, 0.01)), cell("b", noisy(2, 0.01))]);
        let mut cells = vec![profiled(0, &[10.0], 1), profiled(1, &[20.0], 2)];
        cells[1].jobs.truncate(4);
        run.plan.profile =
            Some(Profile { names: vec!["f".to_owned()], cells, ..Profile::default() });
        assert_eq!(analyze(&run).why, []);
    }
}
