//! Every run can be analyzed, whatever it contains, and the results are consistent.

use model::metric::{CPU, WALL, WALL_LESS_WAIT};
use model::run::Design;
use proptest::prelude::*;

use super::*;
use crate::compare::Pair;

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        20 => 1.0..1e9f64,
        1 => Just(0.0),
        1 => Just(-1.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::MAX),
        1 => Just(5e-324),
    ]
}

prop_compose! {
    fn any_sample()(
        pass in prop_oneof![30 => Just(Pass::Timing), 1 => Just(Pass::Counting)],
        session in 0u32..3, round in 0u32..20, slot in 0u32..6, warm_up in prop::bool::weighted(0.1),
        not_counted in prop::option::weighted(0.1, Just("not warm")),
        answer in prop::option::weighted(0.9, prop_oneof![30 => Just("1"), 1 => Just("2")]),
    ) -> Sample {
        let [not_counted, answer] = [not_counted, answer].map(|text| text.map(Into::into));
        Sample { pass, session, round, slot, warm_up, not_counted, ops: 1, bytes: 1, answer }
    }
}

prop_compose! {
    fn any_cell()(
        method in "[a-c]",
        role in prop_oneof![4 => Just(Role::Contender), 1 => Just(Role::Yardstick)],
        at in prop::option::of(0u64..2),
        status in prop_oneof![
            8 => Just(Status::Measured),
            1 => Just(Status::Skipped("refused".to_owned())),
            1 => Just(Status::Failed("died".to_owned())),
        ],
        samples in prop::collection::vec((any_sample(), any_value(), any_value(), any_value()), 0..60),
        digest in prop::option::of("[de]"),
    ) -> Cell {
        let mut cell = cell(&method, []);
        (cell.role, cell.status, cell.digest) = (role, status, digest);
        cell.point = at.map_or_else(Point::default, |size| point(&[("size", size)]));
        for (sample, wall, rest, wait) in samples {
            let values = [("wall_ns", wall), ("wall_less_wait_ns", rest), ("run_queue_wait_ns", wait)];
            cell.push(sample, &values);
        }
        cell
    }
}

fn consistent(analysis: &Analysis, c: &Comparison) -> bool {
    let expected = match (c.low, c.high) {
        (Some(_), Some(high)) if high < 1.0 => c.verdict == Verdict::Faster,
        (Some(low), Some(_)) if low > 1.0 => c.verdict == Verdict::Slower,
        (Some(low), Some(high)) => {
            let ordered = low <= high && c.ratio.is_some_and(|r| low <= r && r <= high);
            // Ends that round to 1 may be on either side of it.
            ordered && (!matches!(c.verdict, Verdict::WrongAnswer | Verdict::Missing))
        }
        _ => matches!(c.verdict, Verdict::Undecided | Verdict::WrongAnswer | Verdict::Missing),
    };
    let reason = c.low.is_some() != c.reason.is_some();
    let wrong = analysis.cells[c.cell].wrong_answer;
    expected
        && reason
        && (c.verdict != Verdict::WrongAnswer || wrong)
        && (!wrong || c.ratio.is_none())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_run_can_be_analyzed(cells in prop::collection::vec(any_cell(), 0..6)) {
        let mut run = run(cells);
        run.points = vec![point(&[("size", 0)]), point(&[("size", 1)])];
        let analysis = analyze(&run);
        prop_assert_eq!(analysis.cells.len(), run.cells.len());
        for c in &analysis.comparisons {
            prop_assert!(consistent(&analysis, c), "{:?}", c);
        }
        for family in &analysis.families {
            let Some(reference) = family.reference else { continue };
            for cell in family.cells.iter().filter(|cell| **cell != reference) {
                let contender = run.cells[*cell].role == Role::Contender;
                prop_assert_eq!(analysis.decision(family, *cell).is_some(), contender);
            }
            prop_assert!(!family.best.is_empty());
            prop_assert!(family.pareto.iter().all(|cell| family.compared.contains(cell)));
        }
        prop_assert!(analysis.notes.iter().all(|note| !note.to_string().contains('\n')));
        prop_assert!(serde_json::to_string(&analysis).is_ok());
    }

    #[test]
    fn what_decides_is_the_same_with_and_without_the_other_comparisons(
        cells in prop::collection::vec(any_cell(), 2..4),
        is_fixed: bool,
        sessions in 1u32..4,
    ) {
        let mut run = run(cells);
        run.plan.design = if is_fixed { Design::Fixed } else { Design::Sequential };
        run.plan.sessions = sessions;
        let (facts, point) = (RunFacts::new(&run), Point::default());
        for cells in [[0, 1], [1, 0]] {
            let pair = Pair::new(&facts, &point, cells, 0.3);
            for deciding in [WALL, WALL_LESS_WAIT, CPU] {
                let all = pair.comparisons(deciding);
                let expected = all.iter().find(|comparison| comparison.decides).unwrap();
                let found = pair.decision(deciding);
                prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            }
        }
    }
}
