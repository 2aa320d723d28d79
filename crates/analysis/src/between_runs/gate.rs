//! Whether side b of stored runs is slower than side a by more than is allowed, by the intervals of
//! the comparison itself. Nothing is measured again, so that nothing is confirmed either.

use model::metric::WALL;
use model::param::Point;
use model::run::Role;

use super::{Effect, MetricChange, RunComparison, sign};
use crate::analysis::Verdict;
use crate::check::{
    Allowed, CheckLine, Checked, Outcome, is_time, log_limit, neither_proved, outcome,
};

/// Checks every contender that side a has with the right answer, in every metric that has a limit.
/// Times are compared relative to the reference; those of the reference are compared absolutely,
/// which means nothing on another machine.
pub fn gate(sides: &RunComparison, allowed: &[Allowed], same_machine: bool) -> Checked {
    let mut lines = Vec::new();
    let is_gated =
        |line: &&MetricChange| line.decides && line.role == Role::Contender && !line.wrong_before;
    for of_method in sides.lines.iter().filter(is_gated) {
        let is_it =
            |line: &&MetricChange| line.method == of_method.method && line.point == of_method.point;
        for allowed in allowed {
            let has_metric = |line: &&MetricChange| match allowed.metric.as_str() {
                WALL => line.decides,
                metric => line.metric == metric,
            };
            let mut of_sides = sides.lines.iter().filter(is_it);
            lines.push(if let Some(line) = of_sides.find(has_metric) {
                of_line(sides, line, allowed, same_machine)
            } else {
                let reason = format!("{} was not measured on both sides", allowed.metric);
                without_ratio(&of_method.method, &of_method.point, allowed, reason)
            });
        }
    }
    let gone =
        sides.alone.iter().filter(|alone| alone.side == "a" && alone.role == Role::Contender);
    for (alone, allowed) in
        gone.flat_map(|alone| allowed.iter().map(move |allowed| (alone, allowed)))
    {
        let reason = alone.reason.clone().unwrap_or_else(|| "only side A has it".to_owned());
        lines.push(without_ratio(&alone.method, &alone.point, allowed, reason));
    }
    // For a stored run nothing can be measured again: a missing line is undecided.
    let outcome = match outcome(&lines) {
        Outcome::Missing => Outcome::Undecided,
        outcome => outcome,
    };
    Checked { outcome, lines }
}

fn without_ratio(method: &str, point: &Point, allowed: &Allowed, reason: String) -> CheckLine {
    CheckLine {
        outcome: Outcome::Undecided,
        reason: Some(reason),
        ..CheckLine::without_ratio(method, point, &allowed.metric, allowed.percent)
    }
}

fn of_line(
    sides: &RunComparison,
    line: &MetricChange,
    allowed: &Allowed,
    same_machine: bool,
) -> CheckLine {
    let middle = |half: &super::SideSummary| {
        half.percentiles.iter().find(|percentile| percentile.p >= 50.0).map(|p| p.value)
    };
    let change = line.relative.as_ref().unwrap_or(&line.absolute);
    let mut found = without_ratio(&line.method, &line.point, allowed, String::new());
    found.metric.clone_from(&line.metric);
    found.reference = line.relative.as_ref().and(line.reference.clone());
    (found.baseline, found.now) = (middle(&line.a), middle(&line.b));
    (found.ratio, found.low, found.high) = (change.ratio, change.low, change.high);
    found.level = change.low.map(|_| change.level);
    (found.outcome, found.reason) = decided(change, &line.metric, allowed.percent);
    if is_time(&line.metric) && line.relative.is_none() && !same_machine {
        let others = sides.lines.iter().any(|other| {
            other.point == line.point && other.reference.as_ref() == Some(&line.method)
        });
        found.outcome = if others { Outcome::Reference } else { Outcome::Undecided };
        found.reason = Some(
            "the sides are of different machines: what it takes cannot be compared".to_owned(),
        );
    }
    found
}

/// Decides by the interval of the comparison.
fn decided(change: &Effect, metric: &str, percent: f64) -> (Outcome, Option<String>) {
    let (limit, sign) = (log_limit(metric, percent), sign(metric));
    let Some((low, high)) = change.low.zip(change.high) else {
        return match change.verdict {
            // Counts of which one is 0 have no ratio, but are known exactly.
            Verdict::Faster => (Outcome::Faster, None),
            Verdict::Same => (Outcome::Ok, None),
            Verdict::Slower => (Outcome::Slower, change.reason.clone()),
            _ => (Outcome::Undecided, change.reason.clone()),
        };
    };
    let (one, other) = (sign * low.ln(), sign * high.ln());
    let (least, most) = (one.min(other), one.max(other));
    if most < 0.0 {
        (Outcome::Faster, None)
    } else if most <= limit {
        (Outcome::Ok, None)
    } else if least > limit {
        (Outcome::Slower, None)
    } else {
        (Outcome::Undecided, Some(neither_proved([low, high], metric, percent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare_sides;
    use crate::tests::{cell, noisy, run, times, with};
    use model::run::{Run, Status};

    /// Five runs of `read` and `mmap`.
    fn side(seed: u64, read: f64, mmap: f64) -> Vec<Run> {
        let of = |i: u64| {
            let own = |seed, factor| {
                let walls = times(&noisy(seed, 0.01), factor);
                with(cell("", walls), "syscalls", |_| (10.0 * factor).round())
            };
            let named = |name: &str, cell: model::run::Cell| model::run::Cell {
                method: name.to_owned(),
                ..cell
            };
            run(vec![
                named("read", own(seed + 2 * i, read)),
                named("mmap", own(seed + 2 * i + 1, mmap)),
            ])
        };
        (0..5).map(of).collect()
    }

    fn gated(a: &[Run], b: &[Run], metric: &str, same_machine: bool) -> Vec<(String, Outcome)> {
        let allowed = [Allowed { metric: metric.to_owned(), percent: 5.0 }];
        let found = gate(&compare_sides(a, b, &[]), &allowed, same_machine);
        let lines = found.lines.into_iter().map(|line| (line.method, line.outcome));
        lines.chain([("all".to_owned(), found.outcome)]).collect()
    }

    fn check(b: &[Run], metric: &str, expected: [Outcome; 3]) {
        let found = gated(&side(1, 1.0, 0.8), b, metric, true);
        let outcomes: Vec<Outcome> = found.iter().map(|(_, outcome)| *outcome).collect();
        assert_eq!(outcomes, expected, "{found:?}");
    }

    #[test]
    fn a_side_is_slower_by_the_whole_interval() {
        use Outcome::{Faster, Ok, Slower, Undecided};
        check(&side(100, 1.0, 0.8), WALL, [Ok, Ok, Ok]);
        check(&side(100, 1.0, 1.0), WALL, [Ok, Slower, Slower]);
        check(&side(100, 1.0, 0.6), WALL, [Ok, Faster, Faster]);
        // The reference is compared absolutely.
        check(&side(100, 1.5, 1.2), WALL, [Slower, Ok, Slower]);
        check(&side(100, 1.5, 0.8), "syscalls", [Slower, Ok, Slower]);
        // Too few runs have no interval.
        check(&side(100, 1.0, 1.6)[..4], WALL, [Undecided, Undecided, Undecided]);
        check(&side(100, 1.0, 0.8), "peak_rss_bytes", [Undecided, Undecided, Undecided]);
    }

    #[test]
    fn another_machine_says_nothing_of_the_reference() {
        let found = gated(&side(1, 1.0, 0.8), &side(100, 1.5, 1.2), WALL, false);
        let outcomes: Vec<Outcome> = found.iter().map(|(_, outcome)| *outcome).collect();
        assert_eq!(outcomes, [Outcome::Reference, Outcome::Ok, Outcome::Ok]);
    }

    #[test]
    fn a_method_that_is_gone_is_not_ok() {
        let mut b = side(100, 1.0, 0.8);
        for run in &mut b {
            run.cells[1].status = Status::Failed("died".to_owned());
        }
        let found = gated(&side(1, 1.0, 0.8), &b, WALL, true);
        assert_eq!(found[1], ("mmap".to_owned(), Outcome::Undecided));
        assert_eq!(found[2].1, Outcome::Undecided);
        // A new method has no earlier value.
        assert_eq!(gated(&b, &side(1, 1.0, 0.8), WALL, true).len(), 2);
    }

    #[test]
    fn a_change_without_a_ratio_is_decided_by_its_verdict_and_others_by_their_bounds() {
        let effect = |bounds: Option<(f64, f64)>, verdict| Effect {
            ratio: None,
            low: bounds.map(|(low, _)| low),
            high: bounds.map(|(_, high)| high),
            level: 0.95,
            verdict,
            reason: Some("why".to_owned()),
        };
        let without = |verdict| decided(&effect(None, verdict), "syscalls", 5.0);
        let why = || Some("why".to_owned());
        assert_eq!(without(Verdict::Faster), (Outcome::Faster, None));
        assert_eq!(without(Verdict::Same), (Outcome::Ok, None));
        assert_eq!(without(Verdict::Slower), (Outcome::Slower, why()));
        assert_eq!(without(Verdict::Undecided), (Outcome::Undecided, why()));
        let (_, why) = decided(&effect(Some((1.0, 1.1)), Verdict::Same), WALL, 5.0);
        assert!(why.unwrap().starts_with("the interval (0 to +10 %) contains the allowed +5 %"));
        let by = |low, high| decided(&effect(Some((low, high)), Verdict::Same), WALL, 0.0).0;
        assert_eq!([by(0.9, 0.99), by(0.9, 1.0)], [Outcome::Faster, Outcome::Ok]);
        assert_eq!([by(1.0, 1.1), by(1.01, 1.1)], [Outcome::Undecided, Outcome::Slower]);
    }

    #[test]
    fn a_line_has_the_middle_of_each_side() {
        let sides = compare_sides(&side(1, 1.0, 0.8), &side(100, 1.0, 0.8), &[]);
        let allowed = [Allowed { metric: WALL.to_owned(), percent: 5.0 }];
        let found = gate(&sides, &allowed, true);
        let is_it = |line: &&MetricChange| line.method == "mmap" && line.metric == WALL;
        let own = sides.lines.iter().find(is_it).unwrap();
        let middles = [&own.a, &own.b].map(|side| Some(side.percentiles[2].value));
        assert_eq!([found.lines[1].baseline, found.lines[1].now], middles);
    }

    #[test]
    fn alone_on_another_machine_a_method_is_no_reference() {
        let alone = |seed: u64| {
            let mut runs = side(seed, 1.0, 0.8);
            for run in &mut runs {
                run.cells.truncate(1);
            }
            runs
        };
        let found = gated(&alone(1), &alone(100), WALL, false);
        assert_eq!(found[0], ("read".to_owned(), Outcome::Undecided));
    }
}
