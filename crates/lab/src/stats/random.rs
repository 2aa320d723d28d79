//! Random numbers for permutations: from a fixed seed, so that the same series always has the same
//! answer.

/// `SplitMix64` (Steele, Lea and Flood 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Every order is equally likely (Fisher and Yates), but for 2⁻⁶⁴ parts.
    pub(super) fn shuffle(&mut self, values: &mut [f64]) {
        for i in (1..values.len()).rev() {
            let other = (u128::from(self.next()) * (i as u128 + 1)) >> 64;
            values.swap(i, other as usize);
        }
    }

    /// Box and Muller 1958.
    #[cfg(test)]
    pub(super) fn normal(&mut self) -> f64 {
        let mut unit = || (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let radius = (-2.0 * (1.0 - unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * unit()).cos()
    }
}
