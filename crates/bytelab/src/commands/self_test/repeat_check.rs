//! `bytelab check` of programs that did not change, each against its own baseline.

use anyhow::Result;
use lab::analyze::{Allowed, Check, Outcome, check as held_against};
use lab::run::{CacheState, Run};

use super::bench::{self, AA, Bench, Effort};

/// The allowed rate of failures in checks of unchanged programs.
const FAILURES: f64 = 0.01;
const ALLOWED_PERCENT: f64 = 5.0;

/// Works as the command does: a second run if the first is not ok.
pub(super) fn check(bench: &Bench, times: u32) -> Result<bench::Check> {
    let effort = Effort { sessions: AA.0, rounds: AA.1, cache: CacheState::AsIs, counting: 0 };
    let allowed = ["wall_ns", "cpu_ns"]
        .map(|metric| Allowed { metric: metric.to_owned(), percent: ALLOWED_PERCENT });
    let [mut ok, mut slower, mut undecided] = [0u32; 3];
    for _ in 0..times {
        let measure = || bench.measure(&["same", "same-again"], effort);
        let baseline = measure()?;
        let mut now = vec![measure()?];
        let outcome = |now: &[Run]| {
            let request =
                Check { baseline: &baseline, now, before: &[], allowed: &allowed, absolute: false };
            held_against(&request).outcome
        };
        let mut found = outcome(&now);
        if !matches!(found, Outcome::Ok | Outcome::Faster) {
            now.push(measure()?);
            found = outcome(&now);
        }
        if bench.stop.signal().is_some() {
            break;
        }
        match found {
            Outcome::Ok | Outcome::Faster => ok += 1,
            Outcome::Slower => slower += 1,
            _ => undecided += 1,
        }
    }
    let taken = f64::from((ok + slower + undecided).max(1));
    let share = f64::from(slower) / taken;
    // Three standard deviations above the allowed rate: 5.2 % of 50 checks.
    let limit = FAILURES + 3.0 * (FAILURES * (1.0 - FAILURES) / taken).sqrt();
    let found = format!(
        "{slower} of {taken} checks of the same program failed ({:.1} %; at most {:.1} %), {ok} were ok, \
         {undecided} undecided, with wall and cpu allowed {ALLOWED_PERCENT} % more",
        100.0 * share,
        100.0 * limit
    );
    Ok(bench::Check::new("check A/A", share <= limit, found))
}
