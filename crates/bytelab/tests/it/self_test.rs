//! `bytelab self-test --aa`: what is counted can be counted again from the rows of its file.

use std::fs;

use crate::program::World;

const TITLES: &str = "method,methods,load,pair,metric,ratio,low,high,verdict";

#[test]
fn every_comparison_of_a_pair_is_a_row_of_the_file() {
    let world = World::new();
    let rows = world.path("rows.csv");
    let rows = rows.to_str().unwrap();
    let ran = world.run(&["self-test", "--aa", "2", "--csv", rows]);
    assert!(ran.stdout.contains("of 2 pairs differ"), "{}{}", ran.stdout, ran.stderr);
    let text = fs::read_to_string(rows).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(TITLES));
    let lines: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for pair in ["1", "2"] {
        let of_pair: Vec<_> = lines.iter().filter(|line| line[3] == pair).collect();
        assert_eq!(
            of_pair.iter().map(|line| line[4]).collect::<Vec<_>>(),
            ["wall", "cpu", "what decides"]
        );
        for line in of_pair {
            assert_eq!(line[..3], ["same-again", "2", "0"]);
            let [ratio, low, high] = [5, 6, 7].map(|i| line[i].parse::<f64>().unwrap());
            assert!(0.0 < low && low <= ratio && ratio <= high, "{line:?}");
        }
    }
}

#[test]
fn a_file_of_rows_needs_pairs() {
    let world = World::new();
    let ran = world.run(&["self-test", "--csv", "rows.csv"]);
    assert_eq!((ran.code, world.path("rows.csv").exists()), (2, false), "{}", ran.stderr);
}
