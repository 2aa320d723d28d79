//! Random numbers from a seed, so that every sequence can be reproduced.

/// Steele, Lea and Flood: Fast splittable pseudorandom number generators (OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `n`, without the bias of a plain remainder: a draw from the last, incomplete
    /// interval of `n` numbers is rejected and repeated.
    pub fn below(&mut self, n: u64) -> u64 {
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let draw = self.draw();
            if draw < limit {
                return draw % n;
            }
        }
    }

    /// Every order is equally likely (Fisher and Yates), up to parts of 2⁻⁶⁴.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            let other = (u128::from(self.draw()) * (i as u128 + 1)) >> 64;
            values.swap(i, other as usize);
        }
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// With mean 0 and standard deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Marsaglia: Xorshift RNGs (2003). It takes three instructions per number and is used for the
/// bytes and orders of generated data. The seed must not be 0.
#[derive(Clone, Debug)]
pub struct XorShift64(pub u64);

impl XorShift64 {
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_papers() {
        // From the reference implementation of S. Vigna, with seed 0.
        let mut random = SplitMix64(0);
        let drawn = [random.draw(), random.draw(), random.draw()];
        assert_eq!(drawn, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        let mut random = XorShift64(1);
        assert_eq!([random.draw(), random.draw()], [0x4082_2041, 0x1000_4106_0c01_1441]);
    }

    #[test]
    fn random_values_are_in_their_range() {
        let mut random = SplitMix64(7);
        assert!((0..1000).all(|_| random.below(6) < 6));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
        let mut values: Vec<u32> = (0..100).collect();
        random.shuffle(&mut values);
        assert!(!values.is_sorted());
        values.sort_unstable();
        assert!(values.iter().copied().eq(0..100));
    }
}
