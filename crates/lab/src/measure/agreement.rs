//! When the counting pass has enough samples of a cell.

use crate::metric::{COUNTING_WALL, PEAK_RSS};
use crate::run::{Cell, Pass, Sample};

/// What differs between samples that do the same.
const VARYING: [&str; 2] = [COUNTING_WALL, PEAK_RSS];

/// Whether the last sample that counts has the same counts as the one before it, or as the warm-up
/// right before it: then more samples add nothing. Times and the peak of a process vary between all
/// samples; a peak that only this pass measures is not that of one sample alone.
pub(super) fn agree(cell: &Cell) -> bool {
    let of_pass = |sample: &Sample| sample.pass == Pass::Counting && sample.not_counted.is_none();
    let samples = cell.samples.iter().enumerate().filter(|(_, sample)| of_pass(sample));
    let mut latest = samples.rev();
    let Some((last, _)) = latest.next().filter(|(_, sample)| !sample.warm_up) else { return false };
    let warm_up = latest.clone().next().filter(|(_, s)| s.warm_up && !has(cell, PEAK_RSS));
    let before = latest.find(|(_, sample)| !sample.warm_up);
    let is_alike = |(other, _): (usize, &Sample)| have_same_counts(cell, last, other);
    warm_up.is_some_and(is_alike) || before.is_some_and(is_alike)
}

fn have_same_counts(cell: &Cell, a: usize, b: usize) -> bool {
    let counts = cell.values.iter().filter(|(name, _)| !VARYING.contains(&name.as_str()));
    let same = |column: &Vec<f64>| match (column.get(a), column.get(b)) {
        (Some(a), Some(b)) => a.to_bits() == b.to_bits(),
        _ => true,
    };
    counts.map(|(_, column)| column).all(same)
}

/// Whether the pass has a value of the metric for the cell.
pub(super) fn has(cell: &Cell, metric: &str) -> bool {
    let column = cell.values.get(metric).into_iter().flatten();
    let mut values = cell.samples.iter().zip(column);
    values.any(|(sample, value)| sample.counts_in(Pass::Counting) && !value.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::RawSample;
    use crate::measure::bench::Position;
    use crate::metric::SYSCALLS;
    use crate::param::Point;

    /// Samples of the pass: whether each warms up, and its system calls.
    fn cell(samples: &[(bool, f64)], peak_bytes: Option<f64>) -> Cell {
        let mut cell = Cell::new("a", Point::default());
        for (n, (warm_up, calls)) in samples.iter().enumerate() {
            let position = Position { round: 0, slot: 0, warm_up: *warm_up };
            let sample = position.sample(Pass::Counting, 0, &RawSample::default().done);
            let mut values = vec![(SYSCALLS, *calls), (COUNTING_WALL, n as f64)];
            values.extend(peak_bytes.map(|bytes| (PEAK_RSS, bytes + n as f64)));
            cell.push(sample, &values);
        }
        cell
    }

    #[test]
    fn two_equal_samples_are_enough_and_one_of_them_may_be_the_warm_up() {
        let (warm_up, counted) = (true, false);
        let check = |samples: &[(bool, f64)], expected: bool| {
            assert_eq!(agree(&cell(samples, None)), expected, "{samples:?}");
        };
        check(&[], false);
        check(&[(warm_up, 5.0)], false);
        check(&[(warm_up, 5.0), (counted, 5.0)], true);
        check(&[(warm_up, 6.0), (counted, 5.0)], false);
        check(&[(warm_up, 6.0), (counted, 5.0), (counted, 5.0)], true);
        check(&[(warm_up, 5.0), (counted, 6.0), (counted, 5.0)], false);
        check(&[(counted, 5.0)], false);
        // A run that was resumed has started another process.
        check(&[(warm_up, 6.0), (counted, 5.0), (warm_up, 6.0)], false);
        check(&[(warm_up, 6.0), (counted, 5.0), (warm_up, 6.0), (counted, 5.0)], true);
    }

    #[test]
    fn a_peak_is_not_that_of_one_sample() {
        let samples = [(true, 5.0), (false, 5.0), (false, 5.0)];
        assert!(!agree(&cell(&samples[..2], Some(1e6))));
        assert!(agree(&cell(&samples, Some(1e6))));
    }
}
