//! Synthetic runs drive each claim to each verdict.

use analysis::{Claimed, analyze};
use model::param::Point;
use model::run::{CacheState, Cell, Plan, SCHEMA, Sample};

use super::*;
use crate::document::Document;
use crate::published::{Claim, Test, studies, study};
use crate::text::PageLayout;

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
    /// The cells that have an outlier.
    outlying: Vec<(usize, usize)>,
}

impl Synthetic {
    fn new(study: &'static Study, kind: RowMethods) -> Synthetic {
        let runs = study.parts.iter().map(|part| run_of(&part.experiment)).collect();
        Synthetic { study, kind, runs, known: Vec::new(), outlying: Vec::new() }
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
        let size = f64::from(128 << 20);
        let basis = if test.to_param.is_some() { size } else { 1.0 };
        if test.relation == Relation::Outliers {
            self.set(of, &of_metric, 1e6);
            self.outlying.extend((ratio >= test.factor).then_some(of));
            return true;
        }
        if let Some(less) = &test.less {
            return self.make_difference(of, less, &of_metric, ratio * basis);
        }
        let (to, to_metric) = match &test.to {
            None => {
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

    /// Makes the difference of the cell to that of this row.
    fn make_difference(
        &mut self,
        of: (usize, usize),
        less: &str,
        metric: &str,
        difference: f64,
    ) -> bool {
        let Some(less) = self.cell(less) else { return false };
        match (self.mean(of, metric), self.mean(less, metric)) {
            (None, None) => {
                self.set(of, metric, 4e8 + difference);
                self.set(less, metric, 4e8);
            }
            (Some(known), None) => self.set(less, metric, known - difference),
            (None, Some(known)) => self.set(of, metric, known + difference),
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
                        let is_outlier = i == 0 && self.outlying.contains(&(at, n));
                        let mean = if is_outlier { 10.0 * mean } else { mean };
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
        _ if test.relation == Relation::Outliers => f64::from(verdict == Claimed::Confirmed),
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
    // That there is no outlier refutes nothing.
    let counts_outliers = tests.iter().any(|test| test.relation == Relation::Outliers);
    all &= !(counts_outliers && verdict == Claimed::Refuted);
    // Samples that differ by up to a factor of 400 decide nothing.
    let is_spread = verdict == Claimed::Undecided && !counts_outliers;
    let spread = if is_spread { 6.0 } else { 0.02 };
    (all && !tests.is_empty()).then(|| synthetic.measured(spread))
}

/// The id of each claim, with its verdict by the author's methods, and by those in their place.
type Verdicts = Vec<(String, Option<ClaimVerdict>, Option<ClaimVerdict>)>;

fn judged(study: &'static Study, runs: &[Run]) -> Verdicts {
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
                for (verdict, expected) in [
                    (Claimed::Confirmed, ClaimVerdict::Confirmed),
                    (Claimed::Refuted, ClaimVerdict::Refuted),
                    (Claimed::Undecided, ClaimVerdict::Undecided),
                ] {
                    let Some(runs) = driven(study, claim, kind, verdict) else { continue };
                    let expected = match expected {
                        ClaimVerdict::Confirmed if !claim.untested.is_empty() => {
                            ClaimVerdict::ConfirmedInPart
                        }
                        expected => expected,
                    };
                    let judged = judged(study, &runs);
                    let (_, own, other) = judged.iter().find(|(id, ..)| *id == claim.id).unwrap();
                    let found = own.or(*other);
                    assert_eq!(found, Some(expected), "{} {kind:?} {own:?} {other:?}", claim.id);
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
fn a_claim_is_confirmed_in_part_where_some_of_its_tests_are_not_possible() {
    let study = study("latency").unwrap();
    let claim = study.claims.iter().find(|claim| claim.id == "L4").unwrap();
    let verdict = |ratio: f64| {
        let mut synthetic = Synthetic::new(study, RowMethods::Own);
        assert!(synthetic.make(&claim.tests[0], ratio));
        let judged = judged(study, &synthetic.measured(0.02));
        judged.into_iter().find(|(id, ..)| id == "L4").unwrap().1
    };
    assert_eq!(verdict(1.7), Some(ClaimVerdict::ConfirmedInPart));
    assert_eq!(verdict(0.5), Some(ClaimVerdict::Refuted));
}

#[test]
fn a_claim_is_confirmed_in_part_where_no_test_is_about_a_part_of_it() {
    let study = study("urlsession").unwrap();
    let claim = study.claims.iter().find(|claim| claim.id == "U9").unwrap();
    let runs = driven(study, claim, RowMethods::Own, Claimed::Confirmed).unwrap();
    let analyses: Vec<Analysis> = runs.iter().map(analyze).collect();
    let (absent, runs) = (BTreeMap::new(), runs.iter().zip(&analyses).collect());
    let report = StudyReport { study, published: &[], runs, absent: &absent };
    let judgements = report.judgements();
    let judged = judgements.iter().find(|judged| judged.claim.id == "U9").unwrap();
    let ClaimOutcome::Judged { verdict, missing, .. } = &judged.own else { panic!("not here") };
    assert_eq!(*verdict, ClaimVerdict::ConfirmedInPart);
    assert!(missing[0].starts_with("whether URLSession maps"), "{missing:?}");
}

#[test]
fn what_has_no_interval_makes_those_of_others_no_wider() {
    let study = study("sampling").unwrap();
    let claim = study.claims.iter().find(|claim| claim.id == "S3").unwrap();
    let mut synthetic = Synthetic::new(study, RowMethods::Own);
    for test in &claim.tests {
        assert!(synthetic.make(test, 1.0));
    }
    let runs = synthetic.measured(0.5);
    let (analysis, absent) = (analyze(&runs[0]), BTreeMap::new());
    let report =
        StudyReport { study, published: &[], runs: vec![(&runs[0], &analysis)], absent: &absent };
    let judgements = report.judgements();
    let tests = |id: &str| {
        let judged = judgements.iter().find(|judged| judged.claim.id == id).unwrap();
        let ClaimOutcome::Judged { tests, .. } = &judged.own else { panic!("not here: {id}") };
        tests
    };
    assert_eq!([tests("S3").len(), tests("S4").len()], [4, 4]);
    let cell = |key: &str| {
        let (row, _, found) = report.cell_of(key, super::RowMethods::Own).unwrap();
        CellMetric { cell: found.cell, metric: row.metric("cpu_ns") }
    };
    // Four intervals; the four numbers of outliers have none.
    for tested in tests("S3") {
        let [of, to] = [&tested.test.of, tested.test.to.as_ref().unwrap()].map(|key| cell(key));
        let (_, expected) =
            judge_claim(&runs[0], of, Basis::Of(to), tested.test.range(), 0.05 / 4.0);
        assert_eq!((tested.found.low, tested.found.high), (expected.low, expected.high));
        assert!(expected.low < expected.high, "{expected:?}");
    }
}

#[test]
fn a_test_beside_the_others_decides_nothing() {
    let study = study("bytestring").unwrap();
    let claim = study.claims.iter().find(|claim| claim.id == "B1").unwrap();
    let mut synthetic = Synthetic::new(study, RowMethods::Own);
    // 1.3 times the cat of 2007, and ten times that of today.
    for (test, ratio) in claim.tests.iter().zip([1.3, 10.0]) {
        assert!(synthetic.make(test, ratio));
    }
    let judged = judged(study, &synthetic.measured(0.02));
    let found = judged.into_iter().find(|(id, ..)| id == "B1").unwrap();
    assert_eq!(found.1, Some(ClaimVerdict::Confirmed));
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
    assert_eq!(of(&[both]).1, Some(ClaimVerdict::Confirmed));
    assert_eq!(of(&in_their_place), ("U3".to_owned(), None, Some(ClaimVerdict::Refuted)));
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
    let check = |study: &'static Study, runs: &[Run], key: &str, expected: f64| {
        let found = ratio_of(study, runs, key).unwrap_or_default();
        assert!((found / expected - 1.0).abs() < 0.05, "{key}: {found}, not {expected}");
    };
    // `clock()` is CPU time.
    let sampling = study("sampling").unwrap();
    let mut synthetic = Synthetic::new(sampling, RowMethods::Own);
    for (key, mean) in [("binary-10", 2e6), ("binary-second-10", 1e6)] {
        let cell = synthetic.cell(key).unwrap();
        synthetic.set(cell, "cpu_ns", mean);
    }
    check(sampling, &synthetic.measured(0.02), "binary-second-10", 0.5);
    // Passes over sets of different sizes have no common time.
    let latency = study("latency").unwrap();
    let claim = latency.claims.iter().find(|claim| claim.id == "L3").unwrap();
    let runs = driven(latency, claim, RowMethods::Own, Claimed::Confirmed).unwrap();
    check(latency, &runs, "fourth-128m", 1.0 / 1.8);
}

#[test]
fn a_row_names_its_directory_and_file_system() {
    let study = study("sampling").unwrap();
    let mut synthetic = Synthetic::new(study, RowMethods::Own);
    for key in ["text-10", "text-second-10"] {
        let cell = synthetic.cell(key).unwrap();
        synthetic.set(cell, "cpu_ns", 1e6);
    }
    let mut runs = synthetic.measured(0.02);
    for (fact, kind) in [("data_file_system", "ext4"), ("data_2_file_system", "tmpfs")] {
        runs[0].environment.facts.insert(fact.to_owned(), kind.into());
    }
    let analyses: Vec<Analysis> = runs.iter().map(analyze).collect();
    let (absent, runs) = (BTreeMap::new(), runs.iter().zip(&analyses).collect());
    let report = StudyReport { study, published: &[], runs, absent: &absent };
    let labels: Vec<String> = report.blocks().into_iter().map(|block| block.label).collect();
    for label in ["10 lines, in /a (ext4)", "10 lines, in /b (tmpfs)"] {
        assert!(labels.iter().any(|known| known == label), "{labels:?}");
    }
}

#[test]
fn the_counts_of_a_chunk_are_those_of_an_operation_by_its_chunks() {
    let study = study("bytestring").unwrap();
    let mut run = run_of("copying");
    let mut point = Point::default();
    point.set("size", 536_870_912_u64);
    point.set("buffer", 4096_u64);
    run.points.push(point.clone());
    let mut cell = Cell::new("trim-copy", point);
    let calls = [("read", 131_073.0), ("write", 131_072.0)];
    let calls = calls.map(|(name, n)| (name.to_owned(), n));
    cell.syscalls_by_name = Some(calls.into());
    let sample = Sample { ops: 1, bytes: 1, ..Sample::default() };
    cell.push(sample, &[("wall_ns", 1e6), ("copied_bytes", 536_870_912.0)]);
    run.cells.push(cell);
    let (analysis, absent) = (analyze(&run), BTreeMap::new());
    let runs = vec![(&run, &analysis)];
    let report = StudyReport { study, published: &[], runs, absent: &absent };
    let counts = report.counts();
    let [counts] = counts.as_slice() else { panic!("{}", counts.len()) };
    assert_eq!((counts.method, counts.is_chunk), ("trim-copy", true));
    assert_eq!(counts.figures[3], Some(4096.0));
    assert_eq!(counts.calls[1], ("write".to_owned(), 1.0));
}

#[test]
fn the_counts_name_the_calls_that_explain_their_number() {
    let row = |calls: &[(&str, f64)], is_chunk: bool| {
        let calls = calls.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let one = MethodCounts { method: "cat", is_chunk, figures: [None; 4], calls };
        let layout = PageLayout { width: 200, colour: false };
        let mut page = Document::new(layout.width);
        page.table(words::chunk_counts(&[one]));
        page.text(&layout).lines().last().unwrap_or_default().trim_end().to_owned()
    };
    let check = |calls: &[(&str, f64)], is_chunk: bool, expected: &str| {
        assert_eq!(row(calls, is_chunk), format!("cat  {expected}"));
    };
    let few = [("read", 2051.0), ("write", 2048.0), ("openat", 32.0), ("mmap", 23.0)];
    check(&few, false, "read 2051, write 2048, and 2 others, 55 together");
    check(&few[..3], false, "read 2051, write 2048, openat 32");
    check(&[("getrusage", 2.0), ("mmap", 1.0)], false, "getrusage 2, mmap 1");
    check(&[("read", 1.0), ("close", 0.0001)], true, "read 1");
    check(&[], true, "—");
}

#[test]
fn a_verdict_by_a_stand_in_is_said_to_be_none_on_the_author() {
    let study = study("fleece").unwrap();
    let claim = study.claims.iter().find(|claim| claim.id == "F6").unwrap();
    let page = |kind: RowMethods| {
        let runs = driven(study, claim, kind, Claimed::Refuted).unwrap_or_default();
        let analyses: Vec<Analysis> = runs.iter().map(analyze).collect();
        let (absent, runs) = (BTreeMap::new(), runs.iter().zip(&analyses).collect());
        let report = StudyReport { study, published: &[], runs, absent: &absent };
        crate::study::text(&report, true, &PageLayout { width: 200, colour: false })
    };
    assert!(page(RowMethods::InTheirPlace).contains(words::IN_THEIR_PLACE));
    assert!(!page(RowMethods::Own).contains(words::IN_THEIR_PLACE), "nothing stands there");
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
    assert_eq!(verdict(1.01), Some(ClaimVerdict::Confirmed));
    assert_eq!(verdict(1.1), Some(ClaimVerdict::Refuted));
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
    let expected = "size: 8 MiB here, 512 MiB there; times, counts and memory are not those of the \
                    same work";
    assert_eq!(report.other_work(), [expected]);
    assert!(report.differs().iter().any(|text| text.starts_with("replicates: 3 runs")));
}
