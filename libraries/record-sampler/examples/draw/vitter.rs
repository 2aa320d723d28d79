//! Vitter's method D ("An Efficient Algorithm for Sequential Random Sampling", 1987), with method A
//! where few records are left, as a contender.

use record_sampler::Rng;

const ALPHA_INVERSE: f64 = 13.0;

pub(crate) struct VitterD {
    rng: Rng,
    n: f64,
    left: f64,
    v: f64,
    rank: u64,
}

impl VitterD {
    pub(crate) fn new(mut rng: Rng, n: u64, total: u64) -> VitterD {
        let v = (rng.unit().ln() / n as f64).exp();
        VitterD { rng, n: n as f64, left: total as f64, v, rank: 0 }
    }

    fn skip_by_d(&mut self) -> f64 {
        let (n, left) = (self.n, self.left);
        let places = left - n + 1.0;
        let inverse = 1.0 / (n - 1.0);
        loop {
            let (mut x, mut skip);
            loop {
                x = left * (1.0 - self.v);
                skip = x.floor();
                if skip < places {
                    break;
                }
                self.v = (self.rng.unit().ln() / n).exp();
            }
            let y = ((self.rng.unit() * left / places).ln() * inverse).exp();
            self.v = y * (1.0 - x / left) * (places / (places - skip));
            if self.v <= 1.0 {
                return skip;
            }
            if left / (left - x) >= y * (product(n, left, skip, places).ln() * inverse).exp() {
                self.v = (self.rng.unit().ln() * inverse).exp();
                return skip;
            }
            self.v = (self.rng.unit().ln() / n).exp();
        }
    }

    fn skip_by_a(&mut self) -> f64 {
        let u = self.rng.unit();
        let (mut top, mut left, mut skip) = (self.left - self.n, self.left, 0.0);
        let mut quotient = top / left;
        while quotient > u {
            skip += 1.0;
            top -= 1.0;
            left -= 1.0;
            quotient *= top / left;
        }
        skip
    }
}

fn product(n: f64, left: f64, skip: f64, places: f64) -> f64 {
    let (mut top, mut y) = (left - 1.0, 1.0);
    let (mut bottom, limit) =
        if n - 1.0 > skip { (left - n, left - skip) } else { (left - skip - 1.0, places) };
    while top >= limit {
        y *= top / bottom;
        top -= 1.0;
        bottom -= 1.0;
    }
    y
}

impl Iterator for VitterD {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let skip = match self.n {
            n if n < 1.0 => return None,
            n if n < 2.0 => (self.left * self.rng.unit()).floor().min(self.left - 1.0),
            n if n * ALPHA_INVERSE < self.left => self.skip_by_d(),
            _ => self.skip_by_a(),
        };
        let rank = self.rank + skip as u64;
        self.rank = rank + 1;
        self.left -= skip + 1.0;
        self.n -= 1.0;
        Some(rank)
    }
}
