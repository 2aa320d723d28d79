//! Tests whether the draws are fair: exact enumeration of small cases, chi-square over places and
//! pairs.

use std::collections::BTreeMap;

use super::*;
use crate::random::Rng;

const REPEATS: u64 = 120_000;

/// Twelve standard deviations above the mean of a chi-square with these degrees of freedom: a sound
/// draw never gets there, and with a fixed seed it does so either always or never.
fn limit(degrees: usize) -> f64 {
    let degrees = degrees as f64;
    degrees + 6.0 * (2.0 * degrees).sqrt() + 20.0
}

fn chi_square(observed: &[u64], expected: f64) -> f64 {
    observed.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum()
}

/// How probable it is that the number of successes is at least as far from what is expected, in its
/// direction, of trials that each succeed with the probability `p`: twice the exact tail.
pub(crate) fn binomial_p_value(successes: u64, trials: u64, p: f64) -> f64 {
    let (mut lower, mut upper) = (0.0, 0.0);
    let mut ln_term = trials as f64 * (1.0 - p).ln();
    for k in 0..=trials {
        let term = ln_term.exp();
        if k <= successes {
            lower += term;
        }
        if k >= successes {
            upper += term;
        }
        ln_term += ((trials - k) as f64 / (k + 1) as f64 * p / (1.0 - p)).ln();
    }
    2.0 * f64::min(lower, upper)
}

#[test]
fn a_binomial_tail_is_exact() {
    let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-12, "{got}");
    // Of ten coins: none, one, and at most three heads.
    close(binomial_p_value(0, 10, 0.5), 2.0 / 1024.0);
    close(binomial_p_value(9, 10, 0.5), 22.0 / 1024.0);
    close(binomial_p_value(3, 10, 0.5), 2.0 * 176.0 / 1024.0);
    close(binomial_p_value(2, 2, 0.1), 0.02);
}

/// The ranks for a seed, n and N.
type Draw = fn(u64, u64, u64) -> Vec<u64>;

/// Methods to draw n of N, which must all be equivalent.
fn ways() -> Vec<(&'static str, Draw)> {
    vec![
        ("exactly", |seed, n, total| Exactly::new(Rng::new(seed), n, total).collect()),
        ("reservoir", |seed, n, total| {
            let mut reservoir = Reservoir::new(Rng::new(seed), n as usize);
            while reservoir.next_rank() < total {
                reservoir.offer(reservoir.next_rank());
            }
            sorted(reservoir.into_items())
        }),
        ("equal weights", |seed, n, total| {
            let mut reservoir = WeightedReservoir::new(Rng::new(seed), n as usize);
            for rank in 0..total {
                if reservoir.wants(2.5).unwrap() {
                    reservoir.offer(rank);
                }
            }
            sorted(reservoir.into_items())
        }),
        ("partition", |seed, n, total| {
            let parts = Partition::new(Rng::new(seed), vec![n, total - n]);
            (0..).zip(parts).filter(|(_, part)| *part == 0).map(|(rank, _)| rank).collect()
        }),
    ]
}

fn sorted(mut ranks: Vec<u64>) -> Vec<u64> {
    ranks.sort_unstable();
    ranks
}

#[test]
fn every_subset_of_up_to_eight_records_is_equally_probable() {
    for (name, draw) in ways() {
        for total in 1..=8u64 {
            for n in 0..=total {
                let subsets = (0..1u32 << total).filter(|set| u64::from(set.count_ones()) == n);
                let mut counts: BTreeMap<u32, u64> = subsets.map(|set| (set, 0)).collect();
                let repeats = if total < 8 { REPEATS / 8 } else { REPEATS };
                for seed in 0..repeats {
                    let ranks = draw(seed, n, total);
                    assert!(ranks.is_sorted() && ranks.len() as u64 == n, "{name} {n} of {total}");
                    let set = ranks.iter().fold(0, |set, rank| set | 1 << rank);
                    *counts.get_mut(&set).expect("a subset of n different ranks") += 1;
                }
                let counts: Vec<u64> = counts.into_values().collect();
                let chi = chi_square(&counts, repeats as f64 / counts.len() as f64);
                assert!(chi < limit(counts.len() - 1), "{name} {n} of {total}: {chi}");
            }
        }
    }
}

#[test]
fn places_and_pairs_of_places_are_equally_probable() {
    for (name, draw) in ways() {
        for (n, total) in [(1, 40u64), (5, 40), (20, 40), (35, 40)] {
            let mut places = vec![0u64; total as usize];
            let mut pairs = vec![0u64; (total * total) as usize];
            for seed in 0..REPEATS {
                let ranks = draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), n, total);
                for (i, a) in ranks.iter().enumerate() {
                    places[*a as usize] += 1;
                    ranks[i + 1..].iter().for_each(|b| pairs[(a * total + b) as usize] += 1);
                }
            }
            // Inclusion is n/N exactly; counts of one draw are negatively correlated, which makes
            // the sum smaller than a chi-square.
            let chi = chi_square(&places, (REPEATS * n) as f64 / total as f64);
            assert!(chi < limit(places.len() - 1), "{name} {n} of {total}: {chi}");
            if n > 1 {
                let pairs: Vec<u64> = (0..total)
                    .flat_map(|a| (a + 1..total).map(move |b| a * total + b))
                    .map(|pair| pairs[pair as usize])
                    .collect();
                let expected = (REPEATS * n * (n - 1)) as f64 / (total * (total - 1)) as f64;
                // Pairs of one draw that share a place are correlated: by up to n times.
                let chi = chi_square(&pairs, expected) / n as f64;
                assert!(chi < limit(pairs.len() - 1), "{name} {n} of {total}: {chi}");
            }
        }
    }
}

#[test]
fn draws_with_replacement_are_independent() {
    type DrawRanks = fn(u64) -> Vec<u64>;
    let from_stream = |seed: u64| {
        let mut slots = ReplacementSlots::new(Rng::new(seed), 3).unwrap();
        while let Some(rank) = slots.next_rank().filter(|rank| *rank < 5) {
            slots.offer(&rank);
        }
        sorted(slots.into_held())
    };
    let known = |seed| WithReplacement::new(Rng::new(seed), 3, 5).collect();
    let ways: [(&str, DrawRanks); 2] = [("known", known), ("stream", from_stream)];
    for (name, draw) in ways {
        let mut counts: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        for seed in 0..REPEATS {
            *counts.entry(draw(seed)).or_default() += 1;
        }
        // Three draws of five: 35 multisets, of 1, 3 or 6 orders each of 125.
        assert_eq!(counts.len(), 35, "{name}");
        let chi: f64 = counts
            .iter()
            .map(|(ranks, count)| {
                let mut different = ranks.clone();
                different.dedup();
                let orders = [1.0, 3.0, 6.0][different.len() - 1];
                let expected = REPEATS as f64 * orders / 125.0;
                (*count as f64 - expected).powi(2) / expected
            })
            .sum();
        assert!(chi < limit(34), "{name}: {chi}");
    }
}

#[test]
fn gaps_of_bernoulli_draws_are_those_of_coins() {
    let mut counts = BTreeMap::new();
    for seed in 0..REPEATS {
        let ranks = Bernoulli::new(Rng::new(seed), 0.3).take_while(|rank| *rank < 6);
        let set = ranks.fold(0u32, |set, rank| set | 1 << rank);
        *counts.entry(set).or_insert(0u64) += 1;
    }
    let chi: f64 = (0..64u32)
        .map(|set| {
            let ones = set.count_ones() as i32;
            let expected = REPEATS as f64 * 0.3f64.powi(ones) * 0.7f64.powi(6 - ones);
            (counts[&set] as f64 - expected).powi(2) / expected
        })
        .sum();
    assert!(chi < limit(63), "{chi}");
}

#[test]
fn weighted_draws_follow_the_closed_form() {
    let weights = [1.0, 2.0, 3.0, 0.0, 10.0];
    let total: f64 = weights.iter().sum();
    let mut counts: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
    for seed in 0..REPEATS {
        let mut reservoir = WeightedReservoir::new(Rng::new(seed), 2);
        for (rank, weight) in weights.iter().enumerate() {
            if reservoir.wants(*weight).unwrap() {
                reservoir.offer(rank);
            }
        }
        let mut ranks = reservoir.into_items();
        ranks.sort_unstable();
        *counts.entry(ranks).or_default() += 1;
    }
    assert_eq!(counts.len(), 6, "the weight of 0 is never chosen: {counts:?}");
    let chi: f64 = counts
        .iter()
        .map(|(ranks, count)| {
            let (a, b) = (weights[ranks[0]], weights[ranks[1]]);
            // First a, then b of what is left; or the other way round.
            let probability = a / total * b / (total - a) + b / total * a / (total - b);
            let expected = REPEATS as f64 * probability;
            (*count as f64 - expected).powi(2) / expected
        })
        .sum();
    assert!(chi < limit(5), "{chi}");
}

#[test]
fn large_draws_have_the_right_spacing() {
    // The k-th of n of N has the mean (k + 1)(N + 1)/(n + 1) − 1.
    let (n, total, repeats) = (1000u64, 1_000_000_007u64, 2000u64);
    let mut sums = [0f64; 3];
    let ranks_of_interest = [0usize, 499, 999];
    for seed in 0..repeats {
        let ranks: Vec<u64> = Exactly::new(Rng::new(seed), n, total).collect();
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]) && ranks[999] < total);
        for (sum, k) in sums.iter_mut().zip(ranks_of_interest) {
            *sum += ranks[k] as f64;
        }
    }
    for (sum, k) in sums.iter().zip(ranks_of_interest) {
        let share = (k + 1) as f64 / (n + 1) as f64;
        let expected = share * (total + 1) as f64 - 1.0;
        let deviation = (share * (1.0 - share) / n as f64 / repeats as f64).sqrt() * total as f64;
        assert!((sum / repeats as f64 - expected).abs() < 6.0 * deviation, "{k}");
    }
}

#[test]
fn a_seed_gives_the_same_ranks_for_ever() {
    let take = |ranks: &mut dyn Iterator<Item = u64>| ranks.take(5).collect::<Vec<u64>>();
    let rng = || Rng::new(2026);
    let mut reservoir = Reservoir::new(rng(), 5);
    while reservoir.next_rank() < 1_000_000 {
        reservoir.offer(reservoir.next_rank());
    }
    let mut weighted = WeightedReservoir::new(rng(), 5);
    for rank in 0..1000u64 {
        if weighted.wants(rank as f64).unwrap() {
            weighted.offer(rank);
        }
    }
    let mut slots = ReplacementSlots::new(rng(), 5).unwrap();
    while let Some(rank) = slots.next_rank().filter(|rank| *rank < 1_000_000) {
        slots.offer(&rank);
    }
    let parts = Partition::new(rng(), vec![500, 500]);
    let drawn = [
        take(&mut Exactly::new(rng(), 5, 10_000_000)),
        take(&mut Exactly::new(rng(), 900, 1000)),
        take(&mut Bernoulli::new(rng(), 0.001)),
        take(&mut WithReplacement::new(rng(), 5, 10)),
        slots.into_held(),
        reservoir.into_items(),
        sorted(weighted.into_items()),
        take(&mut parts.map(|part| part as u64)),
    ];
    assert_eq!(drawn, GOLDEN);
}

const GOLDEN: [[u64; 5]; 8] = [
    [929_184, 1_638_684, 2_035_985, 8_615_813, 8_733_184],
    [0, 1, 2, 3, 4],
    [850, 1338, 1664, 1810, 5308],
    [1, 2, 3, 3, 9],
    [589_023, 366_317, 681_782, 237_363, 876_681],
    [277_732, 144_683, 29_203, 392_245, 303_143],
    [298, 461, 504, 776, 958],
    [0, 1, 1, 1, 0],
];
