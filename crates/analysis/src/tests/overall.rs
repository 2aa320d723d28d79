//! The geometric mean over the points of a run.

use super::*;
use crate::Overall;

/// A cell at a size. Its time is that of `noisy`, times the size and this factor.
fn at(method: &str, size: u64, seed: u64, factor: f64) -> Cell {
    let mut cell = cell(method, times(&noisy(seed, 0.01), size as f64 * factor));
    cell.point.set("size", size);
    cell
}

/// A run with each point of these cells.
fn at_all(cells: Vec<Cell>) -> Run {
    let mut run = run(cells);
    run.points.clear();
    for cell in &run.cells {
        if !run.points.contains(&cell.point) {
            run.points.push(cell.point.clone());
        }
    }
    run
}

fn overall(cells: Vec<Cell>) -> Vec<Overall> {
    analyze(&at_all(cells)).overall
}

#[test]
fn it_is_the_geometric_mean_of_the_ratios_at_all_points() {
    let sizes = [1u64, 1000, 1_000_000];
    let mut cells = Vec::new();
    for (i, size) in sizes.into_iter().enumerate() {
        let seed = 10 * i as u64;
        cells.push(at("old", size, seed + 1, 1.0));
        cells.push(at("new", size, seed + 2, [0.5, 1.0, 2.0 * 0.512][i]));
        cells.push(at("slow", size, seed + 3, 3.0));
    }
    let found = overall(cells.clone());
    let [new, slow] = &found[..] else { panic!("{found:?}") };
    // The third root of 0.5 times 1 times 1.024 is 0.8.
    close(Some(new.ratio), 0.8, 0.01);
    assert_eq!((&*new.method, &*new.reference), ("new", "old"));
    assert_eq!((new.points, new.sessions, new.metric), (3, 10, "wall_ns"));
    let (low, high) = (new.low.unwrap(), new.high.unwrap());
    assert!(0.79 < low && low < new.ratio && new.ratio < high && high < 0.81, "{new:?}");
    close(Some(new.level), 1.0 - 0.05 / 2.0, 1e-12);
    close(Some(slow.ratio), 3.0, 0.03);

    // A method that is missing at one point has no mean over all.
    cells[4].status = Status::Failed("it died".to_owned());
    cells[4].samples.clear();
    cells[4].values.clear();
    let found = overall(cells);
    assert_eq!(found.iter().map(|one| &*one.method).collect::<Vec<_>>(), ["slow"]);
}

#[test]
fn only_sessions_in_which_all_points_were_measured_are_in_it() {
    let mut cells: Vec<Cell> = (0..2u64)
        .flat_map(|i| [at("old", i + 1, 3 * i + 1, 1.0), at("new", i + 1, 3 * i + 2, 0.5)])
        .collect();
    for sample in &mut cells[3].samples {
        if sample.session < 6 {
            sample.not_counted = Some("another state".into());
        }
    }
    let found = overall(cells);
    assert_eq!((found[0].sessions, found[0].low, found[0].high), (4, None, None));
    close(Some(found[0].ratio), 0.5, 0.01);
}

#[test]
fn one_point_and_runs_without_rounds_have_none() {
    assert_eq!(overall(vec![at("old", 1, 1, 1.0), at("new", 1, 2, 0.5)]), []);
    let cells = (1..3).flat_map(|i| [at("old", i, i, 1.0), at("new", i, i + 9, 0.5)]).collect();
    let mut run = at_all(cells);
    assert_eq!(analyze(&run).overall.len(), 1);
    run.plan.imported = Some(Imported { tool: "other".to_owned(), file: "x".to_owned() });
    assert_eq!(analyze(&run).overall, []);
}

#[test]
fn it_is_by_the_measure_of_all_points() {
    let cells = [1u64, 2].into_iter().flat_map(|size| {
        [("a", 1.0), ("b", 0.5)].map(|(name, factor)| waited(at(name, size, size, factor)))
    });
    let found = overall(cells.collect());
    assert_eq!(found.iter().map(|one| one.metric).collect::<Vec<_>>(), ["wall_less_wait_ns"]);
}
