//! Chooses each record independently with the same probability: the gaps between chosen records are
//! geometric.

use crate::random::{Rng, ln, ln_one_minus};

/// An endless, ascending sequence of chosen ranks, each with probability `p`.
///
/// ```
/// use record_sampler::{Bernoulli, Rng};
/// let chosen = Bernoulli::new(Rng::new(5), 0.01).take_while(|rank| *rank < 100_000).count();
/// assert!((900..1100).contains(&chosen));
/// assert_eq!(Bernoulli::new(Rng::new(5), 1.0).take(3).collect::<Vec<_>>(), [0, 1, 2]);
/// assert_eq!(Bernoulli::new(Rng::new(5), 0.0).next(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Bernoulli {
    rng: Rng,
    /// ln(1 − p); −∞ chooses all, 0 chooses none.
    scale: f64,
    next: u64,
}

impl Bernoulli {
    /// `p` below 0 counts as 0, above 1 as 1.
    ///
    /// ```
    /// use record_sampler::{Bernoulli, Rng};
    /// assert_eq!(Bernoulli::new(Rng::new(5), 7.0).next(), Some(0));
    /// ```
    pub fn new(rng: Rng, p: f64) -> Bernoulli {
        let scale = match p {
            p if p >= 1.0 => f64::NEG_INFINITY,
            p if p > 0.0 => ln_one_minus(p),
            _ => 0.0,
        };
        Bernoulli { rng, scale, next: 0 }
    }
}

impl Iterator for Bernoulli {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.scale == 0.0 {
            return None;
        }
        let gap = ln(self.rng.unit()) / self.scale;
        // Beyond what any file holds; the conversion saturates.
        let rank = self.next.checked_add(gap as u64)?;
        self.next = rank.checked_add(1)?;
        Some(rank)
    }
}
