//! Statistics that other programs show for samples: the mean, the standard deviation, and Student's
//! interval of the mean. They decide nothing here, because times are not normally distributed.

use statrs::distribution::{ContinuousCDF, StudentsT};

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
