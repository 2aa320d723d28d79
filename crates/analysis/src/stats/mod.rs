//! The statistics of the lab: numbers in, numbers out. The module reads no clock, file or
//! environment, and does not depend on runs or methods.

mod decision;
mod factorial;
mod noise;
mod paired;
mod percentile;
mod random_effects;
mod series;
mod sessions;

use statrs::distribution::{ContinuousCDF, StudentsT};

pub use decision::Look;
pub use decision::{LOOKS, found_percent, last_look};
pub(crate) use decision::{holm, mcnemar, p_of_all_looks, sessions_needed};
pub(crate) use factorial::{coefficients, predicted};
pub use noise::{Modes, Start, start};
pub(crate) use noise::{another_session, half_difference, two_modes};
pub use paired::Shift;
pub use paired::{SignedRank, Walsh, hodges_lehmann, pseudomedian};
pub use percentile::Pooled;
pub use percentile::{nearest_rank, percentile_interval, rank_interval};
pub use random_effects::GROUPS_PREDICTED;
pub(crate) use random_effects::{GroupEffect, RandomEffects, random_effects};
pub use series::Plateau;
pub use series::{CHANGE_ALPHA, LEAST_FOR_CHANGE, changes, plateaus};
pub(crate) use series::{steady_from, trend, trend_within};
pub use sessions::{RUNS_A_SIDE, SESSIONS_NEEDED, between, by_session};
pub(crate) use sessions::{
    between_single, mean_shift, neighbour_sd, of_values, shift_found_by_each,
    shift_found_from_baseline,
};

/// The median; of an even number of values the mean of the middle two. NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    median_of(&mut values.to_vec())
}

/// The median; rearranges the values.
fn median_of(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let n = values.len();
    let (below, middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return *middle;
    }
    let next = below.iter().copied().max_by(f64::total_cmp);
    f64::midpoint(next.unwrap_or(*middle), *middle)
}

/// The summary that other programs show of samples. No verdict uses it, because times are not
/// normally distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub n: usize,
    pub mean: f64,
    /// An estimate for the population that the samples are from; none for a single sample.
    pub standard_deviation: Option<f64>,
}

/// None if there are no samples.
pub fn moments(values: &[f64]) -> Option<Moments> {
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_deviation = (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
    Some(Moments { n: values.len(), mean, standard_deviation })
}

impl Moments {
    /// Half the width of Student's interval of the mean at this level.
    pub fn half_width(&self, level: f64) -> Option<f64> {
        let n = self.n as f64;
        let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
        let quantile = student.inverse_cdf(f64::midpoint(1.0, level));
        Some(quantile * self.standard_deviation? / n.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_a_table_of_students() {
        let found = moments(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((found.mean - 2.5).abs() < 1e-12);
        assert!((found.standard_deviation.unwrap() - 1.290_994_448_7).abs() < 1e-9);
        // t(0.975, 3) = 3.182446, t(0.9995, 3) = 12.923979
        assert!((found.half_width(0.95).unwrap() - 3.182_446 * 0.645_497_224_4).abs() < 1e-5);
        assert!((found.half_width(0.999).unwrap() - 12.923_979 * 0.645_497_224_4).abs() < 1e-5);
    }

    #[test]
    fn a_single_sample_has_no_spread_and_none_has_nothing() {
        let one = moments(&[3.0]).unwrap();
        assert_eq!((one.mean, one.standard_deviation, one.half_width(0.95)), (3.0, None, None));
        assert_eq!(moments(&[]), None);
    }
}
