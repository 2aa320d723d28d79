use model::param::{ParamValue, Point};
use model::random::SplitMix64;
use model::run::{CacheState, Cell, Imported, Measure, Pass, Plan, Role, SCHEMA, Sample, Status};

use super::*;
use crate::facts::{Answers, CellFacts};

mod any_run;
mod best;
mod claim;
mod contention;
mod custom_metrics;
mod decisions;
mod looks;
mod notes;
mod overall;
mod param_effects;
mod thresholds;

pub(super) fn point(values: &[(&str, u64)]) -> Point {
    let mut point = Point::default();
    for (name, value) in values {
        point.set(*name, ParamValue::Number(*value));
    }
    point
}

/// A run of these cells at one point without values.
pub(super) fn run(cells: Vec<Cell>) -> Run {
    Run {
        schema: SCHEMA,
        id: "1".to_owned(),
        experiment: "test".to_owned(),
        question: "which?".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        complete: true,
        plan: Plan {
            rounds: 100,
            time_limit_ns: 1,
            warm_up: 0,
            sessions: 10,
            seed: 1,
            cache: CacheState::Warm,
            sample_limit_ns: 1,
            ..Plan::default()
        },
        points: vec![Point::default()],
        cells,
        ..Run::default()
    }
}

/// A contender with one sample per round in sessions of ten, with `wall_ns` and an equal `cpu_ns`,
/// and the answer `1`.
pub(super) fn cell(method: &str, wall_ns: impl IntoIterator<Item = f64>) -> Cell {
    let mut cell = Cell::new(method, Point::default());
    for (n, wall_ns) in (0u32..).zip(wall_ns) {
        let sample = Sample {
            session: n / 10,
            round: n % 10,
            ops: 1,
            bytes: 1,
            answer: Some("1".into()),
            ..Sample::default()
        };
        cell.push(sample, &[("wall_ns", wall_ns), ("cpu_ns", wall_ns)]);
    }
    cell
}

/// 100 wall times of 1 ms with approximately normal noise of about `sd`, different for each seed.
pub(super) fn noisy(seed: u64, sd: f64) -> Vec<f64> {
    let mut random = SplitMix64(seed);
    let mut unit = || random.unit();
    (0..100).map(|_| 1e6 * (sd * ((0..12).map(|_| unit()).sum::<f64>() - 6.0)).exp()).collect()
}

pub(super) fn times(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|x| x * factor).collect()
}

/// The facts of a cell by itself.
pub(super) fn facts_of(cell: &Cell) -> CellFacts<'_> {
    CellFacts::new(0, cell, Answers::from_cell(cell))
}

pub(super) fn answering(mut cell: Cell, answer: &str) -> Cell {
    cell.samples.iter_mut().for_each(|sample| sample.answer = Some(answer.into()));
    cell
}

/// Adds a column that is computed from the wall time.
pub(super) fn with(mut cell: Cell, metric: &str, value: impl Fn(f64) -> f64) -> Cell {
    let column = cell.values["wall_ns"].iter().map(|wall_ns| value(*wall_ns)).collect();
    cell.values.insert(metric.to_owned(), column);
    cell
}

/// A cell that waited for a CPU for a fifth of its time, which can be subtracted.
pub(super) fn waited(cell: Cell) -> Cell {
    let cell = with(cell, "run_queue_wait_ns", |wall_ns| 0.2 * wall_ns);
    with(cell, "wall_less_wait_ns", |wall_ns| 0.8 * wall_ns)
}

pub(super) fn close(got: Option<f64>, expected: f64, tolerance: f64) {
    assert!(got.is_some_and(|got| (got - expected).abs() < tolerance), "{got:?}, not {expected}");
}

/// `method metric verdict` of each comparison.
fn verdicts(analysis: &Analysis) -> Vec<String> {
    let line = |c: &Comparison| format!("{} {} {:?}", c.method, c.metric, c.verdict);
    analysis.comparisons.iter().map(line).collect()
}

#[test]
fn methods_that_did_not_take_turns_have_a_ratio_and_no_verdict() {
    let slow = times(&noisy(2, 0.01), 2.0);
    let mut run = run(vec![cell("a", noisy(1, 0.01)), cell("b", slow)]);
    assert_eq!(verdicts(&analyze(&run)), ["b wall_ns Slower", "b cpu_ns Slower"]);
    let imported = Imported { tool: "other 1.0".to_owned(), file: "x.json".to_owned() };
    run.plan.imported = Some(imported);
    let analysis = analyze(&run);
    assert_eq!(verdicts(&analysis), ["b wall_ns Undecided", "b cpu_ns Undecided"]);
    let [wall, _] = &analysis.comparisons[..] else { panic!("{:?}", analysis.comparisons) };
    close(wall.ratio, 2.0, 0.05);
    assert_eq!((wall.low, wall.p, wall.decides), (None, None, true));
    assert_eq!(wall.reason.as_deref(), Some("other 1.0 did not measure the methods in rounds"));
    let text = &analysis.notes[0].to_string();
    assert!(text.starts_with("bytelab did not measure this, other 1.0 did; imported from x.json"));
    let sides: Vec<Run> = (0..5).map(|_| run.clone()).collect();
    let compared = compare_sides(&sides, &sides, &[]);
    assert!(compared.lines.iter().all(|line| line.relative.is_none()));
    assert!(compared.lines.iter().all(|line| line.absolute.ratio == Some(1.0)));
}
