//! The gate on a suite of benchmarks: which of them got slower than a limit allows, at one level
//! for the whole suite. A session is one value, ln(new ÷ old); where it comes from is not known
//! here.

mod proof;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

pub use self::proof::{DetectableSlowdown, MeasuredGate, Proof, prove};
use crate::stats;

/// The largest share of suites without a slower benchmark that is red.
const ALPHA: f64 = 0.05;

/// The level of the interval whose upper limit, at 95 % on one side, says that a benchmark is ok.
const OK_ALPHA: f64 = 0.10;

/// The benchmarks of a suite while they are measured, each with its sessions so far. The suite may
/// be stopped after any session, and a benchmark leaves when it is decided.
#[derive(Clone, Debug)]
pub struct SuiteGate {
    /// ln(1 + limit).
    log_limit: f64,
    correction: Correction,
    benchmarks: Vec<GatedBenchmark>,
    geometric_mean: Option<SuiteMean>,
}

/// How the level is divided among the hypotheses.
#[derive(Clone, Copy, Debug)]
enum Correction {
    /// Holm's procedure (Holm 1979) over all benchmarks and their geometric mean. It may be applied
    /// to the smallest p so far: what it rejects then, it would also reject at the end.
    Holm,
    /// The level divided by the number of benchmarks that were red in the first set of sessions.
    Equal(usize),
}

#[derive(Clone, Debug, Default)]
struct GatedBenchmark {
    sessions: Vec<f64>,
    /// The last digit that the harness prints, relative to its estimates.
    digit: f64,
    p: f64,
    p_faster: f64,
    state: GateState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GateState {
    /// It takes part in further sessions.
    #[default]
    Open,
    /// It is shown slower than the limit.
    Slower,
    /// Its upper limit is not above the limit.
    Ok,
    /// It could not be run, and has no verdict.
    Failed,
}

/// What the sessions of a benchmark say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SessionsEstimate {
    pub sessions: usize,
    /// new ÷ old.
    pub ratio: f64,
    /// The limits of the ratio, each at 95 % on its own side and for all looks; none before the
    /// first look.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The geometric mean of the ratios of a suite, from the sessions that all benchmarks share: those
/// until the first look. Later, which benchmarks are left depends on their values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SuiteMean {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    p: f64,
    pub is_slower: bool,
}

impl SuiteGate {
    /// `percent`: a benchmark may get slower by this.
    pub fn new(benchmarks: usize, percent: f64) -> SuiteGate {
        SuiteGate::with(benchmarks, percent, Correction::Holm)
    }

    /// The second set of sessions, in which as many benchmarks and means must be confirmed.
    pub fn confirming(benchmarks: usize, percent: f64, reds: usize) -> SuiteGate {
        SuiteGate::with(benchmarks, percent, Correction::Equal(reds.max(1)))
    }

    fn with(benchmarks: usize, percent: f64, correction: Correction) -> SuiteGate {
        let one = GatedBenchmark { p: 1.0, p_faster: 1.0, ..GatedBenchmark::default() };
        let log_limit = (percent / 100.0).ln_1p();
        SuiteGate { log_limit, correction, benchmarks: vec![one; benchmarks], geometric_mean: None }
    }

    /// Adds a session of a benchmark: ln(new ÷ old). `digit` is the size of the last digit of the
    /// harness's estimates, relative to them: what it rounds away is not known.
    pub fn push(&mut self, benchmark: usize, log_ratio: f64, digit: f64) {
        let found = &mut self.benchmarks[benchmark];
        found.sessions.push(log_ratio);
        found.digit = digit;
        let n = found.sessions.len();
        if found.state != GateState::Open || !stats::LOOKS.contains(&n) {
            return;
        }
        let Some(mean) = SessionsMean::new(&found.sessions, found.digit) else { return };
        found.p = found.p.min(mean.p_above_at_all_looks(self.log_limit));
        found.p_faster = found.p_faster.min(mean.negative().p_above_at_all_looks(self.log_limit));
        if n == stats::LOOKS[0] {
            self.find_geometric_mean();
        }
        self.reject();
        let found = &mut self.benchmarks[benchmark];
        if found.state == GateState::Open && mean.high() <= self.log_limit {
            found.state = GateState::Ok;
        }
    }

    /// A benchmark that could not be run takes no further part.
    pub fn fail(&mut self, benchmark: usize) {
        self.benchmarks[benchmark].state = GateState::Failed;
        self.find_geometric_mean();
        self.reject();
    }

    pub fn state(&self, benchmark: usize) -> GateState {
        self.benchmarks[benchmark].state
    }

    pub fn open(&self) -> Vec<usize> {
        self.in_state(GateState::Open)
    }

    pub fn in_state(&self, state: GateState) -> Vec<usize> {
        let all = 0..self.benchmarks.len();
        all.filter(|benchmark| self.benchmarks[*benchmark].state == state).collect()
    }

    /// The benchmarks that are shown faster by more than the limit, by Holm's procedure over all.
    pub fn faster(&self) -> Vec<usize> {
        let p: Vec<f64> = self.benchmarks.iter().map(|found| found.p_faster).collect();
        let adjusted = stats::holm(&p);
        (0..p.len()).filter(|benchmark| adjusted[*benchmark] <= ALPHA).collect()
    }

    pub fn sessions(&self, benchmark: usize) -> &[f64] {
        &self.benchmarks[benchmark].sessions
    }

    /// None without a session.
    pub fn estimate(&self, benchmark: usize) -> Option<SessionsEstimate> {
        let GatedBenchmark { sessions, digit, .. } = &self.benchmarks[benchmark];
        let n = sessions.len();
        let mean = sessions.iter().sum::<f64>() / n as f64;
        let look = stats::last_look(n, OK_ALPHA);
        let at_look = look.and_then(|look| SessionsMean::new(&sessions[..look.sessions], *digit));
        (n > 0).then(|| SessionsEstimate {
            sessions: n,
            ratio: mean.exp(),
            low: at_look.map(|mean| (-mean.negative().high()).exp()),
            high: at_look.map(|mean| mean.high().exp()),
        })
    }

    /// None until all benchmarks had their first look, and of a single benchmark.
    pub fn geometric_mean(&self) -> Option<SuiteMean> {
        self.geometric_mean
    }

    fn find_geometric_mean(&mut self) {
        let first = stats::LOOKS[0];
        let known: Vec<&GatedBenchmark> =
            self.benchmarks.iter().filter(|found| found.state != GateState::Failed).collect();
        let is_early = known.iter().any(|found| found.sessions.len() < first);
        // One benchmark is its own mean.
        if self.geometric_mean.is_some() || known.len() < 2 || is_early {
            return;
        }
        let count = known.len() as f64;
        let session = |i: usize| known.iter().map(|found| found.sessions[i]).sum::<f64>() / count;
        let sessions: Vec<f64> = (0..first).map(session).collect();
        let digit = known.iter().map(|found| found.digit).sum::<f64>() / count;
        let mean = SessionsMean::new(&sessions, digit);
        self.geometric_mean = mean.map(|mean| SuiteMean {
            ratio: mean.mean.exp(),
            low: (mean.mean - mean.half_width(OK_ALPHA)).exp(),
            high: (mean.mean + mean.half_width(OK_ALPHA)).exp(),
            // It is looked at once.
            p: mean.p_above(self.log_limit),
            is_slower: false,
        });
    }

    /// Marks what is shown slower.
    fn reject(&mut self) {
        let mut p: Vec<f64> = self.benchmarks.iter().map(|found| found.p).collect();
        // The mean is a hypothesis from the beginning.
        p.extend((p.len() > 1).then(|| self.geometric_mean.map_or(1.0, |mean| mean.p)));
        let adjusted = match self.correction {
            Correction::Holm => stats::holm(&p),
            Correction::Equal(reds) => p.iter().map(|p| p * reds as f64).collect(),
        };
        for (found, p) in self.benchmarks.iter_mut().zip(&adjusted) {
            if found.state == GateState::Open && *p <= ALPHA {
                found.state = GateState::Slower;
            }
        }
        if let (Some(mean), Some(p)) = (&mut self.geometric_mean, adjusted.last()) {
            mean.is_slower |= *p <= ALPHA;
        }
    }
}

/// The mean of one value per session. Student's tail keeps the level at six values whose
/// distribution is symmetrical, which the random order within each session makes it.
#[derive(Clone, Copy, Debug)]
struct SessionsMean {
    n: usize,
    mean: f64,
    standard_error: f64,
    /// What the mean may be wrong by because the harness rounds.
    rounding: f64,
}

impl SessionsMean {
    /// None for fewer than two values, or if one is not finite. `digit` is the last one of the
    /// estimates whose ratios these are.
    fn new(values: &[f64], digit: f64) -> Option<SessionsMean> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        if n < 2 || !mean.is_finite() {
            return None;
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = squares / (n as f64 - 1.0);
        // A rounded value is uniform within its last digit; two of a side are averaged.
        let standard_error = (variance.max(digit * digit / 12.0) / n as f64).sqrt();
        // Runs that differ by less than the digit are all rounded in the same direction, and no
        // number of them averages that out: half a digit on each side. Where they vary by half a
        // digit or more, which rounding makes a variance of a third, it does average out.
        let rounding = if variance < digit * digit / 3.0 { digit } else { 0.0 };
        Some(SessionsMean { n, mean, standard_error, rounding })
    }

    /// That of old ÷ new.
    fn negative(self) -> SessionsMean {
        SessionsMean { mean: -self.mean, ..self }
    }

    fn null(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.n as f64 - 1.0).ok()
    }

    /// The p, on one side and of this look alone, that the mean is above a limit.
    fn p_above(&self, limit: f64) -> f64 {
        let t = (self.mean - self.rounding - limit) / self.standard_error;
        match self.null() {
            Some(null) if !t.is_nan() => null.sf(t),
            _ => 1.0,
        }
    }

    /// The same for all looks.
    fn p_above_at_all_looks(&self, limit: f64) -> f64 {
        if self.mean <= limit {
            return 1.0;
        }
        stats::p_of_all_looks((2.0 * self.p_above(limit)).min(1.0), self.n) / 2.0
    }

    fn half_width(&self, alpha: f64) -> f64 {
        let quantile = self.null().map_or(f64::INFINITY, |null| -null.inverse_cdf(alpha / 2.0));
        quantile * self.standard_error + self.rounding
    }

    /// The upper limit at 95 % on one side, for all looks; infinite between two looks.
    fn high(&self) -> f64 {
        let look = stats::last_look(self.n, OK_ALPHA).filter(|look| look.sessions == self.n);
        self.mean + look.map_or(f64::INFINITY, |look| self.half_width(look.alpha))
    }
}

#[cfg(test)]
mod tests;
