//! Which way to draw n of N ranks in order is the fastest: `cargo run --release --example draw`.
//! All ways in turn in every round; the median of the rounds is printed.

mod vitter;

use std::collections::HashSet;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Duration;

use record_sampler::{Exactly, Rng};

type DrawMethod = fn(Rng, u64, u64) -> u64;

/// Each gives the sum of the ranks, so that they come to be.
const METHODS: [(&str, DrawMethod); 4] = [
    ("hidden shuffle", |rng, n, total| Exactly::new(rng, n, total).fold(0, u64::wrapping_add)),
    ("Vitter D", |rng, n, total| vitter::VitterD::new(rng, n, total).fold(0, u64::wrapping_add)),
    ("Floyd, sorted", |rng, n, total| floyd(rng, n, total).into_iter().fold(0, u64::wrapping_add)),
    ("selection", |rng, n, total| selection(rng, n, total)),
];

/// Floyd's set of n, which must be kept and sorted.
fn floyd(mut rng: Rng, n: u64, total: u64) -> Vec<u64> {
    let mut chosen = HashSet::with_capacity(n as usize);
    for bound in total - n..total {
        let rank = rng.below(bound + 1);
        if !chosen.insert(rank) {
            chosen.insert(bound);
        }
    }
    let mut ranks: Vec<u64> = chosen.into_iter().collect();
    ranks.sort_unstable();
    ranks
}

/// Knuth's algorithm S: a number for each record.
fn selection(mut rng: Rng, n: u64, total: u64) -> u64 {
    let (mut left, mut sum) = (n, 0u64);
    for rank in 0..total {
        if rng.below(total - rank) < left {
            left -= 1;
            sum = sum.wrapping_add(rank);
        }
    }
    sum
}

#[expect(clippy::disallowed_methods, reason = "an example of a library that has no clock")]
fn time(method: DrawMethod, seed: u64, n: u64, total: u64) -> Duration {
    let start = std::time::Instant::now();
    black_box(method(Rng::new(black_box(seed)), n, total));
    start.elapsed()
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let total = 10_000_000;
    for n in [1000, 100_000, 1_000_000, 9_000_000] {
        let mut times = [const { Vec::new() }; METHODS.len()];
        for seed in 0..11 {
            for (times, (_, method)) in times.iter_mut().zip(METHODS) {
                times.push(time(method, seed, n, total));
            }
        }
        for (times, (name, _)) in times.iter_mut().zip(METHODS) {
            times.sort();
            let each_ns = times[times.len() / 2].as_secs_f64() * 1e9 / n as f64;
            writeln!(out, "{n:>8} of {total}  {name:<16} {each_ns:>9.1} ns each")?;
        }
    }
    Ok(())
}
