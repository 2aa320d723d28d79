//! How often looks at a run that goes on call two equal methods different.

use analysis::stats::{LOOKS, SignedRank, last_look, pseudomedian};
use model::random::SplitMix64;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// From this number of sessions on, the interval is that of the signed ranks.
const RANKED: usize = 20;

/// The rounds of each session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sessions {
    Rounds(u32),
    /// One round until slow methods have left, which is after the first look, then five.
    ShortThenLong,
}

impl Sessions {
    fn rounds(self, session: usize) -> u32 {
        match self {
            Sessions::Rounds(rounds) => rounds,
            Sessions::ShortThenLong => {
                if session < LOOKS[0] {
                    1
                } else {
                    5
                }
            }
        }
    }
}

/// What excludes 0 at a look: Student's t, or the smaller sum of the ranks.
pub(crate) enum Limit {
    T(f64),
    Ranks(u64),
}

/// The share of sets in which a look at two equal methods excludes 0, at an α for all looks. Their
/// processes differ by `spread` times as much as their rounds do.
pub(crate) fn spent(alpha: f64, spread: f64, sessions: Sessions, sets: u32, seed: u64) -> f64 {
    let limits = LOOKS.map(|n| Limit::new(n, last_look(n, alpha).expect("it is a look").alpha));
    let mut random = SplitMix64(seed ^ alpha.to_bits() ^ spread.to_bits().rotate_left(7));
    let mut differ = 0;
    for _ in 0..sets {
        let mut values: Vec<f64> = Vec::new();
        let excludes = |(n, limit): (&usize, &Limit)| {
            while values.len() < *n {
                let rounds = sessions.rounds(values.len());
                let process = spread * random.normal();
                let rounds: Vec<f64> = (0..rounds).map(|_| process + random.normal()).collect();
                values.push(pseudomedian(&rounds).expect("there are rounds"));
            }
            limit.is_passed(&values)
        };
        differ += u32::from(LOOKS.iter().zip(&limits).any(excludes));
    }
    f64::from(differ) / f64::from(sets)
}

impl Limit {
    pub(crate) fn new(n: usize, level: f64) -> Limit {
        if n >= RANKED {
            return Limit::Ranks(SignedRank::new(n).bound(level));
        }
        let null = StudentsT::new(0.0, 1.0, n as f64 - 1.0).expect("n > 1");
        Limit::T(-null.inverse_cdf(level / 2.0))
    }

    pub(crate) fn is_passed(&self, values: &[f64]) -> bool {
        let n = values.len();
        match self {
            Limit::T(limit) => {
                let mean = values.iter().sum::<f64>() / n as f64;
                let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
                mean.abs() > limit * (squares / (n * (n - 1)) as f64).sqrt()
            }
            Limit::Ranks(bound) => {
                let mut values = values.to_vec();
                values.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
                let ranks = (1u64..).zip(&values);
                let above: u64 = ranks.filter(|(_, x)| **x > 0.0).map(|(rank, _)| rank).sum();
                let all = n as u64 * (n as u64 + 1) / 2;
                above.min(all - above) < *bound
            }
        }
    }
}
