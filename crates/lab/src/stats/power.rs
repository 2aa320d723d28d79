//! The smallest shift that a decision rule finds in four of five cases. A user should know it
//! before relying on the rule.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

use super::RUNS_A_SIDE;

/// The probability with which the shift is to be found.
pub const FOUND: f64 = 0.8;

/// The number of equally likely parts into which a distribution is divided.
const PARTS: usize = 400;

/// The shift, in units of the standard deviation of one value, that the lower bound of Student's
/// interval shows to be above 0 in each of `runs` runs of `n` values. None for fewer than five
/// values.
pub fn shift_found_by_each(n: usize, alpha: f64, runs: i32) -> Option<f64> {
    if n < RUNS_A_SIDE {
        return None;
    }
    let free = n as f64 - 1.0;
    let t = StudentsT::new(0.0, 1.0, free).ok()?.inverse_cdf(1.0 - alpha / 2.0);
    let (normal, spread) = (Normal::new(0.0, 1.0).ok()?, ChiSquared::new(free).ok()?);
    // The factor by which the standard deviation of the values is under- or overestimated.
    let estimated: Vec<f64> =
        parts().map(|part| (spread.inverse_cdf(part) / free).sqrt()).collect();
    let root = (n as f64).sqrt();
    smallest(|shift| {
        let one = estimated.iter().map(|sd| normal.cdf(shift * root - t * sd)).sum::<f64>();
        (one / PARTS as f64).powi(runs)
    })
}

/// The shift that the lower bound of an interval of this half width shows to be above 0 in each of
/// two runs, both compared with one earlier run, where runs differ by `run_sd`.
pub fn shift_found_from_baseline(half_width: f64, run_sd: f64) -> Option<f64> {
    if !half_width.is_finite() || run_sd <= 0.0 {
        return Some(half_width).filter(|shift| shift.is_finite());
    }
    let normal = Normal::new(0.0, 1.0).ok()?;
    // The deviation of the earlier run is in both comparisons.
    let earlier: Vec<f64> = parts().map(|part| normal.inverse_cdf(part)).collect();
    let half_width = half_width / run_sd;
    let found = smallest(|shift| {
        let both = |z: &f64| normal.cdf(shift - half_width - z).powi(2);
        earlier.iter().map(both).sum::<f64>() / PARTS as f64
    });
    found.map(|shift| shift * run_sd)
}

/// The midpoints of equally likely parts.
fn parts() -> impl Iterator<Item = f64> {
    (0..PARTS).map(|part| (part as f64 + 0.5) / PARTS as f64)
}

/// Where a probability that grows with the shift reaches [`FOUND`].
fn smallest(chance: impl Fn(f64) -> f64) -> Option<f64> {
    let mut high = 1.0;
    while chance(high) < FOUND {
        high *= 2.0;
        if high > 1e9 {
            return None;
        }
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if chance(middle) < FOUND { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_is_that_of_students_test() {
        // R: power.t.test(n = 10, sd = 1, power = 0.8, type = "one.sample") gives delta 0.9964; n =
        // 20 0.6604.
        for (n, delta) in [(10, 0.9964), (20, 0.6604)] {
            let found = shift_found_by_each(n, 0.05, 1).unwrap();
            assert!((found / delta - 1.0).abs() < 0.01, "{n}: {found}");
        }
        assert_eq!(shift_found_by_each(4, 0.05, 1), None);
        // Two runs must both show it, at the level for more lines.
        let two = shift_found_by_each(10, 0.05, 2).unwrap();
        assert!(two > 1.1 && shift_found_by_each(10, 0.005, 2).unwrap() > two, "{two}");
    }

    #[test]
    fn of_a_baseline_the_interval_must_be_cleared_by_both_runs() {
        // Without noise, a shift of the half width is enough.
        assert_eq!(shift_found_from_baseline(0.1, 0.0), Some(0.1));
        let found = shift_found_from_baseline(3.0, 1.0).unwrap();
        // One run alone would need 3 + √2 · 0.8416.
        assert!((4.19..4.7).contains(&found), "{found}");
        assert_eq!(shift_found_from_baseline(f64::INFINITY, 0.0), None);
        assert_eq!(shift_found_from_baseline(f64::NAN, 1.0), None);
    }

    #[test]
    fn five_values_show_a_shift_and_its_unit_does_not_matter() {
        assert!(shift_found_by_each(5, 0.05, 1).is_some());
        let [one, two] = [(3.0, 1.0), (6.0, 2.0)]
            .map(|(half_width, run_sd)| shift_found_from_baseline(half_width, run_sd).unwrap());
        assert!((two / one - 2.0).abs() < 1e-9, "{one} {two}");
    }
}
