//! The lines of a check, and how one is decided: by the bounds of an interval, and `slower` only if
//! each of two runs shows it.

use model::param::Point;
use serde::Serialize;

use crate::between_runs::sign;
use crate::facts::CellFacts;
use crate::stats::{self, Shift};
use crate::values;

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
pub(super) struct CheckJudge {
    pub(super) alpha: f64,
    pub(super) runs: usize,
}

impl CheckJudge {
    pub(super) fn line(&self, line: &mut CheckLine, evidence: &Evidence) {
        let each = evidence.each(self.alpha);
        let (Some(all), true) = (evidence.all(ALPHA), each.iter().all(Option::is_some)) else {
            line.outcome = Outcome::Undecided;
            line.reason = Some(too_few(evidence));
            return;
        };
        line.of_runs = each.iter().flatten().map(|shift| shift.estimate.exp()).collect();
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
            line.reason = Some(line.neither_proved());
            return;
        }
        // Each of the runs must show it, at the level of all lines; the run with the smallest shift
        // decides.
        let least = each.iter().flatten().min_by(|a, b| bounds(a).0.total_cmp(&bounds(b).0));
        let Some(one) = least else { return };
        show(line, one, self.alpha);
        if bounds(one).0 <= limit {
            let of = if self.runs > 1 { "in one of the runs, " } else { "" };
            let why = line.neither_proved();
            line.reason = Some(format!("{of}at the level that all lines take together, {why}"));
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
        line.reason = Some("slower in one run; a second must confirm it".to_owned());
        line.is_unconfirmed = true;
        Outcome::Undecided
    }
}

fn too_few(evidence: &Evidence) -> String {
    let fewest = evidence.fewest_sessions();
    let what = "do not show how much sessions differ";
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
pub(crate) fn log_limit(metric: &str, percent: f64) -> f64 {
    let share = percent / 100.0;
    if sign(metric) < 0.0 { -(-share.min(1.0)).ln_1p() } else { share.ln_1p() }
}

/// Why an interval of ratios decides nothing.
pub(crate) fn neither_proved([low, high]: [f64; 2], metric: &str, percent: f64) -> String {
    let [from, to] = [low, high].map(|ratio| 100.0 * (ratio - 1.0));
    let decimals = match to - from {
        width if width >= 5.0 => 0,
        width if width >= 0.5 => 1,
        _ => 2,
    };
    let signed = |change: f64| {
        let text = format!("{change:+.decimals$}");
        let is_zero = text.chars().all(|c| "+-0.".contains(c));
        if is_zero { "0".to_owned() } else { text.replace('-', "−").replace("inf", "∞") }
    };
    let worse = if sign(metric) < 0.0 { '−' } else { '+' };
    let interval = format!("{} to {} %", signed(from), signed(to));
    format!(
        "the interval ({interval}) contains the allowed {worse}{percent} %: neither ok nor slower \
         is proved"
    )
}

fn show(line: &mut CheckLine, shift: &Shift, alpha: f64) {
    let (low, high) = shift.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    line.ratio = Some(shift.estimate.exp());
    (line.low, line.high) = (Some(low.exp()), Some(high.exp()));
    line.level = Some(1.0 - alpha);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is within what is allowed.
    Ok,
    /// The whole interval is below 1, at the level of all lines.
    Faster,
    /// More than is allowed, in each of two runs.
    Slower,
    /// The data does not decide between the others.
    Undecided,
    /// The method was not measured, or its answer is wrong.
    Missing,
    /// The reference, by which the others are normalized for the speed of the machine, where the
    /// baseline is from another machine: whether the reference itself got slower cannot be known.
    Reference,
}

/// One method at one point in one metric.
#[derive(Clone, Debug, Serialize)]
pub struct CheckLine {
    pub method: String,
    pub point: Point,
    pub metric: String,
    pub allowed_percent: f64,
    /// The method to which the ratio is relative and which was in the same rounds; none if the
    /// ratio is absolute.
    pub reference: Option<String>,
    /// The p50 of the baseline and of the new runs.
    pub baseline: Option<f64>,
    pub now: Option<f64>,
    /// New / baseline, with the interval that decides: that of all new runs, or of the one with the
    /// smallest change.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The level of that interval.
    pub level: Option<f64>,
    /// The same ratio of each new run alone.
    #[serde(skip)]
    pub of_runs: Vec<f64>,
    /// Whether it is slower in one run, and there is no second one.
    #[serde(skip)]
    pub is_unconfirmed: bool,
    pub outcome: Outcome,
    /// Why there is no interval, or why the line is undecided.
    pub reason: Option<String>,
}

impl CheckLine {
    /// A line without anything to compare.
    pub(crate) fn without_ratio(
        method: &str,
        point: &Point,
        metric: &str,
        allowed_percent: f64,
    ) -> CheckLine {
        CheckLine {
            method: method.to_owned(),
            point: point.clone(),
            metric: metric.to_owned(),
            allowed_percent,
            reference: None,
            baseline: None,
            now: None,
            ratio: None,
            low: None,
            high: None,
            level: None,
            of_runs: Vec::new(),
            is_unconfirmed: false,
            outcome: Outcome::Missing,
            reason: None,
        }
    }

    fn neither_proved(&self) -> String {
        let bounds = [self.low, self.high].map(|bound| bound.unwrap_or(f64::NAN));
        neither_proved(bounds, &self.metric, self.allowed_percent)
    }

    /// A line that is not decided yet.
    pub(super) fn new(
        before: &[&CellFacts<'_>],
        now: &[&CellFacts<'_>],
        metric: &str,
        allowed_percent: f64,
    ) -> CheckLine {
        let p50 = |cells: &[&CellFacts<'_>]| {
            let middles = cells.iter().filter_map(|cell| values::middle(cell.values(metric)));
            Some(stats::median(&middles.collect::<Vec<_>>())).filter(|value| !value.is_nan())
        };
        let cell = before[0].stored;
        CheckLine {
            baseline: p50(before),
            now: p50(now),
            ..CheckLine::without_ratio(&cell.method, &cell.point, metric, allowed_percent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, close, facts_of};

    fn line(metric: &str, allowed_percent: f64) -> CheckLine {
        let cell = cell("a", [1.0; 3]);
        let cell = facts_of(&cell);
        CheckLine::new(&[&cell], &[&cell], metric, allowed_percent)
    }

    #[test]
    fn counts_are_compared_with_what_is_allowed_of_them() {
        let of = |runs: usize, before: f64, after: f64| {
            let mut line = line("syscalls", 10.0);
            CheckJudge { alpha: 0.05, runs }.counts(&mut line, [before, after]);
            assert_eq!((line.low, line.high), (line.ratio, line.ratio));
            (line.outcome, line.ratio)
        };
        assert_eq!(of(2, 100.0, 110.0), (Outcome::Ok, Some(1.1)));
        assert_eq!(of(2, 100.0, 111.0), (Outcome::Slower, Some(1.11)));
        assert_eq!(of(1, 100.0, 111.0), (Outcome::Undecided, Some(1.11)));
        assert_eq!(of(1, 100.0, 80.0), (Outcome::Faster, Some(0.8)));
        assert_eq!(of(1, 0.0, 0.0), (Outcome::Ok, Some(1.0)));
    }

    #[test]
    fn half_of_a_throughput_is_allowed_as_twice_the_time_is() {
        let limit = |metric, percent| Some(log_limit(metric, percent));
        close(limit("throughput_bytes_per_s", 50.0), 2f64.ln(), 1e-12);
        close(limit("wall_ns", 100.0), 2f64.ln(), 1e-12);
    }

    #[test]
    fn the_fewest_sessions_of_all_runs_are_named() {
        let same_rounds = Evidence::SameRounds(vec![vec![0.0; 4], vec![0.0; 3], vec![0.0; 5]]);
        assert_eq!(same_rounds.fewest_sessions(), 3);
        let before = vec![0.0; 2];
        let apart = Evidence::Apart { before, after: vec![vec![0.0; 4]], run_sd: None };
        assert_eq!(apart.fewest_sessions(), 2);
        let mut line = line("wall_ns", 5.0);
        CheckJudge { alpha: 0.05, runs: 3 }.line(&mut line, &same_rounds);
        let reason = line.reason.unwrap();
        assert!(reason.starts_with("3 sessions do not show how much"), "{reason}");
    }

    #[test]
    fn a_run_that_does_not_show_it_at_the_level_of_all_lines_is_named_where_there_are_several() {
        // Of 1 to 5 Student's interval begins at 1.04 for 95 %, and below 0 for 99.9 %.
        let of = |runs: usize| {
            let mut line = line("wall_ns", 5.0);
            let evidence = Evidence::SameRounds(vec![vec![1.0, 2.0, 3.0, 4.0, 5.0]; runs]);
            CheckJudge { alpha: 0.001, runs }.line(&mut line, &evidence);
            close(line.level, 0.999, 1e-12);
            assert_eq!(line.of_runs, vec![3f64.exp(); runs]);
            (line.outcome, line.reason.unwrap())
        };
        let [(outcome, of_one), (again, of_two)] = [of(1), of(2)];
        assert_eq!([outcome, again], [Outcome::Undecided; 2]);
        let text = "at the level that all lines take together, the interval (";
        assert!(of_one.starts_with(text), "{of_one}");
        assert_eq!(of_two, format!("in one of the runs, {of_one}"));
    }

    #[test]
    fn an_interval_that_decides_nothing_says_what_it_contains() {
        let text = |bounds, metric, percent| {
            let text = neither_proved(bounds, metric, percent);
            text.strip_suffix(": neither ok nor slower is proved").unwrap().to_owned()
        };
        let found = text([1.4, 1.49], "wall_ns", 45.0);
        assert_eq!(found, "the interval (+40 to +49 %) contains the allowed +45 %");
        let found = text([0.997, 1.013], "wall_ns", 0.5);
        assert_eq!(found, "the interval (−0.3 to +1.3 %) contains the allowed +0.5 %");
        let found = text([0.9, 1.004], "throughput_bytes_per_s", 5.0);
        assert_eq!(found, "the interval (−10 to 0 %) contains the allowed −5 %");
        let found = text([0.0, f64::INFINITY], "wall_ns", 5.0);
        assert_eq!(found, "the interval (−100 to +∞ %) contains the allowed +5 %");
    }

    #[test]
    fn what_does_not_differ_at_all_is_ok_and_not_faster() {
        let mut line = line("wall_ns", 5.0);
        let evidence = Evidence::SameRounds(vec![vec![0.0; 5]]);
        CheckJudge { alpha: 0.05, runs: 1 }.line(&mut line, &evidence);
        assert_eq!((line.outcome, line.high), (Outcome::Ok, Some(1.0)));
    }
}
