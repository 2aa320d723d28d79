//! The normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// The two-sided normal quantile: 1.96 at α = 0.05.
pub(super) fn z(alpha: f64) -> f64 {
    -Normal::standard().inverse_cdf((alpha / 2.0).clamp(0.0, 0.5))
}
