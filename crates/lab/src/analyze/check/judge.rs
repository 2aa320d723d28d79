//! How a line is decided: by the bounds of an interval, and `slower` only if each of two runs shows
//! it.

use super::{CheckLine, Outcome};
use crate::analyze::sides::sign;
use crate::stats::{self, Shift};

/// The α of the interval by which a line is ok, and of all lines together for one to be slower or
/// faster.
pub(super) const ALPHA: f64 = 0.05;
/// The number of runs that must each show that something is slower.
const CONFIRMED: usize = 2;

/// In logs: one value per session.
pub(super) enum Evidence {
    /// Of an earlier run and of each new run, which have no round in common; and how much runs are
    /// known to differ.
    Apart { before: Vec<f64>, after: Vec<Vec<f64>>, run_sd: Option<f64> },
    /// Of new / old in the same rounds, for each run.
    SameRounds(Vec<Vec<f64>>),
}

impl Evidence {
    /// The shift of all new runs together; none where there are too few sessions to estimate their
    /// variation.
    fn all(&self, alpha: f64) -> Option<Shift> {
        match self {
            Evidence::Apart { before, after, run_sd } => {
                stats::between_single(before, after, *run_sd, alpha)
            }
            Evidence::SameRounds(runs) => stats::mean_shift(&runs.concat(), alpha),
        }
    }

    /// The shift of each run alone.
    fn each(&self, alpha: f64) -> Vec<Option<Shift>> {
        match self {
            Evidence::Apart { before, after, run_sd } => {
                let of =
                    |run| stats::between_single(before, std::slice::from_ref(run), *run_sd, alpha);
                after.iter().map(of).collect()
            }
            Evidence::SameRounds(runs) => {
                runs.iter().map(|run| stats::mean_shift(run, alpha)).collect()
            }
        }
    }

    fn fewest_sessions(&self) -> usize {
        let (before, after) = match self {
            Evidence::Apart { before, after, .. } => (before.len(), after),
            Evidence::SameRounds(runs) => (usize::MAX, runs),
        };
        after.iter().map(Vec::len).fold(before, usize::min)
    }
}

/// The level for each line, such that all hold together, and the number of new runs.
pub(super) struct Judge {
    pub(super) alpha: f64,
    pub(super) runs: usize,
}

impl Judge {
    pub(super) fn line(&self, line: &mut CheckLine, evidence: &Evidence) {
        let each = evidence.each(self.alpha);
        let (Some(all), true) = (evidence.all(ALPHA), each.iter().all(Option::is_some)) else {
            line.outcome = Outcome::Undecided;
            line.reason = Some(too_few(evidence));
            return;
        };
        let (limit, sign) = (log_limit(&line.metric, line.allowed_percent), sign(&line.metric));
        let bounds = |shift: &Shift| {
            let (low, high) = shift.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            ((sign * low).min(sign * high), (sign * low).max(sign * high))
        };
        let (least, most) = bounds(&all);
        show(line, &all, ALPHA);
        if most <= limit {
            line.outcome = Outcome::Ok;
            let strict = evidence.all(self.alpha).filter(|shift| bounds(shift).1 < 0.0);
            if let Some(strict) = strict {
                show(line, &strict, self.alpha);
                line.outcome = Outcome::Faster;
            }
            return;
        }
        line.outcome = Outcome::Undecided;
        if least <= limit {
            line.reason = Some("the interval holds what is allowed and more".to_owned());
            return;
        }
        // Each of the runs must show it, at the level of all lines; the run with the smallest shift
        // decides.
        let least = each.iter().flatten().min_by(|a, b| bounds(a).0.total_cmp(&bounds(b).0));
        let Some(one) = least else { return };
        show(line, one, self.alpha);
        if bounds(one).0 <= limit {
            let of = if self.runs > 1 { "in one of the runs " } else { "" };
            line.reason = Some(format!(
                "{of}the interval at the level that all lines together take holds what is allowed and more"
            ));
        } else {
            line.outcome = self.slower(line);
        }
    }

    /// Counts that are equal in all samples of each side: chance plays no role.
    pub(super) fn counts(&self, line: &mut CheckLine, [before, after]: [f64; 2]) {
        let ratio = if before.total_cmp(&after).is_eq() { 1.0 } else { after / before };
        let exact = Some(ratio).filter(|ratio| ratio.is_finite());
        (line.ratio, line.low, line.high) = (exact, exact, exact);
        line.outcome = if after < before {
            Outcome::Faster
        } else if after <= before * (1.0 + line.allowed_percent / 100.0) {
            Outcome::Ok
        } else {
            self.slower(line)
        };
    }

    /// The outcome of a change that is more than allowed: with only one run it is not confirmed.
    fn slower(&self, line: &mut CheckLine) -> Outcome {
        if self.runs >= CONFIRMED {
            return Outcome::Slower;
        }
        line.reason = Some("slower in one run, which a second one has to confirm".to_owned());
        Outcome::Undecided
    }
}

fn too_few(evidence: &Evidence) -> String {
    let fewest = evidence.fewest_sessions();
    let what = "tell too little of what sessions differ by";
    match evidence {
        Evidence::Apart { .. } => {
            format!("{fewest} sessions {what}: measure the baseline with --sessions 5 or more")
        }
        Evidence::SameRounds(_) => {
            format!("{fewest} sessions {what}: at least 5 must be measured whole")
        }
    }
}

/// The log of the allowed ratio, for a metric of which more is worse.
pub(in crate::analyze) fn log_limit(metric: &str, percent: f64) -> f64 {
    let share = percent / 100.0;
    if sign(metric) < 0.0 { -(-share.min(1.0)).ln_1p() } else { share.ln_1p() }
}

fn show(line: &mut CheckLine, shift: &Shift, alpha: f64) {
    let (low, high) = shift.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    line.ratio = Some(shift.estimate.exp());
    (line.low, line.high) = (Some(low.exp()), Some(high.exp()));
    line.level = Some(1.0 - alpha);
}
