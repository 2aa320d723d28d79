//! The smallest slowdown that a check would find in four of five cases, estimated from the noise of
//! past runs on this machine.

use model::metric::WALL;
use model::param::Point;
use model::run::{Cell, OLD_SUFFIX, Pass, Run};
use serde::Serialize;

use super::judge::{ALPHA, Evidence, log_limit};
use super::{Allowed, Check, ContenderMetric, constants, contenders};
use crate::compare::log_ratios;
use crate::facts::{CellFacts, RunFacts};
use crate::family::measure;
use crate::stats;
use crate::values::mean;

/// The minimum sessions and rounds of a check of old and new in the same rounds.
pub const SESSIONS: u32 = 10;
pub const ROUNDS: u32 = 5;

/// What a check would find for a method in a metric. Derived, never stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DetectableEffect {
    pub method: String,
    pub point: Point,
    pub metric: String,
    pub allowed_percent: f64,
    /// The smallest slowdown that is found with a probability of 80 %; none where too little is
    /// known.
    pub found_percent: Option<f64>,
    /// The number of past runs from which it is estimated.
    pub runs: usize,
    /// Why it is not known, or from what it is estimated.
    pub reason: Option<String>,
}

impl DetectableEffect {
    fn new(
        method: &str,
        point: &Point,
        metric: &str,
        percent: f64,
        runs: usize,
    ) -> DetectableEffect {
        DetectableEffect {
            method: method.to_owned(),
            point: point.clone(),
            metric: metric.to_owned(),
            allowed_percent: percent,
            found_percent: None,
            runs,
            reason: None,
        }
    }

    /// A shift in logs, beyond what is allowed.
    fn beyond(&mut self, shift: Option<f64>) {
        let limit = log_limit(&self.metric, self.allowed_percent);
        self.found_percent = shift.map(|shift| 100.0 * (limit + shift).exp_m1());
    }

    fn exact(&mut self) {
        self.found_percent = Some(self.allowed_percent);
        self.reason =
            Some("the same count in all samples: any more than is allowed is found".to_owned());
    }
}

/// The estimate for a check against a baseline; `now` is empty. `before` are the runs that show how
/// much runs differ.
pub fn detectable_effects(request: &Check<'_>) -> Vec<DetectableEffect> {
    let facts = RunFacts::new(request.baseline);
    let before: &[RunFacts<'_>] = &request.before.iter().map(RunFacts::new).collect::<Vec<_>>();
    let contenders = contenders(&facts, &[], request.absolute);
    let cells: Vec<&CellFacts<'_>> =
        contenders.iter().map(|contender| contender.cell.baseline).collect();
    let time = measure(&cells);
    let alpha = ALPHA / (contenders.len() * request.allowed.len()).max(1) as f64;
    let lines = contenders
        .iter()
        .flat_map(|contender| request.allowed.iter().map(move |allowed| (contender, allowed)));
    lines
        .map(|(contender, allowed)| {
            let line = ContenderMetric { request, before, contender, allowed, time, alpha };
            let baseline = contender.cell.baseline;
            let metric = line.metric();
            let Cell { method, point, .. } = baseline.stored;
            let found_in = |run: &&RunFacts<'_>| {
                run.find(method, point).is_some_and(|cell| cell.has(metric))
            };
            let runs = before.iter().filter(found_in).count();
            let mut found = DetectableEffect::new(method, point, metric, allowed.percent, runs);
            if constants(metric, [&[baseline]; 2]).is_some() {
                found.exact();
                return found;
            }
            match line.sessions(metric, line.is_relative(metric)) {
                Ok(Evidence::Apart { before, run_sd: Some(run_sd), .. }) => {
                    let again = std::slice::from_ref(&before);
                    let shift = stats::between_single(&before, again, Some(run_sd), alpha);
                    let half = shift.and_then(|shift| shift.interval).map(|(low, high)| (high - low) / 2.0);
                    found.beyond(half.and_then(|half| stats::shift_found_from_baseline(half, run_sd)));
                    if found.found_percent.is_none() {
                        found.reason = Some("the baseline has too few sessions: measure it with --sessions 5 or more".to_owned());
                    }
                }
                Ok(_) => found.reason = Some(too_few(runs)),
                Err(reason) => found.reason = Some(reason),
            }
            found
        })
        .collect()
}

fn too_few(runs: usize) -> String {
    let needed = stats::RUNS_A_SIDE;
    format!(
        "too few runs: the store has {runs} of this job on this machine, and {needed} are needed \
         to know how much runs differ; measure {} more",
        needed.saturating_sub(runs)
    )
}

/// The estimate for a check of old and new in `sessions` sessions of `rounds` rounds. `past` are
/// runs of the job on this machine, whether of such a check or not; `cells` are the methods and
/// points that it would have.
pub fn detectable_effects_of_pairs(
    past: &[Run],
    cells: &[(String, Point)],
    allowed: &[Allowed],
    (sessions, rounds): (u32, u32),
) -> Vec<DetectableEffect> {
    let alpha = ALPHA / (cells.len() * allowed.len()).max(1) as f64;
    let factor = stats::shift_found_by_each(sessions as usize, alpha, 2);
    let past: Vec<RunFacts<'_>> = past.iter().map(RunFacts::new).collect();
    let measured = past
        .iter()
        .flat_map(|run| cells.iter().filter_map(move |(method, point)| run.find(method, point)));
    let time = measure(&measured.collect::<Vec<&CellFacts<'_>>>());
    let each = cells.iter().flat_map(|cell| allowed.iter().map(move |allowed| (cell, allowed)));
    each.map(|((method, point), allowed)| {
        let metric = if allowed.metric == WALL { time } else { &allowed.metric };
        let of_run = |run: &RunFacts<'_>| RatioVariance::from_run(run, method, point, metric);
        let known: Vec<RatioVariance> = past.iter().filter_map(of_run).collect();
        let of_pairs: Vec<&RatioVariance> = known.iter().filter(|noise| noise.is_of_pair).collect();
        // The difference between old and new is estimated more accurately from such a check than
        // from other methods.
        let used: Vec<&RatioVariance> =
            if of_pairs.is_empty() { known.iter().collect() } else { of_pairs };
        let mut found = DetectableEffect::new(method, point, metric, allowed.percent, used.len());
        let counted: Vec<&CellFacts<'_>> =
            past.iter().filter_map(|run| run.find(method, point)).collect();
        if constants(metric, [&counted; 2]).is_some() {
            found.runs = counted.len();
            found.exact();
        } else if used.is_empty() {
            found.reason = Some(NOTHING_KNOWN.to_owned());
        } else {
            let variance = used.iter().map(|noise| noise.of_session(rounds)).collect::<Vec<f64>>();
            found.beyond(factor.map(|factor| factor * mean(&variance).sqrt()));
            let is_rough = !used[0].is_of_pair;
            found.reason = is_rough.then(|| {
                "roughly: from its rounds beside another method; a first check --against gives a better estimate".to_owned()
            });
        }
        found
    })
    .collect()
}

const NOTHING_KNOWN: &str = "too few runs: the store has none of this job on this machine in which it was measured \
                             beside another method in 5 sessions or more; a first check --against tells it";

/// Variances of the log of a ratio in the same rounds.
struct RatioVariance {
    session: f64,
    round: f64,
    is_of_pair: bool,
}

impl RatioVariance {
    fn from_run(run: &RunFacts<'_>, method: &str, point: &Point, metric: &str) -> Option<Self> {
        let RunFacts { run: Run { points, plan, .. }, cells } = run;
        let cell = run.find(method, point)?;
        if cell.pass_of(metric) == Pass::Counting {
            return None;
        }
        let old = format!("{method}{OLD_SUFFIX}");
        let at_point = |other: &&CellFacts<'_>| {
            let both = [cell, *other].map(|cell| &cell.stored.point);
            points.iter().any(|point| both.iter().all(|own| own.is_part_of(point)))
        };
        let is_other = |other: &&CellFacts<'_>| other.stored.method != *method;
        let others = || cells.iter().filter(is_other).filter(at_point);
        let pair = others().find(|other| other.stored.method == old);
        let other = pair.or_else(|| others().next())?;
        let sessions = log_ratios([(cell, metric), (other, metric)]).ok()?;
        let sessions: Vec<Vec<f64>> = sessions.into_iter().map(|(_, logs)| logs).collect();
        let is_of_pair = pair.is_some();
        if sessions.iter().all(|rounds| rounds.len() == 1) {
            // Each round is a session, and will be one in the check, which then has as many
            // sessions as rounds.
            let enough = sessions.len() >= stats::RUNS_A_SIDE;
            let all = variance(&sessions.concat());
            // Sessions of several rounds that had time for one differ as processes do.
            let is_of_processes = plan.rounds > 1;
            let (session, round) = if is_of_processes { (all, 0.0) } else { (0.0, all) };
            return enough.then_some(RatioVariance { session, round, is_of_pair });
        }
        let whole: Vec<&Vec<f64>> = sessions.iter().filter(|rounds| rounds.len() > 1).collect();
        if whole.len() < stats::RUNS_A_SIDE {
            return None;
        }
        let means: Vec<f64> = whole.iter().map(|rounds| mean(rounds)).collect();
        let within: Vec<f64> = whole.iter().map(|rounds| variance(rounds)).collect();
        let rounds: Vec<f64> = whole.iter().map(|rounds| rounds.len() as f64).collect();
        let round = mean(&within);
        let session = (variance(&means) - round / mean(&rounds)).max(0.0);
        Some(RatioVariance { session, round, is_of_pair })
    }

    /// The variance of the mean of this number of rounds of a session.
    fn of_session(&self, rounds: u32) -> f64 {
        self.session + self.round / f64::from(rounds)
    }
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, point, run, with};
    use model::run::Sample;

    /// Five sessions of two rounds of `new` beside `other`: the logs of their ratios are 1, 2, 3, 4
    /// and 5 on average, and 0.1 more and less in the rounds.
    fn measured(other: &str) -> Run {
        let logs = (1..=5).flat_map(|level| [f64::from(level) - 0.1, f64::from(level) + 0.1]);
        let mut cells = vec![cell("new", logs.map(f64::exp)), cell(other, [1.0; 10])];
        for cell in &mut cells {
            for (i, sample) in (0..).zip(&mut cell.samples) {
                (sample.session, sample.round) = (i / 2, i % 2);
            }
        }
        run(cells)
    }

    fn noise(run: &Run, at: &Point) -> Option<RatioVariance> {
        RatioVariance::from_run(&RunFacts::new(run), "new", at, WALL)
    }

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-9, "{got}, not {expected}");
    }

    #[test]
    fn the_noise_of_sessions_is_separated_from_that_of_rounds() {
        // Of 1 to 5 the variance is 2.5; of the two rounds of a session it is 0.02.
        let noise = noise(&measured("other"), &Point::default()).unwrap();
        near(noise.round, 0.02);
        near(noise.session, 2.5 - 0.02 / 2.0);
        assert!(!noise.is_of_pair);
        near(noise.of_session(4), 2.49 + 0.005);
    }

    #[test]
    fn rounds_that_are_sessions_are_the_noise_of_rounds_unless_more_were_planned() {
        let mut past = measured("other");
        past.cells.iter_mut().for_each(|cell| {
            for (i, sample) in (0..).zip(&mut cell.samples) {
                (sample.session, sample.round) = (i, 0);
            }
        });
        // Twice the sum of squares around 3, and ten times the square of 0.1.
        let all = (20.0 + 0.1) / 9.0;
        for (rounds, expected) in [(1, (0.0, all)), (5, (all, 0.0))] {
            past.plan.rounds = rounds;
            let noise = noise(&past, &Point::default()).unwrap();
            near(noise.session, expected.0);
            near(noise.round, expected.1);
        }
    }

    #[test]
    fn a_check_of_pairs_finds_what_is_beyond_the_noise_and_the_allowance() {
        let cells = [("new".to_owned(), Point::default())];
        let detectable = |past: &[Run], percent: f64| {
            let allowed = [Allowed { metric: WALL.to_owned(), percent }];
            detectable_effects_of_pairs(past, &cells, &allowed, (10, 4)).remove(0)
        };
        let factor = stats::shift_found_by_each(10, ALPHA, 2).unwrap();
        let shift = factor * 2.495f64.sqrt();
        let found = detectable(&[measured("other")], 0.0);
        near(found.found_percent.unwrap() / (100.0 * shift.exp_m1()), 1.0);
        assert!(found.reason.unwrap().starts_with("roughly"));
        let found = detectable(&[measured("other"), measured(&format!("new{OLD_SUFFIX}"))], 10.0);
        near(found.found_percent.unwrap() / (100.0 * (1.1f64.ln() + shift).exp_m1()), 1.0);
        assert_eq!((found.runs, found.reason), (1, None));
        let unknown = detectable(&[], 0.0);
        assert_eq!((unknown.found_percent, unknown.reason.as_deref()), (None, Some(NOTHING_KNOWN)));
    }

    #[test]
    fn a_session_of_one_round_is_not_whole_and_the_cell_is_that_of_the_method_and_point() {
        let mut past = measured("other");
        for cell in &mut past.cells {
            let sample = Sample { session: 5, round: 0, ..cell.samples[0].clone() };
            cell.push(sample, &[(WALL, 1e9)]);
        }
        past.cells.reverse();
        let found = noise(&past, &Point::default()).unwrap();
        near(found.round, 0.02);
        near(found.session, 2.49);
        // Methods of different points are not beside each other.
        past.points = [1, 2].map(|size| point(&[("size", size)])).to_vec();
        for (cell, at) in past.cells.iter_mut().zip(&past.points) {
            cell.point = at.clone();
        }
        assert!(noise(&past, &past.points[1]).is_none());
    }

    #[test]
    fn the_lines_of_a_check_of_pairs_share_the_level() {
        let cells = [("new".to_owned(), Point::default())];
        let allowed =
            [WALL, "cpu_ns"].map(|metric| Allowed { metric: metric.to_owned(), percent: 0.0 });
        let found = detectable_effects_of_pairs(&[measured("other")], &cells, &allowed, (10, 4));
        let factor = stats::shift_found_by_each(10, ALPHA / 2.0, 2).unwrap();
        let expected = 100.0 * (factor * 2.495f64.sqrt()).exp_m1();
        for (line, metric) in found.iter().zip([WALL, "cpu_ns"]) {
            assert_eq!(line.metric, metric);
            near(line.found_percent.unwrap() / expected, 1.0);
        }
        assert_eq!(found.len(), 2);
    }

    /// A run of two methods, each with these logs, one in a session.
    fn levels(logs: &[f64]) -> Run {
        let mut cells = ["a", "b"].map(|name| cell(name, logs.iter().map(|log| log.exp())));
        for cell in &mut cells {
            for (i, sample) in (0..).zip(&mut cell.samples) {
                (sample.session, sample.round) = (i, 0);
            }
        }
        run(cells.to_vec())
    }

    #[test]
    fn a_check_against_a_baseline_finds_what_is_beyond_its_interval_and_what_runs_differ_by() {
        let own = [1.0, 2.0, 3.0, 4.0, 5.0];
        let mut baseline = levels(&own);
        baseline.cells[0] = with(baseline.cells[0].clone(), "syscalls", |_| 7.0);
        let past: Vec<Run> = [0.0, 1.0, 0.0, 1.0, 0.0].map(|level| levels(&[level])).to_vec();
        let allowed = [WALL, "cpu_ns", "syscalls"]
            .map(|metric| Allowed { metric: metric.to_owned(), percent: 5.0 });
        let of = |before: &[Run]| {
            let (baseline, allowed) = (&baseline, &allowed);
            detectable_effects(&Check { baseline, now: &[], before, allowed, absolute: true })
        };
        let found = of(&past);
        assert_eq!(found.len(), 6);
        // The level is that of six lines, and the interval of the baseline compared with itself is
        // around 0.
        let sd = stats::neighbour_sd(&[0.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
        let same = stats::between_single(&own, &[own.to_vec()], Some(sd), ALPHA / 6.0).unwrap();
        let shift = stats::shift_found_from_baseline(same.interval.unwrap().1, sd).unwrap();
        let expected = 100.0 * (1.05f64.ln() + shift).exp_m1();
        for line in [0, 1, 3, 4] {
            near(found[line].found_percent.unwrap() / expected, 1.0);
            assert_eq!((found[line].runs, &found[line].reason), (5, &None));
        }
        assert_eq!(found[2].found_percent, Some(5.0));
        let reason = "the same count in all samples: any more than is allowed is found";
        assert_eq!(found[2].reason.as_deref(), Some(reason));
        assert_eq!(found[5].reason.as_deref(), Some("syscalls was not measured"));
        let reason = "too few runs: the store has 2 of this job on this machine, and 5 are needed \
                      to know how much runs differ; measure 3 more";
        assert_eq!(of(&past[..2])[0].reason.as_deref(), Some(reason));
    }
}
