//! What whole gates of a revision against itself say of the gate: how many are red, whether single
//! comparisons keep their level, what sessions and builds have in common, and how small a slowdown
//! is found. Relabelling the sessions of one gate would show nothing of its false reds: it makes
//! the symmetry that it should test.

use model::random::SplitMix64;
use serde::Serialize;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, FisherSnedecor, StudentsT};

use super::{ALPHA, OK_ALPHA, SessionsMean};
use crate::stats::{self, LOOKS};

/// The share of gates in which a slowdown is found that is called found.
const FOUND: f64 = 0.8;
/// Gates that are made by chance for each slowdown.
const REPLICATES: usize = 2000;
/// Sets of gates for the interval of a slowdown, with fewer replicates each.
const BOOTSTRAPS: usize = 100;
const REPLICATES_OF_BOOTSTRAP: usize = 200;
/// A larger slowdown is not looked for.
const PERCENT_MAX: f64 = 1000.0;

/// A whole gate of a revision against itself.
#[derive(Clone, Debug)]
pub struct MeasuredGate {
    /// By benchmark, ln(new ÷ old) of the sessions of the first set.
    pub sessions: Vec<Vec<f64>>,
    /// By benchmark, how long one of its sessions takes.
    pub session_ns: Vec<f64>,
    pub is_red: bool,
}

/// What the gates say together.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    pub gates: usize,
    pub red: usize,
    /// The upper limit, at 95 % on one side, of the share of gates that are red.
    pub red_at_most: f64,
    /// Comparisons, one for each benchmark and gate, and the share of them whose p is at most 0.05
    /// at the first look, with its interval by gate.
    pub comparisons: usize,
    pub below_5_percent: f64,
    pub below_5_percent_interval: Option<(f64, f64)>,
    /// Of neighbouring sessions of a benchmark in a gate.
    pub correlation: f64,
    /// The standard deviation of what gates differ by beyond their sessions, in percent, and the p
    /// of the F test that it is 0.
    pub between_gates_percent: f64,
    pub between_gates_p: f64,
    pub middle: Option<DetectableSlowdown>,
    pub worst: Option<DetectableSlowdown>,
}

/// The smallest slowdown that is found, and confirmed, in 80 % of gates.
#[derive(Clone, Debug, Serialize)]
pub struct DetectableSlowdown {
    /// The index of the benchmark.
    pub benchmark: usize,
    /// None if none up to 1,000 % is.
    pub percent: Option<f64>,
    /// The share of gates in which a slowdown of 5 % is found, and confirmed.
    pub found_5_percent: f64,
    /// At 90 %, by drawing gates.
    pub interval: Option<(f64, f64)>,
}

/// `percent`: the limit of the gate. `time_ns`: the time of one gate.
pub fn prove(gates: &[MeasuredGate], percent: f64, time_ns: f64, seed: u64) -> Proof {
    let red = gates.iter().filter(|gate| gate.is_red).count();
    let single: Vec<Vec<f64>> = gates.iter().map(single_p).collect();
    let is_below = |p: &&f64| **p <= ALPHA;
    let comparisons = single.iter().map(Vec::len).sum::<usize>();
    let below = single.iter().flatten().filter(is_below).count();
    let shares: Vec<f64> = single
        .iter()
        .filter(|p| !p.is_empty())
        .map(|p| p.iter().filter(is_below).count() as f64 / p.len() as f64)
        .collect();
    let (between_gates_percent, between_gates_p) = between(gates);
    let (middle, worst) = detectable(gates, percent, time_ns, seed);
    Proof {
        gates: gates.len(),
        red,
        red_at_most: at_most(red, gates.len()),
        comparisons,
        below_5_percent: below as f64 / comparisons as f64,
        below_5_percent_interval: stats::mean_shift(&shares, ALPHA)
            .and_then(|shift| shift.interval)
            .map(|(low, high)| (low.max(0.0), high.min(1.0))),
        correlation: correlation(gates),
        between_gates_percent,
        between_gates_p,
        middle,
        worst,
    }
}

/// The largest share at which so few of `n` are red with 5 % (Clopper and Pearson 1934).
fn at_most(red: usize, n: usize) -> f64 {
    if red >= n {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let share = f64::midpoint(low, high);
        let all = Binomial::new(share, n as u64);
        let chance = all.map_or(0.0, |all| all.cdf(red as u64));
        if chance > 0.05 { low = share } else { high = share }
    }
    high
}

/// The p, on two sides, of the first sessions of each benchmark, whose number does not depend on
/// their values.
fn single_p(gate: &MeasuredGate) -> Vec<f64> {
    let first = gate.sessions.iter().filter_map(|sessions| sessions.get(..LOOKS[0]));
    let mean = first.filter_map(|sessions| SessionsMean::new(sessions, 0.0));
    mean.map(|mean| 2.0 * mean.p_above(0.0).min(mean.negative().p_above(0.0))).collect()
}

/// The series of all benchmarks and gates that have two values or more.
fn series(gates: &[MeasuredGate]) -> impl Iterator<Item = &[f64]> {
    gates.iter().flat_map(|gate| &gate.sessions).map(Vec::as_slice).filter(|x| x.len() > 1)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Independent sessions around their own mean are correlated by −1/n, which is added.
fn correlation(gates: &[MeasuredGate]) -> f64 {
    let (mut products, mut all) = (0.0, 0.0);
    for values in series(gates) {
        let mean = mean(values);
        let own = squares(values);
        let neighbours = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
        products += neighbours.sum::<f64>() + own / values.len() as f64;
        all += own;
    }
    if all > 0.0 { products / all } else { 0.0 }
}

/// Analysis of variance by gate, pooled over the benchmarks.
fn between(gates: &[MeasuredGate]) -> (f64, f64) {
    let benchmarks = gates.first().map_or(0, |gate| gate.sessions.len());
    let (mut within, mut within_free, mut across, mut across_free) = (0.0, 0.0, 0.0, 0.0);
    let mut sizes: Vec<f64> = Vec::new();
    for benchmark in 0..benchmarks {
        let of_gates: Vec<&[f64]> = gates
            .iter()
            .filter_map(|gate| gate.sessions.get(benchmark))
            .map(Vec::as_slice)
            .filter(|values| values.len() > 1)
            .collect();
        if of_gates.len() < 2 {
            continue;
        }
        let all: Vec<f64> = of_gates.concat();
        let own: f64 = of_gates.iter().map(|values| squares(values)).sum();
        within += own;
        within_free += (all.len() - of_gates.len()) as f64;
        across += squares(&all) - own;
        across_free += of_gates.len() as f64 - 1.0;
        sizes.extend(of_gates.iter().map(|values| values.len() as f64));
    }
    let (Ok(null), true) = (FisherSnedecor::new(across_free, within_free), within > 0.0) else {
        return (0.0, 1.0);
    };
    let (across, within) = (across / across_free, within / within_free);
    let variance = ((across - within) / mean(&sizes)).max(0.0);
    (100.0 * variance.sqrt().exp_m1(), null.sf(across / within))
}

// How small a slowdown is found: the sessions of a gate that was measured, the signs of which are
// drawn anew for pairs of neighbours, so that what neighbours have in common stays.

/// The middle benchmark and the worst one.
fn detectable(
    gates: &[MeasuredGate],
    percent: f64,
    time_ns: f64,
    seed: u64,
) -> (Option<DetectableSlowdown>, Option<DetectableSlowdown>) {
    let benchmarks = gates.first().map_or(0, |gate| gate.sessions.len());
    let mut found: Vec<(f64, usize)> = (0..benchmarks)
        .filter_map(|benchmark| {
            let search = SlowdownSearch::new(gates, benchmark, percent, time_ns)?;
            let smallest = search.smallest(&search.all(), REPLICATES, seed);
            Some((smallest.unwrap_or(f64::INFINITY), benchmark))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let with_interval = |(smallest, benchmark): &(f64, usize)| {
        let search = SlowdownSearch::new(gates, *benchmark, percent, time_ns)?;
        Some(DetectableSlowdown {
            benchmark: *benchmark,
            percent: Some(*smallest).filter(|percent| percent.is_finite()),
            found_5_percent: search.share(5.0, &search.all(), REPLICATES, seed),
            interval: search.interval(seed),
        })
    };
    let middle = found.get(found.len() / 2).and_then(with_interval);
    (middle, found.last().and_then(with_interval))
}

struct SlowdownSearch<'a> {
    /// By gate, the sessions of the benchmark.
    series: Vec<&'a [f64]>,
    log_limit: f64,
    looks: Vec<CriticalLook>,
}

/// A look that the time allows, with quantiles of Student's.
struct CriticalLook {
    sessions: usize,
    /// Above it the benchmark is red in the first set.
    red: f64,
    /// Above it the benchmark is confirmed, if no other one is red.
    confirmed: f64,
    /// Below its negative the benchmark is ok.
    ok: f64,
}

impl<'a> SlowdownSearch<'a> {
    /// None if the benchmark could not be run, or if the time of a gate does not suffice for a look
    /// at it.
    fn new(
        gates: &'a [MeasuredGate],
        benchmark: usize,
        percent: f64,
        time_ns: f64,
    ) -> Option<SlowdownSearch<'a>> {
        let of_gate = |gate: &'a MeasuredGate| gate.sessions.get(benchmark).map(Vec::as_slice);
        let series: Vec<&[f64]> =
            gates.iter().filter_map(of_gate).filter(|x| x.len() >= LOOKS[0]).collect();
        if series.is_empty() {
            return None;
        }
        let session_ns = |gate: &MeasuredGate, i: usize| gate.session_ns.get(i).copied();
        let own_ns: Vec<f64> =
            gates.iter().filter_map(|gate| session_ns(gate, benchmark)).collect();
        let others = |gate: &MeasuredGate| -> f64 {
            let all = gate.sessions.iter().enumerate().filter(|(i, _)| *i != benchmark);
            let spent = |(i, x): (usize, &Vec<f64>)| {
                x.len() as f64 * session_ns(gate, i).unwrap_or_default()
            };
            all.map(spent).sum()
        };
        let others: Vec<f64> = gates.iter().map(others).collect();
        // Half of it is for the second set.
        let sessions = (time_ns - mean(&others)) / mean(&own_ns) / 2.0;
        let benchmarks = gates.first().map_or(1, |gate| gate.sessions.len());
        let hypotheses = if benchmarks > 1 { benchmarks + 1 } else { 1 };
        let looks: Vec<CriticalLook> = LOOKS
            .into_iter()
            .enumerate()
            .take_while(|(i, look)| *i == 0 || *look as f64 <= sessions)
            .filter_map(|(_, look)| CriticalLook::new(look, hypotheses))
            .collect();
        let log_limit = (percent / 100.0).ln_1p();
        Some(SlowdownSearch { series, log_limit, looks })
    }

    fn all(&self) -> Vec<usize> {
        (0..self.series.len()).collect()
    }

    /// The share of gates in which this slowdown is found; `chosen` are the gates from which one is
    /// drawn.
    fn share(&self, percent: f64, chosen: &[usize], replicates: usize, seed: u64) -> f64 {
        // The same draws for each slowdown, so that the share grows with it.
        let mut random = SplitMix64(seed);
        let shift = (percent / 100.0).ln_1p() - self.log_limit;
        let found = (0..replicates).filter(|_| {
            let gate = chosen[random.below(chosen.len() as u64) as usize];
            let mut own = SplitMix64(random.draw());
            self.is_shown(gate, shift, &mut own, |look| look.red)
                && self.is_shown(gate, shift, &mut own, |look| look.confirmed)
        });
        found.count() as f64 / replicates as f64
    }

    /// The smallest slowdown, in percent.
    fn smallest(&self, chosen: &[usize], replicates: usize, seed: u64) -> Option<f64> {
        let share = |percent: f64| self.share(percent, chosen, replicates, seed);
        if share(PERCENT_MAX) < FOUND {
            return None;
        }
        let (mut low, mut high) = (0.0f64, PERCENT_MAX.ln_1p());
        for _ in 0..14 {
            let middle = f64::midpoint(low, high);
            if share(middle.exp_m1()) < FOUND { low = middle } else { high = middle }
        }
        Some(high.exp_m1())
    }

    /// Whether one set of sessions of the gate, with this shift, is shown slower at a look, before
    /// it is ok.
    fn is_shown(
        &self,
        gate: usize,
        shift: f64,
        random: &mut SplitMix64,
        critical: fn(&CriticalLook) -> f64,
    ) -> bool {
        let series = self.series[gate];
        let (mut n, mut sum, mut sum_of_squares, mut sign) = (0usize, 0.0, 0.0, 1.0);
        for look in &self.looks {
            while n < look.sessions {
                if n.is_multiple_of(2) {
                    sign = if random.draw() >> 63 == 0 { 1.0 } else { -1.0 };
                }
                let value = sign * series[n % series.len()] + shift;
                sum += value;
                sum_of_squares += value * value;
                n += 1;
            }
            let count = n as f64;
            let mean = sum / count;
            let variance = ((sum_of_squares - count * mean * mean) / (count - 1.0)).max(1e-18);
            let t = mean / (variance / count).sqrt();
            if t >= critical(look) {
                return true;
            }
            if t <= -look.ok {
                return false;
            }
        }
        false
    }

    fn interval(&self, seed: u64) -> Option<(f64, f64)> {
        let n = self.series.len();
        if n < 2 {
            return None;
        }
        let mut random = SplitMix64(seed ^ 0x5eed);
        let mut drawn: Vec<f64> = (0..BOOTSTRAPS)
            .map(|_| {
                let chosen: Vec<usize> = (0..n).map(|_| random.below(n as u64) as usize).collect();
                let smallest = self.smallest(&chosen, REPLICATES_OF_BOOTSTRAP, random.draw());
                smallest.unwrap_or(f64::INFINITY)
            })
            .collect();
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| drawn[((BOOTSTRAPS - 1) as f64 * share).round() as usize];
        Some((at(0.05), at(0.95))).filter(|(_, high)| high.is_finite())
    }
}

impl CriticalLook {
    fn new(sessions: usize, hypotheses: usize) -> Option<CriticalLook> {
        let null = StudentsT::new(0.0, 1.0, sessions as f64 - 1.0).ok()?;
        let quantile = |alpha: f64| {
            let look = stats::last_look(sessions, alpha)?;
            Some(-null.inverse_cdf(look.alpha / 2.0))
        };
        Some(CriticalLook {
            sessions,
            red: quantile(2.0 * ALPHA / hypotheses as f64)?,
            confirmed: quantile(2.0 * ALPHA)?,
            ok: quantile(OK_ALPHA)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gates of benchmarks whose sessions are normal, and follow each other by `rho`.
    fn gates(n: usize, sessions: usize, sd: f64, rho: f64, offset: f64) -> Vec<MeasuredGate> {
        let mut random = SplitMix64(11);
        let mut series = || {
            let offset = offset * random.normal();
            let mut noise = random.normal();
            let mut next = || {
                let value = offset + sd * noise;
                noise = rho * noise + (1.0 - rho * rho).sqrt() * random.normal();
                value
            };
            (0..sessions).map(|_| next()).collect::<Vec<f64>>()
        };
        (0..n)
            .map(|_| MeasuredGate {
                sessions: (0..10).map(|_| series()).collect(),
                session_ns: vec![1.0; 10],
                is_red: false,
            })
            .collect()
    }

    #[test]
    fn none_of_many_has_a_limit() {
        // 1 − 0.05^(1/n)
        for (red, n, expected) in
            [(0, 45, 0.0644), (0, 59, 0.0495), (1, 93, 0.0499), (2, 124, 0.0499), (3, 3, 1.0)]
        {
            assert!((at_most(red, n) - expected).abs() < 5e-4, "{red} of {n}: {}", at_most(red, n));
        }
    }

    #[test]
    fn what_sessions_and_gates_have_in_common_is_found() {
        let proof = |rho, offset| prove(&gates(40, 30, 0.02, rho, offset), 2.0, 1e3, 1);
        let independent = proof(0.0, 0.0);
        assert!(independent.correlation.abs() < 0.05, "{independent:?}");
        assert!(independent.between_gates_p > 0.01, "{independent:?}");
        let (low, high) = independent.below_5_percent_interval.unwrap();
        assert!(low < 0.05 && 0.05 < high && high < 0.15, "{independent:?}");
        assert_eq!((independent.comparisons, independent.red), (400, 0));
        let alike = proof(0.3, 0.0);
        assert!((0.2..0.4).contains(&alike.correlation), "{alike:?}");
        assert!(alike.below_5_percent > 0.08, "{alike:?}");
        let apart = proof(0.0, 0.01);
        assert!((0.7..1.3).contains(&apart.between_gates_percent), "{apart:?}");
        assert!(apart.between_gates_p < 1e-6, "{apart:?}");
    }

    #[test]
    fn the_smallest_slowdown_grows_with_the_noise_and_shrinks_with_the_time() {
        let found = |sd, time_ns| {
            let proof = prove(&gates(8, 12, sd, 0.0, 0.0), 2.0, time_ns, 7);
            let middle = proof.middle.unwrap();
            let (low, high) = middle.interval.unwrap();
            let percent = middle.percent.unwrap();
            assert!(low <= percent * 1.5 && percent <= high * 1.5, "{low} {percent} {high}");
            assert_eq!(middle.found_5_percent >= 0.8, percent <= 5.0, "{middle:?}");
            let worst = proof.worst.unwrap().percent.unwrap();
            assert!(worst >= percent, "{worst} {percent}");
            percent
        };
        // The other nine take 108; of the rest, half is for the second set.
        let (calm, noisy) = (found(0.005, 160.0), found(0.02, 160.0));
        assert!(2.0 < calm && calm < noisy, "{calm} {noisy}");
        assert!((2.1..4.0).contains(&calm), "{calm}");
        assert!(found(0.02, 400.0) < noisy);
    }

    #[test]
    fn gates_without_benchmarks_show_nothing() {
        let empty = MeasuredGate { sessions: Vec::new(), session_ns: Vec::new(), is_red: false };
        let proof = prove(&[empty], 2.0, 1e9, 1);
        assert!(proof.middle.is_none() && proof.worst.is_none() && proof.comparisons == 0);
        assert!(proof.below_5_percent.is_nan());
    }
}
