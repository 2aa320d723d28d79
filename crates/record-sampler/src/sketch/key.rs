//! The key of a record: a random number that depends on nothing but the seed, the number of the
//! file, the offset in it and the weight, so that it does not matter who computes it.

use crate::random::{Rng, ln};

/// The random numbers of the records of one file: 64 bits for each offset.
pub(crate) struct Keys {
    first: u64,
    second: u64,
}

impl Keys {
    /// Two numbers, as by a single one the numbers of two of many files could be the same with
    /// another start.
    pub(crate) fn new(seed: u64, file: u64) -> Keys {
        let mut rng = Rng::new(Rng::new(seed).next_u64().wrapping_add(file));
        Keys { first: rng.next_u64(), second: rng.next_u64() }
    }

    /// A number in (0, 1], a multiple of 2⁻⁵³.
    fn unit(&self, offset: u64) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        let spread = self.first.wrapping_add(offset.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bits = mixed(mixed(spread) ^ self.second);
        ((bits >> 11) + 1) as f64 * STEP
    }

    /// The key of the record at this offset, unless it is above the limit: exponentially
    /// distributed, with the weight as its rate. The records with the least keys are a sample as if
    /// drawn one after the other by weight (Efraimidis and Spirakis, 2006).
    #[inline]
    pub(crate) fn key(&self, offset: u64, weight: f64, limit: f64) -> Option<f64> {
        const MARGIN: f64 = 1.0 + 1e-9;
        let unit = self.unit(offset);
        // −ln u is at least 1 − u, so that most records need no logarithm. The margin covers
        // rounding.
        if 1.0 - unit > limit * weight * MARGIN {
            return None;
        }
        let key = (0.0 - ln(unit)) / weight;
        (key <= limit).then_some(key)
    }
}

/// The output function of `SplitMix64`.
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_fixed_for_ever() {
        let key = |seed, file, offset| Keys::new(seed, file).key(offset, 1.0, f64::INFINITY);
        let keys = [key(0, 0, 0), key(1, 0, 0), key(0, 1, 0), key(0, 0, 1)].map(Option::unwrap);
        assert_eq!(keys.map(f64::to_bits), FIXED);
    }

    const FIXED: [u64; 4] = [
        4_594_831_184_175_250_872,
        4_608_227_774_905_423_979,
        4_590_266_826_590_222_293,
        4_596_668_473_906_141_674,
    ];

    #[test]
    fn numbers_of_neighbours_are_uniform_and_independent() {
        // Offsets of lines of 1 and of 64 bytes, and the same offset of many files.
        let by_offset = |step: u64| {
            let keys = Keys::new(5, 9);
            move |i: u64| keys.unit(i * step)
        };
        check(by_offset(1));
        check(by_offset(64));
        check(|i| Keys::new(5, i).unit(0));
        check(|i| Keys::new(i, 0).unit(0));
    }

    /// Chi-square over the cells of a number and its successor: 255 degrees of freedom.
    fn check(unit: impl Fn(u64) -> f64) {
        const N: u64 = 256_000;
        let mut cells = [0u32; 256];
        for i in 0..N {
            let place = |i| ((unit(i) * 16.0) as usize).min(15);
            cells[place(2 * i) * 16 + place(2 * i + 1)] += 1;
        }
        let expected = N as f64 / 256.0;
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        // Beyond these once in 10⁷.
        assert!((148.0..392.0).contains(&chi), "{chi}");
    }

    #[test]
    fn the_shortcut_leaves_out_nothing_that_is_within_the_limit() {
        let keys = Keys::new(1, 2);
        for (weight, limit) in [(1.0, 1e-3), (1e-9, 1e6), (1e200, 1e-203), (3.0, 0.0), (0.5, 8.0)] {
            for offset in 0..20_000 {
                let key = keys.key(offset, weight, f64::INFINITY).unwrap();
                assert_eq!(keys.key(offset, weight, limit), (key <= limit).then_some(key));
            }
        }
    }
}
