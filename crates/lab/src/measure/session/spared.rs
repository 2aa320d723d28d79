//! Which methods need no warm-up in later sessions, because it changes nothing and takes long.

use crate::metric::WALL;
use crate::param::Point;
use crate::run::{Cell, Pass};

/// A method is spared only if its samples take more than this multiple of the reference's.
const TIMES_OF_REFERENCE: f64 = 3.0;
/// A first sample that takes more than this multiple of a later one shows what a warm-up is for: a
/// compiler that runs meanwhile, memory that is touched for the first time.
const TIMES_OF_LATER: f64 = 1.1;

/// By cell, whether its first sample of this session took as long as its last one, and that one far
/// longer than the reference's at each of its points.
pub(super) fn spared(
    cells: &[Cell],
    points: &[Point],
    session: u32,
    of_reference: &[bool],
) -> Vec<bool> {
    let times: Vec<Option<[f64; 2]>> = cells.iter().map(|cell| times_ns(cell, session)).collect();
    let reference_ns = |point: &Point| {
        let is_part = |cell: &usize| of_reference[*cell] && cells[*cell].point.is_part_of(point);
        times[(0..cells.len()).find(is_part)?].map(|[_, last_ns]| last_ns)
    };
    let of_cell = |(cell, times): (&Cell, &Option<[f64; 2]>)| {
        let Some([first_ns, last_ns]) = *times else { return false };
        let mut points = points.iter().filter(|point| cell.point.is_part_of(point));
        first_ns <= TIMES_OF_LATER * last_ns
            && points.all(|point| {
                reference_ns(point).is_some_and(|ns| last_ns > TIMES_OF_REFERENCE * ns)
            })
    };
    cells.iter().zip(&times).map(of_cell).collect()
}

/// The times of an operation in the first sample of the cell in this session and in the last one;
/// none where the last one does not count.
fn times_ns(cell: &Cell, session: u32) -> Option<[f64; 2]> {
    let walls = cell.values.get(WALL)?;
    let timed = cell.samples.iter().zip(walls);
    let mut timed =
        timed.filter(|(sample, _)| sample.pass == Pass::Timing && sample.session == session);
    let (_, first_ns) = timed.clone().next()?;
    let (last, last_ns) = timed.next_back()?;
    last.counts().then_some([*first_ns, *last_ns])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::RawSample;
    use crate::measure::bench::Position;

    fn point(size: u64) -> Point {
        let mut point = Point::default();
        point.set("size", size);
        point
    }

    /// A cell with these times in its samples of session 1, of which the first one warms up.
    fn cell(method: &str, size: u64, walls_ns: &[f64]) -> Cell {
        let mut cell = Cell::new(method, point(size));
        for (n, wall_ns) in walls_ns.iter().enumerate() {
            let position = Position { round: 0, slot: 0, warm_up: n == 0 };
            let sample = position.sample(Pass::Timing, 1, &RawSample::default().done);
            cell.push(sample, &[(WALL, *wall_ns)]);
        }
        cell
    }

    fn check(cells: &[Cell], expected: &[bool]) {
        let of_reference: Vec<bool> = cells.iter().map(|cell| cell.method == "ref").collect();
        let points = [1, 2, 3].map(point);
        assert_eq!(spared(cells, &points, 1, &of_reference), expected);
        assert_eq!(spared(cells, &points, 2, &of_reference), vec![false; cells.len()]);
    }

    #[test]
    fn what_is_far_slower_and_was_warm_from_the_start_is_spared() {
        check(
            &[
                cell("ref", 1, &[20.0, 10.0, 10.0]),
                cell("near", 1, &[30.0, 30.0, 30.0]),
                cell("far", 1, &[33.0, 40.0, 31.0]),
                cell("compiles", 1, &[35.0, 31.0, 31.0]),
                cell("without", 1, &[]),
                cell("only-warmed-up", 1, &[33.0]),
            ],
            &[false, false, true, false, false, false],
        );
    }

    #[test]
    fn at_each_value_of_a_param_the_reference_is_that_of_the_value() {
        check(
            &[
                cell("ref", 1, &[10.0, 10.0]),
                cell("a", 1, &[31.0, 31.0]),
                cell("ref", 2, &[100.0, 100.0]),
                cell("a", 2, &[290.0, 290.0]),
                cell("a", 3, &[1000.0, 1000.0]),
            ],
            &[false, true, false, false, false],
        );
    }
}
