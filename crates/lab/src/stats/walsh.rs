//! The Walsh averages (xᵢ + xⱼ)/2, i ≤ j, of n values: selects any of the n(n+1)/2 in order,
//! without storing them. It takes O(n log n) steps and O(n) memory.

/// When at most this many candidates remain, or as many as there are values, they are collected
/// instead of choosing another pivot.
const GATHER: u64 = 64;

/// Halving the distance separates ordinary values in a few steps; after this number of steps the
/// distance in representable numbers is halved, which ends after 64 steps for any values.
const ORDINARY_STEPS: u32 = 24;

pub struct Walsh {
    sorted: Vec<f64>,
}

impl Walsh {
    /// None if there is no value, or one that is not a number of ordinary size.
    pub fn new(values: &[f64]) -> Option<Walsh> {
        if values.is_empty() || !values.iter().copied().all(is_ordinary) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Walsh { sorted })
    }

    pub fn count(&self) -> u64 {
        let n = self.sorted.len() as u64;
        n * (n + 1) / 2
    }

    pub fn median(&self) -> f64 {
        let count = self.count();
        let [middle, next] = self.nth_and_next(count.div_ceil(2));
        if count % 2 == 1 { middle } else { f64::midpoint(middle, next) }
    }

    /// The k-th smallest average, counted from 1; k is limited to the valid range.
    pub fn nth(&self, k: u64) -> f64 {
        self.nth_and_next(k)[0]
    }

    /// The k-th smallest average and the one after it.
    fn nth_and_next(&self, k: u64) -> [f64; 2] {
        let k = k.clamp(1, self.count());
        let n = self.sorted.len();
        // All values are sums of two; those in (low, high] are the candidates.
        let mut low = (2.0 * self.sorted[0]).next_down();
        let mut high = 2.0 * self.sorted[n - 1];
        let (mut up_to_low, mut up_to_high) = (0, self.count());
        let mut step = 0;
        while up_to_high - up_to_low > GATHER.max(n as u64) {
            // The share of the candidates is about that of the distance, but not with outliers.
            let share = (k - up_to_low) as f64 / (up_to_high - up_to_low) as f64;
            let pivot = match step {
                ORDINARY_STEPS.. => middle_number(low, high),
                _ if step % 2 == 0 => low + (high - low) * share,
                _ => f64::midpoint(low, high),
            };
            step += 1;
            if pivot <= low || pivot >= high {
                if step <= ORDINARY_STEPS {
                    step = ORDINARY_STEPS;
                    continue;
                }
                // There is no number between the bounds: all candidates equal the upper end.
                let next = if k < up_to_high { high } else { self.smallest_above(high) };
                return [high / 2.0, next / 2.0];
            }
            let up_to_pivot = self.sums_up_to(pivot);
            if up_to_pivot >= k {
                (high, up_to_high) = (pivot, up_to_pivot);
            } else {
                (low, up_to_low) = (pivot, up_to_pivot);
            }
        }
        let mut candidates = self.sums_between(low, high);
        let index = (k - up_to_low - 1) as usize;
        let (_, nth, above) = candidates.select_nth_unstable_by(index, f64::total_cmp);
        let next = above.iter().copied().min_by(f64::total_cmp);
        [*nth / 2.0, next.unwrap_or_else(|| self.smallest_above(high)) / 2.0]
    }

    /// The smallest sum of two above this one; infinity if there is none.
    fn smallest_above(&self, limit: f64) -> f64 {
        let next = |(i, x, end): (usize, f64, usize)| Some(x + self.sorted.get(end.max(i))?);
        self.ends(limit).filter_map(next).fold(f64::INFINITY, f64::min)
    }

    /// How many averages are below 0, and how many above. Averages of exactly 0 are in neither.
    pub fn signs(&self) -> (u64, u64) {
        (self.sums_up_to(0.0f64.next_down()), self.count() - self.sums_up_to(0.0))
    }

    /// How many sums of two are ≤ limit.
    fn sums_up_to(&self, limit: f64) -> u64 {
        let ends = self.ends(limit).take_while(|(i, _, end)| end > i);
        ends.map(|(i, _, end)| (end - i) as u64).sum()
    }

    /// By first value, its index, and the end of the second values, from that index on, with which
    /// the sum is ≤ limit. Rounded addition is monotone, so that the matching second values are a
    /// prefix, and the prefixes shrink.
    fn ends(&self, limit: f64) -> impl Iterator<Item = (usize, f64, usize)> {
        let mut end = self.sorted.len();
        self.sorted.iter().enumerate().map(move |(i, x)| {
            while end > i && x + self.sorted[end - 1] > limit {
                end -= 1;
            }
            (i, *x, end)
        })
    }

    /// The sums of two in (low, high].
    fn sums_between(&self, low: f64, high: f64) -> Vec<f64> {
        let mut sums = Vec::new();
        for (i, x, end) in self.ends(high).take_while(|(i, _, end)| end > i) {
            let fitting = self.sorted[i..end].iter().rev().map(|y| x + y);
            sums.extend(fitting.take_while(|sum| *sum > low));
        }
        sums
    }
}

/// Whether sums of two such numbers are finite.
pub(super) fn is_ordinary(x: f64) -> bool {
    x.abs() < f64::MAX / 4.0
}

/// The number with equally many representable numbers between it and each bound.
fn middle_number(low: f64, high: f64) -> f64 {
    let (low, high) = (order(low.to_bits() as i64), order(high.to_bits() as i64));
    let middle = (low & high) + ((low ^ high) >> 1);
    f64::from_bits(order(middle) as u64)
}

/// Converts the bits of a number to an integer with the same order, and back.
fn order(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(values: &[f64]) {
        let walsh = Walsh::new(values).unwrap();
        let mut all: Vec<f64> = (0..values.len())
            .flat_map(|i| (i..values.len()).map(move |j| (i, j)))
            .map(|(i, j)| f64::midpoint(values[i], values[j]))
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        assert_eq!(walsh.count(), all.len() as u64);
        for (k, expected) in (1..).zip(&all) {
            let next = all.get(k as usize).copied().unwrap_or(f64::INFINITY);
            let found = (k, walsh.nth_and_next(k));
            assert_eq!(found, (k, [*expected, next]), "{values:?}");
        }
        let signs = all.iter().fold((0, 0), |(below, above), x| {
            (below + u64::from(*x < 0.0), above + u64::from(*x > 0.0))
        });
        assert_eq!(walsh.signs(), signs, "{values:?}");
    }

    #[test]
    fn hostile_values_are_ordered_too() {
        check(&[0.0]);
        check(&[0.0; 40]);
        check(&[-0.0, 0.0, 0.0, -0.0]);
        check(&[f64::MIN_POSITIVE; 30]);
        let extremes: Vec<f64> =
            (0..40).map(|i| if i % 3 == 0 { 1e300 } else { 1e-300 * f64::from(i) }).collect();
        check(&extremes);
        let steps: Vec<f64> = (0..60).map(|i| f64::from(i % 4) - 1.5).collect();
        check(&steps);
        let powers: Vec<f64> = (0..50).map(|i| (-1f64).powi(i) * 2f64.powi(i * 10 - 250)).collect();
        check(&powers);
    }

    #[test]
    fn what_is_no_ordinary_number_is_refused() {
        for values in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY], &[-f64::MAX, 0.0]] {
            assert!(Walsh::new(values).is_none(), "{values:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn every_average_is_the_one_of_the_sorted_list(
            values in prop::collection::vec(prop_oneof![-1.0..1.0f64, -1e3..1e3f64, -1e-9..1e-9f64], 1..40),
        ) {
            check(&values);
        }
    }

    #[test]
    fn the_median_of_the_averages_is_between_two_where_their_number_is_even() {
        let median = |values: &[f64]| Walsh::new(values).map(|walsh| walsh.median());
        assert_eq!(median(&[3.0]), Some(3.0));
        // 1, 1.5, 2, 2.5, 3 and 4.
        assert_eq!(median(&[1.0, 2.0, 4.0]), Some(2.25));
        // The eighth of 1, 1.5, 2, 2.5, 3, 4, 4.5, 5, 6, 8, 8.5, 9, 10, 12 and 16.
        assert_eq!(median(&[1.0, 2.0, 4.0, 8.0, 16.0]), Some(5.0));
        // The largest ordinary number.
        let limit = f64::MAX / 4.0;
        assert_eq!((median(&[limit]), median(&[-limit])), (None, None));
        assert_eq!(median(&[limit.next_down()]), Some(limit.next_down()));
    }
}
