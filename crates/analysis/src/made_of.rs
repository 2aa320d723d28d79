//! What the difference between two cells is made of: the parts of the time, and the counts that
//! differ beyond doubt. It uses only what is measured of every run, so that it costs no sample.

use std::collections::BTreeMap;

use model::metric::{ALLOCATIONS, CPU, SYSCALLS, TRANSFERRED, WALL, WALL_LESS_WAIT};
use model::param::Point;
use model::run::{OLD_SUFFIX, Pass, Run};
use serde::Serialize;

use super::analysis::{ALPHA, Comparison, Verdict};
use super::compare::{RELEVANT_PERCENT, at_last_look};
use super::facts::{CellFacts, RunFacts, VERDICT_METRICS};
use crate::stats::{Shift, mean_shift, median};

/// What the difference between a method and its reference is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MadeOf {
    pub method: String,
    pub reference: String,
    pub point: Point,
    /// Indices of the two into `Run::cells`.
    pub cell: usize,
    pub reference_cell: usize,
    /// Whether the pair has a verdict that its time differs, from the same rounds, in the direction
    /// of the total: only then is it shown.
    pub is_decided: bool,
    pub rounds: usize,
    pub sessions: usize,
    /// The level of each interval: 1 − 0.05 / 4, as a time has up to four parts.
    pub level: f64,
    /// The wall time of jobs in which one task runs at a time, whose parts add up to it; else the
    /// CPU time, as the wall time of several tasks is no sum of theirs.
    pub total: TimeDifference,
    /// The total in percent of the mean of the reference.
    pub percent: f64,
    /// Whether the total is so far from 0 that its parts may be named.
    pub is_clear: bool,
    /// They add up to the total; none where the total itself is the only part.
    pub parts: Vec<TimeDifference>,
    /// What no named part explains of a clear total, where that is a tenth of it or more.
    pub unexplained_ns: Option<f64>,
    /// The tick of the kernel in which user and system time come, where a job has too few of them
    /// to be split.
    pub too_short_for_ticks_of_ns: Option<f64>,
    /// The counts that differ beyond doubt, in a fixed order.
    pub counts: Vec<CountDifference>,
    /// The counts that are known of both and equal within 1 %.
    pub same_counts: Vec<&'static str>,
}

/// A mean difference per operation: the method minus its reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeDifference {
    pub part: TimePart,
    pub mean_ns: f64,
    pub low_ns: f64,
    pub high_ns: f64,
    /// Whether it is named as a cause.
    pub is_named: bool,
    /// Its share of the total, where the total is known well enough for one.
    pub percent: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimePart {
    Wall,
    Cpu,
    User,
    System,
    /// The wait for a CPU.
    Wait,
    /// The rest of the wall time: neither on a CPU nor ready to run.
    Blocked,
}

/// The medians of a count that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountDifference {
    pub metric: &'static str,
    pub value: f64,
    pub reference_value: f64,
    /// Of system calls: the name that makes most of the difference, from one sample of each.
    pub call: Option<CallDifference>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallDifference {
    pub name: String,
    pub value: f64,
    pub reference_value: f64,
}

/// The level of each of up to four parts.
const PART_ALPHA: f64 = ALPHA / 4.0;

/// A part of less than this share of the total is no cause.
const CAUSE_SHARE: f64 = 0.1;

/// User and system time are a count of ticks: the CPU time of a sample that has fewer of them is
/// not split.
const TICKS_NEEDED: f64 = 4.0;

/// In ns, where the kernel does not tell its own.
const TICK_NS: f64 = 4e6;

/// A count differs if this many samples of each do not overlap, which equal programs do once in
/// 6,435 times.
const COUNTS_NEEDED: usize = 8;

/// The counts that may be causes.
const COUNTS: [&str; 9] = [
    SYSCALLS,
    TRANSFERRED,
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    ALLOCATIONS,
    "allocated_bytes",
    "device_read_bytes",
    "device_write_bytes",
];

/// What each difference that was judged is made of, in the order of the comparisons.
pub(crate) fn of_comparisons(facts: &RunFacts<'_>, comparisons: &[Comparison]) -> Vec<MadeOf> {
    let judged = comparisons.iter().filter(|one| one.decides && one.low.is_some());
    let made = judged.filter_map(|one| {
        let cells = [one.cell, one.reference_cell];
        let mut made = difference(facts, &one.point, cells)?;
        // Where the time without the wait is not known of some rounds of a verdict on the wall
        // time, the CPU time is known of all.
        if !has_rounds(&made, one) {
            made = split(facts, &one.point, cells, false)?;
        }
        Some(MadeOf { is_decided: is_decided(&made, one), ..made })
    });
    made.collect()
}

fn has_rounds(made: &MadeOf, comparison: &Comparison) -> bool {
    (made.sessions, made.rounds) == (comparison.sessions, comparison.n)
}

/// A verdict on memory says nothing of the time, nor does one from other rounds; and a difference
/// of means that has the other sign than that of the verdict is not what it is made of.
fn is_decided(made: &MadeOf, comparison: &Comparison) -> bool {
    let has_direction = match comparison.verdict {
        Verdict::Faster => made.total.mean_ns < 0.0,
        Verdict::Slower => made.total.mean_ns > 0.0,
        _ => false,
    };
    has_direction && is_time_of_parts(&comparison.metric) && has_rounds(made, comparison)
}

/// Whether a verdict by this metric is one on the time that is split into parts.
pub fn is_time_of_parts(metric: &str) -> bool {
    VERDICT_METRICS.contains(&metric)
}

/// What the differences between the new and the old side of each method are made of, in a run that
/// has both, whether they are shown or not.
pub fn made_of_sides(run: &Run) -> Vec<MadeOf> {
    let facts = RunFacts::new(run);
    let pairs = sides(run, 0..run.cells.len());
    pairs.filter_map(|[new, old]| difference(&facts, &run.cells[new].point, [new, old])).collect()
}

/// Of these cells, each that has an old side, with that.
pub(crate) fn sides(
    run: &Run,
    cells: impl IntoIterator<Item = usize> + Clone,
) -> impl Iterator<Item = [usize; 2]> {
    let all = cells.clone();
    cells.into_iter().filter_map(move |new| {
        let is_old = |old: &usize| {
            let [new, old] = [new, *old].map(|cell| &run.cells[cell]);
            old.method.strip_suffix(OLD_SUFFIX) == Some(&*new.method) && old.point == new.point
        };
        Some([new, all.clone().into_iter().find(is_old)?])
    })
}

/// What the difference between two cells is made of, whether it is shown or not. None where user
/// and system time are not known of both, or in fewer than five sessions.
pub(crate) fn difference(facts: &RunFacts<'_>, point: &Point, cells: [usize; 2]) -> Option<MadeOf> {
    let is_serial = cells.iter().all(|index| facts.cells[*index].waits.has_time_without);
    split(facts, point, cells, is_serial)
}

/// With one task at a time the wall time is split, else the CPU time.
fn split(
    facts: &RunFacts<'_>,
    point: &Point,
    cells: [usize; 2],
    is_serial: bool,
) -> Option<MadeOf> {
    let [cell, reference] = cells.map(|index| &facts.cells[index]);
    let shared = Shared::new(facts.run, [cell, reference], is_serial)?;
    let tick_ns = tick_ns(facts.run);
    let is_split = shared.least_cpu_ns >= TICKS_NEEDED * tick_ns;
    let whole = if is_serial { TimePart::Wall } else { TimePart::Cpu };
    let shift = shared.shift(whole)?;
    let is_clear = clearance(&shift) >= 0.5;
    let total = TimeDifference { is_named: is_clear, ..time_difference(whole, &shift) };
    let names: &[TimePart] = match (is_serial, is_split) {
        (true, true) => &[TimePart::User, TimePart::System, TimePart::Wait, TimePart::Blocked],
        (true, false) => &[TimePart::Cpu, TimePart::Wait, TimePart::Blocked],
        (false, true) => &[TimePart::User, TimePart::System],
        (false, false) => &[],
    };
    let parts: Vec<TimeDifference> =
        names.iter().filter_map(|part| shared.part(*part, &total, &shift)).collect();
    let named: f64 = parts.iter().filter(|part| part.is_named).map(|part| part.mean_ns).sum();
    let rest_ns = total.mean_ns - named;
    let is_open = is_clear && !parts.is_empty();
    let (counts, same_counts) = counts([cell, reference]);
    Some(MadeOf {
        method: cell.stored.method.clone(),
        reference: reference.stored.method.clone(),
        point: point.clone(),
        cell: cell.index,
        reference_cell: reference.index,
        is_decided: false,
        rounds: shared.sessions.iter().map(Vec::len).sum(),
        sessions: shared.sessions.len(),
        level: 1.0 - PART_ALPHA,
        percent: 100.0 * total.mean_ns / shared.mean_of_reference_ns(whole),
        is_clear,
        unexplained_ns: Some(rest_ns)
            .filter(|ns| is_open && ns.abs() >= CAUSE_SHARE * total.mean_ns.abs()),
        too_short_for_ticks_of_ns: (!is_split).then_some(tick_ns),
        total,
        parts,
        counts,
        same_counts,
    })
}

fn tick_ns(run: &Run) -> f64 {
    let hz = run.environment.facts.get("kernel_hz").and_then(serde_json::Value::as_f64);
    hz.filter(|hz| *hz > 0.0).map_or(TICK_NS, |hz| 1e9 / hz)
}

/// The distance of an interval from 0 in units of its width; negative where it holds 0.
fn clearance(shift: &Shift) -> f64 {
    let Some((low, high)) = shift.interval else { return -1.0 };
    let distance = if shift.estimate > 0.0 { low } else { -high };
    match high - low {
        width if width > 0.0 => distance / width,
        // All sessions are equal.
        _ if distance > 0.0 => f64::INFINITY,
        _ => -1.0,
    }
}

fn time_difference(part: TimePart, shift: &Shift) -> TimeDifference {
    let (low_ns, high_ns) = shift.interval.unwrap_or((f64::NAN, f64::NAN));
    TimeDifference {
        part,
        mean_ns: shift.estimate,
        low_ns,
        high_ns,
        is_named: false,
        percent: None,
    }
}

/// The times of one sample, per operation.
#[derive(Clone, Copy)]
struct SampleTimes {
    wall_ns: f64,
    less_wait_ns: f64,
    cpu_ns: f64,
    /// The share of the CPU time that is user time.
    user_share: f64,
}

impl SampleTimes {
    fn part(&self, part: TimePart) -> f64 {
        let SampleTimes { wall_ns, less_wait_ns, cpu_ns, user_share } = *self;
        match part {
            TimePart::Wall => wall_ns,
            TimePart::Cpu => cpu_ns,
            TimePart::User => cpu_ns * user_share,
            TimePart::System => cpu_ns * (1.0 - user_share),
            TimePart::Wait => wall_ns - less_wait_ns,
            TimePart::Blocked => less_wait_ns - cpu_ns,
        }
    }
}

/// The times of both in a round, and the operations of their samples.
type SharedRound = ([SampleTimes; 2], [f64; 2]);

/// The rounds in which all times of both are known.
struct Shared {
    /// By session, the times of method and reference in each round.
    sessions: Vec<Vec<[SampleTimes; 2]>>,
    /// The mean CPU time of a sample, of the one that has less.
    least_cpu_ns: f64,
}

impl Shared {
    fn new(run: &Run, cells: [&CellFacts<'_>; 2], is_serial: bool) -> Option<Shared> {
        let [ours, theirs] = cells.map(|cell| by_round(cell, is_serial));
        let mut sessions: Vec<(u32, Vec<SharedRound>)> = Vec::new();
        for (round, (our_times, our_ops)) in ours {
            let Some((their_times, their_ops)) = theirs.get(&round) else { continue };
            let sample = ([our_times, *their_times], [our_ops, *their_ops]);
            match sessions.last_mut() {
                Some((session, rounds)) if *session == round.0 => rounds.push(sample),
                _ => sessions.push((round.0, vec![sample])),
            }
        }
        // The sessions of the verdict; the level is that of the parts.
        at_last_look(&run.plan, &mut sessions, PART_ALPHA)?;
        let of_side = |side: usize| {
            let samples = sessions.iter().flat_map(|(_, rounds)| rounds);
            let cpu_ns: Vec<f64> =
                samples.map(|(times, ops)| times[side].cpu_ns * ops[side]).collect();
            cpu_ns.iter().sum::<f64>() / cpu_ns.len() as f64
        };
        let least_cpu_ns = of_side(0).min(of_side(1));
        let times = |(_, rounds): (u32, Vec<SharedRound>)| {
            rounds.into_iter().map(|(times, _)| times).collect()
        };
        Some(Shared { sessions: sessions.into_iter().map(times).collect(), least_cpu_ns })
    }

    /// The mean over the sessions, each of which is the mean of its rounds: unlike medians, means
    /// of parts add up to that of their sum.
    fn shift(&self, part: TimePart) -> Option<Shift> {
        let of_session = |rounds: &Vec<[SampleTimes; 2]>| {
            let differences =
                rounds.iter().map(|[ours, theirs]| ours.part(part) - theirs.part(part));
            differences.sum::<f64>() / rounds.len() as f64
        };
        mean_shift(&self.sessions.iter().map(of_session).collect::<Vec<f64>>(), PART_ALPHA)
    }

    fn mean_of_reference_ns(&self, part: TimePart) -> f64 {
        let of_session = |rounds: &Vec<[SampleTimes; 2]>| {
            rounds.iter().map(|[_, theirs]| theirs.part(part)).sum::<f64>() / rounds.len() as f64
        };
        self.sessions.iter().map(of_session).sum::<f64>() / self.sessions.len() as f64
    }

    /// A part is a cause where the total is clear, its own interval excludes 0, and it is a tenth
    /// of the total or more. It has a share where the total is clear of 0 by twice its width
    /// (Fieller's theorem: otherwise the share has no useful interval).
    fn part(
        &self,
        part: TimePart,
        total: &TimeDifference,
        of_total: &Shift,
    ) -> Option<TimeDifference> {
        let shift = self.shift(part)?;
        let is_cause = shift.estimate.abs() >= CAUSE_SHARE * total.mean_ns.abs();
        let share = 100.0 * shift.estimate / total.mean_ns;
        Some(TimeDifference {
            is_named: total.is_named && is_cause && clearance(&shift) > 0.0,
            percent: Some(share).filter(|_| clearance(of_total) >= 2.0),
            ..time_difference(part, &shift)
        })
    }
}

/// By session and round: the times of a sample, and its operations.
fn by_round(cell: &CellFacts<'_>, is_serial: bool) -> BTreeMap<(u32, u32), (SampleTimes, f64)> {
    let [wall, less_wait, cpu] = [WALL, WALL_LESS_WAIT, CPU].map(|metric| cell.column(metric));
    let [user, system] = ["user_ns", "system_ns"].map(|metric| cell.column(metric));
    let times = cell.timing.iter().filter_map(|key| {
        let (wall_ns, cpu_ns) = (wall(*key)?, cpu(*key)?);
        let less_wait_ns = if is_serial { less_wait(*key)? } else { wall_ns };
        let (user_ns, system_ns) = (user(*key)?, system(*key)?);
        let sum_ns = user_ns + system_ns;
        // The sum of the ticks may be that of another clock than the CPU time.
        let user_share = if sum_ns > 0.0 { user_ns / sum_ns } else { 1.0 };
        let times = SampleTimes { wall_ns, less_wait_ns, cpu_ns, user_share };
        Some(((key.session, key.round), (times, key.ops.max(1) as f64)))
    });
    times.collect()
}

/// The counts that differ, and those that are the same.
fn counts(cells: [&CellFacts<'_>; 2]) -> (Vec<CountDifference>, Vec<&'static str>) {
    let (mut differing, mut same) = (Vec::new(), Vec::new());
    for metric in COUNTS {
        let [ours, theirs] = cells.map(|cell| samples(cell, metric));
        if ours.is_empty() || theirs.is_empty() {
            continue;
        }
        let [value, reference_value] = [&ours, &theirs].map(|values| median(values));
        let greater = value.abs().max(reference_value.abs());
        if (value - reference_value).abs() < RELEVANT_PERCENT / 100.0 * greater
            || value.to_bits() == reference_value.to_bits()
        {
            same.push(metric);
        } else if are_apart(&ours, &theirs) {
            let call = (metric == SYSCALLS).then(|| call(cells, value - reference_value)).flatten();
            differing.push(CountDifference { metric, value, reference_value, call });
        }
    }
    (differing, same)
}

/// The counts of each process, as rounds of one process are not independent: no more than are
/// needed, since of many samples a single odd one would overlap. The counting pass has a process
/// for each sample of a plain command; of another method it has a single one.
fn samples(cell: &CellFacts<'_>, metric: &str) -> Vec<f64> {
    let is_plain_command = cell.has("startup_ns") && !cell.has("prepare_ns");
    if cell.pass_of(metric) == Pass::Counting && is_plain_command {
        return cell.values(metric).take(COUNTS_NEEDED).collect();
    }
    let mut sessions: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (key, value) in cell.counted(metric) {
        sessions.entry(key.session).or_default().push(value);
    }
    sessions.values().take(COUNTS_NEEDED).map(|values| median(values)).collect()
}

fn are_apart(ours: &[f64], theirs: &[f64]) -> bool {
    let range = |values: &[f64]| {
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        })
    };
    let ((low, high), (their_low, their_high)) = (range(ours), range(theirs));
    ours.len().min(theirs.len()) >= COUNTS_NEEDED && (low > their_high || high < their_low)
}

/// The call whose numbers differ most, where that is at least half of the whole difference.
fn call(cells: [&CellFacts<'_>; 2], difference: f64) -> Option<CallDifference> {
    let [ours, theirs] = cells.map(|cell| cell.stored.syscalls_by_name.as_ref());
    let (ours, theirs) = (ours?, theirs?);
    let of = |names: &BTreeMap<String, f64>, name: &str| names.get(name).copied().unwrap_or(0.0);
    let all = ours.keys().chain(theirs.keys()).map(|name| CallDifference {
        name: name.clone(),
        value: of(ours, name),
        reference_value: of(theirs, name),
    });
    let differs_by = |call: &CallDifference| call.value - call.reference_value;
    let most = all.max_by(|a, b| differs_by(a).abs().total_cmp(&differs_by(b).abs()))?;
    (differs_by(&most) / difference >= 0.5).then_some(most)
}

#[cfg(test)]
mod tests {
    use model::random::SplitMix64;
    use model::run::{Cell, Sample};

    use super::*;
    use crate::analyze;
    use crate::tests::{cell, run};

    /// The mean parts of a job: user, system, wait for a CPU, blocked.
    #[derive(Clone, Copy)]
    struct Job([f64; 4]);

    const MS: f64 = 1e6;
    const JOB: Job = Job([60.0 * MS, 20.0 * MS, 5.0 * MS, 15.0 * MS]);

    /// Ten sessions of ten rounds in which each part varies by 2 % from session to session and from
    /// round to round.
    fn measured(name: &str, Job(parts): Job, seed: u64) -> Cell {
        let mut random = SplitMix64(seed);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let mut rows: Vec<[f64; 4]> = Vec::new();
        for _ in 0..10 {
            let of_session = parts.map(|ns| ns * (1.0 + 0.02 * normal()));
            rows.extend((0..10).map(|_| of_session.map(|ns| ns * (1.0 + 0.02 * normal()))));
        }
        let mut cell = cell(name, rows.iter().map(|parts| parts.iter().sum()));
        let column = |of: fn(&[f64; 4]) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
        for (metric, values) in [
            (CPU, column(|[user, system, ..]| user + system)),
            ("user_ns", column(|[user, ..]| *user)),
            ("system_ns", column(|[_, system, ..]| *system)),
            (WALL_LESS_WAIT, column(|[user, system, _, blocked]| user + system + blocked)),
        ] {
            cell.values.insert(metric.to_owned(), values.into());
        }
        let faults = rows.iter().map(|_| (1000.0 + 10.0 * normal()).round()).collect();
        cell.values.insert("minor_faults".to_owned(), faults);
        // That of a plain command, of which each sample is a process.
        cell.values.insert("startup_ns".to_owned(), vec![MS; rows.len()].into());
        cell
    }

    fn counted(mut cell: Cell, calls: impl Fn(u32) -> f64) -> Cell {
        for round in 0..8 {
            let sample = Sample { pass: Pass::Counting, round, ops: 1, ..Sample::default() };
            cell.push(sample, &[(SYSCALLS, calls(round))]);
        }
        cell
    }

    fn forced(run: &Run) -> MadeOf {
        difference(&RunFacts::new(run), &Point::default(), [1, 0]).unwrap()
    }

    fn named(made: &MadeOf) -> Vec<TimePart> {
        made.parts.iter().filter(|part| part.is_named).map(|part| part.part).collect()
    }

    #[test]
    fn the_part_that_differs_is_named_and_the_parts_add_up() {
        for (i, part) in [TimePart::User, TimePart::System, TimePart::Wait, TimePart::Blocked]
            .into_iter()
            .enumerate()
        {
            let mut slower = JOB;
            slower.0[i] += 30.0 * MS;
            let made = forced(&run(vec![measured("a", JOB, 1), measured("b", slower, 2)]));
            assert_eq!(named(&made), [part], "{made:?}");
            let sum: f64 = made.parts.iter().map(|part| part.mean_ns).sum();
            assert!((sum - made.total.mean_ns).abs() < 1.0, "{made:?}");
            assert!((made.percent - 30.0).abs() < 3.0, "{made:?}");
            let share = made.parts[i].percent.unwrap();
            assert!((share - 100.0).abs() < 15.0, "{share}");
            assert_eq!(
                (made.unexplained_ns, made.same_counts.as_slice()),
                (None, &["minor_faults"][..])
            );
        }
    }

    #[test]
    fn two_causes_are_both_named_and_one_may_be_less_than_before() {
        let other = Job([40.0 * MS, 20.0 * MS, 5.0 * MS, 95.0 * MS]);
        let made = forced(&run(vec![measured("a", JOB, 1), measured("b", other, 2)]));
        assert_eq!(named(&made), [TimePart::User, TimePart::Blocked]);
        assert!(made.parts[0].high_ns < 0.0 && made.parts[3].low_ns > 0.0, "{made:?}");
    }

    #[test]
    fn equal_programs_have_no_cause() {
        let mut causes = 0;
        for seed in 0..200 {
            let a = counted(measured("a", JOB, 2 * seed), |round| 1000.0 + f64::from(round));
            let b = counted(measured("b", JOB, 2 * seed + 1), |round| 1000.0 + f64::from(round));
            let made = forced(&run(vec![a, b]));
            causes += usize::from(!named(&made).is_empty() || !made.counts.is_empty());
        }
        assert_eq!(causes, 0, "of 200 pairs");
    }

    #[test]
    fn only_a_pair_with_a_verdict_is_decided() {
        let decided = |parts| {
            let run = run(vec![measured("a", JOB, 1), measured("b", Job(parts), 2)]);
            analyze(&run).made_of.iter().map(|made| made.is_decided).collect::<Vec<_>>()
        };
        assert_eq!(decided([90.0 * MS, 20.0 * MS, 5.0 * MS, 15.0 * MS]), [true]);
        assert_eq!(decided(JOB.0), [false]);
    }

    #[test]
    fn a_line_is_of_the_rounds_and_the_direction_of_a_verdict_on_time() {
        let slower = Job([90.0 * MS, 20.0 * MS, 5.0 * MS, 15.0 * MS]);
        let run = run(vec![measured("a", JOB, 1), measured("b", slower, 2)]);
        let made = forced(&run);
        let analysis = analyze(&run);
        let one = analysis.comparisons.iter().find(|one| one.decides && one.cell == 1).unwrap();
        assert!(is_decided(&made, one), "{one:?}");
        for other in [
            Comparison { verdict: Verdict::Faster, ..one.clone() },
            Comparison { verdict: Verdict::Same, ..one.clone() },
            Comparison { metric: "peak_rss_bytes".to_owned(), ..one.clone() },
            Comparison { n: one.n + 1, ..one.clone() },
            Comparison { sessions: one.sessions + 1, ..one.clone() },
        ] {
            assert!(!is_decided(&made, &other), "{other:?}");
        }
    }

    #[test]
    fn all_rounds_of_the_verdict_are_split() {
        let slower = Job([90.0 * MS, 20.0 * MS, 5.0 * MS, 15.0 * MS]);
        let mut cell = measured("b", slower, 2);
        cell.values.get_mut(WALL_LESS_WAIT).unwrap().to_mut()[7] = f64::NAN;
        let analysis = analyze(&run(vec![measured("a", JOB, 1), cell]));
        let one = analysis.comparisons.iter().find(|one| one.decides && one.cell == 1).unwrap();
        let [made] = analysis.made_of.as_slice() else { panic!("{:?}", analysis.made_of) };
        assert_eq!((one.n, made.rounds), (100, 100));
        assert_eq!((made.total.part, named(made)), (TimePart::Cpu, vec![TimePart::User]));
    }

    #[test]
    fn eight_samples_of_one_process_name_no_count() {
        let of_process = |name, calls: f64, seed| {
            let mut cell = counted(measured(name, JOB, seed), |_| calls);
            cell.values.remove("startup_ns");
            cell
        };
        let made = forced(&run(vec![of_process("a", 10.0, 1), of_process("b", 20.0, 2)]));
        assert_eq!(made.counts, []);
        let made = forced(&run(vec![of_process("a", 10.0, 1), of_process("b", 10.0, 2)]));
        assert!(made.same_counts.contains(&SYSCALLS), "{made:?}");
    }

    #[test]
    fn a_job_of_few_ticks_is_not_split() {
        let short = |factor: f64| Job(JOB.0.map(|ns| ns * factor / 10.0));
        let runs = run(vec![measured("a", short(1.0), 1), measured("b", short(1.5), 2)]);
        let made = forced(&runs);
        let parts: Vec<TimePart> = made.parts.iter().map(|part| part.part).collect();
        assert_eq!(parts, [TimePart::Cpu, TimePart::Wait, TimePart::Blocked]);
        assert_eq!(made.too_short_for_ticks_of_ns, Some(4e6));
        let mut faster_ticks = runs;
        faster_ticks.environment.facts.insert("kernel_hz".to_owned(), 1000.into());
        assert_eq!(forced(&faster_ticks).too_short_for_ticks_of_ns, None);
    }

    #[test]
    fn of_several_tasks_only_the_cpu_time_is_split() {
        let tree = |name, job, seed| {
            let mut cell = measured(name, job, seed);
            cell.values.remove(WALL_LESS_WAIT);
            cell
        };
        let slower = Job([60.0 * MS, 50.0 * MS, 5.0 * MS, 15.0 * MS]);
        let made = forced(&run(vec![tree("a", JOB, 1), tree("b", slower, 2)]));
        assert_eq!((made.total.part, made.parts.len()), (TimePart::Cpu, 2));
        assert_eq!(named(&made), [TimePart::System]);
        let mut unknown = tree("b", slower, 2);
        unknown.values.remove("user_ns");
        let run = run(vec![tree("a", JOB, 1), unknown]);
        assert_eq!(difference(&RunFacts::new(&run), &Point::default(), [1, 0]), None);
    }

    #[test]
    fn calls_differ_if_eight_samples_of_each_do_not_overlap() {
        let of = |calls: f64, last: f64| {
            let a = counted(measured("a", JOB, 1), |_| 1000.0);
            let calls_of = |round| if round == 7 { last } else { calls };
            let mut cells = vec![a, counted(measured("b", JOB, 2), calls_of)];
            for (cell, reads) in cells.iter_mut().zip([900.0, calls - 100.0]) {
                let names = [("read", reads), ("close", 100.0)];
                let names = names.map(|(name, n)| (name.to_owned(), n));
                cell.syscalls_by_name = Some(BTreeMap::from(names));
            }
            forced(&run(cells))
        };
        let made = of(2000.0, 2001.0);
        let [calls] = made.counts.as_slice() else { panic!("{made:?}") };
        assert_eq!((calls.metric, calls.value, calls.reference_value), (SYSCALLS, 2000.0, 1000.0));
        let call = calls.call.as_ref().unwrap();
        assert_eq!((call.name.as_str(), call.value, call.reference_value), ("read", 1900.0, 900.0));
        // One of them is like those of the reference.
        let made = of(2000.0, 1000.0);
        assert_eq!((made.counts.len(), made.same_counts.contains(&SYSCALLS)), (0, false));
        // Less than 1 %.
        let made = of(1009.0, 1009.0);
        assert_eq!((made.counts.len(), made.same_counts.contains(&SYSCALLS)), (0, true));
    }

    #[test]
    fn fewer_than_eight_samples_name_no_count() {
        let seven = |name, calls: f64, seed| {
            let mut cell = counted(measured(name, JOB, seed), |_| calls);
            cell.samples.last_mut().unwrap().warm_up = true;
            cell
        };
        let made = forced(&run(vec![seven("a", 10.0, 1), seven("b", 20.0, 2)]));
        assert_eq!(made.counts, []);
    }
}
