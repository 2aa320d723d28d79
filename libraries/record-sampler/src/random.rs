//! Random numbers: one generator, whose outputs are fixed for ever by its seed, and the two
//! functions of real numbers that the draws need. Not for secrets.

/// A seeded generator: xoshiro256++ 1.0 (Blackman and Vigna, 2018), its state filled by
/// `SplitMix64`.
///
/// The same seed gives the same numbers on every machine and in every version of this crate.
///
/// ```
/// let mut rng = record_sampler::Rng::new(42);
/// assert_eq!(rng.next_u64(), 15_021_278_609_987_233_951);
/// ```
#[derive(Clone, Debug)]
pub struct Rng([u64; 4]);

impl Rng {
    /// A generator with this seed.
    ///
    /// ```
    /// use record_sampler::Rng;
    /// assert_eq!(Rng::new(1).next_u64(), Rng::new(1).next_u64());
    /// assert_ne!(Rng::new(1).next_u64(), Rng::new(2).next_u64());
    /// ```
    pub fn new(seed: u64) -> Rng {
        let mut state = seed;
        Rng([0; 4].map(|_: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    /// The next 64 bits.
    ///
    /// ```
    /// let mut rng = record_sampler::Rng::new(0);
    /// assert_ne!(rng.next_u64(), rng.next_u64());
    /// ```
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A whole number below `n`, each with exactly the same probability; 0 if `n` is 0.
    ///
    /// ```
    /// let mut rng = record_sampler::Rng::new(7);
    /// assert!((0..100).all(|_| rng.below(6) < 6));
    /// ```
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire, "Fast Random Integer Generation in an Interval", 2019.
        let wide = |x: u64| u128::from(x) * u128::from(n);
        let mut product = wide(self.next_u64());
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = wide(self.next_u64());
            }
        }
        (product >> 64) as u64
    }

    /// A number in (0, 1], a multiple of 2⁻⁵³.
    ///
    /// ```
    /// let u = record_sampler::Rng::new(7).unit();
    /// assert!(0.0 < u && u <= 1.0);
    /// ```
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((self.next_u64() >> 11) + 1) as i64 as f64 * STEP
    }
}

/// The natural logarithm of a positive normal number, within 1 ulp, as in FDLIBM `e_log.c` (Sun,
/// 1993). The system's may differ in the last bit from machine to machine, so that another record
/// would be drawn.
#[inline(always)]
#[expect(clippy::many_single_char_names, reason = "the names of the source")]
pub(crate) fn ln(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const L: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    // x = 2^k (1 + f) with 1 + f between √2/2 and √2.
    const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_0000_0000;
    let shifted = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF_BITS);
    let k = f64::from((shifted >> 52) as i32 - 1023);
    let f = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF_BITS) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (L[1] + w * (L[3] + w * L[5]));
    let odd = z * (L[0] + w * (L[2] + w * (L[4] + w * L[6])));
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + even + odd) + k * LN2_LOW)) - f)
}

/// e to a power of at most 0, within 1 ulp, as in FDLIBM `e_exp.c`; 0 where that is below 2⁻¹⁰⁰⁰.
#[inline(always)]
#[expect(clippy::many_single_char_names, reason = "the names of the source")]
pub(crate) fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const P: [f64; 5] = [
        1.666_666_666_666_660_2e-1,
        -2.777_777_777_701_559_3e-3,
        6.613_756_321_437_934e-5,
        -1.653_390_220_546_525_2e-6,
        4.138_136_797_057_238_5e-8,
    ];
    // Without a branch, so that several are computed at once.
    let is_zero = x.is_nan() || x <= -693.0;
    let x = if is_zero { 0.0 } else { x };
    let k = (x * std::f64::consts::LOG2_E - 0.5) as i32;
    let high = x - f64::from(k) * LN2_HIGH;
    let low = f64::from(k) * LN2_LOW;
    let r = high - low;
    let t = r * r;
    let c = r - t * (P[0] + t * (P[1] + t * (P[2] + t * (P[3] + t * P[4]))));
    let y = 1.0 + (r * c / (2.0 - c) - low + high);
    let y = y * f64::from_bits((i64::from(1023 + k) as u64) << 52);
    if is_zero { 0.0 } else { y }
}

/// ln(1 − x) for x in [0, 1).
#[inline]
pub(crate) fn ln_one_minus(x: f64) -> f64 {
    if x < 1e-5 { -x * (1.0 + x * (0.5 + x / 3.0)) } else { ln(1.0 - x) }
}

/// The shuffle of Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    // These are other numbers than those that chose the records.
    let mut rng = Rng::new(seed ^ 0x5eed_5eed_5eed_5eed);
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first outputs of the reference C code of xoshiro256++ for the state 1, 2, 3, 4.
        let mut rng = Rng([1, 2, 3, 4]);
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!([0; 4].map(|_| rng.next_u64()), expected);
        // And of SplitMix64 for the state 0.
        assert_eq!(Rng::new(0).0[..2], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn a_number_below_n_is_uniform() {
        let mut rng = Rng::new(3);
        let mut counts = [0u32; 7];
        for _ in 0..700_000 {
            counts[rng.below(7) as usize] += 1;
        }
        let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1e5).powi(2) / 1e5).sum();
        // 6 degrees of freedom: beyond this once in 10⁷.
        assert!(chi < 43.0, "{chi}");
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
    }

    #[test]
    fn the_logarithm_and_the_power_are_within_two_ulps() {
        let mut rng = Rng::new(9);
        let close = |got: f64, expected: f64| {
            assert!((got - expected).abs() <= expected.abs() * 4.5e-16, "{got:e} {expected:e}");
        };
        for _ in 0..100_000 {
            let (u, scale) = (rng.unit(), rng.unit());
            close(ln(u), u.ln());
            close(exp((-u / scale).max(-690.0)), (-u / scale).max(-690.0).exp());
            close(exp(-u * 600.0), (-u * 600.0).exp());
            let tiny = u * 1e-4;
            assert!((ln_one_minus(tiny) / (-tiny).ln_1p() - 1.0).abs() < 1e-10);
        }
        assert_eq!((ln(1.0), exp(0.0), exp(-1e9), exp(f64::NAN)), (0.0, 1.0, 0.0, 0.0));
    }
}
