//! The estimate of a shift from paired differences (Hodges and Lehmann 1963) with the interval that
//! inverts the signed-rank test.

use super::signed_rank::SignedRank;
use super::walsh::Walsh;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    pub n: usize,
    pub estimate: f64,
    /// None if n is too small for the level.
    pub interval: Option<(f64, f64)>,
    /// The p of the two-sided test that the interval inverts. In the signed-rank test a tie with 0
    /// counts against a difference, so that p ≤ α exactly if the interval excludes 0, whatever ties
    /// there are.
    pub p: f64,
}

/// None if there is no value, or one that is not finite.
pub fn hodges_lehmann(differences: &[f64], alpha: f64) -> Option<Shift> {
    let n = differences.len();
    let walsh = Walsh::new(differences)?;
    let null = SignedRank::new(n);
    let k = null.bound(alpha);
    let interval = (k > 0).then(|| (walsh.nth(k), walsh.nth(walsh.count() + 1 - k)));
    let (below, above) = walsh.signs();
    let p = null.p_value(walsh.count() - below.max(above));
    Some(Shift { n, estimate: walsh.median(), interval, p })
}

/// The median of the Walsh averages (Hodges and Lehmann 1963): for symmetric values, their median.
/// None if there is no value, or one that is not finite.
pub fn pseudomedian(values: &[f64]) -> Option<f64> {
    Some(Walsh::new(values)?.median())
}
