//! The estimate of a shift from paired differences (Hodges and Lehmann 1963) with the interval that
//! inverts the signed-rank test.

use super::median_of;
use super::signed_rank::SignedRank;
use super::walsh::{Walsh, is_ordinary};

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
    match values.len() {
        1..=FEW => of_few(values),
        _ => Some(Walsh::new(values)?.median()),
    }
}

/// The rounds of a session are nearly always at most this many, and a run may have many sessions.
const FEW: usize = 8;

/// The same without memory of the heap.
fn of_few(values: &[f64]) -> Option<f64> {
    let mut averages = [0.0; FEW * (FEW + 1) / 2];
    let mut n = 0;
    for (i, x) in values.iter().enumerate() {
        if !is_ordinary(*x) {
            return None;
        }
        for y in &values[..=i] {
            averages[n] = (x + y) / 2.0;
            n += 1;
        }
    }
    Some(median_of(&mut averages[..n]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn few_values_have_the_same_median_as_many(
            values in prop::collection::vec(prop_oneof![-1.0..1.0f64, Just(0.0), any::<f64>()], 1..=FEW),
        ) {
            let expected = Walsh::new(&values).map(|walsh| walsh.median().to_bits());
            prop_assert_eq!(pseudomedian(&values).map(f64::to_bits), expected);
        }
    }
}
