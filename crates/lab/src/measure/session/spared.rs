//! Which methods need no warm-up in later sessions, because it changes nothing and takes long.

use std::collections::BTreeMap;

use crate::metric::WALL;
use crate::param::Point;
use crate::run::{Cell, Pass, Sample};

/// A method is spared only if its samples take more than this multiple of the reference's.
const TIMES_OF_REFERENCE: f64 = 2.0;
/// First samples that take more than this multiple of later ones show what a warm-up is for: a
/// compiler that runs meanwhile, memory that is touched for the first time.
const TIMES_OF_LATER: f64 = 1.1;

/// By cell, whether its first samples of the sessions that warmed it up took as long as the last
/// ones, on average, and these far longer than the reference's at each of its points. Only these
/// `sessions` count: in the first one the processes have computed digests, and so have touched
/// their memory before.
pub(super) fn spared(
    cells: &[Cell],
    points: &[Point],
    of_reference: &[bool],
    sessions: &[u32],
) -> Vec<bool> {
    // The reference is not spared, and is not warmed up where it is a command.
    let times = cells.iter().zip(of_reference);
    let times: Vec<Option<[f64; 2]>> =
        times.map(|(cell, is_reference)| times_ns(cell, sessions, !is_reference)).collect();
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

/// The mean times of the first sample and of the last one, over those of these sessions whose last
/// sample counts and, if `warmed_up`, whose first one warms up; none if there is no such session.
fn times_ns(cell: &Cell, sessions: &[u32], warmed_up: bool) -> Option<[f64; 2]> {
    let walls = cell.values.get(WALL)?;
    let is_part =
        |sample: &Sample| sample.pass == Pass::Timing && sessions.contains(&sample.session);
    let timed = cell.samples.iter().zip(walls).filter(|(sample, _)| is_part(sample));
    let mut ends: BTreeMap<u32, [(&Sample, f64); 2]> = BTreeMap::new();
    for (sample, ns) in timed {
        let new = (sample, *ns);
        ends.entry(sample.session).and_modify(|[_, last]| *last = new).or_insert([new; 2]);
    }
    ends.retain(|_, [(first, _), (last, _)]| (first.warm_up || !warmed_up) && last.counts());
    let mean_ns =
        |which: usize| ends.values().map(|ends| ends[which].1).sum::<f64>() / ends.len() as f64;
    (!ends.is_empty()).then(|| [mean_ns(0), mean_ns(1)])
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

    /// A cell with these times in its samples of the sessions from 1 on, of which the first one
    /// warms up.
    fn cell_of(method: &str, size: u64, sessions: &[&[f64]]) -> Cell {
        let mut cell = Cell::new(method, point(size));
        for (session, walls_ns) in sessions.iter().enumerate() {
            for (n, wall_ns) in walls_ns.iter().enumerate() {
                let position = Position { round: 0, slot: 0, warm_up: n == 0 };
                let done = RawSample::default().done;
                let sample = position.sample(Pass::Timing, 1 + session as u32, &done);
                cell.push(sample, &[(WALL, *wall_ns)]);
            }
        }
        cell
    }

    fn cell(method: &str, size: u64, walls_ns: &[f64]) -> Cell {
        cell_of(method, size, &[walls_ns])
    }

    fn check(cells: &[Cell], expected: &[bool]) {
        let of_reference: Vec<bool> = cells.iter().map(|cell| cell.method == "ref").collect();
        let points = [1, 2, 3].map(point);
        assert_eq!(spared(cells, &points, &of_reference, &[1, 2]), expected);
    }

    #[test]
    fn what_is_far_slower_and_was_warm_from_the_start_is_spared() {
        check(
            &[
                cell("ref", 1, &[20.0, 10.0, 10.0]),
                cell("near", 1, &[20.0, 20.0, 20.0]),
                cell("far", 1, &[33.0, 40.0, 31.0]),
                cell("compiles", 1, &[35.0, 31.0, 31.0]),
                cell("without", 1, &[]),
                cell("only-warmed-up", 1, &[33.0]),
            ],
            &[false, false, true, false, false, false],
        );
    }

    /// Chance makes a single first sample longer or shorter.
    #[test]
    fn all_sessions_that_warmed_up_decide_together() {
        check(
            &[
                cell("ref", 1, &[10.0, 10.0]),
                cell_of("by-chance", 1, &[&[60.0, 50.0], &[50.0, 55.0]]),
                cell_of("compiles", 1, &[&[55.0, 55.0], &[75.0, 50.0]]),
            ],
            &[false, true, false],
        );
        // A session without a warm-up shows nothing.
        let mut later = cell_of("spared", 1, &[&[50.0, 50.0], &[90.0, 50.0]]);
        later.samples[2].warm_up = false;
        check(&[cell("ref", 1, &[10.0, 10.0]), later], &[false, true]);
        let mut never = cell("not-warmed-up", 1, &[50.0, 50.0]);
        never.samples[0].warm_up = false;
        check(&[cell("ref", 1, &[10.0, 10.0]), never], &[false, false]);
    }

    /// A spared method takes part in fewer sessions with a warm-up than the reference.
    #[test]
    fn the_number_of_sessions_changes_no_mean() {
        let reference = cell_of("ref", 1, &[&[10.0, 10.0], &[10.0, 10.0]]);
        check(&[reference, cell("far", 1, &[30.0, 30.0])], &[false, true]);
    }

    /// In it the method has done its job before, for its digest.
    #[test]
    fn the_first_session_does_not_show_what_a_warm_up_is_for() {
        let new_memory = cell_of("new-memory", 1, &[&[30.0, 30.0], &[90.0, 30.0]]);
        let cells = [cell_of("ref", 1, &[&[10.0, 10.0], &[10.0, 10.0]]), new_memory];
        let spared_in = |sessions: &[u32]| spared(&cells, &[point(1)], &[true, false], sessions);
        assert_eq!(spared_in(&[1]), [false, true]);
        assert_eq!(spared_in(&[2]), [false, false]);
        assert_eq!(spared_in(&[]), [false, false]);
    }

    /// A command is a process of its own in each sample, and stays without warm-ups.
    #[test]
    fn the_reference_may_have_no_warm_up() {
        let mut command = cell("ref", 1, &[10.0, 10.0]);
        command.samples[0].warm_up = false;
        check(&[command, cell("worker", 1, &[30.0, 30.0])], &[false, true]);
    }

    #[test]
    fn at_each_value_of_a_param_the_reference_is_that_of_the_value() {
        check(
            &[
                cell("ref", 1, &[10.0, 10.0]),
                cell("a", 1, &[31.0, 31.0]),
                cell("ref", 2, &[100.0, 100.0]),
                cell("a", 2, &[190.0, 190.0]),
                cell("a", 3, &[1000.0, 1000.0]),
            ],
            &[false, true, false, false, false],
        );
    }
}
