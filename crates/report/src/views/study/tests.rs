//! Synthetic runs drive each claim to each verdict.

use analysis::{Claimed, analyze};
use model::param::Point;
use model::run::{CacheState, Cell, Plan, SCHEMA, Sample};

use super::*;
use crate::published::{Claim, Test, studies, study};

const SESSIONS: u32 = 10;
const ROUNDS: u32 = 4;

/// An empty run of an experiment.
fn run_of(experiment: &str) -> Run {
    Run {
        schema: SCHEMA,
        id: "1".to_owned(),
        experiment: experiment.to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        complete: true,
        plan: Plan { sessions: SESSIONS, cache: CacheState::Warm, ..Plan::default() },
        ..Run::default()
    }
}

/// Which methods are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RowMethods {
    Own,
    InTheirPlace,
}

/// The runs of a study, of one cell for each method at each row's values.
struct Synthetic {
    study: &'static Study,
    kind: RowMethods,
    runs: Vec<Run>,
    /// The mean of each metric of a cell.
    known: Vec<(usize, usize, String, f64)>,
}

impl Synthetic {
    fn new(study: &'static Study, kind: RowMethods) -> Synthetic {
        let runs = study.parts.iter().map(|part| run_of(&part.experiment)).collect();
        Synthetic { study, kind, runs, known: Vec::new() }
    }

    /// The cell of a row; none where no method of this kind does it.
    fn cell(&mut self, key: &str) -> Option<(usize, usize)> {
        let row = self.study.row(key)?;
        let method = match self.kind {
            RowMethods::Own => row.method.as_ref()?,
            RowMethods::InTheirPlace => row.stand_in.as_ref().or(row.method.as_ref())?,
        };
        let experiment = self.study.experiment(row);
        let at = self.runs.iter().position(|run| run.experiment == experiment)?;
        let mut point = Point::default();
        point.set("size", 128_u64 << 20);
        for (name, value) in &row.at {
            let value = match value {
                ParamValue::Text(word) if word == FIRST => "/a".into(),
                ParamValue::Text(word) if word == SECOND => "/b".into(),
                value => value.clone(),
            };
            point.set(name.clone(), value);
        }
        let run = &mut self.runs[at];
        let same = |cell: &Cell| cell.method == *method && cell.point == point;
        if let Some(found) = run.cells.iter().position(same) {
            return Some((at, found));
        }
        run.points.push(point.clone());
        // The first directory is the first one of the run.
        run.points.sort_by_key(|point| point.text("dir").unwrap_or_default().to_owned());
        run.cells.push(Cell::new(method.as_str(), point));
        Some((at, run.cells.len() - 1))
    }

    fn mean(&self, (run, cell): (usize, usize), metric: &str) -> Option<f64> {
        let same = |known: &&(usize, usize, String, f64)| {
            (known.0, known.1) == (run, cell) && known.2 == metric
        };
        self.known.iter().find(same).map(|known| known.3)
    }

    fn set(&mut self, (run, cell): (usize, usize), metric: &str, mean: f64) {
        self.known.push((run, cell, metric.to_owned(), mean));
    }

    /// Makes the ratio of the test this one, unless its cells have values already. Returns whether
    /// this kind has methods for it.
    fn make(&mut self, test: &Test, ratio: f64) -> bool {
        let row = |key: &str| self.study.row(key).unwrap();
        let of_metric = row(&test.of).metric(&test.metric).to_owned();
        let Some(of) = self.cell(&test.of) else { return false };
        let (to, to_metric) = match &test.to {
            None => {
                let size = f64::from(128 << 20);
                let basis = if test.to_param.is_some() { size } else { 1.0 };
                if self.mean(of, &of_metric).is_none() {
                    self.set(of, &of_metric, basis * ratio);
                }
                return true;
            }
            Some(to) => {
                let metric = test.to_metric.as_ref().unwrap_or(&test.metric);
                let metric = self.study.row(to).unwrap().metric(metric).to_owned();
                let Some(to) = self.cell(to) else { return false };
                (to, metric)
            }
        };
        match (self.mean(of, &of_metric), self.mean(to, &to_metric)) {
            (None, None) => {
                self.set(of, &of_metric, 1e6 * ratio);
                self.set(to, &to_metric, 1e6);
            }
            (Some(known), None) => self.set(to, &to_metric, known / ratio),
            (None, Some(known)) => self.set(of, &of_metric, known * ratio),
            (Some(_), Some(_)) => {}
        }
        true
    }

    /// The runs with samples, which vary by this much but for what is 0.
    fn measured(mut self, spread: f64) -> Vec<Run> {
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (spread * ((state >> 40) as f64 / f64::from(1 << 24) - 0.5)).exp()
        };
        for (at, run) in self.runs.iter_mut().enumerate() {
            for (n, cell) in run.cells.iter_mut().enumerate() {
                let own = self.known.iter().filter(|known| (known.0, known.1) == (at, n));
                let own: Vec<_> = own.collect();
                for i in 0..SESSIONS * ROUNDS {
                    let values = own.iter().map(|known| {
                        // What is open is 0 in every other round.
                        let mean = if known.3 < 0.0 { f64::from(i % 2) } else { known.3 };
                        (known.2.as_str(), mean * noise())
                    });
                    let values: Vec<(&str, f64)> = values.collect();
                    let sample = Sample {
                        session: i / ROUNDS,
                        round: i % ROUNDS,
                        ops: 1,
                        bytes: 1,
                        ..Sample::default()
                    };
                    cell.push(sample, &values);
                }
            }
        }
        self.runs
    }
}

/// A ratio inside of the claimed range, or outside of it.
fn ratio(test: &Test, verdict: Claimed) -> f64 {
    let [min, max] = test.range();
    let has_max = max.is_finite();
    match verdict {
        // No count is divided by 0: it is above it in half of the rounds.
        Claimed::Undecided if max == 0.0 => -1.0,
        Claimed::Refuted if max == 0.0 => 5.0,
        Claimed::Refuted if has_max => 1.5 * max,
        Claimed::Refuted => min / 1.5,
        _ if !has_max => 1.5 * min,
        _ if min == 0.0 => 0.7 * max,
        _ => (min * max).sqrt(),
    }
}

/// The runs that give the claim this verdict; none where this kind has no methods for it.
fn driven(
    study: &'static Study,
    claim: &Claim,
    kind: RowMethods,
    verdict: Claimed,
) -> Option<Vec<Run>> {
    let mut synthetic = Synthetic::new(study, kind);
    let tests = match (&claim.stand_in_tests, kind) {
        (Some(tests), RowMethods::InTheirPlace) => tests,
        _ => &claim.tests,
    };
    let mut all = true;
    for test in tests {
        all &= synthetic.make(test, ratio(test, verdict));
    }
    // Samples that differ by up to a factor of 400 decide nothing.
    let spread = if verdict == Claimed::Undecided { 6.0 } else { 0.02 };
    (all && !tests.is_empty()).then(|| synthetic.measured(spread))
}

fn judged(study: &'static Study, runs: &[Run]) -> Vec<(String, Option<Claimed>, Option<Claimed>)> {
    let analyses: Vec<Analysis> = runs.iter().map(analyze).collect();
    let (absent, runs) = (BTreeMap::new(), runs.iter().zip(&analyses).collect());
    let report = StudyReport { study, published: &[], runs, absent: &absent };
    let verdict = |outcome: &ClaimOutcome<'_>| match outcome {
        ClaimOutcome::NotHere(reason) => {
            assert!(!reason.is_empty());
            None
        }
        ClaimOutcome::Judged { verdict, .. } => Some(*verdict),
    };
    let judgements = report.judgements();
    let of = |judgement: &JudgedClaim<'_>| {
        let other = judgement.in_their_place.as_ref().and_then(verdict);
        (judgement.claim.id.clone(), verdict(&judgement.own), other)
    };
    judgements.iter().map(of).collect()
}

#[test]
fn each_claim_can_have_each_verdict() {
    let mut driven_to = 0;
    for study in studies() {
        for claim in &study.claims {
            for kind in [RowMethods::Own, RowMethods::InTheirPlace] {
                for verdict in [Claimed::Confirmed, Claimed::Refuted, Claimed::Undecided] {
                    let Some(runs) = driven(study, claim, kind, verdict) else { continue };
                    let judged = judged(study, &runs);
                    let (_, own, other) = judged.iter().find(|(id, ..)| *id == claim.id).unwrap();
                    let found = own.or(*other);
                    assert_eq!(found, Some(verdict), "{} {kind:?} {own:?} {other:?}", claim.id);
                    driven_to += 1;
                }
            }
        }
    }
    // Three verdicts of each claim that can be tested, and of most by two kinds of methods.
    let testable = studies().iter().flat_map(|study| &study.claims);
    let testable = testable.filter(|claim| claim.not_here.is_empty()).count();
    assert!(driven_to >= 3 * testable, "{driven_to} of {testable} claims");
}

#[test]
fn without_a_run_nothing_is_testable_and_the_reason_is_given() {
    for study in studies() {
        for (id, own, other) in judged(study, &[]) {
            assert_eq!((own, other), (None, None), "{id}");
        }
    }
}

#[test]
fn a_claim_is_tested_by_the_author_s_methods_if_they_were_measured() {
    let study = study("urlsession").unwrap();
    let claim = study.claims.iter().find(|claim| claim.id == "U3").unwrap();
    let own = driven(study, claim, RowMethods::Own, Claimed::Confirmed).unwrap();
    let in_their_place = driven(study, claim, RowMethods::InTheirPlace, Claimed::Refuted).unwrap();
    let mut both = own[0].clone();
    both.cells.extend(in_their_place[0].cells.clone());
    let of = |runs: &[Run]| judged(study, runs).into_iter().find(|(id, ..)| id == "U3").unwrap();
    assert_eq!(of(&[both]).1, Some(Claimed::Confirmed));
    assert_eq!(of(&in_their_place), ("U3".to_owned(), None, Some(Claimed::Refuted)));
}

#[test]
fn rows_of_other_quantities_have_no_ratio_to_each_other() {
    let study = study("fleece").unwrap();
    let published = [crate::published::find("fleece").unwrap()];
    let absent = BTreeMap::new();
    let report = StudyReport { study, published: &published, runs: Vec::new(), absent: &absent };
    let ratio = |key: &str| {
        let blocks = report.blocks();
        let block = blocks.iter().find(|block| block.key == key).unwrap();
        block.lines[0].ratio.unwrap()
    };
    let check = |key: &str, expected: f64| {
        let got = ratio(key);
        assert!((got - expected).abs() < 1e-9, "{key}: {got}");
    };
    check("size-fleece", 911_920.0 / 1_303_317.0);
    check("convert", 1.0);
    check("parse-fleece", 750.0 / 17_000.0);
    check("lookup-json", 1.0);
}

/// The ratio of the line that a study has for a row.
fn ratio_of(study: &'static Study, runs: &[Run], key: &str) -> Option<f64> {
    let analyses: Vec<Analysis> = runs.iter().map(analyze).collect();
    let (absent, runs) = (BTreeMap::new(), runs.iter().zip(&analyses).collect());
    let report = StudyReport { study, published: &[], runs, absent: &absent };
    let blocks = report.blocks();
    blocks.iter().find(|block| block.key == key).unwrap().lines[0].ratio
}

#[test]
fn the_ratio_is_of_what_the_author_measured() {
    let check = |name: &str, id: &str, kind: RowMethods, key: &str, expected: f64| {
        let study = study(name).unwrap();
        let claim = study.claims.iter().find(|claim| claim.id == id).unwrap();
        let runs = driven(study, claim, kind, Claimed::Confirmed).unwrap();
        let found = ratio_of(study, &runs, key).unwrap_or_default();
        assert!((found / expected - 1.0).abs() < 0.05, "{id}: {found}, not {expected}");
    };
    // `clock()` is CPU time.
    check("sampling", "S1", RowMethods::InTheirPlace, "binary-second-10", 0.5);
    // Passes over sets of different sizes have no common time.
    check("latency", "L3", RowMethods::Own, "fourth-large", 1.0 / 3.0);
}

#[test]
fn one_percent_more_time_is_no_more_time() {
    let study = study("latency").unwrap();
    let claim = study.claims.iter().find(|claim| claim.id == "L2").unwrap();
    let verdict = |ratio: f64| {
        let mut synthetic = Synthetic::new(study, RowMethods::Own);
        assert!(synthetic.make(&claim.tests[0], ratio));
        let judged = judged(study, &synthetic.measured(0.002));
        judged.into_iter().find(|(id, ..)| id == "L2").unwrap().1
    };
    assert_eq!(verdict(1.01), Some(Claimed::Confirmed));
    assert_eq!(verdict(1.1), Some(Claimed::Refuted));
}

#[test]
fn what_a_run_did_more_or_less_of_is_said() {
    let study = study("bytestring").unwrap();
    let mut run = run_of("copying");
    let mut point = Point::default();
    point.set("size", 8_u64 << 20);
    point.set("buffer", 4096_u64);
    run.points.push(point);
    let (analysis, absent) = (analyze(&run), BTreeMap::new());
    let runs = vec![(&run, &analysis)];
    let report = StudyReport { study, published: &[], runs, absent: &absent };
    let expected = "size: 8 MiB here, 512 MB there; times, counts and memory are not those of the \
                    same work";
    assert_eq!(report.other_work(), [expected]);
    assert!(report.differs().iter().any(|text| text.starts_with("replicates: 3 runs")));
}
