//! Charts show the measured values, and the number of values is limited.

use analysis::analyze;
use model::param::Point;
use model::run::Status;

use super::*;
use crate::tests::fixture::{self, Fixture};

fn drawn(samples: &[f64], share: usize) -> Downsampled {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Downsampled::from_samples(samples, &sorted, share)
}

#[test]
fn few_samples_are_all_drawn_in_their_order() {
    let drawn = drawn(&[3.0, 1.0, 2.0], 100);
    assert_eq!((drawn.of, drawn.middle.as_slice()), (1, &[3.0, 1.0, 2.0][..]));
    let steps = drawn.steps(3);
    assert_eq!(steps, [(1.0, 1.0 / 3.0), (2.0, 2.0 / 3.0), (3.0, 1.0)]);
}

#[test]
fn a_million_samples_keep_their_ends_and_every_outlier() {
    let mut samples: Vec<f64> = (0..1_000_000).map(|i| 1000.0 + f64::from(i % 1000)).collect();
    samples[123_456] = 9e9;
    samples[654_321] = 1.0;
    let drawn = drawn(&samples, 2000);
    let values = drawn.least.len() * 3 + drawn.quantiles.len();
    assert!(values <= 2000, "{values}");
    let greatest = drawn.greatest.iter().copied().fold(0.0, f64::max);
    let least = drawn.least.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!((least, greatest), (1.0, 9e9));
    assert_eq!((drawn.quantiles[0], *drawn.quantiles.last().unwrap()), (1.0, 9e9));
    let at = drawn.of * drawn.greatest.iter().position(|value| *value > 1e9).unwrap();
    assert!((at..at + drawn.of).contains(&123_456));
    let steps = drawn.steps(samples.len());
    assert!(steps.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
    assert!((steps.last().unwrap().1 - 1.0).abs() < 1e-12);
}

/// A run of two methods at each number of samples in each directory; `scan` does not read the
/// directory.
fn sampling() -> Fixture {
    let mut f = Fixture::new();
    let mut points = Vec::new();
    for dir in ["/a", "/b"] {
        for samples in [10u64, 100, 1000] {
            let mut point = Point::default();
            point.set("samples", samples);
            point.set("dir", dir);
            points.push(point.clone());
            for method in ["scan", "auto"] {
                let alone = method == "scan";
                if alone && dir == "/b" {
                    continue;
                }
                f.run_cell(
                    method,
                    if alone { point.only(|name| name == "samples") } else { point.clone() },
                );
            }
        }
    }
    f.run.points = points;
    f.analysis = analyze(&f.run);
    f
}

impl Fixture {
    fn run_cell(&mut self, method: &str, point: Point) {
        self.point(&[]);
        self.cell(method, Status::Measured);
        let (cell, _) = self.last();
        cell.point = point;
        for round in 0..30 {
            let wall_ns = 1e6 + f64::from(round * 7 % 11);
            cell.push(fixture::sample(round), &[("wall_ns", wall_ns), ("syscalls", 5.0)]);
        }
    }
}

fn charts(f: &Fixture) -> Charts {
    Charts::from_runs(&[(f.run.clone(), f.analysis.clone())])
}

#[test]
fn a_sweep_has_a_panel_for_each_value_of_the_other_param() {
    let charts = charts(&sampling());
    let sweeps: Vec<&str> = charts.sweeps.iter().map(|sweep| sweep.param.as_str()).collect();
    assert_eq!(sweeps, ["samples"]);
    let sweep = &charts.sweeps[0];
    let panels: Vec<&str> = sweep.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(panels, ["dir=/a", "dir=/b"]);
    for panel in &sweep.panels {
        let lines: Vec<(&str, Vec<u64>)> = (panel.lines.iter())
            .map(|line| (line.method.as_str(), line.cells.iter().map(|(x, _)| *x).collect()))
            .collect();
        // The method that does not read the directory has the same line in both panels.
        assert_eq!(lines, [("scan", vec![10, 100, 1000]), ("auto", vec![10, 100, 1000])]);
    }
    let values: Vec<&str> = sweep.values.iter().map(|(_, words)| words.as_str()).collect();
    assert_eq!(values, ["10", "100", "1k"]);
}

#[test]
fn a_method_has_one_number_in_all_runs_points_and_sweeps() {
    let (first, mut other) = (sampling(), sampling());
    other.run.cells.retain(|cell| cell.method == "auto");
    other.analysis = analyze(&other.run);
    let charts = Charts::from_runs(&[&other, &first].map(|f| (f.run.clone(), f.analysis.clone())));
    let number = |method: &str| usize::from(method == "scan");
    assert!(charts.cells.iter().all(|cell| cell.number == number(&cell.method)));
    let mut lines = charts.sweeps[0].panels.iter().flat_map(|panel| &panel.lines);
    assert!(lines.all(|line| line.number == number(&line.method)));
}

#[test]
fn a_metric_that_is_the_same_in_all_samples_is_not_drawn() {
    let charts = charts(&sampling());
    let names: Vec<&str> = charts.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["wall_ns"]);
}

#[test]
fn points_of_several_runs_are_laid_over_each_other() {
    let (mut before, after) = (sampling(), sampling());
    before.run.label = Some("before".to_owned());
    let both = [&before, &after].map(|f| (f.run.clone(), f.analysis.clone()));
    let charts = Charts::from_runs(&both);
    assert_eq!(charts.points.len(), 6);
    assert!(charts.points.iter().all(|point| point.cells.len() == 4));
    assert_eq!(charts.label(charts.points[0].cells[0]), "scan · run 7 · before");
    assert_eq!(charts.sweeps[0].panels[0].lines.len(), 4);
}
