//! Estimate, interval and p of 30 data sets, compared with values that were computed independently
//! of this code.

use analysis::stats::{SignedRank, by_session, hodges_lehmann};

const GOLDEN: &str = include_str!("golden.tsv");

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-9 * expected.abs() + 1e-15
}

fn check(line: &str) {
    let columns: Vec<&str> = line.split('\t').collect();
    let number = |column: usize| columns[column].parse::<f64>().unwrap();
    let values: Vec<f64> = columns[7].split(' ').map(|x| x.parse().unwrap()).collect();
    let got = hodges_lehmann(&values, number(1)).unwrap();
    assert_eq!(
        SignedRank::new(values.len()).bound(number(1)).to_string(),
        columns[2],
        "K of {line}"
    );
    assert!(close(got.estimate, number(3)), "{got:?}, expected {line}");
    assert!(close(got.p, number(6)), "{got:?}, expected {line}");
    match got.interval {
        None => assert_eq!(columns[4], "-", "{line}"),
        Some((low, high)) => {
            assert!(close(low, number(4)) && close(high, number(5)), "{got:?}, expected {line}");
        }
    }
}

#[test]
fn thirty_data_sets_have_the_expected_estimate_interval_and_p() {
    let lines: Vec<&str> = GOLDEN.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 30);
    lines.into_iter().for_each(check);
}

#[test]
fn what_is_not_a_number_is_refused() {
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let values = [0.1, 0.2, wrong, 0.3, 0.1, 0.2, 0.4];
        assert_eq!(hodges_lehmann(&values, 0.05), None);
        assert_eq!(by_session(&[values.to_vec()], 0.05), None);
    }
    assert_eq!(hodges_lehmann(&[], 0.05), None);
}
