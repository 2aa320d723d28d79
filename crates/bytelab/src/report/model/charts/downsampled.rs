//! The samples of a column as a chart shows them: every sample, or, if there are more than a screen
//! can show, groups of them in the order in which they were taken, and the quantiles of all.

use serde::Serialize;

/// More values than these in one line cannot be distinguished.
const LINE_MAX: usize = 2000;

/// Fewer show no shape.
const LINE_MIN: usize = 24;

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Downsampled {
    /// The number of consecutive samples in a group; 1: each sample is drawn.
    pub(crate) of: usize,
    /// Each group's least, middle and greatest sample, in the order in which they were taken. For
    /// groups of one, only the middle is given.
    pub(crate) least: Vec<f64>,
    pub(crate) middle: Vec<f64>,
    pub(crate) greatest: Vec<f64>,
    /// Samples of evenly spaced ranks, from the smallest to the greatest; empty if each sample is
    /// drawn.
    pub(crate) quantiles: Vec<f64>,
}

impl Downsampled {
    /// Takes samples in the order in which they were taken, and sorted; gives at most about `share`
    /// values.
    pub(crate) fn from_samples(samples: &[f64], sorted: &[f64], share: usize) -> Downsampled {
        let share = share.clamp(LINE_MIN, LINE_MAX);
        if samples.len() <= share {
            let middle = samples.iter().copied().map(rounded).collect();
            let none = Vec::new;
            return Downsampled {
                of: 1,
                least: none(),
                middle,
                greatest: none(),
                quantiles: none(),
            };
        }
        let of = samples.len().div_ceil(share / 4);
        let mut drawn = Downsampled {
            of,
            least: Vec::new(),
            middle: Vec::new(),
            greatest: Vec::new(),
            quantiles: quantiles(sorted, share / 4),
        };
        for group in samples.chunks(of) {
            let mut group = group.to_vec();
            group.sort_unstable_by(f64::total_cmp);
            drawn.least.push(rounded(group[0]));
            drawn.middle.push(rounded(group[(group.len() - 1) / 2]));
            drawn.greatest.push(rounded(group[group.len() - 1]));
        }
        drawn
    }

    /// The steps of the distribution: a value, and the share of the `n` samples that do not exceed
    /// it.
    pub(crate) fn steps(&self, n: usize) -> Vec<(f64, f64)> {
        if self.quantiles.is_empty() {
            let mut sorted = self.middle.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let share = |i: usize| (i + 1) as f64 / n as f64;
            return sorted.into_iter().enumerate().map(|(i, x)| (x, share(i))).collect();
        }
        let len = self.quantiles.len();
        let share = |i: usize| (rank(i, len, n) + 1) as f64 / n as f64;
        self.quantiles.iter().enumerate().map(|(i, x)| (*x, share(i))).collect()
    }
}

fn quantiles(sorted: &[f64], len: usize) -> Vec<f64> {
    (0..len).map(|i| rounded(sorted[rank(i, len, sorted.len())])).collect()
}

/// The rank, from 0, of the i-th of `len` quantiles of n samples.
fn rank(i: usize, len: usize, n: usize) -> usize {
    ((i as f64 * (n - 1) as f64) / (len - 1).max(1) as f64).round() as usize
}

/// Rounded to five significant digits; no chart shows more.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
