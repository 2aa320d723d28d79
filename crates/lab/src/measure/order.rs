//! The random order of the methods in a round; it depends only on the stored seed.

use crate::random::SplitMix64;

/// A uniformly random order of `0..n` for this round of this session.
pub(crate) fn order(seed: u64, session: u32, round: u32, n: usize) -> Vec<usize> {
    let mut random = SplitMix64(
        seed ^ (u64::from(session) << 32 | u64::from(round)).wrapping_mul(0x9e37_79b9_7f4a_7c15),
    );
    // The first outputs of neighbouring seeds are well mixed, but not independent of the seed's
    // bits.
    random.draw();
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_depends_on_seed_session_and_round_alone() {
        assert_eq!(order(7, 1, 2, 10), order(7, 1, 2, 10));
        let others = [order(8, 1, 2, 10), order(7, 2, 2, 10), order(7, 1, 3, 10)];
        assert!(others.iter().all(|other| *other != order(7, 1, 2, 10)));
    }

    #[test]
    fn every_method_takes_every_place_equally_often() {
        const N: usize = 6;
        const ROUNDS: u32 = 6000;
        let mut places = [[0u32; N]; N];
        let mut follows = [[0u32; N]; N];
        for round in 0..ROUNDS {
            let order = order(42, 0, round, N);
            for (place, method) in order.iter().enumerate() {
                places[*method][place] += 1;
            }
            for pair in order.windows(2) {
                follows[pair[0]][pair[1]] += 1;
            }
        }
        let chi_square = |counts: &[u32], expected: f64| -> f64 {
            counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum()
        };
        // 25 degrees of freedom: above 52.6 with a probability of 0.001.
        let all: Vec<u32> = places.iter().flatten().copied().collect();
        assert!(chi_square(&all, f64::from(ROUNDS) / N as f64) < 52.6, "{places:?}");
        // Each ordered pair is adjacent in 1 / N of the rounds; with 29 degrees of freedom the
        // bound is 58.3.
        let pairs: Vec<u32> =
            (0..N * N).filter(|i| i / N != i % N).map(|i| follows[i / N][i % N]).collect();
        assert!(chi_square(&pairs, f64::from(ROUNDS) / N as f64) < 58.3, "{follows:?}");
    }
}
